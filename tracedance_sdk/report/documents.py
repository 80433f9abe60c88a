"""What a command graded as one JSON document, for programs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Final

import orjson

from tracedance_sdk.grading import Verdict
from tracedance_sdk.report.rates import pass_rates, rates_document
from tracedance_sdk.report.rows import Row
from tracedance_sdk.trace import spelled_out

FORMAT: Final = "tracedance.evaluation"
VERSION: Final = 1

_NOT_ASCII: Final = re.compile(r"[^\x00-\x7e]")


def rows_document(rows: Iterable[Row]) -> dict[str, Any]:
    """Return rows as a versioned JSON document, the same shape for one and for many.

    ``{"format": "tracedance.evaluation", "version": 1, "summary": {...}, "rows": [...]}``; each
    row has ``name``, ``path``, ``verdict``, and either ``report`` or ``problem``. The summary
    counts verdicts and has ``pass_rate`` and ``pass_hat_k`` as in `rates_document`.
    """
    listed = list(rows)
    verdicts = [row.verdict for row in listed]
    return {
        "format": FORMAT,
        "version": VERSION,
        "summary": {
            "traces": sum(row.report is not None for row in listed),
            "unread": sum(row.report is None for row in listed),
            "verdicts": {verdict.value: verdicts.count(verdict) for verdict in Verdict},
            **rates_document(pass_rates(listed)),
        },
        "rows": [_row_document(row) for row in listed],
    }


def document_text(document: dict[str, Any]) -> str:
    """Return a document as indented JSON in ASCII: for any encoding, with nothing to obey in it.

    Keys are sorted, because their order may differ between a process and its children. What a
    file's name has that is not UTF-8 stands in it as an escape.
    """
    option = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS
    text = orjson.dumps(spelled_out(document), option=option).decode()
    return _NOT_ASCII.sub(_json_escape, text)


def _json_escape(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1] if found[0] != "\x7f" else "\\u007f"


def _row_document(row: Row) -> dict[str, Any]:
    fields = {"name": row.name, "path": row.path, "verdict": row.verdict.value}
    if row.report is None:
        return {**fields, "problem": row.problem}
    return {**fields, "report": row.report.to_dict()}
