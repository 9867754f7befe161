"""One HTTP session for everything polywheel reads: proxies, netrc, certificates, retries, bounds.

`requests` brings the proxies (HTTP_PROXY, NO_PROXY) and netrc that `pip` users already have set up.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from threading import Event, Timer
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote, urlsplit, urlunsplit

from polywheel_variants.errors import BadInputError, MissingError

if TYPE_CHECKING:
    import requests

MAX_PAGE_BYTES = 256 * 1024 * 1024
"""The most bytes a whole answer may have; the largest public project page is under 60 MB."""

_BLOCK = 256 * 1024
_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")
_BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})
_GONE = frozenset({404, 410})
_REFUSED = frozenset({401, 403, 407})
_LONGEST_WAIT_S = 30.0
_CERTIFICATE_VARIABLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT", "SSL_CERT_FILE")

Read = TypeVar("Read")
Origin = tuple[str, str, "int | None"]


@dataclass(frozen=True)
class Patience:
    """How long one request is tried."""

    attempts: int = 4
    backoff_s: float = 0.5
    """The first pause in seconds; each later one is twice as long."""
    connect_s: float = 15.0
    read_s: float = 60.0
    """The longest silence of a server, in seconds."""
    answer_s: float = 600.0
    """The longest a body may take to arrive, in seconds: a server that drips is never silent."""


@dataclass(frozen=True)
class Answer:
    """A whole body, and what its headers say of it."""

    url: str
    """Where it came from in the end: relative links are relative to this."""
    content_type: str
    """The media type alone, in lower case."""
    body: bytes


@dataclass(frozen=True)
class Part:
    """One range of a file on a server."""

    data: bytes
    total: int
    """The whole file's size in bytes."""
    etag: str | None


class HttpClient:
    """A session with connection reuse. Close it, or use it as a context manager."""

    def __init__(self, patience: Patience = Patience()) -> None:
        self._patience = patience
        self._credentials: dict[Origin, tuple[str, str]] = {}
        self.requests_made = 0
        """How many requests went out, retries included."""

    def __enter__(self) -> HttpClient:
        """Return the client itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections."""
        self.close()

    def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        session = self.__dict__.pop("_session", None)
        if session is not None:
            session.close()

    def login(self, url: str) -> str:
        """Keep the credentials written in `url` for its host; return the URL without them.

        So no message, page or JSON ever shows a password.
        """
        parts = urlsplit(url)
        if parts.username is None:
            return url
        self._credentials[_origin(url)] = (unquote(parts.username), unquote(parts.password or ""))
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))

    def get(self, url: str, *, accept: str = "*/*", limit: int = MAX_PAGE_BYTES) -> Answer | None:
        """Read a whole answer; None where the server has nothing of that name (404, 410).

        Raises MissingError when the server cannot be reached or refuses, BadInputError when the answer
        is larger than `limit` bytes.
        """

        def read(response: requests.Response) -> Answer | None:
            if response.status_code in _GONE:
                return None
            self._require_status(response, 200)
            media = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
            return Answer(response.url, media, _body(response, limit, self._patience.answer_s))

        return self._try(url, {"Accept": accept}, read)

    def get_range(self, url: str, start: int, stop: int) -> Part:
        """Read the bytes `start` to `stop` (exclusive; at most to the file's end).

        Raises MissingError for a server that ignores ranges, lacks the file or cannot be reached.
        """
        # A compressed answer would be a range of other bytes than the file's.
        headers = {"Range": f"bytes={start}-{stop - 1}", "Accept-Encoding": "identity"}
        return self._try(url, headers, lambda response: self._part(response, start, stop))

    def _part(self, response: requests.Response, start: int, stop: int) -> Part:
        host = urlsplit(response.url).netloc
        if response.status_code == 200:
            raise MissingError(
                f"{host} ignores range requests, so parts of {_name(response.url)} cannot be read; "
                "choose another index with UV_DEFAULT_INDEX or PIP_INDEX_URL"
            )
        self._require_status(response, 206)
        said = response.headers.get("Content-Range", "")
        match = _CONTENT_RANGE.fullmatch(said)
        data = _body(response, stop - start, self._patience.answer_s)
        if match is None or int(match[1]) != start or int(match[2]) != start + len(data) - 1:
            raise MissingError(
                f"{host}: asked for bytes {start}-{stop - 1} of {_name(response.url)}, got {len(data)} "
                f"bytes with Content-Range {said!r}"
            )
        if len(data) != min(stop, int(match[3])) - start:
            raise MissingError(f"{host}: a short range of {_name(response.url)}: {said!r}")
        return Part(data, int(match[3]), response.headers.get("ETag"))

    def _require_status(self, response: requests.Response, wanted: int) -> None:
        status = response.status_code
        if status == wanted:
            return
        host = urlsplit(response.url).netloc
        hint = "; give credentials by netrc or in the index URL" if status in _REFUSED else ""
        raise MissingError(f"{host} answered HTTP {status} for {urlsplit(response.url).path}{hint}")

    def _try(self, url: str, headers: dict[str, str], read: Callable[[requests.Response], Read]) -> Read:
        import requests  # noqa: PLC0415 - 0.1 s that a command without a network need not pay

        problem = ""
        for attempt in range(self._patience.attempts):
            wait = self._patience.backoff_s * 2 ** (attempt - 1) if attempt else 0.0
            try:
                time.sleep(wait)
                with self._send(url, headers) as response:
                    if response.status_code not in _BUSY:
                        return read(response)
                    problem = f"it answers HTTP {response.status_code}"
                    if attempt + 1 < self._patience.attempts:
                        time.sleep(_retry_after(response))
            except requests.exceptions.SSLError as error:
                raise MissingError(_untrusted(url, error)) from None
            except (
                requests.exceptions.ConnectionError,
                requests.exceptions.Timeout,
                requests.exceptions.ChunkedEncodingError,
            ) as error:
                problem = _reason(error)
            except (requests.exceptions.RequestException, ValueError) as error:
                # ValueError: a redirect to what is no URL
                raise BadInputError(f"{url}: {_reason(error)}") from None
        raise MissingError(
            f"{urlsplit(url).netloc} cannot be reached for {_name(url)}: {problem}; check the network "
            "and the proxy (HTTPS_PROXY), or choose another index: with --index, or for torch's headers "
            "with UV_DEFAULT_INDEX or PIP_INDEX_URL"
        )

    def _send(self, url: str, headers: dict[str, str]) -> requests.Response:
        self.requests_made += 1
        return self._session.get(
            url,
            headers=headers,
            stream=True,
            timeout=(self._patience.connect_s, self._patience.read_s),
            auth=self._credentials.get(_origin(url)),
        )

    @cached_property
    def _session(self) -> requests.Session:
        import requests  # noqa: PLC0415 - as in _try

        session = requests.Session()
        session.headers["User-Agent"] = "polywheel"
        certificates = next(filter(None, map(os.environ.get, _CERTIFICATE_VARIABLES)), None)
        if certificates is not None:
            session.verify = certificates
        return session


