"""Context variables, put back by code that may be closed somewhere else."""

from __future__ import annotations

import sys
from contextvars import ContextVar, Token
from typing import TypeVar

from tracedance_sdk.recording.reentry import survive_closing

_T = TypeVar("_T")


def reset_quietly(variable: ContextVar[_T], token: Token[_T]) -> bool:
    """Put a variable back where it was set, and return whether that is here.

    A coroutine or generator may be closed in another context than the one it was driven in, which
    then ends by itself.

    Args:
        variable: The variable.
        token: What setting it returned.

    Example:
        >>> from contextvars import Context, ContextVar
        >>> place = ContextVar("place", default="outside")
        >>> token = place.set("inside")
        >>> Context().run(reset_quietly, place, token), place.get()
        (False, 'inside')
        >>> reset_quietly(place, token), place.get()
        (True, 'outside')
    """
    survive_closing(sys.exc_info()[1])
    try:
        variable.reset(token)
    except ValueError:
        return False
    return True
