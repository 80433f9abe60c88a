"""Which arguments recorded calls had, and how far they were varied: a rule says no more.

What was never tried otherwise is not known. An argument that always had one of few values may be
given one of these; one that was always there has to be; one that only ever went along with another
(the zip code of a customer) may have been what the tool checked, so that a rule which does not look
at it says nothing at all. Neither does an answer that is always the same follow for a new order's
number, whatever many right ones were told: nobody gave a wrong one. Free text is another matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from tracedance_sdk.replay.derivation.cases import Case
from tracedance_sdk.replay.derivation.rule import Seen, form_of
from tracedance_sdk.trace import Json, canonical_json

LEAST_VALUES: Final = 10
"""An argument that had fewer values may be given one of these only."""

_LEAST_WORDS: Final = 3


class SeenArguments:
    """The arguments of some calls.

    Args:
        cases: The calls, by number.
    """

    def __init__(self, cases: Mapping[int, Case]) -> None:
        self._spelled = {number: _spelled(case.arguments) for number, case in cases.items()}
        self._values: dict[str, Counter[bytes]] = {}
        for given in self._spelled.values():
            for name, value in given.items():
                self._values.setdefault(name, Counter())[value] += 1
        self._forms: dict[str, Counter[str]] = {}
        for name, values in self._values.items():
            forms = self._forms[name] = Counter()
            for value, number in values.items():
                forms[form_of(value)] += number
        self._prose = {name for name in self._values if _is_prose(name, cases.values())}

    @property
    def names(self) -> list[str]:
        """Of all arguments."""
        return list(self._values)

    def without(self, gone: Collection[int], *, only_seen: Collection[str] = ()) -> Seen:
        """Return what was seen of arguments in all calls but some.

        Args:
            gone: Their numbers; all among those of the calls.
            only_seen: Arguments that may be given no new value, however many they had.
        """
        n_left = len(self._spelled) - len(gone)
        names: set[str] = set()
        always: set[str] = set()
        few: list[tuple[str, frozenset[bytes]]] = []
        forms: list[tuple[str, frozenset[str]]] = []
        for name, values in self._values.items():
            without = Counter(v for n in gone if (v := self._spelled[n].get(name)) is not None)
            n_with = values.total() - without.total()
            if not n_with:
                continue
            names.add(name)
            if n_with == n_left:
                always.add(name)
            lost = Counter(form_of(value) for value in without.elements())
            known = (form for form, n in self._forms[name].items() if n > lost[form])
            forms.append((name, frozenset(known)))
            # So many values cannot all be among the few calls that are left out.
            if name in only_seen or len(values) < LEAST_VALUES + len(without):
                left = frozenset(value for value, n in values.items() if n > without[value])
                if name in only_seen or len(left) < LEAST_VALUES:
                    few.append((name, left))
        return Seen(frozenset(names), frozenset(always), tuple(sorted(few)), tuple(sorted(forms)))

    def which_ones(self, unread: Iterable[str]) -> list[str]:
        """Return those of some arguments that say which one: neither free text nor a choice."""
        return [
            name
            for name in unread
            if name not in self._prose and len(self._values[name]) >= LEAST_VALUES
        ]

    def is_each_its_own(self, names: Iterable[str]) -> bool:
        """Whether one of these arguments had another value in most calls."""
        return any(2 * len(self._values[n]) > self._values[n].total() for n in names)

    def goes_along(self, unread: Iterable[str], gone: Collection[int]) -> str | None:
        """Return the first of some arguments that only ever went along with another one.

        Free text goes along with nothing: it is different every time.

        Args:
            unread: Names of arguments.
            gone: Numbers of calls that are not looked at.
        """
        tokens = [name for name in self._values if name not in self._prose]
        for name in unread:
            others = [other for other in tokens if other != name]
            if name in tokens and any(self._follows(name, other, gone) for other in others):
                return name
        return None

    def _follows(self, name: str, other: str, gone: Collection[int]) -> bool:
        """Whether one value of another argument always came with one and the same of this one."""
        found: dict[bytes, bytes] = {}
        for number, given in self._spelled.items():
            if number in gone or name not in given or other not in given:
                continue
            value = given[name]
            if found.setdefault(given[other], value) != value:
                return False
        # A reason for cancelling follows from the order, too, but few of them serve for all.
        return len(found) > 1 and 2 * len(set(found.values())) > len(found)


def _spelled(arguments: Json) -> dict[str, bytes]:
    if not isinstance(arguments, dict):
        return {}
    return {name: canonical_json(value) for name, value in arguments.items()}


def _is_prose(name: str, cases: Iterable[Case]) -> bool:
    """Whether most values of an argument are sentences."""
    given = (case.arguments for case in cases if isinstance(case.arguments, dict))
    values = [arguments[name] for arguments in given if name in arguments]
    prose = [v for v in values if isinstance(v, str) and len(v.split()) >= _LEAST_WORDS]
    return 2 * len(prose) > len(values)
