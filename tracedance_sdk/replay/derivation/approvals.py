"""Answers that say yes: of calls to which the tool says no there is hardly ever a recording."""

from __future__ import annotations

import re
from typing import Final

from tracedance_sdk.replay.derivation.terms import Constant, Filled, Term, parts_of

_WORD: Final = re.compile(r"[^\W\d_]+")
_APPROVALS_TEXT: Final = """
accepted allowed approved authenticated authorised authorized correct eligible exists found granted
match matches ok permitted success successful successfully true unlocked valid validated verified
yes
"""
_APPROVALS: Final = frozenset(_APPROVALS_TEXT.split())


def approves(term: Term) -> bool:
    """Whether the answer says yes whatever is asked: a part that never varies reads so.

    Example:
        >>> approves(Constant({"verified": True})), approves(Constant("shipped"))
        (True, False)
    """
    for part in parts_of(term):
        if isinstance(part, Constant) and _says_yes(part.value):
            return True
        if isinstance(part, Filled) and any(_says_yes(p) for p in part.parts if isinstance(p, str)):
            return True
    return False


def _says_yes(value: object) -> bool:
    if value is True:
        return True
    if isinstance(value, str):
        # A yes is short; a long text is about something.
        words = [word.lower() for word in _WORD.findall(value[:200])]
        return len(words) <= 6 and not _APPROVALS.isdisjoint(words)
    if isinstance(value, dict):
        return any(map(_says_yes, value.values()))
    return isinstance(value, list) and any(map(_says_yes, value))
