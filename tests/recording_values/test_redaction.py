from __future__ import annotations

import json
import re
import time
from typing import Any

import orjson
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from tests.recording_values.secret_samples import SHAPED
from tests.recording_values.test_freeze_properties import JSON
from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.recording.redaction import SecretRedactor
from tracedance_sdk.recording.secret_names import secrecy
from tracedance_sdk.recording.values import freeze
from tracedance_sdk.trace import MASK

KEY = b"k" * 32
REDACTOR = SecretRedactor(key=KEY)
ERROR = re.compile(rb'"\[MASKED:error:[0-9a-f]{12}\]"')
SECRETS = st.sampled_from([secret for _, secret in SHAPED])
PLANTED = st.recursive(
    SECRETS | JSON,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(SECRETS | st.text(max_size=5), inner, max_size=4)
        | st.builds(json.dumps, inner)
        | st.builds("{} {}".format, SECRETS, inner)
    ),
    max_leaves=12,
)


@given(PLANTED)
@settings(max_examples=200)
def test_no_planted_secret_survives_and_the_rest_does(value: Any) -> None:
    data = REDACTOR.redact(freeze(value))
    parsed = orjson.loads(data)
    for kind, secret in SHAPED:
        body = secret.splitlines()[1] if "\n" in secret else secret
        assert body.encode() not in data, kind
    assert REDACTOR.redact(data) == data
    assert shape(parsed) == shape(orjson.loads(freeze(value)))


def shape(value: Any) -> Any:
    if isinstance(value, dict):
        return [len(value), *map(shape, value.values())]
    if isinstance(value, list):
        return [*map(shape, value)]
    return "text" if isinstance(value, str) else value


@given(JSON)
def test_json_without_secrets_comes_back_as_the_same_bytes(value: Any) -> None:
    data = freeze(value)
    assume(not any(secrecy(name)[0] for name in re.findall(r'"([^"]*)":', data.decode())))
    assert REDACTOR.redact(data) is data or not MASK.search(REDACTOR.redact(data).decode())


@given(
    st.lists(
        st.sampled_from(
            PIECES := [
                "password",
                "token",
                "'",
                '"',
                "\\",
                "=",
                ":",
                " ",
                "\n",
                "://",
                "@",
                "[MASKED:a:0]",
                "Bearer ",
                "a1b2c3d4e5f6a7b8",
                "-----BEGIN PRIVATE KEY-----",
                "-----END ",
                "{",
                ",",
                "sk-ant-",
                "eyJ",
                ".",
            ]
        ),
        max_size=40,
    ).map("".join)
)
@settings(max_examples=500)
def test_redacting_twice_is_redacting_once(text: str) -> None:
    for value in (text, {text: text, "password": text}, [text, text], json.dumps({"a": text})):
        once = REDACTOR.redact(freeze(value))
        assert REDACTOR.redact(once) == once
        orjson.loads(once)


def test_equal_secrets_stay_equal_under_one_key_and_differ_under_two() -> None:
    secret = SHAPED[0][1]
    both = orjson.loads(REDACTOR.redact(freeze({"a": f"x {secret}", "b": [secret]})))
    assert both["a"] == "x " + both["b"][0]
    other = SecretRedactor(key=b"other").redact(freeze(secret))
    assert orjson.loads(other) != both["b"][0]


def test_what_a_reader_sees() -> None:
    value = {
        "to": "bob@example.org",
        "headers": {"Authorization": "Bearer " + "a1" * 12},
        "url": "https://ann:s3cret@db.example/x",
        "env": "PORT=80\nDB_PASSWORD=letmein\n",
    }
    assert orjson.loads(REDACTOR.redact(freeze(value))) == snapshot(
        {
            "to": "bob@example.org",
            "headers": {"Authorization": "Bearer [MASKED:bearer:60e17b02180f]"},
            "url": "https://ann:[MASKED:url_password:f109a852f8ad]@db.example/x",
            "env": "PORT=80\nDB_PASSWORD=[MASKED:password:93271b71c0a2]\n",
        }
    )


@pytest.mark.parametrize(
    "data",
    [
        b'{"password": "x"',
        b'{"password": "\xff"}',
        b"[" * 300 + b'{"password": "x"}' + b"]" * 300,
        b'password: "x"',
        b'"\\u0070" "x"',
    ],
)
def test_what_cannot_be_parsed_is_masked_whole(data: bytes) -> None:
    assert ERROR.fullmatch(REDACTOR.redact(data))


@pytest.mark.parametrize(
    "search",
    [
        pytest.param(lambda text: 1 / 0, id="raises"),
        pytest.param(lambda text: [(0, 99)], id="outside"),
        pytest.param(lambda text: [(3, 1)], id="backwards"),
        pytest.param(lambda text: 5, id="no-spans"),
    ],
)
def test_a_search_that_fails_masks_the_whole_value(search: Any) -> None:
    redactor = SecretRedactor(key=KEY, extra_patterns=[search])
    data = redactor.redact(b'{"harmless":1}')
    assert ERROR.fullmatch(data)


def test_a_search_of_the_users_masks_what_it_finds() -> None:
    def names(text: str) -> list[tuple[int, int]]:
        start = text.find("Ann")
        return [] if start < 0 else [(start, start + 3)]

    redactor = SecretRedactor(key=KEY, extra_patterns=[("name", names)])
    text = orjson.loads(redactor.redact(b'"dear Ann, or Ann"'))
    assert MASK.sub("*", text) == "dear *, or *"


