"""What `tracedance show` prints of a result set: what it says of itself, then item by item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import ValidationError

from tracedance_sdk.cli.columns import fit_columns, print_columns, print_records
from tracedance_sdk.cli.counts import count
from tracedance_sdk.cli.judge_letters import lettered, say_legend
from tracedance_sdk.cli.left_out import print_left_out
from tracedance_sdk.cli.show_results import MISSING, Item, ShownSet, graders_of, verdict_of
from tracedance_sdk.cli.show_rows import print_field, print_row, told
from tracedance_sdk.grading import ResultRow, Verdict
from tracedance_sdk.judging import ItemKey
from tracedance_sdk.report import ReportConsole, in_one_line, print_turn, value_text
from tracedance_sdk.trace import Json, Turn

_VERDICTS: Final = (*(verdict.value for verdict in Verdict), MISSING)
_TOLD_APART: Final = frozenset(
    (
        *("command", "exclusions", "excluded", "format", "judges", "n_rows", "rows_sha256"),
        *("replies_of", "rubrics", "version", "versions"),
    )
)
"""Fields of a manifest with words of their own, or of no use to people."""
_LONGEST: Final = 600
_JUDGES: Final = "judge:"


def print_results(shown: ShownSet, console: ReportConsole, *, full: bool = False) -> None:
    """Print a page of a result set.

    Args:
        shown: The page.
        console: Where to.
        full: Show texts whole.
    """
    letters = _letters(shown)
    _print_manifest(shown, console)
    say_legend(console, letters)
    _print_counts(shown, console, letters)
    manifest = {"exclusions": {}, **shown.results.manifest}
    if manifest["exclusions"]:
        console.say("")
        print_left_out(console, manifest)
    for number, item in enumerate(shown.page, shown.offset + 1):
        _print_item(item, console, place=(number, len(shown.chosen)), letters=letters, full=full)
    _print_rest(shown, console)


def results_document(shown: Sequence[ShownSet]) -> dict[str, Any]:
    """Return pages of result sets as one JSON document.

    ``{"format": "tracedance.shown_results", "version": 1, "sets": [...]}``; each set has
    ``folder``, ``manifest``, ``n_items``, ``n_chosen``, ``offset`` and ``items``; each item has
    ``subject``, ``sample``, ``model``, ``group``, ``reply`` (null where none is known), ``rows``.
    """
    return {
        "format": "tracedance.shown_results",
        "version": 1,
        "sets": [
            {
                "folder": str(one.folder),
                "manifest": one.results.manifest,
                "n_items": one.n_items,
                "n_chosen": len(one.chosen),
                "offset": one.offset,
                "items": [_item_document(item) for item in one.page],
            }
            for one in shown
        ],
    }


def _item_document(item: Item) -> dict[str, Any]:
    first = item.rows[0]
    return {
        "subject": first.subject.model_dump(mode="json", exclude_none=True),
        "sample": first.sample,
        "model": first.model,
        "group": first.group,
        "reply": item.reply,
        "rows": [row.model_dump(mode="json", exclude_none=True) for row in item.rows],
    }


def _letters(shown: ShownSet) -> dict[str, str]:
    """Return letters for judges whose names are too long for every line."""
    return lettered([_judge(row) for row in shown.results.rows if row.grader.startswith(_JUDGES)])


def _judge(row: ResultRow) -> str:
    rubric = (row.model_extra or {}).get("rubric")
    name = row.grader.removeprefix(_JUDGES)
    return name.removeprefix(f"{rubric}:") if isinstance(rubric, str) else name


def _print_manifest(shown: ShownSet, console: ReportConsole) -> None:
    manifest = shown.results.manifest
    command = manifest.get("command") or "results"
    head = f"{told(command)}: {shown.folder}, {count(len(shown.results.rows), 'row')} about "
    console.say(in_one_line(head + count(shown.n_items, "item")), style="bold", hang=2)
    fields = {
        "made by": manifest.get("versions"),
        "rubrics": [_rubric(item, manifest) for item in _listed(manifest.get("rubrics"))],
        "replies of": [_source(item) for item in _listed(manifest.get("replies_of"))],
        **{
            str(name).replace("_", " "): value
            for name, value in manifest.items()
            if name not in _TOLD_APART and not (name == "pass_from" and manifest.get("rubrics"))
        },
    }
    for name, value in fields.items():
        if value != 0 or name == "seed":
            print_field(name, value, console)


def _rubric(item: Json, manifest: Mapping[str, Any]) -> str:
    name = str(item[0]) if isinstance(item, list) and item else told(item)
    bounds = manifest.get("pass_from")
    bound = bounds.get(name) if isinstance(bounds, dict) else None
    return name if bound is None else f"{name} (passing from {told(bound)})"


def _source(item: Json) -> str:
    if not isinstance(item, dict):
        return told(item)
    return f"{told(item.get('model')) or 'a model not known'} by {told(item.get('command'))}"


def _listed(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _print_counts(shown: ShownSet, console: ReportConsole, letters: Mapping[str, str]) -> None:
    """Print for each grader how many rows have which verdict, and the mean of their scores."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in graders_of(shown.results)}
    scores: dict[str, list[float]] = {}
    for row in shown.results.rows:
        counts[row.grader][verdict_of(row) or ""] += 1
        if row.score is not None:
            scores.setdefault(row.grader, []).append(row.score)
    said = [v for v in _VERDICTS if any(v in found for found in counts.values())]
    names = {row.grader: _grader_name(row, letters) for row in shown.results.rows}
    rows = [
        (
            names[grader],
            f"{found.total():,}",
            *(f"{found[verdict]:,}" for verdict in said),
            f"{sum(of) / len(of):.2f}" if (of := scores.get(grader)) else "-",
        )
        for grader, found in counts.items()
    ]
    titles = ("Grader", "rows", *said, "mean score")
    numbers = range(1, len(titles))
    if not rows:
        return
    console.say("")
    if fit_columns(console, titles, rows, numbers=numbers):
        print_columns(console, titles, rows, numbers=numbers)
    else:
        print_records(console, titles, rows)


