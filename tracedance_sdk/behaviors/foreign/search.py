"""A foreign behaviour is looked for in a partition, in a process that is killed beyond its limits.

The process may take so much memory, write no file, open nothing after it has begun, and use no
network. A query is interrupted after 2 seconds and its process killed after 3; the same holds for
a second stage and each place that it looks at.
"""

from __future__ import annotations

from collections.abc import Mapping
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from tracedance_sdk.behaviors.behavior import Behavior
from tracedance_sdk.behaviors.catalogue import is_packaged, judge_named, predicate_named
from tracedance_sdk.behaviors.foreign.dry_run import dry_run
from tracedance_sdk.behaviors.foreign.grammar import check_source
from tracedance_sdk.behaviors.foreign.looking import Order, Place, look
from tracedance_sdk.behaviors.foreign.patterns import pattern_problems
from tracedance_sdk.behaviors.foreign.place_errors import PlaceErrors
from tracedance_sdk.behaviors.foreign.steady_sql import check_steady
from tracedance_sdk.behaviors.foreign.walls import started
from tracedance_sdk.behaviors.hits import Evidence, Hit
from tracedance_sdk.errors import InvalidQuery, InvalidSpec, Problem
from tracedance_sdk.store import PartitionKey, views_asked
from tracedance_sdk.trace import Json

_START_S: Final = 60.0
_KILL_S: Final = 3.0
_MOST_STOPPED: Final = 5
_MOST_BYTES: Final = 256 << 20
_NOT_LOOKED: Final = "it was not looked for in this part of the store"


class ForeignFound(NamedTuple):
    """What a foreign behaviour comes to in a partition.

    Attributes:
        places: What its SQL named, in order.
        hits: By trace id.
        errors: Why places could not be looked at, one line each.
        failure: Why it was not looked for to the end, if it was not.
        is_stopped: Whether something was stopped because it took too long or too much, which on
            another day it may not.
    """

    places: list[Place]
    hits: dict[str, list[Hit]]
    errors: list[str]
    failure: str | None = None
    is_stopped: bool = False


def check_foreign(behavior: Behavior) -> None:
    """See whether a foreign behaviour may be run at all.

    Raises:
        InvalidSpec: Its source is refused (`problems` lists why), or it names a predicate or judge
            that the catalogue does not have.
        InvalidQuery: Its SQL is not one SELECT over the views, or gives something else each time.
    """
    views_asked(behavior.anchor.sql)
    check_steady(behavior.anchor.sql, where=f"behaviour {behavior.id}, anchor.sql")
    if behavior.anchor.code is not None:
        where = f"behaviour {behavior.id}, anchor.code"
        if problems := pattern_problems(check_source(behavior.anchor.code, where=where)):
            raise InvalidSpec(f"{where}: {problems[0]}", problems=problems)
    if behavior.anchor.predicate is not None:
        predicate_named(behavior.anchor.predicate)
    if behavior.judge is not None:
        judge_named(behavior.judge)


def check_behavior(behavior: Behavior) -> None:
    """See whether a behaviour is sound, as far as that shows without a store.

    One that is not the catalogue's is tried in a process of its own; a program needs the usual
    guard, ``if __name__ == "__main__":``.

    Raises:
        InvalidSpec: Its levels 0 and 5 say the same; its source is refused (`problems` lists why);
            or it names a predicate or judge that the catalogue does not have.
        InvalidQuery: Its SQL is not one SELECT over the views, names a column that they do not
            have, gives something else each time, or no places; or the top of its source raises.
    """
    if not behavior.is_undesirable:
        what = "levels 0 and 5 say the same, so that nothing about it is undesirable"
        problem = Problem(what, "$.levels")
        raise InvalidSpec(f"behaviour {behavior.id}: {problem}", problems=[problem])
    if not is_packaged(behavior):
        check_foreign(behavior)
        dry_run(behavior)


def search_apart(
    folder: Path,
    key: PartitionKey,
    wanted: tuple[Behavior, Mapping[str, Json]],
    *,
    ids: frozenset[str] | None = None,
) -> ForeignFound:
    """Look for a foreign behaviour in one partition.

    Where its second stage is one of the catalogue's, only the places are found: that stage needs
    no walls. A process that dies or is killed at one trace is told of, and another one goes on
    with the next trace.

    Args:
        folder: The store's.
        key: Of the partition.
        wanted: The behaviour, whose SQL and source are checked before anything runs, and the
            values of its parameters.
        ids: Only these traces are looked at; None for all.

    Raises:
        InvalidQuery: Its SQL is refused, fails, or names what is no place.
        InvalidSpec: Its source is refused.
        StoreError: The partition is damaged.
    """
    behavior, parameters = wanted
    check_foreign(behavior)
    heard = _Heard(behavior)
    order = Order((folder, key), behavior, dict(parameters), ids, None)
    while not heard.listen(order):
        order = order._replace(after=heard.after)
    return heard.found()


