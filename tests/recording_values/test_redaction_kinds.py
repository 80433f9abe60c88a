from __future__ import annotations

import json
import re
from typing import Any

import orjson
import pytest

from tests.recording_values.secret_samples import IN_CONTEXT, LOOK_ALIKES, SHAPED
from tracedance_sdk.recording.pseudonyms import pseudonym
from tracedance_sdk.recording.redaction import SecretRedactor
from tracedance_sdk.recording.redaction_patterns import SECRET_PATTERNS
from tracedance_sdk.recording.secret_spans import SecretFinder, compiled
from tracedance_sdk.recording.values import freeze

KEY = b"k" * 32
REDACTOR = SecretRedactor(key=KEY)


def redacted(value: object) -> Any:
    data = REDACTOR.redact(freeze(value))
    assert REDACTOR.redact(data) == data, "redacting twice is redacting once"
    return orjson.loads(data)


def mask(kind: str, secret: str) -> str:
    return f"[MASKED:{kind}:{pseudonym(KEY, secret.encode())}]"


def named(samples: list[Any]) -> list[Any]:
    return [pytest.param(*sample, id=f"{n}-{sample[0]}") for n, sample in enumerate(samples)]


@pytest.mark.parametrize(("kind", "secret"), named(SHAPED))
@pytest.mark.parametrize(
    "around",
    ["{}", "x {} y", "KEY={}", "'{}',", "a\n{}\nb", "<{}>", "https://h/p?k=%3D{}", "({})", "k:{}."],
)
def test_a_secret_is_masked_wherever_it_stands(kind: str, secret: str, around: str) -> None:
    shown = redacted({"text": around.format(secret)})["text"]
    body = secret.splitlines()[1] if "\n" in secret else secret
    assert body not in shown
    assert f"[MASKED:{kind}:" in shown


@pytest.mark.parametrize(("kind", "secret"), named(SHAPED))
def test_only_the_secret_is_masked(kind: str, secret: str) -> None:
    shown = redacted(f"before {secret} after")
    assert re.fullmatch(rf"before \[MASKED:{kind}:[0-9a-f]{{12}}\] after", shown)


@pytest.mark.parametrize(("kind", "secret"), named(SHAPED))
def test_a_secret_in_json_inside_json_has_the_same_pseudonym(kind: str, secret: str) -> None:
    plain = redacted({"secret here": secret})["secret here"]
    once = redacted({"arguments": json.dumps({"t": secret})})
    twice = redacted(json.dumps({"a": json.dumps({"t": f"{secret} "})}))
    assert json.loads(once["arguments"]) == {"t": plain}
    assert json.loads(json.loads(twice)["a"]) == {"t": f"{plain} "}
    assert redacted({secret: 1}) == {plain: 1}


@pytest.mark.parametrize(("kind", "secret"), named(SHAPED))
def test_a_token_too_long_by_a_character_is_masked_everywhere_or_nowhere(
    kind: str, secret: str
) -> None:
    longer = f"{secret}{secret[-1]}"
    around = ("{}", "x {} y", "'{}',", "a\n{}\nb", "<{}>", "({})", "k:{}.", "{}...", '"{}"')
    shown = [redacted(text.format(longer)) for text in around]
    assert len({longer in text for text in shown}) == 1


@pytest.mark.parametrize(("kind", "text", "secret"), named(IN_CONTEXT))
def test_a_secret_is_known_by_its_context(kind: str, text: str, secret: str) -> None:
    assert redacted(text.format(secret)) == text.format(mask(kind, secret))


