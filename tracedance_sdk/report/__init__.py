"""What people read: reports on the console, as JSON and as JUnit XML.

Submodules are imported when one of their names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracedance_sdk._lazy import lazy_face

if TYPE_CHECKING:
    from tracedance_sdk.report.console import ReportConsole, report_console
    from tracedance_sdk.report.safe_text import (
        in_one_line,
        json_text,
        shorten,
        shorten_middle,
        value_text,
        visible,
        xml_text,
    )
    from tracedance_sdk.report.show import print_trace

__all__ = [
    "ReportConsole",
    "in_one_line",
    "json_text",
    "print_trace",
    "report_console",
    "shorten",
    "shorten_middle",
    "value_text",
    "visible",
    "xml_text",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "console": ("ReportConsole", "report_console"),
        "safe_text": (
            "in_one_line",
            "json_text",
            "shorten",
            "shorten_middle",
            "value_text",
            "visible",
            "xml_text",
        ),
        "show": ("print_trace",),
    },
)
