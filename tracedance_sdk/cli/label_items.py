"""What `tracedance label` lets people label: what `tracedance judge` judges, or what was judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tracedance_sdk.cli.judge_items import (
    NO_CONTEXT,
    Sources,
    check_there,
    find_items,
    is_result_set,
    left_out,
    traces_of,
)
from tracedance_sdk.cli.wanted import Missed
from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.grading import ResultRow, ResultSet, read_results
from tracedance_sdk.judging import (
    PANEL_GRADER,
    ItemKey,
    JudgedItem,
    Rubric,
    check_item,
    rows_of_rubric,
)
from tracedance_sdk.replay import GRADER, Exclusion
from tracedance_sdk.trace import Trace

NO_REPLY = "its reply is in no result set given"


class LabelItems(NamedTuple):
    """What is to be labelled.

    Attributes:
        items: Each once.
        excluded: What is left out.
    """

    items: list[JudgedItem]
    excluded: list[Exclusion]

    @property
    def exclusions(self) -> dict[str, int]:
        """Reason → how many are left out for it, the most first."""
        return dict(Counter(item.reason for item in self.excluded).most_common())


def find_label_items(sources: Sources, rubric: Rubric, missed: Missed) -> LabelItems:
    """Return what people are to label by a rubric.

    Of result sets that were judged by it these are the judged items, and the sets with the replies
    are given beside them; of other result sets, replies or runs; else runs or turns of traces.

    Raises:
        TraceDanceError: A source that cannot be used, or one that the rubric is not about.
    """
    sets = {path: read_results(path) for path in sources.paths if is_result_set(path)}
    replies = [path for path, found in sets.items() if _has(found, GRADER)]
    others = [found for path, found in sets.items() if path not in replies]
    if not others:
        found = find_items(sources, [rubric], missed)
        return LabelItems(found.of[0], found.excluded)
    if len(sets) < len(sources.paths):
        strangers = [path for path in sources.paths if path not in sets]
        check_there(strangers)
        stranger = strangers[0]
        raise InvalidOption(
            f"{str(stranger)!r} holds no results and others do: label one or the other; the traces "
            "that results are about come with --traces"
        )
    answered = {}
    if replies:
        found = find_items(sources._replace(paths=tuple(replies)), [rubric], missed)
        answered = {ItemKey.of(item): item for item in found.of[0]}
    return _of_rows(_rows_to_label(others, rubric), answered, sources, rubric, missed)


def _of_rows(
    rows: Sequence[ResultRow],
    answered: dict[ItemKey, JudgedItem],
    sources: Sources,
    rubric: Rubric,
    missed: Missed,
) -> LabelItems:
    found = LabelItems([], [])
    recorded = [row for row in rows if ItemKey.of(row) not in answered and row.subject.trace_id]
    traces = traces_of(recorded, sources, sources.wanted.tools, missed)
    for row in rows:
        subject = row.subject
        item = answered.get(ItemKey.of(row))
        if item is None:
            trace_id = subject.trace_id or ""
            trace = traces.get((subject.instance_id, trace_id)) or traces.get((None, trace_id))
            if trace is None:
                found.excluded.append(left_out(row, NO_CONTEXT))
                continue
            item = _recorded(row, trace)
        if item is None:
            found.excluded.append(left_out(row, NO_REPLY))
            continue
        check_item(rubric, item)
        found.items.append(item)
    return found


def _recorded(row: ResultRow, trace: Trace) -> JudgedItem | None:
    """Return a run, or a turn that was recorded in it; None where a reply was judged instead."""
    turn = row.subject.turn
    response = None
    if turn is not None:
        response = trace.turns[turn] if 0 <= turn < len(trace.turns) else None
        own = next((turn.model for turn in trace.turns if turn.model is not None), None)
        if response is None or row.sample or row.model not in (None, own, response.model):
            return None
    return JudgedItem(row.subject, trace, response, row.sample, row.group, row.model)


def _rows_to_label(sets: Sequence[ResultSet], rubric: Rubric) -> list[ResultRow]:
    """Return a row for each item: of sets that were judged, those of the rubric.

    Raises:
        InvalidOption: They were judged by another rubric, or by another text of it.
    """
    judged = [found for found in sets if _has(found, PANEL_GRADER)]
    for found in judged:
        for name, digest, *_ in found.manifest.get("rubrics") or ():
            if name == rubric.id and digest != rubric.sha256:
                raise InvalidOption(
                    f"the results were judged by another text of the rubric {name!r} (sha256 "
                    f"{str(digest)[:12]}, now {rubric.sha256[:12]}): give the rubric that the "
                    "judges read, or judge again"
                )
    rows = [row for found in judged for row in rows_of_rubric(found.rows, rubric.id)]
    if not judged:
        rows = [row for found in sets for row in found.rows]
    return list({ItemKey.of(row): row for row in rows}.values())


def _has(found: ResultSet, grader: str) -> bool:
    return any(row.grader.startswith(grader) for row in found.rows)
