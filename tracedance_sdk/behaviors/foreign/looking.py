"""What the process of a foreign behaviour does: it looks, and tells what it finds piece by piece.

What it tells are JSON messages, a kind and a value each: ``ready``, ``defined``, ``queried``,
``places``, ``missing``, ``looking``, ``hit``, ``failed``, ``stopped``, ``looked``, and in the end
``done``, ``refused`` or ``beyond``.
"""

from __future__ import annotations

import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple

import orjson

from tracedance_sdk.behaviors.behavior import Behavior
from tracedance_sdk.behaviors.foreign.grammar import check_source
from tracedance_sdk.behaviors.foreign.place_errors import failure_text
from tracedance_sdk.behaviors.foreign.plain_run import hit_of, plain_run
from tracedance_sdk.behaviors.foreign.surroundings import Stage, compiled, load_what_is_offered
from tracedance_sdk.behaviors.foreign.walls import keep_steady, limit
from tracedance_sdk.behaviors.hits import Candidate, Hit, named_hit
from tracedance_sdk.behaviors.run import Run
from tracedance_sdk.errors import InvalidQuery, TraceDanceError, shown
from tracedance_sdk.store import PartitionKey, PartitionReader, end_with_parent
from tracedance_sdk.trace import Json, spelled_out

INTERRUPT_S: Final = 2.0
_MOST_PLACES: Final = 1_000_000
_MOST_CHARACTERS: Final = 64 << 20
_AT_ONCE: Final = 1_000
_LONGEST_ID: Final = 10_000
_WRONG: Final = ("Binder Error", "Catalog Error", "Parser Error")
"""What DuckDB calls errors of the query itself; others come of what it meets, or of its size."""

_BIG: Final = 1 << 53

Place = tuple[str, int, int | None]


class Order(NamedTuple):
    """What a process is to look for.

    Attributes:
        where: The store's folder, and the partition.
        behavior: Checked.
        parameters: Values of its parameters.
        ids: Only these traces; None for all.
        after: Only traces whose ids come after this one, as an earlier process looked at the
            others; None where this one is the first.
    """

    where: tuple[Path, PartitionKey]
    behavior: Behavior
    parameters: dict[str, Json]
    ids: frozenset[str] | None
    after: str | None


class _TooLongError(BaseException):
    """Foreign source took longer than it may."""


class _BeyondError(Exception):
    """A query took or named more than it may, or failed at what this partition holds."""


