"""`tracedance behaviors FILE`: a user's own behaviour is checked before anything is scanned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.behaviors.test_behavior_files import written
from tracedance_sdk.behaviors import packaged_behaviors
from tracedance_sdk.behaviors.foreign.dry_run import places_problem
from tracedance_sdk.cli import run as tracedance
from tracedance_sdk.store import columns_of_answer

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
        (
            {"anchor": anchor(sql="SELECT trace_id, turn FROM features WHERE claims_succes")},
            "X01, anchor.sql: no column 'claims_succes': perhaps claims_success",
        ),
        (
            {"anchor": anchor(sql="SELECT trace_id FROM turns")},
            "columns trace_id, turn and maybe call are needed, in this order, not trace_id\n",
        ),
        ({"anchor": anchor(sql="SELECT trace_id, call FROM calls")}, "not trace_id, call\n"),
        ({"anchor": anchor(sql="SELECT turn, trace_id FROM turns")}, "not turn, trace_id\n"),
        (
            {"anchor": anchor(sql="SELECT trace_id, turn / 2 FROM turns")},
            "turn is a whole number, and '(turn / 2)' is DOUBLE",
        ),
        (
            {"anchor": anchor(code="import re\n" + ANCHOR + "return re.search('(?<=a)b', 'ab')")},
            "X01, anchor.code: the pattern '(?<=a)b': invalid perl operator: (?<=; RE2 has no look",
        ),
        (
            {
                "anchor": anchor(
                    code="from re import sub as s\nP = r'(a)\\1'\n" + ANCHOR + "s(P, '', '')"
                )
            },
            "invalid escape sequence: \\1; RE2 has no look-ahead, no look-behind and no back-refer",
        ),
        (
            {"anchor": anchor(code="import re\nP = re.compile('(?' + '=b)')\n" + ANCHOR + "P")},
            "X01, anchor.code: ValueError: \"the pattern '(?=b)'",
        ),
        ({"anchor": anchor(code="N = sum(range(10**12))\n" + ANCHOR + "N")}, "killed after 3 s"),
    ],
    ids=[
        *("levels", "clock", "drop", "table", "source", "no function", "predicate", "judge"),
        *("column", "no turn", "no turn but call", "order", "type"),
        *("look-behind", "back-reference", "at the top", "long top"),
    ],
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


def test_a_pattern_that_is_put_together_is_an_error_of_its_place_and_no_log_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from tests.behaviors.benchmark_stores import store_of

    store_of(tmp_path / "runs", 1)
    code = "import re\n" + ANCHOR + "return re.search('(?' + '=b)', 'ab')"
    file = written(tmp_path, anchor=anchor(code=code))
    assert tracedance(["behaviors", file]) == 0
    capfd.readouterr()
    assert tracedance(["scan", str(tmp_path / "runs"), "--behavior", file]) == 3
    told = capfd.readouterr().err
    assert "the pattern '(?=b)': invalid perl operator" in told
    assert "re2.cc" not in told


def test_the_sql_of_every_behaviour_of_the_catalogue_names_places() -> None:
    for name, behavior in packaged_behaviors().items():
        assert places_problem(columns_of_answer(behavior.anchor.sql)) is None, name


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
