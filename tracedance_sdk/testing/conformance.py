"""Whether an integration keeps its promises: the same scripted agent, the same trace.

For each framework one `Driver` says how the agent of a `Scene` is built and run there. `CHECKS`
names what is checked; each check plays a scene with the real framework against a scripted endpoint
and raises an AssertionError that says what is wrong.

    @pytest.mark.parametrize("check", checks_for(driver), ids=str)
    def test_the_framework_is_recorded_as_it_should_be(check):
        check(driver)
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, NamedTuple

from tracedance_sdk.recording import (
    AskedCall,
    GivenAnswer,
    LetRun,
    TraceRecorder,
    answers_from,
)
from tracedance_sdk.testing import scenes
from tracedance_sdk.testing.expected_traces import SeenTrace, expected, seen
from tracedance_sdk.testing.scenes import Desk, Scene
from tracedance_sdk.testing.scripted_endpoint import Endpoint, scripted_models
from tracedance_sdk.trace import Trace, encode_json


class Driver:
    """How scenes are played in one framework. What is not overridden is not checked.

    Attributes:
        framework: Its name.
        names_agent: The framework knows its agent's name. Bare model clients do not; then the
            recorder's name stands.
        tool_errors_end_runs: A tool that raises ends the run with its exception.
    """

    framework: str = ""
    names_agent: bool = True
    tool_errors_end_runs: bool = False

    def install(self) -> None:
        """Install the integration."""
        raise NotImplementedError

    def uninstall(self) -> None:
        """Uninstall it."""
        raise NotImplementedError

    def run(self, scene: Scene, endpoint: Endpoint) -> str:
        """Play a scene and return the last words."""
        raise NotImplementedError

    async def run_async(self, scene: Scene, endpoint: Endpoint) -> str:
        """Play a scene with the framework's asynchronous interface."""
        raise NotImplementedError

    def run_streamed(self, scene: Scene, endpoint: Endpoint) -> str:
        """Play a scene with streamed replies."""
        raise NotImplementedError

    async def run_streamed_async(self, scene: Scene, endpoint: Endpoint) -> str:
        """Play a scene with streamed replies and the asynchronous interface."""
        raise NotImplementedError

    def others(self) -> AbstractContextManager[Callable[[], int]]:
        """Install somebody else's tracing of the framework; what it gives counts their spans."""
        raise NotImplementedError

    def places(self) -> Sequence[tuple[Any, str]]:
        """Return everything that the integration changes: owners and names of attributes."""
        raise NotImplementedError

    def adjusted(self, trace: SeenTrace) -> SeenTrace:
        """Return an expected trace as this framework has it, where it must differ."""
        return trace


class Check(NamedTuple):
    """One promise.

    Attributes:
        capability: What it is about, as the tables of the documentation name it.
        needs: Methods of the driver that it uses; without one of them it cannot be checked.
        run: Plays it.
    """

    capability: str
    needs: tuple[str, ...]
    run: Callable[[Driver], None]

    def __call__(self, driver: Driver) -> None:
        """Check it."""
        self.run(driver)

    def __str__(self) -> str:
        return self.capability.replace(" ", "_")


def checks_for(driver: Driver) -> list[Check]:
    """Return the checks that a driver has everything for."""
    return [
        check
        for check in CHECKS
        if all(getattr(type(driver), name) is not getattr(Driver, name) for name in check.needs)
    ]


@contextlib.contextmanager
def installed(driver: Driver) -> Iterator[None]:
    """Have the integration installed inside the statement."""
    driver.install()
    try:
        yield
    finally:
        driver.uninstall()


def same(found: object, wanted: object, what: str) -> None:
    """Raise an AssertionError that shows both, unless they are equal."""
    if found != wanted:
        raise AssertionError(f"{what}:\n  found    {found!r}\n  expected {wanted!r}")


