"""`Expected`: an expected value as a field of a specification, checked when it is read."""

from __future__ import annotations

from typing import Any, Final

from pydantic import GetCoreSchemaHandler
from pydantic_core import PydanticCustomError, core_schema

from tracedance_sdk.grading.matching import Answer, Difference, Mode, differences, holds
from tracedance_sdk.grading.predicates import Malformed, compile_expected
from tracedance_sdk.trace import Json, same_json

PROBLEMS_KEY: Final = "expected_problems"
"""Where an error about an expected value keeps its problems, with paths from that value."""


class Expected:
    """A value that is expected somewhere, with conditions such as ``{"$regex": ...}`` in it.

    Args:
        source: The value as it stands in a specification.

    Raises:
        Malformed: A condition that does not exist or cannot be read.

    Example:
        >>> Expected({"total": {"$range": {"min": 1}}}).holds({"total": 3, "paid": True})
        True
    """

    __slots__ = ("compiled", "source")

    def __init__(self, source: Json) -> None:
        self.source = source
        self.compiled = compile_expected(source)

    def differences(self, actual: Json, *, mode: Mode = "partial") -> list[Difference]:
        """Return every place where a value is not, or may not be, as expected."""
        return differences(actual, self.compiled, mode=mode)

    def holds(self, actual: Json, *, mode: Mode = "partial") -> Answer:
        """Whether a value is as expected; None where the evidence does not tell."""
        expected = self.compiled
        if type(actual) is str and type(expected) is str and "[" not in actual + expected:
            # Names of tools, asked for every call and rule: no mask in them, nothing to weigh.
            return bool(actual == expected)
        return holds(actual, expected, mode=mode)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expected) and same_json(self.source, other.source)

    __hash__ = None  # type: ignore[assignment]  # holds dicts and lists

    def __repr__(self) -> str:
        return f"Expected({self.source!r})"

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Let pydantic read any JSON value as an expected one, and write it back."""
        return core_schema.no_info_plain_validator_function(
            read_expected,
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda expected: expected.source
            ),
        )


def read_expected(value: object) -> Expected:
    """Return any JSON value, null too, as an expected one; for pydantic.

    Raises:
        PydanticCustomError: A condition that does not exist or cannot be read.
    """
    if isinstance(value, Expected):
        return value
    try:
        return Expected(value)
    except Malformed as error:
        context = {PROBLEMS_KEY: error.problems}
        raise PydanticCustomError("expected_value", "not an expected value", context) from error
