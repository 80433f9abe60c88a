"""Readers at work on records that nobody vouches for: what they cannot read costs that record.

A reader says what it expects and raises `TraceDanceError` or `Misfit`. Where it meets what it never
thought of, it may fail in any way; that, too, is one problem of the record, beside the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.formats.importing import ImportProblem
from tracedance_sdk.formats.places import Misfit, Place
from tracedance_sdk.trace import Trace, path_text

Found = Trace | ImportProblem

_ABOUT_TYPES: Final = (TypeError, AttributeError)
"""Errors whose messages tell of types and names, not of what a record says."""

_LONGEST: Final = 100


def guarded(
    read: Callable[[], Trace | Iterable[Found]], place: Place, path: str, line: int | None = None
) -> Iterator[Found]:
    """Yield what a reader finds in one record, and why it stopped, where it did.

    Args:
        read: Reads the record.
        place: Where the record stands, for a `Misfit`.
        path: The file.
        line: The record's line.
    """
    try:
        found = read()
        yield from (found,) if isinstance(found, Trace) else found
    except Misfit as misfit:
        yield ImportProblem(path, str(place.located(misfit)), line)
    except TraceDanceError as error:
        yield ImportProblem(path, str(error), line)
    except Exception as error:  # noqa: BLE001 - foreign records may make a reader fail in any way
        yield ImportProblem(path, f"{place.where}: {unexpected(error)} @ {place.path}", line)


def unexpected(error: Exception) -> str:
    """Return what to say of an error that no reader raises on purpose: never a record's values.

    Example:
        >>> unexpected(KeyError("a secret")), unexpected(TypeError("unhashable type: 'list'"))
        ('not readable (KeyError)', "not readable (TypeError: unhashable type: 'list')")
    """
    said = type(error).__name__
    listed = getattr(error, "errors", None)
    if isinstance(error, _ABOUT_TYPES):
        said += f": {error}".splitlines()[0][:_LONGEST]
    elif said == "ValidationError" and callable(listed):
        first = listed(include_url=False, include_input=False, include_context=False)[0]
        said += f": {first['msg']} @ {path_text(first['loc'])}"[:_LONGEST]
    return f"not readable ({said})"
