"""Graders of other packages, found by the type a specification names.

A package offers one under the entry point group ``tracedance.graders``: the name is the type, the
object is called with the criterion's further keys as keyword arguments and returns a grader, that
is, any callable that takes a trace (see `Grader`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Final, Protocol

from tracedance_sdk.grading.grades import Grade
from tracedance_sdk.trace import Json, Trace

GROUP: Final = "tracedance.graders"

GraderResult = bool | float | Grade | list[Grade]
"""Met or not; a score from 0 to 1; one grade; or several."""


class Grader(Protocol):
    """Anything that grades a trace when it is called with one; plain functions are graders.

    A score of at least `threshold` passes; 0.5 where the grader has no such attribute. ``id``,
    ``name`` and ``severity`` attributes are used when present.
    """

    def __call__(self, trace: Trace) -> GraderResult | Awaitable[GraderResult]:
        """Grade one trace; sync or async. What it raises becomes an ``error`` grade."""


@cache
def grader_types() -> Mapping[str, EntryPoint]:
    """Return the types that installed packages offer."""
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def make_grader(type_name: str, parameters: Mapping[str, Json]) -> Grader:
    """Make a grader of an installed package.

    Raises:
        ValueError: The package cannot be loaded, or does not accept these parameters.
    """
    try:
        factory = grader_types()[type_name].load()
        grader: Grader = factory(**parameters)
    except Exception as error:
        raise ValueError(
            f"the grader {type_name!r} cannot be made: {type(error).__name__}: {error}"
        ) from error
    if not callable(grader):
        raise ValueError(f"the grader {type_name!r} is not callable")  # noqa: TRY004
    return grader
