"""Rebuild recorded conversations as tests: offline, one test for each conversation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from tracedance_sdk.recording import Redactor
from tracedance_sdk.replay.people import Persona, PersonaRule, persona_of
from tracedance_sdk.replay.people.decisions import Decision
from tracedance_sdk.replay.rebuilding.effects import ToolWithEffect, tools_of
from tracedance_sdk.replay.rebuilding.masking import TraceMasker
from tracedance_sdk.replay.rebuilt_test import (
    Borrow,
    RebuiltTest,
    RecordedCall,
    TestSource,
    TestTool,
    answer_of,
)
from tracedance_sdk.replay.recordings import group_of, is_answer
from tracedance_sdk.trace import UNKNOWN, Effect, Trace, Turn

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME: Final = 80


class LeftOut(NamedTuple):
    """A trace that no test was made of.

    Attributes:
        trace_id: Of the trace.
        reason: In words that are the same for all of its kind.
    """

    trace_id: str
    reason: str


class Rebuilt(NamedTuple):
    """Tests, and what was decided while they were made.

    Attributes:
        tests: In the order of the traces.
        tools: All tools, by name.
        decisions: By test, what was kept of the values that its person said or was told.
        left_out: Traces without a test.
        unanswered: Calls whose answers were not recorded.
        masked: Secrets that were taken out, by kind.
    """

    tests: tuple[RebuiltTest, ...]
    tools: dict[str, ToolWithEffect]
    decisions: dict[str, tuple[Decision, ...]]
    left_out: tuple[LeftOut, ...]
    unanswered: int
    masked: Mapping[str, int] = MappingProxyType({})


def rebuild(
    traces: Sequence[Trace],
    *,
    effects: Mapping[str, Effect] | None = None,
    overrule: Collection[str] = (),
    rule: PersonaRule = "R3",
    redactor: Redactor | None = None,
) -> Rebuilt:
    """Rebuild conversations as tests.

    Args:
        traces: The conversations; those of one group do not borrow from each other.
        effects: What tools do, by name, where the recordings and the table are not to be believed.
        overrule: Tools of which such an effect counts although a more harmful one was recorded.
        rule: What a rebuilt person remembers; see `PersonaRule`.
        redactor: Takes secrets out of the conversations first; None leaves them as they are.

    Raises:
        InvalidOption: An effect that there is not, or one more harmless than was recorded.
    """
    masker = TraceMasker(redactor)
    tools = tools_of(traces, effects, overrule=overrule)
    tests: list[RebuiltTest] = []
    decisions: dict[str, tuple[Decision, ...]] = {}
    left_out: list[LeftOut] = []
    names: Counter[str] = Counter()
    seen: set[str] = set()
    for recorded in traces:
        trace = masker.masked(recorded)
        identity = "" if trace is None else trace.id
        reason = "the same trace again" if identity in seen else _unfit(trace)
        if trace is None or reason is not None:
            left_out.append(LeftOut(identity, reason or ""))
            continue
        seen.add(identity)
        name = _name(trace, names)
        persona = persona_of(trace, rule=rule, is_pure=lambda n: _effect(tools, n) == "pure")
        tests.append(_test(trace, name, tools, persona))
        decisions[name] = persona.decisions
    unanswered = sum(call.answer is None for test in tests for call in test.recordings)
    return Rebuilt(tuple(tests), tools, decisions, tuple(left_out), unanswered, masker.counts)


def _unfit(trace: Trace | None) -> str | None:
    """Return why no test can be made of a trace."""
    if trace is None:
        return "it could not be searched for secrets"
    if _opening(trace) is None:
        return "nobody opens the conversation"
    if not any(turn.role == "assistant" for turn in trace.turns):
        return "the agent said and did nothing"
    return None


def _opening(trace: Trace) -> Turn | None:
    people = (turn for turn in trace.turns if turn.role == "user" and turn.origin == "human")
    return next((turn for turn in people if turn.text.strip()), None)


def _effect(tools: Mapping[str, ToolWithEffect], name: str) -> Effect:
    known = tools.get(name)
    return "unknown" if known is None else known.definition.effect


def _name(trace: Trace, names: Counter[str]) -> str:
    """Return a name that is a file's on every system, and no other test's.

    It is the conversation's id at its source, else its session's, else the trace's own.
    """
    native = trace.source.native_id if trace.source is not None else None
    word = _UNSAFE.sub("-", native or trace.session_id or trace.id)
    word = word.strip(".-")[:_LONGEST_NAME].lower() or "test"
    number = names[word] + 1
    name = word if number == 1 else f"{word}-{number}"
    while name in names:
        number += 1
        name = f"{word}-{number}"
    names[word] = number
    names[name] = max(names[name], 1)
    return name


def _test(
    trace: Trace, name: str, tools: Mapping[str, ToolWithEffect], persona: Persona
) -> RebuiltTest:
    group = group_of(trace)
    recordings = tuple(_recordings(trace))
    called = {call.name for call in recordings} | {tool.name for tool in trace.tools}
    return RebuiltTest(
        id=name,
        source=TestSource(
            trace_id=trace.id,
            group=group,
            session_id=trace.session_id,
            task_id=trace.task_id,
            agent=trace.agent.name,
            model=next((turn.model for turn in trace.turns if turn.model is not None), None),
            started_at=next((t.started_at for t in trace.turns if t.started_at is not None), None),
            verdict=_verdict(trace),
        ),
        opening=persona.opening,
        people=(persona.person,),
        tools=tuple(_tool(known) for key, known in tools.items() if key in called),
        recordings=recordings,
        borrow=Borrow(exclude_groups=(group,)),
    )


def _recordings(trace: Trace) -> Iterable[RecordedCall]:
    for turn in trace.turns:
        for call in turn.calls:
            if call.requested_by != "agent" or call.arguments is UNKNOWN:
                continue
            result = call.result
            yield RecordedCall(
                name=call.name,
                arguments=call.arguments,
                answer=None if result is None or not is_answer(result) else answer_of(result),
                turn=turn.index,
            )


def _tool(known: ToolWithEffect) -> TestTool:
    tool = known.definition
    given: dict[str, Any] = {"description": tool.description, "parameters": tool.parameters}
    return TestTool(
        name=tool.name,
        effect=tool.effect,
        effect_from=known.effect_from,
        overrules=known.overrules,
        origin=tool.origin,
        **given,
    )


def _verdict(trace: Trace) -> Literal["pass", "fail"] | None:
    outcome = trace.outcome
    if outcome is None or outcome.success is None:
        return None
    return "pass" if outcome.success else "fail"
