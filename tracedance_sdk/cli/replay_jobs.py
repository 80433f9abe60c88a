"""The work of `tracedance replay`: tests, an agent, answers from recordings, a result set."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from tracedance_sdk.cli.complaints import complain
from tracedance_sdk.cli.model_options import ModelOptions, OpenedModel, opened_models
from tracedance_sdk.cli.model_spending import spent, versions
from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.formats import save_trace
from tracedance_sdk.grading import (
    ResultRow,
    ResultSetWriter,
    TaskRegistry,
    check_writable,
    exit_code,
    load_spec,
)
from tracedance_sdk.judging import Panel, RubricJudge, load_rubric
from tracedance_sdk.replay import (
    Doubt,
    FunctionGrader,
    JudgedRun,
    ModelCustomer,
    ModelSimulator,
    NearestSimulator,
    NotRun,
    Person,
    Players,
    PureTool,
    RecordedAgent,
    ReplayedRun,
    RunGrader,
    RunLimits,
    Simulator,
    SpecGrader,
    Suite,
    SuiteSettings,
    TemplateSimulator,
    TranscriptGrader,
    UntilDone,
    agent_named,
    customer_named,
    function_named,
    n_resting_on_simulated,
    odd_recordings,
    rows_of_runs,
    run_all,
)

_MOST_WARNINGS: Final = 5
RECORDED: Final = "recorded"
"""The agent that makes each test's own recorded calls."""


class ReplayPlan(NamedTuple):
    """What the verb was asked to do; the fields are named as its options."""

    folder: Path
    agent: str
    out: Path
    traces: Path | None = None
    tests: tuple[str, ...] = ()
    trials: int = 1
    customer: str | None = None
    spec: Path | None = None
    tasks: Path | None = None
    grader: str | None = None
    judges: tuple[str, ...] = ()
    rubric: str = "task-completion"
    pure: tuple[str, ...] = ()
    simulator: str = "none"
    no_derived: bool = False
    allow: tuple[Doubt, ...] = ()
    min_fidelity: float = 0.0
    nearest: bool = False
    max_turns: int = 50
    run_timeout: float = 600
    runs: int = 4
    calls: ModelOptions = ModelOptions()

    @property
    def who_speaks(self) -> str:
        """The customer's name: a recorded agent asks nothing, so a script is enough for it."""
        if self.customer is not None:
            return self.customer
        return "scripted" if self.agent == RECORDED else "rules"


class Replayed(NamedTuple):
    """What came of a plan.

    Attributes:
        found: The runs.
        rows: Of the result set.
        manifest: What the set says of itself.
        exit_code: Of the verb.
    """

    plan: ReplayPlan
    found: list[JudgedRun | NotRun]
    rows: list[ResultRow]
    manifest: dict[str, Any]
    exit_code: int


def run_replay(plan: ReplayPlan) -> Replayed:
    """Run the tests and write the result set.

    Raises:
        TraceDanceError: A folder, test, agent, grader, model or option that cannot be used;
            nothing was run then.
    """
    check_writable(plan.out)
    suite = Suite.load(plan.folder)
    chosen = _chosen(suite, plan.tests)
    _warn_of_odd(chosen)
    models = _Models(plan)
    players = _players(plan, chosen, models)
    settings = SuiteSettings(
        trials=plan.trials,
        concurrency=plan.runs,
        limits=RunLimits(max_turns=plan.max_turns, timeout_s=plan.run_timeout),
        allowed=plan.allow,
        min_fidelity=plan.min_fidelity,
        derives=not plan.no_derived,
        names_nearest=plan.nearest,
    )
    total = len(chosen.tests) * plan.trials
    kept: list[JudgedRun | NotRun] = []
    try:
        with _progress(total) as on_run:

            def keep(item: JudgedRun | NotRun) -> None:
                kept.append(item)
                if on_run is not None:
                    on_run(item)

            found = run_all(chosen, players, settings, on_run=keep, closes=models.askers)
    except KeyboardInterrupt:
        # What was run was paid for: it is kept, and the set says that it is not whole.
        _write(plan, chosen, kept, models.opened, n_left=total - len(kept))
        raise
    rows, manifest = _write(plan, chosen, found, models.opened)
    return Replayed(plan, found, rows, manifest, exit_code(r.verdict for r in rows if r.verdict))


