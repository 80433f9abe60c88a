"""A judge that needs no model: it counts what went wrong along the way.

The score starts at 1.0 and loses a fixed amount for each critical event, failed call, identical
repetition and step beside the shortest known path; it never falls below 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, Literal, NamedTuple

from tracedance_sdk.grading import (
    AcceptableInputs,
    ActionPattern,
    InputRule,
    Issue,
    Judgement,
    Report,
    RequiredActions,
    RunView,
    TaskSpec,
    Trajectory,
    evaluate_async,
)
from tracedance_sdk.trace import UNKNOWN, Call, Json, Trace, call_key

CRITICAL_PENALTY: Final = 0.3
FAILURE_PENALTY: Final = 0.15
REPETITION_PENALTY: Final = 0.1
DETOUR_PENALTY: Final = 0.1

_Step = Callable[[Call], bool]


class HeuristicJudge:
    """Scores how a run went by counting; deterministic, for any task.

    What is penalised: critical events (what the task's criteria call critical), failed calls,
    identical calls (by canonical key) after one that did not fail, and actions outside the
    shortest known path.

    Args:
        known_runs: Good runs; the shortest one of a trace's task is the path. Without one, the
            path is what the task's own criteria describe: a reference trajectory, else the
            actions that are required or have acceptable inputs. Without any, no action is
            outside.

    Example:
        >>> from tracedance_sdk.demo import demo_task, record_run
        >>> from tracedance_sdk.grading import evaluate
        >>> judge = HeuristicJudge()
        >>> [
        ...     evaluate(record_run(name), demo_task(), judge=judge).trajectory_score
        ...     for name in ("efficient", "inefficient", "failed")
        ... ]
        [1.0, 0.9, 0.35]
    """

    name: Final = "heuristic"

    def __init__(self, known_runs: Iterable[Trace] = ()) -> None:
        self._shortest: dict[str | None, Trace] = {}
        for run in known_runs:
            best = self._shortest.get(run.task_id)
            if best is None or len(run.actions) < len(best.actions):
                self._shortest[run.task_id] = run

    async def judge(self, trace: Trace, spec: TaskSpec) -> Judgement:
        """Judge one trace; never fails on a trace that can be graded."""
        run = RunView(trace, initial_state=spec.initial_state)
        known = self._shortest.get(trace.task_id)
        path = _steps_of_run(known) if known is not None else _steps_of_task(spec, run)
        losses = [*_critical_events(await evaluate_async(trace, spec)), *_losses(run, path)]
        return _judgement(losses, n_actions=len(run.actions), knows_path=path is not None)


_Kind = Literal["critical", "failure", "repetition", "detour"]


class _Loss(NamedTuple):
    """Something that costs points."""

    kind: _Kind
    call_id: str | None
    what: str
    recovered: bool = True


_PENALTIES: Final[dict[_Kind, float]] = {
    "critical": CRITICAL_PENALTY,
    "failure": FAILURE_PENALTY,
    "repetition": REPETITION_PENALTY,
    "detour": DETOUR_PENALTY,
}
_GOOD: Final[dict[_Kind, str]] = {
    "critical": "no critical event",
    "failure": "no call failed",
    "repetition": "no call was repeated",
    "detour": "every action lies on the shortest known path",
}


def _critical_events(report: Report) -> Iterator[_Loss]:
    for grade in report.grades:
        for evidence in grade.evidence:
            if evidence.severity == "critical" and evidence.certain:
                yield _Loss("critical", evidence.call_id, evidence.what)


def _losses(run: RunView, path: list[_Step] | None) -> Iterator[_Loss]:
    """Yield failures, then per action the one thing that is wrong with it as a step."""
    done: set[str] = set()
    left = None if path is None else list(path)
    for place, call in enumerate(run.actions):
        label = run.label(call)
        if call.failed:
            later = run.actions[place + 1 :]
            recovered = any(other.name == call.name and not other.failed for other in later)
            yield _Loss("failure", call.id, f"{label} failed", recovered)
        key = None if call.arguments is UNKNOWN else call_key(call.name, call.arguments)
        if key is not None and key in done:
            yield _Loss("repetition", call.id, f"{label} was done before with the same arguments")
        elif left is not None:
            step = next((step for step in left if step(call)), None)
            if step is None:
                yield _Loss("detour", call.id, f"{label} lies outside the shortest known path")
            else:
                left.remove(step)
        if key is not None and not call.failed:
            done.add(key)


def _steps_of_run(known: Trace) -> list[_Step]:
    return [_same_call(call_key(call.name, call.arguments)) for call in known.actions]


def _same_call(key: str) -> _Step:
    return lambda call: call.arguments is not UNKNOWN and call_key(call.name, call.arguments) == key


def _steps_of_task(spec: TaskSpec, run: RunView) -> list[_Step] | None:
    """Return the path that a task's criteria describe; None when they describe none."""
    criteria = [criterion for _, _, criterion in spec.listed() if not criterion.negate]
    references = [item.reference for item in criteria if isinstance(item, Trajectory)]
    if references:
        return [_fitting(pattern, run) for pattern in min(references, key=len)]
    steps: list[_Step] = []
    named: list[Json] = []
    for criterion in criteria:
        if isinstance(criterion, RequiredActions):
            steps += [_fitting(pattern, run) for pattern in criterion.actions]
            named += [pattern.action.source for pattern in criterion.actions]
    for criterion in criteria:
        for rule in criterion.rules if isinstance(criterion, AcceptableInputs) else ():
            # One step a tool: a required action is not asked for twice.
            if rule.action.source not in named:
                steps.append(_accepted(rule))
                named.append(rule.action.source)
    return steps or None


def _fitting(pattern: ActionPattern, run: RunView) -> _Step:
    return lambda call: pattern.fits(call, run) is not False


def _accepted(rule: InputRule) -> _Step:
    return lambda call: (
        rule.action.holds(call.name) is not False and rule.accepts(call) is not False
    )


def _judgement(losses: list[_Loss], *, n_actions: int, knows_path: bool) -> Judgement:
    counts = {kind: sum(loss.kind == kind for loss in losses) for kind in _PENALTIES}
    lost = sum(_PENALTIES[kind] * count for kind, count in counts.items())
    told = [f"{count} x {kind}" for kind, count in counts.items() if count]
    return Judgement(
        score=max(0.0, round(1.0 - lost, 4)),
        reasoning=f"{n_actions} actions; {', '.join(told) or 'nothing to fault'}",
        strengths=tuple(
            good
            for kind, good in _GOOD.items()
            if not counts[kind] and (knows_path or kind != "detour")
        ),
        weaknesses=tuple(told),
        issues=tuple(_issue(loss) for loss in losses),
    )


def _issue(loss: _Loss) -> Issue:
    ids = () if loss.call_id is None else (loss.call_id,)
    issue = Issue(type="other", severity="low", action_ids=ids, explanation=loss.what)
    if loss.kind == "critical":
        return issue.model_copy(update={"severity": "high"})
    if loss.kind == "failure" and not loss.recovered:
        return issue.model_copy(update={"type": "poor_recovery", "severity": "medium"})
    if loss.kind == "repetition":
        return issue.model_copy(update={"type": "unnecessary_action"})
    if loss.kind == "detour":
        return issue.model_copy(update={"type": "inefficient_path"})
    return issue
