"""Why no collector recognises a file: what people do next hangs on it."""

from __future__ import annotations

import time

import pytest

from tracedance_sdk.formats.unrecognised import why_unrecognised


@pytest.mark.parametrize(
    ("head", "told"),
    [
        (
            "format: tracedance.rebuilt_test\nversion: 1\n",
            "a rebuilt test, no trace; tracedance rep",
        ),
        ("# of shop 7\nid: a\nformat: 'tracedance.task'\n", "a task, no trace; tracedance evalua"),
        ('{"format": "tracedance.rubric", "version": 1}', "a rubric, no trace; tracedance judge"),
        ('\n{ "format" : "tracedance.labels"}\n{}', "a tracedance.labels, no trace"),
    ],
    ids=["rebuilt test", "task", "rubric in JSON", "lines of JSON"],
)
@pytest.mark.parametrize("is_whole", [True, False], ids=["whole", "its beginning"])
def test_a_file_of_ours_that_is_no_trace_is_called_by_its_name(
    head: str, told: str, *, is_whole: bool
) -> None:
    assert why_unrecognised(head.encode(), is_whole=is_whole).startswith(f"it is {told}")


@pytest.mark.parametrize(
    "head",
    [
        '{"format": "tracedance.trace", "turns": 7}',
        '{"said": {"format": "tracedance.task"}}',
        "  format: tracedance.task",
        "format: other.task",
    ],
)
def test_a_file_that_only_speaks_of_one_is_none(head: str) -> None:
    assert "no trace" not in why_unrecognised(head.encode(), is_whole=True)


@pytest.mark.parametrize("line", ["\n", " ", "format ", "format\n", '{"format"'])
def test_a_long_file_is_looked_at_in_no_time(line: str) -> None:
    start = time.perf_counter()
    why_unrecognised(b"x" + line.encode() * 20_000, is_whole=False)
    assert time.perf_counter() - start < 1
