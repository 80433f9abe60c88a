"""What is known of a trace's tools when its calls are looked at: kind, effect, schema."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from tracedance_sdk.formats import ToolTable, tool_table
from tracedance_sdk.trace import UNKNOWN, Effect, Json, Kind, Trace

_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
_MOST_REMEMBERED: Final = 10_000


class ToolFacts(NamedTuple):
    """What is known of one tool.

    Attributes:
        is_offered: Its name is among the trace's tools; None when the trace names none.
    """

    kind: Kind
    effect: Effect
    parameters: dict[str, Json] | None
    is_offered: bool | None


class ToolLookup:
    """Looks tools up, in a trace's own definitions first, then in the table of clients.

    Args:
        table: By default the packaged table with the user's own.
    """

    def __init__(self, table: ToolTable | None = None) -> None:
        self._table = table
        self._known: dict[tuple[str, str], Any] = {}

    def of(self, trace: Trace) -> dict[str, ToolFacts]:
        """Return the facts of each tool that a trace's calls use, by name."""
        names = {call.name for turn in trace.turns for call in turn.calls}
        if not names:
            return {}
        own = {tool.name: tool for tool in trace.tools}
        agents = [trace.agent.name]
        if trace.source is not None:
            agents.append(trace.source.collector)
        found: dict[str, ToolFacts] = {}
        for name in names:
            tool = own.get(name)
            known = self._lookup(agents, name)
            kind: Kind = known.kind if known else "other"
            effect: Effect = known.effect if known else "unknown"
            parameters = known.parameters if known else None
            if tool is not None:
                kind = tool.kind if tool.kind != "other" else kind
                effect = tool.effect if tool.effect != "unknown" else effect
                parameters = tool.parameters if tool.parameters is not None else parameters
            found[name] = ToolFacts(kind, effect, parameters, name in own if own else None)
        return found

    def _lookup(self, agents: list[str], name: str) -> Any:
        best = None
        for agent in agents:
            key = (agent, name)
            if key not in self._known:
                if self._table is None:
                    self._table = tool_table()
                if len(self._known) >= _MOST_REMEMBERED:
                    self._known.clear()
                self._known[key] = self._table.lookup(agent, name)
            known = self._known[key]
            if known is not None and known.by != "pattern":
                return known
            best = best or known
        return best


def meets(arguments: Json, parameters: dict[str, Json] | None) -> bool | None:
    """Whether arguments meet the outer level of a schema; None when it does not tell.

    Looked at are the names, whether they are required or allowed, and their types; the anchor of a
    behaviour validates in full.
    """
    if parameters is None or arguments is UNKNOWN:
        return None
    if not isinstance(arguments, dict):
        return False
    properties, required = parameters.get("properties"), parameters.get("required")
    if not isinstance(properties, dict):
        return None
    if isinstance(required, list) and not _holds(arguments, required):
        return False
    is_closed = parameters.get("additionalProperties") is False
    for name, value in arguments.items():
        if name not in properties:
            if is_closed:
                return False
        elif not _has_type(value, properties[name]):
            return False
    return True


def _holds(arguments: dict[str, Json], required: list[Json]) -> bool:
    return all(name in arguments for name in required if isinstance(name, str))


def _has_type(value: Json, schema: Json) -> bool:
    named = schema.get("type") if isinstance(schema, dict) else None
    listed = named if isinstance(named, list) else [named]
    words = [word for word in listed if isinstance(word, str) and word in _TYPES]
    if not words or len(words) < len(listed):
        return True
    for word in words:
        if isinstance(value, bool):
            if word == "boolean":
                return True
        elif isinstance(value, _TYPES[word]) or (
            word == "integer" and isinstance(value, float) and value.is_integer()
        ):
            return True
    return False
