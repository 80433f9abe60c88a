"""Two result sets: what is paired, what the lines say, what is refused, how often that is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.grading import ResultRow, ResultSet, Subject, Verdict
from tracedance_sdk.report import (
    Comparison,
    ComparisonPlan,
    compare_results,
    comparison_document,
    comparison_verdict_text,
    document_text,
)

LETTERS: Final = {
    "p": Verdict.PASS,
    "f": Verdict.FAIL,
    "c": Verdict.CRITICAL,
    "i": Verdict.INCONCLUSIVE,
    "e": Verdict.ERROR,
}
ANN, BOB = "openai:m#aaaaaaaaaaaa", "openai:n#bbbbbbbbbbbb"


def row(verdict: str = "", *, grader: str = "spec:t", **fields: Any) -> ResultRow:
    subject = {key: fields.pop(key) for key in ("trace_id", "turn", "instance_id") if key in fields}
    found = None if not verdict or verdict == "-" else LETTERS[verdict]
    return ResultRow(subject=Subject(**subject), grader=grader, verdict=found, **fields)


def set_of(rows: Iterable[ResultRow], **manifest: Any) -> ResultSet:
    return ResultSet({"command": "evaluate", **manifest}, tuple(rows))


def task_runs(side: str, runs: dict[str, str]) -> ResultSet:
    """As `evaluate` writes runs of an agent: new traces, other files, named tasks."""
    return set_of(
        row(
            letter,
            trace_id=f"{side}-{task}-{number}",
            instance_id=f"{side}/{number}-{task}.json",
            group=task,
            task_id=task,
        )
        for task, letters in runs.items()
        for number, letter in enumerate(letters)
    )


def outcomes_of(side: str, outcomes: str) -> ResultSet:
    """As pytest writes them: the test's node id, a new trace."""
    rows = (
        row(
            letter,
            grader=f"spec:s{number}",
            trace_id=f"{side}{number}",
            instance_id=f"t.py::test_{number}",
            group=f"s{number}",
        )
        for number, letter in enumerate(outcomes)
    )
    return set_of(rows, command="pytest -q")


def next_turns(model: str, contexts: dict[str, str], **manifest: Any) -> ResultSet:
    """As `next-turn` writes them: the same traces, several samples; a reply and a check each."""
    rows = []
    for trace, letters in contexts.items():
        for sample, letter in enumerate(letters):
            where: dict[str, Any] = {
                "trace_id": trace,
                "turn": 4,
                "sample": sample,
                "model": model,
            }
            rows.append(row(grader="next_turn", reply={"role": "assistant"}, **where))
            lost = {"missing": "refused", "missing_reason": "no answer: refused: no"}
            rows.append(row(letter, **where, **(lost if letter == "-" else {})))
    return set_of(rows, command="next-turn", **manifest)


def rubric_rows(
    trace: str, scores: dict[str, int | None], *, rubric: str = "r", **fields: Any
) -> list[ResultRow]:
    """As `judge` writes them: a row for each judge, one for the panel."""
    found = [
        row(
            grader=f"judge:{rubric}:{judge}",
            trace_id=trace,
            score=None if score is None else score / 5,
            missing_reason="unparsable: no JSON" if score is None else None,
            rubric=rubric,
            **fields,
        )
        for judge, score in scores.items()
    ]
    there = [score for score in scores.values() if score is not None]
    mean = sum(there) / len(there) if there else None
    verdict = "-" if mean is None else "i" if None in scores.values() else "p" if mean >= 4 else "f"
    panel = row(
        verdict,
        grader=f"rubric:{rubric}",
        trace_id=trace,
        score=None if mean is None else mean / 5,
        rubric=rubric,
        judges=scores,
        **fields,
    )
    return [*found, panel]


def judged(scores: Iterable[dict[str, int | None]], **fields: Any) -> ResultSet:
    rows = [item for n, of in enumerate(scores) for item in rubric_rows(f"t{n}", of, **fields)]
    return set_of(rows, command="judge")


