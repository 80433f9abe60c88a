"""The table of settings and how it is read."""

from __future__ import annotations

import pytest

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.settings import SETTINGS, read_setting, read_text


def test_every_row_is_complete_and_no_variable_stands_twice() -> None:
    variables = [row.env for row in SETTINGS.values()]

    assert len(variables) == len(set(variables))
    for name, row in SETTINGS.items():
        assert row.name == name
        assert row.meaning.endswith(".")
        assert row.env.startswith(("TRACEDANCE_", "OTEL_"))


@pytest.mark.parametrize("name", SETTINGS)
def test_an_unset_or_empty_variable_gives_the_default(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = SETTINGS[name]
    monkeypatch.delenv(row.env, raising=False)
    unset = read_setting(name)
    monkeypatch.setenv(row.env, "  ")

    assert read_setting(name) == unset
    assert str(unset).lower() == str(row.default).lower()


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("journal", "traces/", "traces/"),
        ("durability", "FSYNC", "fsync"),
        ("redaction", "0", False),
        ("redaction", "Yes", True),
        ("attribute_length", " 12 ", 12),
        ("capture_content", "SPAN_ONLY", "span_only"),
    ],
)
def test_a_variable_is_read_by_its_type(
    name: str, text: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SETTINGS[name].env, text)

    assert read_setting(name) == value
    assert read_text(name) == str(value)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("durability", "ram", "TRACEDANCE_DURABILITY='ram' is not one of os, fsync"),
        ("redaction", "perhaps", "TRACEDANCE_REDACTION='perhaps' is neither true nor false"),
        ("attribute_length", "long", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT='long' is no integer"),
        ("attribute_length", "-1", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT='-1' is negative"),
    ],
)
def test_a_variable_of_a_wrong_type_is_named_with_its_value(
    name: str, text: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SETTINGS[name].env, text)

    with pytest.raises(InvalidOption, match=message):
        read_setting(name)


def test_an_unknown_setting_is_an_error() -> None:
    with pytest.raises(KeyError):
        read_setting("colour")
