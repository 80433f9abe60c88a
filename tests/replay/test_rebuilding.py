"""Conversations rebuilt as test files: written, edited, read back, answered from."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.replay.conversations import Failed, trace_of
from tests.support.shared_data import shared_data
from tracedance_sdk.errors import InvalidOption, InvalidTest, UnreadableFile, UnsupportedVersion
from tracedance_sdk.formats import collect_paths
from tracedance_sdk.replay.rebuilding import Suite, odd_recordings, rebuild, save_tests
from tracedance_sdk.replay.rebuilt_test import (
    Fact,
    Person,
    RebuiltTest,
    RecordedCall,
    TestSource,
    parse_test,
    read_test,
    written_test,
)
from tracedance_sdk.trace import (
    Effect,
    Outcome,
    Parent,
    Result,
    Source,
    Text,
    ToolDefinition,
    Trace,
    Turn,
    blob_stub,
)

ORDER = {"order": "W-1001"}


def asked(trace: Trace, *said: str) -> Trace:
    """Return the trace opened by somebody who says these things."""
    first = Turn(index=0, role="user", origin="human", content=(Text(text=said[0]),))
    return trace.model_copy(update={"turns": (first, *trace.turns[1:])})


def order_trace(identity: str = "t1", group: str = "g") -> Trace:
    steps = (
        ("get_order", ORDER, "open"),
        ("cancel_order", ORDER, Failed("too late")),
        ("get_order", ORDER, None),
    )
    return asked(trace_of(identity, group, *steps), "Please cancel W-1001.")


def test_a_conversation_becomes_a_test() -> None:
    rebuilt = rebuild([order_trace()])
    (test,) = rebuilt.tests
    assert (test.opening, test.source.group) == ("Please cancel W-1001.", "g")
    assert test.borrow.exclude_groups == ("g",)
    assert {tool.name: (tool.effect, tool.effect_from) for tool in test.tools} == {
        "get_order": ("read", "table"),
        "cancel_order": ("write", "table"),
    }
    assert [call.answer is None for call in test.recordings] == [False, False, True]
    assert rebuilt.unanswered == 1
    assert parse_test(written_test(test).encode()) == test


def test_what_tools_do_is_taken_from_whoever_knows_best() -> None:
    told = ToolDefinition(name="get_order", effect="write")
    trace = order_trace().model_copy(update={"tools": (told,)})
    (test,) = rebuild([trace], effects={"cancel_order": "pure"}).tests
    assert {tool.name: (tool.effect, tool.effect_from) for tool in test.tools} == {
        "get_order": ("write", "recorded"),
        "cancel_order": ("pure", "explicit"),
    }
    with pytest.raises(InvalidOption, match="'get_order' cannot have the effect 'safe'"):
        rebuild([trace], effects={"get_order": "safe"})  # type: ignore[dict-item]


def test_where_recordings_differ_the_more_harmful_effect_counts() -> None:
    effects: list[Effect] = ["read", "write", "read"]
    traces = [
        order_trace(f"t{n}").model_copy(
            update={"tools": (ToolDefinition(name="get_order", effect=effect),)}
        )
        for n, effect in enumerate(effects)
    ]
    assert rebuild(traces).tools["get_order"].definition.effect == "write"


@pytest.mark.parametrize("effect", ["pure", "read", "terminal"])
def test_a_recorded_write_is_not_taken_for_less_on_one_word(effect: Effect) -> None:
    told = ToolDefinition(name="get_order", effect="write")
    trace = order_trace().model_copy(update={"tools": (told,)})
    with pytest.raises(InvalidOption, match="'get_order' was recorded as 'write'"):
        rebuild([trace], effects={"get_order": effect})
    (test,) = rebuild([trace], effects={"get_order": effect}, overrule={"get_order"}).tests
    tool = next(tool for tool in test.tools if tool.name == "get_order")
    assert (tool.effect, tool.overrules) == (effect, "write")
    assert "overrules: write" in written_test(test)
    assert parse_test(written_test(test).encode()) == test


@pytest.mark.parametrize(
    ("success", "verdict"), [(True, "pass"), (False, "fail"), (None, None)], ids=str
)
def test_the_verdict_of_production_comes_along(success: bool | None, verdict: str | None) -> None:
    trace = order_trace().model_copy(update={"outcome": Outcome(success=success)})
    assert rebuild([trace]).tests[0].source.verdict == verdict


def test_conversations_that_nobody_opens_are_left_out() -> None:
    silent = trace_of("t2", "g", ("get_order", ORDER, "open"))
    spoken = asked(Trace(id="t3", turns=(silent.turns[0],)), "Hello?")
    rebuilt = rebuild([order_trace(), silent, spoken, order_trace()])
    assert [test.source.trace_id for test in rebuilt.tests] == ["t1"]
    assert [tuple(item) for item in rebuilt.left_out] == [
        ("t2", "nobody opens the conversation"),
        ("t3", "the agent said and did nothing"),
        ("t1", "the same trace again"),
    ]


@pytest.mark.parametrize(
    "result",
    [
        Result(ok=True),
        Result(ok=True, content="W-10", truncated=True),
        Result(ok=False, interrupted=True),
        Result(ok=True, content=blob_stub("0" * 64, 40_000)),
    ],
    ids=["no content", "cut", "interrupted", "kept elsewhere"],
)
def test_an_answer_that_is_not_known_is_no_answer(result: Result) -> None:
    trace = order_trace()
    (asks, answers) = trace.turns
    calls = (answers.calls[0].model_copy(update={"result": result}), *answers.calls[1:])
    turns = (asks, answers.model_copy(update={"calls": calls}))
    rebuilt = rebuild([trace.model_copy(update={"turns": turns})])
    assert rebuilt.unanswered == 2
    answer = Suite(rebuilt.tests).ladder("t1").begin().answer("get_order", ORDER)
    assert (answer.stamp, answer.miss) == ("failed", "recording_incomplete")


def test_an_answer_without_content_in_an_edited_test_is_no_answer() -> None:
    text = written_test(rebuild([order_trace()]).tests[0]).replace("      content: open\n", "")
    answer = Suite([parse_test(text.encode())]).ladder("t1").begin().answer("get_order", ORDER)
    assert (answer.stamp, answer.miss) == ("failed", "recording_incomplete")


@pytest.mark.parametrize("native", ["../../etc/passwd", "a/b\\c:d", "...", "", "Ä\x00x", "x" * 300])
def test_names_of_tests_are_names_of_files(native: str, tmp_path: Path) -> None:
    traces = [
        order_trace(f"t{n}").model_copy(update={"source": Source(collector="c", native_id=native)})
        for n in range(3)
    ]
    files = save_tests(rebuild(traces).tests, tmp_path / "out")
    assert len(set(files)) == 3
    assert {file.parent for file in files} == {tmp_path / "out"}
    assert len(Suite.load(tmp_path / "out").tests) == 3


def test_a_test_is_named_after_its_session_where_the_source_has_no_name() -> None:
    traces = [
        order_trace(f"trace-of-today-{number}").model_copy(update={"session_id": session})
        for number, session in enumerate(["Chat 7", "chat-7", None, "chat-7-2", "chat-7"])
    ]
    assert [test.id for test in rebuild(traces).tests] == [
        "chat-7",
        "chat-7-2",
        "trace-of-today-2",
        "chat-7-2-2",
        "chat-7-3",
    ]


def test_nothing_that_was_edited_is_overwritten(tmp_path: Path) -> None:
    tests = rebuild([order_trace()]).tests
    (file,) = save_tests(tests, tmp_path)
    file.write_text(file.read_text().replace("Please cancel", "Kindly cancel"))
    with pytest.raises(InvalidOption, match="is there already"):
        save_tests(tests, tmp_path)
    assert read_test(file).opening == "Kindly cancel W-1001."


TEXT = st.text(max_size=20)
# Longer ones are stubs in every trace, so in every test.
INTEGERS = st.integers(-(2**63), 2**64 - 1)


@given(
    st.builds(
        RebuiltTest,
        id=TEXT,
        source=st.builds(TestSource, trace_id=TEXT, group=TEXT),
        opening=TEXT,
        people=st.lists(
            st.builds(
                Person, goal=TEXT, knows=st.lists(st.builds(Fact, id=TEXT, value=TEXT), max_size=2)
            ),
            max_size=2,
        ),
        recordings=st.lists(
            st.builds(
                RecordedCall,
                name=TEXT,
                arguments=st.dictionaries(TEXT, st.none() | INTEGERS | TEXT, max_size=2),
                answer=st.none() | st.fixed_dictionaries({"ok": st.booleans(), "content": TEXT}),
            ),
            max_size=2,
        ),
    )
)
def test_every_test_is_read_back_as_it_was(test: RebuiltTest) -> None:
    try:
        data = written_test(test).encode()
    except UnicodeEncodeError:
        return
    again = parse_test(data)
    assert written_test(again).encode() == data


def test_unknown_fields_are_kept() -> None:
    text = written_test(rebuild([order_trace()]).tests[0]) + "reviewed_by: ann\n"
    assert "reviewed_by: ann" in written_test(parse_test(text.encode()))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("openning: Hi", "'openning'; did you mean 'opening'? @ $.openning"),
        ("people: [{gaol: Hi}]", "'gaol'; did you mean 'goal'? @ $.people[0].gaol"),
        ("people: [{knows: [{id: a, value: b, abuot: c}]}]", "@ $.people[0].knows[0].abuot"),
        ("recordings: [{name: a, arguments: {}, anwser: {}}]", "did you mean 'answer'?"),
        (
            "recordings: [{name: a, arguments: {}, answer: {contnet: 1}}]",
            "did you mean 'content'? @ $.recordings[0].answer.contnet",
        ),
        ("tools: [{name: a, efect: read}]", "did you mean 'effect'? @ $.tools[0].efect"),
        ("borrow: {exclude_group: [g]}", "@ $.borrow.exclude_group"),
    ],
)
def test_a_misspelt_field_is_said_and_not_kept(line: str, says: str) -> None:
    with pytest.raises(InvalidTest) as caught:
        parse_test(f"{GOOD}{line}\n".encode(), where="a.yaml")
    assert says in str(caught.value)


def test_fields_that_only_look_a_little_alike_are_kept() -> None:
    text = f"{GOOD}opening: Hi\nopenings: 2\npeople: [{{mood: calm, tags: [a]}}]\n"
    kept = parse_test(text.encode())
    assert kept.model_extra == {"openings": 2}
    assert kept.people[0].model_extra == {"mood": "calm", "tags": ["a"]}


def test_all_files_that_cannot_be_run_are_named_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(GOOD)
    (tmp_path / "b.yaml").write_text(GOOD.replace("id: a", "id: ../b") + "opening: Hi\n")
    (tmp_path / "c.yaml").write_text(GOOD.replace("id: a", "id: c") + "opening: Hi\n")
    (tmp_path / "d.yaml").write_text(GOOD + "openning: Hi\n")
    with pytest.raises(InvalidTest) as caught:
        Suite.load(tmp_path)
    told = str(caught.value)
    assert told.startswith("3 files are no tests: ")
    assert "a.yaml: nobody opens the conversation: 'opening' is empty @ $.opening" in told
    assert "'../b' is no plain name" in told
    assert "did you mean 'opening'?" in told
    assert "c.yaml" not in told


def test_recordings_that_their_schema_refuses_are_odd() -> None:
    tool = "{name: look, parameters: {properties: {order: {type: string}}}}"
    calls = (
        "{name: look, arguments: {order: 1}, answer: {ok: false}}",
        "{name: look, arguments: {order: 2}, answer: {ok: true, content: x}}",
        "{name: other, arguments: {order: 3}}",
    )
    test = parse_test(f"{GOOD}tools: [{tool}]\nrecordings: [{', '.join(calls)}]\n".encode())
    (problem,) = odd_recordings(test)
    assert problem.what == (
        "the arguments do not fit the schema of 'look': 2 is not of type 'string'"
    )
    assert problem.path == "$.recordings[1].arguments.order"


GOOD = "format: tracedance.rebuilt_test\nversion: 1\nid: a\nsource: {trace_id: t, group: g}\n"


@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [
        pytest.param("id: a\n", InvalidTest, "'format' is not", id="another file"),
        pytest.param("", InvalidTest, "the file is empty", id="empty"),
        pytest.param(GOOD.replace("1", "2"), UnsupportedVersion, "version 2", id="newer"),
        pytest.param(GOOD.replace("version: 1", "version: x"), InvalidTest, "'x'", id="version"),
        pytest.param(GOOD + "id: b\n", InvalidTest, "stands twice", id="twice"),
        pytest.param(
            GOOD + "tools: [{effect: read}]\n", InvalidTest, "$.tools[0].name", id="field"
        ),
        pytest.param(
            GOOD + "recordings: [{name: a, arguments: {}, answer: {ok: maybe}}]\n",
            InvalidTest,
            "$.recordings[0].answer.ok",
            id="answer",
        ),
        pytest.param(GOOD + "x: !!python/object:os.system {}\n", InvalidTest, "tag", id="code"),
    ],
)
def test_a_file_that_is_no_test_is_refused_in_one_line(
    text: str, kind: type[Exception], says: str
) -> None:
    with pytest.raises(kind) as caught:
        parse_test(text.encode(), where="a.yaml")
    assert says in str(caught.value)
    assert str(caught.value).startswith("a.yaml: ")
    assert "\n" not in str(caught.value)


def test_a_folder_without_tests_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidTest, match="holds no rebuilt tests"):
        Suite.load(tmp_path)
    with pytest.raises(UnreadableFile, match="is no folder"):
        Suite.load(tmp_path / "none")


def test_tests_answer_each_other_but_not_their_siblings(tmp_path: Path) -> None:
    one = order_trace("t1", "g")
    two = asked(trace_of("t2", "g", ("get_order", {"order": "X-1"}, "CANARY")), "Hi, X-1?")
    three = asked(trace_of("t3", "h", ("get_order", {"order": "X-2"}, "sent")), "Hi, X-2?")
    save_tests(rebuild([one, two, three]).tests, tmp_path)
    suite = Suite.load(tmp_path)
    found = suite.ladder("t1").begin()
    assert found.answer("get_order", ORDER).stamp == "same"
    assert found.answer("get_order", {"order": "X-1"}).stamp == "failed"
    assert found.answer("get_order", {"order": "X-2"}).stamp == "other"
    with pytest.raises(InvalidOption, match="no test 'zz' among 3"):
        suite.ladder("zz")


def test_every_real_conversation_answers_itself_from_its_file(tmp_path: Path) -> None:
    file = shared_data("tau-bench") / "historical_trajectories" / "gpt-4o-airline.json.gz"
    traces = [item.trace for item in collect_paths([file]) if item.trace is not None]
    some = traces[::5]
    save_tests(rebuild(some).tests, tmp_path)
    suite = Suite.load(tmp_path)
    assert len(suite.tests) == 40
    n_answers = 0
    for test in suite.tests:
        found = suite.ladder(test.id).begin()
        for call in test.recordings:
            answer = found.answer(call.name, call.arguments)
            assert (answer.stamp, answer.result) == ("same", call.result)
            n_answers += 1
    assert n_answers == sum(len(trace.actions) for trace in some)


def test_without_a_group_one_task_or_session_is_a_group() -> None:
    given: tuple[dict[str, object], ...] = (
        {"task_id": "a", "session_id": "s"},
        {"task_id": "a"},
        {"session_id": "s"},
        {},
        {"parent": Parent(trace_id="t3")},
    )
    traces = [
        order_trace(f"t{n}", "").model_copy(update={"group": None, **fields})
        for n, fields in enumerate(given)
    ]
    groups = [test.source.group for test in rebuild(traces).tests]
    assert groups == ["a", "a", "s", "t3", "t3"]
