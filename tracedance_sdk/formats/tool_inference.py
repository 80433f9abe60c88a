"""Tool definitions worked out from the calls: which arguments there are, and of what types."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, Field, Strict, ValidationError

from tracedance_sdk.errors import InvalidJSON, UnsupportedVersion, shown
from tracedance_sdk.trace import (
    UNKNOWN,
    Call,
    Json,
    ToolDefinition,
    Trace,
    blob_digest,
    is_type_stub,
    path_text,
)

FORMAT: Final = "tracedance.tool_shapes"
VERSION: Final = 1

MOST_AGENTS: Final = 1_000
MOST_TOOLS: Final = 2_000
"""Most tools kept of an agent."""

MOST_ARGUMENTS: Final = 200
"""Most arguments kept of a tool."""

LONGEST_NAME: Final = 1_000
"""Characters of a name; what has a longer one is left out."""

_ORDER: Final = ("null", "boolean", "integer", "number", "string", "array", "object")
_TYPES: Final = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}
_STUBS: Final = frozenset({"$type", "$blob"})
"""One of these keys is in every stub."""

_ANY: Final = "any"
"""The type of a value that is not at hand: moved away, or none that JSON can express."""

_Item = TypeVar("_Item")
_Count = Annotated[int, Strict(), Field(ge=0)]


@dataclass(slots=True)
class _Shape:
    """What was seen of one tool.

    Attributes:
        calls: Uses of it, those whose arguments are not at hand included.
        types: Of the arguments as a whole, with their counts; ``object`` nearly always.
        arguments: Name → type → how often it had that type.
        is_cut: Whether arguments were left out.
    """

    calls: _Count = 0
    types: dict[str, _Count] = field(default_factory=dict)
    arguments: dict[str, dict[str, _Count]] = field(default_factory=dict)
    is_cut: Annotated[bool, Strict()] = False

    def count(self, arguments: Json) -> None:
        self.calls += 1
        kind = _ANY if arguments is UNKNOWN else _type(arguments)
        if kind == _ANY:
            return
        self.types[kind] = self.types.get(kind, 0) + 1
        if kind != "object":
            return
        known = self.arguments
        for name, value in arguments.items():
            word = _type(value)
            seen = known.get(name)
            if seen is not None:
                seen[word] = seen.get(word, 0) + 1
            elif len(name) > LONGEST_NAME:
                self.is_cut = True
            else:
                known[name] = {word: 1}
        self.bound()

    def join(self, other: _Shape) -> None:
        self.calls += other.calls
        _add(self.types, other.types)
        for name, types in other.arguments.items():
            _add(self.arguments.setdefault(name, {}), types)
        self.is_cut |= other.is_cut
        self.bound()

    def bound(self) -> None:
        if len(self.arguments) > MOST_ARGUMENTS:
            self.arguments = _fewest(self.arguments, MOST_ARGUMENTS)
            self.is_cut = True

    def parameters(self) -> dict[str, Json] | None:
        if not self.types:
            return None
        objects = self.types.get("object", 0)
        schema: dict[str, Json] = _typed(self.types)
        if objects:
            schema["properties"] = {name: _typed(types) for name, types in self.arguments.items()}
        required = [n for n, types in self.arguments.items() if sum(types.values()) == objects]
        if required:
            schema["required"] = required
        return schema


class _Document(BaseModel):
    """The JSON object that `ToolShapes.to_dict` writes."""

    agents: dict[str, dict[str, _Shape]]


class ToolShapes:
    """What all calls of each agent's tools look like.

    Counted in parts and joined, in any order, it is the same. Beyond `MOST_ARGUMENTS` of a tool,
    `MOST_TOOLS` of an agent and `MOST_AGENTS`, names are left out by the order of their hashes,
    which no order of the parts changes either.

    Args:
        traces: What to count at once.

    Example:
        >>> from tracedance_sdk.trace import Call, Turn
        >>> call = Call(index=0, id="1", name="roll", arguments={"sides": 6})
        >>> turn = Turn(index=0, role="assistant", origin="agent", calls=(call,))
        >>> shapes = ToolShapes([Trace(id="run-1", turns=(turn,))])
        >>> shapes.definition("agent", "roll").parameters
        {'type': 'object', 'properties': {'sides': {'type': 'integer'}}, 'required': ['sides']}
    """

    def __init__(self, traces: Iterable[Trace] = ()) -> None:
        self._agents: dict[str, dict[str, _Shape]] = {}
        for trace in traces:
            self.add(trace)

    def __eq__(self, other: object) -> bool:
        return self._agents == other._agents if isinstance(other, ToolShapes) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # it is added to

    def add(self, trace: Trace) -> None:
        """Count the agent's own calls of a trace; those inside a call or by a user are not its."""
        calls = [call for call in trace.actions if is_named(call)]
        agent = trace.agent.name
        if not calls or len(agent) > LONGEST_NAME:
            return
        tools = self._agents.setdefault(agent, {})
        for call in calls:
            shape = tools.get(call.name)
            if shape is None:
                if len(call.name) > LONGEST_NAME:
                    continue
                shape = tools[call.name] = _Shape()
                self._bound_tools(agent, 2 * MOST_TOOLS)
            shape.count(call.arguments)
        self._bound(agent)

    def merged(self, other: ToolShapes) -> ToolShapes:
        """Return the shapes of both; neither is changed."""
        found = ToolShapes()
        for part in (self, other):
            for agent, tools in part._agents.items():
                kept = found._agents.setdefault(agent, {})
                for name, shape in tools.items():
                    kept.setdefault(name, _Shape()).join(shape)
        for agent in list(found._agents):
            found._bound(agent)
        return found

    def calls(self, agent_name: str, tool_name: str) -> int:
        """Return how many calls of a tool were counted."""
        shape = self._agents.get(agent_name, {}).get(tool_name)
        return 0 if shape is None else shape.calls

    def tools(self) -> Iterator[tuple[str, str]]:
        """Yield the name of every agent with each of its tools, sorted."""
        for agent in sorted(self._agents):
            for name in sorted(self._agents[agent]):
                yield agent, name

    def definition(self, agent_name: str, tool_name: str) -> ToolDefinition | None:
        """Return a definition by the calls of a tool; None where there was none.

        Every call that was counted and has its arguments at hand meets it. Its parameters are an
        object with the arguments seen and their types; ``required`` are those that no call was
        without. They are None when no call's arguments are at hand.
        """
        shape = self._agents.get(agent_name, {}).get(tool_name)
        if shape is None:
            return None
        return ToolDefinition(name=tool_name, parameters=shape.parameters(), origin="inferred")

    def to_dict(self) -> dict[str, Any]:
        """Return the shapes as a JSON object that `from_dict` reads."""
        agents = {
            agent: {name: asdict(shape) for name, shape in sorted(tools.items())}
            for agent, tools in sorted(self._agents.items())
        }
        return {"format": FORMAT, "version": VERSION, "agents": agents}

    @classmethod
    def from_dict(cls, document: Json, *, where: str = "tool shapes") -> ToolShapes:
        """Build shapes from their JSON object.

        Args:
            document: What `to_dict` gave.
            where: What it is, for messages.

        Raises:
            UnsupportedVersion: Another format version.
            InvalidJSON: No object of ours, or a field of a wrong type, with its place.
        """
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise InvalidJSON(f"{where}: no tool shapes: 'format' is not {FORMAT!r}")
        if document.get("version") != VERSION:
            version = shown(document.get("version"))
            message = f"{where}: format version {version}; this release reads version {VERSION}"
            raise UnsupportedVersion(message)
        try:
            found = _Document.model_validate(document)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False)[0]
            message = f"{where}: {first['msg']} @ {path_text(first['loc'])}"
            raise InvalidJSON(message) from error
        shapes = cls()
        shapes._agents = found.agents
        return shapes.merged(cls())

    def _bound(self, agent: str) -> None:
        self._bound_tools(agent, MOST_TOOLS)
        if len(self._agents) > MOST_AGENTS:
            self._agents = _fewest(self._agents, MOST_AGENTS)

    def _bound_tools(self, agent: str, most: int) -> None:
        tools = self._agents[agent]
        if len(tools) > most:
            kept = _fewest(tools, MOST_TOOLS)
            for name in tools.keys() - kept.keys():
                del tools[name]