def recorded(driver: Driver, scene: Scene, play: Callable[[Endpoint], str]) -> TraceRecorder:
    """Play a scene in a recorder, and check that nothing went wrong in recording it."""
    with scripted_models(scene) as endpoint, TraceRecorder(agent=_name(driver, scene)) as recorder:
        end = play(endpoint)
    same(end, scene.end, "the last words")
    check_quiet(recorder)
    return recorder


def check_quiet(recorder: TraceRecorder) -> None:
    """Check that no fault was counted and nothing got lost."""
    summary = recorder.close()
    same(dict(summary.faults), {}, "faults of the recorder")
    same(dict(summary.unattributed), {}, "calls that joined no run")


def check_trace(driver: Driver, trace: Trace, wanted: SeenTrace) -> None:
    """Check what a trace says, turn by turn."""
    found, wanted = seen(trace), driver.adjusted(wanted)
    same(found.agent, wanted.agent, "the agent")
    same(found.system_prompt, wanted.system_prompt, "the system prompt")
    same(found.tools, wanted.tools, "the tools")
    for place, (ours, theirs) in enumerate(zip(found.turns, wanted.turns, strict=False)):
        theirs_error = [call.error for call in theirs.calls]
        calls = tuple(
            call._replace(error=error) if error and call.error and error in call.error else call
            for call, error in zip(ours.calls, theirs_error, strict=False)
        )
        same(ours._replace(calls=(*calls, *ours.calls[len(calls) :])), theirs, f"turn {place}")
    same(len(found.turns), len(wanted.turns), "how many turns")
    same(found.parent_call, wanted.parent_call, "the call that started it")


def _name(driver: Driver, scene: Scene) -> str:
    return "agent" if driver.names_agent else scene.agent


def _plain(driver: Driver) -> None:
    with installed(driver):
        scene = scenes.mail(Desk())
        recorder = recorded(driver, scene, lambda at: driver.run(scene, at))
    check_trace(driver, recorder.trace, expected(scene))
    same(len(recorder.traces), 1, "how many traces")


def _asynchronous(driver: Driver) -> None:
    with installed(driver):
        scene = scenes.mail(Desk())
        recorder = recorded(driver, scene, lambda at: asyncio.run(driver.run_async(scene, at)))
    check_trace(driver, recorder.trace, expected(scene))


def _streamed(driver: Driver) -> None:
    with installed(driver):
        scene = scenes.mail(Desk())
        recorder = recorded(driver, scene, lambda at: driver.run_streamed(scene, at))
    check_trace(driver, recorder.trace, expected(scene))


def _streamed_async(driver: Driver) -> None:
    with installed(driver):
        scene = scenes.mail(Desk())
        recorder = recorded(
            driver, scene, lambda at: asyncio.run(driver.run_streamed_async(scene, at))
        )
    check_trace(driver, recorder.trace, expected(scene))


def _parallel(driver: Driver) -> None:
    with installed(driver):
        scene = scenes.parallel(Desk())
        recorder = recorded(driver, scene, lambda at: asyncio.run(driver.run_async(scene, at)))
    check_trace(driver, _as_asked(recorder.trace), expected(scene))


def _as_asked(trace: Trace) -> Trace:
    """Return a trace with its calls as the model asked for them: threads begin in any order."""
    turns = [
        turn.model_copy(update={"calls": tuple(sorted(turn.calls, key=lambda call: call.id))})
        for turn in trace.turns
    ]
    return trace.model_copy(update={"turns": turns})


def _failing_tool(driver: Driver) -> None:
    with installed(driver):
        scene = scenes.failing_tool(Desk())
        if not driver.tool_errors_end_runs:
            recorder = recorded(driver, scene, lambda at: driver.run(scene, at))
            check_trace(driver, recorder.trace, expected(scene))
            return
        recorder, error = _failed(driver, scene)
    same("the printer is on fire" in str(error), True, f"what was raised, {error!r}")
    check_trace(driver, recorder.trace, expected(scene, until=1))


