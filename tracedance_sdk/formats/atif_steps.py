"""The steps of an ATIF trajectory as turns, calls and results."""

from __future__ import annotations

from typing import Any, Final

from tracedance_sdk.errors import shown
from tracedance_sdk.formats.piece_shapes import read_pieces, result_content
from tracedance_sdk.formats.places import Misfit, expect, field, optional
from tracedance_sdk.formats.transcript import Transcript, reasoning_part
from tracedance_sdk.trace import UNKNOWN, Json, Origin, Role

OURS: Final = "tracedance"
"""Key inside ``extra`` under which a written trajectory holds what ATIF has no field for."""

KEPT: Final = "atif"
"""The field of turns, calls and results under which ATIF's own further fields stand."""

_SPEAKERS: Final[dict[str, tuple[Role, Origin]]] = {
    "system": ("system", "harness"),
    "user": ("user", "human"),
    "agent": ("assistant", "agent"),
}
_STEP: Final = frozenset(
    {
        "step_id", "source", "message", "timestamp", "model_name", "reasoning_content",
        "tool_calls", "observation", "metrics", "reasoning_effort",
    }
)  # fmt: skip
_CALL: Final = frozenset({"tool_call_id", "function_name", "arguments"})
_RESULT: Final = frozenset({"source_call_id", "content"})
_USAGE: Final = {
    "prompt_tokens": "input_tokens",
    "completion_tokens": "output_tokens",
    "cached_tokens": "cache_read_tokens",
    "cost_usd": "cost_usd",
}
_MORE_USAGE: Final = {
    "reasoning_tokens": "reasoning_tokens",
    "cache_creation_input_tokens": "cache_write_tokens",
}
_NOTHING: Final[tuple[Json, ...]] = (None, [], {})


class Steps:
    """Goes through the steps of one trajectory.

    Args:
        log: Where they are told.
        model: The trajectory's default model.
    """

    def __init__(self, log: Transcript, *, model: str | None) -> None:
        self._log = log
        self._model = model
        self.system_prompt: str | None = None
        self.references: dict[str, str | None] = {}
        """Ids of embedded sub-agents' trajectories, each with the id of the call behind it."""

    def tell(self, index: int, step: dict[str, Any]) -> None:
        """Add one step.

        Raises:
            Misfit: It breaks the format.
        """
        source = field(step, "source", str)
        if source not in _SPEAKERS:
            raise Misfit(f"source {shown(source)} is none of system, user, agent", "source")
        beside = _beside(step)
        ours = beside.pop(OURS, None)
        if index == 0 and self._is_prompt(step, source, beside, ours):
            self.system_prompt = field(step, "message", str)
            return
        own = _checked(ours)
        if own.get("synthetic") and beside.get("llm_call_count") == 0:
            del beside["llm_call_count"]
        turn = self._say(step, source, beside)
        turn.update(own)
        calls = optional(step, "tool_calls", list) or []
        for position, call in enumerate(calls):
            try:
                self._ask(expect(call, dict))
            except Misfit as misfit:
                raise misfit.below("tool_calls", position) from None
        self._observe(step, turn, len(calls))

    def _is_prompt(self, step: dict[str, Any], source: str, beside: Json, ours: Json) -> bool:
        is_plain = isinstance(step.get("message"), str) and step["message"] != ""
        says_more = beside or step.get("timestamp") or step.get("observation")
        if isinstance(ours, dict) and not ours.get("is_system_prompt"):
            return False
        return source == "system" and is_plain and not says_more

    def _say(self, step: dict[str, Any], source: str, beside: dict[str, Json]) -> dict[str, Any]:
        role, origin = _SPEAKERS[source]
        parts: list[Any] = []
        thought = optional(step, "reasoning_content", str)
        if thought:
            parts.append(reasoning_part(thought))
        parts += [part for part in read_pieces(step.get("message")) if isinstance(part, dict)]
        usage, metrics = usage_of(optional(step, "metrics", dict) or {})
        if metrics:
            beside["metrics"] = metrics
        effort = step.get("reasoning_effort")
        is_model = role == "assistant" and step.get("llm_call_count") != 0
        return self._log.say(
            role,
            parts,
            origin=origin,
            model=optional(step, "model_name", str) or (self._model if is_model else None),
            started_at=optional(step, "timestamp", str),
            usage=usage,
            settings=None if effort is None else {"reasoning_effort": effort},
            copied_context=step.get("is_copied_context") or None,
            compaction=_is_compaction(beside) or None,
            **({KEPT: beside} if beside else {}),
        )

    def _ask(self, call: dict[str, Any]) -> None:
        beside = _kept(call, _CALL)
        ours = _pop_ours(beside)
        kept: dict[str, Any] = {KEPT: beside} if beside else {}
        made = self._log.request(
            field(call, "function_name", str),
            call_id=optional(call, "tool_call_id", str),
            arguments=call.get("arguments", UNKNOWN),
            **kept,
        )
        if isinstance(ours, dict):
            made.update(ours)
            if ours.get("arguments_unknown"):
                del made["arguments_unknown"], made["arguments"]

    def _observe(self, step: dict[str, Any], turn: dict[str, Any], calls: int) -> None:
        """Add what came back: results to their calls, other feedback as the environment's turn."""
        observation = optional(step, "observation", dict) or {}
        results = optional(observation, "results", list) or []
        is_in_order = calls > 0 and sum(not _call_id(item) for item in results) <= calls
        for position, item in enumerate(results):
            try:
                self._result(expect(item, dict), turn, is_in_order=is_in_order)
            except Misfit as misfit:
                raise misfit.below("observation", "results", position) from None

    def _result(self, item: dict[str, Any], turn: dict[str, Any], *, is_in_order: bool) -> None:
        call_id = optional(item, "source_call_id", str)
        beside = _kept(item, _RESULT)
        self._refer(beside, call_id)
        ours = _pop_ours(beside)
        kept: dict[str, Any] = {KEPT: beside} if beside else {}
        content = item.get("content", UNKNOWN)
        own = dict(ours) if isinstance(ours, dict) else {}
        position = own.pop("position", None)
        if type(position) is int and 0 <= position < len(turn["calls"]):
            told = {"ok": None} if content is UNKNOWN else {"ok": None, "content": content}
            turn["calls"][position].setdefault("bound_by", "id")
            turn["calls"][position]["result"] = {**told, **kept, **own}
        elif call_id or (is_in_order and content is not UNKNOWN):
            result = self._log.answer(call_id, content=result_content(content), **kept)
            result.update(own)
        elif content not in (UNKNOWN, None):
            parts = [part for part in read_pieces(content) if isinstance(part, dict)]
            self._log.say("user", parts, origin="environment", **kept)
        else:
            known = turn.setdefault(KEPT, {})
            known.setdefault("observation", []).append(beside)

    def _refer(self, beside: dict[str, Json], call_id: str | None) -> None:
        references = beside.get("subagent_trajectory_ref")
        for item in references if isinstance(references, list) else [references]:
            if isinstance(item, dict) and isinstance(item.get("trajectory_id"), str):
                self.references[item["trajectory_id"]] = call_id


