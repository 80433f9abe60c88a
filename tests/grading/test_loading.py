"""Specifications from files and documents: both notations, and everything that is refused."""

# ruff: noqa: E501 - messages are one line, however long

from __future__ import annotations

import json
import re
import sys
import types
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from tests.grading.runs import run
from tests.grading.test_golden_table import SPEC, TRACEEVAL
from tracedance_sdk.errors import InvalidSpec, UnknownTask, UnreadableFile, UnsupportedVersion
from tracedance_sdk.grading import (
    TaskRegistry,
    TaskSpec,
    Verdict,
    evaluate,
    load_spec,
    parse_spec,
    plugin_graders,
    read_spec,
)
from tracedance_sdk.trace import MAX_DEPTH, Json, type_stub
from tracedance_sdk.trace.yaml_reading import parse_yaml

HEAD = "format: tracedance.task\nversion: 1\n"

OWN = """\
format: tracedance.task
version: 1
id: revenue-email
description: Find the Q3 total and mail it to Sam.
initial_state: {spreadsheet: {name: Q3 Revenue, revenueRange: "B4:B11", revenueTotal: 482500}, email: {sent: false}}
unexpected_changes: false
outcomes:
  - id: mail
    name: Mail
    description: sent
    expected_state: {email: {recipient: Sam, body: "Total revenue: $482500", sent: true}}
actions:
  - id: inputs
    name: Inputs
    description: right inputs
    rules:
      - {action: open_spreadsheet, acceptable_inputs: [{name: Q3 Revenue}]}
      - {action: select_range, acceptable_inputs: [{range: "B4:B11"}]}
      - {action: calculate_sum}
      - {action: select_contact, acceptable_inputs: [{name: Sam}]}
      - {action: compose_email, acceptable_inputs: []}
      - {action: send_email}
critical_errors:
  - id: john
    name: John
    description: never John
    rules:
      - {action: select_contact, matches: {name: John}}
metadata: {expectedState: {email: {recipient: Sam, body: "Total revenue: $482500", sent: true}}}
"""


def problems_of(text: str, **options: Any) -> list[str]:
    with pytest.raises(InvalidSpec) as caught:
        parse_spec(text, **options)
    assert "\n" not in str(caught.value)
    return [str(problem) for problem in caught.value.problems]


def test_all_notations_give_equal_specifications() -> None:
    flat = TRACEEVAL["criticalErrorCriteria"][0]  # type: ignore[index]
    listed = {
        **{key: flat[key] for key in ("id", "name", "description")},
        "rules": [{"actionType": "select_contact", "matches": {"name": "John"}}],
    }
    with_rules = {**TRACEEVAL, "criticalErrorCriteria": [listed]}
    own = parse_spec(OWN)
    assert read_spec(with_rules) == SPEC == own
    assert parse_spec(json.dumps(TRACEEVAL), is_json=True) == SPEC
    assert parse_spec(json.dumps(SPEC.to_dict()), is_json=True) == SPEC
    assert own.digest == SPEC.digest


def test_traceevals_values_have_no_conditions() -> None:
    document = {
        "task": {"id": "t", "description": "", "expectedState": {"a": {"$regex": "x"}}},
        "actionCriteria": [
            {"id": "a", "rules": [{"actionType": "w", "acceptableInputs": [{"q": {"$not": 1}}]}]}
        ],
    }
    spec = read_spec(document)
    assert evaluate(run(final={"a": {"$regex": "x", "more": 1}}), spec).passed
    assert evaluate(run(final={"a": "x"}), spec).verdict is Verdict.FAIL
    assert spec.unexpected_changes is None


