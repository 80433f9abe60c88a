"""A run that another program wrote, in whatever dialect, read as the document of a trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tracedance_sdk.formats import Message
from tracedance_sdk.otel import names
from tracedance_sdk.otel.asked import Asked, read_arguments
from tracedance_sdk.otel.calls import span_duration_ms
from tracedance_sdk.otel.choices import first_choice, joined
from tracedance_sdk.otel.conversation import Conversation
from tracedance_sdk.otel.messages import read_definitions
from tracedance_sdk.otel.model_calls import (
    ModelCall,
    model_calls,
    model_facts,
    moment,
    span_rest,
    turn_facts,
    usage,
)
from tracedance_sdk.otel.own import Reading
from tracedance_sdk.otel.tree import Key, Node, Run
from tracedance_sdk.otel.values import Values, text_of
from tracedance_sdk.trace import UNKNOWN, Json, Note, note

_MOST_NAMES: Final = 50
_UNNAMED_SERVICE: Final = "unknown_service"


class RunReader:
    """Reads one run from conventional facts.

    Args:
        run: The run.
        values: Resolves large values.
        ids: Of the trace that each run gives.

    Attributes:
        calls: The calls that were executed, by the key of their span.
    """

    def __init__(self, run: Run, values: Values, ids: Mapping[Key, str]) -> None:
        self.calls: dict[Key, Asked] = {}
        self._run = run
        self._values = values
        self._ids = ids
        self._models = model_calls(run)
        self._tools = [node for node in run.nodes if node.is_tool]
        self._course = Conversation(ids[run.key], values)
        self._is_usage_told = False
        self._known = {node.key: node for node in run.nodes}

    def read(self) -> Reading | None:
        """Return the run's document; None when no span in it is of a model, a tool or an agent."""
        run, course = self._run, self._course
        if run.root is None and not self._models and not self._tools:
            return None
        is_told = any(_messages(m.attributes, names.INPUT_MESSAGES) for m in self._models)
        if run.root is not None and not is_told:
            course.hear(_messages(run.root.attributes, names.INPUT_MESSAGES))
        is_script = run.root is not None and not self._models and self._tells_calls(run.root)
        if run.root is not None and is_script:
            course.look_back()
            self._conclude(run.root, is_told=is_told)
        spoken = 0
        for step in self._steps():
            if isinstance(step, Node):
                self._execute(step)
            else:
                course.hear(_messages(step.attributes, names.INPUT_MESSAGES))
                spoken += self._reply(step)
        if run.root is not None and not is_script and spoken < max(len(self._models), 1):
            self._conclude(run.root, is_told=is_told)
        document = self._head() | self._instructions()
        document["turns"] = course.documents()
        return Reading(document, self._notes(silent=len(self._models) - spoken))

    def unexecuted(self) -> list[Asked]:
        """Return the requests that no span is the execution of."""
        return self._course.unexecuted()

    def _steps(self) -> list[Node | ModelCall]:
        steps: list[tuple[int, Key, Node | ModelCall]] = [
            (call.node.start_ns, call.node.key, call) for call in self._models
        ]
        steps += [(node.start_ns, node.key, node) for node in self._tools]
        return [step for _, _, step in sorted(steps, key=lambda item: item[:2])]

    def _reply(self, call: ModelCall) -> bool:
        choices = _messages(call.attributes, names.OUTPUT_MESSAGES)
        first, others = first_choice(choices)
        facts = model_facts(call)
        if others:
            facts["other_choices"] = [message.text for message in others]
        self._course.reply(first, facts)
        return names.OUTPUT_MESSAGES in call.attributes

    def _tells_calls(self, root: Node) -> bool:
        """Whether a run's own words say what it asked for, as requests for its tools' spans."""
        said = _messages(root.attributes, names.OUTPUT_MESSAGES)
        told = _messages(root.attributes, names.CONVERSATION)
        return any(message.calls for message in (*said, *told))

    def _conclude(self, root: Node, *, is_told: bool) -> None:
        """Take what only the run as a whole tells."""
        course = self._course
        whole = _messages(root.attributes, names.CONVERSATION)
        if whole and not is_told:
            course.hear(whole)
        said = joined(_messages(root.attributes, names.OUTPUT_MESSAGES))
        is_one = len(said) == 1 and not self._models
        facts = turn_facts(root.attributes) if is_one else {}
        self._is_usage_told = is_one
        course.conclude(said, {k: v for k, v in facts.items() if v is not None})

    def _execute(self, node: Node) -> None:
        outer = self._outer(node)
        if outer is not None and _repeats(node, outer):
            self.calls[node.key] = self.calls[outer.key]
            _complete(self.calls[outer.key], node)
            return
        call = self._call(node)
        if outer is not None:
            call["requested_by"] = "tool"
            call["parent_call_id"] = self.calls[outer.key].call["id"]
        self.calls[node.key] = self._course.execute(call)

    def _outer(self, node: Node) -> Node | None:
        """Return the tool around a tool, in the same run and already read."""
        around = None if node.parent is None else self._run.around.get(node.parent)
        key = None if around is None else around.tool
        return self._known[key] if key in self._known and key in self.calls else None

    def _call(self, node: Node) -> dict[str, Any]:
        attributes = node.attributes
        arguments = self._values.resolved(attributes.get(names.TOOL_ARGUMENTS, UNKNOWN))
        call: dict[str, Any] = {
            "id": text_of(attributes.get(names.TOOL_CALL_ID)),
            "name": text_of(attributes.get(names.TOOL_NAME)) or node.name,
            "started_at": moment(node.start_ns),
            **read_arguments(arguments),
            "otel": {"spans": [span_rest(node)]},
        }
        if node.end_ns is None:
            call["result"] = {"ok": None, "interrupted": True}
            return call
        if node.start_ns:
            call["duration_ms"] = span_duration_ms(node.start_ns, node.end_ns)
        call["result"] = _result(node, self._values)
        return call

    def _head(self) -> dict[str, Any]:
        """Return the document of a run without what was said and done in it."""
        run = self._run
        nodes = [*([run.root] if run.root else []), *run.nodes]
        trace_id, span_id = run.key
        head: dict[str, Any] = {
            "id": self._ids[run.key],
            "otel": {"trace_id": trace_id, "root_span_id": span_id or nodes[0].key[1]},
            "agent": _agent(nodes),
        }
        starts = [node.start_ns for node in nodes if node.start_ns]
        ends = [node.end_ns for node in nodes if node.end_ns is not None]
        if starts:
            head["started_at"] = moment(min(starts))
        if ends:
            head["ended_at"] = moment(max(ends))
        session = _first(nodes, names.CONVERSATION_ID)
        if session is not None:
            head["session_id"] = session
        if run.root is not None:
            failure = _failure(run.root)
            head["outcome"] = {"ended": failure is None and run.root.end_ns is not None}
            if failure is not None:
                head["outcome"]["error"] = failure
        head["metadata"] = self._metadata(nodes)
        return head

    def _metadata(self, nodes: Sequence[Node]) -> dict[str, Json]:
        run = self._run
        found: dict[str, Json] = {}
        root = None if run.root is None else run.root.attributes
        if root is not None and not self._models and not self._is_usage_told:
            found["usage"] = usage(root)
        grades = [grade for node in nodes if node.facts for grade in node.facts.annotations]
        found["annotations"] = grades
        for key, name in (("user_id", names.USER_ID), ("tags", names.TAGS)):
            found[key] = next((n.attributes[name] for n in nodes if name in n.attributes), None)
        if root is not None:
            found["user_metadata"] = root.get(names.USER_METADATA)
        found["otel"] = {
            key: value
            for key, value in (
                ("resource", dict(nodes[0].facts.resource) if nodes[0].facts else {}),
                ("root", span_rest(run.root) if run.root is not None else {}),
                ("steps", [_other_step(n) for n in nodes if n.facts and n.facts.kind == "other"]),
                ("structure", _structure(run.nodes)),
            )
            if value
        }
        return {key: value for key, value in found.items() if value}

    def _instructions(self) -> dict[str, Json]:
        """Return what the model was told beforehand: from the first span that says it."""
        found: dict[str, Json] = {}
        if self._course.system_prompt is not None:
            found["system_prompt"] = self._course.system_prompt
        tools: dict[str, Json] = {}
        root = [self._run.root.attributes] if self._run.root else []
        for attributes in (*root, *(model.attributes for model in self._models)):
            text = text_of(attributes.get(names.SYSTEM_INSTRUCTIONS))
            if text is not None:
                found.setdefault("system_prompt", text)
            listed: Any = attributes.get(names.TOOL_DEFINITIONS)
            for tool in read_definitions(listed, ours=False):
                tools.setdefault(tool["name"], tool)
        for node in self._tools:
            shown: Any = node.attributes.get(names.TOOL_DEFINITIONS)
            for tool in read_definitions(shown, ours=False):
                tools.setdefault(tool["name"], tool)
        if tools:
            found["tools"] = list(tools.values())
        return found

    def _is_gathered(self) -> bool:
        """Whether spans without anything around them that is at hand were taken for one run."""
        if self._run.root is not None or self._run.enclosing is not None:
            return False
        return len({self._run.around[node.key].top for node in self._run.nodes}) > 1

    def _missing(self) -> int:
        """Return how many spans, the run's own or in the midst of it, are named and not at hand."""
        run = self._run
        if run.enclosing is not None:
            return 0
        tops = {run.around[node.key].top for node in run.nodes}
        if run.root is not None:
            # What is missing around an agent is no loss, whatever else stands around it.
            tops.discard(run.around[run.root.key].top)
        parents = {node.parent for node in run.nodes if node.key in tops}
        return len(parents - {None})

    def _notes(self, *, silent: int) -> list[Note]:
        course = self._course
        nodes = [node for node in (self._run.root, *self._run.nodes) if node]
        steps = [node.facts for node in nodes if node.facts]
        circles = sum(node.was_in_circle for node in nodes)
        redacted = course.redacted + sum(facts.redacted for facts in steps)
        unread = [f"{key}" for facts in steps for key in facts.unread]
        notes: list[Note] = []
        for kind, count in (
            ("content_off", silent + redacted),
            ("boundary_guessed", course.rewritten + self._is_gathered()),
            ("record_lost", course.unclaimed + self._missing()),
            ("record_altered", circles),
        ):
            if count:
                notes.append(note(kind, count=count))
        if unread:
            notes.append(note("result_truncated", unread))
        recovered = {id(asked) for asked in course.recovered}
        places = [
            f"turns[{index}].calls[{place}]"
            for index, said in enumerate(course.said)
            for place, asked in enumerate(said.ordered() if recovered else ())
            if id(asked) in recovered
        ]
        if places:
            notes.append(note("result_recovered", places))
        return notes


