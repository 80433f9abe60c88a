from __future__ import annotations

from tests.otel.test_conventional import run
from tracedance_sdk.journal import EventRecord
from tracedance_sdk.otel import assemble, evaluation_event


def test_a_grade_is_an_event_of_the_span_it_judges() -> None:
    event = evaluation_event(
        "final_state",
        trace_id="0a" * 16,
        span_id="0b" * 8,
        time_ns=7,
        score=1,
        label="pass",
        explanation="as expected",
    )
    assert event == EventRecord(
        "gen_ai.evaluation.result",
        "0a" * 16,
        "0b" * 8,
        7,
        {
            "gen_ai.evaluation.name": "final_state",
            "gen_ai.evaluation.score.value": 1.0,
            "gen_ai.evaluation.score.label": "pass",
            "gen_ai.evaluation.explanation": "as expected",
        },
    )
    assert isinstance(event.attributes["gen_ai.evaluation.score.value"], float)


def test_a_grader_that_failed_names_its_error_and_no_score() -> None:
    event = evaluation_event(
        "judge", trace_id="0a" * 16, span_id="0b" * 8, time_ns=7, error_type="TimeoutError"
    )
    assert event.attributes == {"gen_ai.evaluation.name": "judge", "error.type": "TimeoutError"}


def test_grades_among_the_records_change_no_trace() -> None:
    agent = run()
    event = evaluation_event(
        "judge", trace_id=agent.trace_id, span_id=agent.span_id, time_ns=7, label="pass"
    )
    stray = evaluation_event("judge", trace_id="0f" * 16, span_id="0f" * 8, time_ns=7)
    assert assemble([agent, event, stray]) == assemble([agent])
