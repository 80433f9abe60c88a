"""What holds of grading whatever the trace."""

from __future__ import annotations

import copy
import itertools
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from tests.grading.runs import FAILED, OK, UNCLEAR, action
from tests.support.traces import numbered, traces, values
from tracedance_sdk.grading import (
    Expected,
    TaskSpec,
    Verdict,
    draft_spec,
    evaluate,
    parse_spec,
    read_spec,
)
from tracedance_sdk.grading.drafting import as_expected
from tracedance_sdk.grading.predicates import literal
from tracedance_sdk.trace import UNKNOWN, Trace, Turn, assess, is_unobserved

known_states = traces().filter(
    lambda trace: not is_unobserved(trace.initial_state) and not is_unobserved(trace.final_state)
)

_names = st.sampled_from(["lookup", "pay", {"$glob": "l*"}])
_patterns = st.fixed_dictionaries(
    {"action": _names},
    optional={
        "matches": st.sampled_from([{}, {"a": 1}, {"a": {"$absent": True}}]),
        "success": st.booleans(),
        "when": st.just({"state": {"a": None}}),
    },
)
criteria = st.one_of(
    st.fixed_dictionaries(
        {
            "type": st.just("critical_errors"),
            "rules": st.lists(_patterns, min_size=1, max_size=2),
            "severity": st.sampled_from(["critical", "major", "minor"]),
        }
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("acceptable_inputs"),
            "rules": st.lists(
                st.fixed_dictionaries(
                    {
                        "action": _names,
                        "acceptable_inputs": st.lists(
                            st.sampled_from([{"a": 1}, {"b": "x"}]), max_size=2
                        ),
                    }
                ),
                min_size=1,
                max_size=2,
            ),
        }
    ),
    st.fixed_dictionaries(
        {"type": st.just("order"), "first": _patterns, "then": _patterns},
        optional={"negate": st.booleans()},
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("required_actions"),
            "actions": st.lists(_patterns, min_size=1, max_size=3),
            "in_order": st.booleans(),
        }
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("forbidden_sequence"),
            "sequence": st.lists(_patterns, min_size=1, max_size=3),
            "contiguous": st.booleans(),
        }
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("counts"),
            "of": _patterns,
            "max": st.integers(0, 2),
            "allow_retries": st.booleans(),
        }
    ),
    st.fixed_dictionaries({"type": st.just("recovery"), "within": st.integers(1, 2)}),
    st.just({"type": "idempotence"}),
    st.just({"type": "budget", "max_actions": 2, "max_failures": 0, "max_tokens": 10}),
    st.just({"type": "outcome", "ended": True}),
    st.just({"type": "reply", "contains": "a"}),
    st.just({"type": "invariant", "state": {"a": None}}),
    st.fixed_dictionaries(
        {
            "type": st.just("trajectory"),
            "mode": st.sampled_from(["strict", "unordered", "subset", "superset"]),
            "reference": st.lists(_patterns, max_size=3),
        }
    ),
    st.fixed_dictionaries(
        {"type": st.just("final_state"), "expected_state": values.map(as_expected)}
    ),
)


def spec_with(listed: list[Any], **fields: Any) -> TaskSpec:
    numbered_ids = [{**item, "id": f"c{place}"} for place, item in enumerate(listed)]
    return read_spec({"id": "task", "criteria": numbered_ids, **fields}, versioned=False)


@given(traces(), st.lists(criteria, max_size=4))
def test_grading_leaves_trace_and_specification_as_they_were(
    trace: Trace, listed: list[Any]
) -> None:
    spec = spec_with(listed)
    before = copy.deepcopy((trace, spec.to_dict()))
    evaluate(trace, spec)
    assert (trace, spec.to_dict()) == before


@given(traces(), st.lists(criteria, min_size=1, max_size=4), st.randoms())
def test_the_order_of_criteria_changes_no_grade(trace: Trace, listed: list[Any], dice: Any) -> None:
    in_order = spec_with(listed)
    shuffled = list(in_order.criteria)
    dice.shuffle(shuffled)
    other = in_order.model_copy(update={"criteria": tuple(shuffled)})
    first, second = evaluate(trace, in_order), evaluate(trace, other)
    assert first.verdict is second.verdict
    assert sorted(map(str, first.grades)) == sorted(map(str, second.grades))


