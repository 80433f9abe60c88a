"""What a command that asks models spends: while it runs, in its manifest, and in words."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from tracedance_sdk.cli.counts import count
from tracedance_sdk.cli.model_options import OpenedModel


def versions() -> dict[str, str]:
    """Return the releases of this library and of the SDKs that are installed, for a manifest."""
    found = {"tracedance-sdk": version("tracedance-sdk")}
    for package in ("anthropic", "openai"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def spent(opened: Sequence[OpenedModel]) -> dict[str, Any]:
    """Return what was spent on some models together, for a manifest."""
    spending = [item.asker.spending for item in opened]
    n_odd = sum(one.odd_costs for one in spending)
    return {
        "calls": {
            "sent": sum(one.sent for one in spending),
            "from_cache": sum(item.asker.from_cache for item in opened),
        },
        "cost_usd": round(sum(one.cost_usd for one in spending), 6),
        "replies_without_price": sum(one.unpriced for one in spending),
        **({"replies_with_odd_cost": n_odd} if n_odd else {}),
    }


def told_spent(manifest: Mapping[str, Any]) -> str:
    """Return what a manifest says was spent, in one line."""
    calls = manifest["calls"]
    told = f"{count(calls['sent'], 'call')} sent, {calls['from_cache']:,} from the cache"
    n_odd = manifest.get("replies_with_odd_cost", 0)
    odd = f"; {n_odd:,} stated a cost that is no amount, which was not used" if n_odd else ""
    if calls["sent"] == manifest["replies_without_price"]:
        return told + ("; cost not known" if calls["sent"] else "") + odd
    return f"{told}; ${manifest['cost_usd']:,.4f}{odd}"


@contextmanager
def asking_progress(
    opened: Sequence[OpenedModel], total: int
) -> Iterator[Callable[[object], None] | None]:
    """Show a bar with the time left and the cost, when a person is watching.

    Args:
        opened: The models that are asked.
        total: Replies that are waited for.

    Yields:
        What is to be called after each reply; None when nobody is watching.
    """
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

    columns = (
        TextColumn("asking"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[cost]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("asking", total=total, cost="")

        def on_reply(_: object) -> None:
            now = spent(opened)
            left = total - bar.tasks[0].completed - 1
            rest = now["cost_usd"] / max(1, now["calls"]["sent"]) * max(0, left)
            cost = f"${now['cost_usd']:,.2f} of about ${now['cost_usd'] + rest:,.2f}"
            bar.update(task, advance=1, cost=cost if now["cost_usd"] else "")

        yield on_reply
