"""Which exceptions, raised while code of the program runs on our behalf, the program must get."""

from __future__ import annotations

import sys
from types import FrameType, TracebackType
from typing import Any, Final

_SWITCHING: Final = frozenset({"greenlet", "gevent", "eventlet"})
"""Packages that throw exceptions into whatever runs, to stop it."""

_GIVEN: Final = 2
"""What a signal handler is called with: the number of the signal, and the interrupted frame."""


def is_meant_for_host(error: BaseException) -> bool:
    """Whether an exception stops the program, or a part of it, and is no fault in recording.

    KeyboardInterrupt is, and so is what a signal handler raised, such as SystemExit on SIGTERM,
    and what a green thread is stopped with. SystemExit or CancelledError raised by the state
    source or by a value's own methods are faults like others: recording alone called them.

    Args:
        error: As it was caught, outside of any ``await``.
    """
    if isinstance(error, Exception):
        return False
    if isinstance(error, KeyboardInterrupt):
        return True
    if any(kind.__module__.partition(".")[0] in _SWITCHING for kind in type(error).__mro__):
        return True
    return _passed_handler(error.__traceback__)


def is_cancellation(error: BaseException) -> bool:
    """Whether an exception caught at an ``await`` stops the task that awaits."""
    if isinstance(error, (Exception, SystemExit)):
        return False
    asyncio: Any = sys.modules.get("asyncio")
    if asyncio is not None and isinstance(error, asyncio.CancelledError):
        # Nobody asked the task to stop when the awaited code raised it by itself.
        cancelling = getattr(_current_task(asyncio), "cancelling", None)
        return cancelling is None or cancelling() > 0
    return True


def _current_task(asyncio: Any) -> Any:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


def _passed_handler(traceback: TracebackType | None) -> bool:
    """Whether a function that handles a signal is among those that what was raised went through.

    It is called with a frame; it may have put another handler in its place before it raised.
    """
    while traceback is not None:
        for value in traceback.tb_frame.f_locals.values():
            # `type`, not `isinstance`: the program's values may answer for their class themselves.
            if type(value) is FrameType:
                return True
            if type(value) is tuple and len(value) == _GIVEN and type(value[1]) is FrameType:
                return True
        traceback = traceback.tb_next
    return False
