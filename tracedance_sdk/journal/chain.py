"""The chain: every line carries a hash over itself and the hash of the line before."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable
from typing import Final, NamedTuple

from tracedance_sdk.journal.encoding import EVENT_OPENING, NUMBER_OPENING, SPAN_OPENING

HASHES: Final = {False: "sha256", True: "hmac-sha256"}
"""Whether there is a key → the name of the hash, as headers give it."""

Link = Callable[[bytes, bytes, bytes], str]
"""Gives the hash of a line, in hex, from three pieces: the hash of the line before (in hex; empty
at the beginning of a chain), and what stands before and after the hash in the line itself."""

_KEY_PURPOSE: Final = b"tracedance.journal.key"
_LINE: Final = re.compile(
    b'(%b|%b)([0-9a-f]{64})(%b([1-9][0-9]{0,18})".*)'
    % tuple(re.escape(piece) for piece in (SPAN_OPENING, EVENT_OPENING, NUMBER_OPENING)),
    re.DOTALL,
)


class ChainedLine(NamedTuple):
    """A line of a journal, taken apart.

    Attributes:
        opening: What stands before the hash.
        hash: 64 lower-case hex characters.
        rest: What stands after the hash.
        number: The number that the line gives itself.
    """

    opening: bytes
    hash: str
    rest: bytes
    number: int


def link_under(key: bytes | None) -> Link:
    """Return the hash function of a chain: SHA-256, or HMAC-SHA256 under a key."""
    seed = hashlib.sha256() if key is None else hmac.new(key, digestmod="sha256")

    def link(*pieces: bytes) -> str:
        running = seed.copy()
        running.update(b"".join(pieces))
        return running.hexdigest()

    return link


def key_mark(key: bytes) -> str:
    """Return 16 hex characters that tell one key from another without giving it away."""
    return hmac.digest(key, _KEY_PURPOSE, "sha256").hex()[:16]


def take_apart(line: bytes) -> ChainedLine | None:
    """Return the pieces of a line without its newline; None when it is no line of a journal."""
    found = _LINE.fullmatch(line)
    if found is None:
        return None
    opening, written, rest, number = found.groups()
    return ChainedLine(opening, written.decode(), rest, int(number))
