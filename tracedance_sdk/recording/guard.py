"""The one place where faults of the recorder itself stop.

Everything the recorder does on behalf of a tool call goes through `GUARD.attempt`, so that no
call site needs a ``try`` of its own and no fault reaches the host program. What is meant for the
program is no fault and passes: see `tracedance_sdk.recording.hosts`.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, ParamSpec, TypeVar

from tracedance_sdk.errors import InvalidJSON, InvalidTrace, TraceDanceError
from tracedance_sdk.recording.hosts import is_cancellation, is_meant_for_host

_P = ParamSpec("_P")
_T = TypeVar("_T")

_LOGGER: Final = logging.getLogger(__name__)


class Guard:
    """Keeps faults of the recorder from the host: logged once per place, counted, swallowed.

    Attributes:
        raises: Let faults through. For this library's own tests.
    """

    def __init__(self) -> None:
        self.raises = False
        self._logged: set[tuple[str, type[BaseException]]] = set()

    def attempt(
        self,
        place: str,
        faults: Counter[str],
        function: Callable[_P, _T],
        *args: _P.args,
        **kwargs: _P.kwargs,
    ) -> _T | None:
        """Call the function and return its value, or None when it failed.

        Args:
            place: What was being done, for the log and the count.
            faults: Where to count a failure, as ``"<place>: <error type>"``.
            function: What to call.
            *args: Its arguments.
            **kwargs: The same, by name.
        """
        try:
            return function(*args, **kwargs)
        except BaseException as error:  # the only broad one: a fault stays ours
            if is_meant_for_host(error):
                raise
            self.note(place, faults, error)
            return None

    async def attempt_async(
        self, place: str, faults: Counter[str], function: Callable[[], Awaitable[_T]]
    ) -> _T | None:
        """Await what the function returns; None when it failed. Cancellation passes."""
        try:
            return await function()
        except BaseException as error:  # as above
            if is_cancellation(error) or is_meant_for_host(error):
                raise
            self.note(place, faults, error)
            return None

    def note(self, place: str, faults: Counter[str], error: BaseException) -> None:
        """Count a fault, and log it in one line when it is the first of its type at its place.

        The line holds the message of an error of ours or of the system; another one might quote
        what was being recorded, and is shown at DEBUG level alone.
        """
        if self.raises:
            raise error
        kind = type(error)
        faults[f"{place}: {kind.__name__}"] += 1
        if (place, kind) in self._logged:
            return
        self._logged.add((place, kind))
        with suppress(Exception):
            # Handlers are the program's own: one may raise, or have lost its stream.
            _LOGGER.warning(
                "tracedance could not record (%s: %s); the program goes on, further faults of"
                " this kind are only counted",
                place,
                _told(error),
            )
            _LOGGER.debug("the fault in full", exc_info=error)


def _told(error: BaseException) -> str:
    told = type(error).__name__
    if isinstance(error, (TraceDanceError, OSError)) and not isinstance(error, _QUOTING):
        told += f": {error}"
    return " ".join(told.split())


_QUOTING: Final = (InvalidTrace, InvalidJSON)
"""Errors of ours whose message may show what was to be recorded."""

GUARD: Final = Guard()

PROCESS_FAULTS: Final[Counter[str]] = Counter()
"""Faults outside any run, such as in opening one."""

LASTING_FAULTS: Final[Counter[str]] = Counter()
"""What every run lacks while it lasts, such as a hook that found no place in its library."""
