from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import json
import os
import pathlib
import subprocess
import sys
import threading
import types
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import orjson
import pydantic
import pytest

from tracedance_sdk.recording.value_stubs import MAX_BYTES, MAX_REPR
from tracedance_sdk.recording.values import MAX_VALUE_DEPTH, freeze


class Colour(enum.Enum):
    RED = "red"
    PAIR = (1, float("inf"))


class Level(enum.IntEnum):
    HIGH = 3


@dataclasses.dataclass
class Order:
    _id: int
    items: list[Any]
    note: str = dataclasses.field(default="", repr=False)


@dataclasses.dataclass(slots=True)
class Slotted:
    kept: int
    lost: int


class Login(pydantic.BaseModel):
    user: str
    password: pydantic.SecretStr
    friend: Login | None = None
    hidden: int = pydantic.Field(default=5, exclude=True)


class Animal(pydantic.BaseModel):
    name: str


class Dog(Animal):
    breed: str


class Zoo(pydantic.BaseModel):
    animals: list[Animal]


class Names(pydantic.RootModel[list[str]]):
    pass


Point = collections.namedtuple("Point", "x y")  # noqa: PYI024 - this kind of value is the subject


class Attrs:
    """What the attrs library leaves on a class, without needing it here."""

    __attrs_attrs__ = (types.SimpleNamespace(name="a"), types.SimpleNamespace(name="b"))

    def __init__(self) -> None:
        self.a, self.b = 1, {2}


def parsed(value: object) -> Any:
    return orjson.loads(freeze(value))


def stub(kind: str, text: str) -> dict[str, str]:
    return {"$type": kind, "$repr": text}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param({"a": [1, 1.5, True, None, "ü"]}, {"a": [1, 1.5, True, None, "ü"]}, id="json"),
        pytest.param((1, (2,)), [1, [2]], id="tuple"),
        pytest.param({"b", "a", 1}, ["a", "b", 1], id="set"),
        pytest.param(frozenset({(2, 1), (1, 2)}), [[1, 2], [2, 1]], id="frozenset"),
        pytest.param(collections.deque([1, 2]), [1, 2], id="deque"),
        pytest.param({"b": 1, "a": 2}.keys(), ["b", "a"], id="dict-keys"),
        pytest.param({"b": 1, "a": 2}.values(), [1, 2], id="dict-values"),
        pytest.param({"b": 1}.items(), [["b", 1]], id="dict-items"),
        pytest.param(types.MappingProxyType({"a": {1}}), {"a": [1]}, id="mapping-proxy"),
        pytest.param(collections.UserDict(a=1), {"a": 1}, id="user-dict"),
        pytest.param(collections.Counter("aab"), {"a": 2, "b": 1}, id="counter"),
        pytest.param(Point(1, {2}), {"x": 1, "y": [2]}, id="named-tuple"),
        pytest.param(Order(7, [{1}], "n"), {"_id": 7, "items": [[1]], "note": "n"}, id="dataclass"),
        pytest.param(Attrs(), {"a": 1, "b": [2]}, id="attrs"),
        pytest.param(Colour.RED, "red", id="enum"),
        pytest.param([Level.HIGH], [3], id="int-enum"),
        pytest.param(Colour.PAIR, [1, stub("float", "inf")], id="enum-of-infinity"),
        pytest.param(dt.datetime(2026, 1, 2, 3, 4, 5, 6), "2026-01-02T03:04:05.000006", id="naive"),  # noqa: DTZ001
        pytest.param(
            dt.datetime(2026, 1, 2, tzinfo=dt.timezone(dt.timedelta(minutes=-90))),
            "2026-01-02T00:00:00-01:30",
            id="aware",
        ),
        pytest.param(dt.date(2026, 1, 2), "2026-01-02", id="date"),
        pytest.param(dt.time(1, 2, tzinfo=dt.UTC), "01:02:00+00:00", id="time"),
        pytest.param(dt.timedelta(seconds=90, microseconds=500_000), "PT90.5S", id="duration"),
        pytest.param(dt.timedelta(seconds=-1), "-PT1S", id="negative-duration"),
        pytest.param(decimal.Decimal("10.50"), "10.50", id="decimal"),
        pytest.param(uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001", id="uuid"),
        pytest.param(pathlib.PurePosixPath("/a/b"), "/a/b", id="path"),
        pytest.param(float("nan"), stub("float", "nan"), id="nan"),
        pytest.param(
            {"a": None, "b": [-float("inf")]}, {"a": None, "b": [stub("float", "-inf")]}, id="inf"
        ),
        pytest.param(2**64 - 1, 2**64 - 1, id="largest-integer"),
        pytest.param([2**70], [stub("int", str(2**70))], id="integer-of-70-bits"),
        pytest.param(b"a\xff", stub("bytes", "b'a\\xff'"), id="bytes"),
        pytest.param(bytearray(b"a"), stub("bytes", "b'a'"), id="bytearray"),
        pytest.param(memoryview(b"a"), stub("bytes", "b'a'"), id="memoryview"),
        pytest.param("\udc80x", "\\udc80x", id="surrogate"),
        pytest.param(
            {"\udc80": 1, "\\udc80": 2}, {"\\udc80 2": 1, "\\udc80": 2}, id="surrogate-key"
        ),
        pytest.param(1j, stub("complex", "1j"), id="complex"),
        pytest.param(range(3), stub("range", "range(0, 3)"), id="range"),
        pytest.param(ValueError("no"), stub("ValueError", "ValueError('no')"), id="exception"),
        pytest.param(
            print, stub("builtin_function_or_method", "<built-in function print>"), id="function"
        ),
        pytest.param(int, stub("type", "<class 'int'>"), id="class"),
        pytest.param(object(), stub("object", "<object object>"), id="no-address"),
        pytest.param(np.float64(1.5), 1.5, id="numpy-scalar"),
        pytest.param(np.int32(3), 3, id="numpy-integer"),
        pytest.param(np.bool_(True), True, id="numpy-bool"),
        pytest.param(np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]], id="numpy-array"),
        pytest.param(np.array([1.5, np.nan]), [1.5, stub("float", "nan")], id="numpy-nan"),
        pytest.param(np.array(7), 7, id="numpy-array-of-no-dimension"),
        pytest.param(np.datetime64("2026-01-02"), "2026-01-02", id="numpy-date"),
        pytest.param(Names(["a"]), ["a"], id="pydantic-root"),
        pytest.param(
            Zoo(animals=[Dog(name="Rex", breed="Pug")]),
            {"animals": [{"name": "Rex", "breed": "Pug"}]},
            id="pydantic-subclass-keeps-its-fields",
        ),
    ],
)
def test_each_kind_of_value_has_its_form(value: object, expected: object) -> None:
    assert parsed(value) == expected
    assert parsed([value]) == [expected]
    assert parsed({"k": value}) == {"k": expected}


