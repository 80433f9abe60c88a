"""The work of `tracedance benchmark run`: files become result sets."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from tracedance_sdk.behaviors import (
    RECORDED_SOURCE,
    RULE_GRADER,
    THREATS,
    Benchmark,
    BenchmarkRate,
    Response,
    about_row,
    benchmark_rates,
    joint_rows,
    missing_row,
    read_benchmark,
    recorded_responses,
    rough_tokens,
    rubrics_of,
    rule_rows,
)
from tracedance_sdk.cli.left_out import told_left_out
from tracedance_sdk.cli.model_options import ModelOptions, OpenedModel, opened_models
from tracedance_sdk.cli.model_spending import asking_progress, spent, versions
from tracedance_sdk.cli.replay_keeping import check_place, held
from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.grading import ResultRow, ResultSetWriter, check_writable
from tracedance_sdk.judging import (
    JudgedItem,
    Panel,
    PanelFinding,
    Rubric,
    RubricJudge,
    panel_manifest,
    rows_of_panel,
    run_panels,
)
from tracedance_sdk.llm import Settings
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

_MOST_LISTED: Final = 1_000
_RUBRIC: Final = "rubric:"


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


class _Job(NamedTuple):
    """A plan, with what it names opened and sorted out.

    Attributes:
        benchmarks: All that were named.
        opened: All models that are asked, each once.
        taker: The model that takes the turns; None for the withheld ones.
        judges: The models that score; none for rules.
        places: By id the instances that are kept, each with its benchmark.
        points: The contexts that are sent; none where the withheld turns are scored.
        excluded: What is left out.
    """

    plan: RunPlan
    benchmarks: list[Benchmark]
    opened: list[OpenedModel]
    taker: OpenedModel | None
    judges: list[OpenedModel]
    places: dict[str, tuple[Benchmark, Instance]]
    points: list[DecisionPoint]
    excluded: list[Exclusion]

    @property
    def model(self) -> str:
        """The name of whoever takes the turns."""
        return RECORDED_SOURCE if self.taker is None else self.taker.name

    @property
    def wanted(self) -> int:
        """How many replies are to be scored."""
        return len(self.places) if self.taker is None else len(self.points) * self.plan.samples


class _SoFar(NamedTuple):
    """What came of a job, as it comes: turns, then scores of judges."""

    taken: list[TakenTurn]
    findings: list[PanelFinding]


class _Panels(NamedTuple):
    """Panels with what they judge, one for each rubric, and what their rows say of benchmarks."""

    work: list[tuple[Panel, list[JudgedItem]]]
    about: dict[str, dict[str, Any]]


def run_benchmarks(plan: RunPlan) -> RunOutcome:
    """Take the turns, score them and write the result set.

    Raises:
        TraceDanceError: A file, model, folder or price that cannot be used, or no context that can
            be sent; nothing was sent then.
    """
    job = _job(plan)
    check_place(plan.out, "--out")
    with held(plan.out, by="run"):
        manifest, rates = _run(job)
    is_short = any(rate.left_out for rate in rates) or manifest["unreadable"]
    problems = tuple(problem for item in job.benchmarks for problem in item.problems)
    return RunOutcome(plan, tuple(rates), manifest, 3 if is_short else 0, problems)


def _run(job: _Job) -> tuple[dict[str, Any], list[BenchmarkRate]]:
    """Take the turns, score them and write the result set; return its manifest and the rates."""
    so_far = _SoFar([], [])
    try:
        _take(job, so_far)
        if job.judges:
            _judge(job, so_far)
    except BaseException:
        # What came was paid for: it is kept, and the set says that it is not whole.
        if so_far.taken or so_far.findings:
            _write(job, so_far)
        raise
    return _write(job, so_far)


def _job(plan: RunPlan) -> _Job:
    """Open everything a plan names, so that what is wrong with it is said before any work."""
    check_writable(plan.out)
    benchmarks = _benchmarks(plan.files)
    is_source = plan.model == RECORDED_SOURCE
    names = list(dict.fromkeys(([] if is_source else [plan.model]) + list(plan.judges)))
    opened = opened_models(names, plan.calls, out=plan.out)
    by_name = dict(zip(names, opened, strict=True))
    judges = [by_name[name] for name in plan.judges]
    if not judges:
        _check_rule_judges(benchmarks)
    taker = None if is_source else by_name[plan.model]
    excluded: list[Exclusion] = []
    places: dict[str, tuple[Benchmark, Instance]] = {}
    for item in benchmarks:
        short, long = _by_length(item, plan.max_context_tokens)
        excluded += long
        places |= {instance.id: (short, instance) for instance in short.instances}
    points: list[DecisionPoint] = []
    if taker is not None:
        for _, instance in places.values():
            for found in _sendable(plan, taker, instance):
                if isinstance(found, Exclusion):
                    excluded.append(found)
                else:
                    points.append(found)
    if not (places if is_source else points):
        raise InvalidOption(_nothing(excluded) + _enough(plan, benchmarks))
    return _Job(plan, benchmarks, opened, taker, judges, places, points, excluded)


def _sendable(
    plan: RunPlan, taker: OpenedModel, instance: Instance
) -> Iterator[DecisionPoint | Exclusion]:
    point = instance_point(instance, tools=plan.tools)
    if isinstance(point, Exclusion):
        yield point
    else:
        yield from sendable([point], taker.model, plan.sampling)


def _take(job: _Job, so_far: _SoFar) -> None:
    """Let the model take the turns, if one is to."""
    if job.taker is None:
        return
    with asking_progress([job.taker], job.wanted) as on_turn:

        def keep(item: TakenTurn) -> None:
            so_far.taken.append(item)
            if on_turn is not None:
                on_turn(item)

        run_next_turns(job.points, job.taker.asker, job.plan.sampling, on_turn=keep)


def _judge(job: _Job, so_far: _SoFar) -> None:
    """Let the panels score all turns."""
    work = _panels(job, _responses(job, so_far)).work
    if not work:
        return
    with asking_progress(job.judges, sum(len(of) for _, of in work)) as on_finding:

        def keep(finding: PanelFinding) -> None:
            so_far.findings.append(finding)
            if on_finding is not None:
                on_finding(finding)

        run_panels(work, on_finding=keep)


def _write(job: _Job, so_far: _SoFar) -> tuple[dict[str, Any], list[BenchmarkRate]]:
    """Write the result set of what came so far, and return its manifest and the rates."""
    responses = _responses(job, so_far)
    if job.judges:
        scored, told = _by_panels(job, responses, so_far.findings)
    else:
        scored, told = list(rule_rows(responses, model=job.model)), {}
    own = _deciding(scored, prefix=_RUBRIC if job.judges else RULE_GRADER)
    rates = benchmark_rates(own)
    rows = _turn_rows(job, so_far)
    manifest = told | _manifest(job, responses)
    manifest |= {
        "missing_replies": _missing(rows),
        "undecided": sum(row.verdict is None and row.missing_reason is not None for row in own),
        **spent(job.opened),
        "rates": [rate.document() for rate in rates],
        "threats": list(THREATS),
    }
    if left := job.wanted - len(own):
        manifest["exclusions"]["interrupted"] = left
    with ResultSetWriter(job.plan.out, manifest=manifest) as writer:
        writer.add([*rows, *scored])
    return manifest, rates


def _manifest(job: _Job, responses: Sequence[Response]) -> dict[str, Any]:
    plan = job.plan
    return {
        "command": "benchmark run",
        "versions": versions(),
        "model": job.model,
        "scored_by": "judges" if job.judges else "rules",
        "benchmarks": [_about(item) for item in job.benchmarks],
        "tools": plan.tools,
        "samples": plan.samples,
        "seed": plan.seed,
        "settings": {"max_output_tokens": plan.max_tokens, "temperature": plan.temperature},
        "contexts": len({item.instance.id for item in responses}),
        "answers": sum(item.turn is not None for item in responses),
        "exclusions": dict(Counter(item.reason for item in job.excluded)),
        "excluded": [item._asdict() for item in job.excluded[:_MOST_LISTED]],
        "unreadable": sum(len(item.problems) for item in job.benchmarks),
    }


def _in_order(job: _Job, taken: Iterable[TakenTurn]) -> list[TakenTurn]:
    order = {id(point): number for number, point in enumerate(job.points)}
    return sorted(taken, key=lambda item: (order[id(item.point)], item.sample))


def _responses(job: _Job, so_far: _SoFar) -> list[Response]:
    """Return the turns to score: the withheld ones, or those that a model took so far."""
    if job.taker is None:
        kept = {benchmark.path: benchmark for benchmark, _ in job.places.values()}
        return [answer for item in kept.values() for answer in recorded_responses(item)]
    return [
        _response(item, *job.places[item.point.instance_id or ""])
        for item in _in_order(job, so_far.taken)
    ]


def _turn_rows(job: _Job, so_far: _SoFar) -> list[ResultRow]:
    return [
        row.model_copy(update=about_row(job.places[item.point.instance_id or ""][0]))
        for item in _in_order(job, so_far.taken)
        for row in rows_of_turn(item, model=job.model)
    ]


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


def _enough(plan: RunPlan, benchmarks: Iterable[Benchmark]) -> str:
    """Return which limit takes the shortest context, if none is that short."""
    most = plan.max_context_tokens
    sizes = [rough_tokens(one.trace) for item in benchmarks for one in item.instances]
    if most is None or not sizes or min(sizes) <= most:
        return ""
    return f"; would work: --max-context-tokens {min(sizes)}"


def _panels(job: _Job, responses: Sequence[Response]) -> _Panels:
    """Return a panel for each rubric, with the turns that it judges."""
    rubrics: dict[str, Rubric] = {}
    items: dict[str, list[JudgedItem]] = {}
    about: dict[str, dict[str, Any]] = {}
    told: dict[Path, dict[str, Rubric]] = {}
    for answer in responses:
        if answer.turn is None:
            continue
        benchmark, instance = answer.benchmark, answer.instance
        about[instance.id] = about_row(benchmark)
        own = told.setdefault(benchmark.path, {}) or rubrics_of(benchmark)
        told[benchmark.path] = own
        for rubric in own.values():
            rubrics[rubric.sha256] = rubric
            items.setdefault(rubric.sha256, []).append(_judged(answer, job.model))
    work = [(_panel(job, rubric), items[sha256]) for sha256, rubric in rubrics.items()]
    return _Panels(work, about)


def _by_panels(
    job: _Job, responses: Sequence[Response], findings: list[PanelFinding]
) -> tuple[list[ResultRow], dict[str, Any]]:
    """Return the rows of what panels found, and what the result set says of the judges."""
    panels = _panels(job, responses)
    rows = [
        missing_row(answer, model=job.model, prefix=_RUBRIC)
        for answer in responses
        if answer.turn is None
    ]
    if not panels.work:
        return rows, {}
    scored = [
        row.model_copy(update=panels.about[str(row.subject.instance_id)])
        for row in rows_of_panel(findings)
    ]
    both = {item.benchmark.path: item.benchmark for item in responses}
    joint = [
        row
        for item in both.values()
        if len(item.about["behaviors"]) > 1
        for row in joint_rows(scored, item, prefix=_RUBRIC)
    ]
    return [*rows, *scored, *joint], panel_manifest([panel for panel, _ in panels.work], findings)


def _judged(answer: Response, model: str) -> JudgedItem:
    from tracedance_sdk.grading import Subject

    instance = answer.instance
    subject = Subject(trace_id=instance.trace.id, turn=instance.turn, instance_id=instance.id)
    return JudgedItem(subject, instance.trace, answer.turn, answer.sample, instance.group, model)


def _panel(job: _Job, rubric: Rubric) -> Panel:
    return Panel(
        [RubricJudge(item.asker, rubric, model_name=item.name) for item in job.judges],
        repeats=job.plan.repeats,
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
