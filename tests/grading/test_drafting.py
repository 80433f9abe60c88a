"""Specifications drafted from one run."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from inline_snapshot import snapshot

from tests.grading.runs import action, run
from tests.support.traces import values
from tracedance_sdk.grading import Verdict, draft_spec, evaluate, parse_spec
from tracedance_sdk.grading.drafting import changed_part
from tracedance_sdk.grading.matching import ABSENT
from tracedance_sdk.trace import UNKNOWN, mask_text, same_json
from tracedance_sdk.trace.yaml_reading import parse_yaml

MASKED = mask_text("pin", "00ff")
MAIL = run(
    action("open", {"name": "Q3"}),
    action("choose", {"name": "Sam"}),
    action("choose", {"name": "Ann", "note": "no"}),
    action("send"),
    initial={"email": {"sent": False}, "sheet": {"total": 5}},
    final={"email": {"sent": True, "to": "Sam"}, "sheet": {"total": 5}},
    task_id="mail",
)


def test_a_draft_teaches_how_to_go_on() -> None:
    assert draft_spec(MAIL) == snapshot("""\
# A task specification: what a run of this task must, may and must not do.
# Drafted from one run, so it is as narrow as that run was. Loosen what does not matter.
# Grade a run with it: tracedance evaluate RUN --spec task.yaml
format: tracedance.task
version: 1

# With --tasks FOLDER a trace is graded by the file that has its task_id here.
id: mail
# What the agent is to do. Judges read it; graders do not.
description: ''

# What must be achieved.
# Only what the run changed; the state may hold more.
# A value may also be a condition:
#   {$regex: "^Total"}   {$glob: "*.csv"}   {$range: {min: 1, max: 9}}
#   {$one_of: [a, b]}    {$contains: a}     {$absent: true}      {$not: a}
outcomes:
  - id: final-state
    expected_state:
      email:
        sent: true
        to: Sam
# Beside this, nothing else may change. To allow more:
# unexpected_changes:
#   allow_changes: ["/log/**", "/orders/*/updated_at"]

# What the agent's actions may be given: at least one of the acceptable inputs, with
# further keys allowed. Tools that are not listed are free.
actions:
  - id: inputs
    rules:
      - action: open
        acceptable_inputs:
          - name: Q3
      - action: choose
        acceptable_inputs:
          - name: Sam
          - name: Ann
            note: 'no'
      - action: send

# What must never be done, whatever happens afterwards. Remove the marks to use it.
# critical_errors:
#   - id: never
#     rules:
#       - action: "choose"
#         matches: {"name": "a value that must never be given"}
#         description: say here what is wrong with it

# Further criteria; each names its type. `severity: minor` reports and does not fail,
# `negate: true` requires the contrary.
# criteria:
#   - {type: budget, max_actions: 20, max_failures: 2}
#   - {type: idempotence}
#   - {type: order, first: look_up, then: write}
""")


def test_a_draft_passes_its_run_and_fails_one_that_did_else() -> None:
    spec = parse_spec(draft_spec(MAIL))
    assert evaluate(MAIL, spec).passed
    other = MAIL.model_copy(update={"final_state": {**MAIL.final_state, "sheet": {"total": 6}}})
    assert evaluate(other, spec).verdict is Verdict.FAIL
    unsent = MAIL.model_copy(update={"final_state": MAIL.initial_state})
    assert evaluate(unsent, spec).verdict is Verdict.FAIL


def test_the_examples_in_the_comments_work_when_the_marks_are_removed() -> None:
    lines = draft_spec(MAIL).splitlines()
    for start in ("# critical_errors:", "# criteria:", "# unexpected_changes:"):
        place = lines.index(start)
        while place < len(lines) and lines[place].startswith("# "):
            lines[place] = lines[place].removeprefix("# ")
            place += 1
    spec = parse_spec("\n".join(lines))
    assert (len(spec.critical_errors), len(spec.criteria)) == (1, 3)
    assert spec.unexpected_changes is not None
    assert spec.unexpected_changes.allow_changes
    assert evaluate(MAIL, spec).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("before", "after", "part"),
    [
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, {"b": 3}),
        ({"a": {"x": 1, "y": 1}}, {"a": {"x": 1, "y": 2}}, {"a": {"y": 2}}),
        ({"a": 1}, {}, {"a": {"$absent": True}}),
        ({}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ([1, {"a": 1}, [2]], [1, {"a": 1}, [3]], [1, {}, [3]]),
        ([1], [1, 2], {"$exact": [1, 2]}),
        ({"a": 1}, [1], [1]),
        ({"pin": "x"}, {"pin": MASKED}, {"pin": {"$absent": False}}),
        ({"q": {}}, {"q": {"$gt": 5}}, {"q": {"$literal": {"$gt": 5}}}),
        ({"q": {"$gt": 5}}, {"q": {"a": 1}}, {"q": {"$exact": {"a": 1}}}),
    ],
)
def test_only_what_changed_is_expected(before: Any, after: Any, part: Any) -> None:
    assert changed_part(before, after) == part


@given(values)
def test_what_did_not_change_is_not_expected(value: Any) -> None:
    assert changed_part(value, value) is ABSENT


@pytest.mark.parametrize(
    ("initial", "final", "verdict_of_a_change"),
    [({"a": 1}, {"a": 1}, Verdict.FAIL), (UNKNOWN, {"a": 1}, Verdict.FAIL)],
)
def test_runs_that_changed_nothing_or_began_unseen(
    initial: Any, final: Any, verdict_of_a_change: Verdict
) -> None:
    trace = run("look", initial=initial, final=final)
    spec = parse_spec(draft_spec(trace, task_id="look"))
    assert spec.id == "look"
    assert evaluate(trace, spec).passed
    changed = run("look", initial=initial, final={"a": 2})
    assert evaluate(changed, spec).verdict is verdict_of_a_change


def test_a_run_without_states_says_what_is_missing() -> None:
    text = draft_spec(run("look"))
    assert "Give the recorder a state source" in text
    assert parse_spec(text).outcomes == ()


@pytest.mark.parametrize(
    "name",
    ["no", "12:30:00", "1e5", "2026-01-02", "null", "0x1F", "<<", "- a", "a: b", "#x", "é\u2028",
     "{x", "'", '"', "\\", "a\nb", "", " ", "!!python/name:os.system", "*a", "&a", "%", "@", "`"],
    ids=repr,
)  # fmt: skip
def test_odd_texts_survive_in_names_keys_and_values(name: str) -> None:
    trace = run(
        action(name, {name: name}), initial={}, final={name: {"v": name}}, task_id=name or None
    )
    text = draft_spec(trace)
    spec = parse_spec(text)
    assert evaluate(trace, spec).passed
    wrong = run(action(name, {name: "other"}), initial={}, final={name: {"v": "other"}})
    report = evaluate(wrong, spec)
    assert (report.outcome.verdict, report.actions.verdict) == (Verdict.FAIL, Verdict.FAIL)


@given(values)
def test_other_yaml_readers_read_a_draft_as_we_do(value: Any) -> None:
    text = draft_spec(run(initial=None, final={"value": value}))
    ours = parse_yaml(text, where="draft")["outcomes"]
    theirs = yaml.safe_load(text)["outcomes"]
    assert same_json(_with_text_keys(ours), _with_text_keys(theirs))


def _with_text_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _with_text_keys(item) for key, item in value.items()}
    return [_with_text_keys(item) for item in value] if isinstance(value, list) else value