def _failing_model(driver: Driver) -> None:
    with installed(driver):
        scene = scenes.failing_model(Desk())
        recorder, error = _failed(driver, scene)
    with scripted_models(scene) as endpoint:
        bare = _raised(lambda: driver.run(scene, endpoint))
    same(type(error), type(bare), "what is raised with and without the integration")
    trace = recorder.trace
    last = trace.turns[-1]
    same((last.role, last.text, len(last.calls)), ("assistant", "", 0), "the failed turn")
    told = last.error
    same(told is not None and "refuses" in told.message, True, f"its error, {told!r}")
    cut = trace.model_copy(update={"turns": trace.turns[:-1]})
    check_trace(driver, cut, expected(scene, until=1))


def _failed(driver: Driver, scene: Scene) -> tuple[TraceRecorder, BaseException | None]:
    with scripted_models(scene) as endpoint, TraceRecorder(agent=_name(driver, scene)) as recorder:
        error = _raised(lambda: driver.run(scene, endpoint))
    same(error is None, False, "whether the run failed")
    check_quiet(recorder)
    return recorder, error


def _raised(play: Callable[[], object]) -> BaseException | None:
    try:
        play()
    except Exception as error:  # noqa: BLE001  # whatever the framework makes of it
        return error
    return None


def _cancelled(driver: Driver) -> None:
    scene = scenes.slow_model(Desk())

    async def play(endpoint: Endpoint) -> None:
        task = asyncio.create_task(driver.run_async(scene, endpoint))
        while len(endpoint.requests) < 2 and not task.done():  # noqa: ASYNC110  # of a thread
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        task.cancel()
        cancelled = False
        try:
            await task
        except asyncio.CancelledError:
            cancelled = True
        same(cancelled, True, "whether the cancellation reached the caller")

    recorder = TraceRecorder(agent=_name(driver, scene))
    with installed(driver), scripted_models(scene) as endpoint, recorder:
        asyncio.run(play(endpoint))
    check_quiet(recorder)
    trace = recorder.trace
    same(trace.turns[-1].interrupted, True, "the interrupted turn's mark")
    cut = trace.model_copy(update={"turns": trace.turns[:-1]})
    check_trace(driver, cut, expected(scene, until=1))


def _nested(driver: Driver) -> None:
    with installed(driver):
        scene = scenes.nested(Desk())
        recorder = recorded(driver, scene, lambda at: driver.run(scene, at))
    traces = recorder.traces
    same(len(traces), 2, "how many traces")
    check_trace(driver, traces[0], expected(scene))
    question = "What is Sam's address?"
    call = traces[0].actions[0].id
    wanted = expected(scene.helpers[0], user=question, parent_call=call)
    check_trace(driver, traces[1], wanted)
    parent = traces[1].parent
    same(None if parent is None else parent.trace_id, traces[0].id, "the parent of the helper")
    writers = [trace.turns[0].origin for trace in traces]
    same(writers, ["human", "agent"], "who wrote the first turns")


def _masked(driver: Driver) -> None:
    with installed(driver):
        scene = scenes.with_secret(Desk())
        with scripted_models(scene) as endpoint:
            with TraceRecorder(agent=_name(driver, scene)) as recorder:
                end = driver.run(scene, endpoint)
            same(scenes.SECRET in str(endpoint.requests), True, "whether the model saw the key")
    same(end, scene.end, "the last words")
    check_quiet(recorder)
    for trace in recorder.traces:
        same(scenes.SECRET in encode_json(trace).decode(), False, "whether the record has the key")
    trace = recorder.trace
    same([turn.role for turn in trace.turns], ["user", "assistant", "assistant"], "the turns")
    said = [trace.turns[0].text, str(trace.actions[0].arguments), trace.turns[2].text]
    same(["[MASKED:" in text for text in said], [True] * 3, "the masks in their places")