def _write(
    plan: ReplayPlan,
    suite: Suite,
    found: list[JudgedRun | NotRun],
    opened: list[OpenedModel],
    *,
    n_left: int = 0,
) -> tuple[list[ResultRow], dict[str, Any]]:
    """Write the result set, and the traces where they are wanted."""
    rows = list(rows_of_runs(found))
    manifest = _manifest(plan, suite, found, opened)
    if n_left:
        manifest["exclusions"]["interrupted"] = n_left
    with ResultSetWriter(plan.out, manifest=manifest) as writer:
        writer.add(rows)
    if plan.traces is not None:
        _save(found, plan.traces)
    return rows, manifest


def _chosen(suite: Suite, names: tuple[str, ...]) -> Suite:
    """Return the suite with only these tests to run; all others still lend their recordings."""
    if not names:
        return suite
    return suite.only(dict.fromkeys(names))


def _warn_of_odd(suite: Suite) -> None:
    """Say which recordings do not fit the tools of their own test: they may answer no call."""
    odd = [(test.id, problem) for test in suite.tests for problem in odd_recordings(test)]
    for identity, problem in odd[:_MOST_WARNINGS]:
        complain(f"warning: {identity}: {problem}")
    if len(odd) > _MOST_WARNINGS:
        complain(f"warning: {len(odd) - _MOST_WARNINGS:,} more recordings do not fit their schema")


class _Models:
    """The models of a plan, each opened once."""

    def __init__(self, plan: ReplayPlan) -> None:
        names = [*plan.judges]
        names += [n for n in (plan.who_speaks, plan.simulator) if ":" in n and n not in names]
        self.opened: list[OpenedModel] = (
            opened_models(names, plan.calls, out=plan.out) if names else []
        )
        self._by_name = dict(zip(names, self.opened, strict=True))

    @property
    def askers(self) -> list[Any]:
        """What is to be closed in the end."""
        return [item.asker for item in self.opened]

    def named(self, name: str) -> OpenedModel:
        """Return a model by the name that the plan has."""
        return self._by_name[name]


def _players(plan: ReplayPlan, suite: Suite, models: _Models) -> Players:
    return Players(
        agent=_agent(plan, suite),
        customer=_customer(plan, models),
        grader=_grader(plan, models),
        pure=dict(map(_pure_tool, plan.pure)),
        simulator=_simulator(plan, models),
    )


def _agent(plan: ReplayPlan, suite: Suite) -> Any:
    if plan.agent == RECORDED:
        return lambda: RecordedAgent(suite)
    return agent_named(plan.agent, offline=plan.calls.offline)


def _customer(plan: ReplayPlan, models: _Models) -> Callable[[Person], Any]:
    factory = _named_customer(plan.who_speaks, models)
    if plan.agent == RECORDED:
        return lambda person: UntilDone(factory(person))
    return factory


def _named_customer(name: str, models: _Models) -> Callable[[Person], Any]:
    if ":" not in name:
        return customer_named(name)
    model = models.named(name)
    return lambda person: ModelCustomer(model.asker, person, name=model.name)


def _simulator(plan: ReplayPlan, models: _Models) -> Simulator | None:
    if plan.simulator == "none":
        return None
    if plan.simulator == NearestSimulator.name:
        return NearestSimulator()
    if plan.simulator == TemplateSimulator.name:
        return TemplateSimulator()
    if ":" not in plan.simulator:
        raise InvalidOption(
            f"--simulator {plan.simulator!r} is nobody; say none, nearest, template, or "
            "provider:model"
        )
    model = models.named(plan.simulator)
    return ModelSimulator(model.asker, name=model.name)


