"""A run that we recorded or wrote ourselves, read back as the document of a trace."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from tracedance_sdk.journal import Attributes
from tracedance_sdk.otel import names
from tracedance_sdk.otel.calls import own_call, patched
from tracedance_sdk.otel.messages import Message, instructions_text, own_message, read_definitions
from tracedance_sdk.otel.times import iso_time
from tracedance_sdk.otel.tree import Run
from tracedance_sdk.otel.values import Values
from tracedance_sdk.trace import (
    UNKNOWN,
    Json,
    Note,
    blob_digest,
    canonical_json,
    imported_trace_id,
    note,
)

_HEAD: Final = {
    names.TRACE_ID: "id",
    names.CONVERSATION_ID: "session_id",
    names.GROUP: "group",
    names.TASK_ID: "task_id",
}
_OBJECTS: Final = {names.METADATA: "metadata", names.OUTCOME: "outcome"}
_STATES: Final = {names.INITIAL_STATE: "initial_state", names.FINAL_STATE: "final_state"}
_LARGE: Final = {
    names.SYSTEM_INSTRUCTIONS: "system_prompt",
    names.TOOL_DEFINITIONS: "tools",
    **_OBJECTS,
}


class Reading(NamedTuple):
    """A trace's document, and what was noticed while reading it.

    Attributes:
        fidelity: The document of the fidelity the trace was written with, if it was.
        has_fetched: Whether a value is there now that was kept elsewhere when it was written.
    """

    document: dict[str, Any]
    notes: list[Note]
    fidelity: Json = None
    has_fetched: bool = False


def own_run(run: Run, values: Values) -> Reading:
    """Read a run from our own records."""
    fetched = values.fetched
    head = run_head(run, values)
    messages, elsewhere = _messages(run, values)
    head["turns"], lost = _turns(messages, _executed(run, values))
    missing = ["run"] if run.root is None else []
    known = {} if run.root is None else run.root.attributes
    elsewhere += [field for key, field in _LARGE.items() if key in known and field not in head]
    notes: list[Note] = []
    if elsewhere:
        notes.append(note("value_elsewhere", elsewhere))
    rewritten = [f"turns[{t['index']}]" for t in head["turns"] if t.get("context_rewritten")]
    if rewritten:
        notes.append(note("boundary_guessed", rewritten))
    if lost or missing:
        notes.append(note("record_lost", missing, count=lost + len(missing)))
    fidelity = values.read(known.get(names.FIDELITY))
    recorded = fidelity if isinstance(fidelity, dict) else None
    return Reading(head, notes, recorded, values.fetched > fetched)


def run_head(run: Run, values: Values) -> dict[str, Any]:
    """Return the document of a run without its turns and fidelity."""
    trace_id, span_id = run.key
    head: dict[str, Any] = {"otel": {"trace_id": trace_id, "root_span_id": span_id}}
    if run.root is None:
        head["id"] = imported_trace_id("otel", trace_id, span_id)
        head["outcome"] = {"ended": False}
        return head
    attributes = run.root.attributes
    for key, field in _HEAD.items():
        if key in attributes:
            head[field] = attributes[key]
    head["agent"] = _agent(attributes)
    if names.PARENT_TRACE_ID in attributes:
        head["parent"] = _some(
            trace_id=attributes[names.PARENT_TRACE_ID], call_id=attributes.get(names.PARENT_CALL_ID)
        )
    head |= _values(attributes, values)
    head["started_at"] = iso_time(run.root.start_ns)
    if run.root.end_ns is None:
        head["outcome"] = {"ended": False}
    else:
        head["ended_at"] = iso_time(run.root.end_ns)
    return patched(head, attributes, values)


def _values(attributes: Attributes, values: Values) -> dict[str, Json]:
    """Return the fields whose attributes are JSON, those that are at hand."""
    found: dict[str, Json] = {}
    prompt = instructions_text(values.read(attributes.get(names.SYSTEM_INSTRUCTIONS)))
    if prompt is not None:
        found["system_prompt"] = prompt
    tools = values.read(attributes.get(names.TOOL_DEFINITIONS))
    if isinstance(tools, list):
        found["tools"] = read_definitions(tools, ours=True)
    for key, field in _OBJECTS.items():
        value = values.read(attributes.get(key))
        if isinstance(value, dict) and blob_digest(value) is None:
            found[field] = value
    for key, field in _STATES.items():
        value = values.read(attributes.get(key))
        if value is not UNKNOWN:
            found[field] = value
    return found


def _agent(attributes: Attributes) -> dict[str, Json]:
    return _some(name=attributes.get(names.AGENT_NAME), version=attributes.get(names.AGENT_VERSION))


def _some(**fields: Json) -> dict[str, Json]:
    return {name: value for name, value in fields.items() if value is not None}


def _turns(
    messages: dict[int, Message], executed: dict[int, list[dict[str, Any]]]
) -> tuple[list[dict[str, Any]], int]:
    """Return the turns' documents in order, and how many are missing among them."""
    indices = sorted(messages.keys() | executed.keys())
    turns: list[dict[str, Any]] = []
    place = 0
    for index in indices:
        message = messages.get(index) or Message(index, _synthetic(), [])
        calls = _in_order(executed.get(index, []), message.requests)
        for call in calls:
            call["index"] = place
            place += 1
        turns.append({**message.turn, "index": len(turns), "calls": calls})
    return turns, (indices[-1] + 1 - len(indices) if indices else 0)


