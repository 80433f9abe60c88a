"""How protected a stored trace is: whether secrets were masked in it, and people replaced.

``plain`` is neither, ``masked`` without secrets, ``pseudonymised`` without secrets and people,
``pseudonymised_only`` without people, but with secrets. A copy takes the place of another only when
it is without all that the other is without.
"""

from __future__ import annotations

from typing import Final

_LEVELS: Final[dict[str, frozenset[str]]] = {
    "plain": frozenset(),
    "masked": frozenset({"secrets"}),
    "pseudonymised_only": frozenset({"people"}),
    "pseudonymised": frozenset({"secrets", "people"}),
}

PLAIN: Final = "plain"
WITHOUT_PEOPLE: Final = ("pseudonymised", "pseudonymised_only")
"""The levels of traces in which people were replaced."""


def protection_of(redactor: object) -> str:
    """Return what a redactor's work is: by its attribute ``protects``, else it masks secrets."""
    if redactor is None:
        return PLAIN
    return _named(frozenset(getattr(redactor, "protects", ("secrets",))))


def joint_protection(one: str, other: str) -> str:
    """Return the protection of a trace that both were done to."""
    return _named(_LEVELS[one] | _LEVELS[other])


def is_as_protected(new: str, known: str) -> bool:
    """Whether a trace is without all that another is without."""
    return _LEVELS[new] >= _LEVELS[known]


def _named(gone: frozenset[str]) -> str:
    return next((name for name, level in _LEVELS.items() if level == gone), PLAIN)
