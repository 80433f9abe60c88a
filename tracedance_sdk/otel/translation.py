"""A span of any dialect as the facts of a step, under the conventions' names.

The dialects are data: `kinds` says what a span is, `facts` where each fact stands. Here the two
meet, and what no fact took is kept as it was written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, cast

from tracedance_sdk.journal import Attributes
from tracedance_sdk.otel import names
from tracedance_sdk.otel.dialects.decoding import REDACTED, decoded, unflattened
from tracedance_sdk.otel.dialects.events import (
    detail_attributes,
    event_facts,
    event_grades,
    event_kind,
    exception,
    is_read,
)
from tracedance_sdk.otel.dialects.facts import CONTENT, PLACES, fact_index
from tracedance_sdk.otel.dialects.kinds import StepKind, step_kind
from tracedance_sdk.otel.dialects.places import FactPlace
from tracedance_sdk.otel.foreign import ForeignSpan
from tracedance_sdk.otel.json_texts import json_text
from tracedance_sdk.otel.values import text_of
from tracedance_sdk.trace import UNKNOWN, Json

_OPERATIONS: Final[Mapping[StepKind, str]] = {
    "agent": names.INVOKE_AGENT,
    "model": names.CHAT,
    "tool": names.EXECUTE_TOOL,
    "handoff": names.EXECUTE_TOOL,
}
_TOOL_NAMES: Final = ("execute_tool ", "running tool: ", "running output function: ", "tools/call ")
_GENERAL_NAMES: Final = frozenset({"agent run", "agent", "invocation", "execute agent"})
_METHODS: Final = (".run", ".forward", ".aforward", "._execute_core")
_TOOL_ENDS: Final = (".tool", ".__call__", ".acall")
_HANDOFF: Final = "handoff to "
_NOISE: Final = frozenset(
    {"logfire.json_schema", "input.mime_type", "output.mime_type", names.OPERATION}
)
_BEGINNINGS: Final = ("[{", '["', '{"')
_REQUEST: Final = "gen_ai.request."
_FAILED_STATUS: Final = frozenset({"error", "failed", "failure"})
_GRADES: Final = ("annotations", "evaluations", "trace.annotations", "session.annotations")


class NodeFacts(NamedTuple):
    """What is known of another program's span beside its facts.

    Attributes:
        kind: What step it is.
        dialect: Who says so.
        failed: The step failed.
        scope: Name and version of the instrumentation scope.
        resource: Attributes that the spans of a process share.
        rest: Attributes that no fact took, as written.
        events: Events that no fact took.
        unread: Attributes that should hold messages or values and cannot be decoded.
        redacted: How many of them were switched off.
        annotations: Grades on the span.
    """

    kind: StepKind
    dialect: str
    failed: bool
    scope: tuple[str, str]
    resource: Mapping[str, Json]
    rest: dict[str, Json] = {}  # noqa: RUF012 - filled once, when made
    events: tuple[dict[str, Json], ...] = ()
    unread: tuple[str, ...] = ()
    redacted: int = 0
    annotations: tuple[Json, ...] = ()


class _Gathering:
    """The facts of one span, and which of its attributes they took."""

    def __init__(self, kind: StepKind, attributes: Mapping[str, Json]) -> None:
        self.facts: dict[str, Json] = {}
        self.unread: list[str] = []
        self.redacted = 0
        self._kind = kind
        self._attributes = attributes
        self._used: set[str] = set(_NOISE)
        self._prefixes: set[str] = set()

    def gather_all(self) -> None:
        """Take every fact from the first place that has it."""
        index = fact_index(self._kind)
        for fact, numbers in index.candidates(self._attributes).items():
            self._gather(fact, [PLACES[fact][number] for number in numbers])

    def _gather(self, fact: str, places: list[FactPlace]) -> None:
        for place in places:
            value = self._found(place)
            if value is not UNKNOWN:
                self.facts[fact] = value
                self._take(place)
                break
        if fact not in CONTENT:
            return
        if fact in self.facts:
            # Whatever says the same again is a repetition, often of a long history.
            for place in places:
                self._take(place)
            return
        attributes = self._attributes
        self.unread += [k for p in places for k in p.keys if isinstance(attributes.get(k), str)]

    def gather_settings(self) -> None:
        """Take what a request asked for beside its model, as settings by the provider's names."""
        found: dict[str, Json] = {}
        for key, value in self._attributes.items():
            if key.startswith(_REQUEST) and key not in self._used and value is not None:
                field = key.removeprefix(_REQUEST)
                found["stop" if field == "stop_sequences" else field] = value
                self._used.add(key)
        given: Any = self.facts.get(names.SETTINGS)
        if found:
            self.facts[names.SETTINGS] = {**(given if isinstance(given, dict) else {}), **found}

    def rest(self) -> dict[str, Json]:
        """Return the attributes that no fact took."""
        prefixes = tuple(self._prefixes)
        return {
            key: value
            for key, value in self._attributes.items()
            if key not in self._used and not (prefixes and key.startswith(prefixes))
        }

    def _found(self, place: FactPlace) -> Json:
        for key in place.keys:
            value = self._attributes.get(key)
            if isinstance(value, str) and value in REDACTED:
                self.redacted += 1
                self._used.add(key)
                return UNKNOWN
        return place.find(self._attributes)

    def _take(self, place: FactPlace) -> None:
        for key in place.keys:
            (self._prefixes if key.endswith(".") else self._used).add(key)


