"""What assert_passes says when a trace does not pass."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.grading import TaskSpec, Verdict
from tracedance_sdk.pytest_plugin import assert_passes
from tracedance_sdk.trace import UNKNOWN, Call, Json, Result, Trace, Turn

PAGE = Path(__file__).parents[2] / "docs" / "pytest.md"

Step = tuple[str, dict[str, Any]]

DONE: list[Step] = [
    ("open_spreadsheet", {"name": "Q3 Revenue"}),
    ("select_range", {"range": "B4:B11"}),
    ("calculate_sum", {}),
    ("select_contact", {"name": "Sam"}),
    ("send_email", {}),
]
SENT = {"email": {"recipient": "Sam", "sent": True}, "folders": {"drafts": 0}}

SPEC = TaskSpec.model_validate(
    {
        "id": "mail",
        "outcomes": [{"id": "sent", "expected_state": {"email": SENT["email"]}}],
        "actions": [
            {
                "id": "inputs",
                "rules": [
                    {"action": "select_range", "acceptable_inputs": [{"range": "B4:B11"}]},
                    {"action": "select_contact", "acceptable_inputs": [{"name": "Sam"}]},
                ],
            }
        ],
        "critical_errors": [
            {
                "id": "no-john",
                "name": "Never John",
                "rules": [
                    {
                        "action": "select_contact",
                        "matches": {"name": "John"},
                        "description": "John must never get the numbers",
                    }
                ],
            }
        ],
    }
)


def run(steps: Sequence[Step], *, final_state: Json = SENT, **fields: Any) -> Trace:
    calls = tuple(
        Call(
            index=index,
            id=str(index + 1),
            name=name,
            arguments=arguments,
            result=Result(ok=True, content=None),
        )
        for index, (name, arguments) in enumerate(steps)
    )
    turn = Turn(index=0, role="assistant", origin="agent", calls=calls)
    return Trace(id="t1", turns=(turn,), final_state=final_state, **fields)


def why(trace: Trace, spec: Any = SPEC, **options: Any) -> str:
    """Return the failure text, the run's own folder and file hash left out."""
    with pytest.raises(AssertionError) as raised:
        assert_passes(trace, spec, **options)
    text = re.sub(r"[^ ]*run-\d{8}T\d{6}-[0-9a-f]{8}/", "RUN/", str(raised.value))
    return re.sub(r"RUN/[^\n]*\.json", "RUN/TEST.json", text)


def test_a_trace_that_passes_gives_its_report() -> None:
    report = assert_passes(run(DONE), SPEC)

    assert report.verdict is Verdict.PASS


def test_a_wrong_recipient_is_shown_beside_the_right_one() -> None:
    steps = [*DONE[:3], ("select_contact", {"name": "John"}), *DONE[4:]]
    state = {"email": {"recipient": "John", "sent": True}, "folders": {"drafts": 0}}

    assert why(run(steps, final_state=state)) == snapshot("""\
verdict critical: 3 of 3 criteria of task 'mail' do not pass

critical no-john (Never John): action 4 (select_contact): John must never get the numbers
fail     sent: /email/recipient is 'John'; expected 'Sam'
fail     inputs: action 4 (select_contact) was given {'name': 'John'}; acceptable: {'name':
         'Sam'}

calls (- expected, + done)
    ... 3 calls without a finding
  - 4. select_contact {"name": "Sam"}
  + 4. select_contact {"name": "John"}  <- critical no-john, fail inputs
    ... 1 call without a finding

state (- expected, + found)
  /email/recipient
  - "Sam"
  + "John"

trace kept: RUN/TEST.json
look at it: tracedance show RUN/TEST.json\
""")


def test_the_page_about_pytest_shows_what_is_said() -> None:
    steps = [*DONE[:3], ("select_contact", {"name": "John"}), *DONE[4:]]
    state = {"email": {"recipient": "John", "sent": True}, "folders": {"drafts": 0}}

    said = why(run(steps, final_state=state)).partition("trace kept:")[0]

    assert f"AssertionError: {said}" in PAGE.read_text()


