"""Calls whose answer depends on a secret: whoever gives a wrong one is told something else.

Recordings show right passwords and hardly ever wrong ones, so that nothing can be learned of them.
"""

from __future__ import annotations

import re
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
_REDACTOR: Final = SecretRedactor(key=b"only whether, not what")


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


def _is_credential(name: str) -> bool:
    words = [word.lower() for word in _WORD.findall(name[:200])]
    if not words:
        return False
    is_code = words[-1] in ("answer", "code", "key", "phrase")
    return words[-1] in _CREDENTIALS or (is_code and not _PROOFS.isdisjoint(words[:-1]))
