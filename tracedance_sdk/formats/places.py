"""Where in a foreign document something stands, and the errors that say so."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

from tracedance_sdk.errors import InvalidTrace, Problem, shown
from tracedance_sdk.trace import Json

Kind = TypeVar("Kind")

_WORDS = {
    str: "text",
    int: "an integer",
    float: "a number",
    bool: "true or false",
    dict: "an object",
    list: "a list",
}


class Place(NamedTuple):
    """A place inside a document: what the document is called, and the JSON path."""

    where: str
    path: str = "$"

    def at(self, step: str | int) -> Place:
        """Return the place one step below."""
        shown = f"[{step}]" if isinstance(step, int) else f".{step}"
        return Place(self.where, self.path + shown)

    def invalid(self, what: str) -> InvalidTrace:
        """Return the error to raise: ``where: what @ $.path``."""
        problem = Problem(what, self.path)
        return InvalidTrace(f"{self.where}: {problem}", problems=[problem])

    def expect(self, value: Json, kind: type[Kind]) -> Kind:
        """Return the value when it has the JSON type, without coercion.

        Raises:
            InvalidTrace: Another type; ``true`` is no number, and ``1.5`` is no integer.
        """
        if not _fits(value, kind):
            raise self.invalid(f"expected {_WORDS[kind]}, got {shown(value)}")
        return value  # type: ignore[no-any-return]  # an integer where a number is asked for

    def field(self, holder: dict[str, Any], key: str, kind: type[Kind]) -> Kind:
        """Return a required field of the JSON type.

        Raises:
            InvalidTrace: Absent, or of another type.
        """
        if key not in holder:
            raise self.at(key).invalid("field required")
        value = holder[key]
        return value if _fits(value, kind) else self.at(key).expect(value, kind)

    def optional(self, holder: dict[str, Any], key: str, kind: type[Kind]) -> Kind | None:
        """Return a field of the JSON type, or None when it is absent or null.

        Raises:
            InvalidTrace: Of another type.
        """
        value = holder.get(key)
        if value is None or _fits(value, kind):
            return value
        return self.at(key).expect(value, kind)


def _fits(value: Json, kind: type) -> bool:
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, kind)
