"""An agent that is a service behind HTTP."""

from __future__ import annotations

import http.client
import json
import re
import socket
import urllib.error
import urllib.request
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from tracedance_sdk.errors import AgentFailed, AgentUnreachable, InvalidOption
from tracedance_sdk.replay.running.apart import in_thread
from tracedance_sdk.replay.running.asking import MOST_BYTES, Request, parsed_reply
from tracedance_sdk.trace import Json

_SHOWN: Final = 300
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})


class HttpAgent:
    """A service that is sent one JSON document a request and answers with one.

    Args:
        url: Where.
        offline: Refuse every address that is not on this machine.
        timeout_s: For one request.

    Raises:
        InvalidOption: No address of HTTP, or one that may not be reached.
    """

    runs_apart: Final = True

    def __init__(self, url: str, *, offline: bool = False, timeout_s: float = 120) -> None:
        parts = _parts(url)
        if offline and parts.hostname not in _LOOPBACK:
            raise InvalidOption(f"{parts.hostname!r} is not on this machine, and --offline is set")
        self.name = f"{parts.netloc}{parts.path}"  # not what is asked for: it may hold a key
        self._url = url
        self._timeout_s = timeout_s
        self._opener = _opener(is_loopback=parts.hostname in _LOOPBACK)

    async def reply(self, request: Request) -> Json:
        """Post a document; see `AgentUnderTest.reply`."""
        data = json.dumps(request.document).encode()
        return parsed_reply(await in_thread(self._post, data))

    async def close(self) -> None:
        """Nothing is held."""

    def _post(self, data: bytes) -> bytes:
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(self._url, data, headers)  # noqa: S310 - it was checked
        try:
            with self._opener.open(request, timeout=self._timeout_s) as response:
                body: bytes = response.read(MOST_BYTES + 1)
                n_missing: int | None = response.length
        except urllib.error.HTTPError as error:
            with error:
                text = _begin_of(error)
            told = f"{self.name} answered {error.code}"
            if 300 <= error.code < 400:
                raise AgentFailed(f"{told}, a redirect, which is not followed") from error
            if error.code >= 500 or error.code == 429:
                raise AgentUnreachable(told) from error
            raise AgentFailed(f"{told}: {_shown(text)}") from error
        except (OSError, ValueError, http.client.HTTPException) as error:
            told = _why_unreached(error, self._timeout_s)
            raise AgentUnreachable(f"{self.name} cannot be reached: {told}") from error
        if len(body) > MOST_BYTES:
            raise AgentFailed(f"{self.name} answered more than {MOST_BYTES:,} bytes")
        if n_missing:
            raise AgentUnreachable(
                f"{self.name} broke off: {n_missing:,} bytes of its answer are missing"
            )
        return body


def _begin_of(response: urllib.error.HTTPError) -> str:
    try:
        return response.read(_SHOWN * 4).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException):
        return ""


def _parts(url: str) -> SplitResult:
    """Return the parts of an address that can be asked.

    Raises:
        InvalidOption: It cannot, and why.
    """
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
        is_address = is_address and parts.port != 0
    except ValueError as error:
        raise InvalidOption(
            f"{_without_secrets(url)!r:.200} is no address of HTTP: {error}"
        ) from error
    if parts.username is not None or parts.password is not None:
        raise InvalidOption("an agent's address must not hold a user or a password")
    if not is_address:
        raise InvalidOption(f"{_without_secrets(url)!r:.200} is no address of HTTP")
    if not url.isascii() or any(letter <= " " or letter == "\x7f" for letter in url):
        raise InvalidOption(
            f"{_without_secrets(url)!r:.200} is no address of HTTP: write spaces and other letters "
            "as %20"
        )
    return parts


def _without_secrets(url: str) -> str:
    return re.sub(r"(?<=//)[^/@]*@|[?#].*", "", url, flags=re.DOTALL)


def _why_unreached(error: Exception, timeout_s: float) -> str:
    """Return in plain words why a service gave no answer."""
    cause = getattr(error, "reason", error)
    if isinstance(cause, TimeoutError):
        return f"no answer within {timeout_s:g} s"
    if isinstance(cause, ConnectionRefusedError):
        return "nothing listens there"
    if isinstance(cause, socket.gaierror):
        return "there is no such host"
    if isinstance(cause, (ConnectionError, http.client.HTTPException)):
        return "the connection broke off before there was an answer"
    return _shown(str(cause))


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect is an answer, so that nothing is sent where nobody said it should be."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _opener(*, is_loopback: bool) -> urllib.request.OpenerDirector:
    """Return what posts; no proxy may take a local call off this machine."""
    proxies = [urllib.request.ProxyHandler({})] if is_loopback else []
    return urllib.request.build_opener(_NoRedirects, *proxies)


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 3]}..."
