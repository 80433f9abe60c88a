"""What is left out is counted by reason, and the first of each kind says what it lacks."""

from __future__ import annotations

import io

from tracedance_sdk.cli.left_out import print_left_out, told_left_out
from tracedance_sdk.replay import Exclusion
from tracedance_sdk.report import report_console

NOT_THERE = "no turn of the model's there"
EXCLUDED = [
    Exclusion("a" * 32, 3, NOT_THERE, "turn 3 is the user's; the model's turns are 1, 2"),
    Exclusion("b" * 32, 3, NOT_THERE, "turn 3 is not there: the last is 0"),
    Exclusion("c" * 32, None, "no answer: empty", "empty"),
    Exclusion("d" * 32, None, "odd \x1b[2J", "very \x1b[2J"),
]


def test_one_line_has_the_reasons_and_the_first_detail() -> None:
    assert told_left_out([]) == ""
    assert told_left_out(EXCLUDED[2:3]) == "left out: no answer: empty (1)"
    assert told_left_out(EXCLUDED[:3]) == (
        "left out: no turn of the model's there (2), no answer: empty (1); the first, of trace "
        "aaaaaaaaaaaa: turn 3 is the user's; the model's turns are 1, 2"
    )


def test_a_table_is_followed_by_what_the_first_of_each_kind_lacks() -> None:
    manifest = {
        "exclusions": {"no answer: empty": 1, NOT_THERE: 2, "odd \x1b[2J": 1, "sub-agent": 4},
        "excluded": [item._asdict() for item in EXCLUDED],
    }
    out = io.StringIO()
    assert print_left_out(report_console(out, width=80), manifest)
    assert out.getvalue() == (
        "Left out                      number\n"
        "sub-agent                          4\n"
        "no turn of the model's there       2\n"
        "no answer: empty                   1\n"
        "odd \\x1b[2J                        1\n"
        "no turn of the model's there, the first: turn 3 is the user's; the model's\n"
        "  turns are 1, 2 (trace aaaaaaaaaaaa)\n"
        "odd \\x1b[2J, the first: very \\x1b[2J (trace dddddddddddd)\n"
    )
    assert not print_left_out(report_console(out, width=80), {"exclusions": {}})
    assert print_left_out(report_console(out, width=80), {"exclusions": {"sub-agent": 1}})
