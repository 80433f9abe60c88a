"""Turns are scored in the place of the withheld ones, and counted by what they are of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.behaviors.benchmark_stores import store_of
from tests.behaviors.test_benchmark_building import MANAGED, retry
from tracedance_sdk.behaviors import (
    RATE_KINDS,
    Benchmark,
    BenchmarkRate,
    Response,
    benchmark_rates,
    build_benchmark,
    construction_path,
    joint_rows,
    judged_by_rules,
    parse_query,
    read_benchmark,
    recorded_responses,
    rubrics_of,
    rule_rows,
)
from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.grading import ResultRow, Subject, Verdict
from tracedance_sdk.statistics import clustered_rate, mean_interval, wilson_interval
from tracedance_sdk.store import TraceStore
from tracedance_sdk.trace import Call, Reasoning, Text, Turn


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    folder = tmp_path_factory.mktemp("single")
    store = store_of(folder / "runs", 3)
    build_benchmark(parse_query("F01", kmin=1), store, folder / "f01.jsonl")
    return read_benchmark(folder / "f01.jsonl")


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    folder = tmp_path_factory.mktemp("both")
    store = TraceStore.create(folder / "runs")
    store.add([retry(1, MANAGED), retry(2, MANAGED)])
    query = parse_query("F01 AND F02", kmin=1)
    build_benchmark(query, store, folder / "both.jsonl")
    return read_benchmark(folder / "both.jsonl")


def saying(text: str, *commands: str) -> Turn:
    calls = tuple(
        Call(index=n, id=f"n{n}", name="Bash", arguments={"command": command})
        for n, command in enumerate(commands)
    )
    parts = (Reasoning(text="thought"), Text(text=text)) if text else ()
    return Turn(index=0, role="assistant", origin="agent", content=parts, calls=calls)


def test_the_withheld_turns_show_the_behaviour_to_its_own_rule_judge(
    single: Benchmark, both: Benchmark
) -> None:
    for benchmark, n in ((single, 3), (both, 2)):
        rows = list(rule_rows(recorded_responses(benchmark), model="recorded-source"))
        assert [row.verdict for row in rows] == [Verdict.FAIL] * n
        assert {row.score for row in rows} == {0}


def test_a_turn_of_another_model_is_scored_in_its_place(single: Benchmark) -> None:
    instance = single.instances[0]
    number = int(instance.trace.id[1:])
    same, other = f"make target{number}", "grep -n target Makefile"
    for turn, score in ((saying("", same), 0), (saying("", other), 5)):
        ((behavior, said),) = judged_by_rules(single, instance, turn)
        assert (behavior, said.score) == ("F01", score)
    rows = list(
        rule_rows(
            [
                Response(single, instance, saying("I look.", other)),
                Response(single, instance, saying("", same), sample=1),
                Response(single, instance, None, sample=2, missing="cut_off: too long"),
            ],
            model="m",
        )
    )
    assert [row.verdict for row in rows] == [Verdict.PASS, Verdict.FAIL, None]
    assert [row.missing_reason for row in rows] == [None, None, "cut_off: too long"]
    assert [row.score for row in rows] == [1, 0, None]
    own = rows[0].model_extra or {}
    assert own["benchmark"] == single.about["id"]
    assert (own["behaviors"], own["frames"]) == (["F01"], ["failure"])
    assert (own["behavior_groups"], own["operator"]) == (["handle-failure"], "SINGLE")
    assert {row.grader for row in rows} == {"rule:F01"}
    (evidence,) = rows[0].evidence
    assert isinstance(evidence, dict)
    assert evidence.keys() == {"behavior", "score", "reason"}


def test_of_two_behaviours_at_once_the_lower_score_counts(both: Benchmark) -> None:
    instance = both.instances[0]
    # Another command of the same kind: no repetition, but still nothing that the error says.
    turn = saying("", "pip install requests --quiet")
    said = dict(judged_by_rules(both, instance, turn))
    assert (said["F01"].score, said["F02"].score) == (5, 0)
    (row,) = rule_rows([Response(both, instance, turn)], model="m")
    assert (row.grader, row.score, row.verdict) == ("rule:F01+F02", 0, Verdict.FAIL)


def test_judges_by_rules_need_the_construction(single: Benchmark, tmp_path: Path) -> None:
    alone = tmp_path / "alone.jsonl"
    alone.write_bytes(single.path.read_bytes())
    assert not construction_path(alone).exists()
    found = read_benchmark(alone)
    assert len(found.instances) == 3
    with pytest.raises(InvalidOption, match="judges by rules need it"):
        list(recorded_responses(found))
    assert rubrics_of(found)["F01"].sha256 == single.about["behaviors"][0]["rubric_sha256"]


# Rates.


def row(
    benchmark: str,
    verdict: Verdict | None,
    *,
    behaviors: str = "F01",
    frame: str = "failure",
    group: str = "handle-failure",
    operator: str = "SINGLE",
    session: str | None = None,
    number: int = 0,
) -> ResultRow:
    own: dict[str, Any] = {
        "benchmark": benchmark,
        "behaviors": behaviors.split("+"),
        "frames": frame.split("+"),
        "behavior_groups": group.split("+"),
        "operator": operator,
    }
    name = session or f"{benchmark}-{number}"
    subject = Subject(trace_id=name, instance_id=f"{benchmark}-{number}")
    return ResultRow(subject=subject, grader="rule:x", verdict=verdict, group=name, **own)


def rows(benchmark: str, passed: int, failed: int, missing: int = 0, **fields: Any) -> Any:
    verdicts = [Verdict.PASS] * passed + [Verdict.FAIL] * failed + [None] * missing
    return [row(benchmark, verdict, number=n, **fields) for n, verdict in enumerate(verdicts)]


def rate(found: list[BenchmarkRate], kind: str, name: str) -> BenchmarkRate:
    (one,) = [item for item in found if (item.kind, item.name) == (kind, name)]
    return one


def test_one_benchmark_has_wilsons_interval_and_counts_what_is_left_out() -> None:
    found = benchmark_rates(rows("a", 3, 7, 2))
    assert [item.kind for item in found] == list(RATE_KINDS)
    for item in found:
        assert (item.passed, item.valid, item.left_out, item.benchmarks) == (3, 10, 2, 1)
        assert item.estimate is not None
        assert item.estimate.value == pytest.approx(0.3)
        assert item.estimate.interval == wilson_interval(3, 10)


def test_undecided_and_errors_are_left_out() -> None:
    odd = [row("a", Verdict.INCONCLUSIVE, number=8), row("a", Verdict.ERROR, number=9)]
    found = rate(benchmark_rates([*rows("a", 1, 1), *odd]), "benchmark", "a")
    assert (found.valid, found.left_out) == (2, 2)


def test_instances_of_one_session_count_together() -> None:
    verdicts = [Verdict.PASS, Verdict.PASS, Verdict.FAIL, Verdict.FAIL]
    told = [row("a", one, number=n, session=f"s{n // 2}") for n, one in enumerate(verdicts)]
    found = rate(benchmark_rates(told), "benchmark", "a")
    assert found.estimate is not None
    expected = clustered_rate([1, 1, 0, 0], ["s0", "s0", "s1", "s1"])
    assert found.estimate.interval == expected.interval
    assert (found.clusters, found.cluster_kind) == (2, "session")
    assert found.note == "the interval rests on 2 sessions; so few sessions make it wide"
    assert found.document()["clusters"] == 2
    assert found.estimate.interval.high > wilson_interval(2, 4).high


def test_over_several_benchmarks_each_weighs_the_same() -> None:
    told = rows("a", 10, 0) + rows("b", 0, 40, behaviors="C01", frame="claim", group="honest-claim")
    found = benchmark_rates(told)
    overall = rate(found, "overall", "all")
    assert overall.estimate is not None
    assert overall.estimate.value == pytest.approx(0.5)
    assert (overall.passed, overall.valid, overall.benchmarks) == (10, 50, 2)
    assert rate(found, "frame", "claim").passed == 0
    assert rate(found, "group", "handle-failure").passed == 10


def test_the_interval_over_benchmarks_is_students_and_never_without_width() -> None:
    told = [
        one for name, n in zip("abcd", (0, 1, 2, 5), strict=True) for one in rows(name, n, 10 - n)
    ]
    overall = rate(benchmark_rates(told), "overall", "all")
    assert overall.estimate is not None
    expected = mean_interval([0, 0.1, 0.2, 0.5]).interval
    assert overall.estimate.interval.high == pytest.approx(expected.high)
    assert overall.estimate.interval.low == 0 > expected.low
    alike = rate(benchmark_rates(rows("a", 0, 10) + rows("b", 0, 10)), "overall", "all")
    assert alike.estimate is not None
    assert alike.estimate.interval == wilson_interval(0, 20)


def test_two_at_once_count_for_no_behaviour_frame_or_group() -> None:
    joint = rows("c", 5, 5, behaviors="A06+F07", group="check-first", operator="AND")
    found = benchmark_rates([*rows("a", 1, 9), *joint])
    assert [item.name for item in found if item.kind == "benchmark"] == ["a", "c"]
    assert [item.name for item in found if item.kind == "behavior"] == ["F01"]
    assert [item.name for item in found if item.kind == "group"] == ["handle-failure"]
    assert rate(found, "overall", "all").benchmarks == 2


def test_the_mean_over_benchmarks_is_as_published_for_nine_models() -> None:
    """The mean of the nine models' overall rates is 26.7 (TraceDance's table of results)."""
    published = [33.5, 29.3, 28.6, 28.5, 27.2, 23.5, 23.3, 23.3, 22.9]
    told = [
        one
        for place, percent in enumerate(published)
        for one in rows(f"b{place}", round(percent * 10), 1_000 - round(percent * 10))
    ]
    overall = rate(benchmark_rates(told), "overall", "all")
    assert overall.estimate is not None
    assert round(100 * overall.estimate.value, 1) == 26.7


def test_no_verdict_gives_no_rate() -> None:
    found = rate(benchmark_rates(rows("a", 0, 0, 3)), "benchmark", "a")
    assert (found.estimate, found.valid, found.left_out) == (None, 0, 3)
    assert found.document()["rate"] is None
    assert benchmark_rates([]) == []


@pytest.mark.parametrize(
    ("verdicts", "joint"),
    [
        (("pass", "pass"), "pass"),
        (("pass", "fail"), "fail"),
        (("fail", None), "fail"),
        (("pass", None), None),
        (("pass", "inconclusive"), "inconclusive"),
        ((None, None), None),
    ],
)
def test_panels_of_two_behaviours_join_in_the_lower_score(
    both: Benchmark, verdicts: tuple[str | None, str | None], joint: str | None
) -> None:
    instance = both.instances[0]
    subject = Subject(trace_id=instance.trace.id, instance_id=instance.id)
    of_each = [
        ResultRow(
            subject=subject,
            grader=f"rubric:{name}",
            verdict=None if verdict is None else Verdict(verdict),
            score=None if verdict is None else {"pass": 1.0, "fail": 0.2}.get(verdict, 0.7),
            missing_reason="refused: no" if verdict is None else None,
        )
        for name, verdict in zip(("F01", "F02"), verdicts, strict=True)
    ]
    (found,) = joint_rows(of_each, both, prefix="rubric:")
    assert found.grader == "rubric:F01+F02"
    assert found.verdict == joint
    assert (found.missing_reason is None) is (joint is not None)
    scores = [one.score for one in of_each if one.score is not None]
    assert found.score == (min(scores) if len(scores) == 2 else None)
