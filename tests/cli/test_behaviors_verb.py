"""`tracedance behaviors FILE`: a user's own behaviour is checked before anything is scanned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.behaviors.test_behavior_files import written
from tracedance_sdk.cli import run as tracedance

ANCHOR = "def anchor(run, place, parameters):\n    "


def anchor(**fields: Any) -> dict[str, Any]:
    return {"sql": "SELECT trace_id, turn FROM turns", **fields}


def test_a_sound_file_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tracedance(["behaviors", written(tmp_path)]) == 0
    told = capsys.readouterr()
    assert told.out.startswith("X01 Mine")
    assert told.err == ""


@pytest.mark.parametrize("option", [[], ["--json"], ["--try", "nowhere"]], ids=str)
@pytest.mark.parametrize(
    ("fields", "told"),
    [
        (
            {"levels": {0: "It runs.", 3: "x", 5: " it  runs "}},
            "levels 0 and 5 say the same, so that nothing about it is undesirable @ $.levels",
        ),
        ({"anchor": anchor(sql="SELECT now(), 1")}, "'now' gives something else each time"),
        ({"anchor": anchor(sql="DROP TABLE turns")}, "only SELECT is allowed"),
        ({"anchor": anchor(sql="SELECT 1, 2 FROM nowhere")}, "no table 'nowhere'"),
        ({"anchor": anchor(code=ANCHOR + "return open('x')")}, "the name 'open' is not allowed"),
        ({"anchor": anchor(code="x = 1")}, "one function 'anchor(run, place, parameters)'"),
        ({"anchor": anchor(predicate="nobodys")}, "no packaged predicate or judge 'nobodys'"),
        ({"judge": "nobodys"}, "no packaged predicate or judge 'nobodys'"),
    ],
    ids=["levels", "clock", "drop", "table", "source", "no function", "predicate", "judge"],
)
def test_what_is_wrong_with_a_file_is_one_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    fields: dict[str, Any],
    told: str,
    option: list[str],
) -> None:
    assert tracedance(["behaviors", written(tmp_path, **fields), *option]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert told in said.err
    assert said.err.count("\n") == 1


@pytest.mark.parametrize("name", ["A01", "C05", "F10"])
def test_behaviours_of_the_catalogue_are_sound(name: str, tmp_path: Path) -> None:
    assert tracedance(["behaviors", name]) == 0


def test_a_scan_refuses_a_file_before_it_looks_at_anything(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.behaviors.benchmark_stores import store_of

    store_of(tmp_path / "runs", 1)
    capsys.readouterr()
    file = written(tmp_path, anchor=anchor(sql="SELECT trace_id, 1 FROM traces WHERE random() < 1"))
    out = tmp_path / "found"
    command = ["scan", str(tmp_path / "runs"), "--behavior", file, "--out", str(out)]
    assert tracedance(command) == 2
    said = capsys.readouterr()
    assert "anchor.sql: 'random' gives something else each time it is asked" in said.err
    assert said.err.count("\n") == 1
    assert not out.exists()
