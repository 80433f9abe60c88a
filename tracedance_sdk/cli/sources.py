"""Which files a verb reads: those it is given, without what this command wrote about traces."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tracedance_sdk.formats import Collected, Collector, TraceSource

_MOST_BYTES: Final = 16 * 2**20
_RESULTS: Final = "tracedance.results"
_NO_TRACES: Final = frozenset(
    f"tracedance.{name}"
    for name in (
        "evaluation",
        "import",
        "judgements",
        "next_turn",
        "prices",
        "pruning",
        "recovery",
        "replies",
        "reply",
        "report",
        "results",
        "store",
        "task",
        "tool_shapes",
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
            result_sets[folder] = _format(folder / "manifest.json") == _RESULTS
            if result_sets[folder]:
                notes.append(f"{str(folder)!r} holds a result set, which is passed over")
        if result_sets[folder] and source.path.name in ("manifest.json", "rows.jsonl"):
            continue
        found = _format(source.path)
        if found not in _NO_TRACES:
            kept.append(source)
        else:
            notes.append(f"{str(source.path)!r} is passed over: a {found}, no trace")
    return kept, notes


def collect_traces(
    paths: Iterable[str | Path], *, trace_id: str | None = None
) -> Iterator[Collected]:
    """Yield every trace and problem of some paths, with a note on what is passed over.

    Args:
        paths: Files or folders.
        trace_id: Of stores, only the traces that `is_chosen` would choose.
    """
    from tracedance_sdk.cli.complaints import complain
    from tracedance_sdk.cli.stores import is_store, stored_traces
    from tracedance_sdk.formats import Collected, collect_source, load_collectors

    sources, notes = trace_sources(paths)
    for note in notes:
        complain(f"note: {note}")
    collectors = load_collectors()
    for source in sources:
        if trace_id is not None and is_store(source.path):
            for trace in stored_traces(source.path, trace_id=trace_id):
                yield Collected(source.path, "store", trace)
        else:
            yield from collect_source(source, collectors=collectors)


def _format(path: Path) -> str | None:
    """Return what a JSON file says it is; None when it does not, or is no such file."""
    from tracedance_sdk.errors import TraceDanceError
    from tracedance_sdk.formats import peek, read_document, read_head
    from tracedance_sdk.trace import parse_json

    try:
        if path.suffix != ".json" or not path.is_file():
            return None
        head = read_head(path)
        if not _MARK.search(head) or "format" not in peek(head).keys:
            return None
        document = parse_json(read_document(path, limit=_MOST_BYTES), where=str(path))
    except TraceDanceError:
        return None
    found = document.get("format") if isinstance(document, dict) else None
    return found if isinstance(found, str) else None
