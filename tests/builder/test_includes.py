from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from polywheel_builder.includes import IncludeScanner
from polywheel_builder.memo import Memo


def _closure(root: Path, files: dict[str, str], search: Sequence[str] = ("inc", "sys")) -> set[str]:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    scanner = IncludeScanner(Memo(root / "memo.json"), [str(root / one) for one in search])
    found = scanner.closure(str(root / "src/a.cpp"))
    assert list(found) == sorted(found)
    return {os.path.relpath(path, root) for path in found}


def test_follows_quotes_brackets_and_their_own_includes(tmp_path: Path) -> None:
    files = {
        "src/a.cpp": '#include "b.h"\n#include <c.h>\n',
        "src/b.h": '#include "sub/d.h"\n',
        "src/sub/d.h": '#include "../e.h"\n',
        "src/e.h": "",
        "inc/c.h": '#include "f.h"\n',
        "inc/f.h": "",
        "inc/unrelated.h": "",
        "src/c.h": "a bracket does not look beside the source",
    }
    assert _closure(tmp_path, files) == {
        *("src/a.cpp", "src/b.h", "src/sub/d.h", "src/e.h", "inc/c.h", "inc/f.h")
    }


def test_takes_every_folder_that_has_the_name(tmp_path: Path) -> None:
    files = {
        "src/a.cpp": "#include <x.h>\n",
        "inc/x.h": "#include_next <x.h>\n",
        "sys/x.h": "#include_next <y.h>\n",
        "sys/y.h": "",
    }
    assert _closure(tmp_path, files) == {"src/a.cpp", "inc/x.h", "sys/x.h", "sys/y.h"}


def test_takes_both_sides_of_a_condition(tmp_path: Path) -> None:
    files = {
        "src/a.cpp": '#ifdef A\n#include "b.h"\n#else\n#include "c.h"\n#endif\n',
        "src/b.h": "",
        "src/c.h": "",
    }
    assert _closure(tmp_path, files) == set(files)


def test_ends_on_a_circle_and_leaves_out_what_is_not_there(tmp_path: Path) -> None:
    files = {
        "src/a.cpp": '#include "b.h"\n#include <gone.h>\n#include MACRO\n',
        "src/b.h": '#include "b.h"\n',
    }
    assert _closure(tmp_path, files) == {"src/a.cpp", "src/b.h"}


def test_takes_what_gcc_implies(tmp_path: Path) -> None:
    assert _closure(tmp_path, {"src/a.cpp": "", "sys/stdc-predef.h": ""}) == {
        "src/a.cpp",
        "sys/stdc-predef.h",
    }


def test_a_link_to_itself_hides_no_neighbour(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "loop").symlink_to("loop")
    files = {"src/a.cpp": '#include "b.h"\n#include "loop"\n', "src/b.h": ""}
    assert _closure(tmp_path, files) == set(files)


def test_a_file_that_a_condition_asks_for_counts_once_it_is_there(tmp_path: Path) -> None:
    files = {"src/a.cpp": '#if __has_include("new.h")\nint answer;\n#endif\n'}
    assert _closure(tmp_path, files) == {"src/a.cpp"}
    assert _closure(tmp_path, {"src/new.h": ""}) == {"src/a.cpp", "src/new.h"}


def test_a_source_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        _closure(tmp_path, {})
