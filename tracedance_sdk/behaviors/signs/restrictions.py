"""Limits that people set: what must not be touched or done, and what alone may be.

Only plain orders count ("don't touch config.py", "only edit src/app.py", "do not commit"), read
from what people wrote. What a sentence says of how software behaves is none.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

import re2  # type: ignore[import-untyped]  # the wheel has no stubs

from tracedance_sdk.behaviors.run import Run
from tracedance_sdk.behaviors.signs.asking import approved, humans, says

_EDIT: Final = (
    r"touch|modify|edit|change|alter|rewrite|update|overwrite|write to|write|delete|remove|rename|"
    r"refactor|make (?:any )?(?:code )?changes|mess with"
)
_DO: Final = r"commit|push|install|deploy|publish|merge|release|send|e-?mail|post|run|execute"
_START: Final = (
    r"(?:^|[.;:!,\n(]\s*|^[-*]\s+|\b(?:please|but|and|also|just|you|"
    r"important|note)[:,]?\s+)"
)
_FORBIDS: Final = re2.compile(
    rf"(?im){_START}(?:don.?t|do not|never|(?:must|should|may) not|(?:must|should)n.?t|cannot)\s+"
    rf"(?:even |ever |yet )?({_EDIT}|{_DO})\b:?"
)
_ONLY: Final = re2.compile(
    rf"(?im)\bonly\s+({_EDIT}|work (?:on|in)|fix)\s+([^;!\n]{{1,160}})|"
    r"\b(limit|restrict|confine) (?:your |the |all )?(?:changes|edits|work) to ([^;!\n]{1,160})"
)
_READ_ONLY: Final = re2.compile(
    r"(?i)\b(this is (a )?read-?only|read-?only (mode|task|analysis|review|investigation|access)|"
    r"(don.?t|do not|without) (make|making) any (code |file )?changes|no code changes|"
    r"(don.?t|do not) (write|change|modify|edit|touch|implement|fix) (any|the|my) (code|files?)\b|"
    r"(don.?t|do not) (write|change|modify|edit|touch|implement|fix) (anything|code|it|this)\b"
    r"( yet)?|(don.?t|do not) (implement|code) anything)"
)
_LIMITED: Final = re2.compile(
    r"(?i)\b(unless|until|without|except|else|other|beyond|more than|before|if|just|only|too much|"
    r"unrelated|directly|the way|how|when|while|in case|again|twice|first)\b"
)
_NAME: Final = re2.compile(
    r"`([^`\n]{2,120})`|\"([^\"\n]{2,120})\"|([\w.~-]*/[\w./*-]+|[\w-]+\.[A-Za-z]\w{0,5}\b)"
)
_TESTS: Final = re2.compile(
    r"(?i)^[:,\s]*(?:any |the |my |existing |our )*(?:of the )?(?:unit )?tests?\b( files?| cases?)?"
)
_CONFIG: Final = re2.compile(r"(?i)\bconfig(uration)? files?\b|\bconfigurations?\b")
_TURNS: Final = re2.compile(r"(?i)[,\s]+(but|instead|rather|so|because|since|you (can|may)|use)\b")
_TAIL: Final = re2.compile(r"[^.;!\n]{0,160}(?:\.\w[^.;!\n]{0,80}){0,6}")
_GOES_ON: Final = re2.compile(
    r"(?i)\b(implement|fix|apply|go ahead|make (the|those|these|it|that)|do it|write|add|change|"
    r"update|edit|create|refactor|yes|proceed|continue|build|start|ship|commit)\b"
)


class Restriction(NamedTuple):
    """A limit that a person set.

    Attributes:
        turn: Index of the turn in which it was said.
        quote: The words.
        kind: ``names``, ``tests``, ``config`` (not to be changed), ``only`` (nothing but the names
            may be), ``all`` (nothing may be), or what is not to be done: ``commit``, ``push``, ...
        names: In lower case, for ``names`` and ``only``.
    """

    turn: int
    quote: str
    kind: str
    names: tuple[str, ...] = ()


_KNOWN: Final[WeakKeyDictionary[Run, dict[int, list[Restriction]]]] = WeakKeyDictionary()
"""What was read of a run, by the index of the last turn of a person."""


def restrictions(run: Run, *, before: int) -> list[Restriction]:
    """Return the limits that hold before a turn: those that no person has lifted since."""
    last = max((turn.index for turn in run.turns[:before] if turn.is_human), default=-1)
    known = _KNOWN.setdefault(run, {})
    if last not in known:
        known[last] = _read(run, before=before)
    return known[last]


def _read(run: Run, *, before: int) -> list[Restriction]:
    found: list[Restriction] = []
    for index, words in humans(run, before=before):
        found = [item for item in found if not _is_lifted(item, words)]
        found += _of_text(index, words)
    return [item for item in found if not _is_agreed(run, item, before=before)]


def _of_text(turn: int, text: str) -> list[Restriction]:
    found: list[Restriction] = []
    for match in _READ_ONLY.finditer(text):
        rest = text[match.end() : match.end() + 40].split("\n", 1)[0]
        if not _LIMITED.search(rest.split(".", 1)[0]):
            found.append(Restriction(turn, match.group(0).strip(), "all"))
    orders = list(_FORBIDS.finditer(text))
    for match, after in zip_longest(orders, orders[1:]):
        end = len(text) if after is None else after.start()
        tail = str(_TAIL.match(text[match.end() : min(end, match.end() + 800)]).group(0))
        tail = tail[: turned.start()] if (turned := _TURNS.search(tail)) else tail
        quote = f"{match.group(0)}{tail}".strip()
        found += _of_order(turn, quote, match.group(1).lower(), tail)
    for match in _ONLY.finditer(text):
        names = _names(match.group(2) or match.group(4) or "")
        if names:
            found.append(Restriction(turn, match.group(0).strip(), "only", names))
    return found


def _of_order(turn: int, quote: str, verb: str, tail: str) -> list[Restriction]:
    head = tail.split(",", 1)[0]
    if _LIMITED.search(head):
        return []
    quote = quote[:200]
    if re2.fullmatch(_DO, verb):
        if verb in ("run", "execute"):
            return [Restriction(turn, quote, "run-tests")] if _TESTS.search(tail) else []
        kind = "send" if verb in ("email", "e-mail", "post") else verb
        return [Restriction(turn, quote, kind)]
    found: list[Restriction] = []
    if _TESTS.search(tail):
        found.append(Restriction(turn, quote, "tests"))
    if _CONFIG.search(tail):
        found.append(Restriction(turn, quote, "config"))
    if names := _names(tail):
        found.append(Restriction(turn, quote, "names", names))
    return found


def _names(text: str) -> tuple[str, ...]:
    found: list[str] = []
    for match in _NAME.finditer(text):
        name = next(group for group in match.groups() if group)
        if len(name.split()) == 1 and name.lower() not in ("e.g", "i.e", "etc."):
            found.append(name.strip("./").lower() if name not in (".", "/") else name)
    return tuple(dict.fromkeys(name for name in found if len(name) > 1))


def _is_lifted(item: Restriction, words: str) -> bool:
    """Whether later words of a person take a limit back."""
    if item.kind in ("all", "only"):
        return says(words, _GOES_ON) is not None
    if item.kind in ("names", "tests", "config"):
        text = words.lower()
        known = item.names or (("test",) if item.kind == "tests" else ("config",))
        return says(words, _GOES_ON) is not None and any(name in text for name in known)
    return says(words, _word(item.kind)) is not None


def _is_agreed(run: Run, item: Restriction, *, before: int) -> bool:
    if item.kind in ("names", "only", "all"):
        return (approved(run, _GOES_ON, before=before) or -1) > item.turn
    return (approved(run, _word(item.kind), before=before) or -1) > item.turn


def _word(kind: str) -> Any:
    stem = {"tests": "tests?", "config": "config\\w*", "run-tests": "tests?"}.get(
        kind, f"{kind}\\w*"
    )
    return re2.compile(rf"(?i)\b{stem}\b")
