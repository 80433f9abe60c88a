"""Things that recorders of one process share: opened once, closed when long unused.

What nobody uses is kept a while, so that one recorder after another writes one journal and exports
through one thread. Of the unused ones kept, the one unused longest is closed first.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from typing import Final, Generic, Protocol, TypeVar

from tracedance_sdk.recording.guard import GUARD, PROCESS_FAULTS

MAX_IDLE: Final = 8
"""How many unused things of a kind are kept open."""


class Closable(Protocol):
    """What can be shared."""

    def close(self) -> None:
        """Give everything back."""

    def start_afresh_in_child(self) -> None:
        """Become usable in a forked process."""


_T = TypeVar("_T", bound=Closable)


class SharedPool(Generic[_T]):
    """Open things by key, with a count of their users.

    The lock is re-entrant: a finalizer that ends a run may run while another is opened.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._users: Counter[Hashable] = Counter()
        self._open: OrderedDict[Hashable, _T] = OrderedDict()

    def acquire(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """Return the thing under this key, made now if there is none; `release` it when done.

        Raises:
            Exception: Whatever `make` raises.
        """
        with self._lock:
            found = self._open.get(key)
            if found is None:
                found = self._open[key] = make()
            self._open.move_to_end(key)
            self._users[key] += 1
            return found

    def release(self, key: Hashable) -> None:
        """Count one user less, and close what lies unused beyond `MAX_IDLE`."""
        with self._lock:
            self._users[key] -= 1
            idle = [other for other in list(self._open) if self._users[other] <= 0]
            surplus = [self._forget(other) for other in idle[:-MAX_IDLE]]
        _close_all(surplus)

    def everything(self) -> list[_T]:
        """Return what is open now, used or not."""
        with self._lock:
            return list(self._open.values())

    def close(self) -> None:
        """Close everything, used or not."""
        with self._lock:
            everything = [self._forget(key) for key in list(self._open)]
        _close_all(everything)

    def start_afresh_in_child(self) -> None:
        """Become usable in a forked process, whatever the lock was doing in its parent."""
        self._lock = threading.RLock()
        for thing in self._open.values():
            thing.start_afresh_in_child()

    def _forget(self, key: Hashable) -> _T:
        self._users.pop(key, None)
        return self._open.pop(key)


def _close_all(things: list[_T]) -> None:
    for thing in things:
        GUARD.attempt("close", PROCESS_FAULTS, thing.close)
