"""Recorded JSON and recorded errors as what a function gives."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, TypedDict

import pytest
from pydantic import BaseModel, Field

from tracedance_sdk.recording import ReplayedError
from tracedance_sdk.recording.failures import describe
from tracedance_sdk.recording.rebuilt_values import rebuilder
from tracedance_sdk.recording.replayed_errors import replayed_error
from tracedance_sdk.recording.values import freeze
from tracedance_sdk.trace import UNKNOWN, ErrorInfo, Json, parse_json


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Line:
    sku: str
    price: Decimal


class Cart(BaseModel):
    lines: list[Line]
    due: date
    colour: Colour = Colour.RED
    note: str | None = Field(default=None, alias="remark")

    model_config = {"populate_by_name": True}


class Row(TypedDict):
    id: str


class Odd:
    pass


class SoldOut(Exception):
    def __init__(self, sku: str, *, left: int) -> None:
        super().__init__(f"{sku}: {left} left")
        self.left = left


class Sealed(Exception):
    def __init_subclass__(cls) -> None:
        raise RuntimeError("no subclasses")


VALUES: dict[str, tuple[Any, Any]] = {
    "model": (Cart, Cart(lines=[Line("a", Decimal("1.10"))], due=date(2026, 3, 1), remark="x")),
    "dataclass": (Line, Line("a", Decimal(2))),
    "list of dataclasses": (list[Line], [Line("a", Decimal(2))]),
    "optional": (Cart | None, None),
    "tuple": (tuple[int, date], (1, date(2026, 3, 1))),
    "set": (set[str], {"a", "b"}),
    "typed dict": (Row, {"id": "7"}),
    "plain dict": (dict[str, Any], {"a": [1, None]}),
}


@pytest.mark.parametrize("name", VALUES)
def test_what_was_recorded_of_a_value_becomes_the_value_again(name: str) -> None:
    hint, value = VALUES[name]

    def function() -> Any: ...

    function.__annotations__["return"] = hint
    recorded = parse_json(freeze(value), where="value")

    rebuilt = rebuilder(function, items=False)(recorded)

    assert rebuilt == value
    assert type(rebuilt) is type(value)


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        pytest.param(int, "7", id="a text is no number"),
        pytest.param(Line, {"sku": "a"}, id="a field is missing"),
        pytest.param(date, "[MASKED:date:]", id="a masked value"),
        pytest.param(Odd, {"$type": "Odd", "$repr": "<Odd>"}, id="a class without a schema"),
        pytest.param("NoSuchName", {"a": 1}, id="an annotation of nothing"),
    ],
)
def test_what_does_not_fit_its_annotation_stays_json(hint: Any, value: Json) -> None:
    def function() -> Any: ...

    function.__annotations__["return"] = hint
    assert rebuilder(function, items=False)(value) == value


def test_no_content_is_none() -> None:
    def function() -> Line: ...  # type: ignore[empty-body]

    assert rebuilder(function, items=False)(UNKNOWN) is None


def _generator() -> Generator[Line, None, str]: ...  # type: ignore[empty-body]
async def _stream() -> AsyncIterator[Line]:
    yield Line("a", Decimal(1))


def _awaitable() -> Awaitable[Line]: ...  # type: ignore[empty-body]


@pytest.mark.parametrize(
    ("function", "items"), [(_generator, True), (_stream, True), (_awaitable, False)]
)
def test_items_and_awaited_values_are_rebuilt_by_the_type_inside(
    function: Callable[..., Any], items: bool
) -> None:
    assert rebuilder(function, items=items)({"sku": "a", "price": "1"}) == Line("a", Decimal(1))


def test_an_error_of_a_loaded_module_is_caught_by_its_class() -> None:
    name = f"{SoldOut.__module__}.SoldOut"
    error = replayed_error(ErrorInfo(type=name, message="a: 0 left"))

    assert isinstance(error, SoldOut)
    assert str(error) == "a: 0 left"
    assert error.recorded_type == name


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("shop.NotLoaded", id="of no module that is loaded"),
        pytest.param("builtins.print", id="no class"),
        pytest.param("SystemExit", id="what stops programs"),
        pytest.param("os.path.join.__class__", id="an odd path"),
        pytest.param(f"{__name__}.Sealed", id="a class that cannot be inherited from"),
        pytest.param("", id="no name"),
        pytest.param("a b.", id="no identifier"),
    ],
)
def test_any_other_error_is_a_replayed_error_with_the_recorded_words(name: str) -> None:
    error = replayed_error(ErrorInfo(type=name, message="gone"))

    assert isinstance(error, ReplayedError)
    assert not isinstance(error, (SystemExit, Sealed))
    assert str(error) == "gone"


@pytest.mark.parametrize("name", ["UnicodeDecodeError", "OSError", "ExceptionGroup", "KeyError"])
def test_builtin_errors_with_odd_constructors_are_made_all_the_same(name: str) -> None:
    assert str(replayed_error(ErrorInfo(type=name, message="gone"))) == "gone"


@pytest.mark.parametrize(
    "error",
    [
        KeyError("hat"),
        KeyError(("hat", 1)),
        FileNotFoundError(2, "No such file or directory", "/it's.txt"),
        PermissionError(13, "Permission denied"),
        ValueError(),
        RuntimeError("gone"),
        OSError("gone"),
    ],
    ids=repr,
)
def test_a_builtin_error_has_the_words_and_the_arguments_that_it_had(error: Exception) -> None:
    told = describe(error, Counter())
    again = replayed_error(ErrorInfo(type=told.type, message=told.message))

    assert isinstance(again, type(error))
    assert (str(again), repr(again), again.args) == (str(error), repr(error), error.args)
    for name in ("errno", "strerror", "filename"):
        assert getattr(again, name, None) == getattr(error, name, None)
    assert describe(again, Counter()) == told


def test_no_error_recorded_is_a_failure_all_the_same() -> None:
    assert replayed_error(None).recorded_type == "Failed"
