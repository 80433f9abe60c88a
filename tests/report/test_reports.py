"""The report on one trace, the table of many, the JSON document and JUnit XML."""

from __future__ import annotations

import io
import json
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from rich.console import Console

from tracedance_sdk.demo import SCRIPTS, demo_judge, demo_task, record_run
from tracedance_sdk.grading import (
    Evidence,
    Grade,
    Issue,
    JudgeAnswer,
    Judgement,
    Report,
    Verdict,
    evaluate,
)
from tracedance_sdk.report import (
    MARKS,
    ReportConsole,
    Row,
    document_text,
    junit_xml,
    print_report,
    print_table,
    report_console,
    rows_document,
    score_text,
)

HOSTILE = "[red]x[/red] \x1b[31m\x07 \u202e ]]> <b> & \ud800 \x00 \ufffe"


def console_on(width: int = 80, *, encoding: str = "utf-8") -> tuple[ReportConsole, io.BytesIO]:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, errors="backslashreplace", newline="\n")
    return report_console(stream, width=width), raw


def written(console: Console, raw: io.BytesIO) -> str:
    console.file.flush()
    return raw.getvalue().decode(console.encoding)


def report_text(report: Report, *, width: int = 80, **given: Any) -> str:
    console, raw = console_on(width)
    print_report(report, console, **given)
    return written(console, raw)


def table_text(rows: list[Row], *, width: int = 80, encoding: str = "utf-8") -> str:
    console, raw = console_on(width, encoding=encoding)
    print_table(rows, console)
    return written(console, raw)


def demo_rows() -> list[Row]:
    task, judge = demo_task(), demo_judge()
    return [
        Row(f"{name}.json", f"runs/{name}.json", evaluate(record_run(name), task, judge=judge))
        for name in SCRIPTS
    ]


def made(verdict: Verdict, text: str = "as it is", **fields: Any) -> Report:
    """Build a report with one grade of each dimension that has the verdict."""
    evidence = (Evidence(what=text, call_id=text, severity="critical"),)
    grades = [
        Grade(
            criterion=f"{dimension}-{verdict.value}",
            name=text,
            dimension=dimension,
            type="callable",
            verdict=verdict,
            reason=text,
            evidence=() if verdict is Verdict.PASS else evidence,
        )
        for dimension in ("outcome", "actions", "critical_errors", "further")
    ]
    return Report(
        trace_id="t", verdict=verdict, raw_verdict=verdict, grades=tuple(grades), **fields
    )


def test_the_report_on_the_run_that_chose_john() -> None:
    trace = record_run("critical-error")
    report = evaluate(trace, demo_task(), judge=demo_judge())
    assert report_text(report, title="critical-error.json", trace=trace) == snapshot("""\
critical-error.json
Find the total Q3 revenue in the spreadsheet and email it to Sam.
task revenue-email

✓  Outcome             1.00  the final state is as expected
✗  Actions             0.00  1 violation
    - action 4 (select_contact) was given {'name': 'John'}; acceptable:
      {'name': 'Sam'}
‼  Critical Errors     0.00  1 violation
    - action 4 (select_contact): John must never be selected as the recipient
✓  Further Criteria    1.00  nothing else changed
   Trajectory Quality  0.85  A wrong contact was selected and replaced
    before anything was sent; the rest of the path is direct.
    - medium confusing_action (action 4): nothing in the task leads to John
────────────────────────────────────────
‼ CRITICAL
trajectory score 0.85
""")


def test_the_report_on_the_failed_run_lists_every_violation() -> None:
    report = evaluate(record_run("failed"), demo_task())
    assert report_text(report, title="failed.json") == snapshot("""\
failed.json
Find the total Q3 revenue in the spreadsheet and email it to Sam.
task revenue-email

✗  Outcome             0.00  2 violations
    - /email/recipient is 'John'; expected 'Sam'
    - /email/body is 'Total revenue: $100'; expected 'Total revenue: $482500'
✗  Actions             0.00  2 violations
    - action 2 (select_range) was given {'range': 'A1:A5'}; acceptable:
      {'range': 'B4:B11'}
    - action 4 (select_contact) was given {'name': 'John'}; acceptable:
      {'name': 'Sam'}
‼  Critical Errors     0.00  1 violation
    - action 4 (select_contact): John must never be selected as the recipient
✓  Further Criteria    1.00  nothing else changed
   Trajectory Quality   n/a  no judge was asked
────────────────────────────────────────
‼ CRITICAL
trajectory score n/a
""")