def look(sender: Connection, order: Order) -> None:
    """Run in the new process: say what is found.

    Args:
        sender: Takes the messages.
        order: What to look for.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    keep_steady()
    with suppress(BrokenPipeError), PartitionReader(*order.where) as reader:
        load_what_is_offered()
        first = reader.select("SELECT trace_id FROM traces LIMIT 1")
        list(reader.rows(row[0] for row in first))  # what this loads, it loads before the walls
        limit()
        _tell(sender, "ready")
        try:
            code = order.behavior.anchor.code
            define = None if code is None else _defined(code)
            _tell(sender, "defined")
            known = {row[0] for row in reader.select("SELECT trace_id FROM traces")}
            rows = _rows(reader, order.behavior.anchor.sql)
            _tell(sender, "queried")
            places = _places(rows, set() if order.ids is None else known - order.ids)
        except (_TooLongError, _BeyondError, MemoryError) as error:
            _tell(sender, "beyond", str(error) or "it takes more memory than it may")
            return
        except TraceDanceError as error:
            _tell(sender, "refused", str(error))
            return
        if order.after is None:
            _tell_places(sender, places)
        _Looking(sender, order, define).look(reader, _by_trace(places), known)
        _tell(sender, "done")


def _tell(sender: Connection, kind: str, value: Any = None) -> None:
    sender.send_bytes(orjson.dumps(spelled_out([kind, value])))


def _tell_places(sender: Connection, places: list[Place]) -> None:
    for start in range(0, len(places), _AT_ONCE):
        told = [
            [name, _number(turn), _number(call)]
            for name, turn, call in places[start : start + _AT_ONCE]
        ]
        _tell(sender, "places", told)


def _number(value: int | None) -> int | str | None:
    """Return a number as the messages hold it: SQL knows larger ones than JSON."""
    return value if value is None or -_BIG < value < _BIG else str(value)


def _rows(reader: PartitionReader, sql: str) -> list[tuple[Any, ...]]:
    timer = threading.Timer(INTERRUPT_S, reader.interrupt)
    timer.daemon = True
    timer.start()
    began = time.monotonic()
    try:
        rows = reader.select(sql)
    except TraceDanceError as error:
        if time.monotonic() - began >= INTERRUPT_S:
            raise _BeyondError(f"the query was interrupted after {INTERRUPT_S:g} s") from error
        if any(kind in str(error) for kind in _WRONG):
            raise
        raise _BeyondError(f"the query failed: {error}") from error
    finally:
        timer.cancel()
    if len(rows) > _MOST_PLACES:
        raise _BeyondError(f"the query names more than {_MOST_PLACES:,} places")
    return rows


def _places(rows: list[tuple[Any, ...]], left_out: AbstractSet[str]) -> list[Place]:
    places = [place for place in {_place(row) for row in rows} if place[0] not in left_out]
    if sum(len(place[0]) for place in places) > _MOST_CHARACTERS:
        raise _BeyondError(f"the query names ids of more than {_MOST_CHARACTERS:,} characters")
    return sorted(places, key=_order)


def _order(place: Place) -> tuple[str, int, int]:
    return place[0], place[1], -1 if place[2] is None else place[2]


def _place(row: tuple[Any, ...]) -> Place:
    if len(row) not in (2, 3):
        raise InvalidQuery(f"columns trace_id, turn and maybe call are needed, not {len(row)}")
    trace_id, turn, call = (*row, None)[:3]
    if not isinstance(trace_id, str) or type(turn) is not int or not _may_be_call(call):
        raise InvalidQuery(f"columns trace_id, turn and maybe call are needed, not {shown(row)}")
    if len(trace_id) > _LONGEST_ID:
        raise InvalidQuery(f"the query names a trace by {len(trace_id):,} characters")
    return trace_id, turn, call


def _may_be_call(value: Any) -> bool:
    return value is None or type(value) is int


def _by_trace(places: list[Place]) -> dict[str, list[tuple[int, int | None]]]:
    found: dict[str, list[tuple[int, int | None]]] = {}
    for trace_id, turn, call in places:
        found.setdefault(trace_id, []).append((turn, call))
    return found


class _Looking(NamedTuple):
    sender: Connection
    order: Order
    define: Callable[[], Stage] | None

    def look(
        self,
        reader: PartitionReader,
        places: dict[str, list[tuple[int, int | None]]],
        known: set[str],
    ) -> None:
        """Look at all places."""
        after = self.order.after
        if after is None:
            for name in sorted(set(places) - known):
                what = f"the SQL names a trace {shown(name)}, which is not there"
                _tell(self.sender, "missing", [what, len(places[name])])
        left = [name for name in places if after is None or name > after]
        for rows in reader.rows(left):
            self._look_at(Run(rows), places[rows.trace_id])
            _tell(self.sender, "looked", rows.trace_id)

    def _look_at(self, run: Run, places: list[tuple[int, int | None]]) -> None:
        there = [place for place in places if is_there(run, *place)]
        if missing := [place for place in places if not is_there(run, *place)]:
            what = f"trace {run.trace_id}: {_not_there(run, *missing[0])}"
            _tell(self.sender, "missing", [what, len(missing)])
        if not there or self.order.behavior.anchor.predicate is not None:
            return
        given = None if self.define is None else _packed(run, self.order.parameters)
        for place in there:
            if given is not None:
                _tell(self.sender, "looking", [run.trace_id, place[0]])
            try:
                hit = self._hit(run, given, place)
            except (Exception, _TooLongError) as error:  # noqa: BLE001 - foreign source may raise any
                kind = "stopped" if isinstance(error, _TooLongError) else "failed"
                where = f"trace {run.trace_id}, turn {place[0]}"
                _tell(self.sender, kind, f"{where}: {failure_text(error)}")
                continue
            if hit is not None:
                pieces = [list(piece) for piece in hit.evidence]
                _tell(self.sender, "hit", [run.trace_id, hit.turn, pieces, hit.note])

    def _hit(self, run: Run, given: bytes | None, place: tuple[int, int | None]) -> Hit | None:
        if given is None or self.define is None:
            candidate = Candidate(run, *place, self.order.parameters)
            return named_hit(candidate, self.order.behavior.frame)
        return hit_of(_asked(self.define, given, place), run)


def is_there(run: Run, turn: int, call: int | None) -> bool:
    """Whether a run has a turn, and a call where one is named."""
    return 0 <= turn < len(run.turns) and (call is None or run.call(call) is not None)


def _not_there(run: Run, turn: int, call: int | None) -> str:
    if 0 <= turn < len(run.turns):
        return f"the SQL names call {call}, which the run does not have"
    return f"the SQL names turn {turn} of a run with {len(run.turns):,} turns"


def _packed(run: Run, parameters: dict[str, Json]) -> bytes:
    """Return what a second stage is given, to be copied for each place.

    What source does to its copy is seen by nobody: not by the check of its quotes, and not at the
    next place.
    """
    return pickle.dumps((plain_run(run), parameters), protocol=5)


def _asked(define: Callable[[], Stage], given: bytes, place: tuple[int, int | None]) -> Any:
    run, parameters = pickle.loads(given)  # noqa: S301 - of `_packed`, in this process
    with _in_time("one place"):
        return define()(run, {"turn": place[0], "call": place[1]}, parameters)


def _defined(code: str) -> Callable[[], Stage]:
    with _in_time("what stands at the top of the source"):
        define = compiled(check_source(code))
        define()
    return define


@contextmanager
def _in_time(what: str) -> Iterator[None]:
    """Stop what takes too long; what it comes to after all is nobody's, whatever it caught."""
    is_over = False
    told = f"more than {INTERRUPT_S:g} s for {what}"

    def stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal is_over
        is_over = True
        raise _TooLongError(told)

    signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, INTERRUPT_S)
        yield
    except _TooLongError:
        pass
    except BaseException:
        if not is_over:
            raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if is_over:
        raise _TooLongError(told)