class _Heard:
    """What the processes of one behaviour have told so far."""

    def __init__(self, behavior: Behavior) -> None:
        self.after: str | None = None
        self._behavior = behavior
        self._places: list[Place] = []
        self._hits: dict[str, list[Hit]] = {}
        self._lines: list[str] = []
        self._errors = PlaceErrors(self._lines.append)
        self._at: tuple[str, int] | None = None
        self._doing = "its source"
        self._n_stopped = 0
        self._failure: str | None = None

    def found(self) -> ForeignFound:
        """Return all of it."""
        self._errors.end()
        return ForeignFound(
            self._places, self._hits, self._lines, self._failure, self._n_stopped > 0
        )

    def listen(self, order: Order) -> bool:
        """Start a process and take what it tells; return whether nothing is left to look at."""
        self._at, self._doing = None, "its source"
        context = get_context("spawn")
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=look, args=(sender, order), daemon=True)
        try:
            started(process)
            sender.close()
            if not (receiver.poll(_START_S) and _told(receiver) == ["ready", None]):
                self._failure = "no process for it came up"
                return True
            while receiver.poll(self._patience()):
                kind, value = _told(receiver)
                if self._took(kind, value):
                    return True
            return self._lost(f"was killed after {self._patience():g} s")
        except (EOFError, OSError):
            return self._lost("died; it may take 1 GB beyond what it begins with")
        finally:
            receiver.close()
            if process.pid is not None:
                process.kill()
                process.join()

    def _patience(self) -> float:
        return _KILL_S if self._at is not None or self._doing else _START_S

    def _took(self, kind: str, value: Any) -> bool:
        """Take note of a message; return whether it was the last."""
        if kind == "refused":
            raise InvalidQuery(f"behaviour {self._behavior.id}: {value}")
        if kind == "beyond":
            self._failure = f"{value}; {_NOT_LOOKED}"
        elif kind in ("places", "missing", "hit", "failed", "stopped"):
            self._keep(kind, value)
        else:
            self._go_on(kind, value)
        return kind == "done" or self._failure is not None

    def _go_on(self, kind: str, value: Any) -> None:
        """Take note of what the process does now, so that it is known where it died."""
        if kind == "defined":
            self._doing = "the query"
        elif kind == "queried":
            self._doing = ""
        elif kind == "looking":
            self._at = (value[0], value[1])
        elif kind == "looked":
            self._at, self.after = None, value

    def _keep(self, kind: str, value: Any) -> None:
        if kind == "places":
            self._places.extend(
                (name, int(turn), None if call is None else int(call)) for name, turn, call in value
            )
        elif kind == "missing":
            self._errors.missing(*value)
        elif kind == "hit":
            self._hit(value)
        elif kind == "failed":
            self._errors.failed(value)
        else:
            self._stopped(value)

    def _hit(self, value: Any) -> None:
        trace_id, turn, evidence, note = value
        hits = self._hits.setdefault(trace_id, [])
        if all(other.turn != turn for other in hits):
            hits.append(Hit(turn, tuple(Evidence(*piece) for piece in evidence), note))

    def _stopped(self, what: str) -> None:
        self._errors.failed(what)
        self._n_stopped += 1
        if self._n_stopped >= _MOST_STOPPED:
            where = "" if self._at is None else f" from trace {self._at[0]} on"
            self._failure = f"its source was stopped {self._n_stopped} times; {_NOT_LOOKED}{where}"

    def _lost(self, how: str) -> bool:
        """Take note of a process that is no more; return whether no other is to go on."""
        if self._at is None:
            self._failure = f"{self._doing or 'its process'} {how}; {_NOT_LOOKED}"
        else:
            self.after, turn = self._at
            what = f"trace {self.after}, turn {turn}: the second stage {how}"
            self._stopped(f"{what}; the places after it in this trace are not looked at")
        return self._failure is not None


def _told(receiver: Connection) -> Any:
    """Return one message. They are JSON: what comes out of that process is not to be unpickled."""
    return orjson.loads(receiver.recv_bytes(_MOST_BYTES))