def test_the_table_of_the_four_runs_on_an_ordinary_terminal() -> None:
    assert table_text(demo_rows()) == snapshot("""\
Trace                   Outcome Actions Critical Further Trajectory Overall
critical-error.json     ✓       ✗       ‼        ✓       0.85       ‼ CRITICAL
efficient.json          ✓       ✓       ✓        ✓       0.98       ✓ PASS
failed.json             ✗       ✗       ‼        ✓       0.12       ‼ CRITICAL
inefficient.json        ✓       ✗       ✓        ✓       0.88       ✗ FAIL

Why
  critical-error.json: never select John: action 4 (select_contact): John must
    never be selected as the recipient
  failed.json: never select John: action 4 (select_contact): John must never
    be selected as the recipient
  inefficient.json: acceptable inputs: action 2 (select_range) was given
    {'range': 'A1:Z100'}; acceptable: {'range': 'B4:B11'}

1/4 traces passed
pass rate 25.0 %, 95 % interval 4.6 to 69.9 %
""")


def test_the_table_says_why_where_there_is_room() -> None:
    assert table_text(demo_rows(), width=132) == snapshot("""\
Trace                   Outcome   Actions   Critical  Further   Trajectory  Overall         Why
critical-error.json     ✓         ✗         ‼         ✓         0.85        ‼ CRITICAL      never select John: action 4 (select_c...
efficient.json          ✓         ✓         ✓         ✓         0.98        ✓ PASS
failed.json             ✗         ✗         ‼         ✓         0.12        ‼ CRITICAL      never select John: action 4 (select_c...
inefficient.json        ✓         ✗         ✓         ✓         0.88        ✗ FAIL          acceptable inputs: action 2 (select_r...

Why
  critical-error.json: never select John: action 4 (select_contact): John must never be selected as the recipient
  failed.json: never select John: action 4 (select_contact): John must never be selected as the recipient
  inefficient.json: acceptable inputs: action 2 (select_range) was given {'range': 'A1:Z100'}; acceptable: {'range': 'B4:B11'}

1/4 traces passed
pass rate 25.0 %, 95 % interval 4.6 to 69.9 %
""")  # noqa: E501 - as wide as the terminal


def test_a_narrow_terminal_gets_a_block_for_each_trace() -> None:
    assert table_text(demo_rows()[:2], width=36) == snapshot("""\
critical-error.json
  ‼ CRITICAL
  outcome ✓, actions ✗, critical ‼,
  further ✓, trajectory 0.85
efficient.json
  ✓ PASS
  outcome ✓, actions ✓, critical ✓,
  further ✓, trajectory 0.98

Why
  critical-error.json: never
    select John: action 4
    (select_contact): John must
    never be selected as the
    recipient

1/2 traces passed
pass rate 50.0 %, 95 % interval
  9.5 to 90.5 %
""")


def test_an_encoding_without_the_marks_gets_plain_ones() -> None:
    assert table_text(demo_rows(), encoding="ascii") == snapshot("""\
Trace                   Outcome Actions Critical Further Trajectory Overall
critical-error.json     +       x       !!       +       0.85       !! CRITICAL
efficient.json          +       +       +        +       0.98       + PASS
failed.json             x       x       !!       +       0.12       !! CRITICAL
inefficient.json        +       x       +        +       0.88       x FAIL

Why
  critical-error.json: never select John: action 4 (select_contact): John must
    never be selected as the recipient
  failed.json: never select John: action 4 (select_contact): John must never
    be selected as the recipient
  inefficient.json: acceptable inputs: action 2 (select_range) was given
    {'range': 'A1:Z100'}; acceptable: {'range': 'B4:B11'}

1/4 traces passed
pass rate 25.0 %, 95 % interval 4.6 to 69.9 %
""")
    assert table_text(demo_rows(), encoding="cp1252").isascii()


@pytest.mark.parametrize("column", [0, 1])
def test_no_two_verdicts_share_a_mark(column: int) -> None:
    assert len({mark[column] for mark in MARKS.values()}) == len(Verdict)


def test_five_verdicts_are_told_apart_without_colour() -> None:
    rows = [Row(verdict.value, "p", made(verdict)) for verdict in Verdict]
    text = table_text(rows)
    assert "\x1b" not in text
    lines = text.splitlines()[1:6]
    assert [line.split()[-1] for line in lines] == [verdict.value.upper() for verdict in Verdict]
    assert len({line.split()[1] for line in lines}) == len(Verdict)


