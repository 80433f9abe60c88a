"""The work of `tracedance benchmark`: what is asked becomes files; files become result sets."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Final, NamedTuple

from tracedance_sdk.behaviors import (
    MOST_TOKENS,
    RECORDED_SOURCE,
    RULE_GRADER,
    THREATS,
    THRESHOLD,
    Benchmark,
    BenchmarkRate,
    BuildSettings,
    Built,
    Caps,
    Confirmer,
    Response,
    TraceConstraints,
    about_row,
    benchmark_rates,
    build_benchmark,
    joint_rows,
    missing_row,
    parse_query,
    read_benchmark,
    recorded_responses,
    rough_tokens,
    rubrics_of,
    rule_rows,
)
from tracedance_sdk.cli.left_out import told_left_out
from tracedance_sdk.cli.model_options import ModelOptions, OpenedModel, opened_models
from tracedance_sdk.cli.model_spending import asking_progress, spent, versions
from tracedance_sdk.cli.scan_jobs import parameter_value, scan_progress
from tracedance_sdk.errors import BenchmarkRejected, InvalidOption
from tracedance_sdk.grading import ResultRow, ResultSetWriter, check_writable
from tracedance_sdk.judging import (
    JudgedItem,
    Panel,
    Rubric,
    RubricJudge,
    panel_manifest,
    rows_of_panel,
    run_panels,
)
from tracedance_sdk.llm import Settings
from tracedance_sdk.recording import read_names
from tracedance_sdk.replay import (
    DecisionPoint,
    Exclusion,
    Instance,
    Sampling,
    TakenTurn,
    ToolLimit,
    instance_point,
    rows_of_turn,
    run_next_turns,
    sendable,
)
from tracedance_sdk.store import TraceStore

_MOST_LISTED: Final = 1_000
_RUBRIC: Final = "rubric:"


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
            session=self.per_session if self.per_session > 0 else None,
            project=self.per_project,
            user=self.per_user,
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
        rejected: Of two that were asked for with OR, the one that cannot be built.
        spent: What confirming cost; None when no model was asked.
    """

    built: tuple[Built, ...]
    rejected: tuple[BenchmarkRejected, ...] = ()
    spent: dict[str, Any] | None = None


