"""Labels that people gave elsewhere, in a table: CSV or JSON lines."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from tracedance_sdk.errors import InvalidOption, shown
from tracedance_sdk.judging.items import JudgedItem
from tracedance_sdk.judging.label_templates import unprotected
from tracedance_sdk.judging.labelling import UNSURE, Answer, Scale, label_of
from tracedance_sdk.judging.labels import LONGEST_NAME, ItemKey, Label, is_plain_name
from tracedance_sdk.judging.rubric import LEVELS
from tracedance_sdk.judging.table_rows import table_rows
from tracedance_sdk.trace import read_bytes

FIELDS: Final = (
    "item",
    "trace_id",
    "turn",
    "instance_id",
    "sample",
    "model",
    "score",
    "passed",
    "labeller",
    "note",
)
"""What a column may hold. `item` is the name that a template gives an item."""

WORDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("pass", "passed", "p", "yes", "y", "true", "ok", "good", "1"), "pass"),
    **dict.fromkeys(("fail", "failed", "f", "no", "n", "false", "bad", "0"), "fail"),
    **dict.fromkeys(("unsure", "u", "?", "unknown", "unclear"), "unsure"),
}
"""Word in a table → what it means. In a column of scores ``0`` and ``1`` are scores."""

_ANSWERS: Final = {"pass": Answer(None, True), "fail": Answer(None, False), "unsure": UNSURE}
_MEANINGS: Final = (*_ANSWERS, *map(str, LEVELS))
_SCORE: Final = re.compile(r"([0-5])(?:[.,]0+)?")
_COUNT: Final = re.compile(r"([0-9]{1,9})(?:[.,]0+)?")


class TableReading(NamedTuple):
    """How the columns and words of a table are to be read.

    Attributes:
        scale: Of the rubric.
        columns: Field of `FIELDS` → name of its column, where they differ.
        words: Word → ``pass``, ``fail``, ``unsure`` or a score, before `WORDS`; case is ignored.
        labeller: Who labelled the rows that do not say so.
    """

    scale: Scale = Scale()
    columns: Mapping[str, str] = MappingProxyType({})
    words: Mapping[str, str] = MappingProxyType({})
    labeller: str | None = None


class LabelTable(NamedTuple):
    """What a table of labels holds.

    Attributes:
        labels: Of its good rows, in their order.
        problems: A line for each bad row, with its place.
        n_empty: Rows without an answer.
        n_again: Rows that say once more what another one says.
    """

    labels: tuple[Label, ...]
    problems: tuple[str, ...]
    n_empty: int
    n_again: int = 0


def labels_from_table(
    path: str | os.PathLike[str], items: Iterable[JudgedItem], how: TableReading
) -> LabelTable:
    """Read labels from a table: CSV with commas, semicolons or tabs, or JSON lines (``.jsonl``).

    A row says which item it is about by ``item``, as a template names it, or by the fields of a
    label: ``trace_id`` (or the id of the trace at its source), ``turn``, ``instance_id``,
    ``sample``, ``model``, as many of them as leave one item. Rows of one labeller that answer the
    same item differently are all bad ones: which of them is meant, nobody knows.

    Args:
        path: The table.
        items: All that may have been labelled.
        how: What its columns and words mean.

    Raises:
        UnreadableFile: The table is missing, a folder, or not permitted.
        InvalidOption: No table, no column for the item or the answer, or a mapping that cannot be.
    """
    where = str(path)
    words = _words(how)
    rows = list(table_rows(read_bytes(path), where))
    names = dict.fromkeys(name for _, row in rows if isinstance(row, dict) for name in row)
    if not names:
        problem = f": line {rows[0][0]}: {rows[0][1]}" if rows else ""
        raise InvalidOption(f"{where!r} holds no rows of labels{problem}")
    columns, targets = _columns(list(names), how.columns, where), _Targets(items)
    labels: list[tuple[int, Label]] = []
    problems: dict[int, str] = {}
    n_empty = 0
    for line, row in rows:
        try:
            label = _label(_given(row, columns), targets, words, how)
        except _BadRow as bad:
            problems[line] = str(bad)
            continue
        n_empty += label is None
        labels += [(line, label)] if label is not None else []
    agreed, contradictions = _agreed(labels)
    told = sorted((problems | contradictions).items())
    return LabelTable(
        tuple(agreed),
        tuple(f"{where}, line {line}: {problem}" for line, problem in told),
        n_empty,
        len(labels) - len(agreed) - len(contradictions),
    )


def _agreed(labels: list[tuple[int, Label]]) -> tuple[list[Label], dict[int, str]]:
    """Return one label for each item and labeller, and by line those that contradict another."""
    said: dict[tuple[ItemKey, str], list[tuple[int, Label]]] = defaultdict(list)
    for line, label in labels:
        said[label.item, label.labeller].append((line, label))
    agreed: list[Label] = []
    problems: dict[int, str] = {}
    for (_, labeller), found in said.items():
        scores = {label.score for _, label in found if label.score is not None}
        if len(scores) > 1 or len({label.passed for _, label in found}) > 1:
            for line, label in found:
                other = next(pair for pair in found if _word(pair[1]) != _word(label))
                problems[line] = (
                    f"{shown(labeller)} says {_word(label)} of an item, and {_word(other[1])} of "
                    f"the same one in line {other[0]}; neither is taken"
                )
            continue
        notes = dict.fromkeys(label.note for _, label in found if label.note)
        first = next((label for _, label in found if label.score is not None), found[0][1])
        agreed.append(first.model_copy(update={"note": " / ".join(filter(None, notes)) or None}))
    return agreed, problems


def _word(label: Label) -> str:
    if label.is_unsure:
        return "unsure"
    return ("pass" if label.passed else "fail") if label.score is None else str(label.score)


class _BadRow(Exception):
    """Why a row is left out."""


class _Targets:
    """Finds the one item that a row is about."""

    def __init__(self, items: Iterable[JudgedItem]) -> None:
        self._by_name: dict[str, JudgedItem] = {}
        self._by_id: dict[str, list[JudgedItem]] = defaultdict(list)
        for item in items:
            self._by_name[ItemKey.of(item).short] = item
            source = item.trace.source
            ids = {item.subject.trace_id, item.subject.instance_id, source and source.native_id}
            for found in ids - {None, ""}:
                self._by_id[str(found)].append(item)

    def find(self, row: Mapping[str, str]) -> JudgedItem:
        """Return the item; a row that means none or several is a bad one."""
        if name := row.get("item"):
            if name not in self._by_name:
                raise _BadRow(f"no item {shown(name)} in what was given to label")
            named = self._by_name[name]
            given = row.get("trace_id") or row.get("instance_id")
            if (given and named not in self._by_id.get(given, ())) or not _is_meant(named, row):
                raise _BadRow(f"item {shown(name)} is another one than its other columns say")
            return named
        given = row.get("trace_id") or row.get("instance_id")
        if not given:
            raise _BadRow("it does not say which item it is about")
        found = [item for item in self._by_id.get(given, ()) if _is_meant(item, row)]
        if not found:
            raise _BadRow(f"no item of {shown(given)} like that in what was given to label")
        if len(found) > 1:
            raise _BadRow(
                f"{len(found)} items of {shown(given)} may be meant; "
                "tell them apart by columns turn, sample or model"
            )
        return found[0]


def _is_meant(item: JudgedItem, row: Mapping[str, str]) -> bool:
    if (instance := row.get("instance_id")) and item.subject.instance_id != instance:
        return False
    if (model := row.get("model")) and item.model != model:
        return False
    for field, value in (("turn", item.subject.turn), ("sample", item.sample)):
        if text := row.get(field):
            number = _COUNT.fullmatch(text)
            if number is None:
                raise _BadRow(f"{field} {shown(text)} is no number from 0")
            if int(number[1]) != value:
                return False
    return True


def _label(
    row: Mapping[str, str], targets: _Targets, words: Mapping[str, str], how: TableReading
) -> Label | None:
    """Return the label in a row; None when it has no answer."""
    answer = _answer(row, words, how.scale)
    if answer is None:
        return None
    labeller = unprotected(row.get("labeller", "")) or how.labeller
    if not labeller:
        raise _BadRow("it does not say who labelled, and no labeller is given")
    if len(labeller) > LONGEST_NAME:
        raise _BadRow(f"the labeller {shown(labeller)} has over {LONGEST_NAME} characters")
    if not is_plain_name(labeller):
        raise _BadRow(f"the labeller {shown(labeller)} has characters that are not shown as such")
    return label_of(targets.find(row), labeller, answer, note=unprotected(row.get("note", "")))


def _answer(row: Mapping[str, str], words: Mapping[str, str], scale: Scale) -> Answer | None:
    said: list[Answer] = []
    for field in ("score", "passed"):
        if text := row.get(field):
            said.append(_meant(text, field, words, scale))
    if not said:
        return None
    if len({answer.passed for answer in said}) > 1:
        raise _BadRow(f"score {shown(row['score'])} and passed {shown(row['passed'])} disagree")
    return said[0]


def _meant(text: str, field: str, words: Mapping[str, str], scale: Scale) -> Answer:
    """Return what a cell says: by the words given, else as a score, else by the words known."""
    word = text.casefold()
    meaning = words.get(word)
    number = _SCORE.fullmatch(text)
    if meaning is None and field == "score" and number is not None and not scale.is_pass_fail:
        meaning = number[1]
    meaning = meaning or WORDS.get(word)
    if meaning is None:
        known = "pass, fail or unsure" if scale.is_pass_fail or field == "passed" else "0 to 5"
        raise _BadRow(f"{field} {shown(text)} means nothing here: {known} is needed")
    return _ANSWERS[meaning] if meaning in _ANSWERS else scale.score(int(meaning))


def _words(how: TableReading) -> dict[str, str]:
    found: dict[str, str] = {}
    for word, meaning in how.words.items():
        if meaning not in _MEANINGS or (how.scale.is_pass_fail and meaning not in _ANSWERS):
            known = _ANSWERS if how.scale.is_pass_fail else _MEANINGS
            raise InvalidOption(
                f"the word {shown(word)} cannot mean {shown(meaning)}; "
                f"give one of {', '.join(known)}"
            )
        plain = word.strip().casefold()
        if found.setdefault(plain, meaning) != meaning:
            raise InvalidOption(
                f"the word {shown(plain)} cannot mean both {found[plain]} and {meaning}: give it "
                "one meaning; case is ignored"
            )
    return found


def _columns(names: list[str], renamed: Mapping[str, str], where: str) -> dict[str, str]:
    """Return field → column, once it is clear that a table has what labels need."""
    if unknown := [field for field in renamed if field not in FIELDS]:
        raise InvalidOption(f"no field {shown(unknown[0])}; known are {', '.join(FIELDS)}")
    known = {name.strip().casefold(): name for name in names}
    found = {}
    for field in FIELDS:
        name = renamed.get(field, field).strip().casefold()
        if name in known:
            found[field] = known[name]
        elif field in renamed:
            raise InvalidOption(
                f"{where!r} has no column {shown(renamed[field])} for {field}; "
                f"it has {shown(', '.join(names), 200)}"
            )
    for needed in (("item", "trace_id", "instance_id"), ("score", "passed")):
        if not found.keys() & set(needed):
            raise InvalidOption(
                f"{where!r} has no column {' or '.join(needed)}; "
                f"it has {shown(', '.join(names), 200)}: say which column is which"
            )
    return found


def _given(row: dict[str, str] | str, columns: Mapping[str, str]) -> dict[str, str]:
    if isinstance(row, str):
        raise _BadRow(row)
    return {field: row.get(name, "").strip() for field, name in columns.items()}
