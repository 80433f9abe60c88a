"""τ²-bench's result files: simulations of an agent and a user who both may use tools.

The file holds the settings of the runs once (``info``), the tasks once, and the simulations. The
policy of the domain is the agent's system prompt; what a task expects is no part of what the
agent saw and stands under ``metadata["reference"]``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tracedance_sdk.formats.benchmarks.stepping import take_each
from tracedance_sdk.formats.benchmarks.usages import usage_fields
from tracedance_sdk.formats.openai_tools import tools_from_chat
from tracedance_sdk.formats.places import Place, expect, field, optional
from tracedance_sdk.formats.transcript import Transcript, reasoning_part, text_part
from tracedance_sdk.trace import (
    UNKNOWN,
    ErrorInfo,
    Json,
    Origin,
    Outcome,
    Source,
    Trace,
    imported_trace_id,
    source_digest,
)

NAME: Final = "tau2_bench"
GREETING: Final = "Hi! How can I help you today?"
"""The agent's first message, which the harness says in its name."""

_PROPER_ENDS: Final = frozenset({"user_stop", "agent_stop"})
_RUN_FIELDS: Final = frozenset(
    {"id", "messages", "reward_info", "termination_reason", "start_time", "end_time", "task_id"}
)
_MESSAGE_FIELDS: Final = frozenset(
    {"role", "content", "tool_calls", "reasoning", "turn_idx", "timestamp", "cost", "usage"}
)


def trace_from_simulation(
    simulation: Json,
    place: Place,
    *,
    info: Mapping[str, Any],
    task: Json = None,
    annotations: Sequence[Json] = (),
    uri: str | None = None,
) -> Trace:
    """Build the trace of one simulation.

    Calls that the user simulator asked for stand in its turns, with ``requested_by`` user.

    Args:
        simulation: An item of ``simulations``.
        place: Where it stands, for errors.
        info: The file's ``info``.
        task: The item of ``tasks`` that it is about.
        annotations: Verdicts on it from files beside, kept as they are.
        uri: The file.

    Raises:
        InvalidTrace: No such record.
        Misfit: A message of another shape.
    """
    fields = place.expect(simulation, dict)
    messages = place.field(fields, "messages", list)
    task_id = str(place.field(fields, "task_id", object))
    log = _Log(optional(dict(info), "agent_info", dict) or {})
    take_each(messages, log.take, "messages")
    environment = optional(dict(info), "environment_info", dict) or {}
    domain = optional(environment, "domain_name", str)
    native_id = optional(fields, "id", str) or source_digest(messages)
    name = f"{domain}/{task_id}" if domain else task_id
    definitions = environment.get("tool_defs")
    return log.turns.trace(
        imported_trace_id(NAME, "", native_id),
        where=place.where,
        group=name,
        task_id=name,
        agent={"name": "tau2-bench", "version": optional(dict(info), "git_commit", str)},
        system_prompt=optional(environment, "policy", str),
        tools=tools_from_chat(definitions, place) if isinstance(definitions, list) else None,
        outcome=_outcome(fields),
        source=Source(collector=NAME, uri=uri, native_id=native_id),
        started_at=optional(fields, "start_time", str),
        ended_at=optional(fields, "end_time", str),
        metadata=_metadata(fields, info, task, annotations),
    )


class _Log:
    def __init__(self, agent: dict[str, Any]) -> None:
        self.turns = Transcript()
        self._model = optional(agent, "llm", str)
        self._settings = optional(agent, "llm_args", dict) or None

    def take(self, index: int, message: dict[str, Any]) -> None:
        role = field(message, "role", str)
        if role == "tool":
            self._answer(message)
            return
        text = optional(message, "content", str) or ""
        parts = [text_part(text)] if text else []
        raw = optional(message, "raw_data", dict) or {}
        told = optional(raw, "message", dict) or {}
        reasoning = optional(message, "reasoning", str) or told.get("reasoning_content")
        if isinstance(reasoning, str) and reasoning:
            parts.insert(0, reasoning_part(reasoning))
        is_greeting = index == 0 and role == "assistant" and text == GREETING
        is_agents = role == "assistant" and not is_greeting
        self.turns.say(
            "assistant" if role == "assistant" else "user" if role == "user" else "system",
            parts,
            origin=_ORIGINS.get("greeting" if is_greeting else role, "harness"),
            model=self._model if is_agents else None,
            settings=self._settings if is_agents else None,
            usage=None if is_greeting else _usage(message),
            finish_reason=optional(raw, "finish_reason", str) or optional(raw, "stop_reason", str),
            started_at=optional(message, "timestamp", str),
            tau2=_leftover(index, message, raw, told) or None,
        )
        for item in optional(message, "tool_calls", list) or []:
            self._request(expect(item, dict), role)

    def _request(self, entry: dict[str, Any], role: str) -> None:
        given = entry.get("arguments", UNKNOWN)
        self.turns.request(
            field(entry, "name", str),
            call_id=optional(entry, "id", str),
            arguments=UNKNOWN if isinstance(given, str) else given,
            text=given if isinstance(given, str) else None,
            requested_by="user" if role == "user" else "agent",
        )

    def _answer(self, message: dict[str, Any]) -> None:
        content = message.get("content")
        error = optional(message, "error", bool)
        text = content if isinstance(content, str) else ""
        has_failed = text.startswith("Error:") if error is None else error
        self.turns.answer(
            optional(message, "id", str),
            content=content,
            ok=not has_failed,
            error=_error(text) if has_failed else None,
            ended_at=optional(message, "timestamp", str),
        )


