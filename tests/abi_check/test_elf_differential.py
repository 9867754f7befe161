"""Real libraries, read by us and by binutils."""

from __future__ import annotations

import re
import struct
import subprocess
from pathlib import Path

import pytest

from polywheel_abi_check.elf import read_elf
from polywheel_abi_check.image import Image
from polywheel_abi_check.source import FileSource, MemorySource

pytestmark = pytest.mark.compiler

SMALL = 6 << 20


def loaded_libraries() -> list[Path]:
    """Return libraries of every kind on this machine: the interpreter's, the compiler's, wheels'."""
    mapped = {Path(match[0]) for match in re.findall(r"(/\S+\.so(\.\S+)?)$", _maps(), re.MULTILINE)}
    asked = (
        subprocess.run(
            ["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        for name in (
            "libc.so.6",
            "libm.so.6",
            "libstdc++.so.6",
            "libgcc_s.so.1",
            "libatomic.so.1",
            "libgomp.so.1",
        )
    )
    site = Path(pytest.__file__).parent.parent
    files = {path.resolve() for path in (*mapped, *map(Path, asked), *site.rglob("*.so"))}
    return sorted(path for path in files if path.is_file() and path.stat().st_size < SMALL)[:60]


def _maps() -> str:
    return Path("/proc/self/maps").read_text(encoding="utf-8")


def readelf(option: str, path: Path) -> str:
    run = subprocess.run(
        ["readelf", option, "-W", str(path)],
        capture_output=True,
        text=True,
        check=True,
        env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
    )
    return run.stdout


def read(path: Path) -> Image:
    with FileSource(path) as source:
        return read_elf(source, str(path))


# readelf knows the unique binding's name only in files that are marked as GNU's.
UNIQUE = "<OS specific>: 10"
ROW = re.compile(
    rf"^ *\d+: [0-9a-f]+ +\S+ +\S+ +(\w+|{UNIQUE}) +(\w+) .*?(\w+) (\S+?)(@@?\S+)?( \(\d+\))?$", re.MULTILINE
)


def symbols_by_readelf(path: Path) -> tuple[set[tuple[str, str | None, bool]], set[str]]:
    imported, exported = set(), set()
    for binding, visibility, section, name, version, _ in ROW.findall(readelf("--dyn-syms", path)):
        if binding not in ("GLOBAL", "WEAK", "UNIQUE", UNIQUE):
            continue
        if section == "UND":
            imported.add((name, version.lstrip("@") or None, binding == "WEAK"))
        elif visibility in ("DEFAULT", "PROTECTED"):
            exported.add(name)
    return imported, exported


@pytest.fixture(scope="module")
def libraries() -> list[Path]:
    libraries = loaded_libraries()
    assert len(libraries) >= 10
    return libraries


def test_symbols_as_readelf_lists_them(libraries: list[Path]) -> None:
    for path in libraries:
        image = read(path)
        imported, exported = symbols_by_readelf(path)
        assert {(symbol.name, symbol.version, symbol.weak) for symbol in image.imported} == imported, path
        assert image.exported == exported, path


def test_versions_as_readelf_lists_them(libraries: list[Path]) -> None:
    for path in libraries:
        needs: dict[str, set[str]] = {}
        library = ""
        for line in readelf("-V", path).splitlines():
            if file := re.search(r"Version: 1  File: (\S+)  Cnt", line):
                library = file[1]
            elif version := re.search(r"  Name: (\S+)  Flags: .*  Version: \d+", line):
                needs.setdefault(library, set()).add(version[1])
        image = read(path)
        assert image.version_needs == needs, path
        carried = {(symbol.library, symbol.version) for symbol in image.imported if symbol.library}
        assert carried <= {(library, version) for library in needs for version in needs[library]}, path


def test_needed_libraries_and_soname_as_readelf_lists_them(libraries: list[Path]) -> None:
    for path in libraries:
        listing = readelf("-d", path)
        image = read(path)
        assert list(image.needed) == re.findall(r"\(NEEDED\) +Shared library: \[(.*)\]", listing), path
        assert [image.soname or ""] == (
            re.findall(r"\(SONAME\) +Library soname: \[(.*)\]", listing) or [""]
        ), path


def test_the_same_without_section_headers(libraries: list[Path]) -> None:
    for path in libraries:
        data = bytearray(path.read_bytes())
        whole = read(path)
        offset_at, offset_layout, counts_at = (40, "Q", 60) if data[4] == 2 else (32, "I", 48)
        order = "<" if data[5] == 1 else ">"
        struct.pack_into(order + offset_layout, data, offset_at, 0)
        struct.pack_into(order + "HH", data, counts_at, 0, 0)
        bare = read_elf(MemorySource(bytes(data)), str(path))
        assert not bare.sections
        assert bare.imported == whole.imported, path
        assert bare.exported == whole.exported, path


CPP = """
#include <cmath>
template <class T> struct Counter { static int value; };
template <class T> int Counter<T>::value = 3;
extern "C" {
extern double missing(double);
__attribute__((weak)) extern void perhaps();
__attribute__((visibility("hidden"))) int hidden_helper() { return Counter<int>::value; }
double shown(double x) { if (perhaps) perhaps(); return missing(x) + hidden_helper(); }
__attribute__((weak)) int replaceable() { return 1; }
}
"""


def test_bindings_of_a_compiled_library(tmp_path: Path) -> None:
    source, library, stripped = tmp_path / "a.cpp", tmp_path / "liba.so", tmp_path / "stripped.so"
    source.write_text(CPP, encoding="utf-8")
    subprocess.run(["g++", "-shared", "-fPIC", "-Wl,-soname,liba.so.1", "-o", library, source], check=True)
    subprocess.run(["strip", "--strip-all", "-o", stripped, library], check=True)
    image = read(library)
    assert image.soname == "liba.so.1"
    weak = {symbol.name: symbol.weak for symbol in image.imported}
    assert weak["missing"] is False
    assert weak["perhaps"] is True
    # The template's static member is GNU_UNIQUE, and as exported as the others.
    assert {"shown", "replaceable", "_ZN7CounterIiE5valueE"} <= image.exported
    assert "hidden_helper" not in image.exported
    bare = read(stripped)
    assert (bare.imported, bare.exported) == (image.imported, image.exported)


def test_own_version_definitions_of_a_compiled_library(tmp_path: Path) -> None:
    source, script, library = tmp_path / "v.c", tmp_path / "v.map", tmp_path / "libv.so"
    source.write_text("int old(void) { return 1; }\nint fresh(void) { return 2; }\n", encoding="utf-8")
    script.write_text("V_1 { global: old; local: *; };\nV_2 { global: fresh; } V_1;\n", encoding="utf-8")
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-nostdlib", f"-Wl,--version-script={script}", "-o", library, source],
        check=True,
    )
    image = read(library)
    assert image.version_definitions == {"V_1", "V_2"}
    assert {"old", "fresh"} <= image.exported
    assert image.imported == ()


def test_library_that_exports_nothing_keeps_its_imports_without_sections(tmp_path: Path) -> None:
    # GNU ld's empty hash table says nothing about how many symbols there are.
    source, library = tmp_path / "n.c", tmp_path / "n.so"
    source.write_text(
        "extern int one(void), two(void);\n"
        "__attribute__((constructor)) static void start(void) { one(); two(); }\n",
        encoding="utf-8",
    )
    flags = ["-shared", "-fPIC", "-nostdlib", "-Wl,--hash-style=gnu"]
    subprocess.run(["gcc", *flags, "-o", library, source], check=True)
    data = bytearray(library.read_bytes())
    data[40:48] = bytes(8)
    data[60:64] = bytes(4)
    image = read_elf(MemorySource(bytes(data)), "n.so")
    assert {symbol.name for symbol in image.imported} == {"one", "two"}
