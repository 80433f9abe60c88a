"""The work of `tracedance next-turn`: contexts, calls, rows, a result set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from tracedance_sdk.cli.left_out import told_left_out
from tracedance_sdk.cli.model_options import ModelOptions, OpenedModel, opened_models
from tracedance_sdk.cli.model_spending import asking_progress, spent, versions
from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.grading import (
    ResultRow,
    ResultSetWriter,
    TaskSpec,
    check_writable,
    exit_code,
    load_spec,
)
from tracedance_sdk.llm import Settings
from tracedance_sdk.replay import (
    GRADER,
    Cut,
    DecisionPoint,
    Exclusion,
    Instance,
    Sampling,
    TakenTurn,
    ToolLimit,
    decision_points,
    instance_point,
    rows_of_turn,
    run_next_turns,
    sendable,
)
from tracedance_sdk.trace import Trace

_MOST_LISTED: Final = 1_000
"""Exclusions that a manifest lists one by one; all are counted."""


class NextTurnPlan(NamedTuple):
    """What the verb was asked to do; the fields are named as its options."""

    model: str
    out: Path
    turn: int | None = None
    before_call: str | None = None
    tools: ToolLimit = "inferred"
    samples: int = 1
    seed: int | None = None
    spec: Path | None = None
    max_tokens: int = 32_768
    temperature: float | None = None
    as_recorded: bool = False
    opening: str | None = None
    calls: ModelOptions = ModelOptions()

    @property
    def sampling(self) -> Sampling:
        """How often and how each turn is taken."""
        settings = Settings(
            max_output_tokens=self.max_tokens,
            temperature=self.temperature,
            opening=self.opening,
        )
        return Sampling(self.samples, self.seed, settings, self.as_recorded)


class Outcome(NamedTuple):
    """What came of a plan.

    Attributes:
        rows: Of the result set.
        manifest: What the set says of itself.
        exit_code: Of the verb.
    """

    plan: NextTurnPlan
    rows: tuple[ResultRow, ...]
    manifest: dict[str, Any]
    exit_code: int


class _Tools(NamedTuple):
    """A plan, with what it names opened."""

    opened: OpenedModel
    spec: TaskSpec | None


def run_plan(plan: NextTurnPlan, sources: Iterable[Trace | Instance]) -> Outcome:
    """Take the turns and write the result set.

    Raises:
        TraceDanceError: A model, specification, folder or price that cannot be used, or no context
            that can be sent; nothing was sent then.
    """
    tools = _open(plan)
    points, excluded = _sorted_out(plan, tools, sources)
    if not points:
        raise InvalidOption(_nothing_to_send(excluded))
    taken: list[TakenTurn] = []
    try:
        with asking_progress([tools.opened], len(points) * plan.samples) as on_turn:

            def keep(item: TakenTurn) -> None:
                taken.append(item)
                if on_turn is not None:
                    on_turn(item)

            run_next_turns(points, tools.opened.asker, plan.sampling, on_turn=keep)
    except BaseException:
        # What came was paid for: it is kept, and the set says that it is not whole.
        if taken:
            _write(plan, tools, points, excluded, taken)
        raise
    rows, manifest = _write(plan, tools, points, excluded, taken)
    verdicts = [row.verdict for row in rows if row.verdict is not None]
    is_short = any(row.grader == GRADER and row.missing_reason for row in rows)
    return Outcome(plan, tuple(rows), manifest, exit_code(verdicts) or (3 if is_short else 0))


def _write(
    plan: NextTurnPlan,
    tools: _Tools,
    points: list[DecisionPoint],
    excluded: list[Exclusion],
    taken: list[TakenTurn],
) -> tuple[list[ResultRow], dict[str, Any]]:
    """Write the result set of the turns so far, in order, and return its rows and its manifest."""
    order = {id(point): number for number, point in enumerate(points)}
    taken = sorted(taken, key=lambda item: (order[id(item.point)], item.sample))
    model = tools.opened.name
    rows = [row for item in taken for row in rows_of_turn(item, model=model, spec=tools.spec)]
    manifest = _manifest(plan, tools, points, excluded, taken) | _odd_calls(rows)
    if left := len(points) * plan.samples - len(taken):
        manifest["exclusions"]["interrupted"] = left
    with ResultSetWriter(plan.out, manifest=manifest) as writer:
        writer.add(rows)
    return rows, manifest


def _open(plan: NextTurnPlan) -> _Tools:
    """Open everything a plan names, so that what is wrong with it is said before any work."""
    if plan.turn is not None and plan.before_call is not None:
        raise InvalidOption("say where to cut once: either --turn N or --before-call NAME")
    if plan.as_recorded and plan.temperature is not None:
        raise InvalidOption("give either --as-recorded or --temperature T")
    check_writable(plan.out)
    spec = None if plan.spec is None else load_spec(plan.spec)
    (opened,) = opened_models([plan.model], plan.calls, out=plan.out)
    return _Tools(opened, spec)


def _odd_calls(rows: Iterable[ResultRow]) -> dict[str, int]:
    """Count the answers that call what was not offered, or not as its schema wants it."""
    own = [row.model_extra or {} for row in rows if row.missing_reason is None]
    return {
        f"answers_with_{name}": sum(name in fields for fields in own)
        for name in ("unknown_tools", "bad_arguments")
    }


def _sorted_out(
    plan: NextTurnPlan, tools: _Tools, sources: Iterable[Trace | Instance]
) -> tuple[list[DecisionPoint], list[Exclusion]]:
    """Return the places to ask about, each once, and what is left out."""
    points: dict[tuple[str | None, str, int], DecisionPoint] = {}
    excluded: list[Exclusion] = []
    for source in sources:
        for found in _sendable(plan, tools, source):
            if isinstance(found, Exclusion):
                excluded.append(found)
                continue
            key = found.instance_id, found.trace.id, found.turn
            if key in points:
                reason = "the same trace again" if key[0] is None else "the same instance again"
                excluded.append(Exclusion(key[1], key[2], reason, "", key[0]))
            else:
                points[key] = found
    return list(points.values()), excluded


def _sendable(
    plan: NextTurnPlan, tools: _Tools, source: Trace | Instance
) -> Iterator[DecisionPoint | Exclusion]:
    if isinstance(source, Instance):
        found: Iterable[DecisionPoint | Exclusion] = [instance_point(source, tools=plan.tools)]
    else:
        found = decision_points(source, Cut(plan.turn, plan.before_call), tools=plan.tools)
    fit: list[DecisionPoint] = []
    for item in found:
        if isinstance(item, Exclusion):
            yield item
        else:
            fit.append(item)
    yield from sendable(fit, tools.opened.model, plan.sampling)


def _nothing_to_send(excluded: list[Exclusion]) -> str:
    if not excluded:
        return "no traces there, so no model was asked"
    return f"no context can be sent, so no model was asked; {told_left_out(excluded)}"


def _manifest(
    plan: NextTurnPlan,
    tools: _Tools,
    points: list[DecisionPoint],
    excluded: list[Exclusion],
    taken: list[TakenTurn],
) -> dict[str, Any]:
    price = tools.opened.asker.spending.price
    kinds = Counter(item.reply.missing.kind for item in taken if item.reply.missing is not None)
    settings = plan.sampling.settings._asdict()
    return {
        "command": "next-turn",
        "versions": versions(),
        "model": tools.opened.name,
        "specs": [] if tools.spec is None else [[tools.spec.id, tools.spec.digest]],
        "cut": {"turn": plan.turn, "before_call": plan.before_call},
        "tools": plan.tools,
        "tools_origins": dict(Counter(str(point.tools_origin or "none") for point in points)),
        "samples": plan.samples,
        "seed": plan.seed,
        "settings": {k: v for k, v in settings.items() if k not in ("seed", "sample")},
        "as_recorded": plan.as_recorded,
        "contexts": len(points),
        "answers": len(taken) - sum(kinds.values()),
        "missing": dict(sorted(kinds.items())),
        **spent([tools.opened]),
        "price": None if price is None else price._asdict(),
        "exclusions": dict(Counter(item.reason for item in excluded)),
        "excluded": [item._asdict() for item in excluded[:_MOST_LISTED]],
    }
