from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polywheel_builder.project import Project, read_project
from polywheel_variants.errors import BadInputError

_MINIMAL = '[project]\nname = "Tiny.Thing"\nversion = "1.0"\n'


def _read(folder: Path, pyproject: str = _MINIMAL, *, package: str = "tiny_thing") -> Project:
    (folder / package).mkdir(parents=True, exist_ok=True)
    (folder / package / "__init__.py").touch()
    (folder / "pyproject.toml").write_text(pyproject, encoding="utf-8")
    return read_project(folder)


def test_reads_name_version_and_files(tmp_path: Path) -> None:
    for name in ("a.py", "sub/b.py", "_x.so", "__pycache__/a.pyc", "py.typed"):
        path = tmp_path / "tiny_thing" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    project = _read(tmp_path)
    assert (project.name, project.version) == ("tiny_thing", "1.0")
    files = [path.relative_to(tmp_path / "tiny_thing").as_posix() for path in project.files]
    assert files == ["__init__.py", "a.py", "py.typed", "sub/b.py"]


@pytest.mark.parametrize("name", [b"a\nb.txt", b"\x1b[31m.py", b"\xff.bin", b"sub\n/fine.py/x\xfe"])
def test_a_file_name_that_cannot_be_seen_is_named(name: bytes, tmp_path: Path) -> None:
    path = tmp_path / "tiny_thing" / os.fsdecode(name)
    path.parent.mkdir(parents=True)
    path.touch()
    with pytest.raises(BadInputError, match="a file's name holds a character that cannot be seen"):
        _read(tmp_path)


def test_finds_the_package_below_src(tmp_path: Path) -> None:
    assert _read(tmp_path, package="src/tiny_thing").package == tmp_path / "src" / "tiny_thing"


def test_core_metadata_gets_the_further_requirements(tmp_path: Path) -> None:
    project = _read(tmp_path, _MINIMAL + "dependencies = [\"numpy>=2; python_version>'3'\"]\n")
    lines = project.core_metadata(["torch>=2.10"]).decode().splitlines()
    assert {"Metadata-Version: 2.4", "Name: tiny-thing", "Version: 1.0"} <= {
        line.replace("Tiny.Thing", "tiny-thing") for line in lines
    }
    assert [line for line in lines if line.startswith("Requires-Dist")] == [
        'Requires-Dist: numpy>=2; python_version > "3"',
        "Requires-Dist: torch>=2.10",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("pyproject", "message"),
    [
        ("", "pyproject.toml: "),
        (_MINIMAL + "nmae = 1\n", "pyproject.toml: Extra keys present in \"project\": 'nmae'"),
        (_MINIMAL + "dynamic = 1\n", "pyproject.toml: [project] holds a value that cannot be read"),
        (_MINIMAL.replace("1.0", "9" * 5000), "pyproject.toml: [project] holds a value that cannot be read"),
        ("[project\n", "pyproject.toml: not TOML: "),
        ('[project]\nname = "a b"\nversion = "1"\n', "pyproject.toml: "),
        ('[project]\nname = "tiny_thing"\nversion = "one"\n', "pyproject.toml: "),
        ('[project]\nname = "tiny_thing"\ndynamic = ["version"]\n', "project.version is missing"),
        (_MINIMAL + 'dependencies = ["Torch>=2"]\n', "project.dependencies names torch; the matrix's"),
        (_MINIMAL + 'dependencies = [">=2"]\n', "pyproject.toml: "),
        (_MINIMAL + 'readme = "gone.md"\n', "pyproject.toml: "),
        (_MINIMAL + 'license = "MIT"\nlicense-files = ["gone"]\n', "pyproject.toml: "),
        (_MINIMAL.replace("Tiny.Thing", "other"), "no package other/__init__.py, nor src/other/__init__.py;"),
    ],
)
def test_names_file_and_key(pyproject: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(BadInputError) as caught:
        _read(tmp_path, pyproject)
    assert message in str(caught.value)
    assert str(caught.value).isprintable()


def test_a_folder_without_project(tmp_path: Path) -> None:
    with pytest.raises(
        BadInputError, match=r"No such file or directory; the matrix's 'project' names a folder"
    ):
        read_project(tmp_path / "gone")
    (tmp_path / "pyproject.toml").write_bytes(b"\xff")
    with pytest.raises(BadInputError, match=r"pyproject.toml: not UTF-8 at byte 0"):
        read_project(tmp_path)


def test_a_readme_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_bytes(b"\xff\xfe")
    with pytest.raises(BadInputError, match="not UTF-8"):
        _read(tmp_path, _MINIMAL + 'readme = "README.md"\n')


_VALUES = st.sampled_from(
    ["1", "true", '""', '"x"', "[]", "[1]", '["a>=1"]', "{}", '{text = "x"}', '{file = "pyproject.toml"}',
     "{a = {b = 1}}", "1979-05-27", '[{name = "n"}]', "[{email = 3}]", '["Private :: X"]']
)  # fmt: skip
_FIELDS = st.sampled_from(
    [
        *("name", "version", "description", "readme", "license", "license-files", "requires-python"),
        *("authors", "maintainers", "keywords", "classifiers", "urls", "scripts", "gui-scripts", "dynamic"),
        *("entry-points", "dependencies", "optional-dependencies", "import-names", "unknown"),
    ]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(fields=st.dictionaries(_FIELDS, _VALUES, max_size=3))
def test_any_project_table_is_read_or_bad_input(fields: dict[str, str], tmp_path: Path) -> None:
    table = {"name": '"tiny_thing"', "version": '"1.0"'} | fields
    text = "[project]\n" + "".join(f"{name} = {value}\n" for name, value in table.items())
    try:
        project = _read(tmp_path, text)
        metadata = project.core_metadata(["torch>=2.10"])
    except BadInputError as error:
        message = str(error)
        metadata = b"Version: "
    else:
        message = ""
    assert message.isprintable()
    assert b"Version: " in metadata
