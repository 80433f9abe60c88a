"""What panels found as rows of a result set, through the disk and back."""

from __future__ import annotations

from pathlib import Path
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
    whole,
)
from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.grading import ResultRow, ResultSetWriter, Verdict, read_results
from tracedance_sdk.judging import (
    JudgedItem,
    Panel,
    PanelFinding,
    Rubric,
    panel_manifest,
    rows_of_panel,
    rows_of_rubric,
    run_panels,
)


def judged(
    *scores: int | None,
    items: list[JudgedItem] | None = None,
    rubric: Rubric = TURN_RUBRIC,
    repeats: int = 1,
) -> tuple[Panel, list[PanelFinding]]:
    voices = [Voice(always(score), f"voice:{n}") for n, score in enumerate(scores)]
    panel = Panel([judge(voice, rubric) for voice in voices], repeats=repeats)
    return panel, run_panels([(panel, items or [item(model="openai:gpt-x")])])


def kept(path: Path, panel: Panel, findings: list[PanelFinding]) -> tuple[dict[str, Any], Any]:
    with ResultSetWriter(path, manifest=panel_manifest([panel], findings)) as writer:
        writer.add(rows_of_panel(findings))
    return read_results(path)


def test_each_judge_and_each_item_has_a_row(tmp_path: Path) -> None:
    panel, findings = judged(4, 5)
    _, rows = kept(tmp_path, panel, findings)
    first, second = panel.names
    assert [row.grader for row in rows] == [
        f"judge:kind:{first}", f"judge:kind:{second}", "rubric:kind",
    ]  # fmt: skip
    one, _, whole_item = rows
    assert (one.verdict, one.score, one.evidence) == (None, 0.8, ({"reasoning": "Because."},))
    assert one.usage == {"input_tokens": 100, "output_tokens": 7, "cost_usd": 0.25}
    assert one.model_extra == {
        "rubric": "kind",
        "rubric_score": 4,
        "repeat": 0,
        "judge": {"name": first, **panel.identities[0]._asdict()},
    }
    assert (whole_item.verdict, whole_item.raw_verdict) == (Verdict.PASS, Verdict.PASS)
    assert whole_item.score == 0.9
    assert whole_item.model_extra == {
        "rubric": "kind",
        "rubric_sha256": TURN_RUBRIC.sha256,
        "rubric_score": 4.5,
        "pass_from": 4.0,
        "judges": {first: 4.0, second: 5.0},
        "n_missing": 0,
        "n_scores": 2,
    }
    for row in rows:
        assert (row.subject.turn, row.sample, row.group) == (2, 0, "sums")
        assert row.model == "openai:gpt-x"


def test_a_missing_judge_is_null_and_counted(tmp_path: Path) -> None:
    panel, findings = judged(5, None)
    manifest, rows = kept(tmp_path, panel, findings)
    _, gone, whole_item = rows
    assert (gone.score, gone.evidence) == (None, ())
    assert gone.missing_reason.startswith("unparsable: the reply is not JSON")
    assert gone.model_extra["missing"] == "unparsable"
    assert whole_item.model_extra["judges"] == {panel.names[0]: 5.0, panel.names[1]: None}
    assert (whole_item.model_extra["n_missing"], whole_item.score) == (1, 1.0)
    assert (whole_item.verdict, whole_item.raw_verdict) == (Verdict.INCONCLUSIVE, Verdict.PASS)
    assert whole_item.missing_reason.startswith("1 of 2 judges is missing")
    assert (manifest["scores"], manifest["missing"]) == (1, {"unparsable": 1})


def test_an_item_that_nobody_scored_has_neither_score_nor_verdict() -> None:
    _, findings = judged(None)
    *_, row = rows_of_panel(findings)
    assert (row.verdict, row.raw_verdict, row.score) == (None, None, None)
    assert row.missing_reason is not None
    assert row.missing_reason.startswith("no score from the judge: unparsable: ")


def test_repetitions_have_rows_of_their_own_and_a_spread() -> None:
    voice = Voice(always(2, 4, 3))
    panel = Panel([judge(voice)], repeats=3)
    rows = list(rows_of_panel(run_panels([(panel, [item()])])))
    assert [row.model_extra["repeat"] for row in rows[:-1] if row.model_extra] == [0, 1, 2]
    assert [row.score for row in rows[:-1]] == [0.4, 0.8, 0.6]
    assert rows[-1].model_extra is not None
    assert (rows[-1].score, rows[-1].model_extra["spread"]) == (0.6, 2)


def test_the_manifest_says_who_judged_by_what() -> None:
    panel, findings = judged(4, 3, repeats=2)
    manifest = panel_manifest([panel], findings)
    assert [each["name"] for each in manifest["judges"]] == list(panel.names)
    assert manifest["rubrics"] == [["kind", TURN_RUBRIC.sha256]]
    assert manifest["pass_from"] == {"kind": 4.0}
    assert (manifest["mode"], manifest["repeats"], manifest["seed"]) == ("single", 2, 0)
    assert (manifest["scores"], manifest["missing"]) == (4, {})


def test_what_was_dropped_from_a_reply_is_told_in_the_row() -> None:
    def says(message: str, _: int) -> str:
        return all_scored(message, {"Three.": 4}).replace(
            "[", '[{"id": "R7", "reasoning": "", "score": 1}, ', 1
        )

    panel = Panel([judge(Voice(says))], mode="joint")
    row = next(rows_of_panel(run_panels([(panel, [item()])])))
    assert row.model_extra is not None
    assert row.score == 0.8
    assert row.model_extra["warnings"] == ["the judge scored 'R7', which is no response"]


def test_what_a_judge_says_survives_whatever_is_in_it(tmp_path: Path) -> None:
    odd = "\ud800 \x00 \u2028 \x1b[31m"
    voice = Voice(lambda *_: scored(4, odd))
    panel = Panel([judge(voice)])
    _, rows = kept(tmp_path, panel, run_panels([(panel, [item()])]))
    assert rows[0].score == 0.8
    assert (tmp_path / "rows.jsonl").read_bytes().count(b"\n") == 2


OTHER_TEXT = TURN_RUBRIC.model_copy(update={"question": "Is it?"})


def rows(*rubrics: Rubric) -> list[ResultRow]:
    found: list[ResultRow] = []
    for rubric in rubrics:
        items = [item() if rubric.about == "turn" else whole()]
        found += rows_of_panel(judged(4, items=items, rubric=rubric)[1])
    return found


@pytest.mark.parametrize(
    ("given", "named", "told"),
    [
        (rows(TURN_RUBRIC, TRACE_RUBRIC), None, r"by several rubrics \(done, kind\); name one"),
        (rows(), None, r"by no rubric \(none\)"),
        (rows(TURN_RUBRIC), "done", "no item was judged by the rubric 'done'; there are: kind"),
        (rows(TURN_RUBRIC, OTHER_TEXT), "kind", "2 different rubrics called 'kind'"),
    ],
    ids=["mixed", "none", "another", "one id, two texts"],
)
def test_scores_by_several_rubrics_are_never_put_together(
    given: list[ResultRow], named: str | None, told: str
) -> None:
    with pytest.raises(InvalidOption, match=told):
        rows_of_rubric(given, named)


def test_items_rows_of_one_rubric_are_found() -> None:
    mixed = rows(TURN_RUBRIC, TRACE_RUBRIC)
    assert [row.grader for row in rows_of_rubric(mixed, "done")] == ["rubric:done"]
    assert [row.grader for row in rows_of_rubric(rows(TURN_RUBRIC))] == ["rubric:kind"]
