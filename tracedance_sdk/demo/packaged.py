"""The demo's data files: the task, and what a judge said of the four runs."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from tracedance_sdk.grading import TaskSpec, parse_spec
from tracedance_sdk.judging import RecordedJudge
from tracedance_sdk.trace import parse_json

TASK_FILE: Final = "task.yaml"
JUDGEMENTS_FILE: Final = "judgements.json"


def task_text() -> str:
    """Return the task's YAML file, a specification to learn from."""
    return files(__package__).joinpath(TASK_FILE).read_text(encoding="utf-8")


def judgements_text() -> str:
    """Return the file of recorded judgements."""
    return files(__package__).joinpath(JUDGEMENTS_FILE).read_text(encoding="utf-8")


def demo_task() -> TaskSpec:
    """Return the demo's task."""
    return parse_spec(task_text(), where=TASK_FILE)


def demo_judge() -> RecordedJudge:
    """Return the judge that knows the four runs of the demo."""
    return RecordedJudge.from_document(
        parse_json(judgements_text(), where=JUDGEMENTS_FILE), where=JUDGEMENTS_FILE
    )
