"""Every function of statistics refuses what it cannot compute, whatever stands in any argument.

Each number in each argument is replaced by what no caller should give: an answer is finite, and
all else is an error of this library, on one line, at once.
"""

from __future__ import annotations

import inspect
import math
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from tests.statistics.valid_arguments import ARGUMENTS, METHODS, PANEL
from tracedance_sdk import statistics as s
from tracedance_sdk.errors import TraceDanceError

NUMBERS: Final = (
    *(
        math.nan,
        math.inf,
        -math.inf,
        -1,
        0,
        0.5,
        True,
        1e308,
        -1e308,
        1e100,
        5e-324,
        -5e-324,
        1e-99,
    ),
    *(10**9, 1e9, 10**15, 10**18, 2**63, 10**400, -(10**400), 10**5000),
)
OTHERS: Final[tuple[Any, ...]] = (None, "3", b"3", [1], [], {}, complex(1, 2), object())
MOST_S: Final = 2.0

Path = tuple[Any, ...]


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    if path:
        yield path
    if isinstance(value, (dict, list, tuple)):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in inner:
            yield from places(item, (*path, key))


def put(value: Any, path: Path, odd: Any) -> Any:
    if not path:
        return odd
    first, *rest = path
    if isinstance(value, dict):
        return {key: put(v, tuple(rest), odd) if key == first else v for key, v in value.items()}
    changed = [put(v, tuple(rest), odd) if at == first else v for at, v in enumerate(value)]
    if isinstance(value, tuple):
        return type(value)(*changed) if hasattr(value, "_fields") else tuple(changed)
    return changed


def is_finite(answer: Any) -> bool:
    if isinstance(answer, (list, tuple)):
        return all(map(is_finite, answer))
    return not isinstance(answer, float) or math.isfinite(answer)


def assert_answered_or_refused(call: Callable[[], Any], what: str) -> None:
    begun = time.perf_counter()
    answer: Any = None
    refusal: Exception | None = None
    try:
        answer = call()
    except Exception as error:  # noqa: BLE001 - what kind it is of is looked at below
        refusal = error
    taken = time.perf_counter() - begun
    if refusal is None:
        assert is_finite(answer), f"{what}: {answer!r}"
    else:
        assert isinstance(refusal, TraceDanceError), f"{what}: {refusal!r}"
        assert "\n" not in str(refusal), what
        assert 10 < len(str(refusal)) < 400, what
    assert taken < MOST_S, what


def functions() -> list[str]:
    return [name for name in s.__all__ if inspect.isfunction(getattr(s, name))]


def test_every_function_and_argument_is_listed() -> None:
    assert functions() == sorted(ARGUMENTS)
    for name in functions():
        assert list(inspect.signature(getattr(s, name)).parameters) == list(ARGUMENTS[name])
    computing = {
        f"{name}.{method}"
        for name in ("Confusion", "Trials")
        for method, of in vars(getattr(s, name)).items()
        if inspect.isfunction(of) and not method.startswith("_")
    }
    assert computing == METHODS.keys()


@pytest.mark.parametrize("name", ARGUMENTS)
def test_anything_in_any_argument_is_answered_or_refused(name: str) -> None:
    function, arguments = getattr(s, name), ARGUMENTS[name]
    assert is_finite(function(**arguments))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for path in places(arguments):
            for at, odd in enumerate((*NUMBERS, *OTHERS)):
                changed = put(arguments, path, odd)
                assert_answered_or_refused(
                    lambda given=changed: function(**given),  # type: ignore[misc]
                    f"{name}, {path}, odd value {at}",
                )


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("at", range(4))
def test_any_count_of_a_confusion_is_answered_or_refused(name: str, at: int) -> None:
    method = name.partition(".")[2]
    for number, odd in enumerate((*NUMBERS, *OTHERS)):
        counts = s.Confusion(*put(list(PANEL), (at,), odd))
        for call in (lambda: getattr(counts, method)(**METHODS[name]), lambda: counts.n):  # noqa: B023
            assert_answered_or_refused(call, f"{name}, count {at}, odd value {number}")


def every_number(value: Any, to: Callable[[float], Any]) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float, list, tuple, dict)):
        return value
    if isinstance(value, dict):
        return {key: every_number(item, to) for key, item in value.items()}
    if isinstance(value, (int, float)):
        return to(value)
    items = [every_number(item, to) for item in value]
    if isinstance(value, tuple):
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return items


SCALES: Final[dict[str, Callable[[float], Any]]] = {
    "huge": lambda number: number * 1e99,
    "tiny": lambda number: number * 1e-99,
    "alternating": lambda number: 1e100 if round(10 * number) % 2 else -1e100,
    "many": lambda number: int(number * 10**12),
    "the same": lambda _: 7,
    "zeros": lambda _: 0,
    "ones": lambda _: 1.0,
    "nearly one": lambda _: 1 - 1e-15,
}


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_that_are_all_odd_are_answered_or_refused(name: str, scale: str) -> None:
    options = {"seed", "n_resamples", "level", "alpha", "power", "statistic", "coefficient"}
    function, arguments = getattr(s, name), ARGUMENTS[name]
    for left in ((), tuple(options)):
        given = {
            key: value if key in left else every_number(value, SCALES[scale])
            for key, value in arguments.items()
        }
        assert_answered_or_refused(lambda given=given: function(**given), f"{name}, {scale}")  # type: ignore[misc]