def test_an_unread_file_is_an_error_row_and_its_reason_is_listed() -> None:
    rows = [
        Row("good.json", "good.json", made(Verdict.PASS)),
        Row("bad.json", "bad.json", None, "not JSON"),
    ]
    assert table_text(rows) == snapshot("""\
Trace                   Outcome Actions Critical Further Trajectory Overall
good.json               ✓       ✓       ✓        ✓       n/a        ✓ PASS
bad.json                -       -       -        -       n/a        ! ERROR

Why
  bad.json: not graded: not JSON

1/2 traces passed
pass rate 100.0 % of 1 conclusive, 95 % interval 20.7 to 100.0 %; 1 error not
  counted
""")


def test_errored_grades_are_listed_even_when_something_is_critical() -> None:
    report = made(Verdict.CRITICAL)
    broken = Grade(
        criterion="mine", type="callable", verdict=Verdict.ERROR, reason="ZeroDivisionError: oops"
    )
    row = Row("a", "a", report.model_copy(update={"grades": (*report.grades, broken)}))
    assert "a: mine: ZeroDivisionError: oops" in table_text([row])


def test_long_names_are_shortened_in_the_middle() -> None:
    rows = [
        Row(f"traces/2026-01-17/refund-of-a-customer-{n}.json", "p", made(Verdict.PASS))
        for n in (1, 2)
    ]
    lines = table_text(rows).splitlines()
    shown = [line.split()[0] for line in lines[1:3]]
    assert shown == ["traces/2026-...tomer-1.json", "traces/2026-...tomer-2.json"]


@pytest.mark.parametrize("width", [20, 40, 72, 73, 80, 100, 160])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    rows = [*demo_rows(), Row("日本語" * 20, "p", made(Verdict.INCONCLUSIVE, "because " * 40))]
    for line in table_text(rows, width=width).splitlines():
        assert len(line) <= width
    for row in rows:
        assert row.report is not None
        for line in report_text(row.report, width=width).splitlines():
            assert len(line) <= width


def test_text_from_traces_is_never_markup_nor_a_terminal_command() -> None:
    answer = JudgeAnswer(
        judge="j",
        judgement=Judgement(
            score=0.5,
            reasoning=HOSTILE,
            strengths=(),
            weaknesses=(),
            issues=(
                Issue(type="other", severity="low", action_ids=(HOSTILE,), explanation=HOSTILE),
            ),
        ),
        warnings=(HOSTILE,),
    )
    report = made(Verdict.FAIL, HOSTILE, judge=answer, notes=(HOSTILE,), task_id=HOSTILE)
    for text in (
        report_text(report, title=HOSTILE),
        table_text(
            [Row(HOSTILE, HOSTILE, report), Row(HOSTILE, HOSTILE, None, HOSTILE)], width=200
        ),
    ):
        assert "[red]x[/red]" in text
        assert not {char for char in text if ord(char) < 32} - {"\n"}
        assert "\u202e" not in text


@pytest.mark.parametrize(
    ("score", "text"),
    [(None, "n/a"), (0.0, "0.00"), (1.0, "1.00"), (0.999, "0.99"), (0.004, "0.00"), (0.85, "0.85")],
)
def test_a_score_has_two_decimals_and_none_is_no_number(score: float | None, text: str) -> None:
    assert score_text(score) == text


def test_a_verdict_changed_by_a_gate_says_what_it_was() -> None:
    report = made(Verdict.PASS).model_copy(update={"verdict": Verdict.FAIL})
    assert "before the judge was heard: PASS" in report_text(report)


