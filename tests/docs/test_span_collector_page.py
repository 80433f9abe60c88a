"""The page on collected spans: its options, limits and table of dialects are those of the code."""

from __future__ import annotations

import inspect

from tests.docs.pages import code_names, page, section, table
from tests.otel.test_dialects import RUNS
from tests.support.live_spans import written
from tracedance_sdk.recording import CollectorLimits, CollectorSummary, SpanCollector
from tracedance_sdk.trace import is_unobserved

PAGE = page("span_collector.md")
UNITS = {"3600": 3600.0, "30": 30.0, "10,000": 10_000, "100,000": 100_000}


def test_the_options_are_those_of_the_code() -> None:
    shown = [name for row in table(section(PAGE, "Options")) for name in code_names(row[0])]
    parameters = set(inspect.signature(SpanCollector).parameters)
    assert set(shown) == parameters


def test_the_limits_are_those_of_the_code() -> None:
    rows = table(section(PAGE, "Options").split("Older instrumentations")[1])
    shown = {
        code_names(row[0])[0]: int(row[1].removesuffix(" MiB")) << 20
        if "MiB" in row[1]
        else UNITS[row[1]]
        for row in rows
    }
    assert shown == CollectorLimits()._asdict()


def test_the_fields_of_the_summary_are_those_of_the_code() -> None:
    rows = table(section(PAGE, "What summary() returns"))
    assert tuple(code_names(row[0])[0] for row in rows) == CollectorSummary._fields


def test_the_dialects_give_what_the_table_says() -> None:
    shown = {row[0]: row[1:-1] for row in table(section(PAGE, "What the dialects give"))}
    assert shown == {dialect: given(dialect) for dialect in RUNS}


def given(dialect: str) -> list[str]:
    """Return what a live run in a dialect tells, as the table has it."""
    collector = SpanCollector()
    written(collector.provider, RUNS[dialect])
    [trace] = collector.traces
    [call] = trace.calls
    told = [
        trace.turns[0].text == "Weather in Rome?" and trace.turns[1].model == "m",
        call.id == "c1",
        call.arguments == {"at": "Rome"},
        call.result is not None and not is_unobserved(call.result.content),
        trace.session_id == "s1",
        trace.turns[1].usage is not None and trace.turns[1].usage.input_tokens == 7,
    ]
    return ["yes" if fact else "no" for fact in told]