_ORIGINS: Final[dict[str, Origin]] = {
    "greeting": "harness",
    "assistant": "agent",
    "user": "human",
    "system": "harness",
}


def _usage(message: dict[str, Any]) -> dict[str, Any] | None:
    return usage_fields(message.get("usage"), cost_usd=message.get("cost") or None)


def _leftover(
    index: int, message: dict[str, Any], raw: dict[str, Any], told: dict[str, Any]
) -> dict[str, Json]:
    """Return what a message says beyond our fields; its raw form without what repeats it."""
    known = (*_MESSAGE_FIELDS, "raw_data")
    found = {k: v for k, v in message.items() if k not in known and v is not None}
    if message.get("turn_idx", index) != index:
        found["turn_idx"] = message["turn_idx"]
    repeated = ("message", "finish_reason", "stop_reason", "role", "index")
    rest = {k: v for k, v in raw.items() if k not in repeated and v not in (None, {}, [])}
    spoken = ("content", "role", "tool_calls", "function_call", "reasoning_content")
    beyond = {k: v for k, v in told.items() if k not in spoken and v not in (None, {}, [])}
    if told and _names(told.get("tool_calls")) != _names(message.get("tool_calls")):
        # What the model asked for and the harness took otherwise, such as the end of the run.
        beyond["tool_calls"] = told.get("tool_calls")
    if told.get("content") and told["content"] != message.get("content"):
        beyond["content"] = told["content"]
    if beyond:
        rest["message"] = beyond
    if rest:
        found["raw_data"] = rest
    return found


def _names(calls: Json) -> list[Json]:
    """Return the names of calls in either form."""
    entries = [item for item in calls if isinstance(item, dict)] if isinstance(calls, list) else []
    return [
        item["function"].get("name") if isinstance(item.get("function"), dict) else item.get("name")
        for item in entries
    ]


def _error(text: str) -> dict[str, str]:
    return {"type": "Error", "message": text.removeprefix("Error:").strip()}


def _outcome(fields: dict[str, Any]) -> Outcome:
    told = optional(fields, "reward_info", dict) or {}
    reward = optional(told, "reward", float)
    ending = optional(fields, "termination_reason", str)
    has_ended = None if ending is None else ending in _PROPER_ENDS
    details: dict[str, Json] = {k: v for k, v in told.items() if k != "reward"}
    if ending is not None:
        details["termination_reason"] = ending
    return Outcome(
        success=None if reward is None else reward == 1,
        reward=reward,
        ended=has_ended,
        error=ErrorInfo(type=ending) if has_ended is False and ending else None,
        details=details,
    )


def _metadata(
    fields: dict[str, Any], info: Mapping[str, Any], task: Json, annotations: Sequence[Json]
) -> dict[str, Json]:
    found: dict[str, Json] = {k: v for k, v in fields.items() if k not in _RUN_FIELDS}
    settings = dict(info)
    environment = settings.get("environment_info")
    if isinstance(environment, dict):
        settings["environment_info"] = {
            k: v for k, v in environment.items() if k != "policy" and v is not None
        }
    found["info"] = settings
    if isinstance(task, dict):
        found["task"] = {k: v for k, v in task.items() if k != "evaluation_criteria"}
        found["reference"] = task.get("evaluation_criteria")
    if annotations:
        found["annotations"] = list(annotations)
    return found
