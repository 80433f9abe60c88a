"""Secrets that the user of the library describes: patterns beside the built-in ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

import re2  # type: ignore[import-untyped]  # the wheel has no stubs

from tracedance_sdk.errors import InvalidOption

MAX_BACKTRACKED: Final = 64 * 1024
"""Longest text, in characters, that is searched with Python's own ``re``."""

Spans = Callable[[str], Iterable[tuple[int, int]]]
"""A search: gives where secrets stand in a text, as start and end, in characters."""

Pattern = str | re.Pattern[str] | Spans
PatternSource = Pattern | tuple[str, Pattern]
"""A pattern or search, or ``(kind, pattern)``."""

_KIND: Final = re.compile(r"[A-Za-z0-9_.-]{1,40}\Z")


class ExtraPattern(NamedTuple):
    """One pattern of the user's.

    Attributes:
        kind: Its name in the mask.
        spans: The search.
        limit: Longest text it may be given; None for any.
    """

    kind: str
    spans: Spans
    limit: int | None


def extra_pattern(source: PatternSource) -> ExtraPattern:
    """Compile one pattern of the user's.

    Text is compiled by RE2, whose time is linear. What RE2 does not know (look-around,
    back-references) and compiled ``re`` patterns run on Python's ``re``, and only on text up to
    `MAX_BACKTRACKED` characters. A group called ``secret``, else the first group, else the whole
    match is masked. A callable is given each text and gives the spans itself.

    Raises:
        InvalidOption: Not a pattern, or a kind that is no short plain name.
    """
    kind, pattern = source if isinstance(source, tuple) else ("custom", source)
    if not _KIND.match(kind):
        raise InvalidOption(
            f"secret pattern kind {kind!r} must be 1 to 40 letters, digits, '_', '.' or '-'"
        )
    if isinstance(pattern, re.Pattern):
        return ExtraPattern(kind, _finder(_text_only(pattern)), MAX_BACKTRACKED)
    if callable(pattern):
        return ExtraPattern(kind, _checked(pattern), None)
    if not isinstance(pattern, str):
        raise InvalidOption(
            f"secret pattern {pattern!r} is of type {type(pattern).__name__!r}; give text, a"
            " compiled re pattern, a callable, or (kind, pattern)"
        )
    return _compiled(kind, pattern)


def _checked(search: Spans) -> Spans:
    def spans(text: str) -> Iterator[tuple[int, int]]:
        for start, end in search(text):
            if not 0 <= start < end <= len(text):
                raise ValueError(
                    f"span {start}:{end} lies outside a text of {len(text)} characters"
                )
            yield start, end

    return spans


def _text_only(pattern: re.Pattern[Any]) -> re.Pattern[str]:
    if isinstance(pattern.pattern, bytes):
        raise InvalidOption(f"secret pattern {pattern.pattern!r} is over bytes; give one over text")
    return pattern


def _compiled(kind: str, pattern: str) -> ExtraPattern:
    options = re2.Options()
    options.log_errors = False
    try:
        return ExtraPattern(kind, _finder(re2.compile(pattern, options)), None)
    except re2.error:
        pass
    try:
        return ExtraPattern(kind, _finder(re.compile(pattern)), MAX_BACKTRACKED)
    except (re.error, RecursionError, OverflowError) as error:
        raise InvalidOption(f"secret pattern {pattern!r} cannot be compiled: {error}") from error


def _finder(pattern: Any) -> Spans:
    group = pattern.groupindex.get("secret", 1 if pattern.groups else 0)

    def spans(text: str) -> Iterator[tuple[int, int]]:
        for match in pattern.finditer(text):
            start, end = match.span(group)
            if start < end:
                yield start, end

    return spans
