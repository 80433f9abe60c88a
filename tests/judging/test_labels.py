"""Files of labels: written line by line, read back exactly, refused clearly."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.traces import clean_texts, keys, values
from tracedance_sdk.errors import InvalidOption, UnknownFormat, UnreadableFile, UnsupportedVersion
from tracedance_sdk.grading import ResultRow, Subject
from tracedance_sdk.judging import (
    ItemKey,
    Label,
    LabelHeader,
    LabelSet,
    LabelWriter,
    read_labels,
    score_problem,
)
from tracedance_sdk.judging.labels import label_line, parse_labels

HEADER = LabelHeader(rubric="honest-claims", rubric_sha256="a" * 64, set={"n_items": 3})


def label(trace_id: str = "t1", *, labeller: str = "ann", **fields: Any) -> Label:
    return Label(subject=Subject(trace_id=trace_id), labeller=labeller, **fields)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "labels.jsonl"


def written(path: Path, *labels: Label, header: LabelHeader = HEADER) -> bytes:
    with LabelWriter(path, header) as writer:
        for item in labels:
            writer.add(item)
    return path.read_bytes()


_NAMES = st.text(
    st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp"]), min_size=1, max_size=12
)
_SUBJECTS = {"trace_id", "turn", "instance_id"}
_FIELDS = set(Label.model_fields)


@st.composite
def any_labels(draw: st.DrawFn) -> Label:
    extra = draw(st.dictionaries(keys.filter(lambda key: key not in _FIELDS), values, max_size=2))
    more = draw(st.dictionaries(keys.filter(lambda key: key not in _SUBJECTS), values, max_size=2))
    subject = {
        "trace_id": draw(st.none() | clean_texts),
        "turn": draw(st.none() | st.integers(0, 99)),
        "instance_id": draw(st.none() | clean_texts),
    }
    return Label.model_validate(
        {
            **extra,
            "subject": {**more, **subject},
            "sample": draw(st.integers(0, 9)),
            "model": draw(st.none() | clean_texts),
            "group": draw(st.none() | clean_texts),
            "labeller": draw(_NAMES),
            "score": draw(st.none() | st.integers(0, 5)),
            "passed": draw(st.none() | st.booleans()),
            "note": draw(st.none() | clean_texts),
        }
    )


@given(item=any_labels())
def test_a_label_is_read_back_exactly_unknown_fields_included(item: Label) -> None:
    data = label_line(HEADER) + label_line(item)
    assert data.count(b"\n") == 2
    assert parse_labels(data, "labels").labels == (item,)


@given(extra=st.dictionaries(keys.filter(lambda key: key not in LabelHeader.model_fields), values))
def test_a_header_keeps_what_it_does_not_know(extra: dict[str, Any]) -> None:
    fields = {**extra, "format": "tracedance.labels", "version": 1, "rubric": "x"}
    header = LabelHeader.model_validate(fields)
    assert parse_labels(label_line(header), "labels").header == header


@given(items=st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xy"), st.integers(0, 5))))
def test_of_each_item_and_labeller_the_last_label_counts(items: list[tuple[str, str, int]]) -> None:
    lines = [label_line(label(trace, labeller=who, score=score)) for trace, who, score in items]
    found = parse_labels(label_line(HEADER) + b"".join(lines), "labels")
    assert {(x.subject.trace_id, x.labeller): x.score for x in found.labels} == {
        (trace, who): score for trace, who, score in items
    }
    assert len(found.labels) == len({item[:2] for item in items})


def test_a_file_looks_as_it_is_described(path: Path) -> None:
    item = Label(
        subject=Subject(trace_id="t1", turn=4), sample=2, model="m", labeller="ann", score=4
    )
    lines = [json.loads(line) for line in written(path, item, label(passed=False)).splitlines()]
    assert lines[0] == {
        "format": "tracedance.labels",
        "version": 1,
        "rubric": "honest-claims",
        "rubric_sha256": "a" * 64,
        "set": {"n_items": 3},
    }
    assert lines[1] == {
        "subject": {"trace_id": "t1", "turn": 4},
        "sample": 2,
        "model": "m",
        "labeller": "ann",
        "score": 4,
        "passed": None,
    }
    assert lines[2]["score"] is None


def test_a_label_and_a_row_about_the_same_have_one_key() -> None:
    subject = Subject(trace_id="t1", turn=4)
    row = ResultRow(subject=subject, sample=1, model="m", grader="rubric:x", score=0.8)
    item = Label(subject=subject, sample=1, model="m", labeller="ann", score=4)
    assert ItemKey.of(row) == item.item
    assert ItemKey.of(row).short == item.item.short
    assert ItemKey.of(row) != ItemKey.of(row.model_copy(update={"sample": 2}))


def test_a_writer_goes_on_with_what_is_there(path: Path) -> None:
    first = written(path, label("t1", score=1))
    with LabelWriter(path, HEADER.model_copy(update={"set": {"n_items": 9}})) as writer:
        assert [item.score for item in writer.found.labels] == [1]
        writer.add(label("t2", score=2))
    assert path.read_bytes().startswith(first)
    assert read_labels(path).header.set == {"n_items": 3}
    assert [item.score for item in read_labels(path).labels] == [1, 2]


@pytest.mark.parametrize("cut", [1, 2, 30])
def test_a_torn_last_line_is_left_out_with_a_word_and_cut_off_by_the_next_writer(
    path: Path, cut: int
) -> None:
    data = written(path, label("t1", score=1), label("t2", score=2))
    path.write_bytes(data[: -cut - 1])
    found = read_labels(path)
    assert [item.score for item in found.labels] == [1]
    assert found.notes == (f"{path}: its last line is torn and left out",)
    assert written(path, label("t3", score=3)).count(b"\n") == 3
    assert [item.score for item in read_labels(path).labels] == [1, 3]
    assert not read_labels(path).notes


def test_a_whole_last_line_without_an_end_counts(path: Path) -> None:
    path.write_bytes(written(path, label("t1", score=1))[:-1])
    assert [item.score for item in read_labels(path).labels] == [1]
    written(path, label("t2", score=2))
    assert [item.score for item in read_labels(path).labels] == [1, 2]


def test_a_file_that_an_editor_saved_is_read_all_the_same(path: Path) -> None:
    data = written(path, label("t1", score=1), label("t2", score=2))
    path.write_bytes(b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n") + b"\r\n")
    assert [item.score for item in read_labels(path).labels] == [1, 2]
    written(path, label("t3", score=3))
    assert [item.score for item in read_labels(path).labels] == [1, 2, 3]


@pytest.mark.parametrize("n_bytes", [0, 1, 40])
def test_a_file_killed_within_its_header_is_begun_anew(path: Path, n_bytes: int) -> None:
    path.write_bytes(label_line(HEADER)[:n_bytes])
    written(path, label("t1", score=1))
    assert [item.score for item in read_labels(path).labels] == [1]


def test_what_another_process_left_torn_is_cut_off_before_the_next_label(path: Path) -> None:
    with LabelWriter(path, HEADER) as writer:
        writer.add(label("t1", score=1))
        with path.open("ab") as other:
            other.write(b'{"subject": {"trace_id": "t2"')
        writer.add(label("t3", score=3))
    assert [item.subject.trace_id for item in read_labels(path).labels] == ["t1", "t3"]


def test_two_processes_write_one_file_and_lose_nothing(path: Path) -> None:
    code = """
