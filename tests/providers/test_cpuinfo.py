from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from polywheel_providers import CoreKind
from polywheel_providers.cpuinfo import alike, common_flags, processors, sorted_flags


def test_each_processor_is_its_own() -> None:
    text = "processor\t: 0\nflags\t: a b\n\nprocessor\t: 1\nflags\t: a\n\nHardware : X\n"
    assert processors(text) == (
        {"processor": "0", "flags": "a b"},
        {"processor": "1", "flags": "a", "Hardware": "X"},
    )


def test_a_banner_before_the_first_processor_is_no_processor() -> None:
    assert processors(
        "Processor\t: AArch64 Processor rev 14 (aarch64)\nprocessor\t: 0\nFeatures\t: fp\n"
    ) == ({"processor": "0", "Features": "fp"},)


def test_bare_processors_take_the_one_description() -> None:
    found = processors("processor : 0\nprocessor : 1\nFeatures : fp\nCPU part : 0xd03\n")
    assert [processor["Features"] for processor in found] == ["fp", "fp"]
    assert [processor["processor"] for processor in found] == ["0", "1"]


def test_alike_cores_are_counted_in_the_order_first_seen() -> None:
    big, little = CoreKind(1, "v", "2", "big", ("a", "b")), CoreKind(1, "v", "1", "little", ("a",))
    assert [(core.count, core.name) for core in alike([little, big, big, little, big])] == [
        (2, "little"),
        (3, "big"),
    ]


def test_flags_common_to_all_cores() -> None:
    cores = (CoreKind(1, "", "", "", ("a", "b")), CoreKind(1, "", "", "", ("b", "c")))
    assert common_flags(cores) == {"b"}
    assert common_flags(()) == frozenset()


@given(st.text())
def test_no_text_breaks_the_parser(text: str) -> None:
    for processor in processors(text):
        assert processor["processor"].isdecimal()
    assert list(sorted_flags(text)) == sorted(set(text.lower().split()))


@given(
    st.lists(
        st.sampled_from(["processor : 0", "processor : 1", "flags : fpu", "", "model name", ": x", "a:b:c"])
    )
)
def test_no_order_of_lines_breaks_the_parser(lines: list[str]) -> None:
    count = sum(line.startswith("processor") for line in lines)
    assert len(processors("\n".join(lines))) == count
