"""Places in a page and beside it: anchors that no text can spoil, lists behind numbers."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

from tracedance_sdk.report.html.page import Link, Listing, Number, PageBounds

_PLAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_TITLES: Final = 2


class Anchors:
    """Gives every thing of a page a place of its own, the same whenever the page is made."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def named(self, kind: str, name: str) -> str:
        """Return an anchor with the name of a thing in it, or with its hash if it is odd.

        Example:
            >>> Anchors().named("test", "refund-7")
            'test-refund-7'
        """
        told = name if _PLAIN.fullmatch(name) else _digest(name)
        found, number = f"{kind}-{told}", 1
        while found in self._taken:
            number += 1
            found = f"{kind}-{told}--{number}"
        self._taken.add(found)
        return found


class _Wanted(NamedTuple):
    titles: list[str]
    indexes: tuple[int, ...]


class Listings:
    """Collects which subjects are behind which number; equal lists are one."""

    def __init__(self) -> None:
        self._wanted: dict[tuple[int, ...], _Wanted] = {}
        self._names: dict[tuple[int, ...], str] = {}

    def number(self, title: str, indexes: Sequence[int], *, shown: str | None = None) -> Number:
        """Return a number that is a link to its list.

        Args:
            title: Of the list.
            indexes: Of the subjects; several for one subject count, and list it once.
            shown: What stands there instead of how many there are.
        """
        text = f"{len(indexes):,}" if shown is None else shown
        if not indexes:
            return Number(text, None, title)
        key = tuple(sorted(set(indexes)))
        found = self._wanted.setdefault(key, _Wanted([], key))
        if title not in found.titles:
            found.titles.append(title)
        name = self._names.setdefault(key, f"list-{len(self._names) + 1}")
        return Number(text, f"#{name}", title)

    def chosen(self, most: int) -> list[int]:
        """Return the subjects whose details are shown: some of every list, as many as may be."""
        found: dict[int, None] = {}
        place = 0
        lists = [item.indexes for item in self._wanted.values()]
        while lists and len(found) < most:
            for indexes in lists:
                found.setdefault(indexes[place])
                if len(found) >= most:
                    break
            place += 1
            lists = [indexes for indexes in lists if len(indexes) > place]
        return sorted(found)

    def made(self, links: Sequence[Link], bounds: PageBounds) -> tuple[Listing, ...]:
        """Return the lists with their links, those with details before those without.

        Args:
            links: Of all subjects, by index; one without an address has no details.
            bounds: How many links there may be.
        """
        share = bounds.listed // max(len(self._wanted), 1)
        most = min(bounds.in_list, max(share, 5))
        made = []
        for key, wanted in self._wanted.items():
            ordered = sorted(wanted.indexes, key=lambda index: links[index].href is None)
            title = "; ".join(wanted.titles[:_TITLES])
            if (more := len(wanted.titles) - _TITLES) > 0:
                title += f"; and {more:,} more number{'s' * (more > 1)}"
            shown = tuple(links[index] for index in ordered[:most])
            made.append(Listing(self._names[key], title, shown, len(wanted.indexes)))
        return tuple(made)


def file_href(path: Path, page: Path) -> str:
    """Return the address of a file as seen from a page: relative, and never a scheme.

    Example:
        >>> file_href(Path("/a/tests/java script:x.yaml"), Path("/a/report.html"))
        './tests/java%20script%3Ax.yaml'
    """
    try:
        there = os.path.relpath(path.absolute(), page.absolute().parent)
    except ValueError:  # on another drive
        return path.absolute().as_uri()
    told = quote(Path(there).as_posix().encode("utf-8", "surrogateescape"))
    return told if told.startswith("../") else f"./{told}"


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "backslashreplace")).hexdigest()[:16]