def test_the_json_document_has_one_shape_for_one_and_many() -> None:
    rows = [*demo_rows(), Row("bad.json", "bad.json", None, "not JSON")]
    document = json.loads(json.dumps(rows_document(rows)))
    assert document["format"] == "tracedance.evaluation"
    assert document["version"] == 1
    assert document["summary"] == snapshot(
        {
            "traces": 4,
            "unread": 1,
            "verdicts": {"critical": 2, "fail": 1, "error": 1, "inconclusive": 0, "pass": 1},
            "pass_rate": {
                "passed": 1,
                "conclusive": 4,
                "inconclusive": 0,
                "error": 1,
                "value": 0.25,
                "interval": {"low": 0.0455872608097006, "high": 0.699358157417598, "level": 0.95},
                "interval_over_tasks": None,
            },
            "pass_hat_k": None,
        }
    )
    assert [row["verdict"] for row in document["rows"]] == snapshot(
        ["critical", "pass", "critical", "fail", "error"]
    )
    assert document["rows"][4] == snapshot(
        {"name": "bad.json", "path": "bad.json", "verdict": "error", "problem": "not JSON"}
    )
    assert rows_document(rows[:1]).keys() == document.keys()
    assert document["rows"][0]["report"]["trajectory"]["score"] == 0.85


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_the_json_text_is_ascii_and_the_same_document(text: str) -> None:
    rows = [Row(text, text, made(Verdict.FAIL, text))]
    written = document_text(rows_document(rows))
    assert written.isascii()
    assert not {char for char in written if ord(char) < 32 or ord(char) == 127} - {"\n"}
    assert json.loads(written) == json.loads(json.dumps(rows_document(rows)))


def cases(rows: list[Row]) -> tuple[ET.Element, list[list[tuple[str, str | None]]]]:
    root = ET.fromstring(junit_xml(rows))
    return root, [
        [(child.tag, child.get("type")) for child in case] for case in root.iter("testcase")
    ]


def test_junit_tells_failures_from_errors_and_skips_nothing() -> None:
    rows = [Row(verdict.value, "p", made(verdict)) for verdict in Verdict]
    root, found = cases([*rows, Row("bad.json", "bad.json", None, "not JSON")])
    assert found == [
        [("failure", "critical")],
        [("failure", "fail")],
        [("error", "error")],
        [("error", "inconclusive")],
        [],
        [("error", "error")],
    ]
    counts = {"tests": "6", "failures": "2", "errors": "3", "skipped": "0"}
    assert root.attrib == counts
    suite = root.find("testsuite")
    assert suite is not None
    assert suite.attrib == {"name": "tracedance", **counts}
    assert root.find(".//skipped") is None


def test_junit_text_says_what_was_found() -> None:
    (row,) = [row for row in demo_rows() if row.name == "failed.json"]
    root, _ = cases([row])
    failure = root.find(".//failure")
    assert failure is not None
    assert failure.text == snapshot("""\
critical: never select John
  - action 4 (select_contact): John must never be selected as the recipient
fail: the right mail was sent
  - /email/recipient is 'John'; expected 'Sam'
  - /email/body is 'Total revenue: $100'; expected 'Total revenue: $482500'
fail: acceptable inputs
  - action 2 (select_range) was given {'range': 'A1:A5'}; acceptable: {'range': 'B4:B11'}
  - action 4 (select_contact) was given {'name': 'John'}; acceptable: {'name': 'Sam'}
trajectory score 0.12\
""")


@given(st.text(st.characters(), max_size=40))
def test_junit_is_xml_whatever_a_trace_holds(text: str) -> None:
    rows = [Row(text, text, made(Verdict.FAIL, text)), Row(text, text, None, text)]
    root, found = cases(rows)
    assert len(found) == 2
    assert "\x1b" not in ET.tostring(root, encoding="unicode")


def test_every_note_is_printed_once_below_the_table() -> None:
    rows = [Row(f"{n}.json", f"{n}.json", made(Verdict.PASS, notes=("look",))) for n in "ab"]
    rows.append(Row("c.json", "c.json", made(Verdict.PASS, notes=("and here",))))
    assert table_text(rows).splitlines()[-6:] == [
        "",
        "note: look (2 traces)",
        "note: and here (c.json)",
        "",
        "3/3 traces passed",
        "pass rate 100.0 %, 95 % interval 43.9 to 100.0 %",
    ]


@pytest.mark.parametrize("width", [40, 80, 100, 200])
def test_the_reason_of_an_error_is_told_once_and_in_full(width: int) -> None:
    rows = [
        Row("bad.json", "bad.json", problem=f"a{'b' * 20}c"),
        Row("ok", "ok", made(Verdict.PASS)),
    ]
    said = "".join(table_text(rows, width=width).split())
    assert said.count(f"notgraded:a{'b' * 20}c") == 1


@pytest.mark.parametrize("width", [40, 80, 100, 200])
def test_whoever_reads_a_table_learns_why_a_trace_did_not_pass(width: int) -> None:
    text = " ".join(table_text(demo_rows(), width=width).split())
    for name in ("critical-error", "failed"):
        assert f"{name}.json: never select John: action 4" in text or width == 200
    assert text.count("John must never be selected") == 2
