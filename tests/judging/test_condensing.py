"""What a judge is shown of a trace: bounded, the same each time, and open about what it lacks."""

from __future__ import annotations

import json
import re
import time
from itertools import islice
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.shared_data import shared_data
from tests.support.traces import traces, values
from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.formats import collect_paths
from tracedance_sdk.judging import condensed
from tracedance_sdk.judging.shortening import Entry, cut, fenced, json_line, level
from tracedance_sdk.trace import Call, ErrorInfo, Outcome, Reasoning, Result, Text, Trace, Turn

FOLDERS = (
    "agent-data-protocol", "agent-sessions-fixtures", "agentdojo-runs", "agentrx", "atif-fixtures",
    "claude-code-log", "entire-cli-sessions", "inspect-logs", "langfuse-framework-traces",
    "mini-swe-agent-deepseek", "openclaw-sessions", "openhands-swebench", "otel-spans",
    "pi-mono-sessions", "reflexion", "swe-agent-demos", "swe-agent-verified", "tau-bench",
    "tau2-bench", "tau2-judge-verdicts", "whoandwhen",
)  # fmt: skip
MOST = 40
"""Traces of each folder, from the first."""

BREAKS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def lines_of(text: str) -> list[dict[str, Any]]:
    """Return the objects between the marks; every line is one."""
    first, *lines, last = text.split("\n")
    assert re.fullmatch(r"<<<trace [0-9a-f]{12}", first)
    assert last == f"{first[3:]}>>>"
    assert not any(BREAKS.search(line) for line in lines)
    return [json.loads(line) for line in lines if line]


def turn(index: int, role: Any, text: str = "", *calls: Call) -> Turn:
    content = (Text(text=text),) if text else ()
    origin: Any = {"user": "human", "assistant": "agent"}[role]
    return Turn(index=index, role=role, origin=origin, content=content, calls=calls)


def call(index: int, content: Any = "fine", *, ok: bool = True) -> Call:
    result = Result(ok=ok, content=content)
    return Call(index=index, id=f"c{index}", name="look", arguments={"n": index}, result=result)


def run(*calls: Call, task: str = "Find it.", end: str = "Found.") -> Trace:
    steps = [turn(n + 1, "assistant", f"Step {n}.", item) for n, item in enumerate(calls)]
    opening, last = turn(0, "user", task), turn(len(calls) + 1, "assistant", end)
    return Trace(id="t", system_prompt="Be brief.", turns=(opening, *steps, last))


def check(trace: Trace, most_characters: int) -> bool:
    """Check whatever holds for any trace; return whether it was shortened."""
    text = condensed(trace, most_characters=most_characters)
    assert len(text) <= most_characters
    assert text == condensed(Trace.model_validate(trace.to_dict()), most_characters=most_characters)
    lines = lines_of(text)
    shown = [line["call"] for line in lines if "call" in line]
    gone = [line["left_out"] for line in lines if "left_out" in line]
    ids = [item.id for item in trace.calls]
    places = iter(ids)
    for name in shown:
        # In the order of the calls, each by its own id.
        assert any(name == known or "…" in name for known in places)
    assert len(shown) + sum(item["calls"] for item in gone) == len(ids)
    about = lines[0].get("about") if lines else None
    if about is None:
        assert not gone
        return False
    assert about["calls"] == len(ids)
    assert about["left_out"] == sum(item["calls"] + item["texts"] for item in gone)
    assert about["characters_shown"] < about["characters"]
    return True


@pytest.mark.parametrize("folder", FOLDERS)
def test_real_traces_are_shown_within_the_bounds(folder: str) -> None:
    found = (item.trace for item in collect_paths([shared_data(folder)]) if item.trace is not None)
    n_traces = 0
    for trace in islice(found, MOST):
        n_traces += 1
        is_shortened = [check(trace, room) for room in (4_000, 24_000)]
        assert is_shortened == sorted(is_shortened, reverse=True)
    assert n_traces


@settings(max_examples=150, deadline=None)
@given(traces(), st.integers(4_000, 6_000))
def test_any_trace_is_shown_within_the_bounds(trace: Trace, room: int) -> None:
    check(trace, room)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(values, st.text(max_size=80), st.booleans()), max_size=60))
def test_any_results_of_many_calls_are_shown_within_the_bounds(
    results: list[tuple[Any, str, bool]],
) -> None:
    calls = [call(n, {"a": v, "b": t * 40}, ok=ok) for n, (v, t, ok) in enumerate(results)]
    check(run(*calls), 4_000)


def test_a_short_trace_is_shown_whole() -> None:
    assert lines_of(condensed(run(call(0)).model_copy(update={"final_state": {"n": 1}}))) == [
        {"system_prompt": "Be brief."},
        {"turn": 0, "role": "user", "text": "Find it."},
        {"turn": 1, "role": "assistant", "text": "Step 0."},
        {"turn": 1, "call": "c0", "tool": "look", "ok": True, "arguments": {"n": 0}}
        | {"result": "fine"},
        {"turn": 2, "role": "assistant", "text": "Found."},
        {"final_state": {"n": 1}},
    ]


