"""What people read: reports on the console, as JSON and as JUnit XML.

Submodules are imported when one of their names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracedance_sdk._lazy import lazy_face

if TYPE_CHECKING:
    from tracedance_sdk.report.comparing import compare_results
    from tracedance_sdk.report.comparison import (
        Change,
        ComparedLine,
        Comparison,
        ComparisonPlan,
        LeftOut,
    )
    from tracedance_sdk.report.comparison_json import comparison_document
    from tracedance_sdk.report.comparison_rows import LineName
    from tracedance_sdk.report.comparison_statistics import LineStatistics
    from tracedance_sdk.report.comparison_text import (
        COMPARED_NUMBERS,
        COMPARED_TITLES,
        advice_lines,
        change_cells,
        compared_cells,
        comparison_verdict_text,
        line_title,
        sample_lines,
    )
    from tracedance_sdk.report.console import ReportConsole, report_console
    from tracedance_sdk.report.documents import document_text, rows_document
    from tracedance_sdk.report.html.links import file_href
    from tracedance_sdk.report.html.page import HtmlPage, PageBounds
    from tracedance_sdk.report.html.rates import ReportItem
    from tracedance_sdk.report.html.related import RebuiltFile, Relations
    from tracedance_sdk.report.html.rendering import rendered
    from tracedance_sdk.report.html.result_source import ResultSource
    from tracedance_sdk.report.html.results_page import results_page, wanted_items
    from tracedance_sdk.report.html.scan_page import ScanSource, scan_page, wanted_occurrences
    from tracedance_sdk.report.html.turns import DecisionPlace, EvidenceMark
    from tracedance_sdk.report.junit import junit_xml
    from tracedance_sdk.report.marks import MARKS, mark, score_text, verdict_text
    from tracedance_sdk.report.masking import ShownSecrets
    from tracedance_sdk.report.rates import (
        PassHatK,
        PassRates,
        pass_rates,
        percent,
        rate_lines,
        rates_document,
    )
    from tracedance_sdk.report.rows import Row, count_passed
    from tracedance_sdk.report.safe_text import (
        in_one_line,
        json_text,
        shorten,
        shorten_middle,
        value_text,
        visible,
        xml_text,
    )
    from tracedance_sdk.report.show import check_turn, print_text, print_trace, print_turn
    from tracedance_sdk.report.single import print_report
    from tracedance_sdk.report.table import print_table

__all__ = [
    "COMPARED_NUMBERS",
    "COMPARED_TITLES",
    "MARKS",
    "Change",
    "ComparedLine",
    "Comparison",
    "ComparisonPlan",
    "DecisionPlace",
    "EvidenceMark",
    "HtmlPage",
    "LeftOut",
    "LineName",
    "LineStatistics",
    "PageBounds",
    "PassHatK",
    "PassRates",
    "RebuiltFile",
    "Relations",
    "ReportConsole",
    "ReportItem",
    "ResultSource",
    "Row",
    "ScanSource",
    "ShownSecrets",
    "advice_lines",
    "change_cells",
    "check_turn",
    "compare_results",
    "compared_cells",
    "comparison_document",
    "comparison_verdict_text",
    "count_passed",
    "document_text",
    "file_href",
    "in_one_line",
    "json_text",
    "junit_xml",
    "line_title",
    "mark",
    "pass_rates",
    "percent",
    "print_report",
    "print_table",
    "print_text",
    "print_trace",
    "print_turn",
    "rate_lines",
    "rates_document",
    "rendered",
    "report_console",
    "results_page",
    "rows_document",
    "sample_lines",
    "scan_page",
    "score_text",
    "shorten",
    "shorten_middle",
    "value_text",
    "verdict_text",
    "visible",
    "wanted_items",
    "wanted_occurrences",
    "xml_text",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "comparing": ("compare_results",),
        "comparison": ("Change", "ComparedLine", "Comparison", "ComparisonPlan", "LeftOut"),
        "comparison_json": ("comparison_document",),
        "comparison_rows": ("LineName",),
        "comparison_statistics": ("LineStatistics",),
        "comparison_text": (
            "COMPARED_NUMBERS",
            "COMPARED_TITLES",
            "advice_lines",
            "change_cells",
            "compared_cells",
            "comparison_verdict_text",
            "line_title",
            "sample_lines",
        ),
        "console": ("ReportConsole", "report_console"),
        "documents": ("document_text", "rows_document"),
        "html.links": ("file_href",),
        "html.page": ("HtmlPage", "PageBounds"),
        "html.rates": ("ReportItem",),
        "html.related": ("RebuiltFile", "Relations"),
        "html.rendering": ("rendered",),
        "html.result_source": ("ResultSource",),
        "html.results_page": ("results_page", "wanted_items"),
        "html.scan_page": ("ScanSource", "scan_page", "wanted_occurrences"),
        "html.turns": ("DecisionPlace", "EvidenceMark"),
        "junit": ("junit_xml",),
        "marks": ("MARKS", "mark", "score_text", "verdict_text"),
        "masking": ("ShownSecrets",),
        "rates": ("PassHatK", "PassRates", "pass_rates", "percent", "rate_lines", "rates_document"),
        "rows": ("Row", "count_passed"),
        "safe_text": (
            "in_one_line",
            "json_text",
            "shorten",
            "shorten_middle",
            "value_text",
            "visible",
            "xml_text",
        ),
        "show": ("check_turn", "print_text", "print_trace", "print_turn"),
        "single": ("print_report",),
        "table": ("print_table",),
    },
)
