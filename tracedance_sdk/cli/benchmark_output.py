"""What `tracedance benchmark` prints: what was built or rejected, and how often a model passed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from tracedance_sdk.behaviors import RATE_KINDS, REASONS, RECORDED_SOURCE, THREATS
from tracedance_sdk.cli.columns import print_columns
from tracedance_sdk.cli.counts import count
from tracedance_sdk.cli.left_out import print_left_out
from tracedance_sdk.cli.model_spending import told_spent
from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.report import (
    document_text,
    in_one_line,
    percent,
    print_trace,
    report_console,
    visible,
)
from tracedance_sdk.trace import encode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tracedance_sdk.behaviors import Benchmark, BenchmarkRate, Built
    from tracedance_sdk.cli.benchmark_build_jobs import BuildOutcome
    from tracedance_sdk.cli.benchmark_jobs import RunOutcome
    from tracedance_sdk.errors import BenchmarkRejected
    from tracedance_sdk.report import ReportConsole

_MOST_INSTANCES: Final = 60
_TITLES: Final = {
    "benchmark": "benchmark",
    "behavior": "behaviour",
    "frame": "frame",
    "group": "group",
    "overall": "overall",
}


def print_build(outcome: BuildOutcome, *, as_json: bool) -> None:
    """Print which benchmarks were written, and how many were left at each step."""
    if as_json:
        document = {
            "format": "tracedance.benchmark_build",
            "version": 1,
            "built": [
                {"file": str(item.path), **item.about, "refusals": item.refusals}
                for item in outcome.built
            ],
            "rejected": [rejection_document(item) for item in outcome.rejected],
            "spent": outcome.spent,
        }
        click.echo(document_text(document))
        return
    console = report_console()
    for item in outcome.built:
        _print_built(item, console)
    if outcome.spent is not None:
        console.say(told_spent(outcome.spent))


def rejection_document(error: BenchmarkRejected) -> dict[str, Any]:
    """Return a rejection as JSON."""
    return {
        "format": "tracedance.benchmark_rejection",
        "version": 1,
        "rejected": error.reason,
        "behavior": error.behavior or None,
        "meaning": REASONS[error.reason],
        "found": error.found,
        "nearest": error.nearest or None,
        "refusals": error.refusals,
    }


def rejection_lines(error: BenchmarkRejected) -> list[str]:
    """Return a rejection as lines: what it says, and why places were not cut."""
    return [str(error), *_refused(error.refusals)]


def _refused(refusals: Mapping[str, str]) -> list[str]:
    return [in_one_line(f"{name}, the first: {why}") for name, why in refusals.items()]


def _print_built(item: Built, console: ReportConsole) -> None:
    console.say(in_one_line(_headline(item.about)))
    _print_funnel(item.about, console)
    for line in _refused(item.refusals):
        console.say(line, style="dim", hang=2)
    console.say(visible(f"benchmark: {item.path}"))


def _headline(about: dict[str, Any]) -> str:
    ids = " and ".join(item["id"] for item in about["behaviors"])
    told = f"{about['id']}: {about['name']} ({ids}), {count(about['instances'], 'instance')}"
    return f"{told}, {about['status']}"


def _print_funnel(about: dict[str, Any], console: ReportConsole) -> None:
    found = about["found"]
    rows: list[tuple[str, str]] = []
    for name, counts in found["by_behavior"].items():
        rows += [
            (f"{name}: sessions", f"{counts['sessions']:,}"),
            (f"{name}: candidates", f"{counts['candidates']:,}"),
            (f"{name}: occurrences", f"{counts['hits']:,}"),
        ]
    if "both_at_once" in found:
        rows.append(("both in one turn", f"{found['both_at_once']:,}"))
    rows.append(("kept", f"{found['kept']:,}"))
    rows.append(("tried", f"{about['tried']:,}"))
    rows += [(f"  refused: {name}", f"{number:,}") for name, number in about["refused"].items()]
    if about["confirmation"] is not None:
        rows.append(("  asked about", f"{about['confirmation']['asked']:,}"))
        rows.append(("  confirmed", f"{about['confirmation']['confirmed']:,}"))
        if n_unread := about["confirmation"].get("unreadable", 0):
            rows.append(("  without an answer", f"{n_unread:,}"))
    rows.append(("instances", f"{about['instances']:,}"))
    print_columns(console, ("Step", "number"), rows, numbers=(1,))


def print_run(outcome: RunOutcome, *, as_json: bool) -> None:
    """Print what is left out first, then how often the model passed."""
    manifest = outcome.manifest
    if as_json:
        document = {
            "format": "tracedance.benchmark_run",
            "version": 1,
            "out": str(outcome.plan.out),
            "exit_code": outcome.exit_code,
            **manifest,
        }
        click.echo(document_text(document))
        return
    console = report_console()
    by = "by rules" if manifest["scored_by"] == "rules" else "by judges"
    console.say(
        in_one_line(
            f"{manifest['model']} on {count(len(manifest['benchmarks']), 'benchmark')}, scored {by}"
        )
    )
    print_left_out(console, manifest)
    for title, kinds in (
        ("Reply", manifest["missing_replies"]),
        ("Score of a judge", manifest.get("missing", {})),
    ):
        rows = [(f"missing: {kind}", f"{n:,}") for kind, n in kinds.items()]
        if rows:
            print_columns(console, (title, "number"), rows, numbers=(1,))
    titles = ("Rate of", "passed", "of", "rate", "95 % interval", "left out")
    print_columns(
        console, titles, [_cells(rate) for rate in _told(outcome.rates)], numbers=(1, 2, 3, 5)
    )
    for rate in _told(outcome.rates):
        if rate.note:
            console.say(in_one_line(f"{_TITLES[rate.kind]} {rate.name}: {rate.note}"))
    if manifest["model"] == RECORDED_SOURCE:
        console.say("these are the withheld turns themselves, which should mostly fail")
    unconfirmed = [item["id"] for item in manifest["benchmarks"] if item["status"] != "confirmed"]
    if unconfirmed:
        which = unconfirmed[0] if len(unconfirmed) == 1 else f"{len(unconfirmed)} benchmarks"
        are = "is" if len(unconfirmed) == 1 else "are"
        console.say(in_one_line(f"{which} {are} unconfirmed: rules found the instances"))
    console.say(THREATS[0], style="dim")
    console.say(told_spent(manifest))
    console.say(visible(f"result set: {outcome.plan.out}"))


def _told(rates: tuple[BenchmarkRate, ...]) -> list[BenchmarkRate]:
    """Return the rates that say something of their own, and not what one benchmark says."""
    return [
        rate
        for rate in rates
        if rate.kind == "benchmark"
        or rate.benchmarks > 1
        or (rate.kind in ("frame", "group") and len(rates) > len(RATE_KINDS))
    ]


def _cells(rate: BenchmarkRate) -> tuple[str, ...]:
    name = f"{_TITLES[rate.kind]} {rate.name}"
    numbers = (f"{rate.passed:,}", f"{rate.valid:,}")
    if rate.estimate is None:
        return (name, *numbers, "-", "-", f"{rate.left_out:,}")
    low, high, _ = rate.estimate.interval
    told = (_whole(rate.estimate.value), f"{_whole(low)} to {_whole(high)}")
    return (name, *numbers, *told, f"{rate.left_out:,}")


def _whole(share: float) -> str:
    """Return a share in whole percent; one that is not 0 or 1 is not shown as that."""
    told = f"{share:.0%}"
    return told if told not in ("0%", "100%") or share in (0, 1) else f"{percent(share)}%"


def print_benchmark(found: Benchmark, *, as_json: bool) -> None:
    """Print what a benchmark says of itself, and a line for each instance."""
    rows = [_instance(item) for item in found.instances]
    if as_json:
        own = {"format": "tracedance.benchmark"}
        click.echo(document_text({**own, **found.about, "listed": rows}))
        return
    console = report_console()
    console.say(in_one_line(_headline(found.about)))
    _print_funnel(found.about, console)
    console.say("")
    names = ("id", "product", "model", "turn", "tokens", "status")
    print_columns(
        console,
        names,
        [tuple(str(row[name]) for name in names) for row in rows[:_MOST_INSTANCES]],
        numbers=(3, 4),
        least={0: 20},
    )
    if len(rows) > _MOST_INSTANCES:
        console.say(f"... {len(rows) - _MOST_INSTANCES:,} more")


def print_instance(
    found: Benchmark, instance_id: str, *, full: bool, as_json: bool = False
) -> None:
    """Print the context of an instance, or all that its line of the file says.

    Raises:
        InvalidOption: No such instance, or several.
    """
    meant = [item for item in found.instances if item.id.startswith(instance_id)]
    exact = [item for item in meant if item.id == instance_id]
    if len(exact or meant) != 1:
        what = f"{len(meant)} instances begin with" if meant else "there is no instance"
        raise InvalidOption(f"{what} {instance_id!r} in {str(found.path)!r}")
    (one,) = exact or meant
    if as_json:
        own = {"format": "tracedance.benchmark_instance", "version": 1}
        fields = one.model_dump(mode="json", exclude={"trace"})
        click.echo(document_text({**own, **fields, "trace": encode(one.trace)}))
        return
    print_trace(one.trace, report_console(), full=full)


def _instance(item: Any) -> dict[str, Any]:
    own = item.model_extra or {}
    lineage = own.get("lineage", {})
    return {
        "id": item.id,
        "product": lineage.get("product") or "-",
        "model": lineage.get("model") or "-",
        "turn": item.turn,
        "tokens": own.get("tokens", 0),
        "status": own.get("status", "-"),
    }
