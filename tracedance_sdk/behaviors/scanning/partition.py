"""What the behaviours asked for are found in one partition: a pure function of it.

First each behaviour's SQL names places. The runs that any of them names are read once, and the
second stages look at them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from tracedance_sdk.behaviors.behavior import Behavior
from tracedance_sdk.behaviors.catalogue import is_packaged, predicate_named
from tracedance_sdk.behaviors.foreign.looking import is_there
from tracedance_sdk.behaviors.foreign.search import ForeignFound, search_apart
from tracedance_sdk.behaviors.hits import Candidate, Hit, Predicate, named_hit
from tracedance_sdk.behaviors.run import Run
from tracedance_sdk.behaviors.scanning.near_duplicates import signature
from tracedance_sdk.behaviors.scanning.occurrences import Occurrence, Shown, occurrence_id
from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.store import PartitionKey, PartitionReader
from tracedance_sdk.trace import Json

_HOME: Final = re.compile(r"^(?:/home|/Users|/root/home|[A-Za-z]:[\\/]Users)[\\/]([^\\/]+)")
_QUOTE: Final = 500

DIMENSIONS: Final = ("week", "agent", "collector", "project")
"""What rates can be taken by."""

_SESSIONS: Final = """
WITH wanted AS (SELECT * FROM traces WHERE ({where}
)), began AS (
    SELECT family, coalesce(strftime(min(started_at), '%G-W%V'), '') AS week
    FROM traces GROUP BY family
), told AS (
    SELECT family, week, coalesce(agent, '') AS agent, coalesce(collector, '') AS collector,
           coalesce(project, cwd, '') AS project
    FROM wanted JOIN began USING (family)
)
SELECT 'week' AS dimension, week AS value, count(DISTINCT family) FROM told GROUP BY value
UNION ALL SELECT 'agent', agent, count(DISTINCT family) FROM told GROUP BY agent
UNION ALL SELECT 'collector', collector, count(DISTINCT family) FROM told GROUP BY collector
UNION ALL SELECT 'project', project, count(DISTINCT family) FROM told GROUP BY project
ORDER BY ALL"""

_Place = tuple[int, int | None]
_OnHit = Callable[[Run, Behavior, Hit], None]


class Wanted(NamedTuple):
    """A behaviour to look for, with the values of its parameters."""

    behavior: Behavior
    parameters: Mapping[str, Json]


class Found(NamedTuple):
    """What one behaviour comes to in one partition.

    Attributes:
        behavior: Its id.
        candidates: Places that its SQL named.
        traces: Runs that it named a place in.
        hits: By trace id, at most one for each source turn, in the order they were found.
        errors: Why places could not be looked at, one line each.
        failure: Why it was not looked for to the end, if it was not.
        is_stopped: Whether something was left out because it took too long or too much.
    """

    behavior: str
    candidates: int
    traces: int
    hits: dict[str, list[Hit]]
    errors: list[str]
    failure: str | None = None
    is_stopped: bool = False


class Counted(NamedTuple):
    """What one behaviour comes to, in numbers; see `Found`."""

    behavior: str
    candidates: int
    traces: int
    hits: int
    errors: tuple[str, ...] = ()
    failure: str | None = None


class Outcome(NamedTuple):
    """What a scan of a partition says.

    Attributes:
        traces: How many it holds.
        sessions: How many sessions there are, by each of `DIMENSIONS` and its values; a session
            counts under each of its agents. Under the empty text those that say nothing.
        counted: One for each behaviour, in the order they were wanted.
        occurrences: All hits.
        signatures: By id of the occurrence, for finding near-duplicates.
        is_stopped: Whether something was left out because it took too long or too much, which on
            another day it may not.
    """

    traces: int
    sessions: dict[str, dict[str, int]]
    counted: tuple[Counted, ...]
    occurrences: tuple[Occurrence, ...]
    signatures: dict[str, tuple[int, ...]]
    is_stopped: bool = False


def scan_partition(folder: Path, key: PartitionKey, wanted: Sequence[Wanted]) -> list[Found]:
    """Look for behaviours in a partition.

    Args:
        folder: The store's.
        key: Of the partition.
        wanted: The behaviours.

    Returns:
        One for each behaviour, in the order of `wanted`.

    Raises:
        StoreError: The partition is damaged, or not the one that was meant.
    """
    with PartitionReader(folder, key) as reader:
        return _found(reader, (folder, key), wanted)


def partition_outcome(
    folder: Path, key: PartitionKey, wanted: Sequence[Wanted], where: str = "true"
) -> Outcome:
    """Look for behaviours in a partition, and say where each occurrence stands.

    Args:
        folder: The store's.
        key: Of the partition.
        wanted: The behaviours.
        where: SQL over the view `traces`, already checked: only these are looked at.

    Raises:
        StoreError: The partition is damaged, or not the one that was meant.
        MissingDependency: datasketch is not installed.
    """
    signatures: dict[str, tuple[int, ...]] = {}
    turns: dict[str, tuple[str | None, datetime | None]] = {}

    def note(run: Run, behavior: Behavior, hit: Hit) -> None:
        name = occurrence_id(behavior.id, run.trace_id, hit.turn)
        signatures[name] = signature(run, hit.turn)
        turn = run.turns[hit.turn]
        turns[name] = (turn.model, turn.started_at)

    with PartitionReader(folder, key) as reader:
        among = reader.select(f"SELECT trace_id FROM traces WHERE ({where}\n)")  # noqa: S608 - see above
        ids = {row[0] for row in among}
        found = _found(reader, (folder, key), wanted, ids=ids, on_hit=note)
        abouts = _abouts(reader, {trace_id for item in found for trace_id in item.hits})
        sessions: dict[str, dict[str, int]] = {name: {} for name in DIMENSIONS}
        for name, value, number in reader.select(_SESSIONS.format(where=where)):
            sessions[name][value] = number
    occurrences = tuple(
        _occurrence(item.behavior, abouts[trace_id], hit, turns)
        for item in found
        for trace_id, hits in sorted(item.hits.items())
        for hit in hits
    )
    counted = tuple(
        Counted(
            item.behavior,
            item.candidates,
            item.traces,
            sum(map(len, item.hits.values())),
            tuple(item.errors),
            item.failure,
        )
        for item in found
    )
    is_stopped = any(item.is_stopped for item in found)
    return Outcome(len(ids), sessions, counted, occurrences, signatures, is_stopped)


def _found(
    reader: PartitionReader,
    place: tuple[Path, PartitionKey],
    wanted: Sequence[Wanted],
    *,
    ids: set[str] | None = None,
    on_hit: _OnHit | None = None,
) -> list[Found]:
    """Look for the catalogue's behaviours here, for each foreign one in a process of its own."""
    own = [item for item in wanted if is_packaged(item.behavior)]
    places = [_places(reader, item.behavior, ids) for item in own]
    found = {item.behavior: item for item in _found_here(reader, own, places, on_hit=on_hit)}
    among = None if ids is None else frozenset(ids)
    for item in wanted:
        if item.behavior.id not in found:
            apart = search_apart(*place, (item.behavior, item.parameters), ids=among)
            told = _of_foreign(reader, item, apart, on_hit)
            found[item.behavior.id] = told._replace(
                errors=apart.errors + told.errors,
                failure=apart.failure,
                is_stopped=apart.is_stopped or apart.failure is not None,
            )
    return [found[item.behavior.id] for item in wanted]


