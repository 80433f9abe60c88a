"""The ladder: where a rebuilt test takes each answer from, and what it says of it.

The first rung that applies is taken: the same call of this conversation, the same call of another
one that may be read, the tool itself where it is pure, a proven rule, a simulator, none. A call
that writes is never carried out; a recorded confirmation is replayed, or one derived, or made up.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Final, Literal, NamedTuple

import orjson

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.recording import Redactor, declared_effect
from tracedance_sdk.replay.answers.answer import Answer, MissKind, Origin
from tracedance_sdk.replay.answers.first_records import untouched_records
from tracedance_sdk.replay.answers.pure_tools import (
    TOOL_TIMEOUT,
    TOOL_UNTOLD,
    PureCall,
    PureTool,
    run_pure,
)
from tracedance_sdk.replay.answers.simulators import (
    MissedCall,
    Simulated,
    Simulator,
    nearest_calls,
)
from tracedance_sdk.replay.derivation import (
    KnownRecords,
    NotApplicable,
    ProvenRule,
    RuleBook,
    parsed,
)
from tracedance_sdk.replay.recordings import (
    WRITES,
    Conversation,
    EffectOf,
    Kind,
    Recording,
    Shelf,
    Subjects,
    Write,
    changed_by,
    is_partly_hidden,
    next_mark,
    recording_at,
    subjects_of,
    writes_that_matter,
)
from tracedance_sdk.trace import UNKNOWN, ErrorInfo, Json, Result, call_key, spelled_out

_log = logging.getLogger(__name__)

CandidateOrder = Literal["recent", "file"]
Apart = Callable[..., Awaitable[Any]]
"""Calls a function with its arguments somewhere else and returns what it returns."""

_Flow = Generator["MissedCall | PureCall", "Simulated | Result | None", Answer]
_STEPPING: Final = threading.Lock()

NOT_RECORDED: Final = "NotRecorded"
"""Type of the error that an agent is told where there is no answer."""

UNKNOWN_TOOL: Final = "UnknownTool"
"""Type of the error that an agent is told where there is no such tool."""


@dataclass(frozen=True, kw_only=True)
class Ladder:
    """Gives one test its answers; `begin` starts a run.

    Attributes:
        shelf: The recordings that the test may read.
        effect_of: What tools do to the world.
        pure: The tools that may be run, by name: only such as the caller says have no effect.
        rules: Where rules are learned; None derives nothing.
        simulator: Makes up what is missing; None makes up nothing.
        order: Which of several conversations is borrowed from: ``recent`` takes answers recorded
            after the same writes, then what most say, then the latest before this conversation;
            ``file`` takes the first.
        excluded_groups: Groups that no rule is learned from.
        excluded_ids: Conversations that no rule is learned from.
        names_nearest: Whether a miss names the recorded calls that are most like it.
        tools: All tools that there are; a call of another is told so. None knows none.
        redactor: Takes secrets out of what is asked, as they were taken out of the recordings, so
            that both are the same call. A pure tool is run with what was asked.

    Raises:
        InvalidOption: A tool is to be run that is not pure.
    """

    shelf: Shelf
    effect_of: EffectOf
    pure: Mapping[str, PureTool] = field(default_factory=dict)
    rules: RuleBook | None = None
    simulator: Simulator | None = None
    order: CandidateOrder = "recent"
    excluded_groups: frozenset[str] = frozenset()
    excluded_ids: frozenset[str] = frozenset()
    names_nearest: bool = False
    tools: frozenset[str] | None = None
    redactor: Redactor | None = None

    def __post_init__(self) -> None:
        for name, function in self.pure.items():
            # Its own decorator knows best, whatever a file says of the name.
            effect = declared_effect(function) or self.effect_of(name)
            for said in (effect, self.effect_of(name)):
                if said != "pure":
                    raise InvalidOption(
                        f"{name!r} is not pure but {said!r}; only pure tools are run"
                    )

    def without_secrets(self, arguments: Json) -> Json:
        """Return what is asked as the recordings have it."""
        if self.redactor is None:
            return arguments
        data = orjson.dumps(spelled_out(arguments))
        clean = self.redactor.redact(data)
        return arguments if clean == data else orjson.loads(clean)

    def begin(self) -> AnswerSession:
        """Return the answers of one run, which depend on the calls that were made before."""
        return AnswerSession(self)


class _Candidate(NamedTuple):
    """A recording that may be the answer to a call."""

    conversation: Conversation
    recording: Recording
    is_stale: bool


class AnswerSession:
    """Answers the calls of one run, in order.

    Attributes:
        answers: What was answered so far.
    """

    def __init__(self, ladder: Ladder) -> None:
        self._ladder = ladder
        self._asked: Counter[str] = Counter()
        self._writes: list[Write] = []
        self._mark = 0
        self._mattered: tuple[str, int, list[str]] = ("", 0, [])
        self._subjects_of: tuple[str, Subjects] = ("", frozenset())
        self._known = KnownRecords()
        self._unread: list[tuple[str, Json, Result, Write | None]] = []
        self._before: KnownRecords | None = None
        self._changed: set[object] = set()
        self.answers: list[Answer] = []

    def answer(self, name: str, arguments: Json) -> Answer:
        """Return the answer to the next call; never raises for what an agent may ask.

        Args:
            name: Of the tool.
            arguments: As the agent gave them.

        Raises:
            InvalidOption: The simulator is one to be waited for; see `answer_async`.
        """
        flow = self._flow(name, arguments)
        step = _step(flow)
        while not isinstance(step, Answer):
            if isinstance(step, PureCall):
                step = _step(flow, run_pure(step))
                continue
            made_up = self._simulated(step)
            if inspect.isawaitable(made_up):
                close = getattr(made_up, "close", None)
                if close is not None:
                    close()
                raise InvalidOption("this simulator is to be waited for; use answer_async")
            step = _step(flow, made_up)
        return self._kept(step)

    async def answer_async(
        self,
        name: str,
        arguments: Json,
        *,
        apart: Apart | None = None,
        limit_s: float | None = None,
    ) -> Answer:
        """Do what `answer` does, with a simulator that may have to be waited for.

        Args:
            name: Of the tool.
            arguments: As the agent gave them.
            apart: Calls what may take long where it holds nobody up; None calls it here.
            limit_s: Seconds for a pure tool and for a simulator; None waits on.
        """
        elsewhere = apart or _here
        flow = self._flow(name, arguments)
        step = await elsewhere(_step, flow)
        while not isinstance(step, Answer):
            if isinstance(step, PureCall):
                found = await elsewhere(partial(run_pure, limit_s=limit_s), step)
                step = await elsewhere(_step, flow, found)
                continue
            made_up = await self._waited_for(step, elsewhere, limit_s)
            step = await elsewhere(_step, flow, made_up)
        return self._kept(step)

    def _kept(self, answer: Answer) -> Answer:
        self.answers.append(answer)
        return answer

    def _flow(self, name: str, arguments: Json) -> _Flow:
        """Find an answer; yield the call where a pure tool is to be run or a simulator asked."""
        given = arguments
        arguments = self._ladder.without_secrets(given)
        key = call_key(name, arguments)
        self._asked[key] += 1
        found = self._look(key, name, arguments)
        if isinstance(found, PureCall):
            asked = given if isinstance(given, dict) else {}
            computed = yield found._replace(arguments=asked)
            found = _computed(computed)
        if not isinstance(found, Answer):
            made_up = None
            if self._ladder.simulator is not None and found != "unknown_tool":
                made_up = yield MissedCall(name, arguments)
            simulated = made_up if isinstance(made_up, Simulated) else None
            found = self._made_up(MissedCall(name, arguments), found, simulated)
        self._note(key, name, arguments, found.result)
        return found

    def _look(self, key: str, name: str, arguments: Json) -> Answer | MissKind | PureCall:
        recorded = self._recorded(key)
        if recorded is not None and not self._is_overwritten(name, arguments, recorded):
            return recorded
        if recorded is None and name in self._ladder.pure:
            given = arguments if isinstance(arguments, dict) else {}
            return PureCall(self._ladder.pure[name], given)
        miss = self._miss(key, name, stale=recorded is not None)
        derived = self._derived(key, name, arguments)
        return miss if derived is None else derived._replace(miss=miss)

    def _is_overwritten(self, name: str, arguments: Json, recorded: Answer) -> bool:
        """Whether a read would show a record as it was before a write of this run.

        A listing is about many records: it is replayed, and marked as stale.
        """
        if not recorded.stale or self._writes_by(name) or recorded.origin is None:
            return False
        subjects = self._subjects(call_key(name, arguments), name, arguments)
        if any(isinstance(subject, Kind) for subject in subjects):
            return False
        before = self._ladder.shelf.conversation(recorded.origin.conversation).writes
        held = before[: recorded.origin.n_writes]
        return writes_that_matter(subjects, held, certain_only=True) != writes_that_matter(
            subjects, self._writes, certain_only=True
        )

    def _writes_by(self, name: str) -> bool:
        return self._ladder.effect_of(name) in WRITES

    def _recorded(self, key: str) -> Answer | None:
        shelf = self._ladder.shelf
        own = shelf.own_recording(key, self._asked[key])
        if own is not None:
            return self._replayed("same", self._candidate(shelf.own, own))
        candidates = [
            self._candidate(conversation, recording)
            for conversation, found in shelf.candidates(key)
            if (recording := recording_at(conversation, found, key, self._asked[key])) is not None
        ]
        if not candidates:
            return None
        if len(candidates) == 1:
            return self._replayed("other", candidates[0], n_candidates=1)
        chosen = self._chosen(candidates)
        said = shelf.said(chosen.recording)
        agreeing = [shelf.said(item.recording) for item in candidates].count(said)
        disagreeing = len(candidates) - agreeing
        return self._replayed(
            "other", chosen, n_candidates=len(candidates), n_disagreeing=disagreeing
        )

    def _candidate(self, conversation: Conversation, recording: Recording) -> _Candidate:
        return _Candidate(conversation, recording, self._is_stale(conversation, recording))

    def _subjects(self, key: str, name: str, arguments: Json) -> Subjects:
        """Return what a call is about, which is looked for once."""
        if key != self._subjects_of[0]:
            self._subjects_of = key, subjects_of(name, arguments)
        return self._subjects_of[1]

    def _replayed(
        self,
        stamp: Literal["same", "other"],
        chosen: _Candidate,
        *,
        n_candidates: int = 0,
        n_disagreeing: int = 0,
    ) -> Answer:
        conversation, recording, is_stale = chosen
        origin = Origin(conversation.id, recording.turn, recording.ordinal, recording.n_writes)
        differs = conversation.marks[recording.n_writes] != self._mark
        return Answer(
            stamp,
            recording.result,
            origin,
            is_stale,
            differs,
            n_candidates,
            n_disagreeing,
            masked=recording.is_masked,
        )

    def _is_stale(self, conversation: Conversation, recording: Recording) -> bool:
        if conversation.marks[recording.n_writes] == self._mark:
            return False
        subjects = self._subjects(recording.key, recording.name, recording.arguments)
        if self._mattered[:2] != (recording.key, self._mark):
            matter = writes_that_matter(subjects, self._writes)
            self._mattered = recording.key, self._mark, matter
        if subjects.isdisjoint(conversation.touched):
            return bool(self._mattered[2])
        before = conversation.writes_before(recording)
        return writes_that_matter(subjects, before) != self._mattered[2]

    def _chosen(self, candidates: list[_Candidate]) -> _Candidate:
        if self._ladder.order == "file":
            return candidates[0]
        left = [item for item in candidates if not item.is_stale] or candidates
        left = [item for item in left if not item.recording.is_masked] or left
        if len(left) == 1:
            return left[0]
        said = self._ladder.shelf.said
        votes = Counter(said(item.recording) for item in left)
        most = max(votes.values())
        agreed = [item for item in left if votes[said(item.recording)] == most]
        started_at = self._ladder.shelf.own.started_at
        return max(agreed, key=lambda item: _recency(item.conversation, started_at))

    def _derived(self, key: str, name: str, arguments: Json) -> Answer | None:
        # What a read shows after a write cannot follow from the call alone.
        subjects = self._subjects(key, name, arguments)
        is_changed = not self._writes_by(name) and bool(writes_that_matter(subjects, self._writes))
        for item in self._proven(name):
            record: Json = UNKNOWN
            if is_changed and not item.rule.by:
                continue
            if item.rule.by:
                record = self._record(key, arguments, item)
                if record is UNKNOWN:
                    continue
            try:
                content = item.rule.answer(arguments, record)
            except NotApplicable:
                continue
            result = Result(ok=True, content=content)
            return Answer("derived", result, rule=str(item.rule), proof=str(item.proof))
        return None

    def _proven(self, name: str) -> tuple[ProvenRule, ...]:
        ladder = self._ladder
        if ladder.rules is None:
            return ()
        return ladder.rules.rules(
            name, excluded_groups=ladder.excluded_groups, excluded_ids=ladder.excluded_ids
        )

    def _record(self, key: str, arguments: Json, item: ProvenRule) -> Json:
        """Return what is known of the record that a call is about: in this run, else recorded."""
        name = arguments.get(item.rule.by) if isinstance(arguments, dict) else None
        if not isinstance(name, str):
            return UNKNOWN
        found = self._read_answers().about(name, item.rule.fields, other_than=key)
        if found is None and name not in self._changed:
            if self._before is None:
                self._before = untouched_records(self._ladder.shelf.own, self._ladder.effect_of)
            found = self._before.about(name, item.rule.fields, other_than=key)
        return UNKNOWN if found is None else found.value

    def _made_up(self, call: MissedCall, miss: MissKind, made_up: Simulated | None) -> Answer:
        ladder = self._ladder
        nearest = nearest_calls(call, ladder.shelf) if ladder.names_nearest else ()
        if made_up is not None and ladder.simulator is not None:
            return Answer(
                "simulated",
                made_up.result,
                simulator=ladder.simulator.name,
                examples=made_up.examples,
                miss=miss,
                nearest=nearest,
            )
        told = ErrorInfo(type=NOT_RECORDED, message=f"no recorded answer for {call.name}")
        if miss == "unknown_tool":
            told = ErrorInfo(type=UNKNOWN_TOOL, message=f"there is no tool {call.name}")
        return Answer("failed", Result(ok=False, error=told), miss=miss, nearest=nearest)

    def _simulated(self, call: MissedCall) -> Simulated | Awaitable[Simulated | None] | None:
        simulator = self._ladder.simulator
        if simulator is None:
            return None
        try:
            return simulator.simulate(call, self._ladder.shelf)
        except Exception:  # noqa: BLE001 - foreign code: without an answer of its, there is none
            _log.warning("the simulator %r failed", simulator.name, exc_info=True)
            return None

    async def _waited_for(
        self, call: MissedCall, elsewhere: Apart, limit_s: float | None
    ) -> Simulated | None:
        try:
            async with asyncio.timeout(limit_s):
                made_up = await elsewhere(self._simulated, call)
            answer: Simulated | None = await made_up if inspect.isawaitable(made_up) else made_up
            return answer
        except Exception:  # noqa: BLE001 - foreign code: without an answer of its, there is none
            _log.warning("the simulator failed", exc_info=True)
            return None

    def _miss(self, key: str, name: str, *, stale: bool) -> MissKind:
        if stale:
            return "recording_stale"
        if self._ladder.shelf.lost_answer(key):
            return "recording_incomplete"
        known = self._ladder.tools
        return "something_new" if known is None or name in known else "unknown_tool"

    def _note(self, key: str, name: str, arguments: Json, result: Result) -> None:
        """Take note of a call for those that follow."""
        write = None
        if self._writes_by(name):
            is_unknown = result.error is not None and result.error.type == NOT_RECORDED
            took_effect = None if is_unknown else result.ok is not False
            made = Write(key, changed_by(name, arguments), took_effect)
            self._writes.append(made)
            self._mark = next_mark(self._mark, made)
            if took_effect is not False:
                write = made
                self._changed |= made.subjects
        if self._ladder.rules is not None:
            self._unread.append((key, arguments, result, write))

    def _read_answers(self) -> KnownRecords:
        """Return the records that the answers so far show; they are read when one is wanted."""
        for key, arguments, result, write in self._unread:
            is_told = result.ok is not False and not is_partly_hidden(result)
            value = parsed(result).value if is_told else None
            self._known.add(key, arguments, value, write=write)
        self._unread.clear()
        return self._known


def _step(flow: _Flow, found: Simulated | Result | None = None) -> MissedCall | PureCall | Answer:
    """Go on with an answer; one at a time, as rules and recordings are shared by all runs."""
    with _STEPPING:
        try:
            return flow.send(found)
        except StopIteration as done:
            answer: Answer = done.value
            return answer


def _computed(found: Simulated | Result | None) -> Answer:
    result = found if isinstance(found, Result) else Result(ok=False)
    if result.error is not None and result.error.type == TOOL_TIMEOUT:
        return Answer("failed", result, miss="tool_timeout")
    if result.error is not None and result.error.type == TOOL_UNTOLD:
        return Answer("failed", result, miss="tool_untold")
    return Answer("pure", result)


async def _here(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


def _recency(conversation: Conversation, before: datetime | None) -> tuple[bool, float]:
    """Return what sorts the latest conversation before a moment last."""
    at = conversation.started_at
    if at is None or before is None:
        return False, 0.0
    return at <= before, at.timestamp() if at <= before else -at.timestamp()
