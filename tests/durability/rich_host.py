"""A program that exports a run with one of everything; it prints what was recorded as JSON."""

from __future__ import annotations

import json
import sys
from typing import Any

import tracedance_sdk as td


@td.tool
def look(what: str) -> dict[str, Any]:
    return {"seen": what, "ratio": 0.5, "count": 2**40, "none": None, "list": [1, "zwei", "三"]}


@td.tool
def fail(why: str) -> None:
    raise ValueError(why)


@td.tool
def load(size: int) -> str:
    return "large " * (size // 6)


@td.agent(name="helper")
def helper(question: str) -> Any:
    return look(question)


@td.tool
def ask(question: str) -> Any:
    return helper(question)


def main(journal: str) -> None:
    state = {"box": ["a"], "größe": 1}
    recorder = td.TraceRecorder(
        task_id="everything",
        agent="desk",
        state=lambda: dict(state),
        journal=journal,
        system_prompt="Be kind — 親切に。",
        session_id="session-1",
        metadata={"tier": "gold"},
    )
    with recorder:
        recorder.record_turn("user", "What is in the box? 📦")
        recorder.record_turn(
            "assistant",
            "I look.",
            model="some-model",
            calls=[{"id": "call_a", "name": "look", "arguments": {"what": "box"}}],
            usage={"input_tokens": 12, "output_tokens": 3},
            finish_reason="tool_calls",
        )
        look("box")
        try:
            fail('quote " backslash \\ newline \n nul \x00 end')
        except ValueError:
            state["box"] = ["a", "b"]
        load(200_000)
        ask("deeper")
        with recorder.call("by_hand", {"n": 1.0}, requested_by="user") as call:
            call.result = [True, False]
        recorder.record_turn("user", "Thanks.")
        recorder.set_outcome(success=True, reward=0.75)
    traces = [json.loads(trace.model_dump_json()) for trace in recorder.traces]
    print(json.dumps({"summary": recorder.close()._asdict(), "traces": traces}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1])["journal"])