def test_problems_of_traceevals_notation_name_the_places_of_that_notation() -> None:
    document = {
        "task": {"description": 5},
        "requiredOutcomes": [{"id": "o"}],
        "actionCriteria": [
            {"id": "a", "actionType": 7, "acceptableInputs": 3},
            {"id": "b", "rules": [{"acceptableInputs": []}]},
        ],
        "criticalErrorCriteria": {"id": "c"},
    }
    assert problems_of(json.dumps(document), is_json=True) == snapshot(
        [
            "this is needed @ $.task.id",
            "a text is needed, not 5 @ $.task.description",
            "give either 'expected_state' or 'any_of' (a list of acceptable states) @ $.requiredOutcomes[0]",
            "a list is needed, not 3 @ $.actionCriteria[0].acceptableInputs",
            "this is needed @ $.actionCriteria[1].rules[0].actionType",
            "a list is needed, not {'id': 'c'} @ $.criticalErrorCriteria",
        ]
    )


@pytest.mark.parametrize(
    ("group", "flat", "rule"),
    [
        (
            "critical_errors",
            {"id": "john", "description": "never John", "action": "pay", "matches": {"to": "John"}},
            {"action": "pay", "matches": {"to": "John"}},
        ),
        (
            "critical_errors",
            {"action": "pay", "success": True, "severity": "major", "x-note": 1},
            {"action": "pay", "success": True},
        ),
        (
            "actions",
            {"action": "pay", "acceptable_inputs": [{"to": "Sam"}], "metadata": {"a": 1}},
            {"action": "pay", "acceptable_inputs": [{"to": "Sam"}]},
        ),
    ],
)
def test_a_criterion_with_the_keys_of_a_rule_has_that_one_rule(
    group: str, flat: dict[str, Any], rule: dict[str, Any]
) -> None:
    own = {key: value for key, value in flat.items() if key not in rule}
    listed = {"id": "t", group: [{**own, "rules": [rule]}]}
    spec = read_spec({"id": "t", group: [flat]}, versioned=False)
    assert spec == read_spec(listed, versioned=False)
    assert spec.digest == read_spec(spec.to_dict()).digest
    further = {"id": "t", "criteria": [{"type": getattr(spec, group)[0].type, **flat}]}
    assert read_spec(further, versioned=False).criteria == getattr(spec, group)


def test_problems_of_a_flat_rule_name_the_place_in_the_document() -> None:
    text = f"""{HEAD}
id: t
critical_errors:
  - {{id: a, matches: {{to: John}}}}
  - {{action: pay, mathces: {{to: John}}}}
  - {{action: pay, matches: {{to: {{$regx: J}}}}}}
  - {{action: pay, success: 3, severity: fatal}}
  - {{action: pay, negate: true}}
  - {{action: pay, rules: []}}
actions:
  - {{action: pay, acceptable_inputs: 3}}
"""
    assert problems_of(text) == snapshot(
        [
            "a list is needed, not 3 @ $.actions[0].acceptable_inputs",
            "this is needed @ $.critical_errors[0].action",
            "unknown key 'mathces'; did you mean 'matches'? @ $.critical_errors[1].mathces",
            "unknown condition '$regx'; did you mean '$regex'? @ $.critical_errors[2].matches.to",
            "it should be 'critical', 'major' or 'minor', not 'fatal' @ $.critical_errors[3].severity",
            "true or false is needed, not 3 @ $.critical_errors[3].success",
            "'negate' may mean the criterion or its rule; write the rule under 'rules' @ $.critical_errors[4]",
            "unknown key 'action'; known are description, id, metadata, name, negate, rules, severity, type @ $.critical_errors[5].action",
        ]
    )


def test_a_message_names_three_problems_and_counts_the_rest() -> None:
    document = {"id": "t", "criteria": [1, 2, 3, 4, 5]}
    with pytest.raises(InvalidSpec) as caught:
        read_spec(document, versioned=False)
    assert str(caught.value) == snapshot(
        "spec: a criterion is an object, not 1 @ $.criteria[0]; a criterion is an object, not 2 @ $.criteria[1]; a criterion is an object, not 3 @ $.criteria[2] (and 2 more)"
    )


