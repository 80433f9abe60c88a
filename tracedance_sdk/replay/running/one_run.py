"""One run of one rebuilt test: the customer opens, the agent acts, the recordings answer."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from tracedance_sdk.errors import AgentFailed, AgentUnreachable, UnrecordedCall
from tracedance_sdk.recording import AskedCall, GivenAnswer, SeenWork, unasked
from tracedance_sdk.replay.answers import Answer, AnswerSession, Ladder, Stamp
from tracedance_sdk.replay.people import Customer
from tracedance_sdk.replay.rebuilt_test import RebuiltTest
from tracedance_sdk.replay.running.apart import (
    AGENTS,
    ForeignFailure,
    call_apart,
    in_thread,
    runs_apart,
)
from tracedance_sdk.replay.running.asking import AgentUnderTest, Request, plain_reply
from tracedance_sdk.replay.running.clock import Clock, limited
from tracedance_sdk.replay.running.customers_word import customers_word
from tracedance_sdk.replay.running.limits import PROPER_ENDS, Ended, Repetition, RunLimits
from tracedance_sdk.replay.running.messages import told, turn_of_reply
from tracedance_sdk.replay.running.own_calls import OwnCalls
from tracedance_sdk.replay.running.seen_turns import NUMBER, Reply, calls_outside, in_full
from tracedance_sdk.trace import (
    Agent,
    Call,
    ErrorInfo,
    Json,
    Outcome,
    Source,
    Text,
    ToolDefinition,
    Trace,
    Turn,
    assess,
    call_key,
    plain,
    random_trace_id,
)

COLLECTOR: Final = "tracedance_replay"


class ReplayedRun(NamedTuple):
    """What came of one run.

    Attributes:
        test: The test.
        trial: Which repetition, from 0.
        trace: Of the run; each call holds under ``answer`` where its answer came from.
        answers: In the order of the calls that have one.
        ended: How the run ended.
        problem: What failed, in one line; None where nothing did.
        outside: Tools, each once, that the agent's models asked for and that somebody else than
            this run answered: their code really ran.
    """

    test: RebuiltTest
    trial: int
    trace: Trace
    answers: tuple[Answer, ...]
    ended: Ended
    problem: str | None = None
    outside: tuple[str, ...] = ()

    @property
    def stamps(self) -> Counter[Stamp]:
        """How many answers came from where."""
        return Counter(answer.stamp for answer in self.answers)

    @property
    def answered_calls(self) -> tuple[Call, ...]:
        """The calls of the trace that have an answer, as many as there are answers."""
        return tuple(call for call in self.trace.calls if "answer" in (call.model_extra or {}))

    @property
    def n_stale(self) -> int:
        """Answers recorded in another state of their records."""
        return sum(answer.stale for answer in self.answers)

    @property
    def n_masked(self) -> int:
        """Answers of which parts were masked or not kept when they were recorded."""
        return sum(answer.masked for answer in self.answers)

    @property
    def fidelity(self) -> float:
        """Share of the answers that a verdict may rest on, from 0 to 1; 1 without any call."""
        if not self.answers:
            return 1.0
        return sum(answer.is_evidence for answer in self.answers) / len(self.answers)


class _Over(Exception):
    """The run is over."""

    def __init__(self, ended: Ended, problem: str | None = None) -> None:
        super().__init__(ended)
        self.ended = ended
        self.problem = problem


async def run_test(
    test: RebuiltTest,
    agent: AgentUnderTest,
    customer: Customer,
    ladder: Ladder,
    *,
    limits: RunLimits | None = None,
    trial: int = 0,
    own_calls: OwnCalls | None = None,
) -> ReplayedRun:
    """Run a test once.

    What the agent raises ends the run as `agent_error`: it is an outcome, not an exception.

    Args:
        test: The test.
        agent: Who is tested.
        customer: Who speaks for the recorded person.
        ladder: Where answers come from.
        limits: How far the run may go.
        trial: Which repetition, from 0.
        own_calls: Answers what the agent calls itself, in what it started when it was made too;
            entered. None stands for another one.

    Raises:
        AgentUnreachable: The agent could not be asked, which says nothing of it.
        CustomerFailed: The customer gave no answer, which says nothing of the agent either.
    """
    ended: Ended
    problem: str | None = None
    if own_calls is None:
        with OwnCalls() as own:
            return await run_test(
                test, agent, customer, ladder, limits=limits, trial=trial, own_calls=own
            )
    run = _Run(_Cast(test, agent, customer), ladder.begin(), limits or RunLimits(), trial)
    try:
        with unasked():
            async with limited(run.limits.timeout_s) as clock:
                own_calls.begin(partial(run.own_call, clock), run.give_up)
                await run.go(clock, own_calls)
        raise AssertionError("a run goes on until it is over")
    except _Over as over:
        ended, problem = over.ended, over.problem
    except TimeoutError:
        ended, problem = "timeout", f"not over after {run.limits.timeout_s:g} s"
    finally:
        own_calls.end()
        run.note_own_calls()
        with own_calls.asked():
            await _closed(agent, run.limits)
    trace, answers = run.told(ended, problem)
    return ReplayedRun(test, trial, trace, answers, ended, problem, run.outside())


async def _closed(agent: AgentUnderTest, limits: RunLimits) -> None:
    """Let an agent let go of what it held; that it cannot is no outcome."""
    if runs_apart(agent):
        await agent.close()
        return
    with contextlib.suppress(ForeignFailure, TimeoutError):
        async with limited(limits.helper_timeout_s):
            await call_apart(agent.close, lane=AGENTS)


class _Cast(NamedTuple):
    """Who plays which test."""

    test: RebuiltTest
    agent: AgentUnderTest
    customer: Customer


class _Run:
    """The state of a run."""

    def __init__(self, cast: _Cast, session: AnswerSession, limits: RunLimits, trial: int) -> None:
        test = cast.test
        self.limits = limits
        self.answered = session.answers
        self._test = test
        self._agent = cast.agent
        self._customer = cast.customer
        self._session = session
        self._trial = trial
        self._tools: Sequence[ToolDefinition] = [tool.definition for tool in test.tools]
        self._terminal = {tool.name for tool in test.tools if tool.effect == "terminal"}
        self._turns: list[Turn] = []
        self._n_agent_turns = 0
        self._repetition = Repetition()
        self._own: list[Call] = []
        self._replies: list[Reply] = []
        self._over: asyncio.Future[_Over | AgentUnreachable] = (
            asyncio.get_running_loop().create_future()
        )

    async def go(self, clock: Clock, own_calls: OwnCalls) -> None:
        """Go on until something raises `_Over`; only the agent's time is counted."""
        self._say(self._test.opening)
        while True:
            n_before = len(self._turns)
            turn = await self._agent_turn(own_calls)
            if self._is_terminal(call for own in self._turns[n_before:] for call in own.calls):
                self._turns.append(turn.model_copy(update={"calls": ()}))
                raise _Over("terminal")
            if turn.calls:
                with clock.paused():
                    self._turns.append(await self._answered(turn))
                if self._is_terminal(turn.calls):
                    raise _Over("terminal")
                continue
            self._turns.append(turn)
            with clock.paused():
                said = await customers_word(
                    self._customer, self._turns, limit_s=self.limits.helper_timeout_s
                )
            if said is None:
                raise _Over("customer")
            self._say(said)

    async def _agent_turn(self, own_calls: OwnCalls) -> Turn:
        if self._n_agent_turns >= self.limits.max_turns:
            raise _Over("max_turns")
        self._n_agent_turns += 1
        start, seen = len(self._turns), SeenWork()
        try:
            messages, tools = told(self._turns, self._tools)
            request = Request(messages, tools, self._test.id, self._trial)
            with seen:
                reply = await self._reply_or_over(request, own_calls, seen)
        except AgentFailed as error:
            raise _Over("agent_error", str(error)) from error
        finally:
            self.note_own_calls()
            self._replies.append(Reply(start, len(self._turns) - start, seen))
        try:
            turn = turn_of_reply(reply, len(self._turns))
        except AgentFailed as error:
            raise _Over("agent_error", str(error)) from error
        self._replies[-1] = self._replies[-1]._replace(turn=turn)
        return turn

    async def _reply_or_over(self, request: Request, own_calls: OwnCalls, seen: SeenWork) -> Json:
        """Return the agent's reply, whose tools ask this run; leave it behind when that is over."""
        own_calls.begin_reply()
        with own_calls.asked():
            seen.take_threads()
            reply = asyncio.ensure_future(self._reply(request))
        try:
            await asyncio.wait((reply, self._over), return_when=asyncio.FIRST_COMPLETED)
            if self._over.done():
                raise self._over.result()
            return await reply
        finally:
            if not reply.done():
                own_calls.end()
                reply.cancel()

    async def own_call(self, clock: Clock, asked: AskedCall) -> GivenAnswer:
        """Answer a call that the agent makes while it is asked; past a limit the run is over."""
        call = Call(index=0, id="", name=asked.name, arguments=asked.arguments)
        try:
            with clock.paused():
                self._own.append(await self._made(call))
        except _Over as over:
            self._end(over)
            raise UnrecordedCall(f"the run is over {over.problem}", writes=True) from over
        answer = self.answered[-1]
        note = answer_as_json(answer) | {NUMBER: len(self.answered) - 1}
        return GivenAnswer(answer.result, note)

    def give_up(self) -> None:
        """Let the run be made again: the agent was asked again when it had made calls."""
        self._end(
            AgentUnreachable("another agent blocked the loop in the middle of this one's work")
        )

    def _end(self, why: _Over | AgentUnreachable) -> None:
        if not self._over.done():
            self._over.set_result(why)

    def note_own_calls(self) -> None:
        """Put what the agent called itself, each call in a turn of its own, before its reply."""
        for call in self._own:
            turn = Turn(index=len(self._turns), role="assistant", origin="agent", calls=(call,))
            self._turns.append(turn)
        self._own.clear()

    def _is_terminal(self, calls: Iterable[Call]) -> bool:
        return any(call.name in self._terminal for call in calls)

    async def _reply(self, request: Request) -> Json:
        """Ask the agent; one of another package where it holds nobody up."""
        if runs_apart(self._agent):
            return await self._agent.reply(request)
        try:
            return await in_thread(
                plain_reply, await call_apart(self._agent.reply, request, lane=AGENTS)
            )
        except ForeignFailure as error:
            if isinstance(error.error, (AgentFailed, AgentUnreachable)):
                raise error.error from error
            raise AgentFailed(f"the agent raised {error.told_with_place}") from error

    async def _answered(self, turn: Turn) -> Turn:
        """Return a turn with its calls answered; an unfinished one is kept when a limit is met."""
        calls: list[Call] = []
        for call in turn.calls:
            try:
                calls.append(await self._made(call))
            except _Over:
                self._turns.append(turn.model_copy(update={"calls": tuple(calls)}))
                raise
        return turn.model_copy(update={"calls": tuple(calls)})

    async def _made(self, call: Call) -> Call:
        """Return a call with its answer.

        Raises:
            _Over: A limit is met.
        """
        key = call_key(call.name, call.arguments)
        why: Ended | None = None
        if len(self.answered) >= self.limits.max_calls:
            why = "max_calls"
        elif self._repetition.again(key) >= self.limits.same_calls:
            why = "loop"
        if why is not None:
            raise _Over(why, f"at a call of {call.name!r:.60}")
        answer = await self._session.answer_async(
            call.name,
            call.arguments,
            apart=in_thread,
            limit_s=self.limits.helper_timeout_s,
        )
        number = len(self.answered)
        return Call.model_validate(
            {
                **plain(call),
                "index": number - 1,
                "id": call.id or f"call_{number}",
                "arguments": call.arguments,
                "result": answer.result,
                "answer": answer_as_json(answer),
            }
        )

    def _say(self, text: str) -> None:
        content = (Text(text=text),)
        index = len(self._turns)
        self._turns.append(Turn(index=index, role="user", origin="human", content=content))

    def outside(self) -> tuple[str, ...]:
        """Return the tools whose calls nobody here answered."""
        found = (name for reply in self._replies for name in calls_outside(reply, self._turns))
        return tuple(dict.fromkeys(found))

    def told(self, ended: Ended, problem: str | None) -> tuple[Trace, tuple[Answer, ...]]:
        """Return the run as a trace, and its answers in the order of the trace's calls."""
        turns, order = in_full(self._turns, self._replies)
        prompts = (trace.system_prompt for reply in self._replies for trace in reply.seen.traces)
        trace = self._trace(turns, next(filter(None, prompts), None), ended, problem)
        return trace, tuple(self.answered[number] for number in order)

    def _trace(
        self, turns: Sequence[Turn], prompt: str | None, ended: Ended, problem: str | None
    ) -> Trace:
        error = None if problem is None else ErrorInfo(type=ended, message=problem)
        source = self._test.source
        return assess(
            Trace(
                id=random_trace_id(),
                group=source.group,
                task_id=source.task_id,
                agent=Agent(name=self._agent.name),
                system_prompt=prompt,
                tools=tuple(self._tools),
                turns=tuple(turns),
                outcome=Outcome(ended=ended in PROPER_ENDS, error=error),
                source=Source(collector=COLLECTOR, native_id=f"{self._test.id}/{self._trial}"),
                metadata={
                    "rebuilt_test": self._test.id,
                    "replayed_trace": source.trace_id,
                    "trial": self._trial,
                    "ended": ended,
                },
            )
        )


def answer_as_json(answer: Answer) -> dict[str, Any]:
    """Return where an answer came from, for the call that it answers."""
    found: dict[str, Any] = {"stamp": answer.stamp}
    if answer.origin is not None:
        found["origin"] = answer.origin._asdict()
    for name in ("stale", "masked", "write_history_differs", "n_disagreeing", "rule", "proof"):
        if getattr(answer, name):
            found[name] = getattr(answer, name)
    for name in ("simulator", "miss"):
        if getattr(answer, name):
            found[name] = getattr(answer, name)
    if answer.examples:
        found["examples"] = [item._asdict() for item in answer.examples]
    if answer.nearest:
        found["nearest"] = [item._asdict() for item in answer.nearest]
    return found
