"""`tracedance label`: at a terminal, by lines, by tables; blind, resumable, nothing lost."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Tracedance, in_process_of_its_own
from tests.support.pseudo_terminal import on_terminal
from tracedance_sdk.cli import run
from tracedance_sdk.formats import save_trace
from tracedance_sdk.grading import ResultRow, ResultSetWriter, Subject, read_results
from tracedance_sdk.judging import ItemKey, Label, LabelSet, load_rubric, read_labels
from tracedance_sdk.replay import Instance, write_instances
from tracedance_sdk.store import TraceStore
from tracedance_sdk.trace import Call, Reasoning, Result, Text, Trace, Turn, plain

RUNS = ("label", "traces", "--rubric", "task-completion", "--out", "labels.jsonl")
EVIL = "\x1b]0;owned\x07\x1b[2J\u202egnp.exe"


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Answer by lines, as a script does."""

    def give(*answers: str) -> None:
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in answers)))

    return give


def labels(path: Path = Path("labels.jsonl")) -> LabelSet:
    return read_labels(path)


def scores(who: str = "ann") -> list[int | None]:
    return [label.score for label in labels().labels if label.labeller == who]


def conversation(trace_id: str = "t1", *, said: str = "It is free.") -> Trace:
    call = Call(
        index=0, id="c1", name="find_rooms", arguments={"guests": 1}, result=Result(content="blue")
    )
    return Trace(
        id=trace_id,
        group="booking",
        turns=(
            Turn(index=0, role="user", origin="human", content=(Text(text="A room, please."),)),
            Turn(index=1, role="assistant", origin="agent", model="model-zeta", calls=(call,)),
            Turn(
                index=2,
                role="assistant",
                origin="agent",
                model="model-zeta",
                content=(Reasoning(text="SECRET THOUGHT"), Text(text=said)),
            ),
        ),
    )


def reply(model: str, text: str, *, sample: int = 0, missing: str | None = None) -> ResultRow:
    turn = Turn(
        index=2,
        role="assistant",
        origin="agent",
        model=model,
        content=(Reasoning(text="SECRET THOUGHT"), Text(text=text)),
        calls=(Call(index=0, id="c9", name="book_room", arguments={"room": "blue"}),),
    )
    own: dict[str, Any] = {"reply": plain(turn)} | ({"missing": missing} if missing else {})
    return ResultRow(
        subject=Subject(trace_id="t1", turn=2),
        sample=sample,
        model=model,
        group="booking",
        grader="next_turn",
        missing_reason=missing,
        **own,
    )


def judged(row: ResultRow, score: int, *, rubric: str = "honest-claims") -> list[ResultRow]:
    common = {"subject": row.subject, "sample": row.sample, "model": row.model, "rubric": rubric}
    judge = "judge-omega#123"
    return [
        ResultRow.model_validate(
            {
                **common,
                "grader": f"judge:{rubric}:{judge}",
                "score": score / 5,
                "rubric_score": score,
                "evidence": [{"reasoning": "JUDGED SO"}],
            }
        ),
        ResultRow.model_validate(
            {
                **common,
                "grader": f"rubric:{rubric}",
                "verdict": "pass" if score >= 4 else "fail",
                "score": score / 5,
                "rubric_score": score,
                "judges": {judge: score},
            }
        ),
    ]