def shape(found: Comparison) -> list[tuple[Any, ...]]:
    """Return name, pairs, groups, means and verdict of each line."""
    return [
        (
            f"{line.name.grader} {line.name.measure}",
            line.statistics.n_pairs,
            line.statistics.n_groups,
            line.statistics.old,
            line.statistics.new,
            line.verdict,
        )
        for line in found.lines
    ]


TASKS: Final = [f"task{n}" for n in range(8)]
PAIRED: list[tuple[str, ResultSet, ResultSet, str, int, int]] = [
    (
        "evaluate, an agent ran again",
        task_runs("old", dict.fromkeys(TASKS, "ppf")),
        task_runs("new", dict.fromkeys(TASKS, "pf")),
        "task",
        8,
        8,
    ),
    (
        "evaluate, the same traces graded again",
        task_runs("old", dict.fromkeys(TASKS, "ppf")),
        task_runs("old", dict.fromkeys(TASKS, "pff")),
        "trace",
        24,
        8,
    ),
    (
        "evaluate, files without tasks in two folders",
        set_of(row("p", trace_id=f"a{n}", instance_id=f"old/{n}.json") for n in range(7)),
        set_of(row("p", trace_id=f"b{n}", instance_id=f"/new/{n}.json") for n in range(7)),
        "instance",
        7,
        7,
    ),
    (
        "pytest, tests run again",
        outcomes_of("a", "ppfpp"),
        outcomes_of("b", "pfppp"),
        "instance",
        5,
        5,
    ),
    (
        "next-turn, another model in the same contexts",
        next_turns("m", {f"t{n}": "ppf" for n in range(6)}),
        next_turns("n", {f"t{n}": "pff" for n in range(6)}),
        "trace",
        6,
        6,
    ),
    (
        "one trace in common is no rule",
        task_runs("old", dict.fromkeys(TASKS, "p") | {"same": "p"}),
        set_of(
            [
                *task_runs("new", dict.fromkeys(TASKS, "p")).rows,
                row("p", trace_id="old-same-0", group="same", task_id="same"),
            ]
        ),
        "task",
        9,
        9,
    ),
]


@pytest.mark.parametrize(
    ("_name", "old", "new", "rule", "pairs", "groups"), PAIRED, ids=[case[0] for case in PAIRED]
)
def test_subjects_are_paired_by_what_the_sets_have_in_common(
    _name: str, old: ResultSet, new: ResultSet, rule: str, pairs: int, groups: int
) -> None:
    found = compare_results(old, new)
    assert (found.paired_by, shape(found)[0][1:3]) == (rule, (pairs, groups))
    assert not [item for item in found.left_out if item.what == "subjects"]


def test_samples_are_averaged_and_each_subject_weighs_the_same() -> None:
    old = task_runs("a", dict.fromkeys(TASKS, "p") | {"task0": "pfff"})
    new = task_runs("b", dict.fromkeys(TASKS, "pppp") | {"task0": "f"})
    ((name, pairs, _, before, after, _),) = shape(compare_results(old, new))
    assert (name, pairs) == ("spec:t pass rate", 8)
    assert (before, after) == pytest.approx((7.25 / 8, 7 / 8))


def test_what_has_no_value_is_counted_by_reason_and_side_and_in_no_mean() -> None:
    old = next_turns("m", {f"t{n}": "pp" for n in range(8)} | {"t0": "p-", "gone": "p"})
    new = next_turns("n", {f"t{n}": "pf" for n in range(8)} | {"t1": "--", "t2": "ie"})
    found = compare_results(old, new)
    told = {(item.what, item.reason): (item.old, item.new) for item in found.left_out}
    assert told == {
        ("rows", "error"): (0, 1),
        ("rows", "inconclusive"): (0, 1),
        ("rows", "missing: refused"): (1, 2),
        ("subjects", "no value"): (0, 2),
        ("subjects", "no value in the other set"): (2, 0),
        ("subjects", "only in this set"): (1, 0),
    }
    assert shape(found)[0][1:5] == (6, 6, 1.0, 0.5)
    assert "4 of B have no value" in found.notes[-1]


