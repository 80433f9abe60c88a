"""Facts of a run as span attributes, by the conventions where they have a name.

Every argument that is documented as JSON is text already serialised; None means absent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from tracedance_sdk.journal import Attributes
from tracedance_sdk.otel import names
from tracedance_sdk.otel.json_texts import json_text

if TYPE_CHECKING:
    from tracedance_sdk.trace import BoundBy, Json

_SETTINGS: Final[dict[str, tuple[str, type]]] = {
    "temperature": ("gen_ai.request.temperature", float),
    "top_p": ("gen_ai.request.top_p", float),
    "frequency_penalty": ("gen_ai.request.frequency_penalty", float),
    "presence_penalty": ("gen_ai.request.presence_penalty", float),
    "top_k": ("gen_ai.request.top_k", int),
    "seed": ("gen_ai.request.seed", int),
    "max_tokens": ("gen_ai.request.max_tokens", int),
    "max_completion_tokens": ("gen_ai.request.max_tokens", int),
}
"""Sampling settings by the providers' names: the conventional name and its type."""

_USAGE: Final = {
    "input_tokens": names.INPUT_TOKENS,
    "output_tokens": names.OUTPUT_TOKENS,
    "cache_read_tokens": names.CACHE_READ_TOKENS,
    "cache_write_tokens": names.CACHE_WRITE_TOKENS,
    "reasoning_tokens": names.REASONING_TOKENS,
}


def run_attributes(
    *,
    trace_id: str,
    agent_name: str,
    agent_version: str | None = None,
    task_id: str | None = None,
    group: str | None = None,
    session_id: str | None = None,
    parent_trace_id: str | None = None,
    parent_call_id: str | None = None,
    system_prompt: str | None = None,
    tools: str | None = None,
    metadata: str | None = None,
    initial_state: str | None = None,
) -> Attributes:
    """Return what is known of a run when it starts, for its span and its start event.

    Args:
        trace_id: Of our trace, not of OpenTelemetry's.
        agent_name: Who runs.
        agent_version: Of the agent.
        task_id: What the run is about.
        group: The leave-out unit.
        session_id: An id the application really has; becomes the conversation id.
        parent_trace_id: The trace that started this sub-agent.
        parent_call_id: The call in it that did.
        system_prompt: Its text.
        tools: JSON of `tool_definitions`.
        metadata: JSON object.
        initial_state: JSON of the environment before.
    """
    attributes: Attributes = {
        names.OPERATION: names.INVOKE_AGENT,
        names.AGENT_NAME: agent_name,
        names.TRACE_ID: trace_id,
    }
    prompt = [{"type": "text", "content": system_prompt}]
    _add(
        attributes,
        {
            names.AGENT_VERSION: agent_version,
            names.TASK_ID: task_id,
            names.GROUP: group,
            names.CONVERSATION_ID: session_id,
            names.PARENT_TRACE_ID: parent_trace_id,
            names.PARENT_CALL_ID: parent_call_id,
            names.SYSTEM_INSTRUCTIONS: None if system_prompt is None else json_text(prompt),
            names.TOOL_DEFINITIONS: tools,
            names.METADATA: metadata,
            names.INITIAL_STATE: initial_state,
        },
    )
    return attributes


def run_end_attributes(
    *,
    final_state: str | None = None,
    outcome: str | None = None,
    waiting: str | None = None,
) -> Attributes:
    """Return what is known of a run when it has ended, to be added to its span.

    Args:
        final_state: JSON of the environment after.
        outcome: JSON object of the outcome.
        waiting: JSON of the messages since the last chat span that have no span of their own.
    """
    attributes: Attributes = {}
    _add(
        attributes,
        {
            names.FINAL_STATE: final_state,
            names.OUTCOME: outcome,
            names.INPUT_MESSAGES: waiting,
        },
    )
    return attributes


def turn_attributes(message: Mapping[str, Any], *, before: str | None = None) -> Attributes:
    """Return a turn: of an assistant for its chat span, of others for their event.

    Nothing of the turn is lost; its executed calls have spans of their own.

    Args:
        message: The turn, as `message_json` writes it.
        before: JSON of the messages since the last chat span that have no span of their own
            (users' and system turns); only for an assistant's turn.
    """
    text, turn = json_text([message]), message[names.OURS]
    if message["role"] != "assistant" or "synthetic" in turn:
        messages = text if before is None else f"{before[:-1]},{text[1:]}"
        return {names.TURN_INDEX: turn["index"], names.INPUT_MESSAGES: messages}
    attributes: Attributes = {names.OPERATION: names.CHAT, names.TURN_INDEX: turn["index"]}
    if "model" in turn:
        attributes[names.REQUEST_MODEL] = turn["model"]
    if "finish_reason" in message:
        attributes[names.FINISH_REASONS] = (message["finish_reason"],)
    for key, value in turn.get("settings", {}).items():
        name, kind = _SETTINGS.get(key, ("", str))
        if name and isinstance(value, (kind, int)) and not isinstance(value, bool):
            attributes[name] = kind(value)
    usage = turn.get("usage")
    if usage:
        attributes.update((name, usage[field]) for field, name in _USAGE.items() if field in usage)
    if before is not None:
        attributes[names.INPUT_MESSAGES] = before
    attributes[names.OUTPUT_MESSAGES] = text
    return attributes


