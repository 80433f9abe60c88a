"""What a benchmark's record says stands somewhere in its trace; exceptions are named with reasons.

Every text and number of the raw records is looked for in the trace's document. Times, for one,
stand there in another form.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tracedance_collectors import (
    adp,
    agentdojo,
    agentrx,
    mini_swe_agent,
    openhands,
    reflexion,
    swe_agent,
    tau2_bench,
    who_and_when,
)

from tests.support.recounting import imported
from tests.support.shared_data import shared_data
from tracedance_sdk.formats import Collector
from tracedance_sdk.trace import encode

WRITTEN_JSON = "parsed"
TIME = "a time as ISO-8601"
MADE_UP_AGAIN = "kept as what stands around thought, command and observation"
STRUCTURE = "the kind of a record, which is where it stands"


class Source(NamedTuple):
    """Files of a format, a sample of them, and where their records are.

    Attributes:
        expected: Paths of values that stand in the trace in another form, with the reason.
    """

    collector: Collector
    folder: str
    pattern: str
    most: int
    key: str | None
    expected: dict[str, str]


SWE_AGENT = {
    "history[].content": MADE_UP_AGAIN,
    "trajectory[].response": MADE_UP_AGAIN,
    "trajectory[].state": WRITTEN_JSON,
    "trajectory[].execution_time": "a duration in milliseconds",
    "history[].message_type": STRUCTURE,
    "history[].role": STRUCTURE,
    "history[].tool_calls[].function.arguments": WRITTEN_JSON,
}
EVENTS = {
    "[].tool_call_metadata.model_response.choices[].message.tool_calls[].type": STRUCTURE,
    "[].tool_call_metadata.model_response.choices[].message.tool_calls[].function.arguments": (
        WRITTEN_JSON
    ),
    "[].action": STRUCTURE,
}
SOURCES = {
    "swe-agent of 2024": Source(
        swe_agent.collector, "swe-agent-verified", "trajs/*", 20, None, SWE_AGENT
    ),
    "swe-agent of 2025": Source(
        swe_agent.collector, "swe-agent-demos", "**/*.traj", 10, None, SWE_AGENT
    ),
    "mini-swe-agent": Source(
        mini_swe_agent.collector,
        "mini-swe-agent-deepseek",
        "deepseek*/*.traj.json.gz",
        8,
        None,
        {"messages[].extra.timestamp": TIME, "messages[].extra.response.created": TIME},
    ),
    "openhands, logs": Source(
        openhands.collector,
        "openhands-swebench",
        "llm_completions/*",
        40,
        None,
        {
            "timestamp": TIME,
            "response.choices[].message.tool_calls[].function.arguments": WRITTEN_JSON,
        },
    ),
    "openhands, events": Source(
        openhands.collector, "openhands-swebench", "event-trajectories/*.json", 4, None, EVENTS
    ),
    "agentdojo": Source(
        agentdojo.collector,
        "agentdojo-runs",
        "*opus*.gz",
        1,
        None,
        {"messages[].role": STRUCTURE, "messages[].error": "split into type and message"},
    ),
    "tau2-bench": Source(
        tau2_bench.collector,
        "tau2-bench",
        "*.json.gz",
        6,
        "simulations",
        {
            "messages[].turn_idx": "the index of the message, kept where it differs",
            "messages[].raw_data.message.tool_calls[].function.arguments": WRITTEN_JSON,
            "messages[].raw_data.message.tool_calls[].type": STRUCTURE,
            "start_time": TIME,
            "end_time": TIME,
        },
    ),
    "who and when": Source(who_and_when.collector, "whoandwhen", "*/*.json", 127, None, {}),
    "agentrx, logs": Source(agentrx.collector, "agentrx", "magentic_dataset/*", 42, None, {}),
    "agentrx, runs": Source(
        agentrx.collector,
        "agentrx",
        "tau_retail/*",
        2,
        None,
        {
            "traj[].tool_calls[].function.arguments": WRITTEN_JSON,
            "traj[].tool_calls[].type": STRUCTURE,
            "traj[].role": STRUCTURE,
        },
    ),
    "adp": Source(
        adp.collector,
        "agent-data-protocol",
        "*/*.json",
        2,
        None,
        {"trajectory[].text": MADE_UP_AGAIN},
    ),
    "alfworld": Source(reflexion.collector, "reflexion", "alfworld/*/*", 22, None, {}),
}


def leaves(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the path and value of everything that is no object or list."""
    pending: list[tuple[str, Any]] = [("", value)]
    while pending:
        path, item = pending.pop()
        if isinstance(item, dict):
            pending.extend(
                (f"{path}.{key}".removeprefix("."), below) for key, below in item.items()
            )
        elif isinstance(item, list):
            pending.extend((f"{path}[]", below) for below in item)
        else:
            yield path, item


def records(path: Path, key: str | None) -> list[Any]:
    data = path.read_bytes()
    data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    if ".jsonl" in path.name:
        return [json.loads(line) for line in data.splitlines()][1:]
    document = json.loads(data)
    if key is not None:
        found: list[Any] = document[key]
        return found
    is_many = isinstance(document, list) and isinstance(document[0], dict)
    is_one = is_many and ("source" in document[0] or "role" in document[0])
    return document if is_many and not is_one else [document]


def missing(record: Any, document: Any) -> Iterator[str]:
    """Yield the paths of values of the record that do not stand in the document."""
    held = [item for _, item in leaves(document)]
    texts = {item for item in held if isinstance(item, str)}
    numbers = {item for item in held if isinstance(item, (int, float))}
    together = "\0".join(texts)
    for path, item in leaves(record):
        if isinstance(item, str):
            is_there = item in texts or item in together
        else:
            is_there = item is None or isinstance(item, bool) or item in numbers
        if not is_there:
            yield path


@pytest.mark.parametrize("name", SOURCES)
def test_everything_said_is_kept(name: str) -> None:
    source = SOURCES[name]
    paths = list(islice(sorted(shared_data(source.folder).glob(source.pattern)), source.most))
    lost: dict[str, int] = {}
    checked = 0
    for path in paths:
        raw = records(path, source.key)
        traces = imported([path], source.collector)
        for record, trace in zip(raw, traces, strict=True):
            checked += 1
            for place in missing(record, encode(trace)):
                place = re.sub(r"\.[\w.-]*\d{6,}[\w.-]*", ".*", place)  # noqa: PLW2901 - an id
                lost[place] = lost.get(place, 0) + 1
    assert checked >= len(paths) > 0
    assert {place: number for place, number in lost.items() if place not in source.expected} == {}