def test_what_a_set_never_graded_is_told_and_counts_where_it_became_more() -> None:
    old, new = (task_runs(side, dict.fromkeys(TASKS, "p")) for side in "ab")
    lost = {"exclusions": {"sub-agent": 4, "not graded": 1, "odd": "many"}}
    found = compare_results(old._replace(manifest=lost), new._replace(manifest=lost))
    assert [item[1:] for item in found.left_out] == [("never graded", "sub-agent", 4, 4)]
    assert not found.is_lossy
    more = {"exclusions": {"the test failed before it graded a trace": 2}}
    assert compare_results(old, new._replace(manifest=more)).is_lossy
    assert not compare_results(old._replace(manifest=more), new).is_lossy


def test_files_that_could_not_be_read_are_left_out_of_the_line_of_the_specification() -> None:
    broken = row("e", grader="spec", instance_id="new/x.json", missing_reason="no JSON")
    old, new = (task_runs(side, dict.fromkeys(TASKS, "p")) for side in ("old", "new"))
    found = compare_results(old, set_of([*new.rows, broken]))
    assert [item[0] for item in shape(found)] == ["spec:t pass rate"]
    assert [(item.reason, item.old, item.new) for item in found.left_out] == [("error", 0, 1)]


def test_tasks_that_are_graded_each_by_its_own_specification_make_one_line() -> None:
    found = compare_results(outcomes_of("a", "p" * 10), outcomes_of("b", "f" * 9 + "p"))
    assert [item[0] for item in shape(found)] == ["spec pass rate"]
    assert (found.verdict, found.exit_code) == ("worse", 1)
    one = compare_results(
        outcomes_of("a", "p" * 10), outcomes_of("b", "f" * 10), ComparisonPlan(graders=("spec:s3",))
    )
    assert [item[:2] for item in shape(one)] == [("spec:s3 pass rate", 1)]


def test_turns_of_one_trace_belong_together() -> None:
    old, new = (
        set_of((row("p", trace_id=f"t{n % 4}", turn=n) for n in range(20)), command="next-turn")
        for _ in "ab"
    )
    found = compare_results(old, new)
    assert shape(found)[0][1:3] == (20, 4)
    apart = compare_results(old, new, ComparisonPlan(sample="subjects"))
    assert shape(apart)[0][1:3] == (20, 20)


def test_a_specification_that_lends_its_name_to_traces_without_a_task_is_no_group() -> None:
    old, new = (set_of(row("p", trace_id=f"t{n}", group="t") for n in range(9)) for _ in "ab")
    assert shape(compare_results(old, new))[0][1:3] == (9, 9)


def test_where_a_set_holds_several_models_the_model_is_part_of_the_subject() -> None:
    contexts = {f"t{n}": "p" for n in range(7)}
    both = [*next_turns("m", contexts).rows, *next_turns("n", dict.fromkeys(contexts, "f")).rows]
    found = compare_results(next_turns("m", contexts), set_of(both, command="next-turn"))
    assert shape(found)[0][1:5] == (7, 7, 1.0, 1.0)
    with pytest.raises(InvalidOption, match=r"no model is in both .* --model-a and --model-b"):
        compare_results(next_turns("x", contexts), set_of(both))
    same = set_of(both, command="next-turn")
    chosen = compare_results(same, same, ComparisonPlan(old_model="m", new_model="n"))
    assert (shape(chosen)[0][3:5], chosen.verdict) == ((1.0, 0.0), "worse")
    with pytest.raises(InvalidOption, match="no rows of model 'o'; it has rows of m, n"):
        compare_results(same, same, ComparisonPlan(old_model="o"))


def test_a_panel_decides_by_passes_and_score_and_its_judges_are_shown_beside() -> None:
    old = judged([{ANN: 5, BOB: 4}] * 10)
    low: list[dict[str, int | None]] = [{ANN: 3, BOB: 2}] * 9
    new = judged([*low, {ANN: 3, BOB: None}])
    found = compare_results(old, new)
    assert shape(found) == [
        ("rubric:r pass rate", 9, 9, 1.0, 0.0, "worse"),
        ("rubric:r score", 9, 9, pytest.approx(0.9), pytest.approx(0.5), "worse"),
    ]
    beside = [(line.name.grader, line.statistics.n_pairs, line.verdict) for line in found.beside]
    assert beside == [(f"judge:r:{ANN}", 10, None), (f"judge:r:{BOB}", 9, None)]
    reasons = {item.reason for item in found.left_out if item.what == "rows"}
    assert reasons == {"inconclusive", "a judge's score is missing", "missing: unparsable"}
    assert found.lines[1].statistics.wilcoxon_p == pytest.approx(0.0027, abs=0.001)


