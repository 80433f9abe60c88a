"""Record an agent's tools with a decorator, then grade how the run went.

Run it with: python samples/decorator.py
"""

import tracedance_sdk as td

MAILBOX = {"sent": []}


@td.tool(effect="read")
def find_total(quarter: str) -> int:
    """Look a quarter's revenue up."""
    return {"Q2": 310_000, "Q3": 482_500}[quarter]


@td.tool(effect="write")
def send_email(to: str, body: str) -> str:
    """Send a mail."""
    MAILBOX["sent"].append({"to": to, "body": body})
    return "sent"


def agent() -> None:
    """Stand in for a model: it looks the wrong quarter up first."""
    find_total("Q2")
    send_email("Sam", f"Total revenue: ${find_total('Q3')}")


TASK = {
    "id": "revenue-email",
    "description": "Mail the Q3 total to Sam.",
    "outcomes": [{"expected_state": {"sent": [{"to": "Sam", "body": "Total revenue: $482500"}]}}],
    "actions": [{"rules": [{"action": "find_total", "acceptable_inputs": [{"quarter": "Q3"}]}]}],
    "critical_errors": [{"rules": [{"action": "send_email", "matches": {"to": "John"}}]}],
}


def main() -> None:
    with td.TraceRecorder(task_id="revenue-email", state=MAILBOX) as recorder:
        agent()

    for call in recorder.trace.calls:
        print(f"{call.name}({call.arguments}) -> {call.result.content!r}")

    report = td.evaluate(recorder.trace, TASK)
    print(f"\nverdict: {report.verdict}")
    for grade in report.grades:
        print(f"  {grade.verdict}: {grade.title}: {grade.reason}")


if __name__ == "__main__":
    main()