def _checked(ours: Json) -> dict[str, Any]:
    """Return the fields of a turn that `write_atif` kept.

    Raises:
        Misfit: They cannot be its own.
    """
    if not isinstance(ours, dict):
        return {}
    calls = ours.get("calls", [])
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise Misfit(f"expected a list of calls, got {shown(calls)}", "extra", OURS, "calls")
    own = {k: v for k, v in ours.items() if k not in ("role", "index", "is_system_prompt")}
    return own | ({"calls": [dict(call) for call in calls]} if "calls" in ours else {})


def usage_of(metrics: dict[str, Any]) -> tuple[dict[str, Json] | None, dict[str, Json]]:
    """Return the fields of `Usage` in a step's metrics, and what else the metrics say."""
    more = metrics.get("extra")
    extra = more if isinstance(more, dict) else {}
    found = {ours: metrics[key] for key, ours in _USAGE.items() if is_number(metrics.get(key))}
    found.update(
        (ours, extra[key]) for key, ours in _MORE_USAGE.items() if is_number(extra.get(key))
    )
    rest = {k: v for k, v in metrics.items() if k not in (*_USAGE, "extra") and v is not None}
    left = {k: v for k, v in extra.items() if k not in _MORE_USAGE}
    if left:
        rest["extra"] = left
    return found or None, rest


def is_number(value: Json) -> bool:
    """Whether a value is a number; ``true`` is none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_compaction(beside: dict[str, Json]) -> bool:
    extra = beside.get("extra")
    managed = extra.get("context_management") if isinstance(extra, dict) else None
    return isinstance(managed, dict) and managed.get("type") == "compaction"


def _call_id(item: Json) -> Json:
    return item.get("source_call_id") if isinstance(item, dict) else None


def _beside(step: dict[str, Any]) -> dict[str, Json]:
    """Return what a step says beyond our model; what we wrote ourselves under a key of ours."""
    beside = _kept(step, _STEP)
    ours = _pop_ours(beside)
    return beside if ours is None else {**beside, OURS: ours}


def _pop_ours(beside: dict[str, Json]) -> Json:
    """Take out of ``extra`` what `write_atif` put there."""
    extra = beside.get("extra")
    if not isinstance(extra, dict) or OURS not in extra:
        return None
    rest = {k: v for k, v in extra.items() if k != OURS}
    if rest:
        beside["extra"] = rest
    else:
        del beside["extra"]
    return extra[OURS]


def _kept(item: dict[str, Any], said: frozenset[str]) -> dict[str, Json]:
    return {k: v for k, v in item.items() if k not in said and v not in _NOTHING}