def _origin(url: str) -> Origin:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port


def _name(url: str) -> str:
    path = urlsplit(url).path.rstrip("/")
    return unquote(path.rpartition("/")[2]) or "/"


def _body(response: requests.Response, limit: int, answer_s: float) -> bytes:
    """Read a body of at most `limit` bytes, for at most `answer_s` seconds."""
    body = bytearray()
    with _within(answer_s, response):
        for block in response.iter_content(_BLOCK):
            body += block
            if len(body) > limit:
                raise BadInputError(f"{response.url}: an answer of more than {limit} bytes")
    return bytes(body)


@contextmanager
def _within(seconds: float, response: requests.Response) -> Iterator[None]:
    """End the reading of a body that takes longer. Raises MissingError then, whatever the reader made of it.

    A read of many bytes looks at no clock between them, so another thread ends it (urllib3 2.3, `shutdown`).
    """
    late = Event()

    def end() -> None:
        late.set()
        response.raw.shutdown()

    timer = Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if late.is_set():
            host = urlsplit(response.url).netloc
            raise MissingError(
                f"{host}: {_name(response.url)} did not arrive in {seconds:g} seconds; try again"
            )


def _retry_after(response: requests.Response) -> float:
    """Seconds the server asks to wait; its date form is not honoured, the backoff stands in for it."""
    said = response.headers.get("Retry-After", "")
    return min(float(said), _LONGEST_WAIT_S) if said.isdecimal() else 0.0


def _untrusted(url: str, error: Exception) -> str:
    return (
        f"{urlsplit(url).netloc}: its certificate is not trusted ({_reason(error)}); "
        "name your certificates in SSL_CERT_FILE or REQUESTS_CA_BUNDLE"
    )


def _reason(error: BaseException) -> str:
    """Say the innermost cause: what `requests` wraps round it helps nobody."""
    while True:
        inner = next((one for one in (*error.args, error.__cause__) if isinstance(one, BaseException)), None)
        inner = inner or getattr(error, "reason", None)
        if not isinstance(inner, BaseException) or inner is error:
            break
        error = inner
    text = " ".join(str(error).split()) or type(error).__name__
    return text.rpartition(">: ")[2][:200]