def _grader_name(row: ResultRow, letters: Mapping[str, str]) -> str:
    if not row.grader.startswith(_JUDGES):
        return row.grader
    rubric = (row.model_extra or {}).get("rubric")
    of = f" ({rubric})" if isinstance(rubric, str) else ""
    return f"judge {letters[_judge(row)]}{of}"


def _print_item(
    item: Item,
    console: ReportConsole,
    *,
    place: tuple[int, int],
    letters: Mapping[str, str],
    full: bool,
) -> None:
    first, key = item.rows[0], item.key
    console.say("")
    console.say(f"{place[0]:,} of {place[1]:,}  {_subject(key)}", style="bold cyan", hang=2)
    about = [("trace", key.trace_id if key.instance_id else None), ("of", first.model)]
    about += [("task", first.task_id)]
    about += [("group", first.group)] if first.group != first.task_id else []
    if whose := ", ".join(f"{what} {name}" for what, name in about if name):
        console.say(in_one_line(whose), style="dim", indent=2, hang=2)
    if item.reply is not None:
        console.say("reply", style="cyan", indent=2)
        _print_reply(item.reply, console, full=full)
    for row in item.rows:
        name = _grader_name(row, letters)
        print_row(row, console, name=name, full=full)


def _subject(key: ItemKey) -> str:
    parts = [f"instance {key.instance_id}" if key.instance_id else f"trace {key.trace_id}"]
    parts += [f"turn {key.turn}"] if key.turn is not None else []
    parts += [f"sample {key.sample}"]
    return in_one_line(", ".join(parts))


def _print_reply(reply: Json, console: ReportConsole, *, full: bool) -> None:
    try:
        turn = Turn.model_validate(reply)
    except ValidationError:
        whole = value_text(reply, width=None if full else _LONGEST)
        console.say(f"no turn, but {whole}", style="yellow", indent=4, hang=2)
        return
    if not turn.content and not turn.calls:
        console.say("(empty)", style="dim", indent=4)
    print_turn(turn, console, full=full, indent=4, without_result="")


def _print_rest(shown: ShownSet, console: ReportConsole) -> None:
    console.say("")
    if shown.n_unfound:
        where = "that is in no result set given or beside it; name their set as well"
        unfound = f"{count(shown.n_unfound, 'item')} judged for a reply {where}"
        console.say(unfound, style="yellow", hang=2)
    end = shown.offset + len(shown.page)
    left = len(shown.chosen) - end
    of = f"{count(len(shown.chosen), 'item')}"
    of += f" (of {shown.n_items:,})" if len(shown.chosen) < shown.n_items else ""
    if left:
        more = f"{left:,} more: --offset {end}"
        console.say(f"{len(shown.page):,} of {of} shown; {more}")
    else:
        console.say(f"{len(shown.page):,} of {of} shown")
