"""A benchmark is run: a model takes the next turn of each instance, rules or judges score it.

A turn passes from a score of 4 on. Where two behaviours are asked for at once the lower score
counts. Replies that are missing are never scored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from tracedance_sdk.behaviors.benchmarks.file import Benchmark, Construction
from tracedance_sdk.behaviors.catalogue import judge_named
from tracedance_sdk.behaviors.cutting.kept import kept_turn
from tracedance_sdk.behaviors.hits import Answered, Judged
from tracedance_sdk.behaviors.run import Run
from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.grading import ResultRow, Subject, Verdict
from tracedance_sdk.judging import Rubric, parse_rubric
from tracedance_sdk.replay import Instance
from tracedance_sdk.trace import Call, Trace, Turn

RULE_GRADER: Final = "rule:"
"""What the grader of a rule judge's row begins with; the behaviours' ids follow."""

RECORDED_SOURCE: Final = "recorded-source"
"""Name of the model that is none: the withheld turns are scored, which should mostly fail."""

PASS_FROM: Final = 4
_MOST: Final = 5


class Response(NamedTuple):
    """A turn in the place of the withheld one.

    Attributes:
        benchmark: Of which.
        instance: Of which.
        turn: What was answered; None where the reply is missing.
        sample: Which repetition, from 0.
        missing: Why there is no turn, in one line.
    """

    benchmark: Benchmark
    instance: Instance
    turn: Turn | None
    sample: int = 0
    missing: str | None = None


def recorded_responses(benchmark: Benchmark) -> Iterator[Response]:
    """Yield the withheld turns of a benchmark as if a model had answered so.

    Raises:
        InvalidOption: The construction is not at hand.
    """
    for instance in benchmark.instances:
        yield Response(benchmark, instance, made_from(benchmark, instance).withheld)


def made_from(benchmark: Benchmark, instance: Instance) -> Construction:
    """Return what an instance was made from.

    Raises:
        InvalidOption: The construction is not at hand.
    """
    found = benchmark.construction.get(instance.id)
    if found is None:
        raise InvalidOption(
            f"what {instance.id!r} was made from is not beside {str(benchmark.path)!r}, and "
            "judges by rules need it; put the file there, or name models by --judge"
        )
    return found


def about_row(benchmark: Benchmark) -> dict[str, Any]:
    """Return the fields by which rows of a benchmark are counted.

    They are ``benchmark`` (its id), ``behaviors``, ``frames``, ``behavior_groups`` and
    ``operator``.
    """
    behaviors = benchmark.about["behaviors"]
    return {
        "benchmark": benchmark.about["id"],
        "behaviors": [item["id"] for item in behaviors],
        "frames": sorted({item["frame"] for item in behaviors}),
        "behavior_groups": sorted({item["group"] for item in behaviors if item["group"]}),
        "operator": benchmark.about["query"]["operator"],
    }


def rubrics_of(benchmark: Benchmark) -> dict[str, Rubric]:
    """Return the rubric of each behaviour of a benchmark, by its id.

    Raises:
        InvalidSpec: The benchmark holds none that can be used.
    """
    told = (benchmark.instances[0].model_extra or {}).get("rubrics", {})
    found: dict[str, Rubric] = {}
    for item in benchmark.about["behaviors"]:
        own = told.get(item["id"], {})
        document = {
            "format": "tracedance.rubric",
            "version": 1,
            "id": item["id"],
            "title": item["desirable"] or item["name"],
            "about": "turn",
            "question": own.get("question"),
            "levels": own.get("levels"),
        }
        found[item["id"]] = parse_rubric(document, where=f"{benchmark.path}, {item['id']}")
    return found


def rule_rows(responses: Iterable[Response], *, model: str) -> Iterator[ResultRow]:
    """Yield a row for each response, scored by the rule judges of its behaviours.

    Rows have the grader ``rule:<behaviours>``, the score as a fifth of the rubric's, a verdict,
    the reasons as evidence, and the fields of `about_row`.

    Args:
        responses: Missing ones give a row with the reason and no verdict.
        model: Who answered.

    Raises:
        InvalidOption: The construction is not at hand, or a behaviour has no rule judge.
    """
    for response in responses:
        if response.turn is None:
            yield missing_row(response, model=model, prefix=RULE_GRADER)
            continue
        said = dict(judged_by_rules(response.benchmark, response.instance, response.turn))
        score = min(item.score for item in said.values())
        evidence = tuple(
            {"behavior": name, "score": item.score, "reason": item.reason}
            for name, item in said.items()
        )
        yield _row(
            response,
            model,
            RULE_GRADER,
            score=score / _MOST,
            verdict=Verdict.PASS if score >= PASS_FROM else Verdict.FAIL,
            evidence=evidence,
            rubric_score=score,
        )


def missing_row(response: Response, *, model: str, prefix: str) -> ResultRow:
    """Return the row of a reply that is missing: it has the reason, and neither verdict nor score.

    Args:
        response: Without a turn.
        model: Who was asked.
        prefix: What the grader begins with.
    """
    return _row(response, model, prefix, missing_reason=response.missing or "no answer")


def judged_by_rules(
    benchmark: Benchmark, instance: Instance, turn: Turn
) -> Iterator[tuple[str, Judged]]:
    """Yield what the rule judge of each behaviour says of a turn.

    Args:
        benchmark: Of which.
        instance: Whose context comes before the turn.
        turn: Taken by any model; results of its calls are not looked at.

    Raises:
        InvalidOption: The construction is not at hand, or a behaviour has no rule judge.
    """
    made = made_from(benchmark, instance)
    run = Run.of(answered_trace(instance, turn))
    for item in benchmark.about["behaviors"]:
        if item["judge"] is None:
            raise InvalidOption(f"{item['id']} has no judge by rules; name models by --judge")
        answered = Answered(
            run, instance.turn, made.hit(item["id"]), made.parameters.get(item["id"], {})
        )
        yield item["id"], judge_named(item["judge"])(answered)


def answered_trace(instance: Instance, turn: Turn) -> Trace:
    """Return the context of an instance with a new turn as its last; its calls have no results."""
    before = instance.trace.turns[: instance.turn]
    first = sum(len(earlier.calls) for earlier in before)
    plain = kept_turn(turn)
    calls = tuple(_asked(call, first + place) for place, call in enumerate(plain.calls))
    last = plain.model_copy(
        update={"index": instance.turn, "role": "assistant", "origin": "agent", "calls": calls}
    )
    return instance.trace.model_copy(update={"turns": (*before, last)})


def joint_rows(
    rows: Iterable[ResultRow], benchmark: Benchmark, *, prefix: str
) -> Iterator[ResultRow]:
    """Yield, for a benchmark of two behaviours at once, a row of the lower score of each response.

    Args:
        rows: Of panels, one for each behaviour.
        benchmark: Of two behaviours.
        prefix: What the graders of the panels' rows begin with.
    """
    ids = [item["id"] for item in benchmark.about["behaviors"]]
    of: dict[tuple[str | None, int], dict[str, ResultRow]] = {}
    for row in rows:
        if row.grader.removeprefix(prefix) in ids:
            key = row.subject.instance_id, row.sample
            of.setdefault(key, {})[row.grader.removeprefix(prefix)] = row
    own = {item.id for item in benchmark.instances}
    for (instance_id, _), found in of.items():
        if instance_id not in own or set(found) != set(ids):
            continue
        yield _lower([found[name] for name in ids], grader=prefix + "+".join(ids))


def _lower(rows: list[ResultRow], *, grader: str) -> ResultRow:
    lacking = [row for row in rows if row.verdict is None or row.score is None]
    verdicts = [row.verdict for row in rows]
    verdict: Verdict | None = None
    if Verdict.FAIL in verdicts:
        verdict = Verdict.FAIL
    elif not lacking:
        is_passed = all(one is Verdict.PASS for one in verdicts)
        verdict = Verdict.PASS if is_passed else Verdict.INCONCLUSIVE
    scores = [row.score for row in rows if row.score is not None]
    return rows[0].model_copy(
        update={
            "grader": grader,
            "verdict": verdict,
            "raw_verdict": None,
            "score": None if lacking else min(scores),
            "missing_reason": None if verdict is not None else lacking[0].missing_reason,
            "rubric": None,
        }
    )


def _asked(call: Call, index: int) -> Call:
    return call.model_copy(update={"index": index, "result": None})


def _row(response: Response, model: str, prefix: str, **fields: Any) -> ResultRow:
    benchmark, instance = response.benchmark, response.instance
    names = "+".join(item["id"] for item in benchmark.about["behaviors"])
    subject = Subject(trace_id=instance.trace.id, turn=instance.turn, instance_id=instance.id)
    given: Mapping[str, Any] = {**about_row(benchmark), **fields}
    return ResultRow(
        subject=subject,
        sample=response.sample,
        grader=f"{prefix}{names}",
        group=instance.group,
        task_id=instance.trace.task_id,
        model=model,
        **given,
    )