import sys
from tracedance_sdk.grading import Subject
from tracedance_sdk.judging import Label, LabelHeader, LabelWriter
path, who = sys.argv[1:]
with LabelWriter(path, LabelHeader(rubric="r")) as writer:
    for number in range(100):
        subject = Subject(trace_id=str(number))
        writer.add(Label(subject=subject, labeller=who, score=3, note="x" * 3000))
"""
    running = [subprocess.Popen([sys.executable, "-c", code, path, who]) for who in ("ann", "bob")]
    assert [process.wait(60) for process in running] == [0, 0]
    found = read_labels(path)
    assert [len(found.by(who)) for who in found.labellers] == [100, 100]


BAD_LINES = {
    "no JSON": (b"{", "line 2", None),
    "a list": (b"[]", "line 2", None),
    "a score of six": (b'{"subject":{},"labeller":"a","score":6}', "$.score", None),
    "a score between": (b'{"subject":{},"labeller":"a","score":3.5}', "$.score", None),
    "true for a score": (b'{"subject":{},"labeller":"a","score":true}', "$.score", None),
    "a word for passed": (b'{"subject":{},"labeller":"a","passed":"ok"}', "$.passed", None),
    "one for passed": (b'{"subject":{},"labeller":"a","passed":1}', "$.passed", None),
    "nobody": (b'{"subject":{},"labeller":""}', "$.labeller", None),
    "a name that is obeyed": (b'{"subject":{},"labeller":"a\\u001b[2J"}', "$.labeller", None),
    "a name turned around": (b'{"subject":{},"labeller":"a\\u202eb"}', "$.labeller", None),
    "no labeller": (b'{"subject":{}}', "$.labeller", None),
    "a key twice": (b'{"subject":{},"labeller":"a","score":1,"score":5}', "score", None),
}


@pytest.mark.parametrize("case", BAD_LINES.values(), ids=BAD_LINES.keys())
def test_a_line_that_is_no_label_is_refused_with_its_number(
    path: Path, case: tuple[bytes, str, None]
) -> None:
    line, expected, _ = case
    path.write_bytes(label_line(HEADER) + line + b"\n")
    with pytest.raises(UnknownFormat) as caught:
        read_labels(path)
    assert "line 2" in str(caught.value)
    assert expected in str(caught.value)


def scored(*answers: tuple[int | None, bool | None], **of_set: Any) -> LabelSet:
    subjects = (Subject(trace_id=f"t{n}") for n in range(len(answers)))
    return LabelSet(
        LabelHeader(rubric="r", set=of_set),
        tuple(
            Label(subject=subject, labeller="ann", score=score, passed=passed)
            for subject, (score, passed) in zip(subjects, answers, strict=True)
        ),
    )


CONTRADICTIONS = {
    "fits": (scored((4, True), (3, False), (None, True), (None, None)), 4.0, None),
    "fails though it passes": (scored((5, False)), 4.0, "gives score 5 and passed false, and a"),
    "passes though it fails": (scored((3, True)), 4.0, "gives score 3 and passed true, and a sc"),
    "another passing score": (scored((3, True)), 3.0, None),
    "the header knows": (scored((3, True), pass_from=3), 4.0, None),
    "the header knows better": (scored((3, True), pass_from=4.0), 3.0, "passes from 4 on"),
    "unknown, and it fits": (scored((3, True), (2, False)), None, None),
    "unknown, and no bound fits": (scored((3, True), (4, False)), None, "score 3 passes, and sc"),
    "unknown, one score both ways": (scored((3, True), (3, False)), None, "score 3 fails in"),
}


@pytest.mark.parametrize("case", CONTRADICTIONS.values(), ids=CONTRADICTIONS.keys())
def test_score_and_passed_are_held_against_each_other(
    case: tuple[LabelSet, float | None, str | None],
) -> None:
    found, bound, expected = case
    problem = score_problem(found, pass_from=bound, where="ann.jsonl")
    assert (problem is None) is (expected is None)
    assert (expected or "") in (problem or "")


STRANGERS = {
    "a trace": (b'{"format": "tracedance.trace", "version": 1}\n', UnknownFormat),
    "text": (b"hello\n", UnknownFormat),
    "a number": (b"5\n", UnknownFormat),
    "an empty first line": (b"\n{}\n", UnknownFormat),
    "a newer version": (b'{"format": "tracedance.labels", "version": 2}\n', UnsupportedVersion),
    "version true": (b'{"format": "tracedance.labels", "version": true}\n', UnsupportedVersion),
    "no rubric": (b'{"format": "tracedance.labels", "version": 1}\n', UnknownFormat),
}


@pytest.mark.parametrize("case", STRANGERS.values(), ids=STRANGERS.keys())
def test_a_file_of_other_things_is_refused_and_left_as_it_is(
    path: Path, case: tuple[bytes, type[Exception]]
) -> None:
    data, error = case
    path.write_bytes(data)
    with pytest.raises(error, match="labels"):
        read_labels(path)
    with pytest.raises(error, match="labels"):
        LabelWriter(path, HEADER)
    assert path.read_bytes() == data


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rubric": "tool-use"}, "by the rubric 'honest-claims', not by 'tool-use'"),
        ({"rubric_sha256": "b" * 64}, "another text of the rubric 'honest-claims'"),
    ],
    ids=["another id", "another text"],
)
def test_another_rubric_is_refused_with_what_to_do(
    path: Path, change: dict[str, str], said: str
) -> None:
    data = written(path, label(score=1))
    with pytest.raises(InvalidOption, match=said) as caught:
        LabelWriter(path, HEADER.model_copy(update=change))
    assert "name another file of labels" in str(caught.value)
    assert path.read_bytes() == data


def test_labels_of_an_unknown_text_of_the_rubric_go_on(path: Path) -> None:
    written(path, label("t1", score=1), header=HEADER.model_copy(update={"rubric_sha256": None}))
    written(path, label("t2", score=2))
    assert len(read_labels(path).labels) == 2


def test_what_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "none" / "labels.jsonl"):
        with pytest.raises(UnreadableFile, match=str(place)):
            LabelWriter(place, HEADER)
    with LabelWriter(tmp_path / "labels.jsonl", HEADER) as writer:
        pass
    with pytest.raises(UnreadableFile, match="cannot be written"):
        writer.add(label(score=1))
    with pytest.raises(UnreadableFile):
        read_labels(tmp_path / "nowhere.jsonl")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_clear_error(path: Path) -> None:
    with LabelWriter(path, HEADER) as writer:
        full = open("/dev/full", "a+b", buffering=0)  # noqa: PTH123, SIM115
        writer._file.close()
        writer._file = full
        with pytest.raises(UnreadableFile, match="cannot be written"):
            writer.add(label(score=1))
