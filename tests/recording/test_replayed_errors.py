"""Recorded errors of odd classes: raised again as such, and harmless to whoever looks at them."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import subprocess
import sys
import traceback
import urllib.error
from collections import Counter
from pathlib import Path
from typing import Any, NoReturn, Self

import pytest

from tracedance_sdk.recording import ReplayedError
from tracedance_sdk.recording.failures import describe
from tracedance_sdk.recording.replayed_errors import replayed_error
from tracedance_sdk.trace import ErrorInfo


class FixedArgs(Exception):
    @property
    def args(self) -> Any:  # type: ignore[override]  # as some classes do
        raise RuntimeError("no")


class Fixed(Exception):
    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("fixed")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("fixed")


class Demanding(Exception):
    def __new__(cls, code: int, why: str) -> Self:
        return super().__new__(cls, code, why)

    def __init__(self, code: int, why: str) -> None:
        super().__init__(code, why)
        self.code = code

    def __repr__(self) -> str:
        return f"<{self.code}>"

    def __eq__(self, other: object) -> bool:
        return self.code == getattr(other, "code", None)

    def __hash__(self) -> int:
        return self.code

    def __bool__(self) -> bool:
        return self.code > 0


class Proxy(Exception):
    def __getattr__(self, name: str) -> Any:
        return self.__dict__["of"][name]

    def __del__(self) -> None:
        self.of.close()


class Reading(Exception):
    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_"):
            return super().__getattribute__(name)
        raise RuntimeError(name)


@dataclasses.dataclass(frozen=True)
class Record(Exception):
    number: int


class Group(ExceptionGroup[Exception]):
    """A group of one's own."""


CASES = [
    FixedArgs("gone"),
    Demanding(3, "gone"),
    Record(7),
    MemoryError("gone"),
    MemoryError(),
    TimeoutError(),
    TimeoutError("timed out"),
    ExceptionGroup("gone", [ValueError("a"), KeyError("b")]),
    Group("gone", [ValueError("a")]),
    urllib.error.HTTPError("http://localhost/", 404, "Not Found", {}, None),  # type: ignore[arg-type]  # as it is used
    json.JSONDecodeError("gone", "{", 0),
    subprocess.CalledProcessError(2, ["make"]),
    asyncio.IncompleteReadError(b"a", 3),
    UnicodeDecodeError("utf8", b"x", 0, 1, "gone"),
]


@pytest.mark.parametrize("error", CASES, ids=lambda error: f"{type(error).__name__}-{error}")
def test_it_is_of_its_class_and_says_what_it_said(error: Exception) -> None:
    told = describe(error, Counter())
    again = replayed_error(ErrorInfo(type=told.type, message=told.message))

    assert isinstance(again, type(error))
    assert isinstance(again, ReplayedError)
    assert str(again) == str(error)
    assert describe(again, Counter()) == told


@pytest.mark.parametrize("kind", [FixedArgs, Fixed, Demanding, Proxy, Reading, Record])
def test_it_can_be_dealt_with_like_any_exception(kind: type[Exception]) -> None:
    made = replayed_error(ErrorInfo(type=f"{__name__}.{kind.__name__}", message="gone"))
    again: Any = made

    assert isinstance(made, kind)
    assert str(again) == "gone"
    assert repr(again) == f"{kind.__name__}('gone')"
    assert again.args == ("gone",)
    assert again
    assert list({again: 1}) == [again]
    assert again != ValueError("gone")
    again.add_note("here")
    with pytest.raises(kind) as caught:
        _raise(again)
    assert "gone\nhere" in "".join(traceback.format_exception(caught.value))
    with pytest.raises(AttributeError):
        _ = again.nothing


def _raise(error: Exception) -> NoReturn:
    raise error from KeyError("before")


def test_a_group_has_as_many_errors_as_it_had_of_which_nothing_is_known() -> None:
    told = describe(ExceptionGroup("both", [ValueError("a"), KeyError("b")]), Counter())
    with pytest.raises(ExceptionGroup) as caught:
        _raise(replayed_error(ErrorInfo(type=told.type, message=told.message)))
    assert caught.value.message == "both"
    assert [str(error) for error in caught.value.exceptions] == ["not recorded"] * 2
    again = replayed_error(ErrorInfo(type="ExceptionGroup", message="of another language"))
    assert str(again) == "of another language"


def test_an_answer_of_an_http_server_has_its_status() -> None:
    again: Any = replayed_error(
        ErrorInfo(type="urllib.error.HTTPError", message="HTTP Error 404: Not Found")
    )
    assert (again.code, again.reason, again.msg) == (404, "Not Found", "Not Found")


PROGRAM = """
import asyncio, logging, traceback, urllib.error
from tracedance_sdk.recording.replayed_errors import replayed_error
from tracedance_sdk.trace import ErrorInfo

async def fetch():
    raise replayed_error(
        ErrorInfo(type="urllib.error.HTTPError", message="HTTP Error 404: Not Found")
    )

async def fine():
    return "fine"

try:
    asyncio.run(fetch())
except urllib.error.HTTPError as error:
    assert "HTTP Error 404" in traceback.format_exc()
    logging.exception("it failed")
print(asyncio.run(fine()))
"""


def test_a_program_goes_on_after_an_error_of_urllib() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "fine\n", done.stderr
    assert "KeyError" not in done.stderr