def test_repeats_of_a_judge_are_averaged_within_a_sample() -> None:
    def with_repeats(scores: tuple[float, ...]) -> ResultSet:
        return set_of(
            row(grader="judge:j", trace_id=f"t{n}", score=score, repeat=repeat)
            for n in range(8)
            for repeat, score in enumerate(scores)
        )

    found = compare_results(with_repeats((0.2, 0.4)), with_repeats((0.6, 0.6)))
    assert found.lines[0].statistics.n_runs == (8, 8)
    assert shape(found)[0][3:] == (pytest.approx(0.3), pytest.approx(0.6), "better")


def test_scores_of_different_judges_are_refused_unless_allowed() -> None:
    old, new = judged([{ANN: 5}] * 8), judged([{BOB: 4}] * 8)
    with pytest.raises(InvalidOption) as caught:
        compare_results(old, new)
    assert str(caught.value) == (
        f"the judges of rubric 'r' differ: A {ANN}; B {BOB}. Scores of different judges do not "
        "compare: judge both sets by the same, choose other lines (--grader 'spec:*'), or say "
        "--allow-different-judges"
    )
    found = compare_results(old, new, ComparisonPlan(judges_may_differ=True))
    assert "a difference may be theirs" in found.notes[0]
    assert [line.name.grader for line in found.beside] == [f"judge:r:{ANN} / {BOB}"]
    runs = []
    for side in ("x", "y"):
        scores = [
            row(grader=f"judge:{side}", trace_id=f"{side}-{task}-0", score=1, task_id=task)
            for task in TASKS
        ]
        runs.append(set_of([*task_runs(side, dict.fromkeys(TASKS, "p")).rows, *scores]))
    with pytest.raises(InvalidOption, match="judges of whole runs differ: A x; B y"):
        compare_results(runs[0], runs[1])
    assert compare_results(runs[0], runs[1], ComparisonPlan(graders=("spec:*",))).lines


def test_rows_that_stand_there_twice_count_once_and_contradictions_are_refused() -> None:
    outcomes = {f"task{n}": "pf" for n in range(6)}
    old, new = task_runs("a", outcomes), task_runs("b", outcomes)
    twice = set_of([*old.rows, *old.rows[:3]])
    found = compare_results(twice, new)
    assert found.notes[0] == "A: 3 rows stand there twice and are counted once"
    assert found.lines == compare_results(old, new).lines
    other = old.rows[1].model_copy(update={"verdict": Verdict.PASS})
    with pytest.raises(InvalidOption) as caught:
        compare_results(new, set_of([*old.rows, other]))
    assert str(caught.value) == (
        "set B: lines 2 and 13 of rows.jsonl contradict each other about trace 'a-task0-1', "
        "instance 'a/1-task0.json', sample 0, by 'spec:t': verdict 'fail' and 'pass'; leave one of "
        "them out, or put them into sets of their own"
    )
    of_others = row(grader="other", trace_id="x", score=1.0)
    odd = set_of([*old.rows, of_others, of_others.model_copy(update={"score": 0.5})])
    with pytest.raises(InvalidOption, match="by 'other'"):
        compare_results(odd, new)
    assert compare_results(odd, new, ComparisonPlan(graders=("spec:*",))).lines


def by_rubric(
    scores: Iterable[float], *, grader: str = "judge:m", prefix: str = "t", **fields: Any
) -> list[ResultRow]:
    """As foreign sets have them: names of judges that say nothing of rubric or prompt."""
    return [
        row(grader=grader, trace_id=f"{prefix}{n}", score=score / 5, rubric_score=score, **fields)
        for n, score in enumerate(scores)
    ]