def test_a_mistake_that_was_repaired_is_the_only_call_shown() -> None:
    steps = [*DONE[:3], ("select_contact", {"name": "John"}), *DONE[3:]]

    assert why(run(steps)) == snapshot("""\
verdict critical: 2 of 3 criteria of task 'mail' do not pass

critical no-john (Never John): action 4 (select_contact): John must never get the numbers
fail     inputs: action 4 (select_contact) was given {'name': 'John'}; acceptable: {'name':
         'Sam'}

calls (- expected, + done)
    ... 3 calls without a finding
  - 4. select_contact {"name": "Sam"}
  + 4. select_contact {"name": "John"}  <- critical no-john, fail inputs
    ... 2 calls without a finding

trace kept: RUN/TEST.json
look at it: tracedance show RUN/TEST.json\
""")


def test_another_record_that_changed_is_shown_with_what_it_was() -> None:
    trace = run(
        DONE,
        initial_state={"email": {"recipient": None, "sent": False}, "folders": {"drafts": 2}},
    )

    assert why(trace) == snapshot("""\
verdict fail: 1 of 4 criteria of task 'mail' does not pass

fail     unexpected_changes: /folders/drafts changed from 2 to 0

state (- expected, + found)
  /folders/drafts
  - 2
  + 0

trace kept: RUN/TEST.json
look at it: tracedance show RUN/TEST.json\
""")


def test_a_sequence_is_aligned_so_that_one_call_too_many_is_one_line() -> None:
    spec = TaskSpec.model_validate(
        {
            "id": "steps",
            "criteria": [
                {
                    "type": "trajectory",
                    "id": "steps",
                    "mode": "strict",
                    "reference": [{"action": name, "matches": given} for name, given in DONE],
                }
            ],
        }
    )

    assert why(run([("look_around", {}), *DONE]), spec) == snapshot("""\
verdict fail: 1 of 1 criteria of task 'steps' does not pass

fail     steps: action 1 (look_around) is other than open_spreadsheet {'name': 'Q3
         Revenue'}; strict: the run does exactly the reference, in its order (and 5 more)

calls (- expected, + done)
  + 1. look_around {}  <- fail steps
    ... 5 calls without a finding

trace kept: RUN/TEST.json
look at it: tracedance show RUN/TEST.json\
""")
    assert why(run([*DONE[:2], *DONE[3:]]), spec) == snapshot("""\
verdict fail: 1 of 1 criteria of task 'steps' does not pass

fail     steps: action 3 (select_contact) is other than calculate_sum {}; strict: the run
         does exactly the reference, in its order (and 2 more)

calls (- expected, + done)
    ... 2 calls without a finding
  - calculate_sum {}
    ... 2 calls without a finding

trace kept: RUN/TEST.json
look at it: tracedance show RUN/TEST.json\
""")
    other = run([*DONE[:3], ("select_contact", {"name": "Eve"}), DONE[4]])
    assert why(other, spec) == snapshot("""\
verdict fail: 1 of 1 criteria of task 'steps' does not pass

fail     steps: action 4 (select_contact) is other than select_contact {'name': 'Sam'};
         strict: the run does exactly the reference, in its order

calls (- expected, + done)
    ... 3 calls without a finding
  - select_contact {"name": "Sam"}
  + 4. select_contact {"name": "Eve"}  <- fail steps
    ... 1 call without a finding

trace kept: RUN/TEST.json
look at it: tracedance show RUN/TEST.json\
""")


def test_required_actions_that_never_happened_are_expected_lines() -> None:
    spec = TaskSpec.model_validate(
        {
            "id": "required",
            "criteria": [
                {
                    "type": "required_actions",
                    "actions": ["calculate_sum", {"action": "send_email", "matches": {"cc": "Al"}}],
                    "in_order": True,
                }
            ],
        }
    )

    assert why(run(DONE), spec) == snapshot("""\
verdict fail: 1 of 1 criteria of task 'required' does not pass

fail     required_actions: send_email {'cc': 'Al'} did not happen in the order required

calls (- expected, + done)
    ... 3 calls without a finding
  - send_email {"cc": "Al"}
    ... 2 calls without a finding

trace kept: RUN/TEST.json
look at it: tracedance show RUN/TEST.json\
""")