def _of_foreign(
    reader: PartitionReader, item: Wanted, apart: ForeignFound, on_hit: _OnHit | None
) -> Found:
    behavior = item.behavior
    if behavior.anchor.predicate is not None:
        return _found_here(reader, [item], [_by_trace(apart.places)], on_hit=on_hit)[0]
    traces = {place[0] for place in apart.places}
    found = Found(behavior.id, len(apart.places), len(traces), apart.hits, [])
    if on_hit is not None:
        _tell_of_foreign(reader, behavior, found, on_hit)
    return found


def _tell_of_foreign(
    reader: PartitionReader, behavior: Behavior, found: Found, on_hit: _OnHit
) -> None:
    for rows in reader.rows(found.hits):
        run = Run(rows)
        for hit in found.hits[run.trace_id]:
            on_hit(run, behavior, hit)


def _found_here(
    reader: PartitionReader,
    wanted: Sequence[Wanted],
    places: Sequence[Mapping[str, Sequence[_Place]]],
    *,
    on_hit: _OnHit | None,
) -> list[Found]:
    found = [
        Found(item.behavior.id, sum(map(len, named.values())), len(named), {}, [])
        for item, named in zip(wanted, places, strict=True)
    ]
    stages = [_stage(item.behavior) for item in wanted]
    for rows in reader.rows({trace_id for named in places for trace_id in named}):
        run = Run(rows)
        for number, item in enumerate(wanted):
            for turn, call in places[number].get(run.trace_id, ()):
                candidate = Candidate(run, turn, call, item.parameters)
                hit = _look(candidate, stages[number], found[number])
                if hit is not None and on_hit is not None:
                    on_hit(run, item.behavior, hit)
    return found