@given(traces(), st.lists(criteria, max_size=3))
def test_no_grader_breaks_on_any_trace(trace: Trace, listed: list[Any]) -> None:
    report = evaluate(trace, spec_with(listed))
    assert not report.errors
    assert report.to_dict()["verdict"] == report.verdict


@given(traces(), st.lists(criteria, max_size=3), criteria)
def test_a_further_criterion_never_improves_the_verdict(
    trace: Trace, listed: list[Any], further: Any
) -> None:
    # Rank 0 is the worst verdict.
    before = evaluate(trace, spec_with(listed)).verdict
    assert evaluate(trace, spec_with([*listed, further])).verdict.rank <= before.rank


_FORBIDDING = ("critical_errors", "acceptable_inputs", "forbidden_sequence", "idempotence")
_monotone = criteria.filter(lambda item: item["type"] in _FORBIDDING)
_violations = st.builds(
    action,
    st.sampled_from(["lookup", "pay"]),
    st.sampled_from([{}, {"a": 1}, {"a": 2}, {"b": "x"}]),
    result=st.sampled_from([OK, FAILED, UNCLEAR]),
)


@given(traces(), st.lists(_monotone, min_size=1, max_size=3), _violations)
def test_a_further_action_never_improves_a_verdict_on_what_must_not_happen(
    trace: Trace, listed: list[Any], extra: Any
) -> None:
    # Of a run of which nothing was recorded it is not known that nothing happened.
    asked = Turn(index=0, role="user", origin="human")
    trace = numbered(trace.model_copy(update={"turns": (asked, *trace.turns)}))
    turn = Turn(index=0, role="assistant", origin="agent", calls=(extra,), synthetic=True)
    longer = numbered(trace.model_copy(update={"turns": (*trace.turns, turn)}))
    spec = spec_with(listed)
    assert evaluate(longer, spec).verdict.rank <= evaluate(trace, spec).verdict.rank


@given(values)
def test_every_value_fits_itself_unless_it_is_veiled(value: Any) -> None:
    expected = Expected(literal(value)) if not _stubbed(value) else None
    assume(expected is not None)
    assert expected is not None
    for mode in ("partial", "exact"):
        assert expected.holds(value, mode=mode) in (True, None)
        assert Expected(as_expected(value)).holds(value, mode=mode) is True


def _stubbed(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"$blob", "$size"}


@given(st.dictionaries(st.text(max_size=3), values, min_size=1, max_size=4), values)
def test_asking_for_less_never_turns_a_pass_into_a_fail(
    expected: dict[str, Any], actual: Any
) -> None:
    whole = Expected({"$literal": expected}).holds(actual)
    for key in expected:
        rest = {name: item for name, item in expected.items() if name != key}
        if whole is True:
            assert Expected({"$literal": rest}).holds(actual) is True


@given(known_states)
def test_a_run_passes_the_specification_drafted_from_it(trace: Trace) -> None:
    text = draft_spec(trace)
    spec = parse_spec(text)
    report = evaluate(trace, spec)
    assert report.verdict is Verdict.PASS, (text, [grade.reason for grade in report.grades])


@given(traces())
def test_every_trace_gives_a_draft_that_can_be_read(trace: Trace) -> None:
    spec = parse_spec(draft_spec(trace))
    assert spec.id == (trace.task_id or "my-task")
    assert evaluate(trace, spec).verdict in (Verdict.PASS, Verdict.INCONCLUSIVE)


@given(traces(), st.lists(criteria, max_size=3))
def test_a_specification_survives_being_written_and_read(trace: Trace, listed: list[Any]) -> None:
    spec = spec_with(listed, description="d", metadata={"a": [1]}, **{"x-own": 1})
    again = read_spec(spec.to_dict())
    assert again == spec
    assert again.digest == spec.digest


@given(traces())
def test_a_state_that_was_never_seen_is_neither_right_nor_wrong(trace: Trace) -> None:
    blind = assess(trace.model_copy(update={"final_state": UNKNOWN}))
    for expected in itertools.islice(({"a": 1}, {}, None, [1]), 4):
        report = evaluate(blind, {"id": "t", "outcomes": [{"expected_state": expected}]})
        assert report.verdict is Verdict.INCONCLUSIVE
