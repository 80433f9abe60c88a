"""What a replay says of answers that were recorded with masked parts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.replay.conversations import trace_of
from tests.replay.test_rebuilding import ORDER, asked
from tracedance_sdk.cli import run
from tracedance_sdk.formats import load_trace
from tracedance_sdk.grading import read_results
from tracedance_sdk.replay import rebuild, save_tests

MASKED = "the key is [MASKED:api_key:4be1a0c2d3e4]"


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    trace = trace_of("t1", "g", ("get_order", ORDER, "open"), ("get_key", ORDER, MASKED))
    save_tests(rebuild([asked(trace, "Which key has W-1001?")]).tests, tmp_path / "rebuilt")
    (tmp_path / "grading.py").write_text("def fine(trace):\n    return True\n")
    return tmp_path / "rebuilt"


def test_a_verdict_names_the_masked_answers_and_stands(
    suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, traces = tmp_path / "out", tmp_path / "runs"
    given = ["--agent", "recorded", "--grader", f"{tmp_path / 'grading.py'}:fine"]
    places = ["--out", str(out), "--traces", str(traces)]
    assert run(["replay", str(suite), *given, *places]) == 0
    printed = capsys.readouterr().out
    assert "1 answer with masked parts: told less than then" in printed
    (row,) = read_results(out).rows
    document = json.loads(row.model_dump_json())
    assert (document["masked"], document["verdict"], document["rests_on"]) == (1, "pass", [])
    (path,) = traces.iterdir()
    marks = [(call.model_extra or {})["answer"].get("masked") for call in load_trace(path).calls]
    assert marks == [None, True]
