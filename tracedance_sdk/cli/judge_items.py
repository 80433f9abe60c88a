"""What `tracedance judge` lets judge: recorded runs, recorded turns, or replies of models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from tracedance_sdk.cli.stores import is_store
from tracedance_sdk.cli.wanted import Missed, Wanted, wanted_traces
from tracedance_sdk.errors import InvalidOption, InvalidTrace, UnknownFormat, UnreadableFile
from tracedance_sdk.grading import ResultRow, ResultSet, Subject, read_results
from tracedance_sdk.judging import ItemKey, JudgedItem, Rubric
from tracedance_sdk.replay import (
    GRADER,
    Cut,
    DecisionPoint,
    Exclusion,
    Instance,
    ToolLimit,
    decision_points,
    instance_point,
    is_instance_file,
    offered_tools,
    read_instances,
)
from tracedance_sdk.trace import Trace, Turn, invalid_trace

_MOST_AT_ONCE: Final = 500
"""Traces that a store is asked for at a time."""

NO_CONTEXT: Final = "its trace is not among --traces"
_LIMITS: Final[tuple[ToolLimit, ...]] = ("recorded", "known", "inferred")


class Sources(NamedTuple):
    """Where items come from.

    Attributes:
        paths: Result sets; or stores, files, folders, journals and files of instances.
        traces: Where the traces are that result sets are about.
        wanted: Which traces.
        cut: Which turns of them, for rubrics about turns.
        has_sub_agents: Whether the runs of sub-agents are judged as well.
    """

    paths: tuple[Path, ...]
    traces: tuple[Path, ...]
    wanted: Wanted
    cut: Cut = Cut()
    has_sub_agents: bool = False


class Items(NamedTuple):
    """What is to be judged.

    Attributes:
        of: For each rubric its items, in the order of the rubrics.
        excluded: What is left out.
        sets: The result sets that were read.
    """

    of: list[list[JudgedItem]]
    excluded: list[Exclusion]
    sets: list[ResultSet]


def find_items(sources: Sources, rubrics: Sequence[Rubric], missed: Missed) -> Items:
    """Return what is to be judged by each rubric.

    Raises:
        TraceDanceError: A source that cannot be used, sources that do not go together, or rubrics
            that are not about them.
    """
    results = [path for path in sources.paths if is_result_set(path)]
    others = tuple(path for path in sources.paths if path not in results)
    check_there(others)
    if not results:
        if sources.traces:
            raise InvalidOption(
                "--traces says where the traces of result sets are, and no result set is given; "
                "name the traces alone to judge what they recorded"
            )
        return _recorded(sources, rubrics, missed)
    if others:
        raise InvalidOption(
            f"{str(results[0])!r} holds results and {str(others[0])!r} does not: judge one or the "
            "other; the traces that results are about come with --traces"
        )
    whole = next((rubric for rubric in rubrics if rubric.about == "trace"), None)
    if whole is not None:
        raise InvalidOption(
            f"the rubric {whole.id!r} is about whole traces, and {str(results[0])!r} holds "
            "replies; give a rubric with 'about: turn', or judge the traces themselves"
        )
    items, excluded, sets = _replied(sources, results, missed)
    return Items([items] * len(rubrics), excluded, sets)


def check_there(paths: Iterable[Path]) -> None:
    """See that every source exists, before anything else is said of it.

    Raises:
        UnreadableFile: One does not.
    """
    for path in paths:
        if not path.exists():
            raise UnreadableFile(f"{str(path)!r} does not exist")


def is_result_set(path: Path) -> bool:
    """Whether a folder holds a result set."""
    return (path / "manifest.json").is_file()


def _recorded(sources: Sources, rubrics: Sequence[Rubric], missed: Missed) -> Items:
    """Return runs, and turns of them, as they were recorded."""
    abouts = {rubric.about for rubric in rubrics}
    found: dict[str, list[JudgedItem]] = {"trace": [], "turn": []}
    excluded: list[Exclusion] = []
    seen: set[tuple[str | None, str]] = set()
    for source in _sources(sources, missed):
        trace = source.trace if isinstance(source, Instance) else source
        key = source.id if isinstance(source, Instance) else None, trace.id
        why_not = "the same trace again" if key in seen else _unfit(trace, sources)
        seen.add(key)
        if why_not is not None:
            excluded.append(Exclusion(trace.id, None, why_not, "", key[0]))
            continue
        if "trace" in abouts:
            found["trace"].append(_run(trace, key[0]))
        if "turn" in abouts:
            for item in _turns(source, sources):
                if isinstance(item, Exclusion):
                    excluded.append(item)
                else:
                    found["turn"].append(item)
    return Items([found[rubric.about] for rubric in rubrics], excluded, [])


def _sources(sources: Sources, missed: Missed) -> Iterator[Trace | Instance]:
    files = [path for path in sources.paths if is_instance_file(path)]
    for path in files:
        yield from _instances(path, missed)
    others = tuple(path for path in sources.paths if path not in files)
    if others:
        yield from wanted_traces(others, sources.wanted, missed)


def _instances(path: Path, missed: Missed) -> Iterator[Instance]:
    for item in read_instances(path):
        if isinstance(item, InvalidTrace):
            missed.tell(str(item))
        else:
            yield item


def _unfit(trace: Trace, sources: Sources) -> str | None:
    """Return why nothing of a trace can be judged."""
    if trace.parent is not None and not sources.has_sub_agents:
        return "a sub-agent's run; --sub-agents takes it"
    if not trace.turns:
        return "no turns"
    return "incomplete: content_off" if trace.fidelity.count("content_off") else None


def _run(trace: Trace, instance_id: str | None) -> JudgedItem:
    subject = Subject(trace_id=trace.id, instance_id=instance_id)
    return JudgedItem(subject, trace, None, 0, trace.group or trace.task_id, _model(trace))


def _turns(source: Trace | Instance, sources: Sources) -> Iterator[JudgedItem | Exclusion]:
    """Yield the turns that were recorded where a trace is cut, each as the answer to its past."""
    limit = sources.wanted.tools
    if isinstance(source, Instance):
        points: Iterable[DecisionPoint | Exclusion] = [instance_point(source, tools=limit)]
    else:
        points = decision_points(source, sources.cut, tools=limit)
    for point in points:
        if isinstance(point, Exclusion):
            yield point
            continue
        trace, place = point.trace, point.turn
        response = trace.turns[place] if place < len(trace.turns) else None
        if response is None or response.role != "assistant":
            told = f"turn {place} is not there: the trace has {len(trace.turns)}"
            told = told if response is None else f"turn {place} is the {response.role}'s"
            yield Exclusion(trace.id, place, "no recorded turn", told, point.instance_id)
            continue
        subject = Subject(trace_id=trace.id, turn=place, instance_id=point.instance_id)
        group = point.group or trace.group or trace.task_id
        yield JudgedItem(subject, trace, response, 0, group, response.model or _model(trace))


def _replied(
    sources: Sources, folders: Sequence[Path], missed: Missed
) -> tuple[list[JudgedItem], list[Exclusion], list[ResultSet]]:
    """Return the replies of result sets, each with the trace that it answers."""
    sets = [read_results(folder) for folder in folders]
    excluded: list[Exclusion] = []
    rows: dict[ItemKey, tuple[ResultRow, Path]] = {}
    for folder, found in zip(folders, sets, strict=True):
        replies = [row for row in found.rows if row.grader == GRADER]
        if not replies:
            raise InvalidOption(
                f"{str(folder)!r} holds no replies of next-turn; judge the traces themselves"
            )
        for row in replies:
            why_not = _unjudgeable(row)
            known = rows.get(ItemKey.of(row))
            if known is not None and why_not is None:
                _refuse_another(row, folder, *known)
                why_not = "the same reply again"
            if why_not is None:
                rows[ItemKey.of(row)] = row, folder
            else:
                excluded.append(left_out(row, why_not))
    traces = traces_of([row for row, _ in rows.values()], sources, _limit(sets), missed)
    items: list[JudgedItem] = []
    for row, folder in rows.values():
        trace = traces.get((row.subject.instance_id, str(row.subject.trace_id)))
        trace = trace or traces.get((None, str(row.subject.trace_id)))
        turn = -1 if row.subject.turn is None else row.subject.turn
        if trace is None or not 0 <= turn <= len(trace.turns):
            excluded.append(left_out(row, NO_CONTEXT))
            continue
        reply = _turn((row.model_extra or {}).get("reply"), folder)
        items.append(JudgedItem(row.subject, trace, reply, row.sample, row.group, row.model))
    return items, excluded, sets


def _unjudgeable(row: ResultRow) -> str | None:
    own = row.model_extra or {}
    if row.missing_reason is not None:
        return f"no answer: {own.get('missing') or row.missing_reason}"
    return None if "reply" in own else "no reply in its row"


def _refuse_another(row: ResultRow, folder: Path, known: ResultRow, where: Path) -> None:
    """Refuse two replies that could not be told apart."""
    if (row.model_extra or {}).get("reply") == (known.model_extra or {}).get("reply"):
        return
    raise InvalidOption(
        f"{str(where)!r} and {str(folder)!r} hold different replies of {row.model} to trace "
        f"{row.subject.trace_id!r} under one sample; judge them one at a time"
    )


def left_out(row: ResultRow, reason: str) -> Exclusion:
    """Return what a row is about as an exclusion."""
    subject = row.subject
    return Exclusion(
        subject.trace_id or "", subject.turn, reason, row.missing_reason or "", subject.instance_id
    )


def _limit(sets: Sequence[ResultSet]) -> ToolLimit:
    """Return the weakest origin of tools that models were offered."""
    told = [found.manifest.get("tools") for found in sets]
    return max((limit for limit in _LIMITS if limit in told), key=_LIMITS.index, default="inferred")


def traces_of(
    rows: Sequence[ResultRow], sources: Sources, limit: ToolLimit, missed: Missed
) -> dict[tuple[str | None, str], Trace]:
    """Return the traces that rows are about, by instance, where there is one, and id."""
    ids = {str(row.subject.trace_id) for row in rows}
    if rows and not sources.traces:
        raise InvalidOption(
            "results hold no contexts: give the traces that they are about with --traces"
        )
    found: dict[tuple[str | None, str], Trace] = {}
    for path in sources.traces if ids else ():
        if is_instance_file(path):
            for one in _instances(path, missed):
                if one.trace.id in ids:
                    found.setdefault((one.id, one.trace.id), offered_tools(one.trace, limit))
            continue
        for trace in _looked_through(
            path, sorted(ids), sources.wanted._replace(tools=limit), missed
        ):
            if trace.id in ids:
                found.setdefault((None, trace.id), offered_tools(trace, limit))
    return found


def _looked_through(
    path: Path, ids: Sequence[str], wanted: Wanted, missed: Missed
) -> Iterator[Trace]:
    """Yield the traces of a source; of a store only those with some ids."""
    if not is_store(path) or wanted.trace_id is not None:
        yield from wanted_traces((path,), wanted, missed)
        return
    quoted = ["'" + name.replace("'", "''") + "'" for name in ids]
    for at in range(0, len(quoted), _MOST_AT_ONCE):
        condition = f"trace_id IN ({', '.join(quoted[at : at + _MOST_AT_ONCE])})"
        if wanted.where is not None:
            condition = f"({wanted.where}\n) AND {condition}"
        yield from wanted_traces((path,), wanted._replace(where=condition), missed)


def _turn(document: Any, folder: Path) -> Turn:
    try:
        return Turn.model_validate(document)
    except ValidationError as error:
        where = f"a reply in {str(folder)!r}"
        raise UnknownFormat(str(invalid_trace(error, where))) from error


def _model(trace: Trace) -> str | None:
    return next((turn.model for turn in trace.turns if turn.model is not None), None)