def test_a_key_that_is_no_text_becomes_text_and_no_entry_is_lost() -> None:
    value = {None: 0, 1: 3, "1": 2, 2.5: 4, (1, "a"): 5, uuid.UUID(int=2): 6, b"x": 7, False: 8}
    assert parsed(value) == {
        "null": 0,
        "1 (int)": 3,
        "1": 2,
        "2.5": 4,
        '[1,"a"]': 5,
        "00000000-0000-0000-0000-000000000002": 6,
        '{"$type":"bytes","$repr":"b\'x\'"}': 7,
        "false": 8,
    }


def test_two_keys_of_one_type_and_one_text_both_stay() -> None:
    class Same:
        def __repr__(self) -> str:
            return "same"

    assert sorted(parsed({Same(): 1, Same(): 2}).values()) == [1, 2]


def test_a_value_that_contains_itself_is_cut_where_it_does() -> None:
    loop: list[Any] = [1]
    loop.append({"again": loop})
    assert parsed(loop) == [1, {"again": stub("list", "contains itself")}]
    twice = [1]
    assert parsed([twice, twice]) == [[1], [1]]


def test_a_model_that_contains_itself_keeps_its_other_fields_and_its_exclusions() -> None:
    login = Login(user="ann", password=pydantic.SecretStr("hunter2"))
    login.friend = login
    frozen = parsed(login)
    assert frozen["user"] == "ann"
    assert frozen["friend"]["$repr"] == "contains itself"
    assert "hidden" not in frozen
    assert "hunter2" not in json.dumps(frozen)


@pytest.mark.parametrize("depth", [1, 150, 198, 199, 200, 201, 254, 255, 1000, 100_000])
def test_nesting_is_bounded_and_what_lies_above_the_bound_is_kept(depth: int) -> None:
    value: Any = []
    for level in range(depth - 1):
        value = [level, value]
    frozen = parsed(value)
    levels = 0
    while isinstance(frozen, list) and frozen:
        frozen = frozen[1]
        levels += 1
    levels += 1
    assert levels == min(depth, MAX_VALUE_DEPTH)
    assert frozen == ([] if depth < MAX_VALUE_DEPTH else stub("list", "nested too deeply"))


def test_a_bad_leaf_leaves_the_good_parts() -> None:
    class Bad:
        def __repr__(self) -> str:
            raise LookupError("no text for you")

    assert parsed({"good": 1, "bad": [Bad(), 2]})["good"] == 1
    assert parsed([Bad(), 2])[1] == 2
    assert parsed(Bad())["$repr"] == "not recorded: LookupError was raised"


class Hostile:
    """Every protocol of this object fails in its own way."""

    def __getattribute__(self, name: str) -> Any:
        raise BaseException(name)  # noqa: TRY002 - beyond Exception on purpose

    def __hash__(self) -> int:
        return 1

    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError

    def __repr__(self) -> str:
        raise BaseException("repr")  # noqa: TRY002


class ReprIsNumber:
    def __repr__(self) -> str:
        return 7  # type: ignore[return-value]


class LyingMapping(dict[str, int]):
    def __iter__(self) -> Iterator[str]:
        raise OSError("gone")


