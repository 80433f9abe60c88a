"""Neither a key nor a piece of one passes on what an endpoint, or another package, says."""

from __future__ import annotations

import base64
import json
import logging
import string
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.llm.test_asking import KEYS, ask, kinds
from tests.support.scripted_models import APIS, Answer, saying, scripted_models
from tracedance_sdk.llm import ReplyCache
from tracedance_sdk.llm.masking import masked, masked_by_all, masked_value

KEY = "sk-proj-q7RtPw81LmVbZk4xAb93Qz"
LOWER = "sk-abcdefghijklmnopqrstuvwxyz9"

HIDDEN = [
    ("whole", KEY, f"Bad key {KEY}.", "Bad key [key]."),
    ("inside", KEY, f"x{KEY}y", "x[key]y"),
    ("twice", KEY, f"{KEY} {KEY}", "[key] [key]"),
    ("both ends", KEY, "Incorrect key sk-proj-q7Rt***93Qz.", "Incorrect key [key]***[key]."),
    ("dots", LOWER, "sk-abcd...wxyz", "[key]...wxyz"),
    ("dots and its end", LOWER, "sk-abcd...xyz9", "[key]...[key]"),
    ("stars", KEY, "key: ********93Qz", "key: ********[key]"),
    ("crosses", KEY, "key: XXXX93Qz", "key: XXXX[key]"),
    ("one sign", KEY, "(q7Rt…)", "([key]…)"),
    ("end in words", LOWER, "the key ending in wxyz9", "the key ending in [key]"),
    ("last four", KEY, "last four characters: '93Qz'", "last four characters: '[key]'"),
    ("first eight", LOWER, "key sk-abcde is revoked", "key [key] is revoked"),
    ("first of the rest", KEY, "starts with 'q7RtP'", "starts with '[key]'"),
    ("middle", KEY, "found LmVbZk4x in the log", "found [key] in the log"),
    ("end alone", KEY, "see key 93Qz", "see key [key]"),
    ("word that is most of the key", "my-swordfish", "swordfish", "[key]"),
]

ORDINARY = [
    ("what keys begin with", KEY, "Keys begin with sk-proj-... or sk-proj-"),
    ("word of a key", "sk-no-key-required", "the field model is required"),
    ("number", "test-key-123456", "order 123456 was sent at 1123456789"),
    ("word at the end", "local-key-test", "a test that ends"),
    ("short", "abc", "abc abcabc"),
    ("no key", None, KEY),
    ("other key", KEY, "sk-proj-9aBcDeFgHiJkLmNoPqRs"),
    ("none of it", KEY, "Your account has used up its quota... see the last 4 bills."),
]


@pytest.mark.parametrize(
    ("key", "text", "left"), [row[1:] for row in HIDDEN], ids=[row[0] for row in HIDDEN]
)
def test_a_key_and_its_pieces_are_masked(key: str, text: str, left: str) -> None:
    assert masked(text, key) == left


@pytest.mark.parametrize(
    ("key", "text"), [row[1:] for row in ORDINARY], ids=[row[0] for row in ORDINARY]
)
def test_ordinary_text_stays_as_it_is(key: str | None, text: str) -> None:
    assert masked(text, key) == text


ALPHABETS = st.sampled_from(
    [
        string.ascii_letters + string.digits,
        string.ascii_lowercase + string.digits,
        "0123456789abcdef",
        string.ascii_letters + string.digits + "-_",
    ]
)


@st.composite
def keys(draw: st.DrawFn) -> str:
    scheme = draw(st.sampled_from(["", "sk-", "sk-proj-", "sk-ant-api03-", "sk_live_"]))
    key = scheme + draw(st.text(draw(ALPHABETS), min_size=20, max_size=60))
    assume(sum(map(str.isdigit, key)) >= 3)
    assume(len({*key}) >= 10)
    return key


@given(keys(), st.data(), st.text(), st.text())
def test_no_run_of_eight_characters_of_a_key_is_left(
    key: str, data: st.DataObject, before: str, after: str
) -> None:
    start = data.draw(st.integers(0, len(key) - 8))
    stop = data.draw(st.integers(start + 8, len(key)))
    piece = key[start:stop]
    assume(not any(piece in part for part in ("sk-proj-", "sk_live_", "sk-ant-api03-")))
    assume(not piece.strip("-_").isalpha())
    left = masked(f"{before}{piece}{after}", key)
    assert piece not in left
    assert masked(left, key) == left or "[key]" in left


