"""Who belongs to whom: records as nodes, nodes under runs, whatever order they came in.

All of it takes time in proportion to the number of spans, however deep they are nested.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from tracedance_sdk.journal import Attributes, EventRecord, EvidenceRecord, SpanRecord
from tracedance_sdk.otel.foreign import (
    ForeignLog,
    ForeignSpan,
    SpanEvent,
    as_record,
    of_record,
    own_attributes,
    plain_attributes,
)
from tracedance_sdk.otel.names import (
    CALL_INDEX,
    CALL_START,
    EXECUTE_TOOL,
    INFERENCE,
    INFERENCE_DETAILS,
    INVOKE_AGENT,
    OPERATION,
    RUN_START,
    TRACE_ID,
    TURN,
    TURN_INDEX,
)
from tracedance_sdk.otel.translation import NodeFacts, translated

Key = tuple[str, str]
"""OpenTelemetry trace id and span id."""

Record = EvidenceRecord | ForeignSpan | ForeignLog

_STARTS: Final = (CALL_START, RUN_START)
_OWN: Final = frozenset({TRACE_ID, CALL_INDEX, TURN_INDEX})
_NO_SPAN: Final = ""


class Node(NamedTuple):
    """A span, ended or only begun.

    Attributes:
        end_ns: None for a span of which only the start is known.
        attributes: As written in our own spans; of other programs' spans their facts under the
            conventions' names, decoded.
        error: Status description of a failure; None when it did not fail.
        facts: What else is known of another program's span; None for one of ours.
        was_in_circle: Its parent was one of those below it, and was taken away.
    """

    key: Key
    name: str
    parent: Key | None
    start_ns: int
    end_ns: int | None
    attributes: Attributes
    error: str | None
    facts: NodeFacts | None = None
    was_in_circle: bool = False

    @property
    def is_run(self) -> bool:
        """Whether the span is an agent's run."""
        return self.attributes.get(OPERATION) == INVOKE_AGENT or TRACE_ID in self.attributes

    @property
    def is_tool(self) -> bool:
        """Whether the span is the execution of a tool."""
        return self.attributes.get(OPERATION) == EXECUTE_TOOL

    @property
    def is_model(self) -> bool:
        """Whether the span is a call of a model."""
        return self.attributes.get(OPERATION) in INFERENCE


class Around(NamedTuple):
    """What is known to be around a span, or at its own place, within one run.

    Attributes:
        run: Key of the nearest run.
        tool: Key of the nearest tool inside that run.
        model: Key of the nearest model call inside that run and tool.
        outermost: Key of the outermost of nested model calls there.
        top: Key of the highest ancestor at hand.
    """

    run: Key | None
    tool: Key | None
    model: Key | None
    outermost: Key | None
    top: Key


class Run(NamedTuple):
    """One run of an agent and what happened in it, sub-agents' runs apart.

    Attributes:
        key: Of its root span. Of model calls made inside a tool: the tool's. Of spans without any
            run around them: the OpenTelemetry trace's id and no span id.
        root: The root span; None when no record of it is at hand.
        nodes: By start, then key.
        turns: Attributes of the events that tell of turns, by time.
        caller: Key of the nearest run around this one.
        enclosing: The tool whose execution this run is inside of.
        around: What is around each node.
    """

    key: Key
    root: Node | None
    nodes: list[Node]
    turns: list[Attributes]
    caller: Key | None
    enclosing: Node | None
    around: Mapping[Key, Around] = {}


def runs(records: Iterable[Record]) -> list[Run]:
    """Return the runs in the records, by start, then key."""
    nodes, events = _sorted_out(records)
    _cut_circles(nodes)
    ordered = sorted(nodes.values(), key=lambda node: (node.start_ns, node.key))
    places = _places(ordered, nodes)
    alone = _only_roots(node.key for node in ordered if node.is_run)
    found: dict[Key, Run] = {}
    for node in ordered:
        if node.is_run:
            above = None if node.parent is None else places.get(node.parent)
            caller, tool = (None, None) if above is None else (above.run, above.tool)
            enclosing = None if tool is None else nodes[tool]
            found[node.key] = Run(node.key, node, [], [], caller, enclosing, places)
    thinking = _thinking_tools(ordered, places)
    for node in ordered:
        if not node.is_run:
            home = _home(node, nodes, places, thinking, alone)
            run = found.get(home)
            if run is None:
                run = found[home] = _headless(home, nodes, places)
            run.nodes.append(node)
    for event in sorted(events, key=lambda event: (event.time_ns, repr(event))):
        home = _event_home(event, nodes, places, alone)
        if home not in found:
            found[home] = _headless(home, nodes, places)
        found[home].turns.append(event.attributes)
    return sorted(found.values(), key=lambda run: (_begin(run), run.key))


