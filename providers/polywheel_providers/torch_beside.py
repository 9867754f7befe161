# ruff: noqa: PTH100, PTH112, PTH118, PTH120
"""The torch installed beside a machine's Python, read from its files: it is never imported or run.

`torch/version.py` is parsed, not executed; `METADATA` names the version that installers see; the libraries
in `torch/lib` say what was really built.
"""

from __future__ import annotations

import os
import re

from . import reading
from .frozen import dataclass
from .vendor import Note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_LIBRARIES = (
    ("cuda", ("libtorch_cuda.so", "torch_cuda.dll")),
    ("rocm", ("libtorch_hip.so", "torch_hip.dll")),
    ("xpu", ("libtorch_xpu.so", "torch_xpu.dll")),
)
"""Accelerator -> the library in torch/lib that only its builds have."""

_ASK_PYTHON = (
    "import json, site, sysconfig;"
    "paths = sysconfig.get_paths();"
    "print(json.dumps([paths['purelib'], paths['platlib'], *site.getsitepackages()]))"
)
"""Run with -I -S by a Python that is no virtual environment, so that nothing installed there runs."""


@dataclass(frozen=True)
class Torch:
    """An installed torch, or one that a person named."""

    version: str
    """The public version, `2.13.0`."""
    local: str
    """The local version, `cu126`, or empty."""
    accelerator: str
    """`cuda`, `rocm`, `xpu` or `cpu`; empty when nothing says which."""
    toolkit: str
    """The CUDA, HIP or SYCL version it was built with, `12.6`; empty when unknown or `cpu`."""
    place: str = ""
    """The folder it is installed in; empty for one that a person named."""
    notes: tuple[Note, ...] = ()
    """Where its files disagree with each other."""

    @property
    def cuda_major(self) -> int | None:
        """The CUDA major version its libraries need, which an extension beside it must share."""
        major = self.toolkit.partition(".")[0]
        return int(major) if self.accelerator == "cuda" and major.isdigit() else None


def torch_named(text: str) -> Torch:
    """Return the torch a person named: `2.13.0`, `2.13.0+cu126`.

    Raises `ValueError` with one line when it is no version.
    """
    match = re.fullmatch(
        r"v?(\d+(?:\.\d+)*(?:(?:a|b|rc|\.dev|\.post)\d+)*)(?:\+([a-z0-9]+(?:[._-][a-z0-9]+)*))?",
        text.strip().lower(),
    )
    if match is None:
        raise ValueError(f"torch {text!r}: expected VERSION or VERSION+LOCAL, such as 2.13.0+cu126")
    version, local = match[1], match[2] or ""
    return Torch(version, local, *_of_local(local))


def torch_of_python(executable: str) -> Torch | None:
    """Return the torch installed for a Python executable, or `None` when it has none.

    A virtual environment's folders follow from its layout; another Python is asked for them, isolated and
    without its site module, at most 5 s.
    """
    for folder in site_folders(executable):
        if (found := torch_in(folder)) is not None:
            return found
    return None


def site_folders(executable: str) -> tuple[str, ...]:
    """Return the folders a Python executable imports installed packages from."""
    prefix = os.path.dirname(os.path.dirname(os.path.abspath(executable)))
    settings = _pyvenv(reading.read_text(os.path.join(prefix, "pyvenv.cfg")))
    if settings is None:
        return _asked(executable)
    own = _laid_out(prefix)
    if settings.get("include-system-site-packages", "false").lower() != "true" or "home" not in settings:
        return own
    base = os.path.join(settings["home"], "python.exe" if os.name == "nt" else "python3")
    return (*own, *_asked(base))


def torch_in(folder: str) -> Torch | None:
    """Return the torch installed in a site-packages folder, or `None`."""
    package = os.path.join(folder, "torch")
    stated = _version_file(reading.read_text(os.path.join(package, "version.py")) or "")
    listed = _listed_versions(folder)
    if not stated.get("__version__") and not listed:
        return None
    return _joined(folder, stated, listed, _built(package))


