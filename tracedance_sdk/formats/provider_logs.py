"""Go through the records of a provider's log, whatever lists and lines they stand in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.formats.guarding import guarded
from tracedance_sdk.formats.importing import ImportProblem
from tracedance_sdk.formats.model_calls import Thread, Threads
from tracedance_sdk.formats.opening import Document
from tracedance_sdk.formats.places import Place
from tracedance_sdk.trace import Json, Trace


def records_of(
    documents: Iterable[Document], path: Path, is_one: Callable[[list[Json]], bool]
) -> Iterator[tuple[Json, Place, int | None]]:
    """Yield each record with its place and line; the items of a list, unless it is one record.

    Args:
        documents: Of a file.
        path: The file.
        is_one: Whether a list is one record.
    """
    for document in documents:
        where = str(path) if document.line is None else f"{path}:{document.line}"
        value = document.value
        if isinstance(value, list) and not is_one(value):
            for index, item in enumerate(value):
                yield item, Place(where, f"$[{index}]"), document.line
        else:
            yield value, Place(where), document.line


def told(
    threads: Threads, path: Path, trace_of: Callable[[Thread, str], Trace]
) -> Iterator[Trace | ImportProblem]:
    """Yield the trace of each conversation; one that cannot be is a problem."""
    for thread in threads.threads:
        yield from guarded(partial(trace_of, thread, str(path)), Place(str(path)), str(path))


def problem_of(error: TraceDanceError, path: Path, line: int | None) -> ImportProblem:
    """Return the problem of a record that could not be read."""
    return ImportProblem(str(path), str(error), line)
