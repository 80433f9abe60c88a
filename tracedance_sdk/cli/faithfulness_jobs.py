"""The work of `tracedance faithfulness`: inputs are read, and what each allows is measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.grading import TaskRegistry, load_spec, read_results
from tracedance_sdk.replay import (
    PERSONA_RULES,
    ChangedAgent,
    Faithfulness,
    FaithfulnessEvidence,
    FaithfulnessLimits,
    FunctionGrader,
    Recorded,
    ReplayedTest,
    RunGrader,
    SelfCheck,
    SpecGrader,
    Suite,
    Withheld,
    answered_calls,
    effects_of_traces,
    function_named,
    judged_pairs,
    measure_faithfulness,
    production_of_recorded,
    rates_of_replays,
    rates_of_rows,
    read_rates,
    read_truth,
    recorded_suite,
    recorded_traces,
    regrade,
    replayed_tests,
    self_check,
)
from tracedance_sdk.statistics import Trials
from tracedance_sdk.trace import Effect, Trace

_TEST_MARK: Final = "tracedance.rebuilt_test"
_HEAD: Final = 4096


class FaithfulnessPlan(NamedTuple):
    """What the verb was asked to do; the fields are named as its options."""

    sources: tuple[Path, ...]
    recordings: tuple[Path, ...] = ()
    spec: Path | None = None
    tasks: Path | None = None
    grader: str | None = None
    traces: tuple[Path, ...] = ()
    truth: Path | None = None
    tests: Path | None = None
    persona: tuple[str, ...] = ()
    changed_replay: Path | None = None
    changed_real: Path | None = None
    judged: Path | None = None
    margin: float = 0.1
    most_wrong: float = 0.01
    seed: int = 0
    most: int = 400


class Measured(NamedTuple):
    """What came of measuring.

    Attributes:
        plan: What was asked.
        replays: Runs that were looked at.
        found: The nine points.
        unread: Traces that could not be read.
    """

    plan: FaithfulnessPlan
    replays: list[ReplayedTest]
    found: Faithfulness
    unread: int

    @property
    def exit_code(self) -> int:
        """Of the verb: what was not read was not measured."""
        return self.found.exit_code or (3 if self.unread else 0)


class Checked(NamedTuple):
    """What came of a self-check.

    Attributes:
        plan: What was asked.
        found: What the grader noticed.
        unread: Traces that could not be read.
    """

    plan: FaithfulnessPlan
    found: SelfCheck
    unread: int

    @property
    def exit_code(self) -> int:
        """Of the verb."""
        if self.found.of("missed") or self.found.disagreeing:
            return 1
        if self.unread or not self.found.tampered or self.found.of("error"):
            return 3
        return 0


def run_measurement(plan: FaithfulnessPlan) -> Measured:
    """Read what there is and measure what it allows.

    Raises:
        TraceDanceError: A set, file, folder, grader or option that cannot be used.
    """
    grader = _grader(plan)
    replays = _replays(plan.sources)
    reader = _Reader()
    recorded = reader.recorded(plan.recordings)[0] if plan.recordings else []
    regraded = regrade(recorded, grader) if grader is not None and recorded else None
    production = production_of_recorded(recorded) or None
    answers = None
    if plan.traces:
        withheld = None if plan.tests is None else Withheld(Suite.load(plan.tests).tests)
        truth = None if plan.truth is None else read_truth(plan.truth)
        known = {item.trace_id for item in replays}
        traces = [trace for trace in reader.traces(plan.traces) if trace.id in known]
        if not traces:
            raise InvalidOption("--traces holds no trace of these replays")
        answers = list(answered_calls(traces, truth=truth, withheld=withheld))
    judged = None
    if plan.judged is not None:
        judged = judged_pairs(read_results(plan.judged).rows, replays, recorded, regraded)
    evidence = FaithfulnessEvidence(
        replays,
        production=production,
        regraded=regraded,
        answers=answers,
        persona=_persona(plan.persona),
        changed=_changed(plan),
        judged=judged,
        given=given_inputs(plan),
    )
    limits = FaithfulnessLimits(margin=plan.margin, most_wrong=plan.most_wrong)
    return Measured(plan, replays, measure_faithfulness(evidence, limits), reader.unread)


def run_self_check(plan: FaithfulnessPlan) -> Checked:
    """Tamper with recordings and see whether the grader notices.

    Raises:
        TraceDanceError: No grader, no recording, or a source that cannot be used.
    """
    grader = _grader(plan)
    strangers = sorted(given_inputs(plan) - {"recordings", "grader"})
    if strangers:
        raise InvalidOption(f"--{strangers[0].replace('_', '-')} is not for --self-check")
    if grader is None:
        raise InvalidOption("--self-check needs a grader: --grader, --spec or --tasks")
    reader = _Reader()
    recorded, effects = reader.recorded((*plan.sources, *plan.recordings))
    if not recorded:
        raise InvalidOption("no recording to tamper with")
    checked = self_check(
        recorded,
        grader,
        effect_of=lambda name: effects.get(name, "unknown"),
        seed=plan.seed,
        most=plan.most,
    )
    return Checked(plan, checked, reader.unread)


def _grader(plan: FaithfulnessPlan) -> RunGrader | None:
    options = {"--spec": plan.spec, "--tasks": plan.tasks, "--grader": plan.grader}
    given = [name for name, value in options.items() if value]
    if len(given) > 1:
        raise InvalidOption(f"{' and '.join(given)}: say once who grades")
    if plan.spec is not None:
        return SpecGrader(load_spec(plan.spec))
    if plan.tasks is not None:
        return SpecGrader(TaskRegistry.from_folder(plan.tasks))
    if plan.grader is not None:
        return FunctionGrader(function_named(plan.grader), plan.grader)
    return None


def _replays(folders: Sequence[Path]) -> list[ReplayedTest]:
    found = []
    for folder in folders:
        tests = replayed_tests(read_results(folder).rows)
        if not tests:
            raise InvalidOption(f"{str(folder)!r} holds no replay of a rebuilt test")
        found += tests
    return found


class _Reader:
    """Reads traces and rebuilt tests, and counts what could not be read."""

    def __init__(self) -> None:
        from tracedance_sdk.cli.wanted import Missed

        self._missed = Missed()

    @property
    def unread(self) -> int:
        """How many traces could not be read."""
        return self._missed.number

    def traces(self, sources: Iterable[Path]) -> list[Trace]:
        """Return the traces of some sources."""
        from tracedance_sdk.cli.wanted import Wanted, wanted_traces

        return list(wanted_traces(tuple(sources), Wanted(None, None, "inferred"), self._missed))

    def recorded(self, sources: Sequence[Path]) -> tuple[list[Recorded], dict[str, Effect]]:
        """Return the recordings of some sources, and what their tools do."""
        recorded: list[Recorded] = []
        effects: dict[str, Effect] = {}
        for source in sources:
            if _is_suite(source):
                suite = Suite.load(source)
                recorded += recorded_suite(suite)
                effects |= suite.effects
                continue
            traces = self.traces([source])
            recorded += recorded_traces(traces)
            effects |= effects_of_traces(traces)
        return recorded, effects


def _is_suite(folder: Path) -> bool:
    """Whether a folder holds rebuilt tests."""
    if not folder.is_dir():
        return False
    try:
        for path in sorted(folder.glob("*.yaml")):
            with path.open("rb") as file:
                return _TEST_MARK.encode() in file.read(_HEAD)
    except OSError:
        return False
    return False


def _persona(options: Sequence[str]) -> dict[str, list[ReplayedTest]]:
    found: dict[str, list[ReplayedTest]] = {}
    for option in options:
        rule, mark, folder = option.partition("=")
        if not mark or rule not in PERSONA_RULES or not folder:
            raise InvalidOption(f"--persona {option!r} is not RULE=DIR, the rule R1, R2 or R3")
        if rule in found:
            raise InvalidOption(f"--persona gives {rule} twice")
        found[rule] = _replays([Path(folder)])
    return found


def _changed(plan: FaithfulnessPlan) -> ChangedAgent | None:
    if plan.changed_replay is None or plan.changed_real is None:
        return None
    replayed = rates_of_replays(_replays([plan.changed_replay]))
    return ChangedAgent(replayed, _real_rates(plan.changed_real))


def _real_rates(path: Path) -> Mapping[str, Trials]:
    if path.is_dir():
        return rates_of_rows(read_results(path).rows)
    return read_rates(path)


def given_inputs(plan: FaithfulnessPlan) -> frozenset[str]:
    """Return which inputs were given, by their keys in `INPUTS`."""
    inputs = {
        "recordings": plan.recordings,
        "grader": plan.grader or plan.spec or plan.tasks,
        "traces": plan.traces,
        "truth": plan.truth,
        "tests": plan.tests,
        "changed_replay": plan.changed_replay,
        "changed_real": plan.changed_real,
        "persona": plan.persona,
        "judged": plan.judged,
    }
    return frozenset(name for name, value in inputs.items() if value)