class Meta(type):
    def __getattribute__(cls, name: str) -> Any:
        raise ValueError(name)

    def __repr__(cls) -> str:
        raise ValueError("no repr")


class Nameless(metaclass=Meta):
    pass


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(Hostile, id="hostile"),
        pytest.param(lambda: {Hostile(): 1}, id="hostile-key"),
        pytest.param(ReprIsNumber, id="repr-is-no-text"),
        pytest.param(lambda: [Nameless()], id="hostile-class"),
        pytest.param(lambda: Nameless, id="class-itself"),
    ],
)
def test_nothing_an_object_does_makes_freezing_fail(make: Callable[[], object]) -> None:
    frozen = parsed(["before", make(), "after"])
    assert frozen[0] == "before"
    assert frozen[2] == "after"
    assert "$type" in json.dumps(frozen[1])


def test_a_dict_subclass_is_read_from_its_storage() -> None:
    assert parsed(LyingMapping(a=1)) == {"a": 1}
    assert parsed({1: LyingMapping(a=1)})["1"] == {"$type": stub_name(LyingMapping), "$repr": FAULT}


FAULT = "not recorded: OSError was raised"


def stub_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def test_interrupts_pass() -> None:
    class Interrupted:
        def __repr__(self) -> str:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        freeze([Interrupted()])


def test_an_exit_that_only_recording_asked_for_is_a_fault() -> None:
    class Leaving:
        def __repr__(self) -> str:
            raise SystemExit

    stub = {"$type": stub_name(Leaving), "$repr": FAULT.replace("OSError", "SystemExit")}
    assert parsed(["kept", Leaving()]) == ["kept", stub]


def test_a_field_that_is_missing_is_left_out() -> None:
    value = Slotted(1, 2)
    del value.lost
    assert parsed(value) == {"kept": 1}


def test_an_iterator_is_not_consumed() -> None:
    numbers = (n for n in range(3))
    assert parsed({"n": numbers})["n"]["$type"] == "generator"
    assert list(numbers) == [0, 1, 2]


def test_a_long_repr_is_cut_between_tokens_and_says_so() -> None:
    class Long:
        def __repr__(self) -> str:
            return "word " * (MAX_REPR // 5 - 2) + "ghp_" + "A1b2C3d4" * 5 + " more" * 100

    text = parsed(Long())["$repr"]
    assert "ghp_" not in text
    assert len(text) <= MAX_REPR + 40
    assert text.endswith(f"... ({len(repr(Long()))} characters)")


def test_long_bytes_are_cut_and_carry_size_and_hash() -> None:
    frozen = parsed(b"ab " * MAX_BYTES)
    assert frozen["$repr"].startswith("b'ab ab ")
    assert f"({3 * MAX_BYTES} bytes, sha256 " in frozen["$repr"]


def test_pandas_values_keep_their_index() -> None:
    pandas = pytest.importorskip("pandas", reason="library: pandas absent")
    frame = pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]}, index=["r", "s"])
    assert parsed(frame) == {
        "index": ["r", "s"],
        "columns": ["a", "b"],
        "data": [[1, "x"], [2, "y"]],
    }
    assert parsed(frame["a"]) == {"name": "a", "index": ["r", "s"], "data": [1, 2]}
    assert parsed([frame.columns, pandas.Categorical(["c"])]) == [["a", "b"], ["c"]]


def test_a_large_array_is_a_stub_with_shape_and_hash() -> None:
    text = parsed(np.zeros((1100, 1000)))["$repr"]
    assert text.startswith("array(shape=(1100, 1000), dtype=float64, sha256=")


def test_the_frozen_value_does_not_follow_later_changes() -> None:
    value = {"items": [1]}
    before = freeze(value)
    value["items"].append(2)
    assert orjson.loads(before) == {"items": [1]}


def test_freezing_works_right_below_the_recursion_limit() -> None:
    def at_depth(left: int) -> bytes:
        return at_depth(left - 1) if left else freeze([{1: {2: {3: {1, 2}}}}])

    limit = sys.getrecursionlimit()
    for left in range(limit - 150, limit):
        try:
            frozen = at_depth(left)
        except RecursionError:
            # The test's own frames; freezing had not begun.
            break
        orjson.loads(frozen)


def test_a_value_that_another_thread_changes_is_frozen_all_the_same() -> None:
    shared: dict[Any, Any] = collections.OrderedDict({n: {n} for n in range(200)})
    stop = threading.Event()

    def change() -> None:
        n = 1000
        while not stop.is_set():
            shared[n] = n
            shared.pop(n - 50, None)
            n += 1

    other = threading.Thread(target=change)
    other.start()
    try:
        for _ in range(100):
            assert isinstance(parsed({"state": shared})["state"], dict)
    finally:
        stop.set()
        other.join()


def test_no_library_is_imported_to_recognise_its_values() -> None:
    code = (
        "import sys; from tracedance_sdk.recording.values import freeze;"
        " freeze({1: object(), 2: {3}, 4: 2**70});"
        " print([n for n in ('numpy', 'pandas', 'attr') if n in sys.modules])"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert shown.stdout.strip() == "[]"
