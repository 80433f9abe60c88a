"""A run that we recorded or wrote ourselves, read back as the document of a trace."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from tracedance_sdk.journal import Attributes
from tracedance_sdk.otel import names
from tracedance_sdk.otel.calls import own_call, patched
from tracedance_sdk.otel.messages import Message, instructions_text, own_message, read_definitions
from tracedance_sdk.otel.times import iso_time
from tracedance_sdk.otel.tree import Node, Run
from tracedance_sdk.otel.values import Values
from tracedance_sdk.trace import UNKNOWN, Json, Note, imported_trace_id, note

_HEAD: Final = {
    names.TRACE_ID: "id",
    names.CONVERSATION_ID: "session_id",
    names.GROUP: "group",
    names.TASK_ID: "task_id",
}
_VALUES: Final = {
    names.METADATA: "metadata",
    names.OUTCOME: "outcome",
    names.INITIAL_STATE: "initial_state",
    names.FINAL_STATE: "final_state",
}


class Reading(NamedTuple):
    """A trace's document, and what was noticed while reading it.

    Attributes:
        fidelity: The document of the fidelity the trace was written with, if it was.
    """

    document: dict[str, Any]
    notes: list[Note]
    fidelity: Json = None


def own_run(run: Run, values: Values) -> Reading:
    """Read a run from our own records."""
    notes: list[Note] = []
    head = run_head(run, values)
    if run.root is None:
        notes.append(note("record_lost", ["run"]))
    elif "system_prompt" not in head and names.SYSTEM_INSTRUCTIONS in run.root.attributes:
        notes.append(note("value_elsewhere", ["system_prompt"]))
    head["turns"], lost = _turns(run, values)
    if lost:
        notes.append(note("record_lost", count=lost))
    fidelity = None if run.root is None else values.read(run.root.attributes.get(names.FIDELITY))
    return Reading(head, notes, fidelity if isinstance(fidelity, dict) else None)


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
    prompt = instructions_text(values.read(attributes.get(names.SYSTEM_INSTRUCTIONS)))
    if prompt is not None:
        head["system_prompt"] = prompt
    head["tools"] = read_definitions(values.read(attributes.get(names.TOOL_DEFINITIONS)))
    for key, field in _VALUES.items():
        value = values.read(attributes.get(key))
        if value is not UNKNOWN:
            head[field] = value
    head["started_at"] = iso_time(run.root.start_ns)
    if run.root.end_ns is None:
        head["outcome"] = {"ended": False}
    else:
        head["ended_at"] = iso_time(run.root.end_ns)
    return patched({k: v for k, v in head.items() if v != []}, attributes, values)


def _agent(attributes: Attributes) -> dict[str, Json]:
    return _some(name=attributes.get(names.AGENT_NAME), version=attributes.get(names.AGENT_VERSION))


def _some(**fields: Json) -> dict[str, Json]:
    return {name: value for name, value in fields.items() if value is not None}


def _turns(run: Run, values: Values) -> tuple[list[dict[str, Any]], int]:
    """Return the turns' documents in order, and how many are missing among them."""
    messages = _messages(run, values)
    executed = _executed(run, values)
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


def _messages(run: Run, values: Values) -> dict[int, Message]:
    """Return the messages of ours by turn; one in a span counts before one in an event."""
    found: dict[int, Message] = {}
    unread: dict[int, Node] = {}
    sources: list[Attributes] = list(run.turns)
    for node in run.nodes:
        sources.append(node.attributes)
        index = node.attributes.get(names.TURN_INDEX)
        if type(index) is int and node.attributes.get(names.OPERATION) == names.CHAT:
            unread[index] = node
    if run.root is not None:
        sources.append(run.root.attributes)
    for attributes in sources:
        for key in (names.INPUT_MESSAGES, names.OUTPUT_MESSAGES):
            listed = values.read(attributes.get(key))
            found.update((m.turn_index, m) for m in _own_messages(listed, values))
    for index, node in unread.items():
        found.setdefault(index, _without_content(index, node))
    return found


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


def _without_content(index: int, node: Node) -> Message:
    """Return the turn of a chat span whose message is absent or kept elsewhere."""
    turn = {"role": "assistant", "origin": "agent", "started_at": iso_time(node.start_ns)}
    if names.REQUEST_MODEL in node.attributes:
        turn["model"] = str(node.attributes[names.REQUEST_MODEL])
    return Message(index, turn, [])


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


def _in_order(
    executed: list[dict[str, Any]], requests: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Merge executed calls with the requests that no executed call answers."""
    answered: dict[str, int] = defaultdict(int)
    for call in executed:
        if call.get("bound_by") != "synthetic" and call.get("requested_by") != "tool":
            answered[call["id"]] += 1
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
