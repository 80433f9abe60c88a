"""Panels: who is asked what, in which order, and what comes of it however replies come in."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from itertools import permutations
from typing import Any

import pytest

from tests.judging.rubric_items import (
    TRACE_RUBRIC,
    TURN_RUBRIC,
    Voice,
    all_scored,
    always,
    item,
    judge,
    scored,
    shown_responses,
    trace,
    whole,
)
from tests.support.scripted_models import Answer, Request, saying, scripted_models
from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.grading import Subject, Verdict
from tracedance_sdk.judging import (
    JudgedItem,
    Panel,
    PanelFinding,
    RubricJudge,
    judge_items,
    run_panels,
)
from tracedance_sdk.judging.panel import shuffled
from tracedance_sdk.llm import Asker, Missing, Reply, chat_model

MODELS = ("openai:gpt-x", "anthropic:claude-x", "openai:local")


def responses(n: int = 3, **fields: Any) -> list[JudgedItem]:
    return [item(f"Said by {place}.", model=MODELS[place], **fields) for place in range(n)]


@pytest.mark.parametrize(
    ("scores", "mean", "verdict"),
    [
        ((4, 4, 5), 13 / 3, Verdict.PASS),
        ((2, 2, 2), 2.0, Verdict.FAIL),
        ((3, 4, 4), 11 / 3, Verdict.FAIL),
        ((5, 5, None), 5.0, Verdict.INCONCLUSIVE),
        ((2, 2, None), 2.0, Verdict.FAIL),
        ((None, None, None), None, None),
    ],
    ids=str,
)
def test_a_panel_of_three(
    scores: tuple[int | None, ...], mean: float | None, verdict: Verdict | None
) -> None:
    voices = [Voice(always(score), f"voice:{n}") for n, score in enumerate(scores)]
    (found,) = run_panels([(Panel(list(map(judge, voices))), [item()])])
    assert found.score.mean == pytest.approx(mean)
    assert found.score.verdict is verdict
    assert [each.identity.model for each in found.judges] == ["voice:0", "voice:1", "voice:2"]
    assert [len(voice.asked) for voice in voices] == [2 if s is None else 1 for s in scores]


def test_judges_of_a_joint_panel_are_shown_one_order_without_names() -> None:
    voices = [
        Voice(lambda message, _: all_scored(message, dict.fromkeys(TEXTS, 4)), f"voice:{n}")
        for n in range(3)
    ]
    panel = Panel(list(map(judge, voices)), mode="joint")
    found = run_panels([(panel, responses())])
    (shown,) = {voice.asked[0][0] for voice in voices}
    assert [finding.item.model for finding in found] == sorted(MODELS)
    text = shown.turns[0].text + str(shown.system_prompt)
    assert not any(model in text or model.partition(":")[2] in text for model in MODELS)
    assert all(len(voice.asked) == 1 for voice in voices)


TEXTS = tuple(f"Said by {place}." for place in range(3))


def test_scores_of_a_joint_panel_reach_the_response_they_are_about() -> None:
    scores = dict(zip(TEXTS, (0, 3, 5), strict=True))
    voice = Voice(lambda message, _: all_scored(message, scores))
    for seed in range(8):
        found = run_panels([(Panel([judge(voice)], mode="joint", seed=seed), responses())])
        by_model = {finding.item.model: finding.score.mean for finding in found}
        assert by_model == dict(zip(MODELS, (0.0, 3.0, 5.0), strict=True))
    orders = {tuple(shown_responses(asked.turns[0].text).values()) for asked, _ in voice.asked}
    assert len(orders) > 2


def orders_over(instances: list[list[JudgedItem]], seeds: list[int]) -> Counter[tuple[str, ...]]:
    return Counter(
        tuple(str(each.model) for each in shuffled(group, seed=seed))
        for group, seed in zip(instances, seeds, strict=True)
    )


def chi_square(counts: Counter[tuple[str, ...]], n: int) -> float:
    expected = n / 6
    return sum((counts[order] - expected) ** 2 / expected for order in permutations(MODELS))


N = 6_000
CRITICAL = 20.52
"""Upper 0.1 % of chi-square with 5 degrees of freedom."""


def test_every_order_is_as_likely_over_seeds() -> None:
    group = responses()
    assert chi_square(orders_over([group] * N, list(range(N))), N) < CRITICAL


def test_every_order_is_as_likely_over_instances() -> None:
    given = trace()
    groups = [
        [
            JudgedItem(Subject(trace_id=f"{n:032x}", turn=2), given, None, model=model)
            for model in MODELS
        ]
        for n in range(N)
    ]
    assert chi_square(orders_over(groups, [0] * N), N) < CRITICAL


def test_the_order_depends_neither_on_how_items_are_listed_nor_on_the_process() -> None:
    group = responses()
    order = [each.model for each in shuffled(group, seed=5)]
    assert order == [each.model for each in shuffled(group[::-1], seed=5)]
    assert order == ["openai:local", "openai:gpt-x", "anthropic:claude-x"]


def test_findings_keep_their_order_whatever_comes_first() -> None:
    given = [item(f"{n}", sample=n, model=f"m{n % 3}") for n in range(40)]

    def says(request: Request, number: int) -> Answer:
        return Answer(saying("openai", scored(number % 6)), delay_s=0.03 if number % 7 == 0 else 0)

    with scripted_models(says) as server:
        model = chat_model(server.name("openai"))
        panel = Panel([RubricJudge(Asker(model), TURN_RUBRIC, model_name=model.name)])
        seen: list[PanelFinding] = []
        found = run_panels([(panel, given)], on_finding=seen.append)
    assert [finding.item.order for finding in found] == sorted(each.order for each in given)
    assert len(seen) == len(found) == 40
    assert 1 < server.most_at_once[0] <= 8


def test_several_panels_share_one_run_and_one_asker() -> None:
    with scripted_models(lambda _, __: Answer(saying("openai", scored(4)))) as server:
        model = chat_model(server.name("openai"))
        asker = Asker(model, concurrency=2)
        panels = [
            Panel([RubricJudge(asker, rubric, model_name=model.name)])
            for rubric in (TURN_RUBRIC, TRACE_RUBRIC)
        ]
        work = [(panels[0], responses()), (panels[1], [whole()])]
        found = run_panels(work)
        again = run_panels(work)
    assert [finding.rubric.id for finding in found] == ["kind"] * 3 + ["done"]
    assert found == again
    assert server.most_at_once[0] <= 2
    assert asker.spending.sent == 8


def test_single_mode_takes_the_same_scores_in_company() -> None:
    def says(message: str, _: int) -> str:
        return scored(sum(message.encode()) % 6)

    alone = [run_panels([(Panel([judge(Voice(says))]), [each])])[0].score for each in responses()]
    together = run_panels([(Panel([judge(Voice(says))]), responses())])
    by_model = {finding.item.model: finding.score for finding in together}
    assert alone == [by_model[model] for model in MODELS]


def test_the_number_of_questions_is_known_before() -> None:
    given = [*responses(), *responses(2, trace=trace("b" * 32))]
    for mode, n in (("single", 5), ("joint", 2)):
        voices = [
            Voice(lambda message, _: all_scored(message, dict.fromkeys(TEXTS, 4)), f"voice:{n}")
            if mode == "joint"
            else Voice(always(4), f"voice:{n}")
            for n in range(2)
        ]
        panel = Panel(list(map(judge, voices)), mode=mode, repeats=3)  # type: ignore[arg-type]
        run_panels([(panel, given)])
        assert panel.n_questions(given) == n * 2 * 3 == sum(len(voice.asked) for voice in voices)


OTHER_RUBRIC = TURN_RUBRIC.model_copy(update={"id": "true", "question": "Is it true?"})


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Panel([]), "at least one judge"),
        (lambda: Panel([judge(Voice(always(3)))] * 2), "'voice:one#.*' sits on the panel twice"),
        (
            lambda: Panel([judge(Voice(always(3))), judge(Voice(always(3)), OTHER_RUBRIC)]),
            r"different rubrics cannot sit on one panel: kind \(\w{8}\), true \(\w{8}\); make a",
        ),
        (lambda: Panel([judge(Voice(always(3)))], repeats=0), "at least 1, not 0"),
        (
            lambda: Panel([judge(Voice(always(3)), TRACE_RUBRIC)], mode="joint"),
            "'done' is about whole traces, .* use single mode",
        ),
    ],
    ids=["nobody", "twice", "two rubrics", "no repetition", "joint traces"],
)
def test_what_is_no_panel_is_refused(make: Any, told: str) -> None:
    with pytest.raises(InvalidOption, match=told):
        make()


@pytest.mark.parametrize(
    ("mode", "given", "told"),
    [
        ("single", [], "nothing to judge"),
        (
            "single",
            [item(), item()],
            r"one item is there 2 times \(trace 'a{32}', turn 2, sample 0",
        ),
        ("joint", [item(sample=n) for n in range(61)], "61 responses to one instance"),
        (
            "joint",
            [item(), item(trace=trace(asked="And 3 + 1?"), model="m")],
            "follow different contexts",
        ),
    ],
    ids=["nothing", "twice", "too many", "different contexts"],
)
def test_what_cannot_be_judged_is_refused_before_anything_is_asked(
    mode: Any, given: list[JudgedItem], told: str
) -> None:
    voice = Voice(always(3))
    with pytest.raises(InvalidOption, match=told):
        run_panels([(Panel([judge(voice)], mode=mode), given)])
    assert voice.asked == []


def test_equal_contexts_read_twice_belong_together() -> None:
    given = [item("one", trace=trace(), model="m"), item("two", trace=trace(), model="n")]
    voice = Voice(lambda message, _: all_scored(message, {"one": 1, "two": 2}))
    found = run_panels([(Panel([judge(voice)], mode="joint"), given)])
    assert [finding.score.mean for finding in found] == [1.0, 2.0]


def test_an_error_of_the_machine_ends_the_run_as_itself() -> None:
    def says(message: str, _: int) -> str:
        if "Said by 1" in message:
            raise OSError("the disk is full")
        return scored(3)

    with pytest.raises(OSError, match="the disk is full"):
        run_panels([(Panel([judge(Voice(says))]), responses())])


def test_whoever_stops_listening_stops_the_asking() -> None:
    voice = Voice(always(3))
    given = [item(str(n), sample=n) for n in range(500)]

    async def first() -> None:
        found = judge_items([(Panel([judge(voice)]), given)])
        await anext(found)
        await found.aclose()

    asyncio.run(first())
    assert len(voice.asked) <= 64


class Crowd(Voice):
    """A model that answers only when fifty are waiting for it."""

    async def complete(self, context: Any, *, tools: Any, settings: Any) -> Reply:
        async with asyncio.timeout(20):
            await self.barrier.wait()
        return await super().complete(context, tools=tools, settings=settings)

    def __init__(self) -> None:
        super().__init__(always(4))
        self.barrier = asyncio.Barrier(50)


def test_an_asker_gets_as_many_questions_at_a_time_as_it_takes() -> None:
    crowd = Crowd()
    judges = [RubricJudge(Asker(crowd, concurrency=50), TURN_RUBRIC, model_name=crowd.name)]
    found = run_panels([(Panel(judges), [item(str(n), sample=n) for n in range(100)])])
    assert [finding.score.mean for finding in found] == [4.0] * 100


def test_a_missing_judge_of_a_joint_panel_is_missing_for_every_response() -> None:
    good = Voice(lambda message, _: all_scored(message, dict.fromkeys(TEXTS, 2)), "voice:good")
    bad = Voice(lambda *_: Missing("error", "gone", is_final=True), "voice:bad")
    found = run_panels([(Panel([judge(good), judge(bad)], mode="joint"), responses())])
    assert {finding.score.verdict for finding in found} == {Verdict.FAIL}
    assert [finding.judges[1].scores[0].missing_reason for finding in found] == ["error: gone"] * 3
    assert len(bad.asked) == 1


def test_replies_of_a_joint_panel_may_come_in_any_order() -> None:
    def says(message: str, _: int) -> str:
        reply = json.loads(all_scored(message, dict(zip(TEXTS, (0, 3, 5), strict=True))))
        return json.dumps({"responses": reply["responses"][::-1]})

    found = run_panels([(Panel([judge(Voice(says))], mode="joint"), responses())])
    assert {finding.item.model: finding.score.mean for finding in found} == dict(
        zip(MODELS, (0.0, 3.0, 5.0), strict=True)
    )