@pytest.mark.parametrize("text", LOOK_ALIKES, ids=range(len(LOOK_ALIKES)))
def test_a_look_alike_is_left_alone(text: str) -> None:
    data = freeze({"text": text, "list": [text], text: 1})
    assert REDACTOR.redact(data) == data
    nested = freeze({"arguments": json.dumps({"text": text})})
    assert REDACTOR.redact(nested) == nested


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"password": "x y"}, {"password": mask("password", "x y")}),
        ({"user_password2": "p"}, {"user_password2": mask("password", "p")}),
        ({"clientSecret": "abc"}, {"clientSecret": mask("secret", "abc")}),
        ({"X-Api-Key": "abc"}, {"X-Api-Key": mask("api_key", "abc")}),
        ({"OPENAI_API_KEY": "abc"}, {"OPENAI_API_KEY": mask("api_key", "abc")}),
        ({"passwords": ["a", "b"]}, {"passwords": [mask("password", "a"), mask("password", "b")]}),
        ({"password": 1234}, {"password": mask("password", "1234")}),
        ({"password": {"type": "string"}}, {"password": {"type": "string"}}),
        (
            {"password": None, "secret": "", "pwd": True},
            {"password": None, "secret": "", "pwd": True},
        ),
        ({"password": "****"}, {"password": "****"}),
        ({"password": b"ab"}, {"password": {"$type": "bytes", "$repr": mask("password", "b'ab'")}}),
        ({"token": "hello"}, {"token": "hello"}),
        ({"token": "a1b2c3d4"}, {"token": mask("token", "a1b2c3d4")}),
        (
            {"max_tokens": "a1b2c3d4", "tokens": ["a1b2c3d4"]},
            {"max_tokens": "a1b2c3d4", "tokens": ["a1b2c3d4"]},
        ),
        ({"next_page_token": "a1b2c3d4"}, {"next_page_token": "a1b2c3d4"}),
        ({"authorization": "approved"}, {"authorization": "approved"}),
        (
            {"Authorization": "Bearer a1b2c3d4"},
            {"Authorization": "Bearer " + mask("authorization", "a1b2c3d4")},
        ),
        ({"name": "api_key", "value": "abc"}, {"name": "api_key", "value": mask("api_key", "abc")}),
        ({"name": "colour", "value": "abc"}, {"name": "colour", "value": "abc"}),
        (["--password", "abc"], ["--password", mask("password", "abc")]),
        (["x-api-key", "a1b2c3"], ["x-api-key", mask("api_key", "a1b2c3")]),
        (["password", "username"], ["password", "username"]),
        (["password", "token", "secret"], ["password", "token", "secret"]),
    ],
)
def test_a_name_announces_a_secret(value: object, expected: object) -> None:
    assert redacted(value) == expected


def test_a_quoted_secret_ends_where_its_quotes_end_at_any_depth_of_json() -> None:
    secret = 'quo"te \\ and \\"both\\" \\'
    value: Any = {"password": secret, "after": "kept"}
    for _ in range(4):
        value = {"json": json.dumps(value)}
    for _ in range(4):
        value = json.loads(redacted(value)["json"])
    assert value == {"password": mask("password", secret), "after": "kept"}


@pytest.mark.parametrize(
    "cut",
    [
        "-" * 5 + "BEGIN PRIVATE KEY" + "-" * 5 + "\n" + "\n".join(["A1b2" * 16] * 3) + "\nA1b2A1",
        'password: "hunter2 and the rest was cut',
        'x {\\"password\\": \\"hunter2 and more',
    ],
)
def test_a_secret_at_a_cut_edge_is_masked_to_the_edge(cut: str) -> None:
    shown = redacted(cut)
    assert re.search(r"\[MASKED:[a-z_]+:[0-9a-f]{12}\]$", shown)
    assert "A1b2" not in shown
    assert "hunter2" not in shown


def test_an_escape_does_not_hide_a_secret() -> None:
    secret = SHAPED[0][1]
    escaped = secret.replace("s", "\\u0073").replace("-", "\\u002d")
    assert REDACTOR.redact(f'"{escaped}"'.encode()) == f'"{mask("anthropic_key", secret)}"'.encode()
    nested = '{"a": "' + escaped + '"}'
    assert redacted(nested) == nested.replace(escaped, mask("anthropic_key", secret))


def test_every_probe_finds_what_its_pattern_finds() -> None:
    finder = SecretFinder()
    assert finder.is_clean(b"nothing here")
    assert not [kind for kind, secret in SHAPED if finder.is_clean(freeze(secret))]
    assert not [
        text for _, text, secret in IN_CONTEXT if finder.is_clean(freeze(text.format(secret)))
    ]
    for row in SECRET_PATTERNS:
        assert compiled(row.probe).groups == 0
        assert compiled(row.pattern).groups == 1
