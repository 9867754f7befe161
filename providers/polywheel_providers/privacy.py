"""What stays out of a note: the folders of files, which name people and their machines. Pure."""

from __future__ import annotations

import re

# An absolute path's folders; what follows a word, a colon or a slash is a URL's or a relative path's.
_FOLDERS = re.compile(r"(?<![\w:/\\])(?:~|[A-Za-z]:)?(?:[/\\][^\s/\\:'\"(),]+)*[/\\](?=[^\s/\\])")
_HOME = re.compile(r"(?i)(?:/home|/users|[a-z]:\\users)[/\\][^\s/\\:'\"(),]+")


def without_folders(text: str, path: str = "") -> str:
    """Return what a library or program said with each absolute path cut down to its last part.

    `path` is the file that was used, whose folders are cut off even where they hold blanks.
    """
    folder = re.match(r".*[/\\]", path, re.DOTALL)
    return _FOLDERS.sub("", _HOME.sub("~", text.replace(folder[0], "") if folder else text))
