"""What came before a decision, for `tracedance report`: from a benchmark, or from a store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from tracedance_sdk.behaviors import Benchmark, Construction, Occurrence, read_benchmark
from tracedance_sdk.errors import InvalidTrace, TraceDanceError
from tracedance_sdk.judging import ItemKey
from tracedance_sdk.report import DecisionPlace, EvidenceMark, ReportItem, ShownSecrets
from tracedance_sdk.store import TraceStore
from tracedance_sdk.trace import Trace, Turn


def opened_benchmarks(paths: Iterable[Path], problems: list[str]) -> list[Benchmark]:
    """Read benchmarks; lines that are no instances are problems.

    Raises:
        TraceDanceError: A file that is no benchmark.
    """
    found = [read_benchmark(path) for path in paths]
    problems += [problem for item in found for problem in item.problems]
    return found


def benchmark_places(
    items: Iterable[ReportItem], benchmarks: Sequence[Benchmark], secrets: ShownSecrets
) -> dict[ItemKey, DecisionPlace]:
    """Return the decisions of items that are instances of benchmarks, without secrets."""
    known = {one.id: (item, one) for item in benchmarks for one in item.instances}
    places: dict[ItemKey, DecisionPlace] = {}
    for item in items:
        if (item.key.instance_id or "") not in known:
            continue
        benchmark, instance = known[item.key.instance_id or ""]
        made = benchmark.construction.get(instance.id)
        source = None if made is None else made.withheld
        marks = () if made is None else _marks(made)
        shown = secrets.trace(instance.trace)
        shown_source = None if source is None else secrets.turn(source)
        before = (*instance.trace.turns, *(() if source is None else (source,)))
        after = (*shown.turns, *(() if shown_source is None else (shown_source,)))
        places[item.key] = DecisionPlace(
            shown,
            instance.turn,
            f"the benchmark {benchmark.path.name}",
            _moved(marks, before, after, secrets),
            shown_source,
            "The model was shown all that came before, and not what the recorded agent did.",
        )
    return places


def store_places(
    items: Iterable[ReportItem],
    traces: StoredTraces,
    sources: dict[str, str],
) -> tuple[dict[ItemKey, DecisionPlace], int]:
    """Return the decisions of items whose traces a store holds, and how many it does not.

    Args:
        items: Of a result set.
        traces: Where they are looked for.
        sources: Recorded traces by the id of the test that was made of them.
    """
    places: dict[ItemKey, DecisionPlace] = {}
    unknown = 0
    for item in items:
        key = item.key
        source = sources.get(key.instance_id or "")
        names = [name for name in (key.trace_id, source) if name]
        trace = next((found for name in names if (found := traces.shown(name)) is not None), None)
        if trace is None:
            unknown += 1
            continue
        is_decision = key.turn is not None
        turn = len(trace.turns) if key.turn is None else min(key.turn, len(trace.turns))
        note = "This is the recorded run that the test was made of." if trace.id == source else ""
        places[key] = DecisionPlace(trace, turn, "the store", note=note, is_decision=is_decision)
    return places, unknown


def occurrence_places(
    occurrences: Iterable[Occurrence], traces: StoredTraces, secrets: ShownSecrets
) -> tuple[dict[str, DecisionPlace], int]:
    """Return the decisions of occurrences whose traces a store holds, and how many it does not."""
    places: dict[str, DecisionPlace] = {}
    unknown = 0
    for one in occurrences:
        trace, shown = traces.get(one.trace_id), traces.shown(one.trace_id)
        if trace is None or shown is None or one.turn >= len(trace.turns):
            unknown += 1
            continue
        named = tuple(EvidenceMark(item.turn, item.call, item.quote) for item in one.evidence)
        marks = _moved(named, trace.turns, shown.turns, secrets)
        places[one.id] = DecisionPlace(shown, one.turn, "the store", marks, shown.turns[one.turn])
    return places, unknown


class StoredTraces:
    """Reads each trace of a store once.

    Args:
        store: Where they are.
        secrets: What takes secrets out of them.
        problems: Gets what cannot be read.
    """

    def __init__(self, store: TraceStore, secrets: ShownSecrets, problems: list[str]) -> None:
        self._store = store
        self._secrets = secrets
        self._problems = problems
        self._found: dict[str, tuple[Trace, Trace] | None] = {}

    def get(self, trace_id: str) -> Trace | None:
        """Return a trace as it is stored; None where the store does not have it."""
        found = self._pair(trace_id)
        return None if found is None else found[0]

    def shown(self, trace_id: str) -> Trace | None:
        """Return a trace without secrets; None where the store does not have it."""
        found = self._pair(trace_id)
        return None if found is None else found[1]

    def _pair(self, trace_id: str) -> tuple[Trace, Trace] | None:
        if trace_id not in self._found:
            self._found[trace_id] = self._read(trace_id)
        return self._found[trace_id]

    def _read(self, trace_id: str) -> tuple[Trace, Trace] | None:
        try:
            if not self._store.meant(trace_id):
                return None
            found = self._store.get(trace_id)
            return (found, self._secrets.trace(found)) if found.id == trace_id else None
        except TraceDanceError as error:
            self._problems.append(str(error))
            return None


def _moved(
    marks: Iterable[EvidenceMark],
    before: Sequence[Turn],
    after: Sequence[Turn],
    secrets: ShownSecrets,
) -> tuple[EvidenceMark, ...]:
    """Return marks of turns for the same turns without secrets."""
    places = {turn.index: place for place, turn in enumerate(before)}
    moved: list[EvidenceMark] = []
    for mark in marks:
        place = places.get(mark.turn)
        if place is None:
            moved.append(mark._replace(quote=secrets.text(mark.quote)))
            continue
        quotes = secrets.quotes(before[place], after[place], mark.quote)
        moved += [mark._replace(quote=quote) for quote in quotes]
    return tuple(moved)


def _marks(made: Construction) -> tuple[EvidenceMark, ...]:
    marks = []
    for behavior in made.hits:
        try:
            hit = made.hit(behavior)
        except InvalidTrace:
            continue
        marks += [EvidenceMark(item.turn, item.call, item.quote) for item in hit.evidence]
    return tuple(marks)
