from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polywheel_abi_check.source import FileSource, MemorySource, Source
from polywheel_variants.errors import BadInputError


@given(st.binary(max_size=40), st.integers(0, 50), st.integers(0, 50))
def test_memory_reads_as_a_slice(data: bytes, offset: int, length: int) -> None:
    source: Source = MemorySource(data)
    assert source.size == len(data)
    assert source.read(offset, length) == data[offset : offset + length]


@pytest.mark.parametrize("data", [b"", b"x", bytes(range(256)) * 20])
def test_file_reads_as_memory_does(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    memory = MemorySource(data)
    with FileSource(path) as source:
        assert source.size == memory.size
        for offset, length in ((0, 4), (1, 0), (5000, 500), (9000, 1)):
            assert source.read(offset, length) == memory.read(offset, length)


def test_what_cannot_be_read_is_bad_input(tmp_path: Path) -> None:
    for path in (tmp_path / "absent", tmp_path):
        with pytest.raises(BadInputError, match="cannot be read"):
            FileSource(path)
