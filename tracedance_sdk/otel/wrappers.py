"""Agent spans that only hold other agents: workflows, which are no runs of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from tracedance_sdk.otel import names
from tracedance_sdk.otel.tree import Key, Run

_WORDS: Final = (names.INPUT_MESSAGES, names.OUTPUT_MESSAGES, names.CONVERSATION)


class Unwrapped(NamedTuple):
    """Runs without wrappers.

    Attributes:
        runs: What remains, in order; what a wrapper called is called by the wrapper's caller.
        workflows: The name of the workflow around a run, for those that are in one.
        wrappers: What was taken out.
    """

    runs: list[Run]
    workflows: Mapping[Key, str]
    wrappers: list[Run]


def without_wrappers(found: list[Run]) -> Unwrapped:
    """Return the runs without those that neither say nor do anything and hold other agents."""
    holding = {run.caller for run in found if run.caller is not None}
    wrappers = {run.key: run for run in found if run.key in holding and _is_silent(run)}
    if not wrappers:
        return Unwrapped(found, {}, [])
    kept: list[Run] = []
    workflows: dict[Key, str] = {}
    callers: dict[Key, tuple[Key | None, str]] = {}
    for run in found:
        if run.key in wrappers:
            continue
        if run.caller in wrappers:
            caller, name = _beyond(run.caller, wrappers, callers)
            workflows[run.key] = name
            enclosing = run.enclosing or wrappers[run.caller].enclosing
            run = run._replace(caller=caller, enclosing=enclosing)  # noqa: PLW2901
        kept.append(run)
    return Unwrapped(kept, workflows, list(wrappers.values()))


def _is_silent(run: Run) -> bool:
    if run.root is None or run.root.facts is None:
        return False
    if any(node.is_model or node.is_tool for node in run.nodes):
        return False
    return not any(key in run.root.attributes for key in _WORDS)


def _beyond(
    key: Key, wrappers: Mapping[Key, Run], known: dict[Key, tuple[Key | None, str]]
) -> tuple[Key | None, str]:
    """Return the nearest run beyond nested wrappers, and the name of the outermost of these."""
    path: list[Key] = []
    here: Key | None = key
    while here in wrappers and here is not None and here not in known:
        path.append(here)
        here = wrappers[here].caller
    for item in reversed(path):
        above = wrappers[item].caller
        root = wrappers[item].root
        beyond = known.get(above) if above is not None else None
        known[item] = beyond or (above, "" if root is None else root.name)
    return known[key]
