"""Tasks for Celery, with a folder as broker; as a program, it asks for them and prints the answers.

python -m tests.durability.service_tasks REQUEST...
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from celery import Celery, signals

import tracedance_sdk as td
from tests.durability.service_agent import answer

FOLDER = Path(os.environ["CELERY_FOLDER"])
for part in ("queue", "results", "control"):
    (FOLDER / part).mkdir(exist_ok=True)

app = Celery(
    "service",
    broker="filesystem://",
    backend=f"file://{FOLDER / 'results'}",
    broker_transport_options={
        "data_folder_in": str(FOLDER / "queue"),
        "data_folder_out": str(FOLDER / "queue"),
        "control_folder": str(FOLDER / "control"),
    },
)


@app.task  # type: ignore[untyped-decorator]  # Celery has no types
def ask(request: str) -> str:
    return answer(request)


@signals.worker_process_shutdown.connect  # type: ignore[untyped-decorator]  # as above
def send_what_waits(**_: Any) -> None:
    td.flush()


if __name__ == "__main__":
    results = [app.send_task("tests.durability.service_tasks.ask", [name]) for name in sys.argv[1:]]
    for result in results:
        print(result.get(timeout=60))
