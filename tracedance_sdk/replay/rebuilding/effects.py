"""What each tool of some conversations does to the world, and who says so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal, NamedTuple

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.formats import ToolTable, complete_tools, tool_table
from tracedance_sdk.trace import Effect, ToolDefinition, Trace

EffectFrom = Literal["explicit", "recorded", "table", "default"]

EFFECTS: Final[tuple[Effect, ...]] = ("pure", "read", "write", "terminal", "unknown")


class ToolWithEffect(NamedTuple):
    """A tool with what it does.

    Attributes:
        definition: The most telling definition that some conversation has.
        effect_from: Who says what it does; see `TestTool`.
    """

    definition: ToolDefinition
    effect_from: EffectFrom


def tools_of(
    traces: Iterable[Trace], explicit: Mapping[str, Effect] | None = None
) -> dict[str, ToolWithEffect]:
    """Return the tools of some traces by name, each with what it does.

    What was said explicitly goes before what was recorded with the run, and that before the table
    of known tools and names. Of a tool that none of them knows nothing is assumed: it is not run,
    and counts as a write.

    Args:
        traces: To look through.
        explicit: Effects by name.

    Raises:
        InvalidOption: An effect that there is not.
    """
    given = dict(explicit or {})
    for name, effect in given.items():
        if effect not in EFFECTS:
            there_are = ", ".join(EFFECTS)
            raise InvalidOption(
                f"the tool {name!r} cannot have the effect {effect!r}; one of {there_are}"
            )
    table = tool_table()
    found: dict[str, ToolWithEffect] = {}
    for trace in traces:
        recorded = {tool.name: tool.effect for tool in trace.tools}
        for tool in _all_tools(trace, table):
            known = _known(tool, recorded.get(tool.name, "unknown"), given)
            if tool.name not in found or _rank(known) < _rank(found[tool.name]):
                found[tool.name] = known
    return dict(sorted(found.items()))


def _all_tools(trace: Trace, table: ToolTable) -> Iterator[ToolDefinition]:
    """Yield the tools of a trace, and those that its agent called and that may be made up."""
    tools = complete_tools(trace, table=table).tools
    yield from tools
    for name in {call.name: None for call in trace.actions}.keys() - {t.name for t in tools}:
        known = table.lookup(trace.agent.name, name)
        effect = "unknown" if known is None else known.effect
        yield ToolDefinition(name=name, origin="inferred", effect=effect)


def _known(tool: ToolDefinition, recorded: Effect, given: Mapping[str, Effect]) -> ToolWithEffect:
    if tool.name in given:
        return ToolWithEffect(tool.model_copy(update={"effect": given[tool.name]}), "explicit")
    if recorded != "unknown":
        return ToolWithEffect(tool, "recorded")
    return ToolWithEffect(tool, "default" if tool.effect == "unknown" else "table")


def _rank(tool: ToolWithEffect) -> tuple[int, int]:
    """Return a number that is lower for definitions that tell more."""
    sources: tuple[EffectFrom, ...] = ("explicit", "recorded", "table", "default")
    origins = ("recorded", "known", "inferred")
    return sources.index(tool.effect_from), origins.index(tool.definition.origin)
