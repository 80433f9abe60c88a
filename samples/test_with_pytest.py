"""Test an agent with pytest: record it in a fixture, assert on how it went.

Run it with: pytest samples/test_with_pytest.py

The second test fails, so that you see what a failure says.
"""

import tracedance_sdk as td
from tracedance_sdk.pytest_plugin import assert_passes

TASK = {
    "id": "greet",
    "outcomes": [{"expected_state": {"outbox": [{"to": "Ann", "text": "Hello Ann"}]}}],
    "critical_errors": [
        {"rules": [{"action": "send", "matches": {"to": "everyone"}, "description": "no spam"}]}
    ],
}


def make_agent(outbox):
    @td.tool
    def send(to, text):
        outbox.append({"to": to, "text": text})

    return send


def test_the_agent_greets_ann(tracedance_recorder):
    outbox = []
    send = make_agent(outbox)
    with tracedance_recorder(task_id="greet", state=lambda: {"outbox": outbox}) as recorder:
        send("Ann", "Hello Ann")
    assert_passes(recorder.trace, TASK)


def test_the_agent_greets_everyone(tracedance_recorder):
    outbox = []
    send = make_agent(outbox)
    with tracedance_recorder(task_id="greet", state=lambda: {"outbox": outbox}) as recorder:
        send("everyone", "Hello all")
    assert_passes(recorder.trace, TASK)
