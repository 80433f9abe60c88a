"""What a record says of an exception: a type and a message that is never empty."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final, NamedTuple

from tracedance_sdk.recording.guard import GUARD

_WORDS: Final = {
    "CancelledError": "cancelled",
    "KeyboardInterrupt": "interrupted from the keyboard",
    "GeneratorExit": "closed before it was exhausted",
    "SystemExit": "the program was told to exit",
    "TimeoutError": "timed out without a message",
}
"""By the name of the class, so that none of their modules has to be loaded."""


_SENTINEL: Final = re.compile(r"<object object at 0x[0-9a-f]+>")
"""What marks a cancellation as somebody's own says nothing to a reader."""


class Failure(NamedTuple):
    """How a call failed.

    Attributes:
        type: The exception's class, builtin ones bare, others with their module.
        message: Its text; words of ours where it has none.
        interrupted: The call was stopped from outside instead of failing by itself.
    """

    type: str
    message: str
    interrupted: bool


def describe(error: BaseException, faults: Counter[str]) -> Failure:
    """Return what to record of an exception. Its own methods may fail; they are guarded."""
    message = GUARD.attempt("error text", faults, str, error)
    kind = type(error)
    module = kind.__module__
    name = kind.__qualname__ if module == "builtins" else f"{module}.{kind.__qualname__}"
    if not message or not message.strip() or _SENTINEL.fullmatch(message):
        message = words_for(error)
    return Failure(name, message, not isinstance(error, Exception))


def words_for(error: BaseException) -> str:
    """Return what stands for the words of an exception that has none.

    Example:
        >>> words_for(ValueError())
        'ValueError without a message'
    """
    for kind in type(error).__mro__:
        if kind.__name__ in _WORDS:
            return _WORDS[kind.__name__]
    return f"{type(error).__name__} without a message"