def test_every_problem_is_listed_with_its_place() -> None:
    text = f"""{HEAD}
id: ""
desription: hello
outcomes:
  - expected_stat: {{a: 1}}
  - expected_state: {{a: {{$regx: x}}}}
    match: nearly
  - type: rely
    contains: x
actions: 5
critical_errors:
  - rules: [{{action: pay, mathces: {{}}}}]
  - severity: fatal
    rules: []
criteria:
  - contains: x
  - {{type: budget, max_actions: -1}}
  - {{type: budget}}
  - {{type: counts, of: pay, min: "1"}}
  - {{type: order, first: pay}}
  - {{type: trajectory, mode: sideways, reference: []}}
  - {{type: reply, regex: "("}}
  - {{type: recovery, within: true}}
  - just words
requires: [everything]
judge: {{gate: "yes"}}
"""
    assert problems_of(text) == snapshot(
        [
            "a longer text is needed, not '' @ $.id",
            "unknown key 'expected_stat'; did you mean 'expected_state'? @ $.outcomes[0].expected_stat",
            "unknown condition '$regx'; did you mean '$regex'? @ $.outcomes[1].expected_state.a",
            "it should be 'partial' or 'exact', not 'nearly' @ $.outcomes[1].match",
            "unknown criterion type 'rely'; did you mean 'reply'? @ $.outcomes[2]",
            "a list is needed, not 5 @ $.actions",
            "unknown key 'mathces'; did you mean 'matches'? @ $.critical_errors[0].rules[0].mathces",
            "it should be 'critical', 'major' or 'minor', not 'fatal' @ $.critical_errors[1].severity",
            "a criterion here needs a 'type'; known are acceptable_inputs, budget, counts, critical_errors, final_state, forbidden_sequence, idempotence, invariant, order, outcome, recovery, reply, required_actions, trajectory @ $.criteria[0]",
            "it should be greater than or equal to 0, not -1 @ $.criteria[1].max_actions",
            "give at least one of max_actions, max_failures, max_duration_ms, max_tokens, max_cost_usd @ $.criteria[2]",
            "a whole number is needed, not '1' @ $.criteria[3].min",
            "this is needed @ $.criteria[4].then",
            "it should be 'strict', 'unordered', 'subset' or 'superset', not 'sideways' @ $.criteria[5].mode",
            "'(' is no RE2 pattern: missing ): ( @ $.criteria[6].regex",
            "a whole number is needed, not True @ $.criteria[7].within",
            "a criterion is an object, not 'just words' @ $.criteria[8]",
            "it should be 'reading', 'grading', 'state_grading', 'next_turn' or 'rebuilt_test', not 'everything' @ $.requires[0]",
            "true or false is needed, not 'yes' @ $.judge.gate",
            "unknown key 'desription'; did you mean 'description'? @ $.desription",
        ]
    )


def test_keys_of_ones_own_are_kept_and_others_refused() -> None:
    text = f"""{HEAD}
id: t
x-team: blue
metadata: {{anything: [1, {{goes: here}}]}}
outcomes:
  - {{expected_state: 1, x-ticket: 7, metadata: {{a: 1}}}}
"""
    spec = parse_spec(text)
    assert spec.extensions == {"x-team": "blue"}
    written = spec.to_dict()
    assert (written["x-team"], written["outcomes"][0]["x-ticket"]) == ("blue", 7)
    assert read_spec(written) == spec
    assert problems_of(f"{HEAD}id: t\nextensions: {{a: 1}}\nparameters: 1\n") == snapshot(
        [
            "unknown key 'extensions'; known are actions, criteria, critical_errors, description, id, initial_state, judge, metadata, outcomes, requires, unexpected_changes @ $.extensions",
            "unknown key 'parameters'; known are actions, criteria, critical_errors, description, id, initial_state, judge, metadata, outcomes, requires, unexpected_changes @ $.parameters",
        ]
    )


