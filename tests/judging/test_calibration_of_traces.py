"""Verdicts that traces already hold, beside their truth: words, places, and a recount."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.counters import tau2_judge_verdicts
from tests.support.shared_data import shared_data
from tracedance_sdk.errors import InvalidSpec, UnsupportedVersion
from tracedance_sdk.formats import collect_paths
from tracedance_sdk.judging import (
    CalibrationReport,
    RecordedRatings,
    calibrate,
    load_recorded_ratings,
)
from tracedance_sdk.statistics import Confusion
from tracedance_sdk.trace import Json, Outcome, Trace

PASS = ("pass", "satisfied", "satisfactory", "compliant", "correct")
"""Every word of the recorded replies that says that the agent did well."""


def ratings(**changes: Any) -> RecordedRatings:
    return RecordedRatings.model_validate(
        {
            "judge": "j",
            "in": "/metadata/says",
            "verdict": {"at": "/verdict", "pass": ["pass", "Fine"], "fail": ["fail"]},
            "truth": {"at": "/outcome/reward", "pass": [1], "fail": [0]},
            **changes,
        }
    )


def trace(number: int, says: Json, reward: float | None) -> Trace:
    outcome = None if reward is None else Outcome(reward=reward)
    return Trace(id=f"t{number}", metadata={"says": says}, outcome=outcome)


def test_words_that_nobody_listed_are_counted_and_left_out() -> None:
    said: list[tuple[Json, float | None]] = [
        ({"verdict": "pass"}, 1.0),
        ({"verdict": " FINE "}, 0),
        ({"verdict": "fail"}, 1),
        ({"verdict": "passed"}, 1),
        ({"verdict": True}, 1),
        ({"verdict": "pass"}, 0.5),
        ({"verdict": "pass"}, None),
        ({}, 1),
    ]
    traces = [trace(n, *item) for n, item in enumerate(said)]
    report = calibrate(ratings().rated([*traces, traces[0]]))
    assert report.agreement.confusion == Confusion(1, 1, 1, 0)
    assert report.calibration.exclusions == {
        "verdict: the word 'passed' is in no list": 1,
        "verdict: the word True is in no list": 1,
        "truth: the word 0.5 is in no list": 1,
        "truth: not there": 1,
        "verdict: not there": 1,
        "the same trace again": 1,
    }


def test_a_verdict_may_stand_in_json_within_text() -> None:
    found = ratings(
        **{"in": "/metadata/says/*", "only": {"/prompt": "b"}},
        verdict={"at": "/reply", "json": "/verdict", "pass_from": 0.5},
        reason={"at": "/reply", "json": "/why"},
    )
    replies = [
        '```json\n{"verdict": 0.7, "why": "good"}\n```',
        '{"verdict": 0.2}',
        '{"verdict": "0.7"}',
        "I would pass it",
        7,
    ]
    traces = [
        trace(n, [{"prompt": "a", "reply": "{}"}, {"prompt": "b", "reply": reply}], 1)
        for n, reply in enumerate(replies)
    ]
    rated = found.rated(traces)
    assert [item.judge.passed for item in rated.items] == [True, False]
    assert rated.items[0].judge.reasons == {"j": "good"}
    assert rated.exclusions == {
        "verdict: '0.7' is no number": 1,
        "verdict: no JSON in the text": 1,
        "verdict: no text with JSON": 1,
    }
    double = trace(9, [{"prompt": "b"}, {"prompt": "b"}], 1)
    assert found.rated([double]).exclusions == {"verdict: several in the trace; narrow 'only'": 1}


HEAD = "format: tracedance.ratings\nversion: 1\n"
WHOLE = "judge: j\nverdict: {at: /a, pass: [1], fail: [0]}\ntruth: {at: /b, pass_from: 1}\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("a: 1\n", "'format: tracedance.ratings' is needed @ $.format", id="format"),
        pytest.param(f"{HEAD}judge: j\n", "this is needed @ $.verdict (and 1 more)", id="lacking"),
        pytest.param(f"{HEAD}{WHOLE}words: 1\n", "no such field @ $.words", id="unknown field"),
        pytest.param(
            f"{HEAD}{WHOLE}".replace("[0]", "[1]"),
            "1 is among the words for pass and for fail @ $.verdict",
            id="both",
        ),
        pytest.param(
            f"{HEAD}{WHOLE}".replace(", pass_from: 1", ""),
            "give the words that mean pass and fail, or pass_from @ $.truth",
            id="no words",
        ),
        pytest.param(
            f"{HEAD}{WHOLE}".replace("/a", "a"),
            "'a' is not a JSON Pointer; write it as '/name/name' @ $.verdict.at",
            id="no pointer",
        ),
    ],
)
def test_a_file_of_ratings_is_refused_in_one_line(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "ratings.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidSpec) as caught:
        load_recorded_ratings(path)
    assert str(caught.value) == f"{path}: {said}"


def test_a_newer_file_of_ratings_is_not_guessed_at(tmp_path: Path) -> None:
    path = tmp_path / "ratings.yaml"
    path.write_text(f"{HEAD}{WHOLE}".replace("version: 1", "version: 2"), encoding="utf-8")
    with pytest.raises(UnsupportedVersion, match="format version 2; this release reads version 1"):
        load_recorded_ratings(path)


def airline(prompt: str, words: tuple[str, ...]) -> CalibrationReport:
    found = RecordedRatings.model_validate(
        {
            "judge": f"gpt-4o-2024-11-20 {prompt}",
            "in": "/metadata/annotations/*",
            "only": {"/judge_prompt_name": prompt},
            "verdict": {
                "at": "/judge_response", "json": "/verdict", "pass": words, "fail": ["fail"],
            },
            "truth": {"at": "/outcome/reward", "pass": [1], "fail": [0]},
        }
    )  # fmt: skip
    source = shared_data("tau2-judge-verdicts") / "azure-airline-full.json.gz"
    traces = [item.trace for item in collect_paths([source])]
    return calibrate(found.rated(trace for trace in traces if trace is not None))


@pytest.mark.parametrize("prompt", tau2_judge_verdicts.PROMPTS)
@pytest.mark.parametrize("words", [PASS, ("pass", "satisfied"), ("pass",)], ids=len)
def test_recorded_verdicts_are_those_of_the_raw_files(prompt: str, words: tuple[str, ...]) -> None:
    raw = tau2_judge_verdicts.count(shared_data("tau2-judge-verdicts"), prompt)
    report = airline(prompt, words)
    n_passed = {reward: sum(raw[word, reward] for word in words) for reward in (True, False)}
    assert report.agreement.confusion == Confusion(
        n_passed[True], n_passed[False], raw["fail", True], raw["fail", False]
    )
    unknown = {word: raw[word, True] + raw[word, False] for word, _ in raw}
    assert report.calibration.exclusions == {
        f"verdict: the word {word!r} is in no list": n
        for word, n in unknown.items()
        if word not in (*words, "fail")
    }


def test_the_matrices_of_the_recorded_judge() -> None:
    assert airline("customer_outcome_v1", PASS).agreement.confusion == Confusion(14, 21, 9, 6)
    policy = airline("policy_chain_of_thought_v1", PASS)
    assert policy.agreement.confusion == Confusion(16, 21, 7, 6)
    assert policy.calibration.kappa == pytest.approx(-0.0786, abs=1e-4)
    assert policy.calibration.meets_minimum is False


def test_the_authors_own_summary_comes_of_fewer_words() -> None:
    # The source's summary has 18 of 50 in agreement; it knows "pass" and "satisfied" only.
    found = airline("policy_chain_of_thought_v1", ("pass", "satisfied")).agreement.confusion
    assert found.tp + found.tn == 18
    assert found.n == 45