def _uninstalled(driver: Driver) -> None:
    before = [vars(owner).get(name) for owner, name in driver.places()]
    driver.install()
    driver.install()
    changed = [vars(owner).get(name) for owner, name in driver.places()]
    same(any(a is not b for a, b in zip(before, changed, strict=True)), True, "any change")
    driver.uninstall()
    driver.uninstall()
    after = [vars(owner).get(name) for owner, name in driver.places()]
    left = [p for p, a, b in zip(driver.places(), before, after, strict=True) if a is not b]
    same(left, [], "what the integration left behind")
    scene = scenes.mail(Desk())
    with scripted_models(scene) as endpoint, TraceRecorder() as recorder:
        same(driver.run(scene, endpoint), scene.end, "the last words")
    told = [turn for turn in recorder.trace.turns if not turn.synthetic]
    same(told, [], "turns recorded without the integration")


def _beside_others(driver: Driver) -> None:
    with driver.others() as count, installed(driver):
        _play_beside(driver, count)
    with installed(driver), driver.others() as count:
        _play_beside(driver, count)


def _play_beside(driver: Driver, count: Callable[[], int]) -> None:
    scene = scenes.mail(Desk())
    recorder = recorded(driver, scene, lambda at: driver.run(scene, at))
    same(count() > 0, True, "whether the other tracing saw spans")
    check_trace(driver, recorder.trace, expected(scene))


def _no_recorder(driver: Driver) -> None:
    bare, seen_by_tools = Desk(), Desk()
    with scripted_models(scenes.mail(bare)) as endpoint:
        end = driver.run(scenes.mail(bare), endpoint)
        asked = list(endpoint.requests)
    with installed(driver), scripted_models(scenes.mail(seen_by_tools)) as endpoint:
        same(driver.run(scenes.mail(seen_by_tools), endpoint), end, "the last words")
        same(len(endpoint.requests), len(asked), "how many requests")
    same(seen_by_tools.uses, bare.uses, "the tools that ran")


class _Recorded:
    """Answers calls from a trace, in order."""

    def __init__(self, trace: Trace) -> None:
        self._left = list(trace.actions)

    def answer(self, asked: AskedCall, /) -> GivenAnswer | LetRun:
        """Return the recorded answer to an equal call."""
        for place, call in enumerate(self._left):
            if (call.name, call.arguments) == (asked.name, asked.arguments):
                del self._left[place]
                if call.result is not None:
                    return GivenAnswer(call.result, {"stamp": "same"})
        raise AssertionError(f"a call that was not recorded: {asked!r}")


def _replayed(driver: Driver) -> None:
    with installed(driver):
        scene = scenes.mail(Desk())
        first = recorded(driver, scene, lambda at: driver.run(scene, at)).trace
        desk = Desk()
        again = scenes.mail(desk)

        def play(endpoint: Endpoint) -> str:
            with answers_from(_Recorded(first)):
                return driver.run(again, endpoint)

        recorder = recorded(driver, again, play)
    same(desk.uses, [], "tools whose code ran although a recording answered")
    check_trace(driver, recorder.trace, expected(scene))
    notes = [getattr(call, "answer", None) for call in recorder.trace.actions]
    same(notes, [{"stamp": "same"}] * 2, "where the answers came from")


CHECKS: Final[tuple[Check, ...]] = (
    Check("sync", ("run",), _plain),
    Check("async", ("run_async",), _asynchronous),
    Check("streaming", ("run_streamed",), _streamed),
    Check("streaming async", ("run_streamed_async",), _streamed_async),
    Check("parallel calls", ("run_async",), _parallel),
    Check("tool error", ("run",), _failing_tool),
    Check("model error", ("run",), _failing_model),
    Check("cancellation", ("run_async",), _cancelled),
    Check("nested agents", ("run",), _nested),
    Check("masking", ("run",), _masked),
    Check("uninstall", ("run", "places"), _uninstalled),
    Check("beside others", ("run", "others"), _beside_others),
    Check("no recorder", ("run",), _no_recorder),
    Check("replay", ("run",), _replayed),
)
"""Every promise, in the order of the documentation's table."""
