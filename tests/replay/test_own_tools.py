"""The program's own tools give recorded answers; what has none is not run."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tracedance_sdk.errors import InvalidOption, InvalidTest, UnreadableFile, UnrecordedCall
from tracedance_sdk.recording import ReplayedError, TraceRecorder, freeze, tool
from tracedance_sdk.replay import (
    NearestSimulator,
    RebuiltTest,
    RecordMode,
    parse_test,
    read_test,
    replaying,
)

RAN: list[str] = []


@tool(effect="read")
def status(job: str) -> str:
    RAN.append("status")
    n_looks = RAN.count("status")
    if n_looks == 2:
        raise TimeoutError(f"{job} is busy")
    return "done" if n_looks > 3 else "running"


@tool(effect="write")
def refund(order: str, amount: int) -> dict[str, Any]:
    RAN.append("refund")
    status(order)
    return {"order": order, "amount": amount}


@tool(effect="pure")
def add(a: int, b: int) -> int:
    RAN.append("add")
    return a + b


@tool
def mystery(x: int) -> int:
    RAN.append("mystery")
    return x


@tool(effect="read")
def pages(n: int) -> Iterator[int]:
    RAN.append("pages")
    yield from range(n)


@tool(effect="read")
async def pages_later(n: int) -> AsyncIterator[int]:
    RAN.append("pages_later")
    for number in range(n):
        yield number


@tool(effect="read")
def login(user: str, password: str) -> dict[str, str]:
    RAN.append("login")
    return {"user": user, "token": f"sk-ant-api03-{password * 8}"}


@pytest.fixture(autouse=True)
def forget() -> None:
    RAN.clear()


def look(job: str = "job-1") -> str:
    try:
        return status(job)
    except TimeoutError as error:
        return f"error: {error}"


@pytest.fixture
def polled(tmp_path: Path) -> Path:
    """Return the recordings of four looks at a job: running, an error, running, done."""
    path = tmp_path / "polled.yaml"
    with replaying(path, record="once"):
        assert [look() for _ in range(4)] == ["running", "error: job-1 is busy", "running", "done"]
    RAN.clear()
    return path


def test_the_kth_call_gets_the_kth_answer_then_the_last_and_an_error_is_an_error(
    polled: Path,
) -> None:
    with replaying(polled) as session, TraceRecorder() as recorder:
        looks = [look() for _ in range(6)]

    assert looks == ["running", "error: job-1 is busy", "running", "done", "done", "done"]
    assert [answer.stamp for answer in session.answers] == ["same"] * 6
    assert [call.model_extra["answer"]["stamp"] for call in recorder.trace.calls] == ["same"] * 6  # type: ignore[index]
    assert [call.model_extra["answer"]["origin"]["ordinal"] for call in recorder.trace.calls] == [  # type: ignore[index]
        *(1, 2, 3),
        *(4, 4, 4),
    ]
    error = recorder.trace.calls[1].result
    assert error is not None
    assert error.error is not None
    assert error.error.type == "TimeoutError"
    assert RAN == []


def test_a_near_miss_never_replays_and_the_nearest_are_named(polled: Path) -> None:
    with pytest.raises(UnrecordedCall) as caught, replaying(polled):
        status("job-2")

    assert str(caught.value).splitlines() == [
        "unrecorded read: status {'job': 'job-2'}",
        "it was not run: the agent did something that no recording shows",
        "nearest recordings:",
        "  1. status {'job': 'job-1'}",
        "     job: 'job-2', recorded 'job-1'",
    ]
    assert not caught.value.writes
    assert RAN == []


def test_a_miss_that_the_program_swallows_is_raised_at_the_end(polled: Path) -> None:
    def agent() -> None:
        try:
            status("job-2")
        except LookupError:
            RAN.append("caught")

    with pytest.raises(UnrecordedCall, match="job-2"), replaying(polled) as session:
        agent()

    assert RAN == ["caught"]
    assert [use.name for use in session.missed] == ["status"]


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        pytest.param(lambda: refund("7", 5), "unrecorded write", id="write"),
        pytest.param(lambda: mystery(1), "unrecorded write", id="of unknown effect"),
        pytest.param(lambda: status("x"), "unrecorded read", id="read"),
        pytest.param(lambda: list(pages(2)), "unrecorded read", id="generator"),
    ],
)
def test_what_is_not_recorded_never_runs(
    tmp_path: Path, call: Callable[[], object], kind: str
) -> None:
    with pytest.raises(UnrecordedCall, match=kind) as caught, replaying(tmp_path / "no.yaml"):
        call()

    assert caught.value.writes == (kind == "unrecorded write")
    assert RAN == []
    assert list(tmp_path.iterdir()) == []


def test_pure_tools_may_run_and_what_they_call_is_asked_about(tmp_path: Path) -> None:
    @tool(effect="pure")
    def sly() -> None:
        refund("7", 5)

    with replaying(tmp_path / "no.yaml") as session:
        assert add(1, 2) == 3
    assert [answer.stamp for answer in session.answers] == ["pure"]

    with pytest.raises(UnrecordedCall, match="refund"), replaying(tmp_path / "no.yaml"):
        sly()
    assert RAN == ["add"]


def test_a_tool_that_nobody_declared_pure_does_not_run(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    text = OTHERS.format(id="a", job="job-1", said="mine")
    path.write_text(text.replace("name: status, effect: read", "name: mystery, effect: pure"))

    with pytest.raises(UnrecordedCall, match="unrecorded call: mystery"), replaying(path):
        mystery(1)
    assert RAN == []


def test_calls_inside_a_recorded_one_are_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    with replaying(path, record="once"):
        refund("7", 5)
    assert [call.name for call in read_test(path).recordings] == ["refund"]
    RAN.clear()

    with replaying(path):
        assert refund("7", 5) == {"order": "7", "amount": 5}
    assert RAN == []


@pytest.mark.parametrize(
    ("mode", "ran", "recorded"),
    [
        ("none", [], ["job-1"] * 4),
        ("once", [], ["job-1"] * 4),
        ("new_episodes", ["status"], ["job-1", "job-2", *["job-1"] * 3]),
        ("all", ["status"] * 2, ["job-1", "job-2"]),
    ],
)
def test_record_modes_where_there_is_a_file(
    polled: Path, mode: RecordMode, ran: list[str], recorded: list[str]
) -> None:
    try:
        with replaying(polled, record=mode):
            look()
            look("job-2")
    except UnrecordedCall:
        assert mode in ("none", "once")

    assert ran == RAN
    arguments = [call.arguments for call in read_test(polled).recordings]
    assert arguments == [{"job": job} for job in recorded]


@pytest.mark.parametrize("mode", ["once", "new_episodes", "all"])
def test_record_modes_where_there_is_none(tmp_path: Path, mode: RecordMode) -> None:
    path = tmp_path / "deep" / "er" / "new.yaml"
    with replaying(path, record=mode):
        assert look() == "running"

    (call,) = read_test(path).recordings
    assert call.answer == {"ok": True, "content": "running"}
    assert [entry.name for entry in path.parent.iterdir()] == ["new.yaml"]


def test_what_was_recorded_of_an_episode_lies_where_it_was_called(tmp_path: Path) -> None:
    """A read of a record before it is written to is not stale, as it would be at the end."""
    path = tmp_path / "a.yaml"
    with replaying(path, record="once"):
        refund("order-7", 5)

    def agent() -> None:
        look("order-7")
        refund("order-7", 5)

    with replaying(path, record="new_episodes"):
        agent()
    RAN.clear()

    with replaying(path) as session:
        agent()
    assert not any(answer.stale for answer in session.answers)
    assert RAN == []


def test_nothing_is_written_when_an_exception_leaves(polled: Path) -> None:
    before = polled.read_bytes()
    with pytest.raises(ZeroDivisionError), replaying(polled, record="all"):
        _ = len(look()) / 0

    assert polled.read_bytes() == before


def test_what_people_wrote_into_the_file_stays(polled: Path) -> None:
    text = polled.read_text(encoding="utf-8")
    added = "\nid: polled\nopening: Is it done?\nmine: 7\n"
    edited = text.replace("\nid: polled\n", added).replace(
        "effect: read\n    effect_from: recorded", "effect: write\n    effect_from: explicit"
    )
    polled.write_text(edited, encoding="utf-8")

    with replaying(polled, record="new_episodes") as session:
        look("job-2")
        assert session.effect_of("status") == "write"

    test = read_test(polled)
    assert test.opening == "Is it done?"
    assert (test.model_extra or {})["mine"] == 7
    assert [(tool.effect, tool.effect_from) for tool in test.tools] == [("write", "explicit")]


def test_secrets_are_masked_and_calls_found_by_another_process_all_the_same(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.yaml"
    with replaying(path, record="once"):
        login("ann", "hunter2secret")
    text = path.read_text(encoding="utf-8")
    assert "hunter2" not in text
    assert "[MASKED:password:]" in text

    # As it is in tests that were rebuilt from traces recorded under somebody's key.
    path.write_text(text.replace("[MASKED:password:]", "[MASKED:password:f6c2ff60161a]"))
    with replaying(path):
        answer = login("ann", "hunter2secret")
    assert answer["user"] == "ann"
    assert answer["token"].startswith("[MASKED:")


@pytest.mark.parametrize("stopped", [False, True], ids=["to the end", "stopped early"])
def test_streams_are_recorded_and_replayed_as_items(tmp_path: Path, stopped: bool) -> None:
    path = tmp_path / "a.yaml"

    async def later() -> list[int]:
        return [number async for number in pages_later(2)]

    def agent() -> list[int]:
        items = pages(3)
        got = [next(items)] if stopped else list(items)
        items.close()  # type: ignore[attr-defined]
        return [*got, *asyncio.run(later())]

    with replaying(path, record="once"):
        first = agent()
    RAN.clear()
    with replaying(path):
        assert agent() == first
    assert RAN == []

    if stopped:
        with replaying(path), pytest.raises(UnrecordedCall, match="no further items"):
            list(pages(3))


def test_a_recorded_error_is_caught_by_its_class_and_as_a_replayed_one(polled: Path) -> None:
    with replaying(polled):
        look()
        with pytest.raises(ReplayedError) as caught:
            status("job-1")
    assert isinstance(caught.value, TimeoutError)


def test_a_cancelled_call_is_not_recorded_as_an_answer(tmp_path: Path) -> None:
    @tool(effect="read")
    async def slow() -> str:
        await asyncio.sleep(60)
        return "done"

    async def agent() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(slow(), 0.01)

    path = tmp_path / "a.yaml"
    with replaying(path, record="once"):
        asyncio.run(agent())

    assert read_test(path).recordings[0].answer is None
    with pytest.raises(UnrecordedCall, match="its answer was not recorded"), replaying(path):
        asyncio.run(slow())


_TEXT = st.text(max_size=12) | st.sampled_from(
    ["no", "1.0", "2026-01-01", "~", " a\n b ", "\udc80"]
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(calls=st.lists(st.tuples(_JSON, _JSON), min_size=1, max_size=4))
def test_whatever_was_recorded_is_found_again_and_answered_alike(
    calls: list[tuple[Any, Any]],
) -> None:
    answers = iter([answer for _, answer in calls])

    @tool(effect="write")
    def anything(given: Any) -> Any:
        return next(answers)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.yaml")
        with replaying(path, record="once"):
            said = [anything(given) for given, _ in calls]
        with replaying(path) as session:
            again = [anything(given) for given, _ in calls]

    assert [freeze(value) for value in again] == [freeze(value) for value in said]
    assert [answer.stamp for answer in session.answers] == ["same"] * len(calls)


OTHERS = """
format: tracedance.rebuilt_test
version: 1
id: {id}
source: {{trace_id: {id}, group: {id}}}
tools: [{{name: status, effect: read}}]
recordings:
  - {{name: status, arguments: {{job: {job}}}, answer: {{ok: true, content: {said}}}}}
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """Return the first of two files of recordings that lie side by side."""
    for name, job, said in (("a", "job-1", "mine"), ("b", "job-2", "theirs")):
        text = OTHERS.format(id=name, job=job, said=said)
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    return tmp_path / "a.yaml"