def run_build(plan: BuildPlan) -> BuildOutcome:
    """Build what is asked for.

    Raises:
        BenchmarkRejected: None of it can be built.
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
    if plan.audit and query.operator == "AND":
        raise InvalidOption("--audit is of one behaviour; build a benchmark of each to audit it")
    if plan.out.is_dir() or not plan.out.parent.is_dir():
        raise InvalidOption(f"--out {str(plan.out)!r}: name a file in a folder that is there")
    if plan.out.suffix != ".jsonl":
        raise InvalidOption(f"--out {str(plan.out)!r}: name a file that ends in .jsonl")
    if plan.store.resolve() in plan.out.resolve().parents:
        raise InvalidOption(f"--out {str(plan.out)!r} lies inside the store; name a file elsewhere")
    store = TraceStore.open(plan.store, tools=plan.tools)
    opened = [] if plan.confirm is None else opened_models([plan.confirm], plan.calls, out=plan.out)
    confirmer = Confirmer(opened[0].asker, model_name=opened[0].name) if opened else None
    built: list[Built] = []
    rejected: list[BenchmarkRejected] = []
    for part in query.parts():
        out = plan.out if query.operator != "OR" else _named(plan.out, part.name)
        try:
            with scan_progress() as on_partition:
                made = build_benchmark(
                    part,
                    store,
                    out,
                    settings=plan.settings,
                    confirmer=confirmer,
                    on_partition=on_partition,
                )
            built.append(made)
        except BenchmarkRejected as error:
            rejected.append(error)
    if not built:
        raise rejected[0]
    return BuildOutcome(tuple(built), tuple(rejected), spent(opened) if opened else None)


def _named(path: Path, name: str) -> Path:
    """Return the file of one of two benchmarks: ``b.jsonl`` → ``b.F01.jsonl``."""
    stem = path.name.removesuffix(".jsonl")
    return path.with_name(f"{stem}.{name}.jsonl")


class RunPlan(NamedTuple):
    """What `benchmark run` was asked to do; the fields are named as its options."""

    files: tuple[Path, ...]
    model: str
    out: Path
    judges: tuple[str, ...] = ()
    samples: int = 1
    seed: int | None = None
    tools: ToolLimit = "inferred"
    max_tokens: int = 32_768
    max_context_tokens: int | None = None
    temperature: float | None = None
    opening: str | None = None
    repeats: int = 1
    calls: ModelOptions = ModelOptions()

    @property
    def sampling(self) -> Sampling:
        """How often and how each turn is taken."""
        settings = Settings(
            max_output_tokens=self.max_tokens, temperature=self.temperature, opening=self.opening
        )
        return Sampling(self.samples, self.seed, settings)


class RunOutcome(NamedTuple):
    """What came of a run.

    Attributes:
        rates: How often the model passed.
        manifest: What the result set says of itself.
        exit_code: Of the verb.
        problems: Why lines of the files are no instances.
    """

    plan: RunPlan
    rates: tuple[BenchmarkRate, ...]
    manifest: dict[str, Any]
    exit_code: int
    problems: tuple[str, ...] = ()


class _Answers(NamedTuple):
    """What is to be scored, what was left out, and the rows that the replies make."""

    responses: list[Response]
    excluded: list[Exclusion]
    rows: list[ResultRow]


def run_benchmarks(plan: RunPlan) -> RunOutcome:
    """Take the turns, score them and write the result set.

    Raises:
        TraceDanceError: A file, model, folder or price that cannot be used, or no context that can
            be sent; nothing was sent then.
    """
    check_writable(plan.out)
    benchmarks = _benchmarks(plan.files)
    is_source = plan.model == RECORDED_SOURCE
    names = ([] if is_source else [plan.model]) + list(plan.judges)
    opened = opened_models(list(dict.fromkeys(names)), plan.calls, out=plan.out)
    by_name = dict(zip(dict.fromkeys(names), opened, strict=True))
    judges = [by_name[name] for name in plan.judges]
    if not judges:
        _check_rule_judges(benchmarks)
    taker = None if is_source else by_name[plan.model]
    model = RECORDED_SOURCE if taker is None else taker.name
    answers = _taken(plan, benchmarks, taker)
    if judges:
        scored, told = _by_panels(plan, judges, answers.responses, model)
    else:
        scored, told = list(rule_rows(answers.responses, model=model)), {}
    own = _deciding(scored, prefix=_RUBRIC if judges else RULE_GRADER)
    found = benchmark_rates(own)
    rows = [*answers.rows, *scored]
    manifest = {
        "command": "benchmark run",
        "versions": versions(),
        "model": model,
        "scored_by": "judges" if judges else "rules",
        "benchmarks": [_about(item) for item in benchmarks],
        "tools": plan.tools,
        "samples": plan.samples,
        "seed": plan.seed,
        "settings": {"max_output_tokens": plan.max_tokens, "temperature": plan.temperature},
        "contexts": len({item.instance.id for item in answers.responses}),
        "answers": sum(item.turn is not None for item in answers.responses),
        "missing_replies": _missing(answers.rows),
        **told,
        "undecided": sum(row.verdict is None and row.missing_reason is not None for row in own),
        **spent(opened),
        "exclusions": dict(Counter(item.reason for item in answers.excluded)),
        "excluded": [item._asdict() for item in answers.excluded[:_MOST_LISTED]],
        "unreadable": sum(len(item.problems) for item in benchmarks),
        "rates": [rate.document() for rate in found],
        "threats": list(THREATS),
    }
    with ResultSetWriter(plan.out, manifest=manifest) as writer:
        writer.add(rows)
    is_short = any(rate.left_out for rate in found) or manifest["unreadable"]
    problems = tuple(problem for item in benchmarks for problem in item.problems)
    return RunOutcome(plan, tuple(found), manifest, 3 if is_short else 0, problems)


def _benchmarks(files: Iterable[Path]) -> list[Benchmark]:
    found = [read_benchmark(path) for path in files]
    ids = Counter(instance.id for item in found for instance in item.instances)
    twice = [name for name, number in ids.items() if number > 1]
    if twice:
        raise InvalidOption(
            f"the instance {twice[0]!r} is in several of the files; run them one by one"
        )
    return found


def _check_rule_judges(benchmarks: Iterable[Benchmark]) -> None:
    for item in benchmarks:
        for behavior in item.about["behaviors"]:
            if behavior["judge"] is None:
                raise InvalidOption(
                    f"{behavior['id']} has no judge by rules; name models by --judge"
                )
        if not item.construction:
            raise InvalidOption(
                f"what {str(item.path)!r} was made from is not beside it, and judges by rules need "
                "it; put the file .construction.jsonl there, or name models by --judge"
            )


def _taken(plan: RunPlan, benchmarks: Sequence[Benchmark], taker: OpenedModel | None) -> _Answers:
    """Return the turns: the withheld ones, or those that a model takes."""
    excluded: list[Exclusion] = []
    kept: list[Benchmark] = []
    for item in benchmarks:
        short, long = _by_length(item, plan.max_context_tokens)
        excluded += long
        kept.append(short)
    if taker is None:
        responses = [answer for item in kept for answer in recorded_responses(item)]
        if not responses:
            raise InvalidOption(_nothing(excluded))
        return _Answers(responses, excluded, [])
    places: dict[str, tuple[Benchmark, Instance]] = {
        instance.id: (item, instance) for item in kept for instance in item.instances
    }
    points: list[DecisionPoint] = []
    for _, instance in places.values():
        point = instance_point(instance, tools=plan.tools)
        if isinstance(point, Exclusion):
            excluded.append(point)
            continue
        for one in sendable([point], taker.model, plan.sampling):
            if isinstance(one, Exclusion):
                excluded.append(one)
            else:
                points.append(one)
    if not points:
        raise InvalidOption(_nothing(excluded))
    with asking_progress([taker], len(points) * plan.samples) as on_turn:
        taken = run_next_turns(points, taker.asker, plan.sampling, on_turn=on_turn)
    responses = [_response(item, *places[item.point.instance_id or ""]) for item in taken]
    rows = [
        row.model_copy(update=about_row(answer.benchmark))
        for item, answer in zip(taken, responses, strict=True)
        for row in rows_of_turn(item, model=taker.name)
    ]
    return _Answers(responses, excluded, rows)


def _by_length(item: Benchmark, most: int | None) -> tuple[Benchmark, list[Exclusion]]:
    if most is None:
        return item, []
    sizes = [(instance, rough_tokens(instance.trace)) for instance in item.instances]
    long = [
        Exclusion(
            instance.trace.id,
            instance.turn,
            f"over {most:,} tokens",
            f"about {size:,} tokens",
            instance.id,
        )
        for instance, size in sizes
        if size > most
    ]
    short = tuple(instance for instance, size in sizes if size <= most)
    return item._replace(instances=short), long


def _response(taken: TakenTurn, benchmark: Benchmark, instance: Instance) -> Response:
    missing = taken.reply.missing
    turn = taken.reply.turn if missing is None else None
    why = None if missing is None else str(missing)
    return Response(benchmark, instance, turn, taken.sample, why)


def _nothing(excluded: list[Exclusion]) -> str:
    if not excluded:
        return "the files hold no instances, so no model was asked"
    return f"no context can be sent, so no model was asked; {told_left_out(excluded)}"


def _by_panels(
    plan: RunPlan, judges: Sequence[OpenedModel], responses: Sequence[Response], model: str
) -> tuple[list[ResultRow], dict[str, Any]]:
    """Return the rows of a panel for each rubric, and what the result set says of the judges."""
    rubrics: dict[str, Rubric] = {}
    items: dict[str, list[JudgedItem]] = {}
    about: dict[str, dict[str, Any]] = {}
    told: dict[Path, dict[str, Rubric]] = {}
    rows = [
        missing_row(answer, model=model, prefix=_RUBRIC)
        for answer in responses
        if answer.turn is None
    ]
    for answer in responses:
        if answer.turn is None:
            continue
        benchmark, instance = answer.benchmark, answer.instance
        about[instance.id] = about_row(benchmark)
        own = told.setdefault(benchmark.path, {}) or rubrics_of(benchmark)
        told[benchmark.path] = own
        for rubric in own.values():
            rubrics[rubric.sha256] = rubric
            items.setdefault(rubric.sha256, []).append(_judged(answer, model))
    panels = [_panel(plan, rubric, judges) for rubric in rubrics.values()]
    if not panels:
        return rows, {}
    work = [(panel, items[panel.rubric.sha256]) for panel in panels]
    with asking_progress(judges, sum(len(of) for _, of in work)) as on_finding:
        findings = run_panels(work, on_finding=on_finding)
    scored = [
        row.model_copy(update=about[str(row.subject.instance_id)])
        for row in rows_of_panel(findings)
    ]
    both = {item.benchmark.path: item.benchmark for item in responses}
    joint = [
        row
        for item in both.values()
        if len(item.about["behaviors"]) > 1
        for row in joint_rows(scored, item, prefix=_RUBRIC)
    ]
    return [*rows, *scored, *joint], panel_manifest(panels, findings)


def _judged(answer: Response, model: str) -> JudgedItem:
    from tracedance_sdk.grading import Subject

    instance = answer.instance
    subject = Subject(trace_id=instance.trace.id, turn=instance.turn, instance_id=instance.id)
    return JudgedItem(subject, instance.trace, answer.turn, answer.sample, instance.group, model)


def _panel(plan: RunPlan, rubric: Rubric, judges: Sequence[OpenedModel]) -> Panel:
    return Panel(
        [RubricJudge(item.asker, rubric, model_name=item.name) for item in judges],
        repeats=plan.repeats,
    )


def _deciding(rows: Iterable[ResultRow], *, prefix: str) -> list[ResultRow]:
    """Return the row of each response that counts: of two behaviours at once the joint one."""
    return [
        row
        for row in rows
        if row.grader == prefix + "+".join((row.model_extra or {}).get("behaviors", ()))
    ]


def _missing(rows: Iterable[ResultRow]) -> dict[str, int]:
    kinds = Counter(str(kind) for row in rows if (kind := (row.model_extra or {}).get("missing")))
    return dict(sorted(kinds.items()))


def _about(benchmark: Benchmark) -> dict[str, Any]:
    about = benchmark.about
    return {
        "id": about["id"],
        "file": benchmark.path.name,
        "sha256": hashlib.sha256(benchmark.path.read_bytes()).hexdigest(),
        "behaviors": [item["id"] for item in about["behaviors"]],
        "behavior_sha256": {item["id"]: item["sha256"] for item in about["behaviors"]},
        "status": about["status"],
        "instances": len(benchmark.instances),
    }
