"""Whether the tools that are offered let a model act appropriately at a cut."""

from __future__ import annotations

from tracedance_sdk.behaviors.behavior import Behavior
from tracedance_sdk.behaviors.hits import Hit
from tracedance_sdk.behaviors.run import Run, SeenCall
from tracedance_sdk.trace import Kind, Trace, with_tools


def without_imagined(trace: Trace, run: Run) -> Trace:
    """Return a trace without definitions that were inferred from calls of tools there never were.

    Args:
        trace: With the tools that are offered.
        run: The same run, whole.
    """
    missing = {call.name for call in run.calls() if call.signs["unknown_tool"]}
    kept = [tool for tool in trace.tools if tool.origin != "inferred" or tool.name not in missing]
    return with_tools(trace, kept) if len(kept) < len(trace.tools) else trace


def tools_problem(kept: Trace, run: Run, hit: Hit, behavior: Behavior) -> str | None:
    """Return what is lacking for an appropriate answer, or None.

    A claim can be answered in words. Everything else needs a tool, and one of the kinds that the
    behaviour names. Where a call is wrong by its arguments, the definition must not have been
    inferred from calls, as that call was among them.

    Args:
        kept: The context.
        run: The whole run.
        hit: The occurrence.
        behavior: What it is one of.
    """
    if behavior.frame == "claim" and not behavior.needs:
        return None
    if not kept.tools:
        return "no tool is offered, so nothing could be done instead"
    kinds: set[Kind] = {tool.kind for tool in kept.tools}
    if behavior.needs and not kinds & set(behavior.needs):
        needed = " or ".join(behavior.needs)
        return f"no tool to {needed} is offered, which an appropriate answer needs"
    if behavior.group != "valid-call":
        return None
    inferred = {tool.name for tool in kept.tools if tool.origin == "inferred"}
    for piece in hit.evidence:
        call = None if piece.call is None else run.call(piece.call)
        if call is not None and call.name in inferred and _has_wrong_arguments(call):
            return f"the definition of {call.name} is inferred from calls, the wrong one included"
    return None


def _has_wrong_arguments(call: SeenCall) -> bool:
    return bool(call.signs["invalid_arguments"]) or call.signs["arguments_valid"] is False
