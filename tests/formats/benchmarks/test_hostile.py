"""Records of strangers: whatever stands in a field, a reader answers with a trace or one error."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.formats.benchmarks import examples
from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.formats import Misfit, Place
from tracedance_sdk.formats.benchmarks import (
    split_react_log,
    trace_from_adp,
    trace_from_agentdojo,
    trace_from_alfworld,
    trace_from_completion_log,
    trace_from_events,
    trace_from_few_shot,
    trace_from_magentic,
    trace_from_mini_swe_agent,
    trace_from_nebius_row,
    trace_from_openhands_row,
    trace_from_react,
    trace_from_simulation,
    trace_from_swe_agent,
    trace_from_who_and_when,
)
from tracedance_sdk.trace import Json, Trace, encode_json

PLACE = Place("example")
ROW: dict[str, Any] = {
    "instance_id": "a",
    "history": examples.OPENHANDS_EVENTS,
    "test_result": {},
    "error": None,
}
READERS: dict[str, tuple[Json, Callable[[Json], Trace]]] = {
    "swe_agent": (
        examples.SWE_AGENT,
        lambda record: trace_from_swe_agent(record, PLACE, instance="a"),
    ),
    "mini_swe_agent": (
        examples.MINI_SWE_AGENT,
        lambda record: trace_from_mini_swe_agent(record, PLACE, instance="a"),
    ),
    "openhands_log": (
        examples.OPENHANDS_LOG,
        lambda record: trace_from_completion_log(record, PLACE, instance="a"),
    ),
    "openhands_events": (
        examples.OPENHANDS_EVENTS,
        lambda record: trace_from_events(record, PLACE, name="a"),
    ),
    "openhands_row": (ROW, lambda record: trace_from_openhands_row(record, PLACE)),
    "agentdojo": (examples.AGENTDOJO, lambda record: trace_from_agentdojo(record, PLACE)),
    "tau2": (
        examples.TAU2,
        lambda record: trace_from_simulation(record, PLACE, info=examples.TAU2_INFO),
    ),
    "tau2_info": (
        examples.TAU2_INFO,
        lambda record: trace_from_simulation(
            examples.TAU2, PLACE, info=record if isinstance(record, dict) else {}
        ),
    ),
    "who_and_when": (examples.WHO_AND_WHEN, lambda record: trace_from_who_and_when(record, PLACE)),
    "magentic": (
        examples.WHO_AND_WHEN["history"],
        lambda record: trace_from_magentic(record, PLACE, name="a"),
    ),
    "adp": (examples.ADP, lambda record: trace_from_adp(record, PLACE)),
    "nebius": (examples.NEBIUS, lambda record: trace_from_nebius_row(record, PLACE)),
    "alfworld": (
        examples.ALFWORLD,
        lambda record: trace_from_alfworld(record, PLACE, run="a", trial=0),
    ),
    "few_shot": (examples.FEW_SHOT, lambda record: trace_from_few_shot(record, PLACE)),
}
ODD: st.SearchStrategy[Any] = st.sampled_from(
    [
        None, True, 0, -1, 2**63, 1.5, "", "text", "\ud800", [], {}, [None], [1], ["a"], [[]],
        {"a": 1}, [{}], "2020-13-45", {"id": {}}, {"type": "object"}, 1e308,
    ]
)  # fmt: skip


def places(value: Json, above: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    found = [above]
    if isinstance(value, dict):
        for key, item in value.items():
            found += places(item, (*above, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += places(item, (*above, index))
    return found


def changed(value: Json, place: tuple[str | int, ...], odd: Json) -> Json:
    if not place:
        return odd
    result = copy.deepcopy(value)
    holder: Any = result
    for step in place[:-1]:
        holder = holder[step]
    holder[place[-1]] = odd
    return result


@pytest.mark.parametrize("name", READERS)
def test_every_example_is_read_and_can_be_written(name: str) -> None:
    record, read = READERS[name]
    before = copy.deepcopy(record)
    trace = read(record)
    assert encode_json(trace)
    assert record == before
    assert read(record) == trace


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_an_odd_value_anywhere_is_a_trace_or_one_error(name: str, data: st.DataObject) -> None:
    record, read = READERS[name]
    place = data.draw(st.sampled_from(places(record)))
    odd = data.draw(ODD)
    try:
        trace = read(changed(record, place, odd))
    except (TraceDanceError, Misfit):
        return
    assert isinstance(trace, Trace)


@given(st.lists(st.sampled_from(examples.REACT.split("\n")), max_size=30))
def test_lines_of_a_text_log_in_any_order_lose_no_question(lines: list[str]) -> None:
    runs = list(split_react_log(lines))
    assert len(runs) == sum(line.startswith("Question: ") for line in lines)
    for run in runs:
        trace_from_react(run, log="x", where="x")


LONG = 200_000


@pytest.mark.parametrize(
    ("name", "record"),
    [
        ("few_shot", {"messages_display": "tool: " * LONG}),
        ("few_shot", {"messages_display": "tool: \n" * 20_000}),
        (
            "nebius",
            {
                **examples.NEBIUS,
                "trajectory": [{"role": "ai", "text": "```a\n" * LONG}],
            },
        ),
        ("magentic", [{"role": "A" + " " * LONG + "(" * LONG, "content": "x"}]),
        ("magentic", [{"role": "Coder", "content": "x"}] * 20_000),
        (
            "mini_swe_agent",
            [{"role": "assistant", "content": "```bash\n" * LONG}],
        ),
        ("mini_swe_agent", [{"role": "user", "content": "x"}] * 20_000),
        (
            "swe_agent",
            {"history": [{"role": "system", "content": "open:\n  docstring: x\n" * LONG}]},
        ),
        ("adp", {**examples.ADP, "content": [examples.ADP["content"][0]] * 20_000}),
        (
            "openhands_events",
            [{**examples.OPENHANDS_EVENTS[1], "id": number} for number in range(5_000)],
        ),
    ],
    ids=[
        "one line of speakers", "many speakers", "open code blocks", "spaces and brackets",
        "many speakers in a list", "open commands", "many users", "a command documented often",
        "many observations", "calls of one id",
    ],
)  # fmt: skip
def test_time_grows_with_the_size_and_no_faster(name: str, record: Json) -> None:
    _, read = READERS[name]
    started = time.perf_counter()
    read(record)
    assert time.perf_counter() - started < 10