@pytest.fixture
def replies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand beside contexts/ and a result set of replies to them."""
    monkeypatch.chdir(tmp_path)
    Path("contexts").mkdir()
    save_trace(conversation(), Path("contexts/t1.json"))
    rows = [reply("alpha", "Booked."), reply("beta", "I book it."), reply("beta", "", sample=1)]
    rows.append(reply("gamma", "x", missing="cut_off"))
    write("replies", rows)
    return tmp_path


def write(folder: str, rows: list[ResultRow], **manifest: Any) -> None:
    with ResultSetWriter(folder, manifest=manifest) as writer:
        writer.add(rows)


REPLIES = ("label", "replies", "--traces", "contexts", "--rubric", "honest-claims")
OUT = ("--out", "labels.jsonl", "--labeller", "ann")


# At a terminal


def test_keys_quit_resume_back_note_and_the_end(work: Path) -> None:
    with on_terminal([*RUNS, "--labeller", "ann"], cwd=work) as terminal:
        first = terminal.wait_for("q quit")
        assert "1 of 4 (0 labelled)" in first
        assert "Did the agent do what it was asked to do?" in first
        terminal.press("4")
        terminal.wait_for("2 of 4 (1 labelled)")
        terminal.wait_for("q quit")
        assert scores_in(work) == [4]
        terminal.press("\x1b[A")  # an arrow
        terminal.wait_for("this is no key here")
        terminal.press("x")
        terminal.wait_for("x is no key here")
        terminal.press("n")
        terminal.wait_for("ended by Enter:")
        terminal.type("sent to nobody")
        terminal.wait_for("goes with your answer")
        terminal.press("1")
        terminal.wait_for("3 of 4 (2 labelled)")
        terminal.wait_for("q quit")
        terminal.press("b")
        assert "your answer so far: 1, with a note: sent to nobody" in terminal.wait_for("q quit")
        terminal.press("2")
        terminal.wait_for("3 of 4 (2 labelled)")
        terminal.wait_for("q quit")
        terminal.press("q")
        assert terminal.ended() == 3
        assert "2 of 4 items labelled by ann, 2 left" in terminal.shown
    assert scores_in(work) == [4, 2]
    with on_terminal([*RUNS, "--labeller", "ann"], cwd=work) as terminal:
        terminal.wait_for("3 of 4 (2 labelled)")
        terminal.wait_for("q quit")
        terminal.press("u")
        terminal.wait_for("4 of 4 (3 labelled)")
        terminal.wait_for("q quit")
        terminal.press("3")
        terminal.wait_for("any other key ends")
        terminal.press("b")
        terminal.wait_for("4 of 4 (4 labelled)")
        terminal.wait_for("q quit")
        terminal.press("5")
        terminal.wait_for("any other key ends")
        terminal.press(" ")
        assert terminal.ended() == 0
        assert "4 of 4 items labelled by ann (1 unsure)" in terminal.shown
    found = read_labels(work / "labels.jsonl")
    assert [label.score for label in found.labels] == [4, 2, None, 5]
    assert found.labels[1].note == "sent to nobody"
    assert found.labels[2].is_unsure


def scores_in(work: Path) -> list[int | None]:
    return [label.score for label in read_labels(work / "labels.jsonl").labels]


def test_a_key_pressed_twice_does_not_answer_about_an_item_not_seen(work: Path) -> None:
    with on_terminal([*RUNS, "--labeller", "ann"], cwd=work) as terminal:
        terminal.wait_for("q quit")
        terminal.press("44444")
        terminal.wait_for("2 of 4 (1 labelled)")
        terminal.wait_for("q quit")
        terminal.press("\x04")  # Ctrl-D
        assert terminal.ended() == 3
    assert scores_in(work) == [4]


@pytest.mark.parametrize("how", ["ctrl-c", "ctrl-c in a note", "kill", "hang up"])
def test_a_session_that_is_stopped_keeps_every_answer(work: Path, how: str) -> None:
    with on_terminal([*RUNS, "--labeller", "ann"], cwd=work) as terminal:
        for number in (1, 2):
            terminal.wait_for("q quit")
            terminal.press(str(number))
        terminal.wait_for("q quit")
        if how == "ctrl-c":
            terminal.press("\x03")
            assert terminal.ended() == 130
            assert "stopped; 2 of 4 items labelled and kept" in terminal.shown
        elif how == "ctrl-c in a note":
            terminal.press("n")
            terminal.wait_for("ended by Enter:")
            terminal.process.send_signal(signal.SIGINT)
            assert terminal.ended() == 130
        else:
            kind = signal.SIGKILL if how == "kill" else signal.SIGHUP
            os.kill(terminal.process.pid, kind)
            assert terminal.ended() == -kind
    assert scores_in(work) == [1, 2]
    with on_terminal([*RUNS, "--labeller", "ann"], cwd=work) as terminal:
        terminal.wait_for("3 of 4 (2 labelled)")


@pytest.mark.parametrize(
    ("columns", "term"), [(20, "xterm"), (100, "dumb"), (1, "dumb")], ids=["20", "dumb", "1"]
)
def test_odd_terminals_will_do(work: Path, columns: int, term: str) -> None:
    arguments = [*RUNS, "--labeller", "ann"]
    with on_terminal(arguments, cwd=work, columns=columns, TERM=term) as terminal:
        shown = terminal.wait_for("quit")
        if term == "dumb":
            assert "\x1b[" not in shown
        terminal.press("4")
        terminal.wait_for("(1 labelled)") if columns > 16 else terminal.wait_for("labelled)")
        terminal.press("q")
        assert terminal.ended() == 3
    assert scores_in(work) == [4]


def test_untrusted_text_sends_nothing_to_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "contexts").mkdir()
    save_trace(conversation(said=EVIL), tmp_path / "contexts" / "t1.json")
    arguments = ["label", "contexts", "--rubric", "honest-claims", "--out", "l.jsonl"]
    with on_terminal([*arguments, "--labeller", "ann"], cwd=tmp_path) as terminal:
        shown = terminal.wait_for("q quit")
    assert "gnp.exe" in shown
    left = re.sub(r"\x1b\[[0-9;]*m", "", shown)  # our own colours
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", left)


# By lines


def test_back_shows_the_answer_so_far_and_says_that_a_note_is_lost(
    work: Path, tracedance: Tracedance, lines: Any
) -> None:
    lines("2 wrong person", "n", "not this one", "b", "3")
    shown = tracedance(*RUNS, "--labeller", "ann").out
    assert "back; the note is dropped, as it goes with an answer" in shown
    assert "your answer so far: 2, with a note: wrong person" in shown
    (label,) = labels().labels
    assert (label.score, label.note) == (3, "wrong person")


def test_lines_from_a_pipe_are_keys_with_notes(
    work: Path, tracedance: Tracedance, lines: Any
) -> None:
    lines("4 fine work", "", "n to nobody", "2", "s", "U")
    ran = tracedance(*RUNS, "--labeller", "ann")
    assert ran.code == 3
    assert "3 of 4 items labelled by ann (1 unsure), 1 left" in ran.out
    found = labels().labels
    assert [(label.score, label.passed, label.note) for label in found] == [
        (4, True, "fine work"),
        (2, False, "to nobody"),
        (None, None, None),
    ]
    assert labels().header.rubric_sha256 == load_rubric("task-completion").sha256
    lines("5")
    assert tracedance(*RUNS, "--labeller", "ann").code == 0
    assert sorted(str(score) for score in scores()) == ["2", "4", "5", "None"]
    assert tracedance(*RUNS, "--labeller", "ann").out.startswith("4 of 4 items labelled by ann")


def test_asked_again_a_later_answer_replaces_the_earlier(
    work: Path, tracedance: Tracedance, lines: Any
) -> None:
    lines("1", "2", "3", "4")
    tracedance(*RUNS, "--labeller", "ann")
    lines("5", "q")
    tracedance(*RUNS, "--labeller", "ann", "--again")
    assert scores() == [5, 2, 3, 4]
    assert len(Path("labels.jsonl").read_bytes().splitlines()) == 6


def test_two_labellers_meet_the_same_items_in_the_same_order(
    work: Path, tracedance: Tracedance, lines: Any
) -> None:
    for who in ("ann", "bob"):
        lines("1", "2", "3", "4")
        assert tracedance(*RUNS, "--labeller", who).code == 0
    assert labels().labellers == ("ann", "bob")
    assert list(labels().by("ann")) == list(labels().by("bob"))
    lines("1", "2", "3", "4")
    tracedance(*RUNS[:-1], "own.jsonl", "--labeller", "carl", "--own-order")
    assert list(labels(Path("own.jsonl")).by("carl")) != list(labels().by("ann"))


def test_a_sample_is_the_same_whoever_takes_it_and_grows(
    work: Path, tracedance: Tracedance, lines: Any
) -> None:
    lines("1", "2")
    assert tracedance(*RUNS, "--labeller", "ann", "--sample", "2").code == 0
    first = set(labels().by("ann"))
    lines("3")
    ran = tracedance(*RUNS, "--labeller", "ann", "--sample", "3")
    assert (ran.code, len(first)) == (0, 2)
    assert set(labels().by("ann")) > first
    assert "begun with another choice of items" in ran.err
    assert "there are 4 items, not 9" in tracedance(*RUNS, "--sample", "9").err


def test_json_is_one_document_and_the_screen_goes_elsewhere(
    work: Path, tracedance: Tracedance, lines: Any
) -> None:
    lines("4")
    ran = tracedance(*RUNS, "--labeller", "ann", "--json")
    document = json.loads(ran.out)
    assert document["format"] == "tracedance.labelling"
    assert {key: document[key] for key in ("items", "labelled", "unsure", "left", "ended")} == {
        "items": 4,
        "labelled": 1,
        "unsure": 0,
        "left": 3,
        "ended": "no more input",
    }
    assert "THE RUN" in ran.err


def test_pass_or_fail_alone(work: Path, tracedance: Tracedance, lines: Any) -> None:
    lines("p", "4", "f it lied", "u", "q")
    ran = tracedance(*RUNS, "--labeller", "ann", "--pass-fail")
    assert "4 is no key here" in ran.out
    assert "p pass, f fail" in ran.out
    found = [(label.score, label.passed, label.note) for label in labels().labels]
    assert found == [(None, True, None), (None, False, "it lied"), (None, None, None)]


def test_a_rubric_of_two_levels_asks_for_pass_or_fail(
    work: Path, tracedance: Tracedance, lines: Any
) -> None:
    Path("r.yaml").write_text(
        "format: tracedance.rubric\nversion: 1\nid: sent\ntitle: Sent\nabout: trace\n"
        "question: Was it sent?\nlevels: {0: not sent, 5: sent}\n"
    )
    lines("p")
    ran = tracedance("label", "traces", "--rubric", "r.yaml", "--out", "l.jsonl")
    assert "f  not sent\np  sent\n" in ran.out


# What is labelled, and what is not shown


def test_replies_are_labelled_blind_to_models_judges_and_thoughts(
    replies: Path, tracedance: Tracedance, lines: Any
) -> None:
    lines("m", "4", "m", "3", "m", "5")
    ran = tracedance(*REPLIES, *OUT)
    assert ran.code == 0
    assert "left out: no answer: cut_off (1)" in ran.err
    assert 'asks for book_room {"room":"blue"}' in ran.out
    for hidden in ("alpha", "beta", "gamma", "zeta", "omega", "SECRET THOUGHT", "c9", "It is free"):
        assert hidden not in ran.out
    found = labels().labels
    assert {(label.model, label.sample, label.group) for label in found} == {
        ("alpha", 0, "booking"),
        ("beta", 0, "booking"),
        ("beta", 1, "booking"),
    }
    assert {label.subject.turn for label in found} == {2}


@pytest.mark.parametrize("is_store", [False, True], ids=["files", "store"])
def test_judged_items_are_labelled_without_a_word_of_the_judges(
    replies: Path, tracedance: Tracedance, lines: Any, *, is_store: bool
) -> None:
    rows = [reply("alpha", "Booked."), reply("beta", "I book it.")]
    digest = load_rubric("honest-claims").sha256
    everything = [row for one in rows for row in judged(one, 1)]
    everything += judged(rows[0], 5, rubric="tool-use")
    write("judged", everything, rubrics=[["honest-claims", digest, 4.0]])
    contexts = "contexts"
    if is_store:
        contexts = "store"
        TraceStore.open("store", create=True).add([conversation(), conversation("t2")])
    lines("4", "3")
    ran = tracedance(
        *("label", "judged", "replies", "--traces", contexts, "--rubric", "honest-claims", *OUT)
    )
    assert (ran.code, len(labels().labels)) == (0, 2)
    for hidden in ("JUDGED SO", "judge-omega", "alpha", "beta"):
        assert hidden not in ran.out
    alone = tracedance(
        *("label", "judged", "--traces", contexts, "--rubric", "honest-claims"), "--out", "l2"
    )
    assert alone.code == 2
    assert "its reply is in no result set given (2)" in alone.err


def test_turns_of_traces_are_labelled_as_they_were_recorded(
    replies: Path, tracedance: Tracedance, lines: Any
) -> None:
    lines("2")
    ran = tracedance("label", "contexts", "--rubric", "honest-claims", *OUT)
    assert ran.code == 0
    assert "THE RESPONSE TO LABEL\n  It is free." in ran.out
    assert "zeta" not in ran.out
    (label,) = labels().labels
    assert (label.subject.turn, label.model) == (2, "model-zeta")
    lines("2")
    command = ("label", "contexts", "--rubric", "honest-claims", "--before-call", "find_rooms")
    assert "asks for find_rooms" in tracedance(*command, "--out", "other.jsonl").out


def test_runs_that_were_graded_are_labelled_as_their_rows_name_them(
    work: Path, tracedance: Tracedance, lines: Any
) -> None:
    assert tracedance("evaluate", "traces", "--spec", "task.yaml", "--out", "graded").code == 1
    lines("1", "2", "3", "4")
    ran = tracedance("label", "graded", *("--traces", "traces"), *RUNS[2:], "--labeller", "ann")
    assert ran.code == 0
    assert {label.item for label in labels().labels} == {
        ItemKey.of(row) for row in read_results("graded").rows
    }


@pytest.mark.parametrize("about", ["trace", "turn"])
def test_judged_runs_and_recorded_turns_are_labelled(
    replies: Path, tracedance: Tracedance, lines: Any, about: str
) -> None:
    rubric = {"trace": "task-completion", "turn": "honest-claims"}[about]
    subject = Subject(trace_id="t1", turn=2 if about == "turn" else None)
    row = ResultRow(subject=subject, model="model-zeta", grader="x")
    write("judged", judged(row, 3, rubric=rubric))
    lines("4")
    ran = tracedance("label", "judged", "--traces", "contexts", "--rubric", rubric, *OUT)
    assert ran.code == 0
    assert "It is free." in ran.out
    assert [label.item for label in labels().labels] == [ItemKey.of(row)]


def test_a_file_of_instances_is_labelled_turn_by_turn(
    replies: Path, tracedance: Tracedance, lines: Any
) -> None:
    trace = conversation()
    found = [Instance(id=f"i{turn}", trace=trace, turn=turn, group="own") for turn in (1, 2)]
    write_instances("asked.jsonl", found)
    lines("4", "5")
    ran = tracedance("label", "asked.jsonl", "--rubric", "honest-claims", *OUT)
    assert ran.code == 0
    assert {(label.subject.instance_id, label.group) for label in labels().labels} == {
        ("i1", "own"),
        ("i2", "own"),
    }


WRONG = {
    "another rubric": (
        ("label", "contexts", "--rubric", "tool-use", "--out", "labels.jsonl"),
        "holds labels by the rubric 'honest-claims', not by 'tool-use'",
    ),
    "no traces": (("label", "replies", "--rubric", "honest-claims", *OUT), "--traces"),
    "other traces": (
        ("label", "replies", "--rubric", "honest-claims", "--traces", "none", *OUT),
        "give with --traces the folder, file or store that holds their traces",
    ),
    "judged, and no replies": (
        ("label", "judged", "--rubric", "honest-claims", "--traces", "contexts", *OUT),
        "(1); give the folder that holds the replies too: tracedance label JUDGED REPLIES --traces",
    ),
    "a folder of nothing": (
        ("label", "empty", "--rubric", "honest-claims", *OUT),
        "there is nothing to label: the sources hold no trace; name a store, a folder or files",
    ),
    "about runs": (
        ("label", "replies", "--traces", "contexts", "--rubric", "task-completion", "--out", "l"),
        "is about whole traces",
    ),
    "no out": (("label", "contexts", "--rubric", "honest-claims"), "--out FILE is needed"),
    "no rubric of that name": (
        ("label", "contexts", "--rubric", "honest", "--out", "l"),
        "neither a file nor a packaged rubric",
    ),
    "a folder for labels": (
        ("label", "contexts", "--rubric", "honest-claims", "--out", "contexts"),
        "contexts",
    ),
    "a trace for labels": (
        ("label", "contexts", "--rubric", "honest-claims", "--out", "contexts/t1.json"),
        "no file of labels",
    ),
    "nobody": (("label", "contexts", "--rubric", "honest-claims", *OUT[:3], " "), "labeller"),
    "a name that is obeyed": (
        ("label", "contexts", "--rubric", "honest-claims", *OUT[:3], "a\x1b[2J"),
        "no name of a labeller",
    ),
    "results with traces": ((*REPLIES[:2], "contexts", *REPLIES[2:], *OUT), "one or the other"),
    "both tables": ((*REPLIES, *OUT, "--csv", "a", "--template", "b"), "either --template"),
    "a column without a name": ((*REPLIES, *OUT, "--csv", "a", "--column", "score"), "FIELD=NAME"),
    "a word without meaning": ((*REPLIES, *OUT, "--csv", "a", "--word", "ok"), "NAME=VALUE"),
    "a word with two meanings": (
        (*REPLIES, *OUT, "--csv", "a", "--word", "x=pass", "--word", "X=fail"),
        "--word says both 'x=pass' and 'X=fail': give one of them",
    ),
    "a field in two columns": (
        (*REPLIES, *OUT, "--csv", "a", "--column", "score=a", "--column", "score=b"),
        "--column says both 'score=a' and 'score=b': give one of them",
    ),
    "a table that is not there": ((*REPLIES, *OUT, "--csv", "a.csv"), "a.csv"),
}


@pytest.mark.parametrize(("arguments", "said"), WRONG.values(), ids=WRONG)
def test_wrong_use_is_said_and_asks_nothing(
    replies: Path, tracedance: Tracedance, lines: Any, arguments: tuple[str, ...], said: str
) -> None:
    Path("empty").mkdir()
    write("judged", judged(reply("alpha", "x"), 3))
    lines("1")
    assert tracedance("label", "contexts", "--rubric", "honest-claims", *OUT).code == 0
    before = Path("labels.jsonl").read_bytes()
    lines("5", "5", "5")
    ran = tracedance(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err.splitlines()[-1]
    assert "Traceback" not in ran.err
    assert Path("labels.jsonl").read_bytes() == before


def test_another_text_of_the_rubric_is_refused(
    replies: Path, tracedance: Tracedance, lines: Any
) -> None:
    write("judged", judged(reply("alpha", "x"), 3), rubrics=[["honest-claims", "f" * 64, 4.0]])
    ran = tracedance(
        *("label", "judged", "replies", "--traces", "contexts", "--rubric", "honest-claims", *OUT)
    )
    assert ran.code == 2
    assert "another text of the rubric 'honest-claims'" in ran.err
    write("judged", judged(reply("alpha", "x"), 3, rubric="tool-use"))
    ran = tracedance(
        *("label", "judged", "replies", "--traces", "contexts", "--rubric", "honest-claims", *OUT)
    )
    assert ran.code == 2
    assert "no item was judged by the rubric 'honest-claims'; there are: tool-use" in ran.err


def test_no_terminal_and_no_lines_is_no_answer(work: Path) -> None:
    ran = in_process_of_its_own(*RUNS, "--labeller", "ann", cwd=work)
    assert ran.returncode == 3
    assert b"0 of 4 items labelled by ann, 4 left" in ran.stdout


def test_standard_input_that_is_closed_is_one_line(
    work: Path, tracedance: Tracedance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    ran = tracedance(*RUNS, "--labeller", "ann")
    assert (ran.code, ran.out) == (2, "")
    assert "standard input is closed" in ran.err
    assert not Path("labels.jsonl").exists()


# Tables


def test_a_template_is_filled_in_and_taken_back(
    replies: Path, tracedance: Tracedance, lines: Any
) -> None:
    assert tracedance(*REPLIES, "--template", "t.csv").code == 0
    text = Path("t.csv").read_text(encoding="utf-8-sig")
    for hidden in ("alpha", "beta", "SECRET THOUGHT", "t1"):
        assert hidden not in text
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert len(rows) == 3
    assert "A room, please." in rows[0]["context"]
    for row, score in zip(rows, ("4", "seven", ""), strict=True):
        row["score"] = score
    with Path("t2.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    ran = tracedance(*REPLIES, *OUT, "--csv", "t2.csv")
    assert ran.code == 3
    assert "1 label from t2.csv, 1 bad row left out, 1 row without an answer" in ran.out
    assert re.search(r"t2\.csv, line \d+: score 'seven' means nothing here", ran.err)
    assert scores() == [4]
    again = tracedance(*REPLIES, *OUT, "--csv", "t2.csv")
    assert "0 labels from t2.csv, 1 there already" in again.out
    refused = tracedance(*REPLIES, "--template", "t.csv")
    assert refused.code == 2
    assert "is there already and may hold labels" in refused.err
    assert tracedance(*REPLIES, *OUT, "--template", "rest.jsonl").code == 0
    assert len(Path("rest.jsonl").read_bytes().splitlines()) == 2


def test_words_and_columns_of_ones_own(replies: Path, tracedance: Tracedance) -> None:
    Path("ratings.csv").write_text("run;who;rating\nt1;eve;gut\nt2;eve;gut\n")
    command = ("label", "contexts", "--rubric", "honest-claims", "--out", "labels.jsonl")
    options = ("--column", "trace_id=run", "--column", "labeller=who", "--column", "score=rating")
    ran = tracedance(*command, "--csv", "ratings.csv", *options, "--word", "gut=5")
    assert ran.code == 3
    assert "ratings.csv, line 3: no item of 't2'" in ran.err
    (label,) = labels().labels
    assert (label.labeller, label.score, label.passed) == ("eve", 5, True)
    nothing = tracedance(*command, "--csv", "ratings.csv", *options)
    assert nothing.code == 2
    assert (
        json.loads(
            tracedance(*command, "--csv", "ratings.csv", *options, "--word", "gut=5", "--json").out
        )["there_already"]
        == 1
    )


def test_contradictions_of_a_table_are_told_by_line_and_nothing_of_them_is_taken(
    replies: Path, tracedance: Tracedance
) -> None:
    rows = f"t1,eve,1\nt1,eve,5\nt1,bob,3\nt1,bob,3\nt1,{EVIL},2\n"
    Path("ratings.csv").write_text(f"trace_id,labeller,score\n{rows}", encoding="utf-8")
    command = ("label", "contexts", "--rubric", "honest-claims", "--out", "labels.jsonl")
    ran = tracedance(*command, "--csv", "ratings.csv")
    assert ran.code == 3
    told = "'eve' says {} of an item, and {} of the same one in line {}; neither is taken"
    odd = "has characters that are not shown as such"
    name = r"\x1b]0;owned\x07\x1b[2J\u202egnp.exe"
    assert ran.err.splitlines() == [
        f"tracedance: ratings.csv, line 2: {told.format(1, 5, 3)}",
        f"tracedance: ratings.csv, line 3: {told.format(5, 1, 2)}",
        f"tracedance: ratings.csv, line 6: the labeller '{name}' {odd}",
    ]
    assert ran.out == (
        "1 label from ratings.csv, 1 in the table twice, 3 bad rows left out; labels.jsonl\n"
    )
    assert [(label.labeller, label.score) for label in labels().labels] == [("bob", 3)]


def test_what_the_screen_writes_is_what_the_reader_reads(
    work: Path, lines: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    lines("3 \ud800 odd")
    run([*RUNS, "--labeller", "Ann Ö."])
    assert labels().labels[0].labeller == "Ann Ö."
    assert isinstance(labels().labels[0], Label)
    assert labels().labels[0].note == "\\ud800 odd"
