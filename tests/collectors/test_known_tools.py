"""Real logs of known clients call tools that the packaged table knows."""

from __future__ import annotations

import pytest

from tests.support.shared_data import shared_data
from tracedance_sdk.formats import collect_paths, tool_table


@pytest.mark.parametrize(
    ("folder", "unknown"),
    [
        # A tool of the fixture's own, which no client has.
        ("claude-code-log", {("claude-code", "FailingTool")}),
        ("entire-cli-sessions", set()),
        # Cut by whoever published the session.
        ("openclaw-sessions", set()),
        ("openclaw-telemetry", set()),
        ("pi-mono-sessions", set()),
        ("openhands-swebench", set()),
        ("swe-agent-demos", set()),
        ("mini-swe-agent-deepseek", set()),
        ("tau-bench", set()),
        ("tau2-bench", set()),
        # The model made this one up.
        ("agentdojo-runs", {("agentdojo", "search_received_emails")}),
        ("atif-fixtures", set()),
    ],
)
def test_every_tool_called_in_real_logs_is_in_the_table(
    folder: str, unknown: set[tuple[str, str]]
) -> None:
    table = tool_table()
    called = {
        (found.trace.agent.name, call.name)
        for found in collect_paths([shared_data(folder)])
        if found.trace is not None
        for call in found.trace.calls
        if call.name != "unknown"
    }
    missing = set()
    for agent, name in called:
        known = table.lookup(agent, name)
        if known is None or known.by == "pattern":
            missing.add((agent, name))
    assert called
    assert missing == unknown