def _joined(folder: str, stated: Mapping[str, str], listed: tuple[str, ...], built: str) -> Torch:
    """Put together what version.py states, the metadata lists and the libraries show."""
    own = stated.get("__version__", "")
    full = own if own in listed or not listed else listed[-1]
    notes = []
    if own and listed and own not in listed:
        notes.append(
            Note("torch-version-differs", f"torch/version.py says {own}, its metadata {', '.join(listed)}")
        )
    if len(listed) > 1:
        notes.append(
            Note("torch-twice", f"several torch versions are listed as installed: {', '.join(listed)}")
        )
    version, _, local = full.partition("+")
    accelerator, toolkit = _of_version_file(stated) if "cuda" in stated else _of_local(local)
    if not accelerator or (accelerator == "cpu" and built):
        accelerator, toolkit = built or "cpu", ""
    elif accelerator != "cpu" and built and built != accelerator:
        notes.append(
            Note(
                "torch-build-differs",
                f"torch/version.py says {accelerator}, its libraries are built for {built}",
            )
        )
    return Torch(version, local, accelerator, toolkit, folder, tuple(notes))


def _of_version_file(stated: Mapping[str, str]) -> tuple[str, str]:
    """Read the toolkits version.py names; the one not in use is None, kept as an empty text."""
    for accelerator, key in (("rocm", "hip"), ("cuda", "cuda"), ("xpu", "xpu")):
        if stated.get(key):
            return accelerator, stated[key]
    return "cpu", ""


def _of_local(local: str) -> tuple[str, str]:
    """Read a local version: cu126 is CUDA 12.6, rocm7.1 is ROCm 7.1, xpu and cpu are themselves."""
    label = re.split(r"[._-](?=[a-z])", local)[0]
    if match := re.fullmatch(r"cu(\d+)(\d)", label):
        return "cuda", f"{match[1]}.{match[2]}"
    if match := re.fullmatch(r"rocm(\d+(?:\.\d+)*)", label):
        return "rocm", match[1]
    return (label, "") if label in ("cpu", "xpu") else ("", "")


def _version_file(text: str) -> dict[str, str]:
    """Return the texts that torch/version.py assigns at its top level; None becomes an empty text."""
    import ast  # noqa: PLC0415 (not needed to detect a machine)
    import warnings  # noqa: PLC0415

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # somebody else's invalid escapes
        try:
            body = ast.parse(text).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return {}
    found: dict[str, str] = {}
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=value)):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=value)):
                pass
            case _:
                continue
        if value is None or isinstance(value, str):
            found[name] = value or ""
    return found


def _listed_versions(folder: str) -> tuple[str, ...]:
    """Return the versions of every torch-*.dist-info, from its METADATA."""
    found = []
    for name in reading.list_dir(folder):
        if re.fullmatch(r"torch-[^-]+\.dist-info", name):
            headers = (reading.read_text(os.path.join(folder, name, "METADATA")) or "").partition("\n\n")[0]
            stated = re.search(r"^Version:[ \t]*(\S+)", headers, re.MULTILINE)
            if stated:
                found.append(stated[1])
    return tuple(found)


def _built(package: str) -> str:
    """Return the accelerator whose library is in torch/lib, or an empty text."""
    for accelerator, names in _LIBRARIES:
        if any(reading.exists(os.path.join(package, "lib", name)) for name in names):
            return accelerator
    return ""


def _pyvenv(text: str | None) -> dict[str, str] | None:
    """Return pyvenv.cfg's `key = value` lines, or `None` when there is no such file."""
    if text is None:
        return None
    pairs = (line.partition("=") for line in text.splitlines())
    return {key.strip().lower(): value.strip() for key, equals, value in pairs if equals}


def _laid_out(prefix: str) -> tuple[str, ...]:
    """Return a virtual environment's own package folders."""
    folders = [os.path.join(prefix, "Lib", "site-packages")]
    for library in ("lib", "lib64"):
        inside = os.path.join(prefix, library)
        folders += [
            os.path.join(inside, name, "site-packages")
            for name in reading.list_dir(inside)
            if name.startswith(("python", "pypy"))
        ]
    return tuple(dict.fromkeys(os.path.realpath(folder) for folder in folders if os.path.isdir(folder)))


def _asked(executable: str) -> tuple[str, ...]:
    """Ask a Python for its package folders, isolated and without site."""
    import json  # noqa: PLC0415

    from .process import run_captured  # noqa: PLC0415 (as in live)

    ended = run_captured([executable, "-I", "-S", "-c", _ASK_PYTHON], env=os.environ, deadline=5.0)
    try:
        folders = json.loads(ended.outputs[0]) if ended is not None else []
    except ValueError:
        return ()
    if not isinstance(folders, list):
        return ()
    return tuple(dict.fromkeys(folder for folder in folders if isinstance(folder, str)))
