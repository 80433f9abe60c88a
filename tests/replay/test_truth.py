"""What the real system answers, what tests may not read, how an agent really fares: files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.replay.conversations import CANCEL, LOOK, Step, recording, trace_of
from tracedance_sdk.errors import UnknownFormat, UnreadableFile, UnsupportedVersion
from tracedance_sdk.replay import (
    Withheld,
    answered_calls,
    read_rates,
    read_truth,
    rebuild,
)
from tracedance_sdk.statistics import Trials
from tracedance_sdk.trace import Trace

HEADER = '{"format": "tracedance.truth", "version": 1}'


def truth_file(folder: Path, *runs: Any, header: str = HEADER) -> Path:
    path = folder / "truth.jsonl"
    path.write_text("\n".join([header, *map(json.dumps, runs)]))
    return path


def run_of(identity: str = "run", **stamped: Any) -> Trace:
    """Return a replayed run of two calls; the second has this answer."""
    trace = trace_of(identity, "g", LOOK, CANCEL)
    turn = trace.turns[1]
    stamps = ({"stamp": "same"}, {"stamp": "simulated", **stamped})
    calls = tuple(
        call.model_copy(update={"answer": stamp})
        for call, stamp in zip(turn.calls, stamps, strict=True)
    )
    return trace.model_copy(
        update={
            "turns": (trace.turns[0], turn.model_copy(update={"calls": calls})),
            "metadata": {"rebuilt_test": "t", "trial": 0},
        }
    )


@pytest.mark.parametrize(
    ("real", "is_right"),
    [
        ({"answer": "cancelled"}, True),
        ({"answer": "refused"}, False),
        ({"answer": "cancelled", "ok": False}, False),
        ({"known": False}, None),
        ({"answer": '"cancelled"'}, True),
        ({"answer": None}, False),
    ],
    ids=["right", "wrong", "fails", "not asked", "as JSON text", "nothing"],
)
@pytest.mark.parametrize("named", [{"trace_id": "run"}, {"test": "t"}], ids=["by trace", "by test"])
def test_answers_are_held_against_the_real_system(
    tmp_path: Path, real: dict[str, Any], is_right: bool | None, named: dict[str, str]
) -> None:
    calls = [{"name": "get_order", "answer": "open"}, {"name": "cancel_order", **real}]
    truth = read_truth(truth_file(tmp_path, {**named, "calls": calls}))
    found = list(answered_calls([run_of(), recording("no replay")], truth=truth))
    assert [(item.stamp, item.is_right) for item in found] == [
        ("same", True),
        ("simulated", is_right),
    ]


def test_json_answers_are_equal_whatever_their_form(tmp_path: Path) -> None:
    look: Step = ("get_order", {}, {"state": "open", "n": 1})
    trace = trace_of("run", "g", look, ("get_order", {}, '{"n": 1,  "state": "open"}'))
    turn = trace.turns[1]
    calls = tuple(c.model_copy(update={"answer": {"stamp": "same"}}) for c in turn.calls)
    run = trace.model_copy(
        update={
            "turns": (turn.model_copy(update={"calls": calls}),),
            "metadata": {"rebuilt_test": "t"},
        }
    )
    same = {"name": "get_order", "answer": {"n": 1, "state": "open"}}
    truth = read_truth(truth_file(tmp_path, {"trace_id": "run", "calls": [same, same]}))
    assert [item.is_right for item in answered_calls([run], truth=truth)] == [True, True]


@pytest.mark.parametrize(
    ("calls", "says"),
    [
        ([{"name": "get_order"}], "made 2 calls, the truth has 1"),
        (
            [{"name": "get_order"}, {"name": "move_order"}],
            "call 2 of run 0 of the test 't' is 'cancel_order', not 'move_order'",
        ),
    ],
    ids=["fewer", "others"],
)
def test_a_truth_of_another_run_is_refused(tmp_path: Path, calls: list[Any], says: str) -> None:
    truth = read_truth(truth_file(tmp_path, {"trace_id": "run", "calls": calls}))
    with pytest.raises(UnknownFormat, match=says):
        list(answered_calls([run_of()], truth=truth))


RUN = {"trace_id": "a", "calls": []}


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([""], "empty; the first line is"),
        (["{}"], "the first line must be"),
        (["nonsense"], "the first line must be"),
        ([HEADER, "{"], "line 2"),
        ([HEADER, '{"calls": []}'], "line 2: neither trace_id nor test"),
        ([HEADER, '{"trace_id": "a"}'], "line 2"),
        ([HEADER, '{"trace_id": "a", "calls": [{}]}'], "calls"),
        ([HEADER, json.dumps(RUN), json.dumps(RUN)], "line 3: a run that an earlier line has"),
    ],
)
def test_a_truth_that_is_none_is_refused(tmp_path: Path, lines: list[str], says: str) -> None:
    path = tmp_path / "truth.jsonl"
    path.write_text("\n".join(lines))
    with pytest.raises(UnknownFormat, match=says):
        read_truth(path)


def test_a_truth_of_a_newer_release_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedVersion, match="version 2; this release reads 1"):
        read_truth(truth_file(tmp_path, header=HEADER.replace("1", "2")))
    with pytest.raises(UnreadableFile):
        read_truth(tmp_path / "none.jsonl")


def test_withheld_recordings_are_those_of_the_groups_that_may_not_be_read() -> None:
    traces = [
        recording(name).model_copy(update={"group": group})
        for name, group in (("a", "g"), ("b", "g"), ("c", "h"))
    ]
    withheld = Withheld(rebuild(traces).tests)
    assert withheld.holds("a", "get_order", {"order": "W-1001"}) is True
    assert withheld.holds("a", "get_order", {"order": "W-1001"}, except_tests={"b"}) is False
    assert withheld.holds("a", "get_order", {"order": "W-9999"}) is False
    assert withheld.holds("c", "get_order", {"order": "W-1001"}) is False
    assert withheld.holds("x", "get_order", {}) is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no rates"),
        ("{", "line 1"),
        ('{"group": "a", "passes": 1}', "trials"),
        ('{"group": "a", "passes": 2, "trials": 1}', "2 passes of 1 trials"),
        ('{"group": "a", "passes": true, "trials": 1}', "passes"),
        ('{"group": "a", "passes": 1, "trials": 1}\n' * 2, "line 2: the group 'a' is there twice"),
    ],
)
def test_rates_that_are_none_are_refused(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "rates.jsonl"
    path.write_text(text)
    with pytest.raises(UnknownFormat, match=says):
        read_rates(path)
    path.write_text('{"group": "a", "passes": 1, "trials": 4}\n\n')
    assert read_rates(path) == {"a": Trials(1, 4)}
