"""Rows of nebius/SWE-agent-trajectories: SWE-agent's messages with the verdict of the tests."""

from __future__ import annotations

from typing import Any, Final

from tracedance_sdk.formats.benchmarks.stepping import take_each
from tracedance_sdk.formats.benchmarks.swe_agent_commands import (
    command_name,
    command_result,
    documented_commands,
)
from tracedance_sdk.formats.places import Place, field, optional
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

_FENCE: Final = "```"


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
    take_each(messages, log.take, "trajectory")
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
        metadata={"model_name": fields.get("model_name"), **log.system},
    )


class _Log:
    def __init__(self, model: str | None) -> None:
        self.turns = Transcript()
        self.prompt: str | None = None
        self.system: dict[str, Json] = {}
        """What the system message says beside the prompt."""
        self._model = model
        self._documented: frozenset[str] = frozenset()
        self._open = False
        self._has_begun = False

    def take(self, _index: int, message: dict[str, Any]) -> None:
        role = field(message, "role", str)
        text = optional(message, "text", str) or ""
        told = ("role", "text", "system_prompt")
        kept = {k: v for k, v in message.items() if k not in told and v not in (None, False)}
        if role == "system":
            self.prompt = optional(message, "system_prompt", str) or text
            self.system = kept
            self._documented = frozenset(tool.name for tool in documented_commands(self.prompt))
        elif role == "ai":
            self._reply(text, kept)
        elif self._open:
            self._open = False
            self.turns.answer(content=text, **command_result(text))
        else:
            self.turns.say("user", text, origin="harness" if self._has_begun else "human")

    def _reply(self, text: str, kept: dict[str, Json]) -> None:
        self._has_begun = True
        thought, before, action, after = _split_reply(text)
        extra = dict(kept)
        if action is not None:
            extra["response"] = {"before_action": before, "after_action": after}
        self.turns.say(
            "assistant",
            [text_part(thought)] if thought else [],
            origin="agent",
            model=self._model,
            swe_agent=extra or None,
        )
        if action is not None:
            self.turns.request(
                command_name(action, self._documented), arguments={"command": action}
            )
            self._open = True


def _split_reply(text: str) -> tuple[str, str, str | None, str]:
    """Split a reply at its last code block.

    Returns:
        What stands before the block, the block's first line, its content, and its last line with
        what follows; content None where there is no block.
    """
    lines = text.splitlines(keepends=True)
    opened: int | None = None
    block: tuple[int, int] | None = None
    for index, line in enumerate(lines):
        if opened is None and line.startswith(_FENCE):
            opened = index
        elif opened is not None and line.rstrip() == _FENCE:
            block, opened = (opened, index), None
    if block is None:
        return text, "", None, ""
    first, last = block
    return (
        "".join(lines[:first]),
        lines[first],
        "".join(lines[first + 1 : last]),
        "".join(lines[last:]),
    )
