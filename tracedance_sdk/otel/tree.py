"""Who belongs to whom: records as nodes, nodes under runs, whatever order they came in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from tracedance_sdk.journal import Attributes, EventRecord, EvidenceRecord, SpanRecord
from tracedance_sdk.otel.names import (
    CALL_START,
    INFERENCE_DETAILS,
    INVOKE_AGENT,
    OPERATION,
    RUN_START,
    TRACE_ID,
    TURN,
)

Key = tuple[str, str]
"""OpenTelemetry trace id and span id."""

_STARTS: Final = (CALL_START, RUN_START)


class Node(NamedTuple):
    """A span, ended or only begun.

    Attributes:
        end_ns: None for a span of which only the start is known.
        error: Status description of a failure; None when it did not fail.
    """

    key: Key
    name: str
    parent: Key | None
    start_ns: int
    end_ns: int | None
    attributes: Attributes
    error: str | None

    @property
    def is_run(self) -> bool:
        """Whether the span is an agent's run."""
        return self.attributes.get(OPERATION) == INVOKE_AGENT or TRACE_ID in self.attributes


class Run(NamedTuple):
    """One run of an agent and what happened in it, sub-agents' runs apart.

    Attributes:
        key: Of its root span.
        root: The root span; None when no record of it is at hand.
        nodes: By start, then key.
        turns: Attributes of the events that tell of turns, by time.
        caller: Key of the nearest run around this one.
        enclosing: Nodes between this run and `caller`, innermost first.
    """

    key: Key
    root: Node | None
    nodes: list[Node]
    turns: list[Attributes]
    caller: Key | None
    enclosing: list[Node]


def runs(records: Iterable[EvidenceRecord]) -> list[Run]:
    """Return the runs in the records, by start, then key."""
    nodes, events = _sorted_out(records)
    roots = {key for key, node in nodes.items() if node.is_run}
    alone = _only_roots(roots)
    found: dict[Key, Run] = {}
    for key in roots:
        above = list(_above(nodes[key], nodes))
        cut = next((place for place, node in enumerate(above) if node.is_run), len(above))
        caller = above[cut].key if cut < len(above) else None
        found[key] = Run(key, nodes[key], [], [], caller, above[:cut])
    for node in sorted(nodes.values(), key=lambda node: (node.start_ns, node.key)):
        if node.key not in roots:
            _at(found, _home(node, nodes, alone)).nodes.append(node)
    for event in sorted(events, key=lambda event: (event.time_ns, repr(event))):
        _at(found, _event_home(event, nodes, alone)).turns.append(event.attributes)
    return sorted(found.values(), key=lambda run: (_begin(run), run.key))


def _at(found: dict[Key, Run], key: Key) -> Run:
    return found.setdefault(key, Run(key, None, [], [], None, []))


def _sorted_out(
    records: Iterable[EvidenceRecord],
) -> tuple[dict[Key, Node], list[EventRecord]]:
    """Return one node per span and the events that tell of turns."""
    nodes: dict[Key, Node] = {}
    turns: set[str] = set()
    events: list[EventRecord] = []
    details: dict[Key, EventRecord] = {}
    for record in records:
        if isinstance(record, SpanRecord) or record.name in _STARTS:
            node = _node(record)
            known = nodes.get(node.key)
            if known is None or _rank(node) > _rank(known):
                nodes[node.key] = node
        elif record.name == INFERENCE_DETAILS:
            details[record.trace_id, record.span_id] = record
        elif record.name == TURN and (text := repr(record)) not in turns:
            turns.add(text)
            events.append(record)
    for key, event in details.items():
        if key in nodes:
            nodes[key] = nodes[key]._replace(attributes=event.attributes | nodes[key].attributes)
    return nodes, events


def _node(record: EvidenceRecord) -> Node:
    key = (record.trace_id, record.span_id)
    parent = (record.trace_id, record.parent_id) if record.parent_id else None
    if isinstance(record, SpanRecord):
        start, end, error = record.start_ns, record.end_ns, record.error
        return Node(key, record.name, parent, start, end, record.attributes, error)
    return Node(key, record.name, parent, record.time_ns, None, record.attributes, None)


def _rank(node: Node) -> tuple[bool, int, int, str]:
    """Order copies of one span so that the choice among them does not depend on theirs."""
    return (node.end_ns is not None, len(node.attributes), node.end_ns or 0, repr(node))


def _above(node: Node, nodes: dict[Key, Node]) -> Iterator[Node]:
    """Yield the known ancestors of a node, nearest first."""
    seen = {node.key}
    while node.parent is not None and node.parent in nodes and node.parent not in seen:
        seen.add(node.parent)
        node = nodes[node.parent]
        yield node


def _home(node: Node, nodes: dict[Key, Node], alone: dict[str, Key]) -> Key:
    """Return the run a node belongs to; where none is known, its highest ancestor's parent."""
    top = node
    for above in _above(node, nodes):
        if above.is_run:
            return above.key
        top = above
    return alone.get(node.key[0]) or top.parent or top.key


def _event_home(event: EventRecord, nodes: dict[Key, Node], alone: dict[str, Key]) -> Key:
    key = (event.trace_id, event.span_id)
    node = nodes.get(key)
    if node is not None:
        return key if node.is_run else _home(node, nodes, alone)
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