MIXED: list[tuple[str, list[ResultRow], str]] = [
    (
        "rubrics",
        [*by_rubric([5] * 8, rubric="a"), *by_rubric([1] * 8, rubric="b", prefix="u")],
        "by several rubrics: a, b; choose one with --rubric ID",
    ),
    (
        "a rubric and none",
        [*by_rubric([5] * 8, rubric="a"), *by_rubric([1] * 8, prefix="u")],
        "by several rubrics: a, no rubric; choose one with --rubric ID",
    ),
    (
        "texts",
        [
            *by_rubric([5] * 8, grader="rubric:a", rubric="a", rubric_sha256="12" * 32),
            *by_rubric([1], grader="rubric:a", rubric="a", rubric_sha256="34" * 32, prefix="u"),
        ],
        r"by several texts of one rubric \(sha256 121212121212, 343434343434\)",
    ),
    (
        "texts of judges",
        [
            *by_rubric([5] * 8, rubric="a", judge={"rubric_sha256": "12" * 32}),
            *by_rubric([1], rubric="a", judge={"rubric_sha256": "34" * 32}, prefix="u"),
        ],
        "by several texts of one rubric",
    ),
    (
        "passing scores",
        [
            *by_rubric([5] * 8, grader="rubric:a", rubric="a", pass_from=4),
            *by_rubric([1], grader="rubric:a", rubric="a", pass_from=3, prefix="u"),
        ],
        "that pass from different scores: 3, 4",
    ),
]


@pytest.mark.parametrize(("_name", "rows", "text"), MIXED, ids=[case[0] for case in MIXED])
def test_rows_by_several_rubrics_have_no_common_mean(
    _name: str, rows: list[ResultRow], text: str
) -> None:
    mixed = set_of(rows)
    with pytest.raises(InvalidOption, match=f"set A has rows of '.*' {text}"):
        compare_results(mixed, mixed)


def test_one_rubric_of_several_can_be_chosen() -> None:
    mixed = set_of([*by_rubric([5] * 8, rubric="a"), *by_rubric([1] * 8, rubric="b", prefix="u")])
    found = compare_results(mixed, mixed, ComparisonPlan(rubric="b"))
    assert shape(found)[0][3:5] == (pytest.approx(0.2), pytest.approx(0.2))
    with pytest.raises(InvalidOption, match="no rows by the rubric 'c'; it has a, b"):
        compare_results(mixed, mixed, ComparisonPlan(rubric="c"))


def test_other_texts_of_a_rubric_in_b_are_refused_unless_allowed() -> None:
    old = set_of(by_rubric([5] * 8, rubric="a", judge={"rubric_sha256": "12" * 32}))
    new = set_of(by_rubric([4] * 8, rubric="a", judge={"rubric_sha256": "34" * 32}))
    with pytest.raises(InvalidOption, match=r"texts of rubric 'a' differ: A 1212.*; B 3434"):
        compare_results(old, new)
    found = compare_results(old, new, ComparisonPlan(judges_may_differ=True))
    assert "texts of rubric 'a' differ" in found.notes[0]


@pytest.mark.parametrize("score", [9, -1, float("nan"), float("inf"), "4", True, [4]])
def test_scores_that_cannot_be_are_refused(score: Any) -> None:
    good = set_of(by_rubric([5] * 8, rubric="a"))
    odd = set_of([*good.rows[1:], good.rows[0].model_copy(update={"rubric_score": score})])
    with pytest.raises(InvalidOption, match=r"set B: line 8 of rows.jsonl: a number from 0 to 5 "):
        compare_results(good, odd)


def test_other_criteria_settings_and_graders_are_noted() -> None:
    contexts = {f"t{n}": "p" for n in range(6)}
    old = next_turns("m", contexts, settings={"temperature": 0, "top_p": 1}, benchmark="v1")
    new = next_turns("n", contexts, settings={"temperature": 1, "top_p": 1}, benchmark="v2")
    old = old._replace(rows=tuple(r.model_copy(update={"spec_sha256": "a"}) for r in old.rows))
    rows = [r.model_copy(update={"spec_sha256": "b"}) for r in new.rows]
    rows.append(row(grader="judge:j", trace_id="t0", turn=4, score=0.5))
    assert compare_results(old, new._replace(rows=tuple(rows))).notes == (
        "the criteria of spec:t are others in B; a difference may be theirs",
        'benchmark differs: A "v1"; B "v2"',
        'settings differs: A {"temperature":0}; B {"temperature":1}',
        "only in B: judge:j",
    )