def test_ids_must_be_unique_and_are_made_where_they_are_absent() -> None:
    listed: list[Json] = [{"type": "idempotence"}, {"type": "recovery", "id": "idempotence-2"}]
    spec = read_spec({"id": "t", "criteria": [*listed, {"type": "idempotence"}]}, versioned=False)
    assert [name for name, _, _ in spec.listed()] == [
        "idempotence", "idempotence-2", "idempotence-3",
    ]  # fmt: skip
    twice = f"{HEAD}id: t\noutcomes: [{{id: a, expected_state: 1}}]\ncriteria: [{{id: a, type: idempotence}}]"
    assert problems_of(twice) == ["two criteria have the id 'a' @ $"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "spec: the file is empty"),
        ("# only words\n", "spec: the file is empty"),
        ("- a", "spec: a task is an object, not ['a'] @ $"),
        (
            "id: t",
            "spec: 'format: tracedance.task' is needed @ $.format; 'version: 1' is needed @ $.version",
        ),
        ("format: tracedance.task\nid: t", "spec: 'version: 1' is needed @ $.version"),
        ("format: 7\nversion: 1\nid: t", "spec: 'format: tracedance.task' is needed, not 7"),
        ("a: [", "spec: not YAML: expected the node content"),
        ("a: b: c", "spec: not YAML: mapping values are not allowed here (line 1, column 5)"),
        ("a: 1\n---\nb: 1", "spec: not YAML: but found another document (line 2, column 1)"),
        ("a: \0", "spec: not YAML: unacceptable character #x0000"),
        ("a: &x [*x]", "spec: an alias stands inside what it is an alias of @ $.a[0]"),
        ("a: *nope", "spec: not YAML: found undefined alias 'nope'"),
        ("[" * 5_000, f"spec: nested deeper than {MAX_DEPTH} levels"),
        ("{a: " * 300 + "1" + "}" * 300, f"spec: nested deeper than {MAX_DEPTH} levels"),
        ("a: 1\na: 2", "spec: the key 'a' stands twice (line 2) @ $"),
        ("a: {b: 1, b: 1}", "spec: the key 'b' stands twice (line 1) @ $.a"),
        ("1: a\n'1': b", "spec: the key '1' stands twice (line 2) @ $"),
        ("[1, 2]: a", "spec: a key is not text (line 1) @ $"),
        ("x: &a {b: 1}\ny:\n  <<: *a", "spec: merge keys ('<<') are not read"),
        ("a: !!python/object/apply:os.system ['true']", "spec: the tag 'tag:yaml.org,2002:python"),
        ("a: !!python/name:os.system", "spec: the tag 'tag:yaml.org,2002:python/name:os.system'"),
        ("a: !!binary aGk=", "spec: the tag 'tag:yaml.org,2002:binary' is not read"),
        ("a: !!set {x}", "spec: the tag 'tag:yaml.org,2002:set' is not read"),
        ("a: !own x", "spec: the tag '!own' is not read; only plain data is (line 1) @ $.a"),
        ("a: !!int x", "spec: the tag 'tag:yaml.org,2002:int' is not read"),
    ],
)  # fmt: skip
def test_unreadable_yaml_is_one_line(text: str, message: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        parse_spec(text)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_aliases_cannot_blow_a_document_up() -> None:
    lines = ["l0: &l0 [a, a, a, a, a, a, a, a, a, a]"]
    lines += [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(InvalidSpec, match="more than 1,000,000 values"):
        parse_yaml("\n".join(lines), where="spec")
    assert parse_yaml("a: &x [1]\nb: *x", where="spec") == {"a": [1], "b": [1]}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"), ("on", "on"), ("12:30:00", "12:30:00"), ("2026-01-02", "2026-01-02"),
        ("010", 10), ("0x1F", "0x1F"), ("1_000", "1_000"), ("1e3", 1000.0), (".5", 0.5),
        ("-7", -7), ("+7", 7), ("true", True), ("null", None), ("~", None), ("''", ""),
        (".nan", type_stub("float", "nan")), ("-.inf", type_stub("float", "-inf")),
        ("1e999", type_stub("float", "inf")), ("18446744073709551615", 2**64 - 1),
        ("118059162071741130342400", type_stub("int", "118059162071741130342400")),
        ("9" * 6000, type_stub("int", "9" * 6000)), ("'1'", "1"), ("!!str 1", "1"),
        ("{7: a, true: b, ~: c}", {"7": "a", "true": "b", "~": "c"}), ("=", "="),
    ],
)  # fmt: skip
def test_scalars_are_those_of_json(text: str, value: Any) -> None:
    found = parse_yaml(f"a: {text}", where="spec")["a"]
    assert (found, type(found)) == (value, type(value))


