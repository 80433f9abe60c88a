"""Verdicts as JUnit XML, for the programs that show test results.

``critical`` and ``fail`` are failures, ``error`` and ``inconclusive`` are errors; nothing is ever
skipped. The text is valid XML 1.0 whatever the traces hold.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence

from tracedance_sdk.grading import Verdict
from tracedance_sdk.report.marks import score_text
from tracedance_sdk.report.rows import Row
from tracedance_sdk.report.safe_text import in_one_line, xml_text

_TAGS = {
    Verdict.CRITICAL: "failure",
    Verdict.FAIL: "failure",
    Verdict.ERROR: "error",
    Verdict.INCONCLUSIVE: "error",
}


def junit_xml(rows: Sequence[Row], *, suite: str = "tracedance") -> bytes:
    """Return rows as one JUnit test suite: UTF-8 XML, a test case each, in their order.

    Args:
        rows: What was graded.
        suite: Name of the test suite.
    """
    tags = [_TAGS.get(row.verdict) for row in rows]
    counts = {
        "tests": str(len(rows)),
        "failures": str(tags.count("failure")),
        "errors": str(tags.count("error")),
        "skipped": "0",
    }
    root = ET.Element("testsuites", counts)
    element = ET.SubElement(root, "testsuite", {"name": xml_text(suite), **counts})
    for row in rows:
        _add_case(element, row)
    ET.indent(root)
    xml: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return xml + b"\n"


def _add_case(suite: ET.Element, row: Row) -> None:
    task = row.report.task_id if row.report is not None else None
    case = ET.SubElement(
        suite,
        "testcase",
        {
            "name": xml_text(in_one_line(row.name)),
            "classname": xml_text(in_one_line(task or "tracedance")),
            "file": xml_text(in_one_line(row.path)),
        },
    )
    tag = _TAGS.get(row.verdict)
    if tag is None:
        return
    message, details = _said(row)
    found = ET.SubElement(
        case, tag, {"type": row.verdict.value, "message": xml_text(in_one_line(message))}
    )
    found.text = xml_text(details)


def _said(row: Row) -> tuple[str, str]:
    """Return what made the verdict in one line, and everything there is to say."""
    report = row.report
    if report is None:
        problem = row.problem or "not graded"
        return problem, problem
    grades = [grade for grade in report.grades if grade.verdict is not Verdict.PASS]
    grades.sort(key=lambda grade: (not grade.decides, grade.verdict.rank))
    lines: list[str] = []
    for grade in grades:
        heading = f"{grade.verdict.value}: {grade.title}"
        lines.append(heading if grade.evidence else f"{heading}: {grade.reason}")
        lines += [f"  - {evidence.what}" for evidence in grade.evidence]
    lines += [*report.notes, f"trajectory score {score_text(report.trajectory_score)}"]
    return f"{grades[0].title}: {grades[0].reason}" if grades else lines[0], "\n".join(lines)
