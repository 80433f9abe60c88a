"""Where in a foreign document something stands, and the errors that say so.

Readers check the shape of every value, and nearly every value is fine: where it stands is worked
out only when one is not. `expect`, `field` and `optional` raise a `Misfit`, which knows the steps
from what they were given; callers add their own steps while it passes, and whoever knows what the
document is turns it into the error that users see.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

from tracedance_sdk.errors import InvalidTrace, Problem, shown
from tracedance_sdk.trace import Json, path_text

Kind = TypeVar("Kind")

_WORDS = {
    str: "text",
    int: "an integer",
    float: "a number",
    bool: "true or false",
    dict: "an object",
    list: "a list",
}


class Misfit(Exception):
    """A value that is not what the format says.

    Attributes:
        what: What is wrong with it.
        steps: Where it stands, below what its reader was given.
    """

    def __init__(self, what: str, *steps: str | int) -> None:
        super().__init__(what, *steps)
        self.what = what
        self.steps = steps

    def below(self, *steps: str | int) -> Misfit:
        """Return the same, seen from so many steps above."""
        return Misfit(self.what, *steps, *self.steps)


def expect(value: Json, kind: type[Kind]) -> Kind:
    """Return the value when it has the JSON type, without coercion.

    Raises:
        Misfit: Another type; ``true`` is no number, and ``1.5`` is no integer.
    """
    if not _fits(value, kind):
        raise Misfit(f"expected {_WORDS[kind]}, got {shown(value)}")
    return value  # type: ignore[no-any-return]  # an integer where a number is asked for


def field(holder: dict[str, Any], key: str, kind: type[Kind]) -> Kind:
    """Return a required field of the JSON type.

    Raises:
        Misfit: Absent, or of another type.
    """
    value = holder.get(key)
    if type(value) is kind:
        return value
    if key not in holder:
        raise Misfit("field required", key)
    return _expected(value, kind, key)


def optional(holder: dict[str, Any], key: str, kind: type[Kind]) -> Kind | None:
    """Return a field of the JSON type, or None when it is absent or null.

    Raises:
        Misfit: Of another type.
    """
    value = holder.get(key)
    if value is None or type(value) is kind:
        return value
    return _expected(value, kind, key)


def _expected(value: Json, kind: type[Kind], key: str) -> Kind:
    try:
        return expect(value, kind)
    except Misfit as misfit:
        raise misfit.below(key) from None


def _fits(value: Json, kind: type) -> bool:
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, kind)


class Place(NamedTuple):
    """A place inside a document: what the document is called, and the JSON path."""

    where: str
    path: str = "$"

    def at(self, *steps: str | int) -> Place:
        """Return the place some steps below."""
        return Place(self.where, self.path + path_text(steps)[1:])

    def invalid(self, what: str) -> InvalidTrace:
        """Return the error to raise: ``where: what @ $.path``."""
        problem = Problem(what, self.path)
        return InvalidTrace(f"{self.where}: {problem}", problems=[problem])

    def located(self, misfit: Misfit) -> InvalidTrace:
        """Return the error to raise for a misfit found below this place."""
        return self.at(*misfit.steps).invalid(misfit.what)

    def expect(self, value: Json, kind: type[Kind]) -> Kind:
        """Return the value when it has the JSON type; see `expect`.

        Raises:
            InvalidTrace: Another type.
        """
        try:
            return expect(value, kind)
        except Misfit as misfit:
            raise self.located(misfit) from None

    def field(self, holder: dict[str, Any], key: str, kind: type[Kind]) -> Kind:
        """Return a required field of the JSON type.

        Raises:
            InvalidTrace: Absent, or of another type.
        """
        try:
            return field(holder, key, kind)
        except Misfit as misfit:
            raise self.located(misfit) from None

    def optional(self, holder: dict[str, Any], key: str, kind: type[Kind]) -> Kind | None:
        """Return a field of the JSON type, or None when it is absent or null.

        Raises:
            InvalidTrace: Of another type.
        """
        try:
            return optional(holder, key, kind)
        except Misfit as misfit:
            raise self.located(misfit) from None
