"""Record and grade one small run with the installed wheel, never with the source tree.

python use_wheel.py SOURCE_TREE
"""

import sys
from importlib.metadata import entry_points
from pathlib import Path

import tracedance_sdk as td

source_tree = Path(sys.argv[1]).resolve()
package = Path(td.__file__).resolve().parent
if package.is_relative_to(source_tree):
    sys.exit(f"{package} is the source tree, not the installed wheel")
if not (package / "py.typed").is_file():
    sys.exit(f"{package} has no py.typed: type checkers will not see its types")
for entry_point in entry_points(group="tracedance.collectors"):
    entry_point.load()

mailbox = {"sent": []}


@td.tool(effect="write")
def send_email(to: str, body: str) -> dict[str, bool]:
    """Put one message into the mailbox."""
    mailbox["sent"].append({"to": to, "body": body})
    return {"ok": True}


SPEC = {
    "task": {
        "id": "greet",
        "description": "Send Ada a greeting.",
        "initialState": {"sent": []},
        "expectedState": {"sent": [{"to": "ada@example.com"}]},
    },
    "requiredOutcomes": [
        {
            "id": "sent",
            "name": "Greeting sent",
            "description": "Ada has the greeting.",
            "expectedState": {"sent": [{"to": "ada@example.com"}]},
        }
    ],
    "actionCriteria": [],
    "criticalErrorCriteria": [],
}

with td.TraceRecorder(task_id="greet", state=lambda: mailbox, journal="traces") as recorder:
    send_email("ada@example.com", "Good morning")

calls = [call.name for call in recorder.trace.calls]
if calls != ["send_email"]:
    sys.exit(f"recorded {calls!r}, expected one call of send_email")
report = td.evaluate(recorder.trace, SPEC)
if report.verdict.value != "pass":
    sys.exit(f"verdict {report.verdict.value!r}, expected 'pass'")
print("recorded and graded with", package.parent.name, report.verdict.value)
