"""The rules on who wrote a message hold for every reader, and change nothing that is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.formats import (
    Transcript,
    collect_paths,
    messages_from_trace,
    origin_rules,
    read_messages,
    trace_from_messages,
)

REMINDER = "<system-reminder>Be brief.</system-reminder>"
OWN = """
rules:
- {id: nightly, prefix: ["Nightly check:"], origin: harness}
- {id: mine, agents: [my-agent], prefix: ["Go on."], origin: harness}
"""


@pytest.fixture
def own_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "origins.yaml"
    path.write_text(OWN)
    monkeypatch.setenv("TRACEDANCE_ORIGINS", str(path))
    return path


def chat(*texts: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text} for text in texts]


def origins(trace: Any) -> list[tuple[str, Any]]:
    return [
        (turn.origin, (turn.__pydantic_extra__ or {}).get("origin_rule")) for turn in trace.turns
    ]


def test_messages_are_attributed_and_written_as_they_were() -> None:
    messages = chat("Hi", REMINDER, [{"type": "text", "text": REMINDER}], "[Request interrupted by")
    trace = trace_from_messages(messages, trace_id="t")
    assert origins(trace) == [
        ("human", None),
        ("harness", "system-reminder"),
        ("harness", "system-reminder"),
        ("human", None),
    ]
    assert messages_from_trace(trace) == messages


def test_a_mixed_message_is_a_human_s_and_written_as_it_was() -> None:
    messages = chat(f"Go on.\n{REMINDER}", f"Stop. \n {REMINDER}\nNow.", [
        {"type": "text", "text": f"Look.\n{REMINDER}"},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
    ])  # fmt: skip
    trace = trace_from_messages(messages, trace_id="t")
    assert {origin for origin, _ in origins(trace)} == {"human"}
    said = [
        [(part.__pydantic_extra__ or {}).get("origin") for part in turn.content]
        for turn in trace.turns
    ]
    assert said == [[None, "harness"], [None, "harness", None], [None, "harness", None]]
    assert messages_from_trace(trace) == messages


MIXED = [REMINDER, "<tick>", "Hi", "\n", " ", "[Request interrupted by user"]


@given(st.lists(st.lists(st.sampled_from(MIXED)).map("".join)))
def test_whatever_is_mixed_is_written_as_it_was(texts: list[str]) -> None:
    messages = chat(*texts)
    assert messages_from_trace(trace_from_messages(messages, trace_id="t")) == messages


def test_rules_of_a_client_hold_for_its_traces_alone(own_rules: Path) -> None:
    messages = chat("Nightly check: x", "Go on.")
    known = [("harness", "nightly"), ("harness", "mine")]
    assert origins(trace_from_messages(messages, trace_id="t", agent={"name": "my-agent"})) == known
    unknown = [("harness", "nightly"), ("human", None)]
    assert origins(trace_from_messages(messages, trace_id="t")) == unknown
    assert origins(read_messages(messages, agent="My Agent")) == known


def test_a_transcript_is_attributed_too(own_rules: Path) -> None:
    log = Transcript()
    log.say("user", "Nightly check: x", origin="human")
    log.say("user", "Nightly check: y", origin="human", origin_rule="typed")
    log.say("user", "Go on.", origin="human")
    log.say("assistant", "Nightly check: z", origin="agent")
    trace = log.trace("t", where="x", agent={"name": "my-agent"})
    expected = [("harness", "nightly"), ("human", "typed"), ("harness", "mine"), ("agent", None)]
    assert origins(trace) == expected


def test_who_knows_who_wrote_what_is_believed(own_rules: Path) -> None:
    log = Transcript(knows_origins=True)
    log.say("user", "Nightly check: x", origin="human")
    assert origins(log.trace("t", where="x")) == [("human", None)]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["Find it."], [("agent", "subagent-task")]),
        (["Find it.", "And now?"], [("agent", "subagent-task"), ("human", None)]),
        ([REMINDER, "Find it."], [("harness", "system-reminder"), ("agent", "subagent-task")]),
        (["[Subagent Context] x", "Hi"], [("agent", "openclaw-subagent-task"), ("human", None)]),
    ],
)
def test_the_first_prompt_of_a_sub_agent_is_its_caller_s(
    texts: list[str], expected: list[tuple[str, Any]]
) -> None:
    parent = {"trace_id": "p", "call_id": None}
    assert origins(trace_from_messages(chat(*texts), trace_id="t", parent=parent)) == expected
    log = Transcript()
    for text in texts:
        log.say("user", text, origin="human")
    assert origins(log.trace("t", where="x", parent=parent)) == expected


def test_broken_rules_are_one_error_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        (tmp_path / f"{number}.json").write_text(json.dumps(chat("Hi")))
    broken = tmp_path / "rules.yaml"
    broken.write_text("rules: [{id: x}]")
    monkeypatch.setenv("TRACEDANCE_ORIGINS", str(broken))
    with pytest.raises(InvalidOption, match=r"TRACEDANCE_ORIGINS: .*rules\.yaml: .*rules\[0\]"):
        list(collect_paths([tmp_path]))


@given(st.text(alphabet="<>[/ \nabsystem-reminder", max_size=60))
def test_what_no_rule_may_know_is_a_human_s(text: str) -> None:
    rules = origin_rules()
    found = rules.attribute(text, role="user")
    assert rules.may_know(text) or (found.origin, found.rule) == ("human", "none")
