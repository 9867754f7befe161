from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polywheel_providers.torch_beside import Torch, site_folders, torch_in, torch_named, torch_of_python

if TYPE_CHECKING:
    from collections.abc import Callable

# https://github.com/pytorch/pytorch/blob/v2.9.1/tools/generate_torch_version.py writes this form.
VERSION_PY = """\
from typing import Optional

__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'xpu']
__version__ = '{version}'
debug = False
cuda: Optional[str] = {cuda!r}
git_version = '5811a8d7da873dd699ff6687092c225caffcf1bb'
hip: Optional[str] = {hip!r}
xpu: Optional[str] = {xpu!r}
"""


@pytest.fixture
def site(tmp_path: Path) -> Callable[..., Path]:
    """Write a site-packages folder with a torch in it; `library` is the one in torch/lib."""

    def write(
        version: str = "2.13.0",
        metadata: str | None = "same",
        library: str = "",
        **toolkits: str | None,
    ) -> Path:
        package = tmp_path / "torch"
        (package / "lib").mkdir(parents=True)
        (package / "version.py").write_text(
            VERSION_PY.format(version=version, **{"cuda": None, "hip": None, "xpu": None} | toolkits)
        )
        (package / "__init__.py").write_text("raise SystemExit('imported')")
        if library:
            (package / "lib" / library).touch()
        if metadata is not None:
            listed = version if metadata == "same" else metadata
            info = tmp_path / f"torch-{listed}.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(
                f"Metadata-Version: 2.4\nName: torch\nVersion: {listed}\n\nVersion: 0.0\n"
            )
        return tmp_path

    return write


def summary(torch: Torch | None) -> tuple[str, str, str, str, int | None]:
    assert torch is not None
    return torch.version, torch.local, torch.accelerator, torch.toolkit, torch.cuda_major


def test_torch_of_the_cuda_index(site: Callable[..., Path]) -> None:
    folder = site("2.9.1+cu126", cuda="12.6", library="libtorch_cuda.so")
    assert summary(torch_in(str(folder))) == ("2.9.1", "cu126", "cuda", "12.6", 12)


def test_torch_of_pypi_has_no_local_version(site: Callable[..., Path]) -> None:
    folder = site("2.13.0", cuda="13.0", library="libtorch_cuda.so")
    assert summary(torch_in(str(folder))) == ("2.13.0", "", "cuda", "13.0", 13)


def test_torch_for_rocm(site: Callable[..., Path]) -> None:
    folder = site("2.10.0+rocm7.1", hip="7.1.25424", library="libtorch_hip.so")
    assert summary(torch_in(str(folder))) == ("2.10.0", "rocm7.1", "rocm", "7.1.25424", None)


def test_torch_for_xpu(site: Callable[..., Path]) -> None:
    folder = site("2.10.0+xpu", xpu="20250302", library="libtorch_xpu.so")
    assert summary(torch_in(str(folder))) == ("2.10.0", "xpu", "xpu", "20250302", None)


@pytest.mark.parametrize("version", ["2.13.0+cpu", "2.9.1"])
def test_torch_for_cpu(site: Callable[..., Path], version: str) -> None:
    found = torch_in(str(site(version)))
    assert summary(found)[2:] == ("cpu", "", None)
    assert found is not None
    assert found.notes == ()


def test_libraries_outweigh_a_version_file_that_says_cpu(site: Callable[..., Path]) -> None:
    folder = site("2.6.0a0+df5bbc09d1.nv24.12", cuda=None, library="libtorch_cuda.so")
    assert summary(torch_in(str(folder)))[2:] == ("cuda", "", None)


def test_files_that_disagree_are_noted(site: Callable[..., Path]) -> None:
    found = torch_in(str(site("2.9.1+cu126", cuda="12.6", metadata="2.8.0+cu126", library="libtorch_hip.so")))
    assert found is not None
    assert found.version == "2.8.0"
    assert {note.code for note in found.notes} == {"torch-version-differs", "torch-build-differs"}


def test_two_torches_are_noted(site: Callable[..., Path]) -> None:
    folder = site("2.9.1+cu126", cuda="12.6", library="libtorch_cuda.so")
    (folder / "torch-2.8.0.dist-info").mkdir()
    (folder / "torch-2.8.0.dist-info" / "METADATA").write_text("Name: torch\nVersion: 2.8.0\n")
    found = torch_in(str(folder))
    assert found is not None
    assert (found.version, [note.code for note in found.notes]) == ("2.9.1", ["torch-twice"])


