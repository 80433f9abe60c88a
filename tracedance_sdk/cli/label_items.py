"""What `tracedance label` lets people label: runs, turns of runs, replies, judged items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from tracedance_sdk.cli.stores import is_store
from tracedance_sdk.cli.wanted import Missed, Wanted, wanted_traces
from tracedance_sdk.errors import InvalidOption, UnknownFormat
from tracedance_sdk.grading import ResultRow, ResultSet, Subject, read_results
from tracedance_sdk.judging import (
    PANEL_GRADER,
    ItemKey,
    JudgedItem,
    Rubric,
    check_item,
    rows_of_rubric,
)
from tracedance_sdk.replay import (
    GRADER,
    Cut,
    DecisionPoint,
    Instance,
    decision_points,
    is_instance_file,
    read_instances,
)
from tracedance_sdk.trace import Json, Trace, Turn, invalid_trace

MANIFEST: Final = "manifest.json"
ROWS: Final = "rows.jsonl"
_MOST_AT_ONCE: Final = 500
"""Traces that a store is asked for at a time."""


class ItemSources(NamedTuple):
    """Where items come from; the fields are named as the options.

    Attributes:
        sets: Result sets, or sources of traces.
        traces: Sources of the traces that result sets are about.
        where: SQL over the view `traces` of stores among `sets`.
        trace_id: Only this trace.
        cut: Which turns of traces, by a rubric about turns.
    """

    sets: tuple[Path, ...]
    traces: tuple[Path, ...] = ()
    where: str | None = None
    trace_id: str | None = None
    cut: Cut = Cut()


class LabelItems:
    """Yields each item once, and counts by reason what is left out.

    Args:
        sources: Where they come from.
        rubric: By which they are labelled.
        missed: Counts what cannot be read.
    """

    def __init__(self, sources: ItemSources, rubric: Rubric, missed: Missed) -> None:
        self._sources, self._rubric, self._missed = sources, rubric, missed
        self.exclusions: Counter[str] = Counter()
        self.n_items = 0

    def __iter__(self) -> Iterator[JudgedItem]:
        """Yield the items.

        Raises:
            TraceDanceError: A source that cannot be used, or items that the rubric is not about.
        """
        seen: set[ItemKey] = set()
        for item in self._found():
            key = ItemKey.of(item)
            if key in seen:
                self.exclusions["the same item again"] += 1
                continue
            seen.add(key)
            self.n_items += 1
            yield item

    def _found(self) -> Iterator[JudgedItem]:
        sources = self._sources
        results = [path for path in sources.sets if is_result_set(path)]
        others = tuple(path for path in sources.sets if path not in results)
        if results and others:
            raise InvalidOption(
                f"{str(results[0])!r} holds results and {str(others[0])!r} does not: "
                "label one or the other; the traces that results are about come with --traces"
            )
        if results:
            yield from self._judged([read_results(path) for path in results])
            return
        files = [path for path in others if is_instance_file(path)]
        for path in files:
            yield from map(self._of_instance, self._instances(path))
        others = tuple(path for path in others if path not in files)
        wanted = Wanted(sources.where, sources.trace_id, "inferred")
        for trace in wanted_traces(others, wanted, self._missed) if others else ():
            yield from self._of_trace(trace)

    def _of_trace(self, trace: Trace) -> Iterator[JudgedItem]:
        group = trace.group or trace.task_id
        if self._rubric.about == "trace":
            subject = Subject(trace_id=trace.id)
            yield JudgedItem(subject, trace, None, 0, group, _model(trace))
            return
        for found in decision_points(trace, self._sources.cut):
            if not isinstance(found, DecisionPoint):
                self.exclusions[found.reason] += 1
                continue
            response = trace.turns[found.turn]
            subject = Subject(trace_id=trace.id, turn=found.turn)
            model = response.model or _model(trace)
            yield JudgedItem(subject, found.trace, response, 0, group, model)

    def _of_instance(self, instance: Instance) -> JudgedItem:
        trace, turn = instance.trace, instance.turn
        response = trace.turns[turn] if turn < len(trace.turns) else None
        subject = Subject(trace_id=trace.id, turn=turn, instance_id=instance.id)
        group = instance.group or trace.group or trace.task_id
        model = (response and response.model) or _model(trace)
        item = JudgedItem(subject, trace, response, 0, group, model)
        check_item(self._rubric, item)
        return item

    def _judged(self, sets: Sequence[ResultSet]) -> Iterator[JudgedItem]:
        replies = {
            ItemKey.of(row): row for found in sets for row in found.rows if "reply" in _own(row)
        }
        kept: list[ResultRow] = []
        for row in _rows_to_label(sets, self._rubric):
            if row.grader == GRADER and (kind := _own(row).get("missing")):
                self.exclusions[f"no answer: {kind}"] += 1
            elif row.subject.trace_id is None:
                self.exclusions["no trace was read"] += 1
            else:
                kept.append(row)
        wanted = {str(row.subject.trace_id) for row in kept}
        traces = self._traces(wanted)
        if wanted and not traces:
            raise InvalidOption(_no_traces(self._sources.traces))
        for row in kept:
            subject = row.subject
            alone = None, subject.trace_id
            trace = traces.get((subject.instance_id, subject.trace_id)) or traces.get(alone)
            if trace is None:
                self.exclusions["its trace is not among --traces"] += 1
                continue
            item = self._item(row, replies.get(ItemKey.of(row)), trace)
            if item is None:
                self.exclusions["its reply is in no set given"] += 1
            else:
                yield item

    def _item(self, row: ResultRow, reply: ResultRow | None, trace: Trace) -> JudgedItem | None:
        turn = row.subject.turn
        response: Turn | None = None
        if reply is not None:
            response = _turn(_own(reply)["reply"], trace.id)
        elif turn is not None:
            # Of a judged turn that was recorded, the trace itself has the words.
            recorded = trace.turns[turn] if 0 <= turn < len(trace.turns) else None
            names = {None, _model(trace), recorded and recorded.model}
            if recorded is None or row.sample or row.model not in names:
                return None
            response = recorded
        item = JudgedItem(row.subject, trace, response, row.sample, row.group, row.model)
        check_item(self._rubric, item)
        return item

    def _traces(self, ids: set[str]) -> dict[tuple[str | None, str | None], Trace]:
        """Return traces by the instance that they are of, if any, and their id."""
        found: dict[tuple[str | None, str | None], Trace] = {}
        for path in self._sources.traces if ids else ():
            if is_instance_file(path):
                for instance in self._instances(path):
                    if instance.trace.id in ids:
                        found[instance.id, instance.trace.id] = instance.trace
                continue
            for condition in _conditions(path, sorted(ids)):
                wanted = Wanted(condition, None, "inferred")
                for trace in wanted_traces((path,), wanted, self._missed):
                    if trace.id in ids:
                        found.setdefault((None, trace.id), trace)
        return found

    def _instances(self, path: Path) -> Iterator[Instance]:
        for found in read_instances(path):
            if isinstance(found, Instance):
                yield found
            else:
                self._missed.tell(str(found))


def is_result_set(path: Path) -> bool:
    """Whether a folder holds a result set."""
    return (path / MANIFEST).is_file() and (path / ROWS).is_file()


def _conditions(path: Path, ids: list[str]) -> list[str | None]:
    """Return what a store is asked for, so that it does not read all of its traces."""
    if not is_store(path):
        return [None]
    quoted = ["'" + name.replace("'", "''") + "'" for name in ids]
    parts = [quoted[at : at + _MOST_AT_ONCE] for at in range(0, len(quoted), _MOST_AT_ONCE)]
    return [f"trace_id IN ({', '.join(part)})" for part in parts]


def _rows_to_label(sets: Sequence[ResultSet], rubric: Rubric) -> list[ResultRow]:
    """Return a row for each item: of sets that were judged, those of the rubric.

    Raises:
        InvalidOption: They were judged by another rubric, or by another text of it.
    """
    judged = [
        found for found in sets if any(row.grader.startswith(PANEL_GRADER) for row in found.rows)
    ]
    for found in judged:
        for name, digest, *_ in found.manifest.get("rubrics") or ():
            if name == rubric.id and digest != rubric.sha256:
                raise InvalidOption(
                    f"the results were judged by another text of the rubric {name!r} (sha256 "
                    f"{str(digest)[:12]}, now {rubric.sha256[:12]}): give the rubric that the "
                    "judges read, or judge again"
                )
    if judged:
        return [row for found in judged for row in rows_of_rubric(found.rows, rubric.id)]
    rows = [row for found in sets for row in found.rows]
    replies = [row for row in rows if row.grader == GRADER]
    return replies or list({ItemKey.of(row): row for row in rows}.values())


def _no_traces(given: tuple[Path, ...]) -> str:
    if not given:
        return "results hold no contexts: give the traces that they are about with --traces"
    return f"none of the traces that the results are about is in {', '.join(map(str, given))}"


def _own(row: ResultRow) -> dict[str, Any]:
    return row.model_extra or {}


def _turn(document: Json, trace_id: str) -> Turn:
    try:
        return Turn.model_validate(document)
    except ValidationError as error:
        where = f"the reply to trace {trace_id!r}"
        raise UnknownFormat(str(invalid_trace(error, where))) from error


def _model(trace: Trace) -> str | None:
    return next((turn.model for turn in trace.turns if turn.model is not None), None)
