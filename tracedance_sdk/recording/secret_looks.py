"""Whether a piece of text looks like a secret: tests on what a pattern has found."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

from tracedance_sdk.recording.secret_names import Secrecy, secrecy

_MIXED_RUN: Final = re.compile(rb"[A-Za-z0-9]{16,}")
_PLACEHOLDER: Final = re.compile(
    rb"(?:\$\{.*\}|\$[A-Z_][A-Z0-9_]*|\$\(.*|<[^>]*>|\{\{?[^}]*\}?\}|%\([a-z_]+\)s|%s"
    rb"|(?:[*x.#?-]|\xe2\x80\xa2){3,}|.{0,20}\.\.\.|(?i:your[_ -].*)"
    rb"|(?i:none|null|nil|true|false|undefined|\[?redacted\]?|string|str))\Z"
)
_MASKS: Final = re.compile(rb"(?:\[MASKED:[A-Za-z0-9_.-]{1,40}:[0-9a-f]{0,16}\])+\Z")
_BASE64: Final = re.compile(rb"[A-Za-z0-9+/]{40}\Z")
_WORD_BYTE: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
_WORDS: Final = re.compile(rb"[A-Za-z_.:/-]*\Z")
_SCHEME: Final = re.compile(rb"(?i:bearer|basic|digest|token|apikey|negotiate|aws4-hmac-sha256)\s+")


def looks_right(look: str, secret: bytes) -> bool:
    """Whether a secret passes the test of its pattern's row."""
    if look == "mixed":
        return any(map(_has_both, _MIXED_RUN.findall(secret)))
    if look == "varied":
        return _is_varied(secret)
    if look == "basic":
        return _is_basic(secret)
    if look == "literal":
        return not is_placeholder(secret)
    return True


def stands_free(standing: str, data: bytes, start: int) -> bool:
    """Whether what precedes `start` may precede a secret of a row with this `standing`."""
    if standing == "any" or start == 0:
        return True
    before = data[start - 1]
    if before in _WORD_BYTE:
        return _ends_escape(data[max(0, start - 6) : start])
    if standing == "base64" and before in b"+/":
        return _BASE64.search(data, max(0, start - 40), start) is None
    return True


def _ends_escape(before: bytes) -> bool:
    r"""Whether a letter before a token belongs to an escape: ``\n``, ``\u003d``, ``%3D``."""
    return (
        re.search(rb"(?:\\[nrtbf]|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2}|\x1b\[[0-9;]*m)\Z", before)
        is not None
    )


def is_placeholder(secret: bytes) -> bool:
    """Whether the text stands for a secret instead of being one: a mask, ``${TOKEN}``, ``***``."""
    return _MASKS.match(secret) is not None or _PLACEHOLDER.match(secret) is not None


def is_named_secret(value: bytes, *, level: Secrecy, quoted: bool, is_env: bool = False) -> bool:
    """Whether the value beside a name that announces a secret is one.

    Args:
        value: The text of the value.
        level: How surely the name announces one.
        quoted: The value stood in quotes or was a JSON string, so its ends are certain.
        is_env: The name is in capitals and followed by ``=``, as in a file of variables.
    """
    scheme = scheme_length(value)
    secret = value[scheme:]
    if not secret or is_placeholder(secret):
        return False
    if level is Secrecy.STRONG:
        return quoted or (is_env and len(secret) >= 4) or (len(secret) >= 6 and _is_no_word(secret))
    if re.search(rb"\s", secret) and b"=" not in secret:
        return False
    least = 8 if quoted or scheme else 12
    return len(secret) >= least and (
        _has_both(secret) or (len(secret) >= 20 and _is_varied(secret))
    )


def scheme_length(value: bytes) -> int:
    """Return the length of an authorization scheme before a credential, 0 without one."""
    scheme = _SCHEME.match(value)
    return scheme.end() if scheme else 0


def _is_no_word(value: bytes) -> bool:
    if _WORDS.match(value) or b"://" in value:
        return False
    return secrecy(value.decode("utf-8", "replace"))[0] is Secrecy.NONE


def _has_both(secret: bytes) -> bool:
    return re.search(rb"[0-9]", secret) is not None and re.search(rb"[A-Za-z]", secret) is not None


def _is_varied(secret: bytes) -> bool:
    if re.search(rb"[0-9]", secret):
        return True
    inner = secret[1:]
    return re.search(rb"[A-Z]", inner) is not None and re.search(rb"[a-z]", inner) is not None


def _is_basic(secret: bytes) -> bool:
    try:
        decoded = base64.b64decode(secret + b"=" * (-len(secret) % 4), altchars=b"-_")
    except (binascii.Error, ValueError):
        return False
    return b":" in decoded and decoded.isascii() and decoded.decode("ascii").isprintable()
