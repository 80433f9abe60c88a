"""What is kept of a run before a cut: what its model was shown, and nothing beside it.

Everything that is not named here stays behind: reasoning, signatures, what sources keep in fields
of their own, times, usage, titles, outcomes, states, and all that came at the cut or later.
"""

from __future__ import annotations

from typing import Any, Final

from tracedance_sdk.behaviors.cutting.reasoning import without_reasoning
from tracedance_sdk.trace import (
    Agent,
    Call,
    Media,
    Part,
    Reasoning,
    Result,
    Source,
    Text,
    Trace,
    Turn,
    assess,
    encode_json,
)

_OF_TEXT: Final = ("origin", "origin_rule", "joined", "refusal")
_OF_TURN: Final = ("origin_rule", "compaction")


def kept_trace(trace: Trace, cut: int) -> Trace:
    """Return a run up to a turn, as a model is to be shown it.

    Args:
        trace: The run, with the tools that are offered.
        cut: Index of the first turn that is withheld.

    Returns:
        A trace whose turns have the indices that they had.
    """
    source = trace.source
    return assess(
        Trace(
            id=trace.id,
            group=trace.group,
            task_id=trace.task_id,
            agent=Agent(name=trace.agent.name, version=trace.agent.version),
            system_prompt=trace.system_prompt,
            tools=trace.tools,
            turns=tuple(map(kept_turn, trace.turns[:cut])),
            source=None if source is None else Source(collector=source.collector),
        )
    )


def kept_turn(turn: Turn) -> Turn:
    """Return a turn without reasoning and without fields of its source's own."""
    is_agent = turn.role == "assistant"
    parts = without_reasoning(turn.content) if is_agent else _unreasoned(turn)
    return Turn(
        index=turn.index,
        role=turn.role,
        origin=turn.origin,
        content=tuple(map(_part, parts)),
        calls=tuple(map(kept_call, turn.calls)),
        name=turn.name,
        synthetic=turn.synthetic,
        **_some(turn.model_extra, _OF_TURN),
    )


def kept_call(call: Call) -> Call:
    """Return a call with its result, without fields of its source's own."""
    result = call.result
    if result is not None:
        result = Result(
            ok=result.ok,
            content=result.content,
            error=result.error,
            exit_code=result.exit_code,
            interrupted=result.interrupted,
            truncated=result.truncated,
        )
    return Call(
        index=call.index,
        id=call.id,
        name=call.name,
        arguments=call.arguments,
        raw_arguments=call.raw_arguments,
        result=result,
        requested_by=call.requested_by,
        parent_call_id=call.parent_call_id,
        bound_by=call.bound_by,
    )


def kept_bytes(trace: Trace) -> bytes:
    """Return a kept run as it is hashed and compared.

    Raises:
        InvalidTrace: It holds a value that is not JSON.
    """
    return encode_json(trace)


def _unreasoned(turn: Turn) -> tuple[Part, ...]:
    return tuple(part for part in turn.content if not isinstance(part, Reasoning))


def _part(part: Part) -> Part:
    if isinstance(part, Text):
        return Text(text=part.text, **_some(part.model_extra, _OF_TEXT))
    if isinstance(part, Media):
        return Media(modality=part.modality, mime_type=part.mime_type, uri=part.uri, data=part.data)
    return part


def _some(extra: dict[str, Any] | None, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: extra[name] for name in names if name in extra} if extra else {}
