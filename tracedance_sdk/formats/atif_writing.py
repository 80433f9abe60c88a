"""Write a trace as an ATIF trajectory that other tools read and `traces_from_atif` reads back.

Whatever ATIF has no field for (who wrote a turn, whether a call succeeded, arguments that are no
object, the outcome, the states) stands under ``extra.tracedance`` of the step, call, result or
trajectory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from tracedance_sdk.formats.atif_steps import KEPT, OURS
from tracedance_sdk.formats.openai_tools import json_text, written_tool
from tracedance_sdk.formats.piece_shapes import result_content
from tracedance_sdk.trace import (
    UNKNOWN,
    Call,
    Json,
    Media,
    Part,
    Reasoning,
    Result,
    Text,
    Trace,
    Turn,
    Usage,
    plain,
)

VERSION: Final = "ATIF-v1.7"

_SOURCES: Final = {"system": "system", "user": "user", "assistant": "agent"}
_ORIGINS: Final = {"system": "harness", "user": "human", "assistant": "agent"}
_IMAGES: Final = ("image/jpeg", "image/png", "image/gif", "image/webp")
_SAID_OF_TRACE: Final = frozenset({"turns"})
_SAID_OF_TOOL: Final = frozenset({"name", "description", "parameters"})
_SAID_NATIVELY: Final = ("notes", "continued_trajectory_ref")
_SAID_OF_TURN: Final = frozenset(
    {"index", "role", "content", "calls", "model", "usage", "started_at"}
)
_SAID_OF_CALL: Final = frozenset({"index", "id", "name", "arguments", "result"})


def write_atif(trace: Trace, *, children: Iterable[Trace] = ()) -> dict[str, Json]:
    """Return a trace as an ATIF trajectory, ready for `json.dumps`.

    Args:
        trace: Any trace.
        children: Traces of sub-agents to embed, which name this trace as their parent or the
            parent of one another.

    Returns:
        A trajectory of version 1.7. Read again, it gives the same turns, calls and results, and
        the same trace id.

    Example:
        >>> turn = Turn(index=0, role="user", origin="human", content=(Text(text="Hi"),))
        >>> document = write_atif(Trace(id="run-1", turns=(turn,)))
        >>> document["schema_version"], document["steps"]
        ('ATIF-v1.7', [{'step_id': 1, 'source': 'user', 'message': 'Hi'}])
    """
    below: dict[str, list[Trace]] = {}
    for child in children:
        if child.parent is not None:
            below.setdefault(child.parent.trace_id, []).append(child)
    root = _trajectory(trace, below.get(trace.id, ()))
    pending = [(root, trace.id)]
    while pending:
        document, trace_id = pending.pop()
        embedded: list[Json] = []
        for child in below.pop(trace_id, ()):
            written = _trajectory(child, below.get(child.id, ()))
            embedded.append(written)
            pending.append((written, child.id))
        if embedded:
            document["subagent_trajectories"] = embedded
    return root


def _trajectory(trace: Trace, children: Iterable[Trace]) -> dict[str, Json]:
    by_call: dict[str, list[str]] = {}
    for child in children:
        if child.parent is not None and child.parent.call_id is not None:
            by_call.setdefault(child.parent.call_id, []).append(child.id)
    steps: list[dict[str, Json]] = []
    if trace.system_prompt:
        mark = {OURS: {"is_system_prompt": True}}
        steps.append({"source": "system", "message": trace.system_prompt, "extra": mark})
    steps += [_step(turn, by_call) for turn in trace.turns]
    if not trace.system_prompt and trace.turns and trace.turns[0].role == "system":
        # Else the first turn would be read as the system prompt.
        steps[0] = _with_own(steps[0], {"origin": trace.turns[0].origin})
    return {
        "schema_version": VERSION,
        "session_id": trace.session_id or trace.id,
        "trajectory_id": trace.id,
        "agent": _agent(trace),
        "steps": [{"step_id": number, **step} for number, step in enumerate(steps, 1)],
        **{k: trace.metadata[k] for k in _SAID_NATIVELY if k in trace.metadata},
        "final_metrics": _totals(trace, len(steps)),
        "extra": {OURS: _own(trace)},
    }


def _own(trace: Trace) -> dict[str, Json]:
    own = {k: v for k, v in plain(trace).items() if k not in _SAID_OF_TRACE}
    own["agent"] = plain(trace.agent)
    own.update({key: None for key in ("session_id", "source") if getattr(trace, key) is None})
    if trace.system_prompt:
        del own["system_prompt"]
    if all(set(plain(tool)) <= _SAID_OF_TOOL for tool in trace.tools):
        own.pop("tools", None)
    return own


def _with_own(step: dict[str, Json], own: dict[str, Json]) -> dict[str, Json]:
    extra = step.get("extra")
    known = dict(extra) if isinstance(extra, dict) else {}
    before = known.get(OURS)
    return {**step, "extra": {**known, OURS: {**own, **(before or {})}}}


def _agent(trace: Trace) -> dict[str, Json]:
    agent: dict[str, Json] = {
        "name": trace.agent.name,
        "version": trace.agent.version or "unknown",
    }
    model = next((turn.model for turn in trace.turns if turn.model), None)
    if model is not None:
        agent["model_name"] = model
    if trace.tools:
        agent["tool_definitions"] = [written_tool(tool) for tool in trace.tools]
    return agent


def _totals(trace: Trace, steps: int) -> dict[str, Json]:
    found: dict[str, Json] = {"total_steps": steps}
    for name, key in (
        ("input_tokens", "total_prompt_tokens"),
        ("output_tokens", "total_completion_tokens"),
        ("cache_read_tokens", "total_cached_tokens"),
        ("cost_usd", "total_cost_usd"),
    ):
        values = [getattr(turn.usage, name) for turn in trace.turns if turn.usage is not None]
        known = [value for value in values if value is not None]
        if known:
            found[key] = sum(known)
    return found


def _step(turn: Turn, by_call: Mapping[str, list[str]]) -> dict[str, Json]:
    document = plain(turn)
    own = {k: v for k, v in document.items() if k not in _SAID_OF_TURN}
    if turn.origin == _ORIGINS[turn.role]:
        del own["origin"]
    step: dict[str, Json] = {"source": _SOURCES[turn.role]}
    if "started_at" in document:
        step["timestamp"] = document["started_at"]
    message, thought = _message(turn.content)
    step["message"] = message
    if turn.role == "assistant":
        if turn.model:
            step["model_name"] = turn.model
        elif turn.model is not None:
            own["model"] = turn.model
        if thought is not None:
            step["reasoning_content"] = thought
        if turn.usage is not None:
            step["metrics"] = _metrics(turn.usage)
        _add_calls(step, turn.calls, by_call)
    else:
        own.update((key, document[key]) for key in ("model", "usage", "calls") if key in document)
    if turn.usage is not None and (turn.usage.model_extra or not plain(turn.usage)):
        own["usage"] = plain(turn.usage)
    if not _is_native(turn):
        own["content"] = document.get("content", [])
    _say_natively(step, own, turn)
    return _with_own(step, own) if own else step


def _say_natively(step: dict[str, Json], own: dict[str, Json], turn: Turn) -> None:
    """Move what ATIF has a field for out of our own facts of a turn."""
    if own.get("copied_context") is True:
        step["is_copied_context"] = own.pop("copied_context")
    if turn.role == "assistant" and turn.settings and set(turn.settings) == {"reasoning_effort"}:
        step["reasoning_effort"] = turn.settings["reasoning_effort"]
        del own["settings"]
    if turn.synthetic and turn.role == "assistant" and "metrics" not in step:
        step["llm_call_count"] = 0
    kept = own.get(KEPT)
    if not isinstance(kept, dict) or set(kept) & {*step, "metrics", "observation"}:
        return
    if not isinstance(kept.get("extra", {}), dict) or OURS in kept.get("extra", {}):
        return
    step.update(own.pop(KEPT))


def _message(content: Iterable[Part]) -> tuple[Json, str | None]:
    """Return what a turn says as a message, and its reasoning."""
    thoughts = [part.text for part in content if isinstance(part, Reasoning)]
    shown = [part for part in content if not isinstance(part, Reasoning)]
    parts = [written for part in shown if (written := _part(part)) is not None]
    thought = "\n\n".join(thoughts) if thoughts else None
    if all(isinstance(part, Text) for part in shown):
        return "\n".join(part.text for part in shown if isinstance(part, Text)), thought
    return parts or "", thought


def _part(part: Part) -> dict[str, Json] | None:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if not isinstance(part, Media) or part.mime_type not in _IMAGES:
        return None
    path = part.uri
    if path is None and isinstance(part.data, str):
        path = f"data:{part.mime_type};base64,{part.data}"
    if path is None:
        return None
    return {"type": "image", "source": {"media_type": part.mime_type, "path": path}}


def _is_native(turn: Turn) -> bool:
    """Whether ATIF's message and reasoning say all of a turn's content."""
    content = list(turn.content)
    if content and isinstance(content[0], Reasoning) and turn.role == "assistant":
        if content[0].model_extra or not content[0].text:
            return False
        content.pop(0)
    if not content:
        return True
    only = content[0]
    return len(content) == 1 and isinstance(only, Text) and not only.model_extra and only.text != ""


def _metrics(usage: Usage) -> dict[str, Json]:
    known = plain(usage)
    found: dict[str, Json] = {}
    extra: dict[str, Json] = {}
    for ours, theirs in (
        ("input_tokens", "prompt_tokens"),
        ("output_tokens", "completion_tokens"),
        ("cache_read_tokens", "cached_tokens"),
        ("cost_usd", "cost_usd"),
    ):
        if ours in known:
            found[theirs] = known[ours]
    for ours, theirs in (
        ("reasoning_tokens", "reasoning_tokens"),
        ("cache_write_tokens", "cache_creation_input_tokens"),
    ):
        if ours in known:
            extra[theirs] = known[ours]
    return {**found, **({"extra": extra} if extra else {})}


def _add_calls(
    step: dict[str, Json], calls: Iterable[Call], by_call: Mapping[str, list[str]]
) -> None:
    calls = list(calls)
    written = [_call(call) for call in calls]
    is_ambiguous = len({call.id for call in calls if call.id}) < len(calls)
    results = [
        _result(call, call.result, by_call.get(call.id, ()), position if is_ambiguous else None)
        for position, call in enumerate(calls)
        if call.result is not None
    ]
    if written:
        step["tool_calls"] = written
    if results:
        step["observation"] = {"results": results}


def _call(call: Call) -> dict[str, Json]:
    own = {k: v for k, v in plain(call).items() if k not in _SAID_OF_CALL}
    if call.bound_by == (None if call.result is None else "id"):
        own.pop("bound_by", None)
    else:
        own["bound_by"] = call.bound_by
    if not call.id:
        own["id"] = call.id
    is_object = isinstance(call.arguments, dict)
    if call.arguments is UNKNOWN:
        own["arguments_unknown"] = True
    elif not is_object:
        own["arguments"] = call.arguments
    return {
        "tool_call_id": call.id,
        "function_name": call.name,
        "arguments": call.arguments if is_object else {},
        **({"extra": {OURS: own}} if own else {}),
    }


def _is_content(value: Json) -> bool:
    """Whether a value is a list of ATIF's content parts that would be read as it is."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(part, dict) and part.get("type") in ("text", "image") for part in value)
        and result_content(value) is value
    )


def _result(
    call: Call, result: Result, children: Iterable[str], position: int | None
) -> dict[str, Json]:
    own = {k: v for k, v in plain(result).items() if k != "content"}
    if own.get("ok", UNKNOWN) is None:
        del own["ok"]
    if position is not None:
        own["position"] = position
    written: dict[str, Json] = {"source_call_id": call.id}
    if isinstance(result.content, str) or _is_content(result.content):
        written["content"] = result.content
    elif result.content is not UNKNOWN:
        written["content"] = json_text(result.content)
        own["content"] = result.content
    references: list[Json] = [{"trajectory_id": child} for child in children]
    if references:
        written["subagent_trajectory_ref"] = references
    if own:
        written["extra"] = {OURS: own}
    return written