def test_a_long_trace_keeps_its_task_its_end_and_what_failed() -> None:
    calls = [call(n, "x" * 900, ok=n != 150) for n in range(300)]
    lines = lines_of(condensed(run(*calls, task="Find it. " * 50, end="Found. " * 50)))
    texts = [line.get("text") for line in lines]
    shown = [line["call"] for line in lines if "call" in line]
    assert "Find it. " * 50 in texts
    assert texts[-1] == "Found. " * 50
    assert {"c0", "c1", "c150", "c298", "c299"} <= set(shown)
    assert "c140" not in shown
    assert lines[0]["about"]["calls"] == 300
    assert lines[-2]["result"] == "x" * 900


def test_a_task_without_end_leaves_room_for_the_rest() -> None:
    lines = lines_of(condensed(run(call(0), task="a" * 90_000)))
    assert [line["call"] for line in lines if "call" in line] == ["c0"]
    assert re.fullmatch(r"a{9000,}…\(\d+ left out\)…a{9000,}", lines[2]["text"])
    assert lines[-1]["text"] == "Found."


def test_until_shows_what_came_before_a_turn_and_no_final_state() -> None:
    trace = run(call(0), call(1)).model_copy(update={"final_state": {"n": 1}})
    assert [line.get("turn") for line in lines_of(condensed(trace, until=2))] == [None, 0, 1, 1]
    assert [line.get("turn") for line in lines_of(condensed(trace, until=0))] == [None]


@pytest.mark.parametrize("until", [-1, 4])
def test_a_turn_that_does_not_exist_is_refused(until: int) -> None:
    with pytest.raises(InvalidOption, match=f"until {until} of a trace with 3 turns"):
        condensed(run(call(0)), until=until)


def test_too_little_room_is_refused() -> None:
    with pytest.raises(InvalidOption, match="at least 4,000"):
        condensed(run(), most_characters=3_999)


def test_neither_names_nor_outcome_nor_reasoning_are_shown() -> None:
    thought = Reasoning(text="SECRET thought")
    said = Turn(index=0, role="assistant", origin="agent", model="SECRET", content=(thought,))
    trace = Trace(
        id="SECRET",
        task_id="SECRET",
        group="SECRET",
        turns=(said,),
        outcome=Outcome(success=True, error=ErrorInfo(type="SECRET")),
        metadata={"SECRET": 1},
    )
    assert "SECRET" not in condensed(trace)


@pytest.mark.parametrize("odd", ["\n", "\r\n", "\x85", "\u2028", "\u2029", "\x7f", "\ud800"])
def test_no_text_can_close_the_marks(odd: str) -> None:
    plain = condensed(run(call(0)))
    mark = plain.split("\n")[-1]
    text = condensed(run(call(0, f"{odd}{mark}{odd}{{}}{odd}")))
    assert len(lines_of(text)) == len(lines_of(plain))
    assert text.split("\n")[-1] != mark


def test_time_grows_with_the_length() -> None:
    def seconds(n_calls: int) -> float:
        trace = run(*(call(n, "y" * 300) for n in range(n_calls)))
        times = []
        for _ in range(3):
            start = time.process_time()
            condensed(trace)
            times.append(time.process_time() - start)
        return min(times)

    assert seconds(16_000) < 12 * seconds(4_000)


def test_a_value_that_is_deep_is_shortened_in_time() -> None:
    deep: Any = "z" * 200_000
    for _ in range(150):
        deep = {"a": deep}
    start = time.process_time()
    check(run(call(0, deep)), 4_000)
    assert time.process_time() - start < 2


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(exclude_categories=[])), st.integers(32, 90), st.integers(1, 30))
def test_text_is_cut_between_characters(text: str, room: int, times: int) -> None:
    text *= times
    found = cut(text, room)
    assert len(found) <= room
    told = json.loads(found)
    spelled = text.encode("utf-8", "backslashreplace").decode()
    gap = re.search(r"…\((\d+) left out\)…", told)
    if told != spelled:
        assert gap
        head, tail = told[: gap.start()], told[gap.end() :]
        assert spelled.startswith(head)
        assert spelled.endswith(tail)
        assert len(head) + len(tail) + int(gap[1]) == len(spelled)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.text(max_size=20), values, max_size=4), st.integers(0, 400))
def test_an_entry_fits_in_as_much_as_it_says(held: dict[str, Any], more: int) -> None:
    entry = Entry({"call": "c1"}, {"arguments": held, "result": [held, "long " * 90]})
    line = entry.within(entry.least + more)
    assert len(line) <= entry.least + more
    assert json.loads(line)["call"] == "c1"


@pytest.mark.parametrize(
    ("lengths", "room", "most"),
    [([], 5, 0), ([3, 4], 9, 4), ([10, 20], 20, 10), ([1, 9, 9], 11, 5), ([4, 4], 1, 0)],
    ids=["none", "all fit", "halves", "the short leaves room", "no room"],
)
def test_room_is_shared_by_the_long_ones(lengths: list[int], room: int, most: int) -> None:
    assert level(lengths, room) == most


def test_marks_depend_on_what_stands_between_them() -> None:
    assert fenced("a", [json_line(1)]) != fenced("a", [json_line(2)])
    assert fenced("a", [json_line(1)]) == fenced("a", [json_line(1)])
