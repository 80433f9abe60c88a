"""What each tool of some conversations does to the world, and who says so."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, Literal, NamedTuple

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.formats import ToolTable, complete_tools, tool_table
from tracedance_sdk.trace import Effect, ToolDefinition, Trace

EffectFrom = Literal["explicit", "recorded", "table", "default"]

EFFECTS: Final[tuple[Effect, ...]] = ("pure", "read", "write", "terminal", "unknown")

HARM: Final[tuple[Effect, ...]] = ("pure", "read", "terminal", "unknown", "write")
"""Effects, the most harmless first."""


class ToolWithEffect(NamedTuple):
    """A tool with what it does.

    Attributes:
        definition: The most telling definition that some conversation has.
        effect_from: Who says what it does; see `TestTool`.
        overrules: The more harmful effect that was recorded or is in the table, where somebody said
            explicitly that it is not so.
    """

    definition: ToolDefinition
    effect_from: EffectFrom
    overrules: Effect | None = None


def tools_of(
    traces: Iterable[Trace],
    explicit: Mapping[str, Effect] | None = None,
    *,
    overrule: Collection[str] = (),
) -> dict[str, ToolWithEffect]:
    """Return the tools of some traces by name, each with what it does.

    What was said explicitly goes before what was recorded with the run, and that before the table
    of known tools and names. Of a tool that none of them knows nothing is assumed: it is not run,
    and counts as a write. Where recordings differ, the more harmful effect counts.

    Args:
        traces: To look through.
        explicit: Effects by name.
        overrule: Tools of which an explicit effect counts although it is more harmless than what
            was recorded with a run.

    Raises:
        InvalidOption: An effect that there is not, or one more harmless than was recorded.
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
        for known in _all_tools(trace, table):
            name = known.definition.name
            if name not in found or _rank(known) < _rank(found[name]):
                found[name] = known
    chosen = {name: _chosen(known, given.get(name)) for name, known in sorted(found.items())}
    for name, known in found.items():
        if known.effect_from == "recorded" and chosen[name].overrules and name not in overrule:
            raise InvalidOption(
                f"the tool {name!r} was recorded as {known.definition.effect!r}, and is to be "
                f"{given[name]!r}; if the recording is wrong, say so with --overrule {name} as well"
            )
    return chosen


def _all_tools(trace: Trace, table: ToolTable) -> Iterator[ToolWithEffect]:
    """Yield the tools of a trace, and those that its agent called and that may be made up."""
    recorded = {
        tool.name for tool in trace.tools if tool.effect != "unknown" and tool.origin == "recorded"
    }
    tools = complete_tools(trace, table=table).tools
    for tool in tools:
        by_table: EffectFrom = "default" if tool.effect == "unknown" else "table"
        yield ToolWithEffect(tool, "recorded" if tool.name in recorded else by_table)
    for name in {call.name: None for call in trace.actions}.keys() - {t.name for t in tools}:
        known = table.lookup(trace.agent.name, name)
        effect = "unknown" if known is None else known.effect
        tool = ToolDefinition(name=name, origin="inferred", effect=effect)
        yield ToolWithEffect(tool, "default" if effect == "unknown" else "table")


def _chosen(known: ToolWithEffect, explicit: Effect | None) -> ToolWithEffect:
    if explicit is None:
        return known
    before = known.definition.effect
    is_softer = known.effect_from != "default" and HARM.index(explicit) < HARM.index(before)
    definition = known.definition.model_copy(update={"effect": explicit})
    return ToolWithEffect(definition, "explicit", before if is_softer else None)


def _rank(tool: ToolWithEffect) -> tuple[int, int, int]:
    """Return numbers that are lower for definitions that tell more, and for more harmful ones."""
    sources: tuple[EffectFrom, ...] = ("explicit", "recorded", "table", "default")
    origins = ("recorded", "known", "inferred")
    return (
        sources.index(tool.effect_from),
        -HARM.index(tool.definition.effect),
        origins.index(tool.definition.origin),
    )