@given(
    keys(),
    st.sampled_from(["", "Bearer ", "user:", "a:", "ann@example.com:", "x" * 20]),
    st.sampled_from(["", ":", "\n", "tail"]),
    st.sampled_from([base64.b64encode, base64.urlsafe_b64encode]),
)
def test_a_key_in_base64_is_masked_whatever_stands_around_it(
    key: str, before: str, after: str, encode: Callable[[bytes], bytes]
) -> None:
    coded = encode(f"{before}{key}{after}".encode()).decode()
    left = masked(f"you sent {coded} to us", key)
    assert left.startswith("you sent ")
    assert left.endswith(" to us")
    # Of the key at most what shares a character with its neighbours is left at either end.
    shown = left.removeprefix("you sent ").removesuffix(" to us").split("[key]")
    assert len(shown) == 2
    assert len(shown[0]) <= len(before) * 8 // 6 + 1
    assert len(shown[1].rstrip("=")) <= -(-len(after) * 8 // 6) + 2


@given(keys(), st.sampled_from(["reversed", "hex", "HEX"]))
def test_a_key_that_is_spelled_otherwise_is_masked(key: str, how: str) -> None:
    coded = {"reversed": key[::-1], "hex": key.encode().hex(), "HEX": key.encode().hex().upper()}
    assert masked(f"got ({coded[how]})", key) == "got ([key])"


@given(keys(), st.sampled_from(["...", "***", "…", "xxxx", "ending in ", "the last four: "]))
def test_the_last_characters_are_masked_where_the_text_speaks_of_a_key(key: str, cue: str) -> None:
    for n in (4, 5):
        left = masked(f"{cue}{key[-n:]}.", key)
        assert left.endswith("[key].")
        assert left.startswith(cue[:3])


@given(keys(), st.text(st.sampled_from("éàü ßÄ.,;!?\n→"), max_size=200))
def test_text_that_shares_nothing_with_a_key_stays(key: str, text: str) -> None:
    assert masked(text, key) == text


def test_numbers_and_shape_of_a_body_stay() -> None:
    body = {"created": 1123456789, "ids": ["a-123456789", {KEY: None}], "ok": True}
    assert masked_value(body, KEY) == body | {"ids": ["a-123456789", {"[key]": None}]}
    assert masked_value({"created": 1234567890}, "sk-1234567890") == {"created": 1234567890}


def test_a_large_text_takes_no_time() -> None:
    text = f"nothing ending in here, sk-proj-... {'lorem4 ' * 10}" * 20_000
    begun = time.perf_counter()
    assert masked(text, KEY) == text
    assert time.perf_counter() - begun < 5


def test_every_key_that_is_set_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", LOWER)
    assert masked_by_all(f"{KEY} {LOWER} sk-abcde") == "[key] [key] [key]"


PIECES = (KEY[:13], KEY[-6:], KEY[10:20])


@pytest.mark.parametrize("api", APIS)
def test_pieces_of_a_key_are_nowhere(
    api: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    for variable in KEYS:
        monkeypatch.setenv(variable, KEY)
    caplog.set_level(logging.DEBUG)
    said = f"key {PIECES[0]}...{PIECES[1]} with {PIECES[2]}"
    told = [Answer({"error": {"message": said, "code": said}}, status=code) for code in (400, 500)]
    odd = [Answer({"error": {"message": said}}), Answer(f"<{said}>".encode())]
    script = [Answer(saying(api, said)), *told, *odd]
    with scripted_models(lambda _, n: script[n]) as server:
        cache = ReplyCache(tmp_path, server.name(api))
        replies = ask(server, 5, api=api, cache=cache, concurrency=1)
    assert kinds(replies) == [None, "error", "error", "error", "unparsable"]
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*.json"))
    assert b"key [key]...[key] with [key]" in kept
    out, err = capfd.readouterr()
    for place in (kept.decode(), json.dumps(replies, default=repr), caplog.text, out, err):
        assert not [piece for piece in PIECES if piece in place]
