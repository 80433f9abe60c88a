"""Labels as tables: out to a spreadsheet and back, good rows kept, bad ones told."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.traces import texts
from tracedance_sdk.errors import InvalidOption, UnreadableFile
from tracedance_sdk.grading import Subject
from tracedance_sdk.judging import (
    ItemKey,
    JudgedItem,
    LabelTable,
    Scale,
    TableReading,
    TemplateItem,
    label_template,
    labels_from_table,
    protected,
    unprotected,
)
from tracedance_sdk.trace import Source, Trace


def item(
    trace_id: str, *, turn: int | None = None, sample: int = 0, model: str = "m"
) -> JudgedItem:
    source = Source(collector="x", native_id=f"run-{trace_id}")
    subject = Subject(trace_id=trace_id, turn=turn)
    return JudgedItem(subject, Trace(id=trace_id, source=source), None, sample, "g", model)


ITEMS = [item("t1"), item("t2"), item("t3", turn=4), item("t3", turn=6), item("t4", sample=1)]
NAMES = [ItemKey.of(one).short for one in ITEMS]


def read(path: Path, text: str | bytes, **how: object) -> LabelTable:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    reading = {"labeller": "ann", **how}
    return labels_from_table(path, ITEMS, TableReading(**reading))  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "labels.csv"


def scores(table: LabelTable) -> list[tuple[str | None, int | None, bool | None]]:
    return [(label.subject.trace_id, label.score, label.passed) for label in table.labels]


_CELLS = st.text(st.sampled_from("=+-@'\t\r\n; a1\uff1d\u00a0"), max_size=8) | texts


@given(text=_CELLS)
def test_protection_from_formulas_can_be_taken_back(text: str) -> None:
    assert unprotected(protected(text)) == text


@given(text=_CELLS)
def test_no_cell_begins_with_a_formula_wherever_it_is_cut(text: str) -> None:
    for delimiter in ";\t\r\n":
        for cell in protected(text).split(delimiter):
            assert cell.lstrip()[:1] not in {*"=+-@\uff1d\uff0b\uff0d\uff20"}


HOSTILE = [
    "=cmd|' /C calc'!A0",
    '=HYPERLINK("http://x","y")',
    "\t=1+1",
    "\n@SUM(1)",
    'a";=1',
    "plain",
    "\x1b[2J",
]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("delimiter", ",;")
def test_a_template_holds_no_formula_whatever_its_reader_takes_for_a_delimiter(
    text: str, delimiter: str
) -> None:
    table = label_template([TemplateItem(ITEMS[0], text, text)], Scale())
    for row in csv.reader(io.StringIO(table, newline=""), delimiter=delimiter):
        for cell in row:
            assert cell.lstrip()[:1] not in {*"=+-@"}


@pytest.mark.parametrize("as_json", [False, True], ids=["csv", "jsonl"])
@pytest.mark.parametrize("is_pass_fail", [False, True], ids=["scores", "pass or fail"])
def test_a_template_that_is_filled_in_gives_the_labels_of_its_items(
    tmp_path: Path, *, as_json: bool, is_pass_fail: bool
) -> None:
    scale = Scale(is_pass_fail=is_pass_fail)
    shown = [TemplateItem(one, "what came before", 'said "yes",\nthen left') for one in ITEMS]
    text = label_template(shown, scale, as_json=as_json)
    assert '"t1"' not in text
    column = "passed" if is_pass_fail else "score"
    rows = (
        [json.loads(line) for line in text.splitlines()]
        if as_json
        else list(csv.DictReader(io.StringIO(text, newline="")))
    )
    assert list(rows[0]) == ["item", "context", "response", column, "note", "labeller"]
    for row, said in zip(rows, ("1", "0", "unsure", "", "1"), strict=True):
        row |= {column: said, "note": "=why", "labeller": "bob"}
    path = tmp_path / ("labels.jsonl" if as_json else "labels.csv")
    with path.open("w", encoding="utf-8", newline="") as file:
        if as_json:
            file.write("".join(json.dumps(row) + "\n" for row in rows))
        else:
            writer = csv.DictWriter(file, list(rows[0]), delimiter=";")
            writer.writeheader()
            writer.writerows(rows)
    table = labels_from_table(path, ITEMS, TableReading(scale))
    assert (table.problems, table.n_empty) == ((), 1)
    assert [label.item for label in table.labels] == [
        ItemKey.of(ITEMS[place]) for place in (0, 1, 2, 4)
    ]
    expected = [(None, True), (None, False), (None, None), (None, True)]
    if not is_pass_fail:
        expected = [(1, False), (0, False), (None, None), (1, False)]  # type: ignore[list-item]
    assert [(label.score, label.passed) for label in table.labels] == expected
    assert {(label.labeller, label.note, label.group) for label in table.labels} == {
        ("bob", "=why", "g")
    }


SCORE_CELLS = {
    "4": (4, True),
    " 4 ": (4, True),
    "4.0": (4, True),
    "4,0": (4, True),
    "0": (0, False),
    "1": (1, False),
    "pass": (None, True),
    "FAIL": (None, False),
    "?": (None, None),
}


@pytest.mark.parametrize(("cell", "expected"), SCORE_CELLS.items(), ids=SCORE_CELLS)
def test_a_cell_of_scores_may_hold(
    path: Path, cell: str, expected: tuple[int | None, bool | None]
) -> None:
    assert scores(read(path, f"trace_id;score\nt1;{cell}\n")) == [("t1", *expected)]


@pytest.mark.parametrize("cell", ["6", "-1", "3.5", "4/5", "great", "1e0", "٤", "nan", "true!"])
def test_a_cell_that_means_nothing_is_a_bad_row_with_its_line(path: Path, cell: str) -> None:
    table = read(path, f'trace_id,score\nt1,"{cell}"\nt2,4\n')
    assert scores(table) == [("t2", 4, True)]
    (problem,) = table.problems
    assert problem.startswith(f"{path}, line 2: score {cell!r} means nothing here")


@pytest.mark.parametrize(
    ("cell", "passed"), [("pass", True), ("ok", True), ("1", True), ("0", False), ("No", False)]
)
def test_words_of_a_column_of_passes(path: Path, cell: str, passed: bool) -> None:
    assert scores(read(path, f"trace_id,passed\nt1,{cell}\n")) == [("t1", None, passed)]


def test_words_of_ones_own_come_first(path: Path) -> None:
    words = {"Gut": "pass", "1": "fail", "mittel": "3"}
    table = read(path, "trace_id,passed\nt1,gut\nt2,1\nt4,mittel\n", words=words)
    assert scores(table) == [("t1", None, True), ("t2", None, False), ("t4", 3, False)]


def test_columns_of_ones_own(path: Path) -> None:
    table = read(
        path,
        "Run ID\tHuman Rating\tscore\nrun-t1\t5\tx\n",
        columns={"trace_id": "run id", "score": "Human Rating"},
    )
    assert scores(table) == [("t1", 5, True)]


BAD_ROWS = {
    "an item that is not there": ("zz,,,4", "no item of 'zz'"),
    "several are meant": ("t3,,,4", "2 items of 't3' may be meant"),
    "a turn that is no number": ("t3,four,,4", "turn 'four' is no number"),
    "a turn that is not there": ("t3,9,,4", "no item of 't3' like that"),
    "nothing is said": (",,,4", "does not say which item"),
    "too many cells": ("t1,,,4,,,,x", "8 cells under 4 columns"),
    "a broken quote": ('t1,,,"4"x', "no row of a table"),
}


@pytest.mark.parametrize(("row", "said"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_a_bad_row_is_one_line_and_the_others_are_kept(path: Path, row: str, said: str) -> None:
    table = read(path, f"trace_id,turn,sample,score\nt1,,,3\n{row}\nt3,6,,4\n\nt4,,1,5\n")
    assert [label.score for label in table.labels] == [3, 4, 5]
    (problem,) = table.problems
    assert problem.startswith(f"{path}, line 3: ")
    assert said in problem
    assert "\n" not in problem


def test_the_line_of_a_row_is_where_it_begins(path: Path) -> None:
    table = read(path, 'trace_id,score,note\nt1,4,"two\nlines"\nt2,9,x\n')
    assert table.problems[0].startswith(f"{path}, line 4: ")
    assert table.labels[0].note == "two\nlines"


def test_score_and_pass_that_disagree_are_a_bad_row(path: Path) -> None:
    table = read(path, "trace_id,score,passed\nt1,5,fail\nt2,5,pass\nt4,,pass\n")
    assert scores(table) == [("t2", 5, True), ("t4", None, True)]
    assert "disagree" in table.problems[0]


@pytest.mark.parametrize(
    ("answers", "kept", "told"),
    [
        ("4,2", [], ["4 of an item, and 2 of", "2 of an item, and 4 of"]),
        ("4,5", [], ["4 of an item, and 5 of", "5 of an item, and 4 of"]),
        ("4,pass", [4], []),
        ("fail,4", [], ["fail of an item, and 4 of", "4 of an item, and fail of"]),
        ("4,unsure", [], ["4 of an item, and unsure", "unsure of an item, and 4"]),
        ("4,4", [4], []),
    ],
)
def test_answers_that_contradict_each_other_are_bad_rows_all_of_them(
    path: Path, answers: str, kept: list[int], told: list[str]
) -> None:
    first, second = answers.split(",")
    table = read(path, f"trace_id,score,note\nt1,{first},a\nt2,1,\nrun-t1,{second},b\n")
    assert [label.score for label in table.labels] == [*kept, 1]
    assert [problem.split(": ")[0] for problem in table.problems] == [
        f"{path}, line {line}" for line in (2, 4)[: len(told)]
    ]
    for problem, expected in zip(table.problems, told, strict=True):
        assert f"'ann' says {expected}" in problem
    assert table.n_again == len(kept)
    assert [label.note for label in table.labels[:-1]] == ["a / b"] * len(kept)


@pytest.mark.parametrize("name", ["ann\x1b[2J", "ann\u202e", "\u2066ann"])
def test_a_labeller_whose_name_would_be_obeyed_is_a_bad_row(path: Path, name: str) -> None:
    table = read(path, f"trace_id,score,labeller\nt1,4,{name}\nt2,1,bob\n")
    assert [label.labeller for label in table.labels] == ["bob"]
    assert table.problems[0].startswith(f"{path}, line 2: the labeller '")
    assert table.problems[0].isprintable()


def test_an_item_that_its_other_columns_contradict_is_a_bad_row(path: Path) -> None:
    rows = f"{NAMES[0]},t2,4\n{NAMES[1]},t2,5\n{NAMES[2]},t3,1\n"
    table = read(path, f"item,trace_id,score\n{rows}")
    assert [label.score for label in table.labels] == [5, 1]
    assert "is another one than its other columns say" in table.problems[0]


def test_a_row_of_nobody_is_a_bad_row(path: Path) -> None:
    table = read(path, "trace_id,score,labeller\nt1,5,\nt2,5,bob\n", labeller=None)
    assert [label.labeller for label in table.labels] == ["bob"]
    assert "who labelled" in table.problems[0]


def test_other_encodings_that_spreadsheets_write(path: Path) -> None:
    text = "trace_id\tscore\tnote\nt1\t4\tgrün\n"
    for data in (
        text.encode("utf-16"),
        text.encode("utf-8-sig"),
        ("\ufeff" + text).encode("utf-8-sig"),
        ("\u00ef\u00bb\u00bf" + text).encode(),
        text.replace("\n", "\r").encode(),
    ):
        assert read(path, data).labels[0].note == "grün"


NO_TABLES = {
    "empty": (b"", "is empty"),
    "blank": (b"\n\n", "is empty"),
    "a header alone": (b"trace_id,score\n", "no rows"),
    "latin-1": ("trace_id,score\nt1,4,grün\n".encode("latin-1"), "is not UTF-8"),
    "no item": (b"name,score\nx,4\n", "no column item or trace_id or instance_id"),
    "no answer": (b"trace_id,rating\nt1,4\n", "no column score or passed"),
    "a column twice": (b"trace_id,Score,score\nt1,4,5\n", "two columns 'score'"),
}


@pytest.mark.parametrize(("data", "said"), NO_TABLES.values(), ids=NO_TABLES)
def test_what_is_no_table_of_labels_is_refused(path: Path, data: bytes, said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        read(path, data)


def test_mappings_that_cannot_be_are_refused(path: Path) -> None:
    text = "trace_id,score\nt1,4\n"
    with pytest.raises(InvalidOption, match="no column 'rating' for score"):
        read(path, text, columns={"score": "rating"})
    with pytest.raises(InvalidOption, match="no field 'rating'"):
        read(path, text, columns={"rating": "score"})
    with pytest.raises(InvalidOption, match="cannot mean 'great'"):
        read(path, text, words={"x": "great"})
    with pytest.raises(InvalidOption, match="cannot mean '4'"):
        read(path, text, words={"x": "4"}, scale=Scale(is_pass_fail=True))
    with pytest.raises(UnreadableFile):
        labels_from_table(path.with_name("none.csv"), ITEMS, TableReading())


def test_a_word_has_one_meaning(path: Path) -> None:
    with pytest.raises(InvalidOption, match="'gut' cannot mean both pass and fail"):
        read(path, "trace_id,score\nt1,gut\n", words={"gut": "pass", "Gut": "fail"})


def test_lines_of_json_may_have_other_keys_each(tmp_path: Path) -> None:
    lines = [
        '{"trace_id":"t1","score":4}',
        '{"trace_id":"t2","passed":true,"note":"x"}',
        "[1]",
        "{",
    ]
    table = read(tmp_path / "labels.jsonl", "\n".join(lines))
    assert scores(table) == [("t1", 4, True), ("t2", None, True)]
    assert [problem.split(": ")[0][-6:] for problem in table.problems] == ["line 3", "line 4"]
