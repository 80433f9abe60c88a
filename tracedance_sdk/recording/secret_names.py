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
    "accesskey": "access_key",
    "apikey": "api_key",
    "passphrase": "passphrase",
    "passwd": "password",
    "password": "password",
    "privatekey": "private_key",
    "pwd": "password",
    "secret": "secret",
    "secretkey": "secret_key",
}
_STRONG_PAIRS: Final = frozenset(
    {
        ("access", "key"),
        ("account", "key"),
        ("api", "key"),
        ("encryption", "key"),
        ("master", "key"),
        ("private", "key"),
        ("secret", "key"),
        ("signing", "key"),
        ("connection", "string"),
        ("pass", "phrase"),
    }
)
_WEAK: Final = frozenset(
    {"accesstoken", "auth", "authorization", "authtoken", "cookie", "credential", "token"}
)
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
    for ending, kind in _STRONG.items():
        if last.endswith((ending, f"{ending}s")):
            return Secrecy.STRONG, kind
    if (before, last.removesuffix("s")) in _STRONG_PAIRS:
        return Secrecy.STRONG, f"{before}_{last.removesuffix('s')}"
    if last in _WEAK and before not in _NOT_TOKENS:
        return Secrecy.WEAK, last
    return Secrecy.NONE, ""
