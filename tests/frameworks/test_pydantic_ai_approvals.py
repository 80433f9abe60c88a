"""Calls of Pydantic AI that somebody approved with other arguments."""

from __future__ import annotations

from typing import Any

import pytest

from tests.frameworks.pydantic_ai_scripts import call, recording, saying, text

pytestmark = [
    pytest.mark.usefixtures("own_loop"),
    pytest.mark.installs("pydantic_ai"),
    pytest.mark.needs("pydantic_ai"),
    pytest.mark.filterwarnings("default"),
]


def test_what_was_asked_for_is_kept_where_whoever_approved_changed_it() -> None:
    from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ToolApproved

    output: Any = [str, DeferredToolRequests]
    agent: Any = Agent(saying([call("send", "c1", to="sam")], [text("done")]), output_type=output)

    def send(to: str) -> str:
        return f"sent to {to}"

    agent.tool_plain(requires_approval=True)(send)
    with recording() as recorder:
        first = agent.run_sync("go")
        approved = {"c1": ToolApproved(override_args={"to": "john"})}
        agent.run_sync(
            message_history=first.all_messages(),
            deferred_tool_results=DeferredToolResults(approvals=approved),
        )
    (made,) = recorder.trace.actions
    assert (made.arguments, made.model_extra) == (
        {"to": "john"},
        {"asked_arguments": {"to": "sam"}},
    )
    assert made.result is not None
    assert made.result.content == "sent to john"