def _messages(attributes: Mapping[str, Any], key: str) -> list[Message]:
    found = attributes.get(key)
    return found if isinstance(found, list) else []


def _repeats(node: Node, outer: Node) -> bool:
    """Whether a tool span tells of the call that the span around it tells of already."""
    mine, theirs = (n.attributes for n in (node, outer))
    if mine.get(names.TOOL_NAME) != theirs.get(names.TOOL_NAME):
        return False
    ids = [text_of(attributes.get(names.TOOL_CALL_ID)) for attributes in (mine, theirs)]
    if all(ids):
        return ids[0] == ids[1]
    arguments = [attributes.get(names.TOOL_ARGUMENTS) for attributes in (mine, theirs)]
    return arguments[0] == arguments[1]


def _complete(asked: Asked, node: Node) -> None:
    """Add what an inner span says of a call to what the outer one said."""
    asked.call["otel"]["spans"].append(span_rest(node))
    result = asked.call.get("result")
    content: Json = node.attributes.get(names.TOOL_RESULT, UNKNOWN)
    failure = _failure(node)
    if isinstance(result, dict):
        if "content" not in result and content is not UNKNOWN:
            result["content"] = content
        if failure is not None and "error" not in result:
            result.update(ok=False, error=failure)


def _result(node: Node, values: Values) -> dict[str, Json]:
    failure = _failure(node)
    result: dict[str, Json] = {"ok": failure is None}
    content = values.resolved(node.attributes.get(names.TOOL_RESULT, UNKNOWN))
    if content is not UNKNOWN:
        result["content"] = content
    if failure is not None:
        result["error"] = failure
        if failure["type"] in _INTERRUPTIONS:
            result["interrupted"] = True
    exit_code = node.attributes.get(names.EXIT_CODE)
    if type(exit_code) is int:
        result["exit_code"] = exit_code
    return result


