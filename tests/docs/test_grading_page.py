"""The page on grading: its fragments are graded, and its tables say what the code has.

A YAML block that is no file is a fragment of a task. The line after it, ``Here: careful pass,
...``, is what it makes of the runs that the page's program records.
"""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any, Final, NamedTuple

import pytest

from tests.docs.pages import code_names, page, section, table
from tests.grading.runs import CUT_OFF, UNCLEAR, action, run, verdict
from tracedance_sdk.formats import load_trace
from tracedance_sdk.grading import (
    CRITERION_TYPES,
    ActionPattern,
    Criterion,
    CriticalRule,
    Expected,
    ResultRow,
    TaskSpec,
    UnexpectedChanges,
    Verdict,
    evaluate,
    parse_spec,
)
from tracedance_sdk.grading.inputs import Following, InputRule
from tracedance_sdk.grading.predicates import _OPERATORS
from tracedance_sdk.grading.trajectories import MEANINGS
from tracedance_sdk.trace import UNKNOWN, Note, Trace, mask_text, parse_yaml

PAGE: Final = page("grading.md")
TYPES: Final = section(PAGE, "Types of criteria")
HEAD: Final = "format: tracedance.task\nversion: 1\nid: refund\n"
MASKED: Final = mask_text("name", "00ff")
COMMON: Final = Criterion.model_fields.keys()


class Fragment(NamedTuple):
    """A part of a specification, and what it makes of each run."""

    text: str
    verdicts: dict[str, str]


def fragments(text: str) -> list[Fragment]:
    blocks = re.finditer(
        r"(?P<file><!-- file: \S+ -->\n)?^```yaml\n(?P<text>.*?)^```\n(?P<after>[^\n]*)",
        text,
        re.MULTILINE | re.DOTALL,
    )
    found = []
    for block in blocks:
        if block["file"] is None:
            verdicts = dict(re.findall(r"(\w+) (\w+)", block["after"].removeprefix("Here: ")))
            found.append(Fragment(block["text"], verdicts))
    return found


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trace]:
    """Return the runs that the page's program records."""
    program = re.search(
        r"<!-- file: shop.py -->\n```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL
    )
    assert program
    folder = tmp_path_factory.mktemp("shop")
    subprocess.run([sys.executable, "-c", program[1]], cwd=folder, check=True, timeout=60)
    return {path.stem: load_trace(path) for path in folder.glob("*.json")}


@pytest.mark.parametrize("fragment", fragments(PAGE), ids=lambda item: item.text.split("\n")[1])
def test_a_fragment_makes_of_the_runs_what_the_page_says(
    fragment: Fragment, runs: dict[str, Trace]
) -> None:
    spec = parse_spec(HEAD + fragment.text)
    found = {name: str(evaluate(trace, spec).verdict) for name, trace in runs.items()}
    assert fragment.verdicts == found, fragment.text


def test_every_type_of_criterion_has_a_row_and_a_section_with_an_example() -> None:
    rows = [code_names(cells[0])[0] for cells in table(TYPES)]
    assert rows == list(CRITERION_TYPES)
    for name in rows:
        found = fragments(section(TYPES, name))
        documents = [parse_spec(HEAD + fragment.text) for fragment in found]
        assert any(item.type == name for spec in documents for _, _, item in spec.listed()), name
        assert all(len(fragment.text.splitlines()) <= 9 for fragment in found)


PARTS: Final[dict[str, list[type[Any]]]] = {
    **{name: [kind] for name, kind in CRITERION_TYPES.items()},
    "acceptable_inputs": [CRITERION_TYPES["acceptable_inputs"], InputRule],
    "critical_errors": [CRITERION_TYPES["critical_errors"], CriticalRule, Following],
    "order": [CRITERION_TYPES["order"], ActionPattern],
    "unexpected_changes": [UnexpectedChanges],
}


@pytest.mark.parametrize("name", PARTS)
def test_every_key_of_a_criterion_is_named_in_its_section(name: str) -> None:
    text = section(TYPES, name)
    said = {word for names in code_names(text) for word in re.findall(r"\w+", names)}
    blocks = " ".join(fragment.text for fragment in fragments(text))
    said |= set(re.findall(r"\w+(?=:)", blocks))
    keys = {key for part in PARTS[name] for key in part.model_fields} - COMMON - {"extensions"}
    assert keys - said - {"rules"} == set()


