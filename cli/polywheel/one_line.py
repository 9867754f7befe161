"""Words of others, such as file names, put so that they break no line and tell a terminal nothing."""

from __future__ import annotations


def one_line(text: str) -> str:
    """Escape every character that is not to be seen."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)
