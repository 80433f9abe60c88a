"""Bring the tools that Langfuse saw run together with the calls that models asked for."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from tracedance_sdk.formats.langfuse_export import Observation
from tracedance_sdk.formats.langfuse_generations import kept_of
from tracedance_sdk.formats.message_pieces import SeenResult
from tracedance_sdk.formats.message_shapes import read_message
from tracedance_sdk.formats.model_calls import Thread
from tracedance_sdk.formats.piece_shapes import read_pieces
from tracedance_sdk.trace import Json, call_key

KEPT: Final = "observation"
_PREFIXES: Final = ("running tool: ", "execute_tool ", "tool: ")
_IDS: Final = ("gen_ai.tool.call.id", "tool.id", "ai.toolCall.id", "tool_call.id")
_NAMES: Final = ("gen_ai.tool.name", "tool.name", "ai.toolCall.name")
_BOUND: Final = {"id": "id", "key": "key", "name": "order"}
_RESULT_KEYS: Final = frozenset({"content", "isError", "is_error", "structuredContent", "_meta"})


class ToolRun(NamedTuple):
    """A call found for an observation, and its conversation."""

    thread: Thread
    call: dict[str, Any]


def is_tool_run(observation: Observation) -> bool:
    """Whether an observation is a run of a tool: by its type, or as it gives a tool's message."""
    output = observation.fields.get("output")
    return observation.kind == "TOOL" or (isinstance(output, dict) and "tool_call_id" in output)


def merge_tool_runs(
    observations: Iterable[Observation], threads: Sequence[Thread]
) -> dict[str, ToolRun]:
    """Give calls the times, errors and results that were seen when their tools ran.

    A run belongs to the call of its id, else to the first one left of the same name and arguments,
    else of the same name. A run that no model asked for becomes a call of its own.

    Args:
        observations: All of a trace, by time.
        threads: Its conversations; at least one.

    Returns:
        The calls by id of their observation.
    """
    waiting = _Waiting(threads)
    found: dict[str, ToolRun] = {}
    for observation in observations:
        if is_tool_run(observation):
            run = waiting.take(observation) or _unasked(observation, threads)
            _enrich(run, observation)
            found[observation.id] = run
    for thread in threads:
        _note_recovered(thread, {id(run.call) for run in found.values()})
    return found


class _Waiting:
    """Calls whose tools were not yet seen to run."""

    def __init__(self, threads: Iterable[Thread]) -> None:
        self._taken: set[int] = set()
        self._by: defaultdict[tuple[str, ...], deque[ToolRun]] = defaultdict(deque)
        for thread in threads:
            for turn in thread.log.turns:
                if not turn.get("copied_context"):
                    for call in turn["calls"]:
                        self._add(ToolRun(thread, call))

    def _add(self, run: ToolRun) -> None:
        call = run.call
        self._by["id", call["id"]].append(run)
        self._by["key", call_key(call["name"], call.get("arguments"))].append(run)
        self._by["name", call["name"]].append(run)

    def take(self, observation: Observation) -> ToolRun | None:
        name = _tool_name(observation)
        keys = [("key", call_key(name, value)) for value in _arguments(observation)]
        own_id = _call_id(observation)
        ids = [("id", own_id)] if own_id else []
        for key in (*ids, *keys, ("name", name)):
            waiting = self._by.get(key)
            while waiting:
                run = waiting.popleft()
                if id(run.call) not in self._taken:
                    self._taken.add(id(run.call))
                    run.call.setdefault("bound_by", _BOUND[key[0]])
                    return run
        return None


def _tool_name(observation: Observation) -> str:
    found = observation.attributes
    name = next((found[key] for key in _NAMES if isinstance(found.get(key), str)), None)
    name = observation.name if name is None else name
    prefix = next((prefix for prefix in _PREFIXES if name.startswith(prefix)), "")
    return name.removeprefix(prefix) or "unknown"


def _call_id(observation: Observation) -> str | None:
    output, found = observation.fields.get("output"), observation.attributes
    own = output.get("tool_call_id") if isinstance(output, dict) else None
    ids = [own, *(found.get(key) for key in _IDS)]
    return next((value for value in ids if isinstance(value, str) and value), None)


def _arguments(observation: Observation) -> list[Json]:
    """Return what may be the arguments: the input, and what it holds where it is wrapped."""
    given = observation.fields.get("input")
    inner = [given[key] for key in ("input", "args", "arguments") if key in given] if isinstance(
        given, dict
    ) else []  # fmt: skip
    return [given, *inner]


def _unasked(observation: Observation, threads: Sequence[Thread]) -> ToolRun:
    """Make a call of a run that no model asked for, in a turn of its own at its time."""
    thread = next((t for t in threads if _is_beside(observation, t)), threads[0])
    turns = thread.log.turns
    place = len(turns)
    while place and observation.started and _starts_later(turns[place - 1], observation.started):
        place -= 1
    call: dict[str, Any] = {
        "id": _call_id(observation) or observation.id,
        "name": _tool_name(observation),
        "bound_by": "synthetic",
    }
    if observation.fields.get("input") is not None:
        call["arguments"] = observation.fields["input"]
    turn = {"role": "assistant", "origin": "agent", "content": [], "calls": [call]}
    turns.insert(place, {**turn, "synthetic": True, "started_at": observation.started})
    thread.log.note("request_missing")
    return ToolRun(thread, call)


def _is_beside(observation: Observation, thread: Thread) -> bool:
    return any(call.group == observation.parent for call in thread.calls)


def _starts_later(turn: dict[str, Any], moment: str) -> bool:
    started = turn.get("started_at")
    return isinstance(started, str) and started > moment


def _enrich(run: ToolRun, observation: Observation) -> None:
    call = run.call
    call.update(
        {
            key: value
            for key, value in (
                ("started_at", observation.started),
                ("duration_ms", observation.duration_ms),
            )
            if value is not None
        }
    )
    call[KEPT] = kept_of(observation)
    seen = _seen(observation)
    result = call.get("result")
    if result is None:
        result = {"ok": seen.ok}
        if seen.content is not None or "output" in observation.fields:
            result["content"] = seen.content
        if seen.error is not None:
            result["error"] = seen.error
        call["result"] = result
    elif result.get("ok") is None:
        result["ok"] = seen.ok
    if observation.error is not None:
        result.update({"ok": False, "error": observation.error})


def _seen(observation: Observation) -> SeenResult:
    output = observation.fields.get("output")
    if isinstance(output, dict) and "tool_call_id" in output:
        message = read_message({**output, "role": "tool"})
        if message is not None and message.results:
            return message.results[0]
    if isinstance(output, dict) and "content" in output and set(output) <= _RESULT_KEYS:
        pieces = read_pieces([{"type": "tool_result", **output}])
        if isinstance(pieces[0], SeenResult):
            return pieces[0]
    return SeenResult(content=output)


def _note_recovered(thread: Thread, seen: set[int]) -> None:
    """Note the results that are known only from what the next model call was sent."""
    for index, turn in enumerate(thread.log.turns):
        for position, call in enumerate(turn["calls"]):
            if "result" in call and id(call) not in seen:
                thread.log.note("result_recovered", f"turns[{index}].calls[{position}]")
