"""The stock uv, asked to install from an index into a fresh environment."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from polywheel_variants.errors import MissingError, NoAnswerError

OLDEST = (0, 13, 8)
"""The first uv that resolves x86_64 and aarch64 variants."""

_HOW = "install it with: pip install 'uv>=0.13.8'"


@dataclass(frozen=True)
class Uv:
    """One uv."""

    path: Path
    version: str

    def install(self, project: str, index_url: str, folder: Path) -> Installed:
        """Install a project without its dependencies into a new environment below `folder`.

        uv runs without its configuration files, so that the answer is this index's alone. Raises
        NoAnswerError with what uv said when it refuses.
        """
        environment = folder / "environment"
        self._run("venv", "--no-config", "--quiet", "--python", sys.executable, str(environment))
        command = [
            "pip", "install", "--no-config", "--preview-features", "wheel-variants", "--no-deps",
            "--python", str(environment), "--cache-dir", str(folder / "cache"),
            "--default-index", index_url, project,
        ]  # fmt: skip
        self._run(*command)
        return _installed(environment, project)

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


@dataclass(frozen=True)
class Installed:
    """What an installer put into an environment."""

    label: str | None
    """The label of the wheel it took; None for the plain wheel."""
    size: int
    """Bytes of the installed files."""


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


def _installed(environment: Path, project: str) -> Installed:
    from polywheel_variants.metadata import VariantMetadata  # noqa: PLC0415 - after the work, not before it
    from polywheel_variants.wheel_name import escaped_project  # noqa: PLC0415

    name = escaped_project(project.partition("==")[0])
    (dist_info,) = environment.glob(f"**/site-packages/{name}-*.dist-info")
    size = sum(path.stat().st_size for path in (dist_info.parent / name).rglob("*") if path.is_file())
    path = dist_info / "variant.json"
    if not path.is_file():
        return Installed(None, size)
    (label,) = VariantMetadata.parse(path.read_bytes(), source=str(path)).variants
    return Installed(label, size)
