"""Short names for what `tracedance calibrate` prints again and again: judges, models, groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from tracedance_sdk.cli.judge_letters import lettered, say_legend
from tracedance_sdk.judging import CalibrationReport, ItemKey, JudgeCalibration, RatedPair
from tracedance_sdk.report import ReportConsole, in_one_line

_LONGEST_NAME: Final = 16
_LEAST_OF_ID: Final = 12
_MOST_LABELLERS: Final = 6


class ShortNames(NamedTuple):
    """What stands for whom in tables.

    Attributes:
        judges: Name of each judge of a panel → its letter; empty for a judge alone.
        owners: Model, or group, whose passes are counted → its number; empty where names are
            short.
        of_models: Whether the owners are models.
    """

    judges: Mapping[str, str]
    owners: Mapping[str, str]
    of_models: bool

    @classmethod
    def of(cls, report: CalibrationReport) -> ShortNames:
        """Return the names that a report needs."""
        told = [rate.owner for rate in report.rates]
        told += [pair.item.key.model for pair in report.disagreements]
        models = {model for model in told if model is not None}
        ranked = {owner for rule in report.rules for owner, _ in rule.order}
        of_models = bool(models & ranked) or not ranked
        names = sorted(models | ranked if of_models else ranked)
        is_long = any(len(in_one_line(name)) > _LONGEST_NAME for name in names)
        numbers = {name: str(at) for at, name in enumerate(names, 1)} if is_long else {}
        return cls(judge_letters(report.calibration), numbers, of_models)

    @property
    def kind(self) -> str:
        """What the owners are, in a word."""
        return "model" if self.of_models else "group"

    def owner(self, name: str | None) -> str:
        """Return how a model or a group is told in a cell; ``all`` for None."""
        if name is None:
            return "all"
        return f"{self.kind} {self.owners[name]}" if name in self.owners else name

    def rule(self, name: str) -> str:
        """Return how a passing rule is told, of a judge alone by its letter."""
        judge, _, bound = name.rpartition(" >= ")
        return f"{self.judges[judge]} alone >= {bound}" if judge in self.judges else name

    def item(self, key: ItemKey, width: int) -> str:
        """Return a short name of an item, with so many characters of its trace's id."""
        told = [key.instance_id or (key.trace_id or "?")[:width]]
        told += [f"turn {key.turn}"] if key.turn is not None else []
        if key.model:
            told.append(self.owner(key.model) if self.of_models else key.model)
        told += [f"sample {key.sample}"] if key.sample else []
        return ", ".join(told)

    def reason(self, pair: RatedPair) -> str:
        """Return a judge's reason; of a panel each judge's, after its letter."""
        reasons = pair.item.judge.reasons
        if len(reasons) == 1:
            return next(iter(reasons.values()))
        return " | ".join(
            f"{self.judges.get(name, name)}: {said}" for name, said in sorted(reasons.items())
        )

    def say(self, console: ReportConsole) -> None:
        """Print who is who."""
        say_legend(console, dict(self.judges))
        say_legend(console, dict(self.owners), self.kind)


def judge_letters(calibration: JudgeCalibration) -> dict[str, str]:
    """Return a letter for each judge of a panel; nothing for a judge alone."""
    if calibration.kind == "judge":
        return {}
    return lettered([judge.name for judge in calibration.judges])


def labellers_text(names: Iterable[str]) -> str:
    """Return who labelled: a few by name, the others counted."""
    listed = list(names)
    told = ", ".join(in_one_line(name) for name in listed[:_MOST_LABELLERS])
    rest = len(listed) - _MOST_LABELLERS
    return f"{told} and {rest:,} more" if rest > 0 else told


def telling_width(ids: set[str]) -> int:
    """Return how many characters from their beginning tell ids apart, at least a few."""
    width, longest = _LEAST_OF_ID, max(map(len, ids))
    while width < longest and len({found[:width] for found in ids}) < len(ids):
        width += 4
    return width
