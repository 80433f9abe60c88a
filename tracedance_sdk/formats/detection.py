"""See what a source is from its first bytes: what each format looks like is data.

A collector lists `Signature`s; a file is looked at once, and what is seen (`survey`) is compared
with all of them. The signature that asks for most wins, so that a general one, such as "an object
with messages", yields to one that knows more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from tracedance_sdk.formats.peeking import string_of, tokens

MOST_LINES: Final = 60
"""How many first lines of a file of lines are looked at."""

_MOST_STEPS: Final = 4
_MOST_PATHS: Final = 4000
_MOST_VALUES: Final = 12
_LONGEST_VALUE: Final = 80
_MOST_LISTS: Final = 1000
_NOTHING: Final[Mapping[str, frozenset[str]]] = MappingProxyType({})


class Sketch(NamedTuple):
    """What is seen of one object.

    Attributes:
        depth: Number of lists around it.
        paths: Of its fields and those inside them, such as ``info.task`` or ``steps[].name``.
        values: Short texts at these paths.
        is_whole: The object ends within the bytes.
    """

    depth: int
    paths: frozenset[str]
    values: Mapping[str, frozenset[str]]
    is_whole: bool


class Signature(NamedTuple):
    """How a source shows itself. All that is given must hold.

    Attributes:
        keys: Paths that an object must have: the first one of a document, or one of the first
            `MOST_LINES` lines.
        values: Paths with the texts, one of which must stand there.
        without: Paths that the same object must not have.
        names: Patterns such as ``*.traj``, one of which the lower-case file name must match.
        contains: Bytes that must occur at the start, for sources that are no JSON.
        depth: Most lists around the object.
        least_depth: Fewest lists around it.
        is_weak: True of much else, too: counts least.
    """

    keys: frozenset[str] = frozenset()
    values: Mapping[str, frozenset[str]] = _NOTHING
    without: frozenset[str] = frozenset()
    names: tuple[str, ...] = ()
    contains: tuple[bytes, ...] = ()
    depth: int = 1
    least_depth: int = 0
    is_weak: bool = False

    @classmethod
    def of(
        cls,
        *keys: str,
        values: Mapping[str, str | Collection[str]] | None = None,
        without: Iterable[str] = (),
        names: Iterable[str] = (),
        contains: Iterable[bytes] = (),
        depth: int = 1,
        least_depth: int = 0,
        is_weak: bool = False,
    ) -> Signature:
        """Return a signature from plain texts.

        Example:
            >>> Signature.of("traj", "info.task", values={"format": "runs-1"}).weight
            4
        """
        texts = {
            path: frozenset([item] if isinstance(item, str) else item)
            for path, item in (values or {}).items()
        }
        return cls(
            keys=frozenset(keys),
            values=MappingProxyType(texts),
            without=frozenset(without),
            names=tuple(names),
            contains=tuple(contains),
            depth=depth,
            least_depth=least_depth,
            is_weak=is_weak,
        )

    @property
    def weight(self) -> int:
        """How much it asks for: the heavier of two signatures that match decides."""
        asked = len(self.keys) + 2 * len(self.values) + len(self.contains) + bool(self.names)
        return 0 if self.is_weak else asked

    def matches(self, path: Path, head: bytes) -> bool:
        """Whether a source looks so.

        Args:
            path: The file.
            head: Its first bytes.
        """
        name = path.name.lower()
        if self.names and not any(fnmatchcase(name, pattern) for pattern in self.names):
            return False
        if not all(piece in head for piece in self.contains):
            return False
        if not (self.keys or self.values or self.without):
            return bool(self.names or self.contains)
        return any(self._fits(sketch) for sketch in survey(head))

    def _fits(self, sketch: Sketch) -> bool:
        return (
            self.least_depth <= sketch.depth <= self.depth
            and self.keys <= sketch.paths
            and not self.without & sketch.paths
            and all(
                texts & sketch.values.get(path, frozenset()) for path, texts in self.values.items()
            )
        )


def strength(signatures: Iterable[Signature], path: Path, head: bytes) -> int | None:
    """Return the weight of the heaviest signature that matches; None when none does."""
    found = [item.weight for item in signatures if item.matches(path, head)]
    return max(found, default=None)


def survey(head: bytes) -> tuple[Sketch, ...]:
    """Return what is seen in the first bytes of a file, which may end anywhere.

    The first object of a document; of a file of lines, that of each line. It takes time in
    proportion to the bytes, whatever they are, and the last answer is remembered.
    """
    return _survey(head)


def forget_surveyed() -> None:
    """Let go of the bytes that `survey` saw last."""
    _survey.cache_clear()


@lru_cache(maxsize=1)
def _survey(head: bytes) -> tuple[Sketch, ...]:
    lines = head.split(b"\n", MOST_LINES)[:MOST_LINES]
    filled = [line for line in lines if line.strip()]
    if len(filled) > 1:
        first = _sketch(filled[0])
        if first.is_whole:
            return (first, *(_sketch(line) for line in filled[1:]))
    return (_sketch(head),)


class _Scan:
    """One pass over the tokens of a document."""

    def __init__(self) -> None:
        self.lists = 0
        self.paths: set[str] = set()
        self.values: dict[str, set[str]] = {}
        self._around: list[tuple[str | None, bool]] = []
        """Of each open container: its path, None beyond the bounds; whether it is an object."""
        self._at: str | None = ""
        self._text = b""
        self._value: tuple[str, bytes] | None = None
        self.is_whole = False

    def take(self, piece: bytes) -> bool:
        """Take one token; return whether there is more to see."""
        if piece == b":":
            self._value = None
            self._name()
            return True
        self._settle()
        if piece in (b"{", b"["):
            return self._open(is_object=piece == b"{")
        if piece in (b"}", b"]"):
            return self._close()
        self._text = piece
        if self._around and self._at is not None:
            self._value = (self._at, piece)
        return True

    def finish(self) -> Sketch:
        self._settle()
        values = {path: frozenset(texts) for path, texts in self.values.items()}
        return Sketch(self.lists, frozenset(self.paths), values, self.is_whole)

    def _name(self) -> None:
        if self._around and self._around[-1][1]:
            above = self._around[-1][0]
            self._at = None if above is None else _below(above, string_of(self._text))
            if self._at is not None and len(self.paths) < _MOST_PATHS:
                self.paths.add(self._at)

    def _open(self, *, is_object: bool) -> bool:
        if not self._around and not is_object:
            self.lists += 1
            return self.lists <= _MOST_LISTS
        self._around.append((self._at, is_object))
        if not is_object and self._at is not None:
            self._at = f"{self._at}[]" if self._at.count("[]") < _MOST_STEPS else None
        elif is_object:
            self._at = None
        return True

    def _close(self) -> bool:
        if not self._around:
            return False
        self._around.pop()
        if not self._around:
            self.is_whole = True
            return False
        above, is_object = self._around[-1]
        self._at = None if is_object or above is None else f"{above}[]"
        return True

    def _settle(self) -> None:
        """Keep the text seen last as a value, now that no colon has made it a name."""
        if self._value is None:
            return
        path, quoted = self._value
        self._value = None
        if len(quoted) <= _LONGEST_VALUE and len(self.values) < _MOST_PATHS:
            texts = self.values.setdefault(path, set())
            if len(texts) < _MOST_VALUES:
                texts.add(string_of(quoted))


def _below(above: str, name: str) -> str | None:
    if above.count(".") + 1 >= _MOST_STEPS or len(name) > _LONGEST_VALUE:
        return None
    return f"{above}.{name}" if above else name


def _sketch(data: bytes) -> Sketch:
    scan = _Scan()
    for piece in tokens(data):
        if not scan.take(piece):
            break
    return scan.finish()
