"""Work of an integration's own, outside of what the operations do for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from tracedance_sdk.recording.guard import GUARD, PROCESS_FAULTS
from tracedance_sdk.recording.scopes import CURRENT, QUIET

_P = ParamSpec("_P")
_T = TypeVar("_T")


def attempt(
    place: str, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs
) -> _T | None:
    """Call the function and return its value, or None when it failed.

    A failure is logged, and counted in the run that the code here belongs to; it never reaches
    the program.

    Args:
        place: What was being done, for the log and the count.
        function: What to call.
        *args: Its arguments.
        **kwargs: The same, by name.
    """
    scope = CURRENT.get()
    faults = PROCESS_FAULTS if scope is None or scope is QUIET else scope.run.faults
    return GUARD.attempt(place, faults, function, *args, **kwargs)
