"""Which names announce a secret: ``password``, ``OPENAI_API_KEY``, ``clientSecret``, ``X-Api-Key``.

A name is split into words at case changes and at anything that is not a letter or digit; its
last words decide. ``password_hash``, ``max_tokens`` and ``next_page_token`` announce none, and
neither does a text that is no name: one with punctuation, or over 80 characters.
"""

from __future__ import annotations

import enum
import functools
import re
from typing import Final

_NAME: Final = re.compile(r"[A-Za-z0-9_.\- ]{1,80}\Z")
_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

_STRONG: Final = {
    "passphrase": "passphrase",
    "passwd": "password",
    "password": "password",
    "pwd": "password",
    "secret": "secret",
}
_STRONG_PAIRS: Final = (
    "access key",
    "account key",
    "api key",
    "connection string",
    "encryption key",
    "master key",
    "pass phrase",
    "private key",
    "recovery phrase",
    "secret key",
    "seed phrase",
    "role key",
    "signing key",
)
_WEAK: Final = {
    "auth": "auth",
    "authorization": "authorization",
    "cookie": "cookie",
    "credential": "credential",
    "credentials": "credential",
    "jsessionid": "session",
    "phpsessid": "session",
    "sessid": "session",
    "token": "token",
}
_WEAK_PAIRS: Final = (
    "access token",
    "api token",
    "auth key",
    "auth token",
    "bearer token",
    "csrf token",
    "id token",
    "refresh token",
    "session token",
    "shared key",
    "ssh key",
    "storage key",
    "subscription key",
)
"""Two words, which may also be written as one; the second may be a plural."""

_NOT_TOKENS: Final = frozenset(
    {
        "bos",
        "cancellation",
        "cls",
        "continuation",
        "cursor",
        "end",
        "eos",
        "first",
        "input",
        "last",
        "mask",
        "max",
        "min",
        "next",
        "num",
        "output",
        "pad",
        "page",
        "pagination",
        "per",
        "prev",
        "previous",
        "prompt",
        "resume",
        "sep",
        "special",
        "start",
        "stop",
        "sync",
        "text",
        "trial",
        "unk",
        "word",
    }
)
"""What a token beside one of these words is: a place in a text or in a list, no secret."""


class Secrecy(enum.IntEnum):
    """How surely a name announces a secret."""

    NONE = 0
    WEAK = 1
    """A secret when the value looks like one."""
    STRONG = 2
    """A secret whatever the value."""


def _pairs(pairs: tuple[str, ...]) -> dict[str, str]:
    return {pair.replace(" ", ""): pair.replace(" ", "_") for pair in pairs}


_STRONG_ENDINGS: Final = {**_pairs(_STRONG_PAIRS), **_STRONG}
_WEAK_ENDINGS: Final = {
    ending: "token" if ending.endswith("token") else kind
    for ending, kind in _pairs(_WEAK_PAIRS).items()
}


@functools.lru_cache(maxsize=4096)
def secrecy(name: str) -> tuple[Secrecy, str]:
    """Return how surely a name announces a secret, and the kind of secret.

    Example:
        >>> secrecy("OPENAI_API_KEY")
        (<Secrecy.STRONG: 2>, 'api_key')
        >>> secrecy("max_tokens")[0]
        <Secrecy.NONE: 0>
    """
    if not _NAME.match(name):
        return Secrecy.NONE, ""
    words = [word.lower() for word in _WORDS.findall(name)] or [""]
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    both = before + last
    for ending, kind in _STRONG_ENDINGS.items():
        if last.endswith((ending, f"{ending}s")) or both in (ending, f"{ending}s"):
            return Secrecy.STRONG, kind
    for ending, kind in _WEAK_ENDINGS.items():
        if last.endswith((ending, f"{ending}s")) or both in (ending, f"{ending}s"):
            return Secrecy.WEAK, kind
    if last in _WEAK and before not in _NOT_TOKENS:
        return Secrecy.WEAK, _WEAK[last]
    return Secrecy.NONE, ""
