"""The file of a calibration: exact round trip, bounds, what a gate may do, tampering."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracedance_sdk.errors import InvalidOption, UnknownFormat, UnsupportedVersion
from tracedance_sdk.grading import Calibration
from tracedance_sdk.judging import (
    JudgeCalibration,
    Minimum,
    load_calibration,
    parse_calibration,
    save_calibration,
)
from tracedance_sdk.statistics import Confusion

COUNTS = st.tuples(*[st.integers(0, 60)] * 4).filter(any)
NAMES = st.text(min_size=1, max_size=20)


def made(tp: int, fp: int, fn: int, tn: int, **changes: Any) -> JudgeCalibration:
    n = tp + fp + fn + tn
    fields = {
        "judges": [{"name": "m#1"}],
        "pass_from": 4,
        "fail_below": 2,
        "n_items": n,
        "n_pairs": n,
        "n_clusters": n,
        "confusion": {"tp": tp, "fp": fp, "fn": fn, "tn": tn},
        "measures": {"kappa": {"value": 0.99, "low": 0.9, "high": 1, "n": n}},
    }
    return JudgeCalibration.model_validate(fields | changes)


@given(COUNTS, st.lists(NAMES, min_size=1, max_size=3, unique=True), NAMES, st.floats(-1, 1))
def test_a_calibration_is_read_back_as_it_was(
    counts: tuple[int, int, int, int], judges: list[str], key: str, kappa: float
) -> None:
    changes: dict[str, Any] = {
        "judges": [{"name": name, "more": 1} for name in judges],
        "minimum": {"kappa": kappa, "items": 3},
        f"x-{key}": [key],
    }
    found = made(*counts, **changes)
    document = json.loads(json.dumps(found.to_dict()))
    assert document["meets_minimum"] is found.meets_minimum
    assert parse_calibration(document) == found


def test_a_file_is_written_and_read(tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    save_calibration(made(40, 2, 3, 40), path, more={"command": "calibrate"})
    found = load_calibration(path)
    assert (found.model_extra or {})["command"] == "calibrate"
    assert [entry.name for entry in tmp_path.iterdir()] == ["calibration.json"]
    assert found.model_copy(update={"command": None}).confusion == made(40, 2, 3, 40).confusion


@given(COUNTS)
def test_kappa_is_that_of_the_counts_whatever_the_file_claims(
    counts: tuple[int, int, int, int],
) -> None:
    found, table = made(*counts), Confusion(*counts)
    if found.kappa is None:
        assert table.n in (table.tp, table.tn)
        assert "kappa is not defined" in (found.shortfall or "") or table.n < 50
        return
    assert found.kappa == pytest.approx(table.kappa().value)
    assert found.meets_minimum is (table.n >= 50 and found.kappa >= 0.6)


def test_only_a_judge_that_meets_the_minimum_may_gate() -> None:
    assert made(40, 2, 3, 40).gate() == Calibration(judge="m#1", fail_below=0.4, pass_from=0.8)
    with pytest.raises(InvalidOption, match="'m#1' may not gate: 20 items, and at least 50"):
        made(10, 0, 0, 10).gate()
    with pytest.raises(InvalidOption, match=r"may not gate: kappa is 0\.400, and at least 0\.6"):
        made(17, 21, 11, 119).gate()
    with pytest.raises(InvalidOption, match="kappa is not defined: judge and people gave every"):
        made(60, 0, 0, 0).gate()
    with pytest.raises(InvalidOption, match="of 2 judges together lets none of them gate"):
        made(40, 2, 3, 40, judges=[{"name": "a"}, {"name": "b"}]).gate()
    assert made(17, 21, 11, 119, minimum=Minimum(kappa=0.41)).meets_minimum is False
    assert made(17, 21, 11, 119, minimum=Minimum(kappa=0.4)).meets_minimum


def document(**changes: Any) -> dict[str, Any]:
    return made(40, 2, 3, 40).to_dict() | changes


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        pytest.param({"format": "x"}, "is no calibration: 'format' is not", id="format"),
        pytest.param({"judges": []}, "$.judges", id="no judge"),
        pytest.param({"pass_from": 7}, "$.pass_from", id="beyond the scale"),
        pytest.param({"fail_below": 4.5}, "fail_below is above pass_from", id="bounds"),
        pytest.param({"n_pairs": 80}, "do not fit each other", id="other sums"),
        pytest.param({"confusion": {"tp": 1}}, "$.confusion.fp", id="no matrix"),
        pytest.param(
            {"confusion": {"tp": -1, "fp": 0, "fn": 0, "tn": 0}}, "$.confusion.tp", id="negative"
        ),
        pytest.param({"minimum": {"kappa": 9}}, "$.minimum.kappa", id="kappa of 9"),
        pytest.param({"consensus": "loudest"}, "$.consensus", id="consensus"),
    ],
)
def test_what_is_no_calibration_is_refused_in_one_line(
    changes: dict[str, Any], said: str, tmp_path: Path
) -> None:
    path = tmp_path / "calibration.json"
    path.write_text(json.dumps(document(**changes)), encoding="utf-8")
    with pytest.raises(UnknownFormat) as caught:
        load_calibration(path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_newer_calibration_is_not_guessed_at() -> None:
    with pytest.raises(UnsupportedVersion, match="format version 2; this release reads version 1"):
        parse_calibration(document(version=2))


@pytest.mark.parametrize("data", [b"", b"[1]", b"{", b'{"format": 1}', b"\xff"], ids=repr)
def test_bytes_that_are_no_calibration_are_one_line(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    path.write_bytes(data)
    with pytest.raises(UnknownFormat) as caught:
        load_calibration(path)
    assert "\n" not in str(caught.value)
