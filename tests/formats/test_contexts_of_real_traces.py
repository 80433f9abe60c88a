"""Contexts of real traces for three APIs: whole and of the SDKs' types, or refused by name."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import pytest

from tests.formats.test_context_writing import WRITERS, of_types
from tests.support.shared_data import shared_data
from tracedance_sdk.errors import Unsendable
from tracedance_sdk.formats import collect_paths
from tracedance_sdk.replay import DecisionPoint, decision_points

MOST = 40
"""Traces of each folder, from the first."""

LEFT_OUT = {
    # The clients' logs of sub-agents hold no task.
    "agent-sessions-fixtures": {"empty context", "name of a tool", "content elsewhere"}
    | {"arguments missing", "arguments are no object", "ends with the assistant"},
    "claude-code-log": {"empty context", "content elsewhere"}
    | {"begins with the assistant", "ends with the assistant"},
    "langfuse-framework-traces": {"ends with the assistant"},
    "otel-spans": {"arguments missing", "begins with the assistant"},
    # The customer service opens every conversation.
    "tau2-bench": {"begins with the assistant"},
    "tau2-judge-verdicts": {"begins with the assistant"},
    # Several agents speak, one after the other.
    "agentrx": {"ends with the assistant", "begins with the assistant"},
    "whoandwhen": {"ends with the assistant"},
    "pi-mono-sessions": {"result missing"},
}
WHOLE = ("agent-data-protocol", "agentdojo-runs", "atif-fixtures", "entire-cli-sessions")
ALSO_WHOLE = ("inspect-logs", "mini-swe-agent-deepseek", "openclaw-sessions", "openhands-swebench")
FOLDERS = (*LEFT_OUT, *WHOLE, *ALSO_WHOLE, "swe-agent-demos", "swe-agent-verified", "tau-bench")


@pytest.mark.parametrize("folder", FOLDERS)
def test_contexts_of_real_traces_are_written_or_refused(folder: str) -> None:
    traces = (item.trace for item in collect_paths([shared_data(folder)]) if item.trace is not None)
    written: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for trace in islice(traces, MOST):
        for point in decision_points(trace):
            if not isinstance(point, DecisionPoint):
                continue
            turns, prompt = point.context
            for api, write in WRITERS.items():
                try:
                    request = write(turns, system_prompt=prompt, tools=point.trace.tools)
                except Unsendable as error:
                    refused[error.kind] += 1
                    continue
                messages = request.get("messages", request.get("input"))
                of_types(api).validate_python(messages)
                written[api] += 1
    assert set(refused) <= LEFT_OUT.get(folder, set())
    assert written["chat"] == written["responses"] >= written["anthropic"]
    assert written or folder == "pi-mono-sessions"