def test_long_values_are_cut_to_where_they_differ() -> None:
    body = "Dear all, " + "the numbers are as follows. " * 20
    spec = TaskSpec.model_validate(
        {
            "id": "letter",
            "actions": [
                {
                    "rules": [
                        {
                            "action": "send",
                            "acceptable_inputs": [{"body": f"{body}482500 {body}", "urgent": True}],
                        }
                    ]
                }
            ],
        }
    )
    sent = {"body": f"{body}100 {body}", "urgent": True, "to": "Sam"}

    assert why(run([("send", sent)]), spec) == snapshot("""\
verdict fail: 1 of 1 criteria of task 'letter' does not pass

fail     acceptable_inputs: action 1 (send) was given {'body': 'Dear all, the numbers are as
         follows. the numbers are as follows. t...; acceptable: {'body': 'Dear all, the
         numbers are as follows. the numbers are as follows. t...

calls (- expected, + done)
  - 1. send {"body": "...are as follows. 482500 Dear all, the...", ...}
  + 1. send {"body": "...are as follows. 100 Dear all, the...", ...}  <- fail acceptable_inputs

trace kept: RUN/TEST.json
look at it: tracedance show RUN/TEST.json\
""")


def test_a_state_that_was_never_seen_is_no_pass() -> None:
    assert why(run(DONE, final_state=UNKNOWN)) == snapshot("""\
verdict inconclusive: 1 of 3 criteria of task 'mail' does not pass

inconclusive sent: the final state was not recorded

trace kept: RUN/TEST.json
look at it: tracedance show RUN/TEST.json\
""")


def test_a_grader_that_raises_is_no_pass() -> None:
    def counts_words(trace: Trace) -> bool:
        raise ZeroDivisionError("no words")

    assert why(run(DONE), [counts_words]) == snapshot("""\
verdict error: 1 of 1 criteria does not pass

error    counts_words: the grader raised ZeroDivisionError: no words

trace kept: RUN/TEST.json
look at it: tracedance show RUN/TEST.json\
""")


def test_many_findings_are_cut_and_counted() -> None:
    steps: list[Step] = [("select_contact", {"name": f"C{number}"}) for number in range(40)]

    text = why(run(steps))

    assert len(text.splitlines()) < 50
    assert "more calls with findings" in text


def test_control_characters_of_a_trace_are_shown_not_obeyed() -> None:
    steps: list[Step] = [("select_contact", {"name": "\x1b[2J\x07John"})]

    text = why(run(steps))

    assert "\x1b" not in text
    assert "\x07" not in text


@pytest.mark.parametrize(
    "allow",
    [
        ["critical", "fail"],
        ["no-john:critical", "inputs"],
        ["no-john:critical", "fail"],
        ["no-john:critical", "inputs:fail"],
    ],
)
def test_a_critical_error_is_tolerated_only_by_its_name(allow: list[str]) -> None:
    trace = run([*DONE[:3], ("select_contact", {"name": "John"}), *DONE[3:]])

    report = assert_passes(trace, SPEC, allow=allow)

    assert report.verdict is Verdict.CRITICAL


@pytest.mark.parametrize("allow", [["no-john", "inputs"], ["fail"], ["no-john:fail", "fail"], ()])
def test_nothing_else_tolerates_a_critical_error(allow: Sequence[str]) -> None:
    trace = run([*DONE[:3], ("select_contact", {"name": "John"}), *DONE[3:]])

    assert why(trace, allow=allow).startswith("verdict critical")


def test_one_verdict_may_be_given_as_a_text() -> None:
    assert_passes(run(DONE, final_state=UNKNOWN), SPEC, allow="inconclusive")


@pytest.mark.parametrize("entry", ["inconclusiv", "pass", "no-jon", "no-john:pass", ""])
def test_an_entry_that_names_nothing_is_refused(entry: str) -> None:
    with pytest.raises(InvalidOption, match=re.escape(f"allow={entry!r} is no verdict")):
        assert_passes(run(DONE), SPEC, allow=[entry])
