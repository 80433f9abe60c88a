"""Give a trace the tool definitions that its source did not record."""

from __future__ import annotations

from typing import Any, Literal

from tracedance_sdk.formats.known_tools import KnownTool, ToolTable
from tracedance_sdk.formats.tool_inference import ToolShapes, is_named
from tracedance_sdk.trace import Call, ToolDefinition, Trace, with_tools

Limit = Literal["recorded", "known", "inferred"]


def complete_tools(
    trace: Trace,
    *,
    table: ToolTable,
    shapes: ToolShapes | None = None,
    limit: Limit = "inferred",
) -> Trace:
    """Return the trace with definitions of the tools that its agent called.

    * What the source recorded stays. An effect or kind that it leaves open comes from the table,
      and so does everything else of a tool of which it recorded the name alone.
    * Every tool that the agent called is added, and no other: a client had more to offer, but what
      is not known.
    * Where the source recorded definitions, a tool without one may be made up by the model. It is
      added only when the table has it for this client and a call of it did not fail, since some
      clients record a part of their definitions.

    Args:
        trace: The trace; its agent's name is looked up, then its collector's.
        table: What is known of tools.
        shapes: What calls look like, best those of all traces at hand; None takes this trace's.
        limit: The weakest origin that a definition may have; ``recorded`` adds none.

    Returns:
        A trace whose fidelity tells of the new definitions; the very same trace when nothing could
        be added.
    """
    search = _Search(trace, table, shapes, limit)
    tools = [search.filled(tool) for tool in trace.tools]
    defined = {tool.name for tool in tools}
    calls = [call for call in trace.actions if call.name not in defined and is_named(call)]
    if any(tool.origin == "recorded" for tool in trace.tools):
        calls = [call for call in calls if _succeeded(call) and search.has(call.name)]
    added = map(search.definition, dict.fromkeys(call.name for call in calls))
    tools += [tool for tool in added if tool is not None]
    if tools == list(trace.tools):
        return trace
    return with_tools(trace, tools)


def _succeeded(call: Call) -> bool:
    return call.result is not None and call.result.ok is not False


class _Search:
    """Looks for what is known of one trace's tools."""

    def __init__(
        self, trace: Trace, table: ToolTable, shapes: ToolShapes | None, limit: Limit
    ) -> None:
        self._trace = trace
        self._table = table
        self._shapes = shapes
        self._limit = limit

    def has(self, name: str) -> bool:
        """Whether a table lists the tool for this very client or system."""
        known = self._known(name)
        return known is not None and known.by != "pattern"

    def definition(self, name: str) -> ToolDefinition | None:
        """Return a definition as strong as can be had, within the limit."""
        if self._limit == "recorded":
            return None
        known = self._known(name)
        traits: dict[str, Any] = (
            {} if known is None else {"effect": known.effect, "kind": known.kind}
        )
        if known is not None and known.parameters is not None:
            return ToolDefinition(
                name=name,
                description=known.description,
                parameters=known.parameters,
                origin="known",
                **traits,
            )
        if self._limit != "inferred":
            return None
        if known is not None and known.description is not None:
            traits["description"] = known.description
        return self._inferred(name).model_copy(update=traits)

    def filled(self, tool: ToolDefinition) -> ToolDefinition:
        """Return a definition with what it leaves open, as far as that is known."""
        is_name_alone = tool.description is None and tool.parameters is None
        if is_name_alone and not tool.__pydantic_extra__ and tool.origin == "recorded":
            found = self.definition(tool.name)
            if found is not None and found.parameters is not None:
                tool = found.model_copy(update=_traits(tool))
        known = self._known(tool.name) if len(_traits(tool)) < 2 else None
        if known is None:
            return tool
        return tool.model_copy(update={"effect": known.effect, "kind": known.kind, **_traits(tool)})

    def _known(self, name: str) -> KnownTool | None:
        found = self._table.lookup(self._trace.agent.name, name)
        source = self._trace.source
        if source is None or (found is not None and found.by != "pattern"):
            return found
        return self._table.lookup(source.collector, name) or found

    def _inferred(self, name: str) -> ToolDefinition:
        for shapes in (self._shapes, ToolShapes([self._trace])):
            found = shapes and shapes.definition(self._trace.agent.name, name)
            if found:
                return found
        return ToolDefinition(name=name, origin="inferred")


def _traits(tool: ToolDefinition) -> dict[str, str]:
    """Return what a definition says of effect and kind."""
    found: dict[str, str] = {}
    if tool.effect != "unknown":
        found["effect"] = tool.effect
    if tool.kind != "other":
        found["kind"] = tool.kind
    return found
