"""Which index to ask, learned from the settings that uv and pip already have.

The order is uv's environment, uv's configuration, pip's environment, pip's configuration, and last the
index that pip itself falls back on. No host is written here.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from polywheel_variants.errors import BadInputError, MissingError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_NAMED = re.compile(r"[A-Za-z0-9._-]+=(?P<url>.+)")
"""uv lets an index have a name: `internal=https://...`."""
_PIP_TIMEOUT_S = 60


@dataclass(frozen=True)
class Registry:
    """A simple index, and who said to use it."""

    url: str = field(repr=False)
    """The simple API's root, as configured: it may hold credentials, so it is never shown whole."""
    origin: str
    """The variable or file that names it."""

    @property
    def shown(self) -> str:
        """The URL without credentials, for messages."""
        parts = urlsplit(self.url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def default_registry(environ: Mapping[str, str] = os.environ) -> Registry:
    """Find the index that this user's uv and pip install from.

    Raises BadInputError for a configuration file that cannot be read, MissingError when pip is absent.
    """
    return (
        _first_variable(environ, ("UV_DEFAULT_INDEX", "UV_INDEX_URL"))
        or _from_uv_files(uv_config_files(environ))
        or _first_variable(environ, ("PIP_INDEX_URL",))
        or from_pip_listing(_pip_config_list(environ))
        or _pip_default()
    )


def _first_variable(environ: Mapping[str, str], names: Iterable[str]) -> Registry | None:
    return next((Registry(_unnamed(environ[name]), name) for name in names if environ.get(name)), None)


def _unnamed(url: str) -> str:
    match = _NAMED.fullmatch(url.strip())
    return match["url"] if match else url.strip()


def uv_config_files(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """List the uv.toml files that hold outside any project, the user's before the system's."""
    if environ.get("UV_NO_CONFIG", "").lower() in {"1", "true", "yes", "on"}:
        return ()
    if environ.get("UV_CONFIG_FILE"):
        return (Path(environ["UV_CONFIG_FILE"]),)
    home = environ.get("HOME") or environ.get("USERPROFILE") or ""
    user = environ.get("XDG_CONFIG_HOME") or environ.get("APPDATA") or (f"{home}/.config" if home else "")
    folders = [Path(user)] if user else []
    return tuple(folder / "uv" / "uv.toml" for folder in (*folders, Path("/etc")))


def _from_uv_files(paths: Iterable[Path]) -> Registry | None:
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, UnicodeDecodeError) as error:
            raise BadInputError(f"{path}: cannot be read: {error}") from None
        url = uv_default_index(text, source=str(path))
        if url is not None:
            return Registry(url, str(path))
    return None


def uv_default_index(text: str, *, source: str) -> str | None:
    """Read the default index out of a uv.toml; None when it names none.

    Raises BadInputError, naming `source`, for text that is no TOML.
    """
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except ValueError as error:  # TOMLDecodeError is one
        raise BadInputError(f"{source}: not TOML: {error}") from None
    indexes = table.get("index", [])
    named = [one for one in indexes if isinstance(one, dict)] if isinstance(indexes, list) else []
    pip = table.get("pip")
    urls = [one.get("url") for one in named if one.get("default") is True]
    urls += [table.get("index-url"), pip.get("index-url") if isinstance(pip, dict) else None]
    return next((url for url in urls if isinstance(url, str) and url), None)


def from_pip_listing(listing: str) -> Registry | None:
    """Read what `pip config list` prints: `section.key='value'` lines.

    pip's own precedence: the environment before the `install` section before `global`.
    """
    found: dict[str, str] = {}
    for line in listing.splitlines():
        key, _, value = line.partition("=")
        section, _, name = key.rpartition(".")
        if name == "index-url" and section in {":env:", "install", "global"}:
            found[section] = _literal(value)
    for section in (":env:", "install", "global"):
        if found.get(section):
            return Registry(found[section], f"pip's configuration ({section}.index-url)")
    return None


def _literal(text: str) -> str:
    """Read one value: pip writes it as a Python string literal."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return value if isinstance(value, str) else text


def _pip_config_list(environ: Mapping[str, str]) -> str:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "config", "list"]
    try:
        done = subprocess.run(
            command, env=dict(environ), capture_output=True, text=True, timeout=_PIP_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingError(f"pip's configuration cannot be read: {error}; set PIP_INDEX_URL") from None
    if done.returncode != 0:
        last = (done.stderr.strip() or "no message").splitlines()[-1]
        raise MissingError(f"`pip config list` failed: {last}; set PIP_INDEX_URL")
    return done.stdout


def _pip_default() -> Registry:
    try:
        from pip._internal.models.index import PyPI  # noqa: PLC0415 - pip is slow to import, rarely needed
    except ImportError as error:
        raise MissingError(f"pip's default index cannot be learned: {error}; set PIP_INDEX_URL") from None
    return Registry(PyPI.simple_url, "pip's default")
