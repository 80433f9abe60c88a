"""Tables in which people write labels with a spreadsheet.

They hold untrusted text. A spreadsheet runs a cell that begins with ``=``, ``+``, ``-`` or ``@`` as
a formula, so such text gets an apostrophe before it, also after a semicolon, a tab or a line
break, where another program may see a cell begin.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from typing import Final, NamedTuple

import orjson

from tracedance_sdk.judging.items import JudgedItem
from tracedance_sdk.judging.labelling import Scale
from tracedance_sdk.judging.labels import ItemKey
from tracedance_sdk.trace import spelled_out

_FORMULA: Final = r"[^\S\t\r\n]*[=+\-@\uff1d\uff0b\uff0d\uff20]"
_PLAIN: Final = re.compile(rf"(\A|[;\t\r\n])('*{_FORMULA})")
_MARKED: Final = re.compile(rf"(\A|[;\t\r\n])'('*{_FORMULA})")
_LONGEST_CELL: Final = 32_000
"""Characters; spreadsheets take 32,767."""


class TemplateItem(NamedTuple):
    """An item as a table shows it to a labeller.

    Attributes:
        item: What is to be labelled.
        context: What came before, in words; empty where a whole run is labelled.
        response: The response or the run, in words.
    """

    item: JudgedItem
    context: str
    response: str


def protected(text: str) -> str:
    """Return text that no spreadsheet takes for a formula.

    Example:
        >>> protected("=1+1"), protected("two - one"), protected("a;=1")
        ("'=1+1", 'two - one', "a;'=1")
    """
    return _PLAIN.sub(r"\1'\2", text)


def unprotected(text: str) -> str:
    """Return what `protected` was given.

    Example:
        >>> unprotected("'=1+1"), unprotected("'tis so")
        ('=1+1', "'tis so")
    """
    return _MARKED.sub(r"\1\2", text)


def label_template(items: Iterable[TemplateItem], scale: Scale, *, as_json: bool = False) -> str:
    """Return a table in which labels can be written, a row for each item.

    The columns are ``item``, a name that says nothing of the item; ``context`` and ``response``;
    and ``score`` (or ``passed``), ``note`` and ``labeller``, which are empty.

    Args:
        items: What is to be labelled. Texts for a spreadsheet are cut at 32,000 characters.
        scale: Of the rubric.
        as_json: As JSON lines instead of CSV.
    """
    answer = "passed" if scale.is_pass_fail else "score"
    empty = dict.fromkeys((answer, "note", "labeller"), "")
    rows = (
        {
            "item": ItemKey.of(shown.item).short,
            "context": shown.context,
            "response": shown.response,
            **empty,
        }
        for shown in items
    )
    if as_json:
        return "".join(f"{orjson.dumps(spelled_out(row)).decode()}\n" for row in rows)
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    writer.writerow(["item", "context", "response", *empty])
    writer.writerows([_cell(text) for text in row.values()] for row in rows)
    return out.getvalue()


def _cell(text: str) -> str:
    text = str(spelled_out(text))
    cut = text if len(text) <= _LONGEST_CELL else f"{text[: _LONGEST_CELL - 5]}\n[...]"
    return protected(cut)