def test_files_in_wrong_encodings_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "task.yaml"
    path.write_bytes(f"{HEAD}id: caf\xe9".encode("latin-1"))
    with pytest.raises(InvalidSpec, match="not UTF-8 at byte"):
        load_spec(path)
    path.write_bytes(b"\xef\xbb\xbf" + f"{HEAD}id: café".encode())
    assert load_spec(path).id == "café"
    with pytest.raises(UnreadableFile):
        load_spec(tmp_path / "missing.yaml")
    with pytest.raises(UnreadableFile):
        load_spec(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"format": "tracedance.task", "format": 1}', "the key 'format' stands twice"),
        ("{", "not JSON"),
        ("[" * 300 + "]" * 300, f"nested deeper than {MAX_DEPTH} levels"),
    ],
)
def test_unreadable_json_is_one_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "task.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidSpec, match=message):
        load_spec(path)


def test_a_newer_version_is_named_as_such() -> None:
    with pytest.raises(UnsupportedVersion, match="format version 2; this release reads version 1"):
        parse_spec("format: tracedance.task\nversion: 2\nid: t")


def test_nothing_runs_when_a_task_file_tries_to_run_code(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    for tag in ("object/apply:os.mkdir", "object/new:os.mkdir", "object/apply:builtins.open"):
        for where in (f"id: !!python/{tag} ['{mark}']", f"? !!python/{tag} ['{mark}']\n: x"):
            with pytest.raises(InvalidSpec):
                parse_spec(f"{HEAD}{where}\n")
    assert not mark.exists()


def refusal(text: str, *, is_json: bool) -> str | None:
    try:
        parse_spec(text, is_json=is_json)
    except (InvalidSpec, UnsupportedVersion) as error:
        return str(error)
    return None


@given(st.text(max_size=80))
def test_any_text_gives_a_specification_or_one_line(text: str) -> None:
    for message in (refusal(text, is_json=True), refusal(text, is_json=False)):
        assert message is None or (message and "\n" not in message)


_json = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.text(max_size=4)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                ["id", "task", "outcomes", "type", "rules", "action", "expected_state", "of",
                 "requiredOutcomes", "actionCriteria", "actionType", "expectedState", "$regex",
                 "criteria", "x-a", "metadata", "extensions", "unexpected_changes"]
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)  # fmt: skip


@given(_json)
def test_any_document_gives_a_specification_or_problems_with_places(document: Any) -> None:
    try:
        spec = read_spec(document, versioned=False)
    except InvalidSpec as error:
        found = error.problems
    else:
        assert read_spec(spec.to_dict()) == spec
        return
    assert found
    assert all(problem.path.startswith("$") for problem in found)


