"""AgentDojo's runs as traces: chat messages, whose tool messages say which call failed.

A run is a user's task, in half of the runs with an instruction of an attacker hidden in what the
tools return. ``success`` says whether the user's task was solved. ``security`` is true where the
attacker's goal was *reached*, and means nothing in runs without an attack. The defence
``repeat_user_prompt`` says the task again after tool results: those turns are the harness's.
"""

from __future__ import annotations

from typing import Any, Final

from tracedance_sdk.formats.benchmarks.stepping import take_each
from tracedance_sdk.formats.openai_tools import tools_from_chat
from tracedance_sdk.formats.places import Place, expect, field, optional
from tracedance_sdk.formats.transcript import Transcript
from tracedance_sdk.trace import (
    UNKNOWN,
    Json,
    Outcome,
    Source,
    Trace,
    imported_trace_id,
    source_digest,
)

NAME: Final = "agentdojo"

_ASKED: Final = frozenset({"function", "args", "id"})


def is_file_header(record: Json) -> bool:
    """Whether a line only tells of the file: ``{"metadata": {"benchmark": ...}}``."""
    return (
        isinstance(record, dict)
        and "messages" not in record
        and isinstance(record.get("metadata"), dict)
    )


def trace_from_agentdojo(
    record: Json, place: Place, *, header: Json = None, uri: str | None = None
) -> Trace:
    """Build the trace of one run.

    Args:
        record: ``{index, messages, metadata, annotations}``.
        place: Where it stands, for errors.
        header: What the file's first line says of all runs: benchmark, name, accuracy.
        uri: The file.

    Returns:
        A trace of which `outcome.success` is the user's task, and in runs with an attack
        ``outcome.details["injection_succeeded"]`` the attacker's.

    Raises:
        InvalidTrace: No such record.
        Misfit: A message of another shape.
    """
    fields = place.expect(record, dict)
    told = place.field(fields, "metadata", dict)
    messages = place.field(fields, "messages", list)
    log = _Log(optional(told, "model", str))
    take_each(messages, log.take, "messages")
    if not messages:
        # A run that was graded had at least its task.
        log.turns.note("record_lost", "turns")
    name = optional(told, "name", str) or str(fields.get("index", ""))
    suite, task = optional(told, "suite_name", str), optional(told, "user_task_id", str)
    task_id = "/".join(part for part in (suite, task) if part) or name
    run = _run_name(header)
    metadata: dict[str, Json] = {**{k: v for k, v in fields.items() if k != "messages"}, **told}
    if run is not None:
        metadata["run"] = header
    return log.turns.trace(
        imported_trace_id(NAME, f"{run or ''}/{source_digest(messages)}", f"{suite}/{name}"),
        where=place.where,
        group=task_id,
        task_id=task_id,
        agent={"name": "agentdojo"},
        system_prompt=log.system_prompt,
        tools=tools_from_chat(fields.get("tools"), place.at("tools")) or None,
        outcome=_outcome(told),
        source=Source(collector=NAME, uri=uri, native_id=f"{suite}/{name}"),
        metadata={k: v for k, v in metadata.items() if k != "metadata" and v != []},
    )


def _run_name(header: Json) -> str | None:
    name = header.get("name") if isinstance(header, dict) else None
    return name if isinstance(name, str) else None


def _outcome(told: dict[str, Any]) -> Outcome:
    details: dict[str, Json] = {}
    if told.get("injection_task_id") is not None and isinstance(told.get("security"), bool):
        details["injection_succeeded"] = told["security"]
    return Outcome(success=optional(told, "success", bool), details=details)


class _Log:
    def __init__(self, model: str | None) -> None:
        self.turns = Transcript()
        self._model = model
        self.system_prompt: str | None = None
        self._task: str | None = None

    def take(self, index: int, message: dict[str, Any]) -> None:
        role = field(message, "role", str)
        content = message.get("content")
        if role == "tool":
            self._answer(message, content)
            return
        text = content if isinstance(content, str) else None
        if role == "system" and index == 0 and text is not None:
            self.system_prompt = text
        elif role == "system":
            self.turns.say("system", text, origin="harness")
        elif role == "user":
            self._hear(text)
        else:
            self.turns.say("assistant", text, origin="agent", model=self._model)
            for item in optional(message, "tool_calls", list) or []:
                self._request(expect(item, dict))

    def _hear(self, text: str | None) -> None:
        """Add what stands in the user's role: the task, or the defence that says it again."""
        last = self.turns.last
        is_again = last is not None and bool(last["calls"]) and text == self._task
        if self._task is None:
            self._task = text
        self.turns.say(
            "user",
            text,
            origin="harness" if is_again else "human",
            origin_rule="repeat-user-prompt" if is_again else None,
        )

    def _request(self, entry: dict[str, Any]) -> None:
        function = field(entry, "function", dict)
        given = function.get("arguments", UNKNOWN)
        self.turns.request(
            field(function, "name", str),
            call_id=optional(entry, "id", str),
            arguments=UNKNOWN if isinstance(given, str) else given,
            text=given if isinstance(given, str) else None,
        )

    def _answer(self, message: dict[str, Any], content: Json) -> None:
        asked = optional(message, "tool_call", dict) or {}
        error = optional(message, "error", str)
        kept = {k: v for k, v in asked.items() if k not in _ASKED and v is not None}
        self.turns.answer(
            optional(message, "tool_call_id", str),
            name=optional(asked, "function", str),
            content=content,
            ok=error is None if "error" in message else None,
            error=None if error is None else _error(error),
            agentdojo=kept or None,
        )


def _error(text: str) -> dict[str, str]:
    kind, colon, message = text.partition(": ")
    if colon and kind.isidentifier():
        return {"type": kind, "message": message}
    return {"type": "Error", "message": text}