def translated(span: ForeignSpan) -> tuple[Attributes, NodeFacts]:
    """Return the facts of a span as attributes of the conventions, decoded, and what remains.

    Messages are parsed ones in them. A span that is no step of a run has few.
    """
    attributes = detail_attributes(span)
    full = span._replace(attributes=attributes)
    kind, dialect = step_kind(full)
    if kind == "plain" and span.events:
        kind = event_kind(span)
    gathering = _Gathering(kind, attributes)
    is_step = kind not in ("plain", "skip")
    gathering.gather_all()
    if kind in ("model", "agent"):
        gathering.gather_settings()
    facts = gathering.facts
    for fact, value in event_facts(span, kind).items():
        if value is not UNKNOWN:
            facts.setdefault(fact, value)
    _amend(facts, full, kind)
    failed = _failure(facts, full, kind)
    rest = gathering.rest() if is_step else {}
    unread = [key for key in gathering.unread if key in rest and _is_cut(rest[key])]
    return cast("Attributes", facts), NodeFacts(
        kind,
        dialect,
        failed,
        (span.scope, span.scope_version),
        span.resource,
        rest,
        tuple(_event(e) for e in span.events if not is_read(e)) if is_step else (),
        tuple(unread),
        gathering.redacted,
        (*event_grades(span), *_grades(attributes)) if is_step else (),
    )


def _is_cut(value: Json) -> bool:
    """Whether a text begins as JSON and is none."""
    found = decoded(value)
    return isinstance(found, str) and found is value and value.lstrip()[:2] in _BEGINNINGS


def _event(event: Any) -> dict[str, Json]:
    found: dict[str, Json] = {"name": event.name}
    return {**found, "attributes": event.attributes} if event.attributes else found


def _amend(facts: dict[str, Json], span: ForeignSpan, kind: StepKind) -> None:
    """Add what follows from the kind of a step and from other facts."""
    operation = _OPERATIONS.get(kind)
    if operation is not None:
        said = text_of(span.attributes.get(names.OPERATION))
        facts[names.OPERATION] = said if kind == "model" and said in names.INFERENCE else operation
    if kind in ("tool", "handoff") and names.TOOL_NAME not in facts:
        facts[names.TOOL_NAME] = _tool_name(span, kind)
    if kind == "agent" and names.AGENT_NAME not in facts:
        name = _agent_name(span)
        if name:
            facts[names.AGENT_NAME] = name
    if span.scope.startswith("com.anthropic.claude_code") and "session.id" in span.attributes:
        # Sub-agents have a conversation of their own and the session of the whole.
        facts[names.CONVERSATION_ID] = span.attributes["session.id"]
    given, read, written = (
        facts.get(key, 0)
        for key in (names.INPUT_TOKENS, names.CACHE_READ_TOKENS, names.CACHE_WRITE_TOKENS)
    )
    if names.INPUT_TOKENS in facts and given < read:
        # Less than what came from the cache alone: the cache was not counted.
        facts[names.INPUT_TOKENS] = given + read + written