def test_metadata_alone_is_enough(tmp_path: Path) -> None:
    (tmp_path / "torch-2.9.1+cu128.dist-info").mkdir()
    (tmp_path / "torch-2.9.1+cu128.dist-info" / "METADATA").write_text("Name: torch\nVersion: 2.9.1+cu128\n")
    assert summary(torch_in(str(tmp_path))) == ("2.9.1", "cu128", "cuda", "12.8", 12)


@pytest.mark.parametrize(
    "text", ["", "x = '\\d'", "__version__ = (", "__version__ = make()", "x = 1", "\0", "(" * 10_000]
)
def test_a_version_file_that_says_nothing_is_no_torch(tmp_path: Path, text: str) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "version.py").write_text(text)
    assert torch_in(str(tmp_path)) is None


def test_no_torch_is_none(tmp_path: Path) -> None:
    assert torch_in(str(tmp_path)) is None
    assert torch_in("/nonexistent") is None
    assert torch_of_python("/nonexistent/bin/python") is None


def test_torchvision_is_no_torch(tmp_path: Path) -> None:
    (tmp_path / "torchvision-0.24.dist-info").mkdir()
    (tmp_path / "torch_geometric-2.7.dist-info").mkdir()
    assert torch_in(str(tmp_path)) is None


def test_a_virtual_environment_is_read_without_running_it(tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=False, symlinks=True)
    (packages,) = (tmp_path / "env" / "lib").glob("python*/site-packages")
    python = tmp_path / "env" / "bin" / "python"
    assert site_folders(str(python)) == (str(packages),)
    assert torch_of_python(str(python)) is None
    (packages / "torch-2.9.1+cu128.dist-info").mkdir()
    (packages / "torch-2.9.1+cu128.dist-info" / "METADATA").write_text("Version: 2.9.1+cu128\n")
    python.unlink()
    python.write_text("#!/bin/sh\ntouch ran\n")
    python.chmod(0o755)
    assert summary(torch_of_python(str(python))) == ("2.9.1", "cu128", "cuda", "12.8", 12)
    assert not (tmp_path / "ran").exists()
    assert not Path("ran").exists()


def test_an_environment_with_its_systems_packages_sees_both(tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=False, symlinks=True, system_site_packages=True)
    folders = site_folders(str(tmp_path / "env" / "bin" / "python"))
    assert len(folders) > 1
    assert folders[0].startswith(str(tmp_path))


def test_another_python_is_asked_without_its_site_module(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    base = subprocess.run(
        [sys.executable, "-I", "-S", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert base.stdout.strip() in site_folders(str(python))
    assert (tmp_path / "asked").read_text().startswith("-I -S -c ")
    assert sysconfig.get_path("purelib")


@pytest.mark.parametrize("script", ["echo '{'", "echo '{}'", "exit 3", "echo '[1, null]'"])
def test_a_python_that_answers_nonsense_has_no_folders(tmp_path: Path, script: str) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    assert site_folders(str(python)) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2.13.0", ("2.13.0", "", "", "", None)),
        ("v2.13.0+cpu", ("2.13.0", "cpu", "cpu", "", None)),
        ("2.13.0+cu130", ("2.13.0", "cu130", "cuda", "13.0", 13)),
        ("2.4.0+cu118", ("2.4.0", "cu118", "cuda", "11.8", 11)),
        ("2.6.0+cu126.with.pypi.cudnn", ("2.6.0", "cu126.with.pypi.cudnn", "cuda", "12.6", 12)),
        ("2.8.0+rocm6.4", ("2.8.0", "rocm6.4", "rocm", "6.4", None)),
        ("2.8.0+xpu", ("2.8.0", "xpu", "xpu", "", None)),
        ("2.10.0a0+gite67e3d9", ("2.10.0a0", "gite67e3d9", "", "", None)),
        ("2.16.0.dev20261129+cu134", ("2.16.0.dev20261129", "cu134", "cuda", "13.4", 13)),
    ],
)
def test_a_torch_somebody_names(text: str, expected: tuple[object, ...]) -> None:
    assert summary(torch_named(text)) == expected


@pytest.mark.parametrize("text", ["", "latest", "2.13+", "+cu126", "2..1", "2.13.0 +cu126", "2.13\n2.14"])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected VERSION or VERSION") as refusal:
        torch_named(text)
    assert "\n" not in str(refusal.value)


@given(st.text())
def test_any_text_is_a_torch_or_refused(text: str) -> None:
    try:
        torch_named(text)
    except ValueError as problem:
        assert "torch" in str(problem)  # noqa: PT017 (either outcome is right)


@given(st.binary())
def test_no_version_file_breaks_it(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    folder = tmp_path_factory.mktemp("site")
    (folder / "torch").mkdir()
    (folder / "torch" / "version.py").write_bytes(data)
    assert torch_in(os.fspath(folder)) is None or data
