"""Rows of nebius/SWE-agent-trajectories: SWE-agent's messages with the verdict of the tests."""

from __future__ import annotations

import re
from typing import Any, Final

from tracedance_sdk.formats.benchmarks.swe_agent_commands import (
    command_name,
    command_result,
    documented_commands,
)
from tracedance_sdk.formats.places import Place, expect, field, optional
from tracedance_sdk.formats.transcript import Transcript, text_part
from tracedance_sdk.trace import (
    ErrorInfo,
    Json,
    Outcome,
    Source,
    Trace,
    imported_trace_id,
    source_digest,
)

NAME: Final = "adp"

_BLOCK: Final = re.compile(r"^```(\w*)[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)


def trace_from_nebius_row(row: Json, place: Place, *, uri: str | None = None) -> Trace:
    """Build the trace of a row.

    The command is the last code block of a reply, as for SWE-agent itself; what stands before it
    is text.

    Args:
        row: ``{instance_id, model_name, target, trajectory, exit_status, ...}``.
        place: Where it stands, for errors.
        uri: The file.

    Returns:
        A trace whose `outcome.success` is ``target``: whether the tests passed.

    Raises:
        InvalidTrace: No such row.
        Misfit: A message of another shape.
    """
    fields = place.expect(row, dict)
    task = place.field(fields, "instance_id", str)
    messages = place.field(fields, "trajectory", list)
    log = _Log(optional(fields, "model_name", str))
    for item in messages:
        log.take(expect(item, dict))
    status = optional(fields, "exit_status", str)
    stopped = (status or "").removeprefix("submitted").strip(" ()")
    known = ("instance_id", "trajectory", "target", "model_name")
    return log.turns.trace(
        imported_trace_id(NAME, source_digest(messages), task),
        where=place.where,
        group=task,
        task_id=task,
        agent={"name": "swe-agent"},
        system_prompt=log.prompt,
        tools=documented_commands(log.prompt or ""),
        outcome=Outcome(
            success=optional(fields, "target", bool),
            ended=None if status is None else status == "submitted",
            error=ErrorInfo(type=stopped) if stopped else None,
            details={k: v for k, v in fields.items() if k not in known},
        ),
        source=Source(collector=NAME, uri=uri, native_id=task),
        metadata={"model_name": fields.get("model_name")},
    )


class _Log:
    def __init__(self, model: str | None) -> None:
        self.turns = Transcript()
        self.prompt: str | None = None
        self._model = model
        self._documented: frozenset[str] = frozenset()
        self._open = False

    def take(self, message: dict[str, Any]) -> None:
        role = field(message, "role", str)
        text = optional(message, "text", str) or ""
        told = ("role", "text", "system_prompt")
        kept = {k: v for k, v in message.items() if k not in told and v not in (None, False)}
        if role == "system":
            self.prompt = optional(message, "system_prompt", str) or text
            self._documented = frozenset(tool.name for tool in documented_commands(self.prompt))
        elif role == "ai":
            self._reply(text, kept)
        elif self._open:
            self._open = False
            self.turns.answer(content=text, **command_result(text))
        else:
            has_begun = any(turn["role"] == "assistant" for turn in self.turns.turns)
            self.turns.say("user", text, origin="harness" if has_begun else "human")

    def _reply(self, text: str, kept: dict[str, Json]) -> None:
        blocks = list(_BLOCK.finditer(text))
        block = blocks[-1] if blocks else None
        thought = text if block is None else text[: block.start()]
        extra = dict(kept)
        if block is not None:
            extra["response"] = {
                "before_action": text[block.start() : block.start(2)],
                "after_action": text[block.end(2) :],
            }
        self.turns.say(
            "assistant",
            [text_part(thought)] if thought else [],
            origin="agent",
            model=self._model,
            swe_agent=extra or None,
        )
        if block is not None:
            action = block[2]
            self.turns.request(
                command_name(action, self._documented), arguments={"command": action}
            )
            self._open = True
