"""What a rubric's judge is given, and what it gives back."""

from __future__ import annotations

from typing import Final, NamedTuple

from tracedance_sdk.errors import InvalidOption, shown
from tracedance_sdk.grading import Subject
from tracedance_sdk.judging.rubric import Rubric
from tracedance_sdk.llm import MissingKind
from tracedance_sdk.trace import Trace, Turn, Usage

_COUNTS: Final = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
)


class JudgedItem(NamedTuple):
    """Something to be judged: a run, or one turn as an answer to what came before it.

    Attributes:
        subject: What it is; `turn` says where the context of a response ends.
        trace: The run, or the run that the response answers.
        response: The turn that was given there; None judges the whole trace.
        sample: Which repetition of the response, from 0.
        group: The leave-out unit.
        model: Who gave the response or ran. No judge is shown it.
    """

    subject: Subject
    trace: Trace
    response: Turn | None = None
    sample: int = 0
    group: str | None = None
    model: str | None = None

    @property
    def instance(self) -> tuple[str, str, int]:
        """What the responses of several models and samples have in common, in a form that sorts."""
        subject = self.subject
        turn = -1 if subject.turn is None else subject.turn
        return subject.instance_id or "", subject.trace_id or "", turn

    @property
    def order(self) -> tuple[tuple[str, str, int], str, int, str]:
        """The place of the item among others; no two items of a set share one."""
        return self.instance, self.model or "", self.sample, self.group or ""

    def __str__(self) -> str:
        instance, trace_id, turn = self.instance
        told = [f"trace {trace_id!r}"] + ([f"instance {instance!r}"] if instance else [])
        told += [f"turn {turn}"] if turn >= 0 else []
        told += [f"model {self.model}"] if self.model else []
        return ", ".join([*told, f"sample {self.sample}"])


class RubricScore(NamedTuple):
    """What one judge said of one item, once.

    Attributes:
        score: From 0 to 5; None when there is none.
        reasoning: Given before the score; empty when missing.
        missing_reason: Why there is no score, in one line; None exactly when there is one.
        usage: Tokens and cost of all calls for it; in joint mode its share of them.
        repeat: Which repetition by the same judge, from 0.
        missing: The kind of what is missing.
        warnings: What was dropped from the reply.
    """

    score: int | None
    reasoning: str = ""
    missing_reason: str | None = None
    usage: Usage | None = None
    repeat: int = 0
    missing: MissingKind | None = None
    warnings: tuple[str, ...] = ()


def check_item(rubric: Rubric, item: JudgedItem) -> None:
    """Refuse an item that a rubric is not about.

    Raises:
        InvalidOption: A rubric about turns and no response, one about traces and a response, or a
            response whose place in the trace is not told.
    """
    if rubric.about == "trace" and item.response is not None:
        raise InvalidOption(
            f"the rubric {rubric.id!r} is about whole traces, and a response is to be judged "
            f"({item}); use a rubric with 'about: turn'"
        )
    if rubric.about == "trace":
        return
    if item.response is None:
        raise InvalidOption(
            f"the rubric {rubric.id!r} is about turns, and there is no response to judge ({item}); "
            "take next turns first, or use a rubric with 'about: trace'"
        )
    turn, n_turns = item.subject.turn, len(item.trace.turns)
    if turn is None or not 0 <= turn <= n_turns:
        raise InvalidOption(
            f"where the response belongs must be a turn from 0 to {n_turns}, not {shown(turn)} "
            f"({item})"
        )


def added(first: Usage | None, second: Usage | None) -> Usage | None:
    """Return the usage of two calls together; what only one of them tells is kept.

    Example:
        >>> both = added(Usage(input_tokens=3, cost_usd=0.5), Usage(input_tokens=4))
        >>> both.input_tokens, both.cost_usd
        (7, 0.5)
    """
    if first is None or second is None:
        return first if second is None else second
    pairs = {name: (getattr(first, name), getattr(second, name)) for name in (*_COUNTS, "cost_usd")}
    known = {name: [n for n in pair if n is not None] for name, pair in pairs.items()}
    return Usage.model_validate({name: sum(found) for name, found in known.items() if found})


def shared_out(usage: Usage | None, n: int) -> list[Usage | None]:
    """Return a call's usage in `n` shares that add up to it, for responses judged together.

    Example:
        >>> [share.input_tokens for share in shared_out(Usage(input_tokens=11), 3)]
        [4, 4, 3]
    """
    if usage is None:
        return [None] * n
    shares: list[Usage | None] = []
    for place in range(n):
        fields: dict[str, float] = {}
        for name in _COUNTS:
            if (count := getattr(usage, name)) is not None:
                fields[name] = count // n + (place < count % n)
        if usage.cost_usd is not None:
            fields["cost_usd"] = usage.cost_usd / n
        shares.append(Usage.model_validate(fields))
    return shares
