"""Calls whose answer depends on a secret: whoever gives a wrong one is told something else.

Recordings show right passwords and hardly ever wrong ones, so that nothing can be learned of them.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

import orjson

from tracedance_sdk.recording import SecretRedactor
from tracedance_sdk.trace import Json

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_CREDENTIALS_TEXT: Final = """
credential credentials cvc cvv mfa otp passcode passphrase passwd password pin pwd secret token totp
"""
_CREDENTIALS: Final = frozenset(_CREDENTIALS_TEXT.split())
"""Words of the names of arguments by which somebody proves who they are, beside known secrets."""
_PROOFS: Final = frozenset(
    ("access", "auth", "login", "otp", "security", "time", "unlock", "verification", "verify")
)
"""With these before it a code or an answer proves who somebody is: ``security_answer``."""
_PERSONAL_TEXT: Final = """
answer birth birthdate birthday code dateofbirth dob geburtsdatum geheimzahl kennwort losung
passwort ssn
"""
_PERSONAL: Final = frozenset(_PERSONAL_TEXT.split())
"""Arguments of these names, by themselves, prove who somebody is."""
_CHECKING_TEXT: Final = """
auth authenticate authenticates authentication authorise authorize check checks login otp passcode
password pin signin totp unlock validate validates validation verification verifies verify
"""
_CHECKING: Final = frozenset(_CHECKING_TEXT.split())
"""Words of the names of tools that say whether what they are given is right."""
_CHECKING_PAIRS: Final = frozenset(
    (("log", "in"), ("sign", "in"), ("confirm", "identity"), ("security", "answer"))
)
_REDACTOR: Final = SecretRedactor(key=b"only whether, not what")


def checks(tool: str, arguments: Json) -> bool:
    """Whether a tool, or a call of it, is to tell right from wrong: to verify somebody.

    Example:
        >>> checks("verify_caller", {"name": "ann"}), checks("enter", {"last4": "4711"})
        (True, True)
        >>> checks("get_order", {"order": "W-1001", "zip_code": "10115"})
        False
    """
    words = [word.lower() for word in _WORD.findall(tool[:200])]
    if not _CHECKING.isdisjoint(words) or not _CHECKING_PAIRS.isdisjoint(pairwise(words)):
        return True
    return isinstance(arguments, dict) and any(map(_is_personal, arguments))


def holds_secret(arguments: Json) -> bool:
    """Whether an argument of a call is a secret, by its name or by its looks.

    Example:
        >>> holds_secret({"user": "ann", "pin": 4711}), holds_secret({"order": "W-1001"})
        (True, False)
    """
    pending = [arguments]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            if any(_is_credential(name) for name in item):
                return True
            pending.extend(item.values())
        elif isinstance(item, (list, tuple)):
            pending.extend(item)
    try:
        data = orjson.dumps(arguments)
    except TypeError:
        return False
    return _REDACTOR.redact(data) != data


def _is_personal(name: str) -> bool:
    words = [word.lower() for word in _WORD.findall(name[:200])]
    if len(words) == 1 and words[0] in _PERSONAL:
        return True
    # The last digits of a card or number; the day of a birth.
    is_named = bool(words) and words[-1] in _PERSONAL - {"answer", "code"}
    digits = any(one == "last" and other.isdigit() for one, other in pairwise(words))
    return is_named or digits or "birth" in words


def _is_credential(name: str) -> bool:
    words = [word.lower() for word in _WORD.findall(name[:200])]
    if not words:
        return False
    is_code = words[-1] in ("answer", "code", "key", "phrase")
    return words[-1] in _CREDENTIALS or (is_code and not _PROOFS.isdisjoint(words[:-1]))