def test_the_same_set_twice_shows_no_difference() -> None:
    same = task_runs("a", dict.fromkeys(TASKS, "ppf"))._replace(manifest={"rows_sha256": "x"})
    found = compare_results(same, same)
    assert (found.verdict, found.exit_code, found.changes) == ("no difference shown", 0, ())
    assert found.notes == ("both sets have the same rows",)
    assert found.lines[0].corrected_p == 1


def test_too_few_groups_are_said_to_be_too_few_whatever_came_out() -> None:
    old, new = (
        task_runs("a", {"x": "pppp", "y": "pppp"}),
        task_runs("b", {"x": "ffff", "y": "ffff"}),
    )
    found = compare_results(old, new)
    (line,) = found.lines
    assert (line.verdict, found.exit_code, line.corrected_p) == ("not enough data", 3, None)
    assert line.why == "2 pairs cannot give a p value below 0.5, and alpha is 0.05"
    assert line.needed == 6
    fixed = compare_results(old, new, ComparisonPlan(sample="runs"))
    assert (fixed.verdict, fixed.exit_code) == ("worse", 1)


def test_the_subjects_of_a_single_group_are_the_sample() -> None:
    one_group = [
        set_of(row("p", trace_id=f"t{n}", group="g", task_id=f"k{n}") for n in range(9))
        for _ in "ab"
    ]
    (line,) = compare_results(one_group[0], one_group[1]).lines
    assert (line.statistics.design, line.statistics.is_one_group) == ("subjects", True)
    assert line.verdict == "no difference shown"


def test_many_runs_of_one_task_are_compared_as_independent_samples() -> None:
    found = compare_results(task_runs("a", {"x": "p" * 20}), task_runs("b", {"x": "pf" * 10}))
    (line,) = found.lines
    assert (line.statistics.design, line.verdict) == ("runs", "worse")
    few = compare_results(task_runs("a", {"x": "ppp"}), task_runs("b", {"x": "fff"}))
    assert few.lines[0].why == "3 and 3 runs cannot give a p value below 0.1, and alpha is 0.05"


def test_lines_share_alpha() -> None:
    scores: list[dict[str, int | None]] = [{ANN: 5}] * 6
    old, worse = judged(scores), judged([{ANN: 2}] * 6)
    found = compare_results(old, worse)
    assert [line.statistics.difference and line.statistics.difference.p_value
            for line in found.lines] == [2**-5, 2**-5]  # fmt: skip
    assert [line.corrected_p for line in found.lines] == [2**-4, 2**-4]
    assert {line.verdict for line in found.lines} == {"not enough data"}
    one = compare_results(old, worse, ComparisonPlan(graders=("judge:*",)))
    assert (one.lines[0].corrected_p, one.verdict) == (2**-5, "worse")


MARGINS: list[tuple[str, str, str, float, str, int]] = [
    ("alike", "p" * 60, "p" * 60, 0.1, "not worse by more than the margin", 0),
    ("too few to say", "p" * 10, "p" * 10, 0.1, "no difference shown", 3),
    ("worse by more", "p" * 60, "p" * 40 + "f" * 20, 0.1, "worse", 1),
    ("worse by less", "p" * 200, "p" * 192 + "f" * 8, 0.1, "not worse by more than the margin", 0),
    ("better", "f" * 20 + "p" * 20, "p" * 40, 0.1, "better", 0),
]  # fmt: skip


@pytest.mark.parametrize(
    ("_name", "old", "new", "margin", "verdict", "code"), MARGINS, ids=[c[0] for c in MARGINS]
)
def test_with_a_margin_the_question_is_whether_it_is_not_worse_by_more(
    _name: str, old: str, new: str, margin: float, verdict: str, code: int
) -> None:
    found = compare_results(
        outcomes_of("a", old), outcomes_of("b", new), ComparisonPlan(margin=margin)
    )
    assert (found.verdict, found.exit_code) == (verdict, code)