def test_the_keys_of_a_specification_and_of_every_criterion_are_in_their_tables() -> None:
    document = section(PAGE, "The document")
    named = {word for cells in table(document) for word in code_names(cells[0])}
    assert named == {*TaskSpec.model_fields, "format", "version", "x-..."} - {"extensions"}
    common = table(document[document.index("Every criterion has these keys") :])
    named = {word for cells in common for word in code_names(cells[0])}
    assert named == COMMON - {"metadata", "extensions"}


def test_every_condition_has_a_row_whose_example_is_true() -> None:
    rows = table(section(PAGE, "Conditions"))
    assert [code_names(cells[0])[0] for cells in rows] == list(_OPERATORS)
    for _, _, example in rows:
        condition, value = code_names(example)
        expected = Expected(parse_yaml(condition, where="page"))
        assert expected.holds(parse_yaml(value, where="page")) is True, example


def test_verdicts_severities_modes_and_columns_are_those_of_the_code() -> None:
    severities, verdicts = section(PAGE, "Severity, verdicts, exit codes").split("The verdict on")
    assert [code_names(row[0])[0] for row in table(severities)] == ["critical", "major", "minor"]
    assert [code_names(row[0])[0] for row in table(verdicts)] == [str(item) for item in Verdict]
    modes = {code_names(row[0])[0]: row[1] for row in table(section(TYPES, "trajectory"))}
    assert modes == MEANINGS
    columns = table(section(PAGE, "Result sets"))
    assert [name for row in columns for name in code_names(row[0])] == list(ResultRow.model_fields)


PAY: Final = {"action": "pay", "matches": {"to": "Ann"}}
VEILED: Final = run(action("pay", {"to": MASKED}))
BARE: Final = run("pay")
CANNOT_TELL: Final[dict[str, tuple[dict[str, Any], Trace]]] = {
    "final_state": ({"expected_state": {"a": 1}}, run(final={"a": MASKED})),
    "outcome": ({"success": True}, BARE),
    "reply": ({"contains": "a"}, run(replies=[MASKED])),
    "acceptable_inputs": ({"rules": [{"action": "pay", "acceptable_inputs": [{"to": "Ann"}]}]},
                          VEILED),
    "critical_errors": ({"rules": [PAY]}, run(action("pay", UNKNOWN, unknown=True))),
    "order": ({"first": "ask", "then": PAY}, VEILED),
    "required_actions": ({"actions": [PAY]}, VEILED),
    "forbidden_sequence": ({"sequence": [PAY, "pay"]}, run(*VEILED.calls, "pay")),
    "counts": ({"of": PAY, "min": 1}, VEILED),
    "budget": ({"max_tokens": 5}, BARE),
    "recovery": ({}, run(action("pay", result=UNCLEAR))),
    "idempotence": ({}, run(action("pay", {"to": MASKED}), action("pay", {"to": "Ann"}))),
    "invariant": ({"state": {"a": 1}}, run("pay", initial={"a": 1}, final={"a": 1})),
    "trajectory": ({"mode": "strict", "reference": [PAY]}, VEILED),
}  # fmt: skip


@pytest.mark.parametrize("name", CRITERION_TYPES)
def test_what_the_page_says_cannot_be_decided_is_not(name: str) -> None:
    criterion, trace = CANNOT_TELL[name]
    assert verdict(trace, {"type": name, **criterion}) is Verdict.INCONCLUSIVE


def test_further_reasons_the_page_gives_for_no_decision() -> None:
    off = run(fidelity={"notes": [Note(kind="content_off", count=1)]})
    assert verdict(off, {"type": "reply", "contains": "a"}) is Verdict.INCONCLUSIVE
    when = {"action": "pay", "when": {"state": {"a": 1}}}
    blind = {"type": "critical_errors", "rules": [when]}
    assert verdict(BARE, blind) is Verdict.INCONCLUSIVE
    cut = run(action("pay", result=CUT_OFF))
    succeeded = {"type": "critical_errors", "rules": [{"action": "pay", "success": True}]}
    assert verdict(cut, succeeded) is Verdict.INCONCLUSIVE