_INTERRUPTIONS: Final = frozenset(
    {"asyncio.exceptions.CancelledError", "CancelledError", "KeyboardInterrupt", "SystemExit"}
)
"""Errors that stop a call from outside instead of being its own."""


def _failure(node: Node) -> dict[str, Json] | None:
    if node.error is None:
        return None
    kind = text_of(node.attributes.get(names.ERROR_TYPE))
    message = text_of(node.attributes.get(names.ERROR_MESSAGE))
    return {"type": kind or "_OTHER", "message": message or node.error}


def _agent(nodes: Sequence[Node]) -> dict[str, str]:
    """Return who ran: named by the run, by a step of it, or else by the service."""
    found = {
        field: text
        for field, key in (("name", names.AGENT_NAME), ("version", names.AGENT_VERSION))
        if (text := _first(nodes, key)) is not None
    }
    if "name" not in found:
        for node in nodes:
            service = node.facts.resource.get("service.name") if node.facts else None
            if isinstance(service, str) and service and not service.startswith(_UNNAMED_SERVICE):
                return {**found, "name": service}
    return found


def _first(nodes: Sequence[Node], key: str) -> str | None:
    texts = (text_of(node.attributes.get(key)) for node in nodes)
    return next((text for text in texts if text is not None), None)


def _other_step(node: Node) -> dict[str, Json]:
    found = {**span_rest(node), "started_at": moment(node.start_ns)}
    return {**found, "ended_at": moment(node.end_ns)} if node.end_ns else found


def name_counts(counts: Counter[str]) -> dict[str, Json]:
    """Return how many spans there are of each name; of many names those that are most."""
    found: dict[str, Json] = dict(sorted(counts.most_common(_MOST_NAMES)))
    rest = sum(counts.values()) - sum(found.values())
    return {**found, "...": rest} if rest else found


def _structure(nodes: Sequence[Node]) -> dict[str, Json]:
    """Return how many spans of each name are no step: web requests, wrappers, turns of a loop."""
    return name_counts(
        Counter(n.name for n in nodes if n.facts and n.facts.kind in ("plain", "skip"))
    )
