"""What a page of results is made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tracedance_sdk.judging import ItemKey
from tracedance_sdk.report.html.page import (
    PageBounds,
)
from tracedance_sdk.report.html.rates import (
    ReportItem,
)
from tracedance_sdk.report.html.related import Relations
from tracedance_sdk.report.html.turns import DecisionPlace


class ResultSource(NamedTuple):
    """What a page of results is made from.

    Attributes:
        title: Its heading.
        manifest: What the set says of itself.
        items: What it holds.
        places: Decisions by item, for those whose trace is known.
        notes: What the reader should know, in sentences.
        relations: Occurrences and tests of the same traces.
        bounds: How much of everything.
    """

    title: str
    manifest: Mapping[str, Any]
    items: Sequence[ReportItem]
    places: Mapping[ItemKey, DecisionPlace] = {}
    notes: Sequence[str] = ()
    relations: Relations = Relations()
    bounds: PageBounds = PageBounds()