def _headless(key: Key, nodes: Mapping[Key, Node], places: Mapping[Key, Around]) -> Run:
    """Return a run without a root: inside a tool, or of spans that belong to none."""
    tool = nodes.get(key)
    if tool is None or not tool.is_tool:
        return Run(key, None, [], [], None, None, places)
    above = None if tool.parent is None else places.get(tool.parent)
    return Run(key, None, [], [], None if above is None else above.run, tool, places)


def _sorted_out(records: Iterable[Record]) -> tuple[dict[Key, Node], list[EventRecord]]:
    """Return one node per span and the events that tell of turns."""
    nodes: dict[Key, Node] = {}
    foreign: dict[Key, ForeignSpan] = {}
    logs: dict[Key, list[SpanEvent]] = defaultdict(list)
    turns: set[str] = set()
    events: list[EventRecord] = []
    for given in records:
        record = _own(given)
        if isinstance(record, ForeignLog):
            logs[record.trace_id, record.span_id].append(record.event)
        elif isinstance(record, ForeignSpan):
            key = (record.trace_id, record.span_id)
            known = foreign.get(key)
            if known is None or _foreign_rank(record) > _foreign_rank(known):
                foreign[key] = record
        elif isinstance(record, SpanRecord) or record.name in _STARTS:
            _keep(nodes, _node(record))
        elif record.name == TURN and (text := repr(record)) not in turns:
            turns.add(text)
            events.append(record)
        elif record.name == INFERENCE_DETAILS:
            event = SpanEvent(record.name, record.time_ns, plain_attributes(record.attributes))
            logs[record.trace_id, record.span_id].append(event)
    for key, span in foreign.items():
        more = logs.get(key, ())
        _keep(nodes, _foreign_node(span._replace(events=(*span.events, *more)) if more else span))
    return nodes, events


def _own(record: Record) -> Record:
    """Return a record of ours as it was written, and a span of another program as foreign."""
    if isinstance(record, SpanRecord):
        return record if _OWN & record.attributes.keys() else of_record(record)
    if isinstance(record, ForeignSpan) and _OWN & record.attributes.keys():
        return as_record(record)
    if isinstance(record, ForeignLog) and record.event.name in (*_STARTS, TURN):
        name, time, attributes = record.event
        fields = {k: v for k, v in attributes.items() if k != "body"}
        return EventRecord(name, record.trace_id, record.span_id, time, own_attributes(fields))
    return record


def _keep(nodes: dict[Key, Node], node: Node) -> None:
    known = nodes.get(node.key)
    if known is None or _rank(node) > _rank(known):
        nodes[node.key] = node


def _node(record: EvidenceRecord) -> Node:
    key = (record.trace_id, record.span_id)
    parent = (record.trace_id, record.parent_id) if record.parent_id else None
    if isinstance(record, SpanRecord):
        start, end, error = record.start_ns, record.end_ns, record.error
        return Node(key, record.name, parent, start, end, record.attributes, error)
    return Node(key, record.name, parent, record.time_ns, None, record.attributes, None)


def _foreign_node(span: ForeignSpan) -> Node:
    attributes, facts = translated(span)
    return Node(
        (span.trace_id, span.span_id),
        span.name,
        (span.trace_id, span.parent_id) if span.parent_id else None,
        span.start_ns,
        span.end_ns,
        attributes,
        span.message if facts.failed else None,
        facts,
    )


def _rank(node: Node) -> tuple[bool, int, int, str]:
    """Order copies of one span so that the choice among them does not depend on theirs."""
    return (node.end_ns is not None, len(node.attributes), node.end_ns or 0, repr(node))


