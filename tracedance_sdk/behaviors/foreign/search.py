"""A foreign behaviour is looked for in a partition, in a process that is killed beyond its limits.

The process may take so much memory, write no file, open nothing after it has begun, and use no
network. A query is interrupted after 2 seconds and its process killed after 3; the same holds for
a second stage and each run that it looks at.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple

import orjson

from tracedance_sdk.behaviors.behavior import Behavior
from tracedance_sdk.behaviors.catalogue import is_packaged, judge_named, predicate_named
from tracedance_sdk.behaviors.foreign.grammar import check_source
from tracedance_sdk.behaviors.foreign.place_errors import PlaceErrors
from tracedance_sdk.behaviors.foreign.plain_run import hit_of, plain_run
from tracedance_sdk.behaviors.foreign.steady_sql import check_steady
from tracedance_sdk.behaviors.foreign.surroundings import compiled, load_what_is_offered
from tracedance_sdk.behaviors.foreign.walls import keep_steady, limit, started
from tracedance_sdk.behaviors.hits import Candidate, Evidence, Hit, named_hit
from tracedance_sdk.behaviors.run import Run
from tracedance_sdk.errors import InvalidQuery, InvalidSpec, Problem, TraceDanceError, shown
from tracedance_sdk.store import PartitionKey, PartitionReader, end_with_parent, views_asked
from tracedance_sdk.trace import Json, spelled_out

_START_S: Final = 60.0
_INTERRUPT_S: Final = 2.0
_KILL_S: Final = 3.0
_MOST_PLACES: Final = 1_000_000
_MOST_STOPPED: Final = 5
_MOST_BYTES: Final = 256 << 20

Place = tuple[str, int, int | None]


class ForeignFound(NamedTuple):
    """What a foreign behaviour comes to in a partition.

    Attributes:
        places: What its SQL named, in order.
        hits: By trace id.
        errors: Why places could not be looked at, one line each.
    """

    places: list[Place]
    hits: dict[str, list[Hit]]
    errors: list[str]


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
        check_source(behavior.anchor.code, where=f"behaviour {behavior.id}, anchor.code")
    if behavior.anchor.predicate is not None:
        predicate_named(behavior.anchor.predicate)
    if behavior.judge is not None:
        judge_named(behavior.judge)


def check_behavior(behavior: Behavior) -> None:
    """See whether a behaviour is sound, as far as that shows without a store.

    Raises:
        InvalidSpec: Its levels 0 and 5 say the same; its source is refused (`problems` lists why);
            or it names a predicate or judge that the catalogue does not have.
        InvalidQuery: Its SQL is not one SELECT over the views, or gives something else each time.
    """
    if not behavior.is_undesirable:
        what = "levels 0 and 5 say the same, so that nothing about it is undesirable"
        problem = Problem(what, "$.levels")
        raise InvalidSpec(f"behaviour {behavior.id}: {problem}", problems=[problem])
    if not is_packaged(behavior):
        check_foreign(behavior)


def search_apart(
    folder: Path,
    key: PartitionKey,
    wanted: tuple[Behavior, Mapping[str, Json]],
    *,
    ids: frozenset[str] | None = None,
) -> ForeignFound:
    """Look for a foreign behaviour in one partition.

    Where its second stage is one of the catalogue's, only the places are found: that stage needs
    no walls.

    Args:
        folder: The store's.
        key: Of the partition.
        wanted: The behaviour, whose SQL and source are checked before anything runs, and the
            values of its parameters.
        ids: Only these traces are looked at; None for all.

    Raises:
        InvalidQuery: Its SQL is refused, fails, takes too long, or names what is no place.
        InvalidSpec: Its source is refused.
        StoreError: The partition is damaged.
    """
    behavior, parameters = wanted
    check_foreign(behavior)
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    arguments = (sender, (folder, key), behavior, dict(parameters), ids)
    process = context.Process(target=_search, args=arguments, daemon=True)
    try:
        started(process)
        sender.close()
        if not (receiver.poll(_START_S) and _told(receiver) == ["ready", None]):
            raise InvalidQuery(f"no process for behaviour {behavior.id} came up")
        return _received(receiver, behavior)
    except (EOFError, ConnectionResetError) as error:
        what = "died; a query or a second stage may take 1 GB beyond what it begins with"
        raise InvalidQuery(f"the process of behaviour {behavior.id} {what}") from error
    finally:
        receiver.close()
        if process.pid is not None:
            process.kill()
            process.join()


def _told(receiver: Connection) -> Any:
    """Return one message. They are JSON: what comes out of that process is not to be unpickled."""
    return orjson.loads(receiver.recv_bytes(_MOST_BYTES))


def _tell(sender: Connection, kind: str, value: Any = None) -> None:
    sender.send_bytes(orjson.dumps(spelled_out([kind, value])))


def _received(receiver: Connection, behavior: Behavior) -> ForeignFound:
    found = ForeignFound([], {}, [])
    doing = "its source"
    while receiver.poll(_KILL_S):
        kind, value = _told(receiver)
        if kind == "defined":
            doing = "the query"
        elif kind == "places":
            found.places.extend((name, turn, call) for name, turn, call in value)
        elif kind == "looking":
            doing = f"the second stage, at trace {value}"
        elif kind == "hit":
            trace_id, turn, evidence, note = value
            hits = found.hits.setdefault(trace_id, [])
            if all(other.turn != turn for other in hits):
                hits.append(Hit(turn, tuple(Evidence(*piece) for piece in evidence), note))
        elif kind == "error":
            found.errors.append(value)
        elif kind == "refused":
            raise InvalidQuery(f"behaviour {behavior.id}: {value}")
        elif kind == "done":
            return found
    raise InvalidQuery(f"behaviour {behavior.id}: {doing} was killed after {_KILL_S:g} s")


def _search(
    sender: Connection,
    where: tuple[Path, PartitionKey],
    behavior: Behavior,
    given: dict[str, Json],
    ids: frozenset[str] | None,
) -> None:
    """Run in the new process: say what is found piece by piece."""
    sql, code = behavior.anchor.sql, behavior.anchor.code
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    keep_steady()
    with suppress(BrokenPipeError), PartitionReader(*where) as reader:
        load_what_is_offered()
        first = reader.select("SELECT trace_id FROM traces LIMIT 1")
        list(reader.rows(row[0] for row in first))  # what this loads, it loads before the walls
        limit()
        _tell(sender, "ready")
        try:
            stage = None if code is None else _defined(code)
            _tell(sender, "defined")
            known = {row[0] for row in reader.select("SELECT trace_id FROM traces")}
            left_out = frozenset() if ids is None else known - ids
            places = [one for one in _places(reader, sql) if one[0] not in left_out]
        except (TraceDanceError, MemoryError, _TooLongError) as error:
            _tell(sender, "refused", str(error) or "it takes more memory than it may")
            return
        _tell(sender, "places", places)
        _second_stage(_Job(sender, behavior, stage, given), reader, places, known)
        _tell(sender, "done")


def _places(reader: PartitionReader, sql: str) -> list[Place]:
    timer = threading.Timer(_INTERRUPT_S, reader.interrupt)
    timer.daemon = True
    timer.start()
    began = time.monotonic()
    try:
        rows = reader.select(sql)
    except TraceDanceError as error:
        if time.monotonic() - began >= _INTERRUPT_S:
            raise InvalidQuery(f"the query was interrupted after {_INTERRUPT_S:g} s") from error
        raise
    finally:
        timer.cancel()
    if len(rows) > _MOST_PLACES:
        raise InvalidQuery(f"the query names more than {_MOST_PLACES:,} places")
    return sorted({_place(row) for row in rows}, key=_order)


def _order(place: Place) -> tuple[str, int, int]:
    return place[0], place[1], -1 if place[2] is None else place[2]


def _place(row: tuple[Any, ...]) -> Place:
    if len(row) not in (2, 3):
        raise InvalidQuery(f"columns trace_id, turn and maybe call are needed, not {len(row)}")
    trace_id, turn, call = (*row, None)[:3]
    if not isinstance(trace_id, str) or type(turn) is not int or not _may_be_call(call):
        raise InvalidQuery(f"columns trace_id, turn and maybe call are needed, not {shown(row)}")
    return trace_id, turn, call


class _Job(NamedTuple):
    sender: Connection
    behavior: Behavior
    stage: Callable[[Any, Any, Any], Any] | None
    parameters: dict[str, Json]


def _may_be_call(value: Any) -> bool:
    return value is None or type(value) is int


def _second_stage(job: _Job, reader: PartitionReader, places: list[Place], known: set[str]) -> None:
    by_trace: dict[str, list[tuple[int, int | None]]] = {}
    for trace_id, turn, call in places:
        by_trace.setdefault(trace_id, []).append((turn, call))
    n_stopped = 0
    errors = PlaceErrors(partial(_tell, job.sender, "error"))
    for name in sorted(set(by_trace) - known):
        for _ in by_trace[name]:
            errors.missing(f"the SQL names a trace {shown(name)}, which is not there")
    for rows in reader.rows(by_trace):
        _tell(job.sender, "looking", rows.trace_id)
        run = Run(rows)
        plain = None if job.stage is None else plain_run(run)
        for place in by_trace[rows.trace_id]:
            if not is_there(run, *place):
                errors.missing(f"trace {run.trace_id}: {_not_there(run, *place)}")
                continue
            try:
                hit = _looked_at(job, run, plain, place)
            except (Exception, _TooLongError) as error:  # noqa: BLE001 - foreign source may raise any
                what = errors.failed(f"trace {run.trace_id}, turn {place[0]}", error)
                n_stopped += isinstance(error, _TooLongError)
                if n_stopped >= _MOST_STOPPED:
                    _tell(
                        job.sender, "refused", f"its source was stopped {n_stopped} times: {what}"
                    )
                    return
                continue
            if hit is not None:
                pieces = [list(piece) for piece in hit.evidence]
                _tell(job.sender, "hit", [rows.trace_id, hit.turn, pieces, hit.note])
    errors.end()


def is_there(run: Run, turn: int, call: int | None) -> bool:
    """Whether a run has a turn, and a call where one is named."""
    return 0 <= turn < len(run.turns) and (call is None or run.call(call) is not None)


def _not_there(run: Run, turn: int, call: int | None) -> str:
    if 0 <= turn < len(run.turns):
        return f"the SQL names call {call}, which the run does not have"
    return f"the SQL names turn {turn} of a run with {len(run.turns):,} turns"


def _looked_at(job: _Job, run: Run, plain: Any, place: tuple[int, int | None]) -> Hit | None:
    if job.behavior.anchor.predicate is not None:
        return None
    if job.stage is None:
        return named_hit(Candidate(run, *place, job.parameters), job.behavior.frame)
    return hit_of(_asked(job.stage, plain, place, job.parameters), run)


class _TooLongError(BaseException):
    """A second stage took longer than it may with one run."""


def _asked(
    stage: Callable[[Any, Any, Any], Any],
    run: Any,
    place: tuple[int, int | None],
    parameters: dict[str, Json],
) -> Any:
    with _in_time("one place"):
        return stage(run, {"turn": place[0], "call": place[1]}, dict(parameters))


def _defined(code: str) -> Callable[[Any, Any, Any], Any]:
    with _in_time("what stands at the top of the source"):
        return compiled(check_source(code))


@contextmanager
def _in_time(what: str) -> Iterator[None]:
    def stop(_number: int, _frame: FrameType | None) -> None:
        raise _TooLongError(f"more than {_INTERRUPT_S:g} s for {what}")

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, _INTERRUPT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