def joined_messages(texts: Sequence[str]) -> str | None:
    """Return lists of messages, each as JSON, as the JSON of one list; None when there is none."""
    if len(texts) < 2:
        return texts[0] if texts else None
    return f"[{','.join(text[1:-1] for text in texts)}]"


def call_attributes(
    *,
    name: str,
    call_id: str,
    index: int,
    turn: int,
    arguments: str | None,
    raw_arguments: str | None = None,
    bound_by: BoundBy | None = None,
    requested_by: str = "agent",
    parent_call_id: str | None = None,
) -> Attributes:
    """Return what is known of a call when it starts, for its span and its start event.

    Args:
        name: The tool.
        call_id: Of the request it answers, or its own.
        index: Its place in the order in which the run's calls started.
        turn: Index of the turn it belongs to.
        arguments: JSON.
        raw_arguments: The text the model wrote, where it is not the JSON of `arguments`.
        bound_by: How the request was found.
        requested_by: ``agent``, ``user`` or ``tool``.
        parent_call_id: The enclosing call of a nested one.
    """
    attributes: Attributes = {
        names.OPERATION: names.EXECUTE_TOOL,
        names.TOOL_NAME: name,
        names.TOOL_TYPE: "function",
        names.TOOL_CALL_ID: call_id,
        names.CALL_INDEX: index,
        names.TURN_INDEX: turn,
    }
    if arguments is not None:
        attributes[names.TOOL_ARGUMENTS] = arguments
    if raw_arguments is not None:
        attributes[names.RAW_ARGUMENTS] = raw_arguments
    if bound_by is not None:
        attributes[names.BOUND_BY] = bound_by
    if requested_by != "agent":
        attributes[names.REQUESTED_BY] = requested_by
    if parent_call_id is not None:
        attributes[names.ENCLOSING_CALL_ID] = parent_call_id
    return attributes


def result_attributes(
    *,
    ok: bool | None,
    content: str | None = None,
    error_type: str | None = None,
    error_message: str | None = None,
    interrupted: bool = False,
    truncated: bool = False,
    exit_code: int | None = None,
    state_change: str | None = None,
    duration_ms: float | None = None,
) -> Attributes:
    """Return what is known of a call when it has ended, to be added to its span.

    Args:
        ok: None when nobody can tell.
        content: JSON of what came back. Of a failed call it goes under a name of ours, since
            the conventional one is for successes.
        error_type: Class of the exception, or a code.
        error_message: Its text; the span's status description should say the same.
        interrupted: The call never came to its end.
        truncated: The content was cut.
        exit_code: Of a process.
        state_change: JSON Patch of the environment's state.
        duration_ms: On a monotonic clock.
    """
    attributes: Attributes = {names.RESULT_OK: "unknown" if ok is None else ok}
    if content is not None:
        attributes[names.RESULT_CONTENT if ok is False else names.TOOL_RESULT] = content
    if duration_ms is not None:
        attributes[names.DURATION_MS] = duration_ms
    if error_type is not None:
        attributes[names.ERROR_TYPE] = error_type
        if error_message:
            attributes[names.ERROR_MESSAGE] = error_message
    if interrupted:
        attributes[names.RESULT_INTERRUPTED] = True
    if truncated:
        attributes[names.RESULT_TRUNCATED] = True
    if exit_code is not None:
        attributes[names.EXIT_CODE] = exit_code
    if state_change is not None:
        attributes[names.STATE_CHANGE] = state_change
    return attributes


def read_settings(attributes: Attributes) -> dict[str, Json]:
    """Return the sampling settings that a chat span names, by the providers' names."""
    found: dict[str, Json] = {
        field: attributes[name]
        for field, (name, _) in _SETTINGS.items()
        if name in attributes and field != "max_completion_tokens"
    }
    stop = attributes.get(names.STOP_SEQUENCES)
    return found | ({"stop": list(stop)} if isinstance(stop, tuple) else {})


def read_usage(attributes: Attributes) -> dict[str, int]:
    """Return the token counts that a chat span names, by the fields of `Usage`."""
    counts = {field: attributes.get(name) for field, name in _USAGE.items()}
    if counts["cache_write_tokens"] is None:
        counts["cache_write_tokens"] = attributes.get(names.CACHE_CREATION_TOKENS)
    return {field: count for field, count in counts.items() if type(count) is int}


def _add(attributes: Attributes, optional: dict[str, str | None]) -> None:
    attributes.update({key: value for key, value in optional.items() if value is not None})