def test_a_pattern_that_does_not_come_to_rest_masks_the_text() -> None:
    one_more = r"\A(?:\[MASKED[^\]]*\])*([a-z])"
    redactor = SecretRedactor(key=KEY, extra_patterns=[one_more])
    assert MASK.sub("*", redactor.redact(b'"abc"').decode()) == '"***"'
    assert ERROR.fullmatch(redactor.redact(b'"abcdefghijkl"'))


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (r"EMP-\d{4}", "id EMP-1234, EMP-12", r"id \[MASKED:custom:.*\], EMP-12"),
        (("staff", r"EMP-(\d{4})"), "EMP-1234", r"EMP-\[MASKED:staff:.*\]"),
        (("staff", r"(EMP)-(?P<secret>\d{4})"), "EMP-1234", r"EMP-\[MASKED:staff:.*\]"),
        (re.compile("emp-[0-9]+", re.IGNORECASE), "EMP-1", r"\[MASKED:custom:.*\]"),
        (r"(?<=EMP-)\d{4}", "EMP-1234", r"EMP-\[MASKED:custom:.*\]"),
        ("ü+", "aüüb", r"a\[MASKED:custom:.*\]b"),
        (r"^line\n", "line\nnext", r"\[MASKED:custom:.*\]next"),
        (".*", "anything", r"\[MASKED:custom:[0-9a-f]{12}\]"),
        ("[0-9a-f]", "abc", r"(\[MASKED:custom:[0-9a-f]{12}\]){3}"),
    ],
)
def test_a_pattern_of_the_users_masks_too(pattern: Any, text: str, expected: str) -> None:
    redactor = SecretRedactor(key=KEY, extra_patterns=[pattern])
    data = redactor.redact(freeze([text]))
    assert re.fullmatch(expected, orjson.loads(data)[0])
    assert redactor.redact(data) == data


def test_backtracking_patterns_are_kept_from_long_text() -> None:
    redactor = SecretRedactor(key=KEY, extra_patterns=[r"(?=x)(x+x+)+y"])
    data = redactor.redact(freeze({"short": "ab", "long": "a" * 70_000}))
    assert re.fullmatch(rb'{"short":"ab","long":"\[MASKED:unchecked:[0-9a-f]{12}\]"}', data)
    assert redactor.redact(data) == data


def test_a_pattern_that_cannot_be_used_is_refused_at_once() -> None:
    messages = []
    for pattern in ("(", 7, ("two words", "x"), re.compile(b"x")):
        with pytest.raises(InvalidOption) as refused:
            SecretRedactor(key=KEY, extra_patterns=[pattern])  # type: ignore[list-item]
        messages.append(str(refused.value)[:80])
    assert messages == snapshot(
        [
            "secret pattern '(' cannot be compiled: missing ), unterminated subpattern at pos",
            "secret pattern 7 is of type 'int'; give text, a compiled re pattern, a callable,",
            "secret pattern kind 'two words' must be 1 to 40 letters, digits, '_', '.' or '-'",
            "secret pattern b'x' is over bytes; give one over text",
        ]
    )


def test_more_names_can_be_secret() -> None:
    redactor = SecretRedactor(key=KEY, secret_keys=["SSN", "geheim (alt)"])
    data = redactor.redact(
        freeze({"ssn": "1", "j": '{"Ssn": "12 3"}', "geheim (alt)": "x", "n": "ssn"})
    )
    assert orjson.loads(MASK.sub("*", data.decode())) == {
        "ssn": "*",
        "j": '{"Ssn": "*"}',
        "geheim (alt)": "*",
        "n": "ssn",
    }
    clean = freeze({"ssn_count": "1"})
    assert redactor.redact(clean) is clean


def test_an_empty_key_is_refused() -> None:
    with pytest.raises(InvalidOption, match="redaction key is empty"):
        SecretRedactor(key=b"")


def test_integers_beyond_64_bits_beside_a_secret_are_not_rounded() -> None:
    data = REDACTOR.redact(b'{"n": 1180591620717411303425, "password": "x"}')
    assert b'"1180591620717411303425"' in data


HOSTILE = {
    "one letter": "a",
    "scheme starts": "a://",
    "colons": "://a:",
    "key starts": "sk-",
    "jwt starts": "eyJ",
    "pem starts": "-----BEGIN PRIVATE KEY-----",
    "names": "password",
    "named values": "password: x ",
    "open quotes": "password='",
    "quotes of both kinds": "password='password=\"",
    "backslashes": "\\",
    "flags": "--password ",
    "escapes": "\\u0041",
    "dots": "eyJa.",
    "masks": "[MASKED:a:00]",
    "real secrets": "password=hunter2 ",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_time_is_linear_on_hostile_text(name: str) -> None:
    piece = HOSTILE[name]
    small, large = (freeze(piece * (size // len(piece))) for size in (25_000, 100_000))
    ratio = min(seconds(large) / seconds(small) for _ in range(3))
    assert ratio < 9, "four times the text may take about four times as long, not sixteen"


def test_clean_text_is_searched_in_linear_time_at_once() -> None:
    letters = freeze("a" * 1_000_000), freeze("a" * 2_000_000)
    assert REDACTOR.redact(letters[1]) is letters[1]
    assert seconds(letters[1]) / seconds(letters[0]) < 3
    assert seconds(letters[0]) < 0.05


def seconds(data: bytes) -> float:
    """Return the least processor time of a few redactions, other programs' load left out."""
    times = []
    for _ in range(3):
        start = time.process_time()
        REDACTOR.redact(data)
        times.append(time.process_time() - start)
    return max(min(times), 1e-5)
