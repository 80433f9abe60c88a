"""Which call began an agent's run whose span does not stand inside that call's."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from tracedance_sdk.otel import names
from tracedance_sdk.otel.tree import Key, Node, Run
from tracedance_sdk.otel.values import text_of

_ADK: Final = "gcp.vertex.agent"
_ADK_TRANSFER: Final = "transfer_to_agent"

_Place = tuple[str, Key | None]
"""An OpenTelemetry trace, and the span around runs that follow one another in it."""


class Called(NamedTuple):
    """Runs with their callers.

    Attributes:
        runs: All of them, in order.
        handed_over: Those to which another agent handed its conversation, with the human in it.
    """

    runs: list[Run]
    handed_over: frozenset[Key]


def with_callers(found: list[Run]) -> Called:
    """Return the runs, those begun by a call with that call around them.

    A run beside a tool of its caller, within the tool's time and with a text among the tool's
    arguments as its task, was begun by it. A run that follows a hand-over was begun by that.

    Args:
        found: By start.
    """
    tools = _Tasks(found)
    handed = _handed_over(found)
    runs: list[Run] = []
    for run in found:
        given = handed.get(run.key)
        if given is not None:
            caller, tool = given
            runs.append(run._replace(caller=caller, enclosing=tool))
        elif run.caller is not None and run.enclosing is None:
            runs.append(run._replace(enclosing=tools.begun(run)))
        else:
            runs.append(run)
    return Called(runs, frozenset(handed))


class _Tasks:
    """The tools of runs by the texts in their arguments, each for one run at the most."""

    def __init__(self, found: list[Run]) -> None:
        callers = {run.caller for run in found if run.enclosing is None} - {None}
        self._waiting: dict[tuple[Key, str], deque[Node]] = defaultdict(deque)
        for run in found:
            if run.key in callers:
                for node in run.nodes:
                    for text in _texts(node) if node.is_tool else ():
                        self._waiting[run.key, text].append(node)

    def begun(self, run: Run) -> Node | None:
        """Return the tool that began a run; runs are asked for by start."""
        task = _task(run)
        if run.root is None or run.caller is None or not task:
            return None
        queue = self._waiting.get((run.caller, task))
        while queue and queue[0].end_ns is not None and queue[0].end_ns < run.root.start_ns:
            queue.popleft()
        if not queue or queue[0].start_ns > run.root.start_ns:
            return None
        end, own_end = queue[0].end_ns, run.root.end_ns
        is_within = end is None or (own_end is not None and own_end <= end)
        return queue.popleft() if is_within else None


def _texts(node: Node) -> set[str]:
    arguments: Any = node.attributes.get(names.TOOL_ARGUMENTS)
    values = arguments.values() if isinstance(arguments, dict) else (arguments,)
    return {value.strip() for value in values if isinstance(value, str)} - {""}


def _task(run: Run) -> str:
    given: Any = None if run.root is None else run.root.attributes.get(names.INPUT_MESSAGES)
    texts = [m.text for m in given if m.speaker == "user"] if isinstance(given, list) else []
    return texts[0].strip() if len(texts) == 1 else ""


def _handed_over(found: list[Run]) -> Mapping[Key, tuple[Key, Node]]:
    """Return caller and call of the runs that follow a hand-over to them."""
    steps: list[tuple[int, bool, Run, Node]] = []
    for run in found:
        if run.root is not None:
            steps.append((run.root.start_ns, True, run, run.root))
            steps += [(n.start_ns, False, run, n) for n in run.nodes if _is_hand_over(n)]
    handed: dict[Key, tuple[Key, Node]] = {}
    latest: dict[_Place, tuple[Run, Node]] = {}
    used: set[Key] = set()
    for _, is_begin, run, node in sorted(steps, key=lambda step: step[:2]):
        trace_id = node.key[0]
        beside = (trace_id, None if run.root is None else run.root.parent)
        if not is_begin:
            latest[beside] = latest[trace_id, run.key] = (run, node)
            continue
        given = latest.get(beside) or latest.get((trace_id, run.caller))
        if given is None or given[1].key in used or not _is_meant(run, given[1]):
            continue
        if run.enclosing is given[0].enclosing or run.enclosing is None:
            used.add(given[1].key)
            handed[run.key] = (given[0].key, given[1])
    return handed


def _is_hand_over(node: Node) -> bool:
    if node.facts is None or not node.is_tool:
        return False
    is_transfer = text_of(node.attributes.get(names.TOOL_NAME)) == _ADK_TRANSFER
    return node.facts.kind == "handoff" or (is_transfer and node.facts.scope[0].startswith(_ADK))


def _is_meant(run: Run, tool: Node) -> bool:
    """Whether a hand-over does not name another agent than that of the run."""
    name = None if run.root is None else text_of(run.root.attributes.get(names.AGENT_NAME))
    arguments: Any = tool.attributes.get(names.TOOL_ARGUMENTS)
    meant = arguments.get("agent_name") if isinstance(arguments, dict) else None
    return meant is None or name is None or meant == name