def _synthetic() -> dict[str, Any]:
    return {"role": "assistant", "origin": "agent", "synthetic": True}


def _messages(run: Run, values: Values) -> tuple[dict[int, Message], list[str]]:
    """Return the messages of ours by turn, and the places of those that are not at hand.

    A message in a span counts before one in an event.
    """
    found: dict[int, Message] = {}
    sources = [*run.turns, *(node.attributes for node in run.nodes)]
    if run.root is not None:
        sources.append(run.root.attributes)
    for attributes in sources:
        for key in (names.INPUT_MESSAGES, names.OUTPUT_MESSAGES):
            listed = values.read(attributes.get(key))
            found.update((m.turn_index, m) for m in _own_messages(listed, values))
    elsewhere: list[str] = []
    for attributes in sources:
        index = attributes.get(names.TURN_INDEX)
        if type(index) is int and names.CALL_INDEX not in attributes and index not in found:
            found[index] = _elsewhere(index, attributes, values)
            elsewhere.append(f"turns[{index}]")
    return found, elsewhere


def _elsewhere(index: int, attributes: Attributes, values: Values) -> Message:
    """Return a turn whose message is not at hand: what stands in its place becomes its content."""
    chat = attributes.get(names.OPERATION) == names.CHAT
    stub = values.read(attributes.get(names.OUTPUT_MESSAGES if chat else names.INPUT_MESSAGES))
    turn: dict[str, Any] = {"role": "user", "origin": "human"}
    if chat:
        turn = {"role": "assistant", "origin": "agent"}
    if names.REQUEST_MODEL in attributes:
        turn["model"] = attributes[names.REQUEST_MODEL]
    if stub is not UNKNOWN:
        turn["content"] = [{"type": "media", "modality": "message", "data": stub}]
    return Message(index, turn, [])


def _own_messages(listed: Json, values: Values) -> Iterable[Message]:
    for item in listed if isinstance(listed, list) else ():
        message = own_message(item)
        if message is None:
            continue
        message.turn["content"] = [values.resolved_part(part) for part in message.turn["content"]]
        for request in message.requests:
            if "arguments" in request:
                request["arguments"] = values.resolved(request["arguments"])
        yield message


def _executed(run: Run, values: Values) -> dict[int, list[dict[str, Any]]]:
    """Return the documents of executed calls by turn, in the order they started."""
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for node in run.nodes:
        index, turn = node.attributes.get(names.CALL_INDEX), node.attributes.get(names.TURN_INDEX)
        if type(index) is int and type(turn) is int:
            start, end = node.start_ns, node.end_ns
            call = own_call(node.attributes, start_ns=start, end_ns=end, values=values)
            found[turn].append(call)
    for calls in found.values():
        calls.sort(key=lambda call: int(call["index"]))
    return found


def _note_change(call: dict[str, Any], asked: Json) -> None:
    """Keep what the model asked for where somebody changed it before the call was made.

    Defaults that a framework fills in change nothing.
    """
    done = call.get("arguments", UNKNOWN)
    if call.get("bound_by") != "id" or asked is UNKNOWN or done is UNKNOWN:
        return
    if isinstance(asked, dict) and isinstance(done, dict):
        done = {key: value for key, value in done.items() if key in asked}
    if canonical_json(asked) != canonical_json(done):
        call["asked_arguments"] = asked


def _in_order(
    executed: list[dict[str, Any]], requests: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Merge executed calls with the requests that no executed call answers."""
    answered: dict[str, int] = defaultdict(int)
    times = Counter(request.get("id") for request in requests)
    asked = {
        request.get("id"): request.get("arguments", UNKNOWN)
        for request in requests
        if times[request.get("id")] == 1
    }
    for call in executed:
        if call.get("bound_by") != "synthetic" and call.get("requested_by") != "tool":
            answered[call["id"]] += 1
            _note_change(call, asked.get(call["id"], UNKNOWN))
    waiting: list[dict[str, Any]] = []
    placed = list(executed)
    for request in requests:
        if "index" in request:
            placed.append(request)
        elif answered[request.get("id", "")]:
            answered[request.get("id", "")] -= 1
        else:
            waiting.append(request)
    return [*sorted(placed, key=lambda call: int(call["index"])), *waiting]
