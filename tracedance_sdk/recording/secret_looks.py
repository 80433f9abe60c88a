"""Whether a piece of text looks like a secret: tests on what a pattern has found."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

from tracedance_sdk.recording.secret_names import Secrecy, secrecy

_MIXED_RUN: Final = re.compile(rb"[A-Za-z0-9]{16,}")
_PLACEHOLDER: Final = re.compile(
    rb"(?:\$\{.*\}|\$[A-Z_][A-Z0-9_]*|\$[a-z_]+|\$\(.*|<[^>]*>|\{\{.*\}\}|\{[^}]*\}|%\([a-z_]+\)s|%s"
    rb"|(?:[*xX.#?_-]|\xe2\x80\xa2){3,}|.{0,20}\.\.\.|.{0,20}\xe2\x80\xa6"
    rb"|(?i:your[_ -].*|<?your.*here>?|replace[_ -]?me.*|insert[_ -].*here)"
    rb"|[\[(<{]?(?i:redacted|hidden|masked|removed|secret|filtered)[\])>}]?|(?i:redacted[_ -].*))\Z"
)
_TRIVIAL: Final = frozenset(
    b"none null nil true false undefined string str text password passwd pwd pass secret token"
    b" test testing tests example dummy sample foo bar baz placeholder required optional value"
    b" passphrase username user yes no on off ~ - . api_key apikey api-key".split()
)
"""What people write where no secret is; in lower case."""
_MADE_UP: Final = frozenset(
    b"test tests testing fake dummy example sample mock placeholder".split()
)
_MEANINGLESS: Final = _MADE_UP | frozenset(
    b"a api for key my not only password real secret some string the this token value".split()
)
"""Words of values such as ``dummy-secret-key-for-testing``."""
_COOKIE_FIELDS: Final = frozenset(
    b"domain expires max-age partitioned path priority samesite".split()
)
_FILLING: Final = frozenset(b"xX*.0-_")
_MASKS: Final = re.compile(rb"(?:\[MASKED:[A-Za-z0-9_.-]{1,40}:[0-9a-f]{0,16}\])+\Z")
_BASE64: Final = re.compile(rb"[A-Za-z0-9+/]{40}\Z")
_WORD_BYTE: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
_WORDS: Final = re.compile(rb"[A-Za-z_.:/-]*\Z")
_OBJECTS: Final = frozenset(
    b"args cfg conf config context creds credentials ctx data env environ event form input js obj"
    b" options opts os params process props query req request response result row secrets self"
    b" session settings state store this user values vars window".split()
)
"""Objects that code takes a secret from: ``config.client_secret``."""
_DOTTED: Final = re.compile(
    rb"\$?([A-Za-z_][A-Za-z0-9_]*)(?:(?:\??\.|->|::)[A-Za-z_][A-Za-z0-9_]*)+[^A-Za-z0-9]*\Z"
)
_CALLED: Final = re.compile(rb"\$?[A-Za-z_][A-Za-z0-9_.]*[(\[]")
_SCHEME: Final = re.compile(rb"(?i:bearer|basic|digest|token|apikey|negotiate|aws4-hmac-sha256)\s+")


def looks_right(look: str, secret: bytes) -> bool:
    """Whether a secret passes the test of its pattern's row, and is not one letter all over."""
    if look == "literal":
        return not is_placeholder(secret)
    # What follows a token may be one letter all over; what follows its prefix is random.
    inside = set(secret[8:24] if len(secret) > 24 else secret[-16:])
    if len(inside) == 1 or inside <= _FILLING:
        return False
    if look == "mixed":
        return any(map(_has_both, _MIXED_RUN.findall(secret))) or (
            len(secret) >= 40 and _has_both(secret) and re.search(rb"[A-Z]", secret) is not None
        )
    if look == "both":
        return _has_both(secret[4:])
    if look == "varied":
        return _is_varied(secret)
    if look == "basic":
        return _is_basic(secret)
    if look == "snowflake":
        return _is_number(secret[: secret.find(b".")])
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
    return (
        _MASKS.match(secret) is not None
        or _PLACEHOLDER.match(secret) is not None
        or (len(secret) < 16 and secret.lower().rstrip(b":") in _TRIVIAL)
        or _is_made_up(secret)
    )


def _is_made_up(secret: bytes) -> bool:
    words = set(re.split(rb"[-_ .]", secret.lower())) if len(secret) < 48 else set()
    return bool(words & _MADE_UP) and words <= _MEANINGLESS


def is_code(value: bytes, *, is_variable: bool) -> bool:
    """Whether an unquoted value is code that fetches a secret: ``config.secret``, ``getenv(...``.

    Args:
        value: The value.
        is_variable: It is the value of a variable in capitals, where only calls are code.
    """
    if _CALLED.match(value):
        return True
    dotted = _DOTTED.match(value)
    return not is_variable and dotted is not None and dotted.group(1).lower() in _OBJECTS


def is_said_secret(value: bytes) -> bool:
    """Whether what follows "the password is" is one, not a word of the sentence."""
    return len(value) >= 8 and _has_both(value) and b"://" not in value and b" " not in value


def is_named_secret(
    value: bytes, *, level: Secrecy, kind: str, quoted: bool, is_variable: bool = False
) -> bool:
    """Whether the value beside a name that announces a secret is one.

    Args:
        value: The text of the value.
        level: How surely the name announces one.
        kind: Of the secret that the name announces.
        quoted: The value stood in quotes or was a JSON string, so its ends are certain.
        is_variable: The name is in capitals and followed by ``=``, as in a file of variables.
    """
    scheme = scheme_length(value)
    secret = value[scheme:]
    if not secret or is_placeholder(secret) or _is_label(secret, kind):
        return False
    if level is Secrecy.STRONG:
        return (
            quoted
            or (is_variable and len(secret) >= 4)
            or (len(secret) >= 6 and _is_no_word(secret))
        )
    if re.search(rb"\s", secret) and not (b"=" in secret and (scheme or kind == "cookie")):
        return False
    if kind == "cookie":
        secret = _cookie_values(secret)
    least = 8 if quoted or scheme else 12
    if len(secret) < least or (not quoted and not _is_no_name(secret)):
        return False
    return _has_both(secret) or (len(secret) >= 20 and _is_varied(secret))


def _cookie_values(line: bytes) -> bytes:
    """Return what a line of cookies sets, without when and where it holds."""
    if b"=" not in line:
        return line
    pairs = [field.strip().partition(b"=") for field in line.split(b";")]
    return b" ".join(value for name, _, value in pairs if name.lower() not in _COOKIE_FIELDS)


def scheme_length(value: bytes) -> int:
    """Return the length of an authorization scheme before a credential, 0 without one."""
    scheme = _SCHEME.match(value)
    return scheme.end() if scheme else 0


def _is_no_word(value: bytes) -> bool:
    return not _WORDS.match(value) and b"://" not in value and _is_no_name(value)


def _is_no_name(value: bytes) -> bool:
    return secrecy(value.rstrip(b".:;,!?*").decode("utf-8", "replace"))[0] is Secrecy.NONE


def _is_label(value: bytes, kind: str) -> bool:
    """Whether the value is but the name of its kind: ``"api_key": "API key"``."""
    return re.sub(rb"[ _:-]", b"", value.lower()) == kind.replace("_", "").encode()


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


def _is_number(text: bytes) -> bool:
    try:
        return base64.b64decode(text + b"=" * (-len(text) % 4)).isdigit()
    except (binascii.Error, ValueError):
        return False
