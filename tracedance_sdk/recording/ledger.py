"""Keep count of a run's turns and calls, and match executed calls to what the model asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Final, NamedTuple

from tracedance_sdk.recording.identifiers import new_call_id
from tracedance_sdk.trace import bind

if TYPE_CHECKING:
    from tracedance_sdk.trace import BoundBy, Request, Role


_MOST_WAITING: Final = 1000
"""Requests of earlier turns that are remembered until they are answered."""


class Place(NamedTuple):
    """Where a call stands in its run.

    Attributes:
        number: Sequence number of the call in the run, from 0, in order of start.
        turn: Index of the turn it belongs to.
        call_id: Its id: as given, as requested, or fresh.
        bound_by: How it was matched to a request; ``synthetic`` when nobody asked for it.
    """

    number: int
    turn: int
    call_id: str
    bound_by: BoundBy | None


class Ledger:
    """The order of a run. Safe to use from several threads, and from signal handlers.

    Attributes:
        copies: Turns with requests of which a model was only shown: it made them in another run.
    """

    def __init__(self) -> None:
        self.copies: set[int] = set()
        self._lock = threading.RLock()
        self._numbers = count()
        self._turns = 0
        self._open: int | None = None
        self._of_user: int | None = None
        self._requests: Sequence[Request] = ()
        self._bound: set[int] = set()
        self._earlier: list[tuple[int, Request]] = []
        self._used_ids: set[str] = set()

    def start_afresh_in_child(self) -> None:
        """Become usable in a forked process, whatever the lock was doing in its parent."""
        self._lock = threading.RLock()

    def add_turn(self, role: Role, requests: Sequence[Request], *, is_copied: bool = False) -> int:
        """Return the index of a new turn, which ends the one before it.

        Args:
            role: The agent's calls belong to an assistant turn until the next turn; a simulated
                user's to a user turn.
            requests: What the turn asks for, in the model's order.
            is_copied: A model was shown the turn, and did not make it in this run.
        """
        with self._lock:
            self._leave_behind()
            index = self._turns
            self._turns += 1
            self._open = index if role == "assistant" else None
            self._of_user = index if role == "user" else None
            self._requests = requests
            self._bound = set()
            if is_copied and requests:
                self.copies.add(index)
            return index

    def place(self, name: str, call_id: str | None, key: Callable[[], str]) -> Place:
        """Return the place of an agent's call that starts now.

        It answers the request with its id; else one with its key, in the open turn or an earlier
        one, since several loops may be at work; else the first one of its name in the open turn.

        Args:
            name: The tool.
            call_id: Its id, when the caller knows it.
            key: Gives the canonical key; asked only when the id tells of no request.
        """
        with self._lock:
            number = next(self._numbers)
            turn = self._open
            if call_id is not None and self._earlier and not self._asks_now(call_id):
                before = self._asked_before(lambda request: request.id == call_id)
                if before is not None:
                    return Place(number, *before, "id")
            found: tuple[int, BoundBy] | None = None
            if turn is not None and len(self._bound) < len(self._requests):
                position = self._position(call_id)
                if position is not None and call_id is not None:
                    self._bound.add(position)
                    return Place(number, turn, call_id, "id")
                found = bind(self._requests, self._bound, call_id=call_id, name=name, key=key())
            if call_id is None and self._earlier and (found is None or found[1] == "order"):
                wanted = key()
                before = self._asked_before(lambda request: request.key == wanted)
                if before is not None:
                    return Place(number, *before, "key")
            if found is not None and turn is not None:
                self._bound.add(found[0])
                asked = self._requests[found[0]].id
                return Place(number, turn, asked or call_id or new_call_id(), found[1])
            if turn is None:
                turn = self._open_synthetic()
            return Place(number, turn, call_id or new_call_id(), "synthetic")

    def _asks_now(self, call_id: str) -> bool:
        """Whether the open turn asks for a call with this id, answered or not."""
        return any(request.id == call_id for request in self._requests)

    def _position(self, call_id: str | None) -> int | None:
        """Return where the open turn asks for the call with this id, which no call has answered."""
        if call_id is None:
            return None
        for position, request in enumerate(self._requests):
            if request.id == call_id and position not in self._bound:
                return position
        return None

    def _leave_behind(self) -> None:
        """Remember what the open turn asks for and nobody has answered: it may be answered yet.

        Another model may be asked in between, for a title or a summary.
        """
        if self._open is not None and len(self._bound) < len(self._requests):
            left = [r for place, r in enumerate(self._requests) if place not in self._bound]
            self._earlier += [(self._open, request) for request in left]
            del self._earlier[:-_MOST_WAITING]

    def _asked_before(self, is_meant: Callable[[Request], bool]) -> tuple[int, str] | None:
        """Return turn and id of the last call that an earlier turn asked for and that is meant."""
        for place in range(len(self._earlier) - 1, -1, -1):
            turn, request = self._earlier[place]
            if is_meant(request):
                del self._earlier[place]
                return turn, request.id or new_call_id()
        return None

    def unanswered(self, call_id: str | None) -> Request | None:
        """Return the first request with this id that no call has answered, or without one any.

        The open turn comes first, then the latest one before it.
        """
        with self._lock:
            for place, request in enumerate(self._requests):
                if place not in self._bound and call_id in (None, request.id):
                    return request
            for _, request in reversed(self._earlier):
                if call_id in (None, request.id):
                    return request
            return None

    def place_of_user(self, call_id: str | None) -> Place:
        """Return the place of a simulated user's call: in the user's turn, if that is the last."""
        with self._lock:
            number = next(self._numbers)
            turn = self._of_user if self._of_user is not None else self._open
            if turn is None:
                turn = self._open_synthetic()
            return Place(number, turn, call_id or new_call_id(), "synthetic")

    def _open_synthetic(self) -> int:
        self._leave_behind()
        self._open = self._turns
        self._turns += 1
        self._of_user = None
        self._requests = ()
        self._bound = set()
        return self._open

    def place_inside(self, turn: int, call_id: str | None) -> Place:
        """Return the place of a call made by another call, in that call's turn."""
        with self._lock:
            number = next(self._numbers)
        return Place(number, turn, call_id or new_call_id(), None)

    def claim(self, call_id: str) -> bool:
        """Whether nobody claimed this id before; it is claimed now."""
        with self._lock:
            if call_id in self._used_ids:
                return False
            self._used_ids.add(call_id)
            return True
