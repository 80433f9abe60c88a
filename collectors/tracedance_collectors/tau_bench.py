"""tau-bench's result files: a list of runs of tasks by an agent, with the environment's reward.

Each run is ``{task_id, trial, reward, info, traj}``; `traj` holds chat messages. What the task
expects (reference actions, outputs, the customer's instruction) lies under ``metadata["task"]``
and is no part of what the agent saw.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from tracedance_sdk.formats import (
    ImportProblem,
    Place,
    Signature,
    documents,
    guarded,
    trace_from_messages,
)
from tracedance_sdk.trace import (
    Json,
    Outcome,
    Source,
    Trace,
    imported_trace_id,
    source_digest,
)

STOP: Final = "###STOP###"
"""What the simulated customer says when the conversation is over."""

TRANSFER: Final = "transfer_to_human_agents"
"""The tool that hands the customer over, which ends the conversation."""

_RUN_FIELDS: Final = frozenset({"task_id", "reward", "info", "traj", "trial"})
_REFERENCE: Final = frozenset({"actions", "outputs"})


class TauBenchCollector:
    """Reads lists of runs, and files with one run a line; plain or gzipped."""

    name = "tau_bench"
    signatures = (Signature.of("task_id", "reward", "traj"),)

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether the first object is a run: it has a task, a reward, and messages."""
        return any(signature.matches(path, head) for signature in self.signatures)

    def collect(self, path: Path) -> Iterator[Trace | ImportProblem]:
        """Yield a trace for every run, in the file's order.

        Raises:
            TraceDanceError: The file as a whole cannot be read.
        """
        for document in documents(path):
            if isinstance(document, ImportProblem):
                yield document
                continue
            is_list = isinstance(document.value, list)
            for index, run in enumerate(document.value if is_list else [document.value]):
                where = str(path) if document.line is None else f"{path}:{document.line}"
                place = Place(where, f"$[{index}]" if is_list else "$")
                read = partial(trace_from_run, run, place, uri=str(path))
                yield from guarded(read, place, str(path), document.line)


def trace_from_run(run: Json, place: Place, *, uri: str | None = None) -> Trace:
    """Build the trace of one run.

    Args:
        run: The parsed run.
        place: Where it stands, for errors.
        uri: The file.

    Returns:
        A trace whose group and task id are the task, and whose outcome has the reward.

    Raises:
        InvalidTrace: A field is missing or of the wrong type.
    """
    fields = place.expect(run, dict)
    task = place.field(fields, "task_id", object)
    if isinstance(task, bool) or not isinstance(task, (str, int)):
        raise place.at("task_id").invalid(f"expected a task id, got {task!r}")
    trial = place.optional(fields, "trial", int) or 0
    info = place.optional(fields, "info", dict) or {}
    messages = place.field(fields, "traj", list)
    reward = place.optional(fields, "reward", float)
    return trace_from_messages(
        messages,
        trace_id=imported_trace_id("tau_bench", source_digest(messages), f"{task}/{trial}"),
        where=place.where,
        path=f"{place.path}.traj",
        mark=marked,
        agent={"name": "tau-bench"},
        group=str(task),
        task_id=str(task),
        outcome=Outcome(
            success=None if reward is None else reward == 1,
            reward=reward,
            ended=has_ended(messages),
            details=_details(info),
        ),
        source=Source(collector="tau_bench", uri=uri, native_id=f"{task}/{trial}"),
        metadata={"trial": trial, **_metadata(fields, info)},
    )


def _details(info: dict[str, Any]) -> dict[str, Json]:
    found = info.get("reward_info")
    return found if isinstance(found, dict) else {}


def _metadata(fields: dict[str, Any], info: dict[str, Any]) -> dict[str, Json]:
    """Return what the run says beside its messages, the expected solution under ``reference``."""
    found: dict[str, Json] = {k: v for k, v in fields.items() if k not in _RUN_FIELDS}
    found.update((k, v) for k, v in info.items() if k not in ("task", "reward_info"))
    task = info.get("task")
    if isinstance(task, dict):
        found["task"] = {k: v for k, v in task.items() if k not in _REFERENCE}
        found["reference"] = {k: v for k, v in task.items() if k in _REFERENCE}
    return found


def has_ended(messages: list[Json]) -> bool:
    """Whether a conversation came to its end: the customer's stop word, or a transfer.

    Args:
        messages: The run's chat messages.
    """
    last = messages[-1] if messages else None
    if not isinstance(last, dict):
        return False
    if last.get("role") == "tool":
        return last.get("name") == TRANSFER
    text = last.get("content")
    return last.get("role") == "user" and isinstance(text, str) and STOP in text


def marked(content: Json) -> dict[str, Json]:
    """Return whether a call succeeded, by what the environment answered.

    tau-bench answers a call that fails with a text that starts with ``Error:``, and one of a
    tool that does not exist with ``Unknown action``.
    """
    if not isinstance(content, str):
        return {}
    if not content.startswith(("Error:", "Unknown action")):
        return {"ok": True}
    message = content.removeprefix("Error:").strip()
    return {"ok": False, "error": {"type": "Error", "message": message}}


collector = TauBenchCollector()
