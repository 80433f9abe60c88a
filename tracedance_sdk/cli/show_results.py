"""The work of `tracedance show` on result sets: which items, with which rows and replies."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, NamedTuple

from tracedance_sdk.cli.sources import RESULTS, format_of
from tracedance_sdk.errors import InvalidOption, TraceDanceError
from tracedance_sdk.grading import ResultRow, ResultSet, read_results
from tracedance_sdk.judging import PANEL_GRADER, ItemKey
from tracedance_sdk.replay import GRADER
from tracedance_sdk.trace import Json

MISSING: Final = "missing"
"""What stands for a verdict where a grader gave neither verdict nor score."""

_FILES: Final = ("manifest.json", "rows.jsonl")
_JUDGES: Final = "judge:"
_MOST_BESIDE: Final = 500
"""Folders beside a result set in which its replies are looked for."""


class ItemFilter(NamedTuple):
    """Which items of a result set are wanted; the fields are named as the verb's options.

    Attributes:
        trace_id: The beginning of a trace's id.
        instance: The beginning of an instance's id.
        turn: Index of the turn.
        graders: Patterns, of which a grader's name has to be like one; all for none.
        verdict: What a grader of the item said, or `MISSING`.
    """

    trace_id: str | None = None
    instance: str | None = None
    turn: int | None = None
    graders: tuple[str, ...] = ()
    verdict: str | None = None

    def takes(self, item: Item) -> Item | None:
        """Return an item with the rows that are wanted; None when it is not wanted."""
        subject = item.rows[0].subject
        if self.trace_id is not None and not (subject.trace_id or "").startswith(self.trace_id):
            return None
        if self.instance is not None and not (subject.instance_id or "").startswith(self.instance):
            return None
        if self.turn is not None and subject.turn != self.turn:
            return None
        kept = tuple(row for row in item.rows if _is_like(row.grader, self.graders))
        # Judges of a panel decide nothing: then the item is what its other graders say it is.
        asked = kept if any(row.verdict is not None for row in kept) else item.rows
        if not kept or (self.verdict is not None and not _says(asked, self.verdict)):
            return None
        return item._replace(rows=kept)


class Item(NamedTuple):
    """What a result set says of one sample of one subject.

    Attributes:
        key: What tells it from the others.
        rows: At least one: verdicts before the scores that they rest on.
        reply: The turn that was given, as JSON; None where none is known.
    """

    key: ItemKey
    rows: tuple[ResultRow, ...]
    reply: Json = None


class ShownSet(NamedTuple):
    """A page of a result set.

    Attributes:
        folder: Where it lies.
        results: All of it.
        n_items: In all of it.
        chosen: The items that are wanted, in order.
        offset: How many of them are passed over.
        limit: How many at most are shown.
        n_unfound: Items that answer a reply which is nowhere.
    """

    folder: Path
    results: ResultSet
    n_items: int
    chosen: tuple[Item, ...]
    offset: int
    limit: int
    n_unfound: int

    @property
    def page(self) -> tuple[Item, ...]:
        """The items that are shown."""
        return self.chosen[self.offset : self.offset + self.limit]


def result_folder(path: Path) -> Path | None:
    """Return the folder of the result set that a path is, or is a file of; None for others.

    Rows beside a manifest that says no format, or is no JSON, are a result set that is broken:
    whoever reads it then says so.
    """
    folder = path.parent if path.name in _FILES and path.is_file() else path
    manifest, rows = (folder / name for name in _FILES)
    found = format_of(manifest)
    is_broken = found is None and manifest.is_file() and rows.is_file()
    return folder if found == RESULTS or is_broken else None


def shown_sets(
    folders: Sequence[Path], wanted: ItemFilter, *, offset: int = 0, limit: int = 20
) -> list[ShownSet]:
    """Read result sets and choose what is shown of each.

    Args:
        folders: Of the sets; replies are looked for in all of them, and in sets beside them.
        wanted: Which items.
        offset: Items that are passed over.
        limit: Items at most.

    Raises:
        TraceDanceError: A set that cannot be read; graders, items or a page that is not there.
    """
    sets = {folder: read_results(folder) for folder in folders}
    _check_graders(wanted.graders, sets.values())
    replies = replies_of(found for found in sets.values())
    for folder, found in sets.items():
        replies |= replies_of(_beside(folder, found))
    shown = []
    for folder, found in sets.items():
        items = items_of(found, replies)
        chosen = tuple(kept for item in items if (kept := wanted.takes(item)) is not None)
        of_replies = "replies_of" in found.manifest and bool(found.manifest["replies_of"])
        n_unfound = sum(item.reply is None for item in chosen) if of_replies else 0
        shown.append(ShownSet(folder, found, len(items), chosen, offset, limit, n_unfound))
    _check_chosen(shown, wanted)
    return shown


def items_of(results: ResultSet, replies: Mapping[ItemKey, Json]) -> list[Item]:
    """Return the rows of a result set by what they are about, in the order of the rows.

    Args:
        results: As read.
        replies: What was answered, by item; see `replies_of`.
    """
    found: dict[ItemKey, list[ResultRow]] = {}
    for row in results.rows:
        found.setdefault(ItemKey.of(row), []).append(row)
    return [
        Item(key, tuple(sorted(rows, key=_place)), replies.get(key)) for key, rows in found.items()
    ]


def replies_of(sets: Iterable[ResultSet]) -> dict[ItemKey, Json]:
    """Return the replies that result sets of next-turn hold, by item."""
    return {
        ItemKey.of(row): (row.model_extra or {})["reply"]
        for found in sets
        for row in found.rows
        if row.grader == GRADER and "reply" in (row.model_extra or {})
    }


def graders_of(results: ResultSet) -> list[str]:
    """Return the names of the graders of a set, those with verdicts first."""
    rows = sorted(results.rows, key=_place)
    return list(dict.fromkeys(row.grader for row in rows))


def verdict_of(row: ResultRow) -> str | None:
    """Return what a row says in a word; None for a score, or a reply, alone."""
    if row.verdict is not None:
        return row.verdict.value
    return MISSING if row.missing_reason is not None else None


def _place(row: ResultRow) -> tuple[int, str, int, str, int]:
    """Return where a row stands among those of its item."""
    if row.grader == GRADER:
        return 0, "", 0, "", 0
    own = row.model_extra or {}
    repeat = own.get("repeat")
    number = repeat if isinstance(repeat, int) else 0
    for prefix, order in ((PANEL_GRADER, 0), (_JUDGES, 1)):
        if row.grader.startswith(prefix):
            rubric = own.get("rubric")
            return 2, rubric if isinstance(rubric, str) else "", order, row.grader, number
    return 1, row.grader, 0, "", 0


def _is_like(grader: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatchcase(grader, pattern) for pattern in patterns)


def _says(rows: Iterable[ResultRow], verdict: str) -> bool:
    if verdict == MISSING:
        return any(row.missing_reason is not None for row in rows)
    return any(row.verdict is not None and row.verdict.value == verdict for row in rows)


def _beside(folder: Path, results: ResultSet) -> Iterable[ResultSet]:
    """Yield the sets in folders beside one whose replies it is about."""
    named = results.manifest.get("replies_of")
    digests = {
        item.get("rows_sha256")
        for item in (named if isinstance(named, list) else ())
        if isinstance(item, dict)
    }
    if not digests:
        return
    try:
        near = sorted(path for path in folder.resolve().parent.iterdir() if path.is_dir())
    except OSError:
        return
    for path in near[:_MOST_BESIDE]:
        if format_of(path / _FILES[0]) != RESULTS:
            continue
        try:
            found = read_results(path)
        except TraceDanceError:
            continue  # it was not asked for
        if found.manifest["rows_sha256"] in digests:
            yield found


def _check_graders(patterns: Sequence[str], sets: Iterable[ResultSet]) -> None:
    """Refuse a pattern that no grader is like."""
    names = list(dict.fromkeys(name for found in sets for name in graders_of(found)))
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            near = difflib.get_close_matches(pattern, names, n=3, cutoff=0.3)
            told = ", ".join([*near, *(name for name in names if name not in near)][:10])
            raise InvalidOption(
                f"no grader is like {pattern!r}; there are {told or 'none'} "
                "(a pattern may hold *, as in 'judge:*')"
            )


def _check_chosen(shown: Sequence[ShownSet], wanted: ItemFilter) -> None:
    """Refuse a choice of nothing, and a page beyond the last item."""
    most = max(len(item.chosen) for item in shown)
    offset = shown[0].offset
    if most == 0 and wanted != ItemFilter():
        where = ", ".join(repr(str(item.folder)) for item in shown)
        raise InvalidOption(f"no item like that in {where}; {_there(shown, wanted)}")
    if offset and offset >= most:
        raise InvalidOption(f"--offset {offset} is beyond the last item: there are {most}")


def _there(shown: Sequence[ShownSet], wanted: ItemFilter) -> str:
    """Say what there is of what was asked for."""
    rows = [row for item in shown for row in item.results.rows]
    facts: dict[str, Any] = {
        "verdicts": [verdict_of(row) for row in rows] if wanted.verdict else (),
        "turns": [row.subject.turn for row in rows] if wanted.turn is not None else (),
        "traces": [row.subject.trace_id for row in rows] if wanted.trace_id else (),
        "instances": [row.subject.instance_id for row in rows] if wanted.instance else (),
    }
    told = []
    for what, values in facts.items():
        known = list(dict.fromkeys(str(value) for value in values if value is not None))
        if known:
            told.append(f"the {what} there are {', '.join(known[:6])}{', ...' * (len(known) > 6)}")
    return "; ".join(told) or f"it holds {sum(item.n_items for item in shown)} items"