def test_one_line_that_is_worse_decides_and_one_without_data_leaves_it_open() -> None:
    passes, falls = dict.fromkeys(TASKS, "p"), dict.fromkeys(TASKS, "f")
    rises = [row(grader="judge:j", trace_id=f"a-task{n}-0", task_id=f"task{n}", score=0.1)
             for n in range(8)]  # fmt: skip
    better = [item.model_copy(update={"score": 0.9}) for item in rises]
    old = set_of([*task_runs("a", passes).rows, *rises])
    both = compare_results(old, set_of([*task_runs("a", falls).rows, *better]))
    assert {line.verdict for line in both.lines} == {"better", "worse"}
    assert comparison_verdict_text(both) == "B is worse than A (spec:t pass rate)"
    lost = compare_results(old, set_of([*task_runs("a", passes).rows, *better[:2]]))
    assert (lost.verdict, lost.exit_code) == ("not enough data", 3)


def test_who_changed_is_listed_the_worst_first_with_what_the_grader_says() -> None:
    evidence = (
        {"criterion": "c", "verdict": "pass", "reason": "fine"},
        {"criterion": "d", "name": "never pay twice", "verdict": "fail", "reason": "paid twice"},
    )
    old = task_runs("a", {"x": "pp", "y": "ff", "z": "pp"})
    new = task_runs("b", {"x": "pf", "y": "pp", "z": "ff"})
    rows = [item.model_copy(update={"evidence": evidence}) for item in (*old.rows, *new.rows)]
    found = compare_results(set_of(rows[:6]), set_of(rows[6:]))
    told = [(c.subject, c.old, c.new, c.why) for c in found.changes]
    why = "never pay twice: paid twice"
    assert told == [
        ("z", (2, 2), (0, 2), why),
        ("x", (2, 2), (1, 2), why),
        ("y", (0, 2), (2, 2), why),
    ]


def test_the_reason_that_a_row_itself_gives_is_why() -> None:
    old, new = task_runs("a", {"x": "pp"}), task_runs("b", {"x": "ff"})
    told = {"reason": "a shipped order was cancelled", "evidence": ({"reason": "something"},)}
    rows = [ResultRow.model_validate({**dict(row), **told}) for row in new.rows]
    (change,) = compare_results(old, set_of(rows)).changes
    assert change.why == "a shipped order was cancelled"


def test_groups_and_models_are_shown_beside_and_decide_nothing() -> None:
    old = task_runs("a", dict.fromkeys(TASKS, "pp"))
    new = task_runs("b", dict.fromkeys(TASKS, "pp") | {"task3": "ff"})
    found = compare_results(old, new, ComparisonPlan(by="group"))
    assert [line.slice for line in found.beside] == TASKS
    assert {line.statistics.design for line in found.beside} == {"runs"}
    assert found.verdict == "no difference shown"
    contexts = {f"t{n}": "p" for n in range(6)}
    models = compare_results(
        next_turns("m", contexts), next_turns("n", contexts), ComparisonPlan(by="model")
    )
    assert [line.slice for line in models.beside] == ["m / n"]


REFUSED: list[tuple[str, Callable[[], Any], str]] = [
    ("alpha", lambda: ComparisonPlan(alpha=0.5), "alpha is 0.5"),
    ("tiny", lambda: ComparisonPlan(alpha=1e-300), "alpha is 1e-300, .* give at least 1e-09"),
    ("model", lambda: ComparisonPlan(old_model="x"), "none of its rows says which model"),
    ("rubric", lambda: ComparisonPlan(rubric="x"), "no rows by the rubric 'x'; it was judged by"),
    ("margin", lambda: ComparisonPlan(margin=1), "margin is 1"),
    ("rule", lambda: ComparisonPlan(pair_by="name"), "unknown rule 'name'"),  # type: ignore[arg-type]
    ("sample", lambda: ComparisonPlan(sample="all"), "unknown sample 'all'"),  # type: ignore[arg-type]
    ("by", lambda: ComparisonPlan(by="day"), "cannot show by 'day'"),  # type: ignore[arg-type]
    ("grader", lambda: ComparisonPlan(graders=("x*",)), "no rows of a grader like x.*has spec:t"),
]