def _foreign_rank(span: ForeignSpan) -> tuple[bool, bool, int, int, str]:
    """Order copies of one span; what Logfire writes when a span begins is the least."""
    is_pending = span.attributes.get("logfire.span_type") == "pending_span"
    size = len(span.attributes) + len(span.events)
    return (not is_pending, span.end_ns is not None, size, span.end_ns or 0, repr(span))


def _places(ordered: list[Node], nodes: Mapping[Key, Node]) -> dict[Key, Around]:
    """Return what is at the place of each node: itself, where it is of that kind, or around it."""
    found: dict[Key, Around] = {}
    for node in ordered:
        path: list[Node] = []
        here: Node | None = node
        while here is not None and here.key not in found:
            path.append(here)
            here = None if here.parent is None else nodes.get(here.parent)
        for item in reversed(path):
            above = None if item.parent is None else found.get(item.parent)
            found[item.key] = _at(item, above)
    return found


def _cut_circles(nodes: dict[Key, Node]) -> None:
    """Where parents go round in a circle, let the node of it that begins first have none."""
    done: set[Key] = set()
    for key in list(nodes):
        path: dict[Key, int] = {}
        here: Key | None = key
        while here is not None and here in nodes and here not in done and here not in path:
            path[here] = len(path)
            here = nodes[here].parent
        if here is not None and here in path:
            circle = [nodes[item] for item, place in path.items() if place >= path[here]]
            first = min(circle, key=lambda node: (node.start_ns, node.key))
            nodes[first.key] = first._replace(parent=None, was_in_circle=True)
        done.update(path)


def _at(node: Node, above: Around | None) -> Around:
    top = node.key if above is None else above.top
    if node.is_run:
        return Around(node.key, None, None, None, top)
    run = None if above is None else above.run
    if node.is_tool:
        return Around(run, node.key, None, None, top)
    tool = None if above is None else above.tool
    model = None if above is None else above.model
    outermost = None if above is None else above.outermost
    if node.is_model:
        return Around(run, tool, node.key, outermost or node.key, top)
    return Around(run, tool, model, outermost, top)


def _thinking_tools(ordered: list[Node], places: Mapping[Key, Around]) -> set[Key]:
    """Return the tools inside which another program called a model without being an agent."""
    found: set[Key] = set()
    for node in ordered:
        tool = places[node.key].tool
        if node.facts is not None and node.is_model and tool is not None:
            found.add(tool)
    return found


def _home(
    node: Node,
    nodes: Mapping[Key, Node],
    places: Mapping[Key, Around],
    thinking: set[Key],
    alone: Mapping[str, Key],
) -> Key:
    """Return the run a node belongs to, or what stands for it where none is at hand."""
    above = places.get(node.parent) if node.parent is not None else None
    if above is not None and above.tool in thinking and above.tool is not None:
        return above.tool
    if above is not None and above.run is not None:
        return above.run
    trace_id = node.key[0]
    top = nodes[places[node.key].top]
    is_lost = top.parent is not None or top is node or top.was_in_circle
    if trace_id in alone and (is_lost or node.facts is None):
        return alone[trace_id]
    return (top.parent or top.key) if node.facts is None else (trace_id, _NO_SPAN)


def _event_home(
    event: EventRecord,
    nodes: Mapping[Key, Node],
    places: Mapping[Key, Around],
    alone: Mapping[str, Key],
) -> Key:
    key = (event.trace_id, event.span_id)
    node = nodes.get(key)
    if node is not None:
        return key if node.is_run else _home(node, nodes, places, set(), alone)
    return alone.get(event.trace_id) or key


def _only_roots(roots: Iterable[Key]) -> dict[str, Key]:
    """Return the run of each OpenTelemetry trace that holds exactly one."""
    found: dict[str, Key] = {}
    several: set[str] = set()
    for key in roots:
        if found.setdefault(key[0], key) != key:
            several.add(key[0])
    return {trace_id: key for trace_id, key in found.items() if trace_id not in several}


def _begin(run: Run) -> int:
    if run.root is not None:
        return run.root.start_ns
    return min((node.start_ns for node in run.nodes), default=0)
