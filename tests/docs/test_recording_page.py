"""The page on recording: its tables are those of the code, its promises have tests."""

from __future__ import annotations

import inspect
import re

from tests.docs.pages import ROOT, code_names, page, section, table
from tracedance_sdk.recording import CloseSummary, TraceRecorder, tool
from tracedance_sdk.recording.calls import _LONGEST_MESSAGE
from tracedance_sdk.recording.directory_state import MAX_ENTRIES, MAX_TEXT
from tracedance_sdk.recording.evidence import BLOB_BYTES
from tracedance_sdk.recording.exporting import PATIENCE_SECONDS
from tracedance_sdk.recording.snapshots import PATIENCE_SECONDS as STATE_PATIENCE_SECONDS
from tracedance_sdk.recording.sqlite_state import MAX_ROWS
from tracedance_sdk.recording.value_stubs import MAX_BYTES, MAX_REPR
from tracedance_sdk.recording.values import MAX_VALUE_DEPTH
from tracedance_sdk.settings import SETTINGS

PAGE = page("recording.md")


def first_names(heading: str) -> list[str]:
    return [name for row in table(section(PAGE, heading)) for name in code_names(row[0])]


def test_every_promise_names_tests_that_exist() -> None:
    known = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^(?:async )?def (test_\w+)", path.read_text("utf-8"), re.MULTILINE)
    }
    promises = re.split(r"^\d+\. ", section(PAGE, "The contract"), flags=re.MULTILINE)[1:]
    assert len(promises) >= 15
    for promise in promises:
        named = [name for name in code_names(promise) if name.startswith("test_")]
        assert named, promise
        assert set(named) <= known, sorted(set(named) - known)


def test_the_arguments_of_recorder_and_decorator_are_those_of_their_signatures() -> None:
    recorder = list(inspect.signature(TraceRecorder.__init__).parameters)
    assert first_names("TraceRecorder") == recorder[1:]
    assert first_names("Tools") == list(inspect.signature(tool).parameters)[1:]


def test_the_table_of_settings_is_the_table_of_the_code() -> None:
    assert table(section(PAGE, "Settings")) == [
        [
            f"`{row.env}`",
            f"`{row.name}`",
            f"`{row.type}`",
            "unset" if row.default is None else f"`{row.default}`",
            row.meaning,
        ]
        for row in SETTINGS.values()
    ]


def test_the_summary_has_the_fields_the_page_lists() -> None:
    assert first_names("What close() returns") == list(CloseSummary._fields)


def test_the_limits_are_those_of_the_code() -> None:
    limits = [row[1] for row in table(section(PAGE, "Limits"))]
    n_items = inspect.signature(tool).parameters["max_items"].default
    assert limits == [
        f"{BLOB_BYTES // 1024} KiB",
        f"{MAX_VALUE_DEPTH} levels",
        f"{n_items:,}, or `max_items`",
        f"{_LONGEST_MESSAGE:,} characters",
        f"{MAX_REPR // 1024} KiB",
        f"{MAX_BYTES // 1024**2} MiB",
        f"{PATIENCE_SECONDS:g} s",
        f"{STATE_PATIENCE_SECONDS:g} s, where it blocks the loop it needs",
    ]
    state = " ".join(section(PAGE, "State").split())
    for figure in (f"{MAX_ROWS:,} rows", f"{MAX_ENTRIES:,} entries", f"{MAX_TEXT // 1024} KiB"):
        assert figure in state