def _places(
    reader: PartitionReader, behavior: Behavior, ids: set[str] | None
) -> dict[str, list[_Place]]:
    rows = reader.select(behavior.anchor.sql)
    return _by_trace(
        (row[0], row[1], row[2] if len(row) > 2 else None)
        for row in rows
        if ids is None or row[0] in ids
    )


def _by_trace(rows: Iterable[tuple[str, int, int | None]]) -> dict[str, list[_Place]]:
    """Return the places of each trace, in order and each once."""
    named: dict[str, set[_Place]] = {}
    for trace_id, turn, call in rows:
        named.setdefault(trace_id, set()).add((turn, call))
    return {
        trace_id: sorted(places, key=lambda place: (place[0], -1 if place[1] is None else place[1]))
        for trace_id, places in named.items()
    }


def _stage(behavior: Behavior) -> Predicate:
    name = behavior.anchor.predicate
    if name is not None:
        stage = predicate_named(name)
        return stage if is_packaged(behavior) else partial(_where_it_is_there, stage)
    return lambda candidate: named_hit(candidate, behavior.frame)


def _where_it_is_there(stage: Predicate, candidate: Candidate) -> Hit | None:
    """Ask a stage about what is there alone: the SQL of a user's own may name other places."""
    run, turn, call, _ = candidate
    return stage(candidate) if is_there(run, turn, call) else None


def _look(candidate: Candidate, stage: Predicate, found: Found) -> Hit | None:
    """Return the hit of a candidate if there is one and its source turn is not a hit already."""
    try:
        hit = stage(candidate)
    except TraceDanceError as error:
        found.errors.append(f"trace {candidate.run.trace_id}, turn {candidate.turn}: {error}")
        return None
    if hit is None:
        return None
    hits = found.hits.setdefault(candidate.run.trace_id, [])
    if any(other.turn == hit.turn for other in hits):
        return None
    hits.append(hit)
    return hit


class _About(NamedTuple):
    trace_id: str
    session: str
    project: str | None
    cwd: str | None
    agent: str | None
    collector: str | None
    started_at: datetime | None
    week: str


def _abouts(reader: PartitionReader, trace_ids: set[str]) -> dict[str, _About]:
    rows = reader.select(
        "SELECT trace_id, family, project, cwd, agent, collector, started_at, "
        "coalesce(strftime(min(started_at) OVER (PARTITION BY family), '%G-W%V'), '') "
        "FROM traces QUALIFY list_contains(?, trace_id)",
        [sorted(trace_ids)],
    )
    return {row[0]: _About(*row) for row in rows}


def _occurrence(
    behavior: str,
    about: _About,
    hit: Hit,
    turns: Mapping[str, tuple[str | None, datetime | None]],
) -> Occurrence:
    name = occurrence_id(behavior, about.trace_id, hit.turn)
    model, started_at = turns[name]
    at: Any = started_at or about.started_at
    home = _HOME.match(about.cwd or "")
    return Occurrence(
        id=name,
        behavior=behavior,
        trace_id=about.trace_id,
        turn=hit.turn,
        session=about.session,
        week=about.week,
        project=about.project or about.cwd,
        user=home.group(1) if home else None,
        agent=about.agent,
        collector=about.collector,
        model=model,
        at=None if at is None else at.isoformat(),
        evidence=tuple(
            Shown(turn=item.turn, call=item.call, quote=item.quote[:_QUOTE])
            for item in hit.evidence
        ),
        note=hit.note,
    )
