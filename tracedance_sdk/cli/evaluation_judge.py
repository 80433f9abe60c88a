"""Who judges the runs that `tracedance evaluate` grades, and what that cost."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from tracedance_sdk.cli.counts import count
from tracedance_sdk.cli.model_options import ModelOptions, OpenedModel, opened_models
from tracedance_sdk.errors import InvalidOption, shown
from tracedance_sdk.grading import Calibration, Judge, JudgeAnswer, judge_name

NONE: Final = "none"
_HEURISTIC: Final = "heuristic"
_RECORDED: Final = "recorded"
_CHOICES: Final = f"recorded:FILE, {_HEURISTIC}, {NONE}, or a model as provider:model[@base_url]"


class JudgePlan(NamedTuple):
    """Who is to judge, and how.

    Attributes:
        word: ``none``, ``heuristic``, ``recorded:FILE``, or a model's name.
        calibration: File of what the judge's scores have been shown to mean.
        calls: How a model is asked.
        out: Folder of the results, beside which a model's replies are kept.
    """

    word: str = NONE
    calibration: Path | None = None
    calls: ModelOptions = ModelOptions()
    out: Path | None = None

    @property
    def keeps_replies(self) -> bool:
        """Whether a model's replies are kept, so that a stopped run can go on."""
        return self.calls.cache is not None or self.out is not None


class OpenedJudge(NamedTuple):
    """A judge that can be asked.

    Attributes:
        judge: None when nobody is.
        calibration: What its scores mean, where that is known.
        model: The model behind it; None for the others.
    """

    judge: Judge | None = None
    calibration: Calibration | None = None
    model: OpenedModel | None = None


def open_judge(plan: JudgePlan) -> OpenedJudge:
    """Open who is to judge, so that what is wrong is said before any work.

    Raises:
        TraceDanceError: An unknown judge, a model or file that cannot be used, options of models
            for another judge, or a calibration that is of another judge or does not suffice.
    """
    judge, model = _judge(plan)
    if model is None:
        _refuse_options(plan)
    if plan.calibration is None:
        return OpenedJudge(judge, None, model)
    if judge is None:
        raise InvalidOption("--calibration says what a judge's scores mean; name it with --judge")
    return OpenedJudge(judge, _calibration(plan.calibration, judge), model)


def told_judge(opened: OpenedJudge, answers: Sequence[JudgeAnswer]) -> dict[str, Any]:
    """Return what a result set should say of its judge, for a manifest."""
    from tracedance_sdk.cli.model_spending import spent, versions

    if opened.model is None:
        return {}
    price = opened.model.asker.spending.price
    identities = {answer.judge: answer.identity for answer in answers}
    return {
        "versions": versions(),
        "judges": [{"name": name, **(found or {})} for name, found in identities.items()],
        "scores": sum(answer.score is not None for answer in answers),
        "missing": _missing(answers),
        **spent([opened.model]),
        "price": None if price is None else price._asdict(),
    }


def notes_on_judge(opened: OpenedJudge, answers: Sequence[JudgeAnswer]) -> Iterator[str]:
    """Yield what a reader should know of a model that judged: the cost, the scores that lack."""
    from tracedance_sdk.cli.model_spending import spent, told_spent

    if opened.model is None:
        return
    yield f"judge: {told_spent(spent([opened.model]))}"
    if kinds := _missing(answers):
        told = ", ".join(f"{kind} {number:,}" for kind, number in kinds.items())
        first = {
            answer.missing or "error": answer.missing_reason
            for answer in reversed(answers)
            if answer.score is None
        }
        number = count(sum(kinds.values()), "score")
        reasons = " | ".join(str(first[kind]) for kind in kinds)
        which = "the first" if len(kinds) == 1 else "the first of each"
        yield f"note: {number} of {len(answers):,} missing ({told}); {which}: {reasons}"


@contextmanager
def judging_progress(opened: OpenedJudge) -> Iterator[Callable[[], None] | None]:
    """Show how many runs were judged and what that cost, when a person is watching.

    Yields:
        What is to be called after each run; None when nobody is watching.
    """
    model = opened.model
    if model is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("judging", total=None)

        def on_run() -> None:
            number, cost = int(bar.tasks[0].completed) + 1, model.asker.spending.cost_usd
            told = f", ${cost:,.2f}" if cost else ""
            bar.update(task, advance=1, description=f"judged {count(number, 'run')}{told}")

        yield on_run


def _judge(plan: JudgePlan) -> tuple[Judge | None, OpenedModel | None]:
    kind, _, rest = plan.word.partition(":")
    if plan.word == NONE:
        return None, None
    if plan.word == _HEURISTIC:
        from tracedance_sdk.judging import HeuristicJudge

        return HeuristicJudge(), None
    if kind == _RECORDED and rest and not Path(rest).is_dir():
        from tracedance_sdk.judging import RecordedJudge

        return RecordedJudge.from_file(rest), None
    from tracedance_sdk.judging import TrajectoryJudge
    from tracedance_sdk.llm import PROVIDERS, installed_providers

    if not rest or kind not in (_RECORDED, *PROVIDERS, *installed_providers()):
        raise InvalidOption(f"unknown judge {shown(plan.word)}; choose one of {_CHOICES}")
    (model,) = opened_models([plan.word], plan.calls, out=plan.out)
    return TrajectoryJudge(model.asker, model_name=model.name), model


def _refuse_options(plan: JudgePlan) -> None:
    """Refuse what only a model takes; to be offline, every other judge is."""
    usual = ModelOptions()._asdict()
    for name, value in plan.calls._asdict().items():
        if value != usual[name] and name != "offline":
            option = "--" + name.removesuffix("_s").replace("_", "-")
            raise InvalidOption(
                f"{option} is for a model that judges, and none does; "
                "name one with --judge provider:model"
            )


def _calibration(path: Path, judge: Judge) -> Calibration:
    from tracedance_sdk.judging import load_calibration

    found = load_calibration(path).gate()
    if found.judge != judge_name(judge):
        raise InvalidOption(
            f"{str(path)!r} calibrates the judge {found.judge!r}, and {judge_name(judge)!r} is "
            "asked; another model, prompt or rubric is another judge, to be calibrated anew"
        )
    return found


def _missing(answers: Sequence[JudgeAnswer]) -> dict[str, int]:
    kinds = Counter(answer.missing or "error" for answer in answers if answer.score is None)
    return dict(sorted(kinds.items()))
