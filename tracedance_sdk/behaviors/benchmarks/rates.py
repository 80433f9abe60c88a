"""How often a model passed: by benchmark, behaviour, frame, group and over all.

The rate of a benchmark is passes among verdicts. The rate over several is the unweighted mean of
theirs, so that a benchmark with few instances counts as much as one with many. Benchmarks of two
behaviours at once count for no behaviour, frame or group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from tracedance_sdk.grading import ResultRow, Verdict
from tracedance_sdk.statistics import Estimate, clustered_rate, macro_mean, pass_rate

RATE_KINDS: Final = ("benchmark", "behavior", "frame", "group", "overall")
_FEW: Final = 10
_DECIDED: Final = (Verdict.PASS, Verdict.FAIL, Verdict.CRITICAL)


class BenchmarkRate(NamedTuple):
    """How often a model passed in one cut of the results.

    Attributes:
        kind: One of `RATE_KINDS`.
        name: Of the benchmark, behaviour, frame or group; ``all`` overall.
        benchmarks: How many it is over.
        passed: Verdicts that are a pass.
        valid: Verdicts that are a pass or a failure.
        left_out: Replies without either: missing, undecided.
        estimate: Rate with a 95 % interval; None without a verdict. Of one benchmark by Wilson, or
            with sessions as clusters where some hold several instances; over several benchmarks
            by Student's t with them as the sample, which a few of them leave wide; where all came
            out alike, as of one.
        clusters: How many sessions or benchmarks the interval rests on, where it rests on such;
            None where each verdict counts by itself.
        cluster_kind: ``session`` (instances with the same ``group``) or ``benchmark``.
    """

    kind: str
    name: str
    benchmarks: int
    passed: int
    valid: int
    left_out: int
    estimate: Estimate | None
    clusters: int | None = None
    cluster_kind: str | None = None

    @property
    def note(self) -> str:
        """How many clusters the interval rests on, in a line; empty where there are none."""
        if self.clusters is None:
            return ""
        wide = f"; so few {self.cluster_kind}s make it wide" if self.clusters < _FEW else ""
        return f"the interval rests on {self.clusters} {self.cluster_kind}s{wide}"

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        fields = self._asdict()
        estimate = fields.pop("estimate")
        if estimate is None:
            return {**fields, "rate": None, "interval": None}
        low, high = estimate.interval.low, estimate.interval.high
        return {**fields, "rate": estimate.value, "interval": [low, high]}


def benchmark_rates(rows: Iterable[ResultRow]) -> list[BenchmarkRate]:
    """Return the rates of rows that judges or panels of a benchmark run gave.

    Args:
        rows: One for each response, with the fields of `about_row`.

    Returns:
        By kind in the order of `RATE_KINDS`, within a kind by name.
    """
    told = list(rows)
    single = [row for row in told if _own(row)["operator"] != "AND"]
    kinds: tuple[tuple[str, list[ResultRow], Callable[[ResultRow], str | None]], ...] = (
        ("benchmark", told, lambda row: str(_own(row)["benchmark"])),
        ("behavior", single, lambda row: _only(_own(row)["behaviors"])),
        ("frame", single, lambda row: _only(_own(row)["frames"])),
        ("group", single, lambda row: _only(_own(row)["behavior_groups"])),
        ("overall", told, lambda _: "all"),
    )
    found: list[BenchmarkRate] = []
    for kind, of, named in kinds:
        groups: dict[str, list[ResultRow]] = {}
        for row in of:
            name = named(row)
            if name is not None:
                groups.setdefault(name, []).append(row)
        found += (_rate(kind, name, groups[name]) for name in sorted(groups))
    return found


def _rate(kind: str, name: str, rows: Sequence[ResultRow]) -> BenchmarkRate:
    valid = [row for row in rows if row.verdict in _DECIDED]
    benchmarks = sorted({str(_own(row)["benchmark"]) for row in rows})
    return BenchmarkRate(
        kind,
        name,
        len(benchmarks),
        sum(row.verdict is Verdict.PASS for row in valid),
        len(valid),
        len(rows) - len(valid),
        *_estimate(valid),
    )


def _estimate(rows: Sequence[ResultRow]) -> tuple[Estimate | None, int | None, str | None]:
    """Return a rate with how many clusters of which kind it rests on."""
    if not rows:
        return None, None, None
    outcomes = [row.verdict is Verdict.PASS for row in rows]
    benchmarks = [str(_own(row)["benchmark"]) for row in rows]
    if len(set(benchmarks)) > 1:
        found = macro_mean([float(one) for one in outcomes], benchmarks)
        if found.interval.half_width > 0:
            found = found._replace(interval=found.interval.within(0, 1))
            return found, len(set(benchmarks)), "benchmark"
        # Benchmarks that all came out alike say nothing of how sure that is; their sessions do.
    clusters = [row.group or str(row.subject.instance_id) for row in rows]
    if 1 < len(set(clusters)) < len(clusters):
        found = clustered_rate([float(one) for one in outcomes], clusters)
        return found, len(set(clusters)), "session"
    return pass_rate(sum(outcomes), len(outcomes)), None, None


def _own(row: ResultRow) -> dict[str, Any]:
    return row.model_extra or {}


def _only(values: Sequence[str]) -> str | None:
    return values[0] if len(values) == 1 else None
