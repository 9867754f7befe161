"""The stock uv, asked to install from an index into a fresh environment."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from polywheel_variants.errors import MissingError, NoAnswerError
from polywheel_variants.metadata import VariantMetadata
from polywheel_variants.wheel_name import escaped_project

OLDEST = (0, 13, 8)
"""The first uv that resolves x86_64 and aarch64 variants."""

_HOW = "install it with: pip install 'uv>=0.13.8'"


@dataclass(frozen=True)
class Uv:
    """One uv."""

    path: Path
    version: str

    def install(self, requirement: str, index_url: str, folder: Path, *, variants: bool) -> str | None:
        """Install into a new environment below `folder`, without dependencies; returns the label taken.

        None is the plain wheel. uv runs without its configuration files, so that the answer is this
        index's alone. Raises NoAnswerError with what uv said when it refuses.
        """
        environment = Path(tempfile.mkdtemp(dir=folder)) / "environment"
        self._run("venv", "--no-config", "--quiet", "--python", sys.executable, str(environment))
        flag = ["--preview-features", "wheel-variants"] if variants else []
        self._run(
            "pip", "install", "--no-config", *flag, "--no-deps", "--python", str(environment),
            "--cache-dir", str(folder / "cache"), "--default-index", index_url, requirement,
        )  # fmt: skip
        return _installed_label(environment, requirement)

    def _run(self, *arguments: str) -> None:
        done = subprocess.run(
            [self.path, *arguments],
            env=_clean_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise NoAnswerError(f"uv {shlex.join(arguments)} failed: {' '.join(done.stdout.split())}")


def find_uv() -> Uv:
    """Find uv beside this Python, else on PATH.

    Raises MissingError, with the command that mends it, when there is none or it is too old.
    """
    beside = shutil.which("uv", path=str(Path(sys.executable).parent))
    found = beside or shutil.which("uv")
    if found is None:
        raise MissingError(f"no uv beside {sys.executable} nor on PATH; {_HOW}")
    done = subprocess.run([found, "--version"], capture_output=True, text=True, check=False)
    version = re.search(r"\d+\.\d+\.\d+", done.stdout)
    if version is None:
        raise MissingError(f"{found} does not tell its version; {_HOW}")
    if tuple(map(int, version[0].split("."))) < OLDEST:
        raise MissingError(f"{found} is uv {version[0]}, which knows no CPU variants; {_HOW}")
    return Uv(Path(found), version[0])


def _clean_environment() -> dict[str, str]:
    """Leave out what would point uv to other indexes, environments or machines."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("UV_", "PIP_")) and name not in {"VIRTUAL_ENV", "CONDA_PREFIX"}
    }


def _installed_label(environment: Path, requirement: str) -> str | None:
    """Read the label off what was installed (PEP 825: variant.json stays in .dist-info)."""
    name = escaped_project(requirement.partition("==")[0])
    (dist_info,) = environment.glob(f"**/site-packages/{name}-*.dist-info")
    path = dist_info / "variant.json"
    if not path.is_file():
        return None
    (label,) = VariantMetadata.parse(path.read_bytes(), source=str(path)).variants
    return label