def _write(folder: Path, name: str, task_id: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{HEAD}id: {json.dumps(task_id)}\n", encoding="utf-8")


def test_a_folder_of_tasks_is_looked_up_by_task_id(tmp_path: Path) -> None:
    _write(tmp_path, "one.yaml", "refund/late")
    _write(tmp_path, "deep/two.yml", "../../etc/passwd")
    _write(tmp_path, ".hidden/three.yaml", "hidden")
    (tmp_path / "README.md").write_text("words", encoding="utf-8")
    tasks = TaskRegistry.from_folder(tmp_path)
    assert sorted(tasks) == ["../../etc/passwd", "refund/late"]
    assert tasks["refund/late"].id == "refund/late"
    report = evaluate(run(task_id="../../etc/passwd"), tasks)
    assert (report.task_id, report.passed) == ("../../etc/passwd", True)


@pytest.mark.parametrize("task_id", ["refund/lat", "../one", "one.yaml", "\0", "", "/etc/passwd"])
def test_an_unknown_task_id_is_only_looked_up(tmp_path: Path, task_id: str) -> None:
    _write(tmp_path, "one.yaml", "refund/late")
    with pytest.raises(UnknownTask) as caught:
        TaskRegistry.from_folder(tmp_path)[task_id]
    assert "refund/late" in str(caught.value)


def test_unknown_tasks_are_told_what_is_known() -> None:
    tasks = TaskRegistry(TaskSpec(id=name) for name in ("mail", "refund", "rebook"))
    messages = []
    for task_id in ("mial", "zzz"):
        with pytest.raises(UnknownTask) as caught:
            tasks[task_id]
        messages.append(str(caught.value))
    with pytest.raises(UnknownTask) as caught:
        evaluate(run(), tasks)
    messages.append(str(caught.value))
    with pytest.raises(UnknownTask) as caught:
        TaskRegistry()["a"]
    assert [*messages, str(caught.value)] == snapshot(
        [
            "no task 'mial'; did you mean 'mail'?",
            "no task 'zzz'; known are 'mail', 'rebook', 'refund'",
            "trace 'trace' has no task id, so no task can be looked up",
            "no task 'a': there are no task files",
        ]
    )


def test_all_bad_files_of_a_folder_are_listed(tmp_path: Path) -> None:
    _write(tmp_path, "a.yaml", "same")
    _write(tmp_path, "b.yaml", "same")
    (tmp_path / "c.json").write_text("{", encoding="utf-8")
    with pytest.raises(InvalidSpec) as caught:
        TaskRegistry.from_folder(tmp_path)
    assert [Path(problem.path).name for problem in caught.value.problems] == ["b.yaml", "c.json"]
    with pytest.raises(UnreadableFile):
        TaskRegistry.from_folder(tmp_path / "none")
    with pytest.raises(InvalidSpec):
        TaskRegistry([TaskSpec(id="a"), TaskSpec(id="a")])


class ShortRun:
    """A grader as another package would offer it."""

    def __init__(self, *, most: int) -> None:
        self.most = most

    def __call__(self, trace: Any) -> bool:
        return len(trace.actions) <= self.most


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Offer `ShortRun` under the entry point group, as an installed package does."""
    module = types.ModuleType("graders_of_others")
    module.ShortRun = ShortRun  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    entry = EntryPoint("short_run", "graders_of_others:ShortRun", plugin_graders.GROUP)
    monkeypatch.setattr(plugin_graders, "entry_points", lambda group: (entry,))
    plugin_graders.grader_types.cache_clear()


@pytest.mark.usefixtures("installed")
def test_graders_of_installed_packages_are_found_by_type() -> None:
    try:
        text = f"{HEAD}id: t\ncriteria: [{{type: short_run, most: 1, id: short, x-a: 1}}]"
        spec = parse_spec(text)
        assert evaluate(run("a"), spec).passed
        report = evaluate(run("a", "b"), spec)
        assert [(g.criterion, g.verdict) for g in report.grades] == [("short", Verdict.FAIL)]
        assert read_spec(spec.to_dict()) == spec
        assert problems_of(f"{HEAD}id: t\ncriteria: [{{type: short_run, least: 1}}]") == snapshot(
            [
                "the grader 'short_run' cannot be made: TypeError: ShortRun.__init__() got an unexpected keyword argument 'least' @ $.criteria[0]"
            ]
        )
    finally:
        plugin_graders.grader_types.cache_clear()


def test_a_changed_copy_forgets_what_was_worked_out_from_the_original() -> None:
    spec = TaskSpec.model_validate({"id": "t", "criteria": [{"type": "idempotence"}]})
    known = (spec.digest, spec.listed(), spec.final_states)
    other = spec.model_copy(update={"criteria": ()})
    assert (other.listed(), other.digest == known[0]) == ((), False)
    assert (spec.digest, spec.listed(), spec.final_states) == known


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"criteria": [{"type": "budget", "max_calls": 3}]},
            "unknown key 'max_calls'; did you mean 'max_actions'? @ $.criteria[0].max_calls",
        ),
        (
            {"budget": {"max_actions": 3}},
            "unknown key 'budget'; a criterion; write criteria: [{type: budget, ...}] @ $.budget",
        ),
        (
            {"criteria": [{"budget": {"max_actions": 3}}]},
            "a criterion names its type; write {type: budget, ...} @ $.criteria[0]",
        ),
        (
            {"critical_errors": [{"tool": "refund", "args": {"order": "8"}}]},
            (
                "unknown key 'tool'; did you mean 'action'? @ $.critical_errors[0].tool; "
                "unknown key 'args'; did you mean 'matches'? @ $.critical_errors[0].args"
            ),
        ),
        (
            {"actions": [{"tool": "refund", "args": {"order": "8"}}]},
            (
                "unknown key 'tool'; did you mean 'action'? @ $.actions[0].tool; "
                "unknown key 'args'; did you mean 'acceptable_inputs'? @ $.actions[0].args"
            ),
        ),
        (
            {"criteria": [{"type": "order", "first": ["a", "b"], "then": "c"}]},
            (
                "the name of an action, or an object such as {action: NAME}, is needed, "
                "not ['a', 'b'] @ $.criteria[0].first"
            ),
        ),
        (
            {"criteria": [{"type": "required_actions", "actions": [{"tool": "a"}]}]},
            "unknown key 'tool'; did you mean 'action'? @ $.criteria[0].actions[0].tool",
        ),
        (
            {"criteria": [{"type": "required_actions", "actions": []}]},
            "a list that is not empty is needed, not [] @ $.criteria[0].actions",
        ),
    ],
)
def test_what_others_write_is_answered_with_what_to_write(
    fields: dict[str, Any], expected: str
) -> None:
    with pytest.raises(InvalidSpec) as raised:
        read_spec({"id": "t", **fields}, versioned=False)
    assert str(raised.value) == f"spec: {expected}"


@pytest.mark.parametrize("name", ["*", "delete_*", "mcp.?"])
@pytest.mark.parametrize(
    "criteria",
    [
        {"critical_errors": [{"action": "NAME"}]},
        {"actions": [{"rules": [{"action": "NAME"}]}]},
        {"criteria": [{"type": "required_actions", "actions": ["NAME"]}]},
        {"criteria": [{"type": "order", "first": "NAME", "then": "refund"}]},
        {"critical_errors": [{"action": "x", "unless_followed_by": {"action": "NAME"}}]},
    ],
    ids=["critical", "inputs", "required", "order", "followed"],
)
def test_a_name_that_looks_like_a_pattern_is_refused_as_it_would_match_nothing(
    name: str, criteria: dict[str, Json]
) -> None:
    document = json.loads(json.dumps({"id": "t", **criteria}).replace("NAME", name))
    with pytest.raises(InvalidSpec, match=rf"write \{{\$glob: \"{re.escape(name)}\"\}}"):
        read_spec(document, where="t", versioned=False)
    for operator in ("$glob", "$literal"):
        text = json.dumps({"id": "t", **criteria})
        again = text.replace('"NAME"', json.dumps({operator: name}))
        if '"type": "order"' not in text and "required_actions" not in text:
            read_spec(json.loads(again), where="t", versioned=False)
