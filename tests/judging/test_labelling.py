"""Sessions of labelling: one order for everybody, nothing asked twice, nothing of a judge shown."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.traces import texts, traces
from tracedance_sdk.grading import Subject
from tracedance_sdk.judging import (
    LONGEST_NOTE,
    UNSURE,
    Answer,
    ItemKey,
    JudgedItem,
    Label,
    Labelling,
    Rubric,
    Scale,
    chosen_items,
    condensed,
    item_texts,
    label_of,
)
from tracedance_sdk.trace import Call, Media, Reasoning, Result, Text, ToolDefinition, Trace, Turn


def items(n: int) -> list[JudgedItem]:
    return [
        JudgedItem(Subject(trace_id=f"t{number}"), Trace(id=f"t{number}"), None, 0, "g", "m")
        for number in range(n)
    ]


def keys_of(found: list[JudgedItem]) -> list[ItemKey]:
    return [ItemKey.of(item) for item in found]


@given(n=st.integers(0, 40), take=st.integers(0, 45), seed=st.integers(0, 99), mix=st.randoms())
def test_the_choice_depends_on_the_seed_and_grows(
    n: int, take: int, seed: int, mix: random.Random
) -> None:
    given_items = items(n)
    mixed = given_items[:]
    mix.shuffle(mixed)
    whole = keys_of(chosen_items(given_items, seed=seed))
    assert sorted(whole) == sorted(keys_of(given_items))
    assert keys_of(chosen_items(mixed, n=take, seed=seed)) == whole[:take]
    own = keys_of(chosen_items(mixed, n=take, seed=seed, order_of="ann"))
    assert set(own) == set(whole[:take])


def test_seeds_and_labellers_of_their_own_give_other_orders() -> None:
    orders = {
        tuple(keys_of(chosen_items(items(30), seed=seed, order_of=who)))
        for seed in (0, 1)
        for who in (None, "ann", "bob")
    }
    assert len(orders) == 6


def test_every_place_is_taken_by_every_item_about_as_often() -> None:
    n_seeds, given_items = 2_000, items(4)
    first = [
        chosen_items(given_items, n=1, seed=seed)[0].subject.trace_id for seed in range(n_seeds)
    ]
    expected = n_seeds / 4
    chi_square = sum((first.count(f"t{n}") - expected) ** 2 / expected for n in range(4))
    assert chi_square < 16.27  # 0.999 of chi-square with 3 degrees of freedom


@pytest.mark.parametrize(
    ("pass_from", "score", "passed"), [(4, 4, True), (4, 3, False), (3.5, 4, True), (0, 0, True)]
)
def test_a_score_passes_from_where_the_rubric_says(
    pass_from: float, score: int, *, passed: bool
) -> None:
    assert Scale(pass_from).score(score) == Answer(score, passed)


def test_a_rubric_that_only_says_what_0_and_5_mean_asks_for_pass_or_fail() -> None:
    fields = {"id": "a", "title": "A", "about": "trace", "question": "Is it?"}
    two = Rubric.model_validate({**fields, "levels": {0: "no", 5: "yes"}})
    three = Rubric.model_validate({**fields, "levels": {0: "no", 3: "so so", 5: "yes"}})
    assert list(Scale.of(two).answers) == ["p", "f", "u"]
    assert list(Scale.of(three).answers) == [*"012345", "u"]
    assert list(Scale.of(three, is_pass_fail=True).answers) == ["p", "f", "u"]


class Model:
    """What a session is, written down as simply as can be."""

    def __init__(self, n: int, done: set[int], *, again: bool) -> None:
        self.n, self.at = n, 0
        self.scores: dict[int, int | None] = dict.fromkeys(done)
        self.open = set(range(n)) if again else set(range(n)) - done
        self.go_on(0)

    def go_on(self, start: int) -> None:
        self.at = next((at for at in range(start, self.n) if at in self.open), self.n)


ACTIONS = st.lists(st.one_of(st.integers(0, 5), st.sampled_from(["skip", "back"])), max_size=30)


@given(
    n=st.integers(1, 6),
    done=st.sets(st.integers(0, 5)),
    again=st.booleans(),
    actions=ACTIONS,
)
def test_a_session_does_what_its_keys_say(
    n: int, done: set[int], *, again: bool, actions: list[int | str]
) -> None:
    given_items = items(n)
    earlier = {
        label.item: label
        for at in done
        if at < n
        for label in [label_of(given_items[at], "ann", UNSURE)]
    }
    session = Labelling(given_items, "ann", given=earlier, again=again)
    model = Model(n, {at for at in done if at < n}, again=again)
    for action in actions:
        assert (session.item is None) == (model.at == n)
        if action == "back":
            assert session.back() == (model.at > 0)
            model.at = max(0, model.at - 1)
        elif session.item is None:
            break
        elif action == "skip":
            session.skip()
            model.go_on(model.at + 1)
        else:
            assert isinstance(action, int)
            label = session.label(Scale().score(action))
            assert label.subject.trace_id == f"t{model.at}"
            model.scores[model.at] = action
            model.open.discard(model.at)
            model.go_on(model.at + 1)
    assert session.n_labelled == len(model.scores)
    assert keys_of(session.unlabelled) == [ItemKey.of(given_items[at]) for at in sorted(model.open)]


def test_an_answer_given_anew_keeps_its_note_unless_there_is_another() -> None:
    session = Labelling(items(2), "ann")
    session.label(Scale().score(1), note=" why ")
    session.back()
    assert session.given == Label(
        subject=Subject(trace_id="t0"),
        model="m",
        group="g",
        labeller="ann",
        score=1,
        passed=False,
        note="why",
    )
    assert session.label(Scale().score(2)).note == "why"
    session.back()
    assert session.label(Scale().score(2), note="x" * 9_999).note == "x" * LONGEST_NOTE


def shown(item: JudgedItem, **options: int) -> str:
    found = item_texts(item, **options)
    return "\n".join(line.text for line in (*found.context, *found.response))


TRACE = Trace(
    id="hidden-id",
    group="hidden-group",
    task_id="hidden-task",
    system_prompt="You book rooms.",
    tools=(ToolDefinition(name="find_rooms", description="hidden-schema"),),
    turns=(
        Turn(index=0, role="user", origin="human", content=(Text(text="A room,\nplease."),)),
        Turn(
            index=1,
            role="assistant",
            origin="agent",
            model="hidden-model",
            content=(Reasoning(text="hidden-thought"), Media(modality="image")),
            calls=(
                Call(
                    index=0,
                    id="c1",
                    name="find_rooms",
                    arguments={"query": "blue\n" * 30, "guests": 1},
                    result=Result(ok=False, content={"rooms": []}, exit_code=2),
                ),
            ),
        ),
    ),
    final_state={"booked": False},
    metadata={"reward": "hidden-reward"},
)


def test_a_run_is_shown_as_people_read_it() -> None:
    found = item_texts(JudgedItem(Subject(trace_id="hidden-id"), TRACE, model="hidden-model"))
    assert not found.response
    assert [(line.kind, line.text) for line in found.context] == [
        ("heading", "system prompt"),
        ("prompt", "You book rooms."),
        ("heading", "tools"),
        ("prompt", "find_rooms"),
        ("heading", "[0] user"),
        ("text", "A room,\nplease."),
        ("heading", "[1] assistant"),
        ("text", "[image]"),
        ("heading", "call find_rooms"),
        ("text", "query:\n" + "blue\n" * 30),
        ("text", "guests: 1"),
        ("aside", "(failed, exit code 2)"),
        ("text", '{"rooms":[]}'),
        ("heading", "final state"),
        ("text", '{"booked":false}'),
    ]


def test_a_response_stands_apart_from_what_came_before() -> None:
    response = TRACE.turns[1]
    item = JudgedItem(
        Subject(trace_id="hidden-id", turn=1), TRACE, response, 0, "g", "hidden-model"
    )
    found = item_texts(item)
    assert [line.text for line in found.response][:2] == ["[image]", "asks for find_rooms"]
    assert "final state" not in [line.text for line in found.context]
    assert "hidden" not in shown(item)


def test_what_is_left_out_is_said() -> None:
    turns = [
        Turn(index=number, role="user", origin="human", content=(Text(text="word " * 99),))
        for number in range(300)
    ]
    item = JudgedItem(Subject(trace_id="t"), Trace(id="t", turns=tuple(turns)))
    asides = [line.text for line in item_texts(item, most_characters=8_000).context]
    assert any("characters are shown)" in text for text in asides)
    assert any("texts and 0 calls left out)" in text for text in asides)
    assert (
        len(shown(item, most_characters=80_000)) > 9 * len(shown(item, most_characters=8_000)) / 2
    )


@given(trace=traces(), reply=texts)
def test_any_run_can_be_shown_with_all_that_a_judge_sees(trace: Trace, reply: str) -> None:
    run = shown(JudgedItem(Subject(trace_id=trace.id), trace))
    n_entries = len(condensed(trace).splitlines()) - 2
    assert bool(run) or n_entries <= 1
    turn = Turn(index=0, role="assistant", origin="agent", content=(Text(text=reply),))
    item = JudgedItem(Subject(trace_id=trace.id, turn=0), trace, turn)
    assert [line.text for line in item_texts(item).response] == ([turn.text] if turn.text else [])