def test_other_tests_are_borrowed_from_only_where_that_is_allowed(suite: Path) -> None:
    with replaying(suite, answers=("same", "other")) as session:
        assert [look(), look("job-2")] == ["mine", "theirs"]
    assert [answer.stamp for answer in session.answers] == ["same", "other"]

    with pytest.raises(UnrecordedCall), replaying(suite):
        status("job-2")


def test_made_up_answers_are_given_only_where_that_is_allowed(suite: Path) -> None:
    simulator = NearestSimulator()
    with replaying(suite, answers=("same", "simulated"), simulator=simulator) as session:
        assert look("job-9") == "mine"
    assert session.answers[0].stamp == "simulated"

    with (
        pytest.raises(UnrecordedCall, match="'other', which is not allowed"),
        replaying(suite, answers=("same", "simulated"), simulator=simulator),
    ):
        status("job-2")


def test_nothing_is_made_up_for_a_write(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    with replaying(path, record="once"):
        refund("order-1", 5)

    simulator = NearestSimulator()
    with (
        pytest.raises(UnrecordedCall, match="'simulated', which is not allowed") as caught,
        replaying(path, answers=("same", "simulated"), simulator=simulator),
    ):
        refund("order-1", 6)
    assert caught.value.writes


def test_a_simulator_that_is_awaited_answers_tools_that_are(suite: Path) -> None:
    class Slow(NearestSimulator):
        async def simulate(self, call: Any, shelf: Any) -> Any:  # type: ignore[override]
            await asyncio.sleep(0)
            return NearestSimulator.simulate(self, call, shelf)

    @tool(name="status", effect="read")
    async def status_later(job: str) -> str:
        raise AssertionError("ran")

    with replaying(suite, answers=("same", "simulated"), simulator=Slow()):
        assert asyncio.run(status_later("job-9")) == "mine"


def test_a_test_in_memory_is_replayed_too(suite: Path) -> None:
    test: RebuiltTest = parse_test(suite.read_bytes())
    with replaying(test):
        assert look() == "mine"


def test_many_threads_share_one_replay(polled: Path) -> None:
    with replaying(polled) as session, ThreadPoolExecutor(8) as pool:
        looks = list(pool.map(lambda _: look(), range(40)))

    assert sorted(looks)[:3] == ["done"] * 3
    assert looks.count("running") == 2
    assert len(session.answers) == 40


def test_a_coroutine_that_outlives_its_replay_is_not_run(tmp_path: Path) -> None:
    async def agent() -> None:
        with replaying(tmp_path / "no.yaml"):
            items = pages_later(3)
        with pytest.raises(UnrecordedCall, match="was over"):
            await anext(items)

    asyncio.run(agent())
    assert RAN == []


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"record": "never"}, "none, once, new_episodes, all"),
        ({"answers": ("same", "failed")}, "is no list of same, other"),
        ({"answers": "same"}, "is no list of"),
        ({"answers": ("simulated",)}, "no simulator"),
        ({"allow_hosts": "example.com"}, "no list of names of hosts"),
    ],
)
def test_wrong_settings_are_refused(polled: Path, wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidOption, match=told), replaying(polled, **wrong):
        raise AssertionError("entered")


def test_a_test_in_memory_cannot_be_recorded_into(suite: Path) -> None:
    with (
        pytest.raises(InvalidOption, match="needs the path"),
        replaying(parse_test(suite.read_bytes()), record="all"),
    ):
        raise AssertionError("entered")


def test_a_file_that_is_no_test_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("format: else\n")
    with pytest.raises(InvalidTest, match=r"a\.yaml"), replaying(path):
        raise AssertionError("entered")


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    path = tmp_path / "taken" / "a.yaml"
    with pytest.raises(UnreadableFile, match="taken"), replaying(path, record="once"):
        look()


def test_another_source_inside_a_replay_goes_first(polled: Path, tmp_path: Path) -> None:
    with replaying(polled) as outer, replaying(tmp_path / "b.yaml", record="once") as inner:
        look()
    assert (len(outer.answers), inner.n_recorded) == (0, 1)