def _grader(plan: ReplayPlan, models: _Models) -> RunGrader | None:
    given = [
        name
        for name, value in (
            ("--spec", plan.spec),
            ("--tasks", plan.tasks),
            ("--grader", plan.grader),
            ("--judge", plan.judges),
        )
        if value
    ]
    if len(given) > 1:
        raise InvalidOption(f"{' and '.join(given)}: say once who grades")
    if plan.spec is not None:
        return SpecGrader(load_spec(plan.spec))
    if plan.tasks is not None:
        return SpecGrader(TaskRegistry.from_folder(plan.tasks))
    if plan.grader is not None:
        return FunctionGrader(function_named(plan.grader), plan.grader)
    if plan.judges:
        rubric = load_rubric(plan.rubric)
        if rubric.about != "trace":
            raise InvalidOption(
                f"--rubric {plan.rubric!r} is about one turn; a run is judged as a whole: name a "
                "rubric about the trace"
            )
        opened = [models.named(name) for name in plan.judges]
        judges = [RubricJudge(item.asker, rubric, model_name=item.name) for item in opened]
        return TranscriptGrader(Panel(judges))
    return None


def _pure_tool(text: str) -> tuple[str, PureTool]:
    name, mark, place = text.rpartition("=")
    place = place if mark else text
    function = function_named(place)
    return (name if mark else place.rpartition(":")[2].rpartition(".")[2]), function


def _manifest(
    plan: ReplayPlan,
    suite: Suite,
    found: list[JudgedRun | NotRun],
    opened: list[OpenedModel],
) -> dict[str, Any]:
    runs = [item.run for item in found if isinstance(item, JudgedRun)]
    stamps: Counter[str] = sum((Counter(run.stamps) for run in runs), Counter())
    simulated, ran = n_resting_on_simulated(found)
    return {
        "command": "replay",
        "versions": versions(),
        "agent": plan.agent,
        "customer": plan.who_speaks,
        "simulator": plan.simulator,
        "derived": not plan.no_derived,
        "allowed": list(plan.allow),
        "min_fidelity": plan.min_fidelity,
        "trials": plan.trials,
        "tests": len(suite.tests),
        "tests_sha256": suite.sha256,
        "runs": len(runs),
        "answers": dict(sorted(stamps.items())),
        "stale": sum(run.n_stale for run in runs),
        "misses": dict(Counter(a.miss for run in runs for a in run.answers if a.miss)),
        "ended": dict(Counter(run.ended for run in runs)),
        "rules": _rules(runs),
        "rest_on_simulated": {"tests": simulated, "of": ran},
        "rest_on": {
            "made_up": _n_tests(found, "simulated"),
            "missing": _n_tests(found, "failed"),
        },
        "exclusions": dict(Counter("not run" for item in found if isinstance(item, NotRun))),
        **spent(opened),
    }


def _n_tests(found: list[JudgedRun | NotRun], doubt: Doubt) -> int:
    """Return how many tests rest on a doubt in any of their runs."""
    runs = (item for item in found if isinstance(item, JudgedRun))
    return len({item.run.test.id for item in runs if doubt in item.doubts})


def _rules(runs: list[ReplayedRun]) -> list[dict[str, Any]]:
    """Return the rules that answers were derived by, each with what speaks for it."""
    used = Counter((a.rule, a.proof) for run in runs for a in run.answers if a.rule is not None)
    return [
        {"rule": rule, "proof": proof, "answers": number}
        for (rule, proof), number in used.most_common()
    ]


def _save(found: list[JudgedRun | NotRun], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for item in found:
        if isinstance(item, JudgedRun):
            name = f"{item.run.test.id}-{item.run.trial}-{item.run.trace.id[:8]}.json"
            save_trace(item.run.trace, folder / name)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[JudgedRun | NotRun], None] | None]:
    """Show a bar when a person is watching."""
    if total < 2 or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("running"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("running", total=total)
        yield lambda _: bar.update(task, advance=1)
