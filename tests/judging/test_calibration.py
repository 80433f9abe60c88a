"""A judge held against people: published tables, what is left out, clusters, rules, drift."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.judged_sets import RUBRIC, judge_name, judged_set, label, rows_of
from tracedance_sdk.errors import InvalidOption, NotEnoughData
from tracedance_sdk.grading import ResultRow, Subject
from tracedance_sdk.judging import (
    CalibrationReport,
    Consensus,
    HumanRating,
    ItemKey,
    Label,
    Minimum,
    between_humans,
    calibrate,
    check_same_judge,
    drift,
    judged_items,
    judged_rates,
    rated_items,
)
from tracedance_sdk.statistics import (
    Confusion,
    Correlation,
    Difference,
    Estimate,
    cohen_kappa,
    paired_difference,
    spearman,
)

PANEL: dict[tuple[bool, bool, bool], int] = {
    # The panel's verdict and both annotators': 84 items, TP 17, FP 21, FN 11, TN 119 of 168 pairs.
    (True, True, True): 3,
    (True, True, False): 7,
    (True, False, True): 4,
    (True, False, False): 5,
    (False, True, True): 3,
    (False, True, False): 1,
    (False, False, True): 4,
    (False, False, False): 57,
}
"""Published are the panel's table and that of the annotators (6, 8, 8, 62); this is one way in
which both can hold."""


def held(
    rows: list[list[ResultRow]], labels: list[Label], *, judge: str | None = None, **options: Any
) -> CalibrationReport:
    return calibrate(rated_items(judged_items(judged_set(rows), judge=judge), labels), **options)


def published(consensus: Consensus) -> CalibrationReport:
    rows, labels = [], []
    kinds = [kind for kind, times in PANEL.items() for _ in range(times)]
    for number, (judge, first, second) in enumerate(kinds):
        scores = {"a": [4 if judge else 2], "b": [4 if judge else 2], "c": [5 if judge else 3]}
        rows.append(rows_of(f"t{number}", scores))
        labels += [label(f"t{number}", "ann", passed=first)]
        labels += [label(f"t{number}", "bob", passed=second)]
    return held(rows, labels, consensus=consensus)


def test_the_published_panel_comes_out_of_rows_and_labels() -> None:
    report = published("each")
    assert report.agreement.confusion == Confusion(17, 21, 11, 119)
    shown = {name: found.value for name, found in report.agreement.measures.items()}
    assert round(100 * (shown["agreement"] or 0), 1) == 81.0
    assert round(shown["kappa"] or 0, 3) == 0.400
    assert round(100 * (shown["recall"] or 0), 1) == 60.7
    assert round(100 * (shown["precision"] or 0), 1) == 44.7
    assert report.calibration.kappa == pytest.approx(shown["kappa"])
    assert (report.calibration.n_items, report.calibration.n_pairs) == (84, 168)
    assert report.calibration.shortfall == "kappa is 0.400, and at least 0.6 is asked for"


def test_the_published_annotators_come_out_beside_it() -> None:
    between = published("majority").between
    assert between is not None
    first, second, table, agreement, kappa = between.pairs[0]
    assert (first, second, table) == ("ann", "bob", Confusion(6, 8, 8, 62))
    assert kappa.value is not None
    assert agreement.value is not None
    assert round(kappa.value, 3) == 0.314
    assert round(100 * agreement.value) == 81


def test_of_many_labellers_the_pairs_with_most_in_common_are_shown_the_rest_counted() -> None:
    # The first two share 100 items, each of the others 1 less than the one before, up to 50.
    names = [f"w{n:03}" for n in range(300)]
    keys = [ItemKey(f"t{n}", None, None, 0, None) for n in range(100)]
    labels = {
        name: {
            key: HumanRating(at % 3 > 0, float(at % 6)) for at, key in enumerate(keys[place % 50 :])
        }
        for place, name in enumerate(names)
    }
    found = between_humans(labels)
    assert found is not None
    assert (len(found.pairs), found.n_more) == (30, 300 * 299 // 2 - 30)
    assert {table.n for _, _, table, _, _ in found.pairs} == {100, 99}
    assert found.pairs[0][:2] == ("w000", "w050")
    assert found.alpha.n == 100
    few = between_humans({name: labels[name] for name in names[:3]})
    assert few is not None
    assert [pair[:2] for pair in few.pairs] == [
        ("w000", "w001"),
        ("w000", "w002"),
        ("w001", "w002"),
    ]
    assert few.n_more == 0


def test_each_label_of_many_labellers_has_its_figures_and_intervals_over_items() -> None:
    draw = random.Random(5)
    scores = {f"t{n}": draw.choice((0, 1, 4, 5)) for n in range(40)}
    results = judged_set([rows_of(name, {"a": [score]}) for name, score in scores.items()])
    said = [
        label(name, f"w{who}", score if draw.random() < 0.8 else draw.choice((0, 5)))
        for who in range(150)
        for name, score in scores.items()
    ]
    found = calibrate(rated_items(judged_items(results), said), consensus="each")
    assert (found.calibration.n_pairs, found.calibration.n_items) == (6_000, 40)
    for name in ("spearman", "kendall"):
        measure = found.agreement.measures[name]
        assert measure.value is not None
        assert measure.low is not None
        assert measure.high is not None
        assert measure.low < measure.value < measure.high


def test_pairs_of_labellers_without_a_common_item_are_no_pairs() -> None:
    keys = [ItemKey(f"t{n}", None, None, 0, None) for n in range(4)]
    apart = {f"w{n}": {keys[n]: HumanRating(True)} for n in range(4)}
    found = between_humans(apart)
    assert found is not None
    assert (found.pairs, found.n_more, found.alpha.value) == ((), 0, None)


def test_two_labels_of_an_item_are_not_two_items() -> None:
    # The interval of 168 ratings takes them to be independent; they are of 84 items.
    kappa = published("each").agreement.measures["kappa"]
    naive = Confusion(17, 21, 11, 119).kappa().interval
    assert kappa.high is not None
    assert kappa.low is not None
    assert kappa.high - kappa.low >= naive.high - naive.low


def test_items_on_which_labellers_are_split_are_left_out() -> None:
    report = published("majority")
    assert report.calibration.exclusions == {"the labellers are split": 16}
    assert report.agreement.confusion == Confusion(3, 5, 3, 57)


def test_what_is_left_out_is_counted_by_reason() -> None:
    rows = [
        rows_of("fine", {"a": [4], "b": [5]}),
        rows_of("none", {"a": [None], "b": [None]}),
        rows_of("half", {"a": [5], "b": [None]}),
        rows_of("decided", {"a": [1], "b": [None]}),
        rows_of("unlabelled", {"a": [1], "b": [1]}),
        rows_of("unsure", {"a": [1], "b": [1]}),
    ]
    labels = [
        label(name, "ann", 5) for name in ("fine", "none", "half", "decided", "elsewhere")
    ] + [label("unsure", "ann")]
    report = held(rows, labels)
    assert report.calibration.exclusions == {
        "no score by the judge: cut_off": 1,
        "the panel is undecided: a judge is missing": 1,
        "label: the labeller was unsure": 1,
        "label: its item has no rating by the judge": 3,
        "no label": 2,
    }
    # With one of two judges at 1, no score of the other can lift the mean to 4.
    assert report.agreement.confusion == Confusion(1, 0, 1, 0)


def test_a_missing_score_is_never_a_zero() -> None:
    rows = [rows_of(f"t{n}", {"a": [score, None]}) for n, score in enumerate((5, 4, 1))]
    labels = [label(f"t{n}", "ann", score) for n, score in enumerate((5, 4, 1))]
    found = held(rows, labels).agreement.measures["leniency"]
    assert (found.value, found.n) == (0, 3)


def test_a_judge_alone_is_calibrated_by_its_own_scores() -> None:
    rows = [rows_of(f"t{n}", {"a": [5, 4], "b": [1, 1]}) for n in range(4)]
    labels = [label(f"t{n}", "ann", 5) for n in range(4)]
    one = held(rows, labels, judge="openai:a")
    assert one.calibration.name == judge_name("a")
    assert one.agreement.confusion == Confusion(4, 0, 0, 0)
    assert one.agreement.measures["leniency"].value == -0.5
    assert held(rows, labels).calibration.kind == "panel"
    assert held(rows, labels).agreement.confusion == Confusion(0, 0, 4, 0)
    with pytest.raises(InvalidOption, match="'openai:' is several judges"):
        held(rows, labels, judge="openai:")
    with pytest.raises(InvalidOption, match="'gpt' is no judge of the result set; there are"):
        held(rows, labels, judge="gpt")


def test_a_panel_of_one_is_that_judge() -> None:
    rows = [rows_of(f"t{n}", {"a": [n]}) for n in range(6)]
    labels = [label(f"t{n}", "ann", n) for n in range(6)]
    assert held(rows, labels).calibration == held(rows, labels, judge="openai:a").calibration


def test_trajectory_judges_are_calibrated_on_the_same_scale() -> None:
    rows = [
        [
            ResultRow(
                subject=Subject(trace_id=f"t{n}"),
                grader="judge:m#1",
                score=n / 10,
                evidence=({"reasoning": f"r{n}"},),
            )
        ]
        for n in range(10)
    ]
    labels = [label(f"t{n}", "ann", passed=n >= 7) for n in range(10)]
    report = held(rows, labels, fail_below=2.5, minimum=Minimum(items=5))
    assert report.agreement.confusion == Confusion(2, 0, 1, 7)
    gate = report.calibration.gate()
    assert (gate.judge, gate.fail_below, gate.pass_from) == ("m#1", 0.5, 0.8)
    assert report.disagreements[0].item.judge.reasons == {"m#1": "r7"}


def test_a_label_finds_its_item_by_model_and_sample() -> None:
    rows = [
        rows_of("t", {"a": [5]}, model="old"),
        rows_of("t", {"a": [1]}, model="new"),
        rows_of("u", {"a": [1]}, model="new", sample=3),
    ]
    labels = [
        label("t", "ann", 1, model="new"),
        label("u", "ann", 1, sample=3),
        label("t", "bob", 1),
    ]
    report = held(rows, labels)
    assert report.agreement.confusion == Confusion(0, 0, 0, 2)
    assert report.calibration.exclusions == {"label: fits several items": 1, "no label": 1}


def test_groups_are_the_sample_where_items_share_them() -> None:
    draw = random.Random(5)
    rows, labels = [], []
    for group in range(12):
        is_hard = group % 2 == 0
        for trial in range(10):
            name, passed = f"{group}-{trial}", draw.random() < 0.5
            errs = is_hard and draw.random() < 0.6
            rows.append(rows_of(name, {"a": [5 if passed != errs else 1]}, group=f"g{group}"))
            labels.append(label(name, "ann", 5 if passed else 1))
    report = held(rows, labels)
    ungrouped = [[row.model_copy(update={"group": None}) for row in item] for item in rows]
    plain = held(ungrouped, labels)
    assert (report.calibration.n_clusters, plain.calibration.n_clusters) == (12, 120)
    for name, found in report.agreement.measures.items():
        other = plain.agreement.measures[name]
        assert found.value == pytest.approx(other.value)
        assert found.estimate is not None
        assert other.estimate is not None
        if name in ("agreement", "kappa", "alpha", "spearman"):
            assert found.estimate.interval.half_width > 1.3 * other.estimate.interval.half_width


SCORES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=5, max_size=30)


@given(SCORES, st.randoms())
def test_the_measures_are_those_of_statistics_in_any_order(
    pairs: list[tuple[int, int]], shuffler: random.Random
) -> None:
    rows = [rows_of(f"t{n}", {"a": [judge]}) for n, (judge, _) in enumerate(pairs)]
    labels = [label(f"t{n}", "ann", human) for n, (_, human) in enumerate(pairs)]
    report = held(rows, labels)
    judge, human = [a for a, _ in pairs], [b for _, b in pairs]
    wanted: dict[str, Callable[[], Estimate | Correlation | Difference]] = {
        "kappa": lambda: cohen_kappa([a >= 4 for a in judge], [b >= 4 for b in human]),
        "spearman": lambda: spearman(judge, human),
        "leniency": lambda: paired_difference(human, judge),
    }
    for name, compute in wanted.items():
        found = report.agreement.measures[name]
        if found.value is None:
            with pytest.raises(NotEnoughData) as caught:
                compute()
            assert str(caught.value) == found.why
        else:
            expected = compute()
            assert found.value == pytest.approx(expected.value)
            assert (found.low, found.high) == pytest.approx(expected.interval[:2])
    shuffler.shuffle(labels)
    assert held(rows, labels).calibration == report.calibration


def test_another_judges_results_are_refused() -> None:
    rows = [rows_of(f"t{n}", {"a": [n]}) for n in range(6)]
    calibration = held(rows, [label(f"t{n}", "ann", n) for n in range(6)]).calibration

    def judged(**options: Any) -> Any:
        return judged_items(judged_set([rows_of("u", {"a": [4]}, **options)]))

    check_same_judge(calibration, judged())
    with pytest.raises(InvalidOption, match=r"is of the judge 'openai:a#\w+', and the results"):
        check_same_judge(calibration, judged(prompt="q"))
    with pytest.raises(InvalidOption, match="is of the passing score '4', and the results"):
        check_same_judge(calibration, judged()._replace(pass_from=3.5))
    with pytest.raises(InvalidOption, match="is of the mode 'single', and the results"):
        check_same_judge(calibration, judged()._replace(settings={"mode": "joint"}))


def test_rates_are_corrected_for_items_outside_the_calibration() -> None:
    # Of 40 true passes the judge passes 36, of 40 true fails 8: sensitivity 0.9, specificity 0.8.
    kinds = [(5, 5)] * 36 + [(1, 5)] * 4 + [(5, 1)] * 8 + [(1, 1)] * 32
    rows = [rows_of(f"t{n}", {"a": [judge]}, model="m1") for n, (judge, _) in enumerate(kinds)]
    labels = [label(f"t{n}", "ann", human, model="m1") for n, (_, human) in enumerate(kinds)]
    rows += [rows_of(f"u{n}", {"a": [5 if n < 55 else 1]}, model="m1") for n in range(100)]
    rows += [rows_of(f"w{n}", {"a": [5 if n < 20 else 1]}, model="m2") for n in range(100)]
    report = held(rows, labels)
    everything, first, second = report.rates
    assert (everything.n, everything.passes, first.owner, second.owner) == (200, 75, "m1", "m2")
    assert first.found is not None
    assert second.found is not None
    assert first.found.corrected.value == pytest.approx((0.55 - 0.2) / 0.7)
    assert second.found.corrected.value == pytest.approx(0)
    again = judged_rates(report.calibration, judged_items(judged_set(rows)))
    assert again == report.rates


def test_a_judge_no_better_than_chance_corrects_nothing() -> None:
    rows = [rows_of(f"t{n}", {"a": [5 if n % 2 else 1]}) for n in range(9)]
    labels = [label(f"t{n}", "ann", 1 if n % 4 < 2 else 5) for n in range(8)]
    (rate,) = held(rows, labels).rates
    assert rate.found is None
    assert "no better than chance" in (rate.why or "")


def test_a_judge_that_became_lenient_has_drifted() -> None:
    draw = random.Random(2)
    human = [draw.choice((1, 2, 4, 5)) for _ in range(120)]
    labels = [label(f"t{n}", "ann", score) for n, score in enumerate(human)]

    def calibrated(shift: int, prompt: str = "p") -> Any:
        rows = [
            rows_of(f"t{n}", {"a": [min(5, score + (shift if n % 3 else 0))]}, prompt=prompt)
            for n, score in enumerate(human)
        ]
        return held(rows, labels).calibration

    before, after = calibrated(0), calibrated(2)
    found = drift(before, after)
    assert found.is_same_judge
    assert found.n_shared == 120
    assert found.kappa.high is not None
    assert found.leniency.low is not None
    assert found.kappa.high < 0 < found.leniency.low
    still = drift(before, before)
    assert (still.kappa.value, still.leniency.value) == (0, 0)
    other = drift(before, calibrated(0, prompt="q"))
    assert not other.is_same_judge
    assert other.changed[0].startswith("the judge: openai:a#")
    assert other.changed[1:] == ("its prompt",)


def test_without_a_pair_nothing_is_calibrated() -> None:
    with pytest.raises(NotEnoughData, match=r"no item has a rating .*: no label \(1\)"):
        held([rows_of("t", {"a": [4]})], [])
    with pytest.raises(NotEnoughData, match="no rows by judges; judge it first"):
        judged_items(judged_set([]))


def test_rows_by_several_texts_of_a_rubric_are_refused() -> None:
    rows = rows_of("t", {"a": [4]})
    other = [
        row.model_copy(update={"rubric_sha256": "0" * 64})
        if row.grader.startswith("rubric:")
        else row
        for row in rows_of("u", {"a": [4]})
    ]
    with pytest.raises(InvalidOption, match="2 texts of the rubric 'task-completion'"):
        judged_items(judged_set([rows, other]))


def test_rows_by_several_rubrics_need_a_choice() -> None:
    rows = rows_of("t", {"a": [4]})
    other = [
        row.model_copy(update={"rubric": "tone", "grader": row.grader.replace(RUBRIC.id, "tone")})
        for row in rows
    ]
    with pytest.raises(InvalidOption, match="several rubrics: task-completion, tone; choose"):
        judged_items(judged_set([rows, other]))
    assert judged_items(judged_set([rows, other]), rubric="tone").rubric == "tone"
    with pytest.raises(InvalidOption, match="no rows by the rubric 'x'; there are task-comp"):
        judged_items(judged_set([rows]), rubric="x")
