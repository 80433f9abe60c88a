"""A run that another program wrote by the GenAI conventions, read as the document of a trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracedance_sdk.otel import names
from tracedance_sdk.otel.asked import read_arguments
from tracedance_sdk.otel.calls import span_duration_ms
from tracedance_sdk.otel.conversation import Conversation
from tracedance_sdk.otel.messages import instructions_text, read_definitions
from tracedance_sdk.otel.own import Reading
from tracedance_sdk.otel.spans import read_settings, read_usage
from tracedance_sdk.otel.times import iso_time
from tracedance_sdk.otel.tree import Key, Node, Run
from tracedance_sdk.otel.values import Values, text_of
from tracedance_sdk.trace import UNKNOWN, Json, Note, note


def conventional_run(run: Run, values: Values, ids: Mapping[Key, str]) -> Reading | None:
    """Read a run from conventional spans.

    Args:
        run: The run.
        values: Reads attributes.
        ids: Of the trace that each run gives.

    Returns:
        None when no span in it is of a model, a tool or an agent.
    """
    models = [node for node in run.nodes if _is(node, *names.INFERENCE)]
    tools = [node for node in run.nodes if _is(node, names.EXECUTE_TOOL)]
    if run.root is None and not models and not tools:
        return None
    known = {node.key: node for node in run.nodes}
    models = [node for node in models if _around(node, known, *names.INFERENCE) is None]
    course = Conversation(ids[run.key], values)
    _listen(course, run.root, values, names.INPUT_MESSAGES)
    spoken = 0
    for node in sorted([*models, *tools], key=lambda node: (node.start_ns, node.key)):
        if _is(node, names.EXECUTE_TOOL):
            if not _repeats(node, known, values):
                course.execute(_call(node, known, values))
            continue
        _listen(course, node, values, names.INPUT_MESSAGES)
        output = values.read(node.attributes.get(names.OUTPUT_MESSAGES))
        spoken += output is not UNKNOWN
        course.reply(output, _model_facts(node))
    course.conclude(_attribute(run.root, names.OUTPUT_MESSAGES, values))
    sources = [*([run.root] if run.root else []), *models]
    document = _head(run, ids) | _instructions(sources, course, values)
    document["turns"] = course.documents()
    return Reading(document, _notes(course, silent=len(models) - spoken))


def _is(node: Node, *operations: str) -> bool:
    return node.attributes.get(names.OPERATION) in operations


def _around(node: Node, known: Mapping[Key, Node], *operations: str) -> Node | None:
    """Return the nearest span of these operations around a span, in the same run."""
    seen = {node.key}
    while node.parent is not None and node.parent in known and node.parent not in seen:
        seen.add(node.parent)
        node = known[node.parent]
        if _is(node, *operations):
            return node
    return None


def _listen(course: Conversation, node: Node | None, values: Values, key: str) -> None:
    course.hear(_attribute(node, key, values))


def _attribute(node: Node | None, key: str, values: Values) -> Json:
    return UNKNOWN if node is None else values.read_or_text(node.attributes.get(key))


def _repeats(node: Node, known: Mapping[Key, Node], values: Values) -> bool:
    """Whether a tool span tells of the call that the span around it tells of already."""
    outer = _around(node, known, names.EXECUTE_TOOL)
    if outer is None or _tool_name(outer) != _tool_name(node):
        return False
    mine, theirs = (n.attributes.get(names.TOOL_CALL_ID) for n in (node, outer))
    if mine and theirs:
        return mine == theirs
    arguments = _attribute(node, names.TOOL_ARGUMENTS, values)
    return bool(arguments == _attribute(outer, names.TOOL_ARGUMENTS, values))


def _tool_name(node: Node) -> str:
    named = text_of(node.attributes.get(names.TOOL_NAME))
    return named or node.name.removeprefix(names.EXECUTE_TOOL).strip() or node.name


def _call(node: Node, known: Mapping[Key, Node], values: Values) -> dict[str, Any]:
    attributes = node.attributes
    outer = _around(node, known, names.EXECUTE_TOOL)
    call: dict[str, Any] = {
        "id": text_of(attributes.get(names.TOOL_CALL_ID)),
        "name": _tool_name(node),
        "started_at": iso_time(node.start_ns),
        **read_arguments(_attribute(node, names.TOOL_ARGUMENTS, values)),
    }
    if node.end_ns is None:
        call["result"] = {"ok": None, "interrupted": True}
        return call
    call["duration_ms"] = span_duration_ms(node.start_ns, node.end_ns)
    call["result"] = _result(node, values)
    if outer is not None:
        call["requested_by"] = "tool"
        call["parent_call_id"] = text_of(outer.attributes.get(names.TOOL_CALL_ID))
    return call


def _result(node: Node, values: Values) -> dict[str, Json]:
    failure = _failure(node)
    result: dict[str, Json] = {"ok": failure is None}
    content = _attribute(node, names.TOOL_RESULT, values)
    if content is not UNKNOWN:
        result["content"] = content
    if failure is not None:
        result["error"] = failure
    exit_code = node.attributes.get(names.EXIT_CODE)
    if type(exit_code) is int:
        result["exit_code"] = exit_code
    return result


def _failure(node: Node) -> dict[str, Json] | None:
    kind = text_of(node.attributes.get(names.ERROR_TYPE))
    if node.error is None and kind is None:
        return None
    return {"type": kind or "_OTHER", "message": node.error or ""}


def _model_facts(node: Node) -> dict[str, Any]:
    attributes = node.attributes
    answering = text_of(attributes.get(names.RESPONSE_MODEL))
    reasons = attributes.get(names.FINISH_REASONS)
    reason = reasons[0] if isinstance(reasons, (tuple, list)) and reasons else None
    facts = {
        "model": answering or text_of(attributes.get(names.REQUEST_MODEL)),
        "finish_reason": text_of(reason),
        "usage": read_usage(attributes) or None,
        "settings": read_settings(attributes) or None,
        "started_at": iso_time(node.start_ns),
        "ended_at": None if node.end_ns is None else iso_time(node.end_ns),
    }
    return {name: value for name, value in facts.items() if value is not None}


def _head(run: Run, ids: Mapping[Key, str]) -> dict[str, Any]:
    """Return the document of a run without what was said and done in it."""
    trace_id, span_id = run.key
    nodes = [*([run.root] if run.root else []), *run.nodes]
    head: dict[str, Any] = {
        "id": ids[run.key],
        "otel": {"trace_id": trace_id, "root_span_id": span_id},
        "started_at": iso_time(min(node.start_ns for node in nodes)),
    }
    ends = [node.end_ns for node in nodes if node.end_ns is not None]
    if ends:
        head["ended_at"] = iso_time(max(ends))
    sessions = (text_of(node.attributes.get(names.CONVERSATION_ID)) for node in nodes)
    session = next((item for item in sessions if item is not None), None)
    if session is not None:
        head["session_id"] = session
    agent = {
        field: text
        for field, key in (("name", names.AGENT_NAME), ("version", names.AGENT_VERSION))
        for node in reversed(nodes)
        if (text := text_of(node.attributes.get(key))) is not None
    }
    if agent:
        head["agent"] = agent
    if run.root is not None:
        failure = _failure(run.root)
        head["outcome"] = {"ended": failure is None and run.root.end_ns is not None}
        if failure is not None:
            head["outcome"]["error"] = failure
    if run.caller is not None:
        calls = (text_of(node.attributes.get(names.TOOL_CALL_ID)) for node in run.enclosing)
        call_id = next((call for call in calls if call is not None), None)
        head["parent"] = {"trace_id": ids[run.caller], "call_id": call_id}
    return head


def _instructions(sources: list[Node], course: Conversation, values: Values) -> dict[str, Json]:
    """Return what the model was told beforehand: from the first span that says it."""
    found: dict[str, Json] = {}
    if course.system_prompt is not None:
        found["system_prompt"] = course.system_prompt
    tools: dict[str, Json] = {}
    for node in sources:
        text = instructions_text(_attribute(node, names.SYSTEM_INSTRUCTIONS, values))
        if text is not None:
            found.setdefault("system_prompt", text)
        listed = _attribute(node, names.TOOL_DEFINITIONS, values)
        for tool in read_definitions(listed, ours=False):
            tools.setdefault(tool["name"], tool)
    if tools:
        found["tools"] = list(tools.values())
    return found


def _notes(course: Conversation, *, silent: int) -> list[Note]:
    notes: list[Note] = []
    if silent:
        notes.append(note("content_off", count=silent))
    if course.rewritten:
        notes.append(note("boundary_guessed", count=course.rewritten))
    if course.unclaimed:
        notes.append(note("record_lost", count=course.unclaimed))
    recovered = {id(asked) for asked in course.recovered}
    places = [
        f"turns[{index}].calls[{place}]"
        for index, said in enumerate(course.said)
        for place, asked in enumerate(said.ordered())
        if id(asked) in recovered
    ]
    if places:
        notes.append(note("result_recovered", places))
    return notes