@pytest.mark.parametrize(("_name", "plan", "text"), REFUSED, ids=[case[0] for case in REFUSED])
def test_plans_that_cannot_be_are_refused(_name: str, plan: Callable[[], Any], text: str) -> None:
    same = task_runs("a", {"x": "p"})
    with pytest.raises(InvalidOption, match=text):
        compare_results(same, same, plan())


def test_sets_that_have_nothing_to_compare_are_refused() -> None:
    old = task_runs("a", dict.fromkeys(TASKS, "p"))
    with pytest.raises(InvalidOption, match="no subject is in both sets, by trace, instance or"):
        compare_results(old, outcomes_of("b", "ppp"))
    with pytest.raises(InvalidOption, match="no subject is in both sets, by trace: nothing"):
        compare_results(old, task_runs("b", {"task0": "p"}), ComparisonPlan(pair_by="trace"))
    replies = [row(grader="next_turn", trace_id="t", turn=1)]
    with pytest.raises(InvalidOption, match="neither verdicts nor scores, only rows of next_turn"):
        compare_results(set_of(replies), set_of(replies))
    with pytest.raises(InvalidOption, match=r"set A has no rows$"):
        compare_results(set_of([]), old)
    scores = [row(grader="judge:j", trace_id="a-task0-0", score=1.0)]
    with pytest.raises(InvalidOption, match="no grader is in both sets: A has spec:t; B has judge"):
        compare_results(old, set_of(scores))


groups = st.dictionaries(
    st.sampled_from(TASKS), st.text("pfcie-", min_size=1, max_size=3), min_size=1
)


@given(groups, groups, st.randoms())
@settings(max_examples=60, deadline=None)
def test_the_order_of_rows_is_of_no_consequence_and_sides_may_be_swapped(
    first: dict[str, str], second: dict[str, str], dice: Any
) -> None:
    old, new = task_runs("a", first), task_runs("b", second)
    if not first.keys() & second.keys():
        return
    found = compare_results(old, new)
    document_text(comparison_document(found))
    rows = list(new.rows)
    dice.shuffle(rows)
    assert compare_results(old, new._replace(rows=tuple(rows))) == found
    swapped = compare_results(new, old)
    opposite = {"better": "worse", "worse": "better"}
    for line, other in zip(found.lines, swapped.lines, strict=True):
        assert other.verdict == opposite.get(str(line.verdict), line.verdict)
        assert (other.statistics.old, other.statistics.new) == (
            line.statistics.new,
            line.statistics.old,
        )
        assert other.corrected_p == pytest.approx(line.corrected_p)


N_SETS: Final = 600


def drawn_sets(draw: np.random.Generator, shift: float) -> tuple[ResultSet, ResultSet]:
    """Two runs of 12 groups of 2 tasks: passes by two graders that depend on each other."""
    sides: tuple[list[ResultRow], list[ResultRow]] = [], []
    for group in range(12):
        hard, moved = draw.normal(0.5, 1), draw.normal(0, 0.4)
        for side, rows in enumerate(sides):
            rate = 1 / (1 + np.exp(-(hard + (moved + shift if side else -moved))))
            for task in range(2):
                passed = draw.random(2) < rate
                for grader, is_good in zip(("spec:t", "check"), passed, strict=True):
                    rows.append(
                        ResultRow.model_construct(
                            subject=Subject.model_construct(trace_id=f"{group}-{task}"),
                            grader=grader,
                            verdict=Verdict.PASS if is_good else Verdict.FAIL,
                            group=str(group),
                            task_id=str(group),
                        )
                    )
    return set_of(sides[0]), set_of(sides[1])


def test_two_lines_together_err_no_more_often_than_alpha_says() -> None:
    draw = np.random.default_rng(2026)
    verdicts = [compare_results(*drawn_sets(draw, 0.0)).verdict for _ in range(N_SETS)]
    wrong = sum(verdict in ("better", "worse") for verdict in verdicts) / N_SETS
    assert wrong <= 0.05 + 0.015
    moved = [compare_results(*drawn_sets(draw, -2.5)).verdict for _ in range(100)]
    assert moved.count("worse") >= 0.65 * len(moved)