def _agent_name(span: ForeignSpan) -> str:
    """Return who an agent's span is named after; empty for a name that any agent has."""
    name = span.name
    if span.scope.startswith("openinference."):
        for end in _METHODS:
            name = name.removesuffix(end)
    for start in ("invoke_agent", "agent_run"):
        name = name.removeprefix(start)
    name = name.strip(" []").removesuffix(".agent")
    is_general = name in _GENERAL_NAMES or name.startswith(("ai.", "claude_code."))
    return "" if is_general else name


def _tool_name(span: ForeignSpan, kind: StepKind) -> str:
    if kind == "handoff":
        to = span.attributes.get("gen_ai.handoff.to_agent")
        agent = to if isinstance(to, str) else span.name.removeprefix(_HANDOFF)
        return f"transfer_to_{agent.strip().replace(' ', '_').lower()}"
    name = span.name
    for start in _TOOL_NAMES:
        name = name.removeprefix(start)
    for end in _TOOL_ENDS:
        name = name.removesuffix(end)
    return name.strip() or span.name or "unknown"


def _failure(facts: dict[str, Json], span: ForeignSpan, kind: StepKind) -> bool:
    """Whether a step failed; if so its error gets a type, where one is known."""
    attributes = span.attributes
    status = facts.get(names.TOOL_STATUS)
    failed = (
        span.failed
        or names.ERROR_TYPE in facts
        or attributes.get("langfuse.observation.level") == "ERROR"
        or (kind == "tool" and str(status).lower() in _FAILED_STATUS)
        or any(key.startswith("crewai.tool.failure.") for key in attributes)
        or (kind == "tool" and _says_error(facts.get(names.TOOL_RESULT)))
        or (
            span.scope.startswith("com.anthropic.claude_code")
            and str(attributes.get("success")).lower() == "false"
        )
    )
    if failed:
        raised, message = exception(span)
        if raised is not None:
            facts.setdefault(names.ERROR_TYPE, raised)
        described = _described(span.message, raised=raised, message=message)
        for said in (described, attributes.get("langfuse.observation.status_message"), message):
            if isinstance(said, str) and said:
                facts[names.ERROR_MESSAGE] = said
                break
        else:
            brought = facts.get(names.TOOL_RESULT)
            if isinstance(brought, str) and brought:
                facts.setdefault(names.ERROR_MESSAGE, brought)
    return failed


def _described(status: str, *, raised: str | None, message: str | None) -> str:
    """Return a status without the exception's type, where it is nothing but type and message."""
    if not raised or not message:
        return status
    short = raised.rpartition(".")[2]
    full = (f"{raised}: {message}", f"{short}: {message}", f"{short}({message!r})")
    return message if status in full else status


def _says_error(value: Json) -> bool:
    """Whether a tool's result says so by MCP's or Bedrock's flag; a key ``error`` is no flag."""
    if not isinstance(value, dict):
        return False
    inner = value.get("toolResult")
    status = inner.get("status") if isinstance(inner, dict) else None
    return True in (value.get("isError"), value.get("is_error")) or status == "error"


def _grades(attributes: Mapping[str, Json]) -> list[Json]:
    found: list[Json] = []
    for prefix in _GRADES:
        if not any(key.startswith(prefix) for key in attributes):
            continue
        listed = unflattened(attributes, prefix)
        for item in listed if isinstance(listed, list) else ():
            found.append(item if isinstance(item, dict) else json_text(item))
    return found
