from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from tests.durability.hostile_texts import TEXTS
from tracedance_sdk.recording.redaction import SecretRedactor
from tracedance_sdk.recording.values import freeze

KEY = b"k" * 32
REDACTOR = SecretRedactor(key=KEY)
WORST_SECONDS_PER_BYTE = 20e-6
MILLIONS = (
    "one letter",
    "names of no scheme",
    "equal signs",
    "double quotes",
    "backslashes",
    "escaped quotes",
    "colons",
    "bearer",
    "openai_key: sk-",
    "jwt starts",
    "pem starts",
    "names",
    "nested strings",
    "one letter, then a name",
    "a quoted name, then backslashes",
    "an end of a key after base64",
)
"""What is tried at 1 MB too; all are tried at 100 kB, the whole table taking long enough."""


def seconds(data: bytes, *, redactor: SecretRedactor = REDACTOR, rounds: int = 2) -> float:
    """Return the least processor time of a few redactions, other programs' load left out."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        redactor.redact(data)
        times.append(time.process_time() - start)
    return max(min(times), 1e-4)


@pytest.mark.parametrize(
    ("name", "size"),
    [*((name, 25_000) for name in TEXTS), *((name, 250_000) for name in MILLIONS)],
)
def test_four_times_the_hostile_text_takes_about_four_times_as_long(name: str, size: int) -> None:
    small, large = freeze(TEXTS[name](size)), freeze(TEXTS[name](4 * size))
    for is_last in (False, False, True):
        brief, long = seconds(small), seconds(large, rounds=1)
        if long < 9 * brief and long < WORST_SECONDS_PER_BYTE * len(large):
            break
        assert not is_last, f"{long:.2f} s after {brief:.2f} s: quadratic time makes it sixteen"


@pytest.mark.parametrize("name", MILLIONS)
def test_hostile_text_comes_out_as_json_and_stays_as_it_is(name: str) -> None:
    once = REDACTOR.redact(freeze({"password": TEXTS[name](20_000), "b": TEXTS[name](20_000)}))
    assert REDACTOR.redact(once) == once
    assert orjson.loads(once).keys() == {"password", "b"}


def test_a_deep_value_takes_time_in_proportion_to_its_size() -> None:
    def deep(rows: int) -> bytes:
        value: Any = {"password": "hunter2"}
        for _ in range(150):
            value = [value, {"row": ["x" * 10] * rows}]
        return freeze(value)

    assert min(seconds(deep(400)) / seconds(deep(100)) for _ in range(3)) < 9


def _raises(text: str) -> list[tuple[int, int]]:
    raise ValueError(f"cannot look at {text}")


def _not_an_error(text: str) -> list[tuple[int, int]]:
    raise GeneratorExit


@pytest.mark.parametrize("search", [_raises, _not_an_error, lambda text: [("a", None)]])
def test_a_search_that_fails_is_counted_and_named_once_without_the_value(
    search: Callable[[str], Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    redactor = SecretRedactor(key=KEY, extra_patterns=[search])
    for number in range(5):
        data = redactor.redact(freeze({"note": f"canary {number}"}))
        assert re.fullmatch(rb'"\[MASKED:error:[0-9a-f]{12}\]"', data)
    assert redactor.failures == 5
    assert len(caplog.records) == 1
    assert "canary" not in caplog.text
    assert "k" * 32 not in repr(redactor)


def test_a_linear_pattern_of_the_users_is_given_text_of_any_length() -> None:
    redactor = SecretRedactor(key=KEY, extra_patterns=[("staff", r"EMP-\d{4}")])
    text = "x" * 1_000_000
    data = redactor.redact(freeze([f"{text} EMP-1234", "short"]))
    assert re.search(rb"x \[MASKED:staff:[0-9a-f]{12}\]", data)
    assert redactor.failures == 0
    ratio = min(
        seconds(freeze(text), redactor=redactor) / seconds(freeze(text[::4]), redactor=redactor)
        for _ in range(3)
    )
    assert ratio < 9


def test_one_secret_in_a_million_bytes_of_rows_costs_a_few_times_their_json() -> None:

    rows = [
        {"id": number, "name": f"Customer {number}", "address": {"zip": "12345"}, "tags": ["a"]}
        for number in range(12_000)
    ]
    rows[6_000]["name"] = "sk-" + "ant-api03-" + "aB3dE5gH" * 8
    data = orjson.dumps(rows)
    assert b"[MASKED:anthropic_key:" in REDACTOR.redact(data)
    start = time.process_time()
    json.dumps(rows)
    plain = time.process_time() - start
    assert seconds(data, rounds=4) < 10 * max(plain, 0.004)
