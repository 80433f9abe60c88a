"""Which traces belong together: those of one session, and sub-agents with who started them.

Ids and sessions are nodes of a graph, each trace an edge between its own id, its session and its
parent's id; a family is a connected part. Parents that form a circle are one family like others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Sequence
from typing import Final, NamedTuple, TypeVar

from tracedance_sdk.trace import Trace

_ID: Final = "id"
_SESSION: Final = "session"
_FAMILY: Final = "family"


class Member(NamedTuple):
    """What binds a trace to others."""

    trace_id: str
    session_id: str | None
    parent_id: str | None


def member_of(trace: Trace) -> Member:
    """Return what binds a trace to others."""
    return Member(trace.id, trace.session_id, trace.parent.trace_id if trace.parent else None)


def link(kind: str, name: str) -> int:
    """Return the 64-bit number that stands for a name of a kind in indexes."""
    data = f"{kind}\0{name}".encode("utf-8", "backslashreplace")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def id_link(trace_id: str) -> int:
    """Return the number under which a trace, and its sub-agents, are found."""
    return link(_ID, trace_id)


def family_link(family: str) -> int:
    """Return the number under which the members of a stored family are found."""
    return link(_FAMILY, family)


def member_links(member: Member) -> list[int]:
    """Return the numbers that a trace shares with those it belongs to; its own id's first."""
    found = [link(_ID, member.trace_id)]
    if member.session_id is not None:
        found.append(link(_SESSION, member.session_id))
    if member.parent_id is not None:
        found.append(link(_ID, member.parent_id))
    return found


def links_of(trace: Trace) -> list[int]:
    """Return `member_links` of a trace."""
    return member_links(member_of(trace))


def families(members: Sequence[Member], *, known: Iterable[str | None] = ()) -> list[str]:
    """Return the family of each member: names are equal where members belong together.

    Args:
        members: Traces of one batch with those of the store that belong to them.
        known: Names that bind as well, one for each member: the families they had so far.

    Returns:
        For each member the smallest session of its family; without any session the smallest id
        that no member of the family has a parent for.
    """
    nodes = [_nodes(member) for member in members]
    for place, name in enumerate(known):
        if name is not None:
            nodes[place].append((_FAMILY, name))
    roots = _joined(nodes)
    names: dict[tuple[str, str], str] = {}
    groups: dict[tuple[str, str], list[Member]] = {}
    for member, root in zip(members, roots, strict=True):
        groups.setdefault(root, []).append(member)
    for root, group in groups.items():
        names[root] = _name(group)
    return [names[root] for root in roots]


def parts(traces: Iterable[Sequence[int]]) -> int:
    """Return how many families some traces make.

    Args:
        traces: The `links_of` each.

    Example:
        >>> alone, child = Member("a", None, None), Member("b", None, "a")
        >>> parts(map(member_links, (alone, child, Member("c", "s", None), Member("d", "s", None))))
        2
    """
    return len(set(_joined(list(traces))))


def _nodes(member: Member) -> list[tuple[str, str]]:
    found = [(_ID, member.trace_id)]
    if member.session_id is not None:
        found.append((_SESSION, member.session_id))
    if member.parent_id is not None:
        found.append((_ID, member.parent_id))
    return found


_Node = TypeVar("_Node", bound=Hashable)


def _joined(edges: Sequence[Sequence[_Node]]) -> list[_Node]:
    """Return for each edge the node that stands for its connected part."""
    above: dict[_Node, _Node] = {}

    def top(node: _Node) -> _Node:
        above.setdefault(node, node)
        while above[node] != node:
            above[node] = above[above[node]]
            node = above[node]
        return node

    for nodes in edges:
        first = top(nodes[0])
        for node in nodes[1:]:
            above[top(node)] = first
            first = top(first)
    return [top(nodes[0]) for nodes in edges]


def _name(group: Sequence[Member]) -> str:
    sessions = [member.session_id for member in group if member.session_id is not None]
    if sessions:
        return min(sessions)
    children = {member.trace_id for member in group if member.parent_id is not None}
    ids = {member.trace_id for member in group} | {m.parent_id for m in group if m.parent_id}
    return min(ids - children or ids)
