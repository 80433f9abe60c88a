"""The work of `tracedance benchmark build`: what is asked becomes files."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, Final, NamedTuple

from tracedance_sdk.behaviors import (
    MOST_TOKENS,
    THRESHOLD,
    BuildSettings,
    Built,
    Caps,
    Confirmer,
    TraceConstraints,
    build_benchmarks,
    parse_query,
)
from tracedance_sdk.cli.model_options import ModelOptions, opened_models
from tracedance_sdk.cli.model_spending import spent
from tracedance_sdk.cli.scan_jobs import parameter_value, scan_progress
from tracedance_sdk.errors import BenchmarkRejected, InvalidOption
from tracedance_sdk.recording import read_names
from tracedance_sdk.replay import ToolLimit
from tracedance_sdk.store import TraceStore

_BESIDE: Final = (".construction.jsonl", ".audit.jsonl")
"""Ends of names of files that lie beside a benchmark."""


class BuildPlan(NamedTuple):
    """What `benchmark build` was asked to do; the fields are named as its options."""

    asked: str
    store: Path
    out: Path
    kmin: int
    kmax: int
    given: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    model_families: tuple[str, ...] = ()
    min_turns: int | None = None
    max_turns: int | None = None
    min_failures: int | None = None
    max_failures: int | None = None
    tools_called: tuple[str, ...] = ()
    since: date | None = None
    until: date | None = None
    where: str | None = None
    seed: int = 0
    per_session: int = 2
    per_project: int | None = None
    per_user: int | None = None
    keep_duplicates: bool = False
    tools: ToolLimit = "inferred"
    max_context_tokens: int | None = None
    names: Path | None = None
    audit: int = 0
    confirm: str | None = None
    jobs: int = 1
    calls: ModelOptions = ModelOptions()

    @property
    def constraints(self) -> TraceConstraints:
        """Which traces are asked for."""
        return TraceConstraints(
            sources=self.sources,
            model_families=tuple(name.lower() for name in self.model_families),
            min_turns=self.min_turns,
            max_turns=self.max_turns,
            min_failures=self.min_failures,
            max_failures=self.max_failures,
            tools=self.tools_called,
            since=self.since,
            until=self.until,
            where=self.where,
        )

    @property
    def settings(self) -> BuildSettings:
        """How it is built."""
        caps = Caps(
            session=self.per_session or None,
            project=self.per_project or None,
            user=self.per_user or None,
            similarity=None if self.keep_duplicates else THRESHOLD,
            seed=self.seed,
        )
        people = () if self.names is None else tuple(map(tuple, read_names(self.names)))
        return BuildSettings(
            caps=caps,
            tools=self.tools,
            most_tokens=self.max_context_tokens or MOST_TOKENS,
            audit=self.audit,
            people=people,
            processes=self.jobs,
        )


class BuildOutcome(NamedTuple):
    """What came of building.

    Attributes:
        built: The benchmarks that were written.
        rejected: Of two that were asked for with OR, those that cannot be built.
        spent: What confirming cost; None when no model was asked.
    """

    built: tuple[Built, ...]
    rejected: tuple[BenchmarkRejected, ...] = ()
    spent: dict[str, Any] | None = None

    @property
    def n_unanswered(self) -> int:
        """How often a model that is to confirm gave no answer that could be read."""
        said = (item.about["confirmation"] or {} for item in self.built)
        return sum(one.get("unreadable", 0) for one in said)


def run_build(plan: BuildPlan, *, on_built: Callable[[Built], None]) -> BuildOutcome:
    """Build what is asked for.

    Args:
        plan: What is.
        on_built: Is told of each benchmark once it is written.

    Raises:
        BenchmarkRejected: The one that is asked for cannot be built.
        TraceDanceError: A store, file, model or option that cannot be used.
    """
    values = dict(parameter_value(text) for text in plan.given)
    query = parse_query(
        plan.asked,
        constraints=plan.constraints,
        parameters=values,
        kmin=plan.kmin,
        kmax=plan.kmax,
    )
    _check_out(plan)
    store = TraceStore.open(plan.store, tools=plan.tools)
    opened = [] if plan.confirm is None else opened_models([plan.confirm], plan.calls, out=plan.out)
    confirmer = Confirmer(opened[0].asker, model_name=opened[0].name) if opened else None
    with scan_progress() as on_partition:
        found = build_benchmarks(
            query,
            store,
            plan.out,
            settings=plan.settings,
            confirmer=confirmer,
            on_partition=on_partition,
            on_built=on_built,
        )
    built = tuple(item for item in found if isinstance(item, Built))
    rejected = tuple(item for item in found if isinstance(item, BenchmarkRejected))
    if not built and len(rejected) == 1:
        raise rejected[0]
    return BuildOutcome(built, rejected, spent(opened) if opened else None)


def _check_out(plan: BuildPlan) -> None:
    """Refuse a file that no benchmark should be."""
    out, told = plan.out, f"--out {str(plan.out)!r}"
    if out.is_dir():
        raise InvalidOption(f"{told} is a folder; name a file in it")
    if out.suffix != ".jsonl":
        raise InvalidOption(f"{told}: name a file that ends in .jsonl")
    if out.name.endswith(_BESIDE):
        raise InvalidOption(
            f"{told}: names that end so are of files that lie beside a benchmark; name another"
        )
    if plan.store.resolve() in out.resolve().parents:
        raise InvalidOption(f"{told} lies inside the store; name a file elsewhere")
