"""Which traces a verb takes of its sources, and where it cuts them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from tracedance_sdk.cli.complaints import complain
from tracedance_sdk.cli.number_options import whole

if TYPE_CHECKING:
    from tracedance_sdk.formats import Collected
    from tracedance_sdk.store import ToolLimit
    from tracedance_sdk.trace import Trace

_MOST_PROBLEMS: Final = 20


class Wanted(NamedTuple):
    """What the user asked for.

    Attributes:
        where: SQL over the view `traces` of stores; None for all.
        trace_id: Only the trace that it means, as `Choice` finds it; None for all.
        tools: Of stores, the weakest origin of tool definitions.
    """

    where: str | None
    trace_id: str | None
    tools: ToolLimit


def wanted_options(
    *, tools: ToolLimit, of: str = ""
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Give a verb ``--trace``, ``--where`` and ``--tools``, as one `Wanted` by the name ``wanted``.

    Args:
        tools: The weakest origin unless the user says another.
        of: Whose definitions, where it matters, such as ``Of a store: ``.
    """
    options = (
        click.option(
            "--trace",
            "trace_id",
            metavar="ID",
            help="Only this trace: its id, the beginning of it, or its id at the source.",
        ),
        click.option(
            "--where", metavar="SQL", help="Of a store: only traces for which this holds."
        ),
        click.option(
            "--tools",
            type=click.Choice(("recorded", "known", "inferred")),
            default=tools,
            show_default=True,
            help=f"{of}{'the' if of else 'The'} weakest origin of tool definitions.",
        ),
    )

    def with_options(command: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(command)
        def with_wanted(*arguments: Any, **given: Any) -> int:
            wanted = Wanted(**{name: given.pop(name) for name in Wanted._fields})
            return command(*arguments, wanted=wanted, **given)

        found: Callable[..., int] = with_wanted
        for option in reversed(options):
            found = option(found)
        return found

    return with_options


def cut_options(command: Callable[..., int]) -> Callable[..., int]:
    """Give a verb ``--turn`` and ``--before-call``, which say where traces are cut."""
    named = click.option(
        "--before-call", metavar="NAME", help="Take each turn that calls this tool."
    )
    numbered = click.option(
        "--turn", type=whole(0), metavar="N", help="Take the turn with index N."
    )
    found: Callable[..., int] = numbered(named(command))
    return found


class Missed:
    """Counts what could not be read."""

    number = 0

    def tell(self, problem: str) -> None:
        """Count something that could not be read, and say it while it is among the first."""
        self.number += 1
        if self.number <= _MOST_PROBLEMS:
            complain(problem)


def wanted_traces(sources: tuple[Path, ...], wanted: Wanted, missed: Missed) -> Iterator[Trace]:
    """Yield the traces; what cannot be read is said and counted.

    Raises:
        TraceDanceError: No store where a condition needs one, a condition that is refused, or
            several traces that are meant.
    """
    from tracedance_sdk.cli.sources import collect_traces
    from tracedance_sdk.cli.stores import is_store, stored_traces
    from tracedance_sdk.errors import TraceDanceError

    if wanted.trace_id is not None and wanted.where is None:
        found = collect_traces(sources, trace_id=wanted.trace_id, tools=wanted.tools)
        yield from _read(found, missed)
        return
    for path in sources:
        if wanted.where is not None or is_store(path):
            for item in stored_traces(path, **wanted._asdict()):
                if isinstance(item, TraceDanceError):
                    missed.tell(str(item))
                else:
                    yield item
        else:
            yield from _read(collect_traces([path]), missed)


def _read(found: Iterable[Collected], missed: Missed) -> Iterator[Trace]:
    for item in found:
        if item.trace is not None:
            yield item.trace
        else:
            missed.tell(str(item.problem))