def is_named(call: Call) -> bool:
    """Whether a call names a tool: readers call one ``unknown`` where the source does not tell."""
    return call.name != "unknown"


def _type(value: Json) -> str:
    word = _TYPES.get(type(value), _ANY)
    if (
        word == "object"
        and not _STUBS.isdisjoint(value)
        and (is_type_stub(value) or blob_digest(value) is not None)
    ):
        return _ANY
    return word


def _typed(types: Iterable[str]) -> dict[str, Json]:
    """Return the schema of one of these types; a whole number is a number, too."""
    words = set(types)
    if not words or not words <= set(_ORDER):
        return {}
    if "number" in words:
        words.discard("integer")
    found = [word for word in _ORDER if word in words]
    return {"type": found[0] if len(found) == 1 else found}


def _add(counts: dict[str, int], more: dict[str, int]) -> None:
    for word, count in more.items():
        counts[word] = counts.get(word, 0) + count


def _fewest(found: dict[str, _Item], most: int) -> dict[str, _Item]:
    """Keep the names whose hashes are the least: what is left out depends on the names alone."""

    def digest(name: str) -> bytes:
        return hashlib.sha256(name.encode("utf-8", "backslashreplace")).digest()

    return {name: found[name] for name in sorted(found, key=digest)[:most]}
