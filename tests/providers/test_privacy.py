from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polywheel_providers import probe, to_json
from polywheel_providers.privacy import without_folders

if TYPE_CHECKING:
    from .conftest import Made


@pytest.mark.parametrize(
    ("said", "path", "left"),
    [
        ("OSError: /home/ada/lib/libcuda.so.1: file too short", "", "OSError: libcuda.so.1: file too short"),
        ("/Users/Ada L/x/nvidia-smi: line 2", "/Users/Ada L/x/nvidia-smi", "nvidia-smi: line 2"),
        (r"[WinError 126] 'C:\Users\ada\nvcuda.dll'", "", "[WinError 126] 'nvcuda.dll'"),
        ("no /etc/passwd, no /root/.ssh/id", "", "no passwd, no id"),
        ("see https://docs.nvidia.com/deploy/x", "", "see https://docs.nvidia.com/deploy/x"),
        ("CUDA 12.8, 2/3 devices, and/or a / b", "", "CUDA 12.8, 2/3 devices, and/or a / b"),
        ("HOME=/home/ada is not /home/bob/x", "", "HOME=~ is not x"),
        ("no answer within 2 s", "libcuda.so.1", "no answer within 2 s"),
    ],
)
def test_paths_are_cut_down_to_their_last_part(said: str, path: str, left: str) -> None:
    assert without_folders(said, path) == left


@given(st.text(), st.text())
def test_no_text_breaks_it(text: str, path: str) -> None:
    assert len(without_folders(text, path)) <= len(text)


def test_no_folder_of_a_library_or_program_enters_a_record(made: Made) -> None:
    machine = made(
        {
            "uname": "Linux x86_64 6.8.0\n",
            "usr/lib/libcuda.so.1": b"no library",
            "usr/lib/libnvidia-ml.so.1": b"no library",
            "usr/lib/libze_loader.so.1": b"no library",
            "usr/bin/nvidia-smi": '#!/bin/sh\necho "$0: $HOME is not there" >&2\nexit 9\n',
        },
        HOME="/home/ada",
    )
    facts = probe(machine)
    assert len(facts.all_notes()) >= 4
    record = json.dumps(to_json(facts))
    assert "libcuda.so.1: " in record
    assert "nvidia-smi: ~ is not there" in record
    assert machine.find_program("nvidia-smi")
    assert "machine/usr" not in record
    assert "/home" not in record
    assert "ada" not in record
