"""What `tracedance scan` looks for, and the files that it writes."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tracedance_sdk.errors import InvalidOption, UnreadableFile, shown

if TYPE_CHECKING:
    from tracedance_sdk.behaviors import Behavior, Caps, OnPartition, StoreScan, Wanted
    from tracedance_sdk.trace import Json


def wanted_behaviors(names: Sequence[str], given: Sequence[str]) -> list[Wanted]:
    """Return the behaviours of some names with the values of their parameters.

    Args:
        names: Ids, names and files; ``all`` is the catalogue.
        given: ``name=value`` each; every behaviour that has such a parameter takes it.

    Raises:
        InvalidOption: There is no such behaviour, or none of them has such a parameter.
        InvalidSpec: A file holds no behaviour, or a parameter has no value.
    """
    from tracedance_sdk.behaviors import Wanted, behavior_named, packaged_behaviors

    found: dict[str, Behavior] = {}
    for name in names:
        if name.strip().casefold() == "all":
            found.update(packaged_behaviors())
            continue
        behavior = behavior_named(name)
        other = found.get(behavior.id)
        if other is not None and other.sha256 != behavior.sha256:
            raise InvalidOption(f"{shown(name)} has the id {behavior.id!r} of another behaviour")
        found[behavior.id] = behavior
    values = dict(parameter_value(text) for text in given)
    known = {name for behavior in found.values() for name in behavior.parameters}
    if unknown := [name for name in values if name not in known]:
        has = ", ".join(sorted(known)) or "none"
        raise InvalidOption(f"--param {unknown[0]}: the behaviours asked for have {has}")
    return [
        Wanted(
            behavior,
            behavior.filled({k: v for k, v in values.items() if k in behavior.parameters}),
        )
        for behavior in found.values()
    ]


def parameter_value(text: str) -> tuple[str, Json]:
    """Return the name and the value of ``NAME=VALUE``; what is no JSON is text.

    Raises:
        InvalidOption: It is not of that form.
    """
    from tracedance_sdk.trace import parse_json

    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InvalidOption(f"--param {shown(text)}: NAME=VALUE is needed")
    try:
        return name, parse_json(value, where=name)
    except ValueError:
        return name, value


@contextmanager
def scan_progress() -> Iterator[OnPartition | None]:
    """Show a bar on standard error when a person is watching."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = ("scanning", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("scanning", total=None)

        def on_partition(done: int, total: int, /, *, was_kept: bool) -> None:
            del was_kept
            bar.update(task, completed=done, total=total)

        yield on_partition


def check_scan_out(out: Path | None, store: Path) -> None:
    """See that a scan does not write into the store that it reads.

    Raises:
        InvalidOption: It would.
    """
    if out is None:
        return
    place, other = out.resolve(), store.resolve()
    if other == place or other in place.parents:
        raise InvalidOption(f"--out {str(out)!r} lies inside the store; name a folder elsewhere")


@contextmanager
def held_for_scan(out: Path | None) -> Iterator[None]:
    """Make a folder and hold it, so that no other scan writes into it meanwhile.

    A folder that was made for nothing is taken away again.

    Raises:
        InvalidOption: Another scan holds it.
        UnreadableFile: The folder cannot be made.
    """
    if out is None:
        yield
        return
    from tracedance_sdk.cli.replay_keeping import held

    is_new = not out.exists()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnreadableFile(f"{str(out)!r} cannot be made: {error.strerror}") from error
    try:
        with held(out, by="scan"):
            for draft in (*out.glob(".occurrences.jsonl.*.tmp"), *out.glob("partitions/*.tmp")):
                draft.unlink(missing_ok=True)  # of a scan that was killed: nobody else is here
            yield
    finally:
        if is_new:
            with suppress(OSError):  # which it is not where it holds something
                out.rmdir()


def write_scan(
    out: Path, found: StoreScan, wanted: Sequence[Wanted], *, caps: Caps, where: str | None
) -> None:
    """Write all occurrences, those that are left out marked, to ``occurrences.jsonl``.

    Raises:
        UnreadableFile: The folder, which is there, cannot be written to.
    """
    from tracedance_sdk.behaviors import write_occurrences

    occurrences = (item for items in found.occurrences.values() for item in items)
    write_occurrences(
        out / "occurrences.jsonl",
        occurrences,
        behaviors={item.behavior.id: item.behavior.sha256 for item in wanted},
        parameters={item.behavior.id: dict(item.parameters) for item in wanted},
        funnels=[item._asdict() for item in found.funnels],
        caps=caps._asdict(),
        where=where,
        sessions={name: dict(of) for name, of in found.sessions.items()},
    )
