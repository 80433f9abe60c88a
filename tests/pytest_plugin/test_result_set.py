"""One result set for one run of pytest, however many workers there are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

TESTS = """
import pytest
from tracedance_sdk.grading import TaskSpec
from tracedance_sdk.pytest_plugin import assert_passes
import tracedance_sdk as td

shelf = {}

@td.tool
def put(number: int) -> int:
    shelf["last"] = number
    return number

SPEC = TaskSpec.model_validate({
    "id": "put",
    "outcomes": [{"id": "put", "expected_state": {"last": {"$range": {"max": 6}}}}],
})

@pytest.mark.parametrize("number", range(8))
def test_put(tracedance_recorder, number):
    with tracedance_recorder(state=lambda: dict(shelf), group="shelf") as recorder:
        put(number)
    assert_passes(recorder.trace, SPEC)
"""


def rows_of(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "rows.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("workers", ["0", "3"])
def test_eight_tests_give_one_result_set_with_one_fail(
    pytester: pytest.Pytester, workers: str
) -> None:
    pytester.makepyfile(test_put=TESTS)

    result = pytester.runpytest("-n", workers, "--tracedance-out=out")

    result.assert_outcomes(passed=7, failed=1)
    assert sorted(path.name for path in (pytester.path / "out").iterdir()) == [
        "manifest.json",
        "rows.jsonl",
    ]
    rows = rows_of(pytester.path / "out")
    subjects = [row["subject"]["instance_id"] for row in rows]
    assert subjects == [f"test_put.py::test_put[{number}]" for number in range(8)]
    assert [row["verdict"] for row in rows] == ["pass"] * 7 + ["fail"]
    result.stdout.fnmatch_lines(
        [
            "8 graded: 1 fail, 7 pass",
            "1 trace kept in .tracedance/run-*",
            "8 rows written to out",
        ]
    )
