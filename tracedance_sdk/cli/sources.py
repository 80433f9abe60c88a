"""Which files a verb reads: those it is given, without what this command wrote about traces."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tracedance_sdk.cli.choosing import Choice
    from tracedance_sdk.formats import Collected, Collector, TraceSource
    from tracedance_sdk.store import ToolLimit

_MOST_BYTES: Final = 16 * 2**20
RESULTS: Final = "tracedance.results"
"""The format of result sets, as their manifests name it."""

_NO_TRACES: Final = frozenset(
    f"tracedance.{name}"
    for name in (
        "calibration",
        "calibration_report",
        "corrected_rates",
        "evaluation",
        "faithfulness",
        "import",
        "instances",
        "judgements",
        "judging",
        "labelling",
        "labels",
        "next_turn",
        "prices",
        "pruning",
        "ratings",
        "recovery",
        "replies",
        "reply",
        "report",
        "results",
        "rubric",
        "self_check",
        "shown_results",
        "store",
        "task",
        "tool_shapes",
        "truth",
        "verification",
    )
)
_MARK: Final = re.compile(
    rb'"(?:' + b"|".join(re.escape(name.encode()) for name in sorted(_NO_TRACES)) + rb')"'
)


def trace_sources(
    paths: Iterable[str | Path], *, collectors: Sequence[Collector] | None = None
) -> tuple[list[TraceSource], list[str]]:
    """Return the sources below some paths, and a note on each that is passed over.

    Passed over, unless the caller named it, is what the library wrote about traces: the files of a
    result set, a report, a task.

    Args:
        paths: Files or folders.
        collectors: Who may read; by default all that are installed.
    """
    from tracedance_sdk.formats import find_sources

    kept: list[TraceSource] = []
    notes: list[str] = []
    result_sets: dict[Path, bool] = {}
    for source in find_sources(paths, collectors=collectors):
        folder = source.path.parent
        if source.is_named or source.path.suffix not in (".json", ".jsonl"):
            kept.append(source)
            continue
        if folder not in result_sets:
            result_sets[folder] = format_of(folder / "manifest.json") == RESULTS
            if result_sets[folder]:
                notes.append(f"{str(folder)!r} holds a result set, which is passed over")
        if result_sets[folder] and source.path.name in ("manifest.json", "rows.jsonl"):
            continue
        found = format_of(source.path)
        if found not in _NO_TRACES:
            kept.append(source)
        else:
            notes.append(f"{str(source.path)!r} is passed over: a {found}, no trace")
    return kept, notes


def collect_traces(
    paths: Iterable[str | Path], *, trace_id: str | None = None, tools: ToolLimit = "inferred"
) -> Iterator[Collected]:
    """Yield every trace and problem of some paths, with a note on what is passed over.

    Args:
        paths: Files or folders.
        trace_id: Only the trace that is meant, as `Choice` finds it; problems all the same.
        tools: Of stores, the weakest origin of tool definitions, where a trace is chosen.

    Raises:
        InvalidOption: Several traces are meant.
    """
    from tracedance_sdk.cli.choosing import Choice
    from tracedance_sdk.cli.complaints import complain
    from tracedance_sdk.cli.stores import is_store
    from tracedance_sdk.formats import collect_source, load_collectors

    sources, notes = trace_sources(paths)
    for note in notes:
        complain(f"note: {note}")
    collectors = load_collectors()
    choice: Choice[Callable[[], Collected]] | None = None if trace_id is None else Choice(trace_id)
    for source in sources:
        if choice is not None and trace_id is not None and is_store(source.path):
            _offer_stored(choice, source.path, trace_id, tools)
            continue
        for item in collect_source(source, collectors=collectors):
            if choice is None or item.trace is None:
                yield item
            else:
                choice.offer(item.trace, partial(_itself, item))
    found = None if choice is None else choice.found()
    if found is not None:
        yield found()


def _offer_stored(
    choice: Choice[Callable[[], Collected]], folder: Path, wanted: str, tools: ToolLimit
) -> None:
    """Offer traces of a store, of which only the one that is meant is read."""
    from tracedance_sdk.formats import Collected
    from tracedance_sdk.store import TraceStore

    store = TraceStore.open(folder, tools=tools)

    def read(trace_id: str) -> Collected:
        return Collected(folder, "store", store.get(trace_id))

    for meant in store.meant(wanted):
        choice.add(meant, partial(read, meant.trace_id))


def _itself(item: Collected) -> Collected:
    return item


def format_of(path: Path) -> str | None:
    """Return what a file of JSON, or its first line, says it is; None when it does not."""
    from tracedance_sdk.errors import TraceDanceError
    from tracedance_sdk.formats import peek, read_document, read_head
    from tracedance_sdk.trace import parse_json

    try:
        if path.suffix not in (".json", ".jsonl") or not path.is_file():
            return None
        head = read_head(path)
        if not _MARK.search(head) or "format" not in peek(head).keys:
            return None
        is_lines = path.suffix == ".jsonl"
        text = head.split(b"\n")[0] if is_lines else read_document(path, limit=_MOST_BYTES)
        document = parse_json(text, where=str(path))
    except TraceDanceError:
        return None
    found = document.get("format") if isinstance(document, dict) else None
    return found if isinstance(found, str) else None
