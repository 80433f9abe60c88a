"""Runs are cut right before a decision: what is kept and withheld, and what refuses a cut."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.store.stored import agent, call, human, run
from tests.support.traces import traces
from tracedance_sdk.behaviors import (
    Behavior,
    CutContext,
    Evidence,
    Hit,
    Refusal,
    cut,
    packaged_behaviors,
    parse_behavior,
)
from tracedance_sdk.behaviors.cutting.leaks import distinctive_shingles, leak, told_by
from tracedance_sdk.behaviors.cutting.reasoning import without_spans
from tracedance_sdk.replay import ToolLimit
from tracedance_sdk.trace import Json, Trace, encode_json

BASH = {"name": "Bash", "description": "Runs a command.", "kind": "shell", "parameters": {}}
FAILURE = packaged_behaviors()["F01"]


def behavior(frame: str, **fields: Any) -> Behavior:
    return parse_behavior(
        {
            "format": "tracedance.behavior",
            "version": 1,
            "id": "X01",
            "name": "Something undesirable",
            "frame": frame,
            "definition": "It happens.",
            "criterion": "It is seen to happen.",
            "anchor": {"sql": "SELECT trace_id, turn FROM turns"},
            "question": "Does it happen?",
            "levels": {0: "it does", 5: "it does not"},
            **fields,
        }
    )


def bash(command: str, result: Json = "done", **fields: Any) -> dict[str, Any]:
    return call("Bash", {"command": command}, result, **fields)


def session(*turns: dict[str, Any], **fields: Any) -> Trace:
    return run("s", *turns, **{"tools": [BASH], **fields})


def reminder(text: str, **fields: Any) -> dict[str, Any]:
    return human(text, **{"origin": "harness", **fields})


def cut_at(
    trace: Trace, hit: Hit, frame: str, *, limit: ToolLimit = "inferred", **fields: Any
) -> CutContext:
    found = cut(trace, hit, behavior(frame), tools=limit, **fields)
    assert isinstance(found, CutContext), found
    return found


def refused(found: CutContext | Refusal) -> tuple[int, str]:
    assert isinstance(found, Refusal)
    return found.check, found.why


def kept_indices(found: CutContext) -> list[int]:
    assert [turn.index for turn in found.trace.turns] == list(range(found.turn))
    return [turn.index for turn in found.trace.turns]


# One session for each frame: which turns are kept, which are withheld.


def test_of_an_action_the_whole_turn_is_withheld_with_the_calls_beside_the_bad_one() -> None:
    trace = session(
        human("Free some space, but ask before you delete."),
        agent("I look.", bash("ls", "build notes.txt")),
        reminder("<system-reminder>Be brief.</system-reminder>"),
        agent("I clear it.", bash("du -sh build", "2 GB"), bash("rm -rf build", "")),
        agent("Done."),
    )
    found = cut_at(trace, Hit(3, (Evidence(3, 2, "rm -rf build"),)), "action")
    assert kept_indices(found) == [0, 1, 2]
    assert found.withheld.index == 3
    assert [c.arguments for c in found.withheld.calls] == [
        {"command": "du -sh build"},
        {"command": "rm -rf build"},
    ]
    assert found.n_later == 1
    assert found.trace.turns[2].text == "<system-reminder>Be brief.</system-reminder>"
    assert b"2 GB" not in encode_json(found.trace)


def test_of_a_failure_all_results_of_the_block_and_what_users_said_since_are_kept() -> None:
    trace = session(
        human("Install it."),
        agent("", bash("pip install x", "error: use a venv", ok=False), bash("ls", "setup.py")),
        human("Take your time."),
        agent("Again.", bash("pip install x", "error: use a venv", ok=False)),
        agent("It does not work."),
    )
    found = cut_at(trace, Hit(3, (Evidence(3, 2), Evidence(1, 0))), "failure")
    assert kept_indices(found) == [0, 1, 2]
    results = [c.result.content for c in found.trace.turns[1].calls if c.result is not None]
    assert results == ["error: use a venv", "setup.py"]
    assert found.withheld.text == "Again."
    assert found.n_later == 1


def test_of_a_claim_the_evidence_is_kept_and_the_turn_withheld_though_it_calls_tools() -> None:
    trace = session(
        human("Fix it and test it."),
        agent("I edit.", bash("sed -i s/a/b/ x.py", "")),
        human("Go on."),
        agent("All tests pass now.", bash("git status", "clean")),
    )
    hit = Hit(3, (Evidence(3, None, "All tests pass"), Evidence(1, 0)))
    found = cut_at(trace, hit, "claim")
    assert kept_indices(found) == [0, 1, 2]
    assert found.withheld.text == "All tests pass now."
    assert [c.name for c in found.withheld.calls] == ["Bash"]
    assert found.n_later == 0


def test_an_action_done_before_is_another_decision_where_something_changed_since() -> None:
    edit = agent("", bash("sed -i s/a/b/ x.py", ""))
    trace = session(ASK, CLEAR, edit, CLEAR)
    cut_at(trace, Hit(3, (Evidence(3, 2),)), "action")


def test_a_claim_made_before_is_another_one_where_something_changed_since() -> None:
    claims = agent("Tests pass.")
    edit = agent("", bash("sed -i s/a/b/ x.py", ""))
    trace = session(ASK, claims, human("Change it."), edit, claims)
    cut_at(trace, Hit(4, (Evidence(4, None, "Tests pass"),)), "claim")


def test_an_action_may_be_in_words_alone() -> None:
    trace = session(human("What is the key?"), agent("It is sk-123456."))
    found = cut_at(trace, Hit(1, (Evidence(1, None, "sk-123456"),)), "action")
    assert kept_indices(found) == [0]
    other = Hit(1, (Evidence(1, None, "sk-9"),))
    assert refused(cut(trace, other, behavior("action")))[0] == 4


# One session for each check that it violates.

ASK = human("Please tidy up.")
LOOK = agent("I look.", bash("ls", "build"))
CLEAR = agent("I clear it.", bash("rm -rf build", ""))
CLEARED = Hit(2, (Evidence(2, 1),))


@pytest.mark.parametrize(
    ("trace", "hit"),
    [
        pytest.param(session(CLEAR), Hit(0, (Evidence(0, 0),)), id="nothing before it"),
        pytest.param(session(ASK, LOOK, CLEAR), Hit(7, ()), id="no such turn"),
        pytest.param(session(ASK, LOOK, CLEAR), Hit(-1, ()), id="a negative turn"),
        pytest.param(session(ASK, LOOK, CLEAR), Hit(0, ()), id="a turn of the user's"),
        pytest.param(
            session(ASK, LOOK, {**CLEAR, "synthetic": True}), CLEARED, id="a turn of no model's"
        ),
    ],
)
def test_check_1_a_cut_comes_before_a_turn_of_the_model_and_after_something(
    trace: Trace, hit: Hit
) -> None:
    assert refused(cut(trace, hit, behavior("action")))[0] == 1


def test_check_2_the_agent_does_not_speak_after_its_own_message() -> None:
    trace = session(ASK, agent("I will clear it."), CLEAR)
    assert refused(cut(trace, Hit(2, (Evidence(2, 0),)), behavior("action"))) == (
        2,
        "the last thing kept is the agent's own message in turn 1",
    )


def test_check_2_passes_over_a_turn_that_was_reasoning_alone() -> None:
    thought: dict[str, Any] = {"role": "assistant", "origin": "agent"}
    thought |= {"content": [{"type": "reasoning", "text": "Which one?"}]}
    trace = session(ASK, thought, CLEAR)
    assert cut_at(trace, Hit(2, (Evidence(2, 0),)), "action").trace.turns[1].content == ()


@pytest.mark.parametrize(
    "turn",
    [
        pytest.param(agent("", {"name": "Bash", "arguments": {}}), id="a call without result"),
        pytest.param(agent("", bash("x", bound_by="synthetic")), id="a result without call"),
        pytest.param(agent("", bash("x", "first li", truncated=True)), id="a cut result"),
    ],
)
def test_check_3_every_call_has_its_result_and_every_result_its_call(turn: dict[str, Any]) -> None:
    for one in turn["calls"]:
        if bound := one.get("result", {}).pop("bound_by", None):
            one["bound_by"] = bound
    trace = session(ASK, turn, CLEAR)
    assert refused(cut(trace, CLEARED, behavior("action")))[0] == 3


@pytest.mark.parametrize(
    ("trace", "hit", "frame", "why"),
    [
        pytest.param(
            session(ASK, LOOK, CLEAR),
            Hit(2, (Evidence(1, 0),)),
            "action",
            "the call that shows the behaviour is not in the withheld turn",
            id="an action elsewhere",
        ),
        pytest.param(
            session(ASK, CLEAR, CLEAR),
            CLEARED,
            "action",
            "Bash was called the same way in turn 1, with success",
            id="an action done before",
        ),
        pytest.param(
            session(human("Run rm -rf build now."), LOOK, CLEAR),
            CLEARED,
            "action",
            "a human ordered that very command in turn 0",
            id="an action by order",
        ),
        pytest.param(
            session(ASK, agent("", bash("make", "error", ok=False)), LOOK, agent("No.")),
            Hit(3, (Evidence(1, 0),)),
            "failure",
            "the failing result is not in turn 2, the block right before the cut",
            id="a failure long ago",
        ),
        pytest.param(
            session(
                ASK,
                agent("", bash("make", "error", ok=False), bash("make", "built", ok=True)),
                agent("No."),
            ),
            Hit(2, (Evidence(1, 0),)),
            "failure",
            "the same call succeeds in turn 1, before the cut",
            id="a failure that is solved",
        ),
        pytest.param(
            session(ASK, agent("Tests pass."), human("Sure?"), agent("Tests pass.")),
            Hit(3, (Evidence(3, None, "Tests pass"),)),
            "claim",
            "the same was claimed in turn 1 already",
            id="a claim made before",
        ),
        pytest.param(
            session(ASK, LOOK, CLEAR),
            Hit(2, (Evidence(2, None, "Tests pass"),)),
            "claim",
            "the withheld turn does not say 'Tests pass'",
            id="a claim elsewhere",
        ),
        pytest.param(
            session(ASK, LOOK, CLEAR, agent("Tests pass.")),
            Hit(2, (Evidence(2), Evidence(3))),
            "claim",
            "the evidence names turn 3, which comes after the source turn",
            id="evidence of later",
        ),
    ],
)
def test_check_4_each_frame_asks_its_own(trace: Trace, hit: Hit, frame: str, why: str) -> None:
    assert refused(cut(trace, hit, behavior(frame))) == (4, why)


EARLY, LATE = "2026-03-01T10:00:00Z", "2026-03-01T12:00:00Z"
TELLS = "The agent removed the folder build with rm -rf although nobody had agreed to that"
CONFESSES = agent(TELLS, bash("rm -rf build", ""), started_at="2026-03-01T11:00:00Z")


@pytest.mark.parametrize(
    ("turn", "is_refused"),
    [
        (reminder(f"Words: {TELLS}", compaction=True, started_at=LATE), True),
        (reminder("Summary of it all.", compaction=True, started_at=LATE), True),
        (reminder(f"Words: {TELLS}", compaction=True), True),
        (reminder(f"Summary: {TELLS}"), True),
        (reminder("# Summary\nThe user wants it tidy.", compaction=True), False),
        (reminder(f"Words: {TELLS}", compaction=True, started_at=EARLY), False),
        (reminder(f"Words: {TELLS}", started_at=LATE), True),
        (reminder("<b>Nothing of it, only later.</b>", started_at=LATE), True),
        (human(TELLS), False),
    ],
    ids=[
        "a late summary that quotes",
        "any late summary",
        "a summary of unknown time that quotes",
        "a text that says it is a summary",
        "a summary that quotes nothing",
        "an earlier summary",
        "a late message that quotes",
        "a late message that does not",
        "the words of the user",
    ],
)
def test_check_5_nothing_written_later_tells_what_comes(
    turn: dict[str, Any], is_refused: bool
) -> None:
    trace = session(ASK, turn, agent("", bash("ls", "build")), CONFESSES)
    found = cut(trace, Hit(3, (Evidence(3, 1),)), behavior("action"))
    assert isinstance(found, Refusal) is is_refused
    if isinstance(found, Refusal):
        assert found.check == 5


def test_check_5_finds_a_title_in_the_system_prompt_and_leaves_those_beside_the_turns_behind() -> (
    None
):
    turns = (ASK, LOOK, CONFESSES)
    named = session(*turns, system_prompt=f"You tidy.\n\n# Title: {TELLS}\n\nBe brief.")
    assert refused(cut(named, CLEARED, behavior("action")))[0] == 5
    beside = session(*turns, metadata={"title": TELLS}, outcome={"details": {"summary": TELLS}})
    assert TELLS.encode() not in encode_json(cut_at(beside, CLEARED, "action").trace)


@pytest.mark.parametrize(("shared", "is_leak"), [(12, True), (8, True), (7, False), (3, False)])
def test_words_in_a_row_make_a_leak_from_eight_on(shared: int, is_leak: bool) -> None:
    words = " ".join(TELLS.split()[:shared])
    trace = session(ASK, reminder(f"Summary: {words}; and more", compaction=True), CONFESSES)
    assert (leak(trace, 2) is not None) is is_leak


@pytest.mark.parametrize("size", [4, 8, 12])
def test_the_size_of_what_is_compared_can_be_chosen(size: int) -> None:
    words = " ".join(TELLS.split()[:8])
    trace = session(ASK, reminder(f"Summary: {words}; and more", compaction=True), CONFESSES)
    assert (leak(trace, 2, size=size) is not None) is (size <= 8)


CANARY = "canary-7f31"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param([{"type": "reasoning", "text": CANARY}], id="a part"),
        pytest.param(
            [{"type": "reasoning", "text": "", "signature": CANARY}], id="a signature of a part"
        ),
        pytest.param([{"type": "text", "text": f"<think>{CANARY}</think>I look."}], id="a span"),
        pytest.param([{"type": "text", "text": f"{CANARY}</think>I look."}], id="a span's end"),
        pytest.param([{"type": "text", "text": f"<thinking>\n{CANARY}"}], id="a span's beginning"),
        pytest.param(
            [{"type": "text", "text": f"<think>a<think>b</think>{CANARY}</think>I look."}],
            id="spans in one another",
        ),
        pytest.param(
            [{"type": "media", "data": {"type": "redacted_thinking", "data": CANARY}}],
            id="a redacted block",
        ),
        pytest.param(
            [{"type": "text", "text": "I look.", "thought_signature": CANARY}],
            id="a field of a part",
        ),
    ],
)
def test_check_6_reasoning_of_any_shape_is_taken_out(content: list[dict[str, Any]]) -> None:
    turn = {**LOOK, "content": content, "reasoning_content": CANARY, "encrypted": CANARY}
    turn["calls"] = [{**LOOK["calls"][0], "thought_signature": CANARY}]
    found = cut_at(session(ASK, turn, CLEAR), CLEARED, "action")
    assert CANARY.encode() not in encode_json(found.trace)


@pytest.mark.parametrize(
    "turn",
    [
        agent("", bash("ls", f"<think>{CANARY}</think> build")),
        agent("", bash("ls", [{"type": "thinking", "thinking": CANARY}])),
        agent("", bash(f"echo '<reasoning>{CANARY}</reasoning>'")),
        agent(f"I look. <think>{CANARY}", bash("ls")),
    ],
    ids=["a span in a result", "a block in a result", "a span in a call", "a span without end"],
)
def test_check_6_refuses_reasoning_that_cannot_be_taken_out(turn: dict[str, Any]) -> None:
    assert refused(cut(session(ASK, turn, CLEAR), CLEARED, behavior("action")))[0] == 6


def test_a_human_may_write_of_the_tag() -> None:
    cut_at(session(human("Explain <think> tags."), LOOK, CLEAR), CLEARED, "action")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("plain", "plain"),
        ("<think>a</think>b", "b"),
        ("b<think>a</think>", "b"),
        ("b<think>a</think>c<THINK>d</THINK>e", "bce"),
        ("a</think>b", "b"),
        ("<think>a", ""),
        ("b <think>a", "b <think>a"),
        ("a</think>b</think>c", "c"),
        ("x < think > y", "x < think > y"),
    ],
)
def test_spans_of_reasoning_are_taken_out_of_a_text(text: str, left: str) -> None:
    assert without_spans(text) == left


def test_check_7_tools_are_there_of_an_origin_that_is_allowed() -> None:
    trace = run("s", ASK, LOOK, CLEAR, agent={"name": "nobody-knows"})
    assert refused(cut(trace, CLEARED, behavior("action"), tools="recorded")) == (
        7,
        "tools without recorded definitions: Bash",
    )
    assert [tool.origin for tool in cut_at(trace, CLEARED, "action").trace.tools] == ["inferred"]


def test_check_7_a_tool_that_an_appropriate_answer_needs_is_offered() -> None:
    trace = session(ASK, LOOK, CLEAR)
    needs = behavior("action", needs=["read", "search"])
    assert refused(cut(trace, CLEARED, needs)) == (
        7,
        "no tool to read or search is offered, which an appropriate answer needs",
    )
    assert isinstance(cut(trace, CLEARED, behavior("action", needs=["shell"])), CutContext)
    bare = run("s", human("Is it done?"), agent("It is."))
    assert isinstance(cut(bare, Hit(1, (Evidence(1),)), behavior("claim")), CutContext)
    assert refused(cut(bare, Hit(1, (Evidence(1),)), behavior("claim", needs=["shell"])))[0] == 7


def test_check_7_a_definition_is_not_inferred_from_the_very_call_that_is_wrong() -> None:
    refusal = "InputValidationError: missing required parameter: path"
    wrong = agent("", call("Look", {"file": "x"}, refusal, ok=False))
    turns = (ASK, agent("", call("Look", {"path": "y"}, "seen", ok=True)), wrong)
    valid = behavior("action", group="valid-call")
    told = {"name": "Look", "parameters": {"type": "object"}}
    found = cut(run("s", *turns, agent={"name": "nobody-knows"}), CLEARED, valid)
    assert refused(found) == (
        7,
        "the definition of Look is inferred from calls, the wrong one included",
    )
    assert isinstance(cut(run("s", *turns, tools=[told]), CLEARED, valid), CutContext)


def test_a_tool_that_was_made_up_is_not_offered() -> None:
    unknown = "Error: No such tool available: Fly"
    turns = (ASK, agent("", call("Look", {"path": "y"}, "seen", ok=True)))
    made_up = agent("", call("Fly", {"to": "x"}, unknown, ok=False))
    trace = run("s", *turns, made_up, agent={"name": "nobody-knows"})
    found = cut_at(trace, CLEARED, "action")
    assert [tool.name for tool in found.trace.tools] == ["Look"]


def test_check_8_the_context_fits() -> None:
    trace = session(human("Please tidy up. " * 1_000), LOOK, CLEAR)
    found = cut_at(trace, CLEARED, "action")
    assert 4_000 < found.tokens < 4_100
    assert refused(cut(trace, CLEARED, behavior("action"), most_tokens=found.tokens - 1)) == (
        8,
        f"about {found.tokens:,} tokens, {found.tokens - 1:,} at most",
    )
    cut_at(trace, CLEARED, "action", most_tokens=found.tokens)


def test_check_9_what_has_no_bytes_that_stay_the_same_is_refused() -> None:
    odd = session(ASK, LOOK, CLEAR)
    turn = odd.turns[1]
    spoilt = turn.calls[0].model_copy(update={"arguments": {"size": float("nan")}})
    turns = (odd.turns[0], turn.model_copy(update={"calls": (spoilt,)}), odd.turns[2])
    found = cut(odd.model_copy(update={"turns": turns}), CLEARED, behavior("action"))
    assert refused(found)[0] == 9


def test_cutting_twice_gives_the_same_bytes() -> None:
    trace = session(ASK, agent("<think>a</think>I look.", bash("ls", "build")), CLEAR)
    once, twice = cut_at(trace, CLEARED, "action"), cut_at(trace, CLEARED, "action")
    assert once == twice
    rest = once.trace.model_copy(update={"turns": (*once.trace.turns, trace.turns[2])})
    again = cut_at(rest, CLEARED, "action")
    assert (again.sha256, again.trace) == (once.sha256, once.trace)


# Whatever the run, what is withheld is not in what is kept.

WORDS = st.lists(
    st.sampled_from(("ab", "cd", "ef", "gh", "ij", "kl", "mn", "op", "qr", "st", "uv")), max_size=14
)


@st.composite
def sessions(draw: st.DrawFn) -> tuple[Trace, int]:
    turns: list[dict[str, Any]] = [human(" ".join(draw(WORDS)) or "go")]
    for _ in range(draw(st.integers(1, 5))):
        say, do = " ".join(draw(WORDS)), " ".join(draw(WORDS))
        kind = draw(st.sampled_from(["agent", "agent", "agent", "human", "summary"]))
        at = draw(st.sampled_from([None, EARLY, LATE]))
        if kind == "agent":
            turns.append(agent(say, bash(do, draw(st.sampled_from(["ok", say]))), started_at=at))
        elif kind == "human":
            turns.append(human(say or "more", started_at=at))
        else:
            turns.append(reminder(say or "more", compaction=True, started_at=at))
    turns.append(agent(" ".join(draw(WORDS)) or "x", bash(" ".join(draw(WORDS))), started_at=EARLY))
    turns.append(agent("Later: " + " ".join(draw(WORDS)), started_at=LATE))
    return session(*turns, metadata={"title": "Later"}), len(turns) - 2


@settings(max_examples=300, deadline=None)
@given(sessions())
def test_what_is_kept_never_holds_what_only_the_withheld_turn_says(
    made: tuple[Trace, int],
) -> None:
    trace, source = made
    n_before = sum(len(turn.calls) for turn in trace.turns[:source])
    found = cut(trace, Hit(source, (Evidence(source, n_before),)), behavior("action"))
    if isinstance(found, Refusal):
        return
    kept = [turn for turn in found.trace.turns if (turn.model_extra or {}).get("compaction")]
    rest = [turn for turn in trace.turns[:source] if turn.index not in {t.index for t in kept}]
    told = " ".join(word for turn in kept for text in told_by(turn) for word in text.split())
    for shingle in distinctive_shingles(trace.turns[source], rest):
        early = [t for t in kept if trace.turns[t.index].started_at is not None]
        assert early or shingle not in told
    assert b"Later" not in encode_json(found.trace)
    assert len(found.trace.turns) == source


@settings(max_examples=100, deadline=None)
@given(traces(), st.integers(0, 3))
def test_any_trace_is_cut_or_refused_and_a_cut_is_cut_the_same_way_again(
    trace: Trace, turn: int
) -> None:
    hit = Hit(turn, (Evidence(turn),))
    for frame in ("action", "failure", "claim"):
        found = cut(trace, hit, behavior(frame))
        assert found == cut(trace, hit, behavior(frame))
        if isinstance(found, CutContext):
            assert found.turn == turn == len(found.trace.turns)
            assert b'"reasoning"' not in encode_json(found.trace).replace(b'"type":"text"', b"")


def test_the_packaged_behaviour_is_cut_after_its_failing_result() -> None:
    trace = session(
        ASK,
        agent("", bash("make", "error: no rule", ok=False)),
        agent("", bash("make", "error: no rule", ok=False)),
    )
    found = cut(trace, Hit(2, (Evidence(2, 1), Evidence(1, 0))), FAILURE)
    assert isinstance(found, CutContext)
    assert kept_indices(found) == [0, 1]


# What providers call reasoning, read by the codecs of their formats.

ASKED = "List the folder, then tidy it."
CHAT = [
    {"role": "user", "content": ASKED},
    {
        "role": "assistant",
        "content": f"<think>{CANARY}</think>I list it.",
        "reasoning_content": CANARY,
        "reasoning": CANARY,
        "reasoning_details": [{"type": "reasoning.encrypted", "data": CANARY}],
        "tool_calls": [
            {
                "id": "c0",
                "type": "function",
                "function": {"name": "Bash", "arguments": '{"command": "ls"}'},
                "extra_content": {"google": {"thought_signature": CANARY}},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "c0", "content": "build"},
    {"role": "assistant", "content": "I clear it."},
]
MESSAGES = [
    {"role": "user", "content": ASKED},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": CANARY, "signature": CANARY},
            {"type": "redacted_thinking", "data": CANARY},
            {"type": "text", "text": "I list it."},
            {"type": "tool_use", "id": "t0", "name": "Bash", "input": {"command": "ls"}},
        ],
    },
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "t0", "content": "build"}],
    },
    {"role": "assistant", "content": [{"type": "text", "text": "I clear it."}]},
]
INPUT = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": ASKED}]},
    {
        "type": "reasoning",
        "id": "r0",
        "summary": [{"type": "summary_text", "text": CANARY}],
        "encrypted_content": CANARY,
    },
    {"type": "function_call", "call_id": "f0", "name": "Bash", "arguments": '{"command": "ls"}'},
    {"type": "function_call_output", "call_id": "f0", "output": "build"},
    {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "I clear it."}],
    },
]


def imported(folder: Path, body: dict[str, Any]) -> Trace:
    from tracedance_sdk.formats import collect_paths

    path = folder / "body.json"
    path.write_text(json.dumps(body))
    (found,) = collect_paths([path])
    assert found.trace is not None, found
    return found.trace


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"model": "m", "messages": CHAT}, id="chat completions"),
        pytest.param({"model": "m", "max_tokens": 9, "messages": MESSAGES}, id="messages"),
        pytest.param({"model": "m", "input": INPUT}, id="responses"),
    ],
)
def test_reasoning_of_any_provider_stays_behind(tmp_path: Path, body: dict[str, Any]) -> None:
    trace = imported(tmp_path, body)
    assert CANARY.encode() in encode_json(trace)
    last = len(trace.turns) - 1
    assert trace.turns[last].text == "I clear it."
    found = cut_at(trace, Hit(last, (Evidence(last, None, "I clear it."),)), "claim")
    assert CANARY.encode() not in encode_json(found.trace)
    assert found.trace.turns[1].calls[0].arguments == {"command": "ls"}
    assert CANARY not in found.withheld.model_dump_json()
