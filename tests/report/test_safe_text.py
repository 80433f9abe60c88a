"""Text that nobody vouches for is shown, never obeyed, and fits where it must."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.support.names import short_repr
from tracedance_sdk.report import (
    in_one_line,
    shorten,
    shorten_middle,
    value_text,
    visible,
    xml_text,
)
from tracedance_sdk.trace import UNKNOWN

any_text = st.text(st.characters(), max_size=60)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("plain [red]markup[/red]", "plain [red]markup[/red]", id="markup-is-text"),
        pytest.param("\x1b[2J\x1b]0;title\x07", r"\x1b[2J\x1b]0;title\x07", id="escape-sequences"),
        pytest.param("a\x9b31mb", r"a\x9b31mb", id="c1-control"),
        pytest.param("one\r\ntwo\rthree\ttab", "one\ntwo\\x0dthree\ttab", id="line-ends"),
        pytest.param("user\u202egpj.exe", r"user\u202egpj.exe", id="direction-override"),
        pytest.param("a\ud800b", r"a\ud800b", id="lone-surrogate"),
        pytest.param("a\x00b\x7f", r"a\x00b\x7f", id="nul-and-del"),
        pytest.param("naïve 日本 👩‍💻", "naïve 日本 👩‍💻", id="ordinary-unicode"),
    ],
)
def test_what_a_terminal_would_obey_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(any_text)
def test_visible_text_holds_no_control_character_but_tab_and_newline(text: str) -> None:
    shown = visible(text)
    assert all(char in "\n\t" or ord(char) >= 0x20 for char in shown)
    assert "\x1b" not in shown
    assert visible(shown) == shown
    shown.encode()


@given(any_text)
def test_one_line_is_one_line(text: str) -> None:
    assert len(in_one_line(text).splitlines()) <= 1


@given(any_text, st.integers(0, 30), st.sampled_from([shorten, shorten_middle]))
def test_shortened_text_fits(text: str, width: int, cut: object) -> None:
    assert callable(cut)
    shown = cut(in_one_line(text), width)
    assert cell_len(shown) <= width
    if cell_len(in_one_line(text)) <= width:
        assert shown == in_one_line(text)


def test_names_cut_in_the_middle_keep_both_ends() -> None:
    names = [f"traces/2026-01-17/customer-refund-run-{n:04}.json" for n in range(3)]
    shown = [shorten_middle(name, 24) for name in names]
    assert shown == [
        "traces/2026...-0000.json",
        "traces/2026...-0001.json",
        "traces/2026...-0002.json",
    ]


@given(any_text)
def test_any_text_can_stand_in_xml(text: str) -> None:
    element = ET.Element("text", {"name": xml_text(text)})
    element.text = xml_text(text)
    parsed = ET.fromstring(ET.tostring(element, encoding="utf-8"))
    assert (parsed.text or "") == xml_text(text)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("two\nlines", "two lines"),
        ({"a": [1, None, True]}, '{"a":[1,null,true]}'),
        (None, "null"),
        (UNKNOWN, "(unknown)"),
        ("x" * 100, "x" * 17 + "..."),
        ({"a": "\x1b"}, '{"a":"\\u001b"}'),
        (2**80, str(2**80)[:17] + "..."),
    ],
    ids=short_repr,
)
def test_a_value_is_one_short_line(value: object, shown: str) -> None:
    assert value_text(value, width=20) == shown
