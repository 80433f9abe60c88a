"""What people are shown holds no secrets, and what was marked in it stays marked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.stored import agent, call, human, run
from tracedance_sdk.behaviors import Occurrence
from tracedance_sdk.report import ShownSecrets
from tracedance_sdk.trace import MASK, Trace

KEY = "sk-ant-api03-" + "Ab1" * 30 + "AA"
OTHER = "ghp_" + "a1B2" * 9


def of(*evidence: tuple[int, int | None, str], behavior: str = "F01", note: str = "") -> Occurrence:
    return Occurrence.model_validate(
        {
            "id": "00aa00aa00aa00aa",
            "behavior": behavior,
            "trace_id": "t",
            "turn": 1,
            "session": "t",
            "evidence": [{"turn": t, "call": c, "quote": q} for t, c, q in evidence],
            "note": note,
        }
    )


def said(text: str) -> Trace:
    return run("t", human("Do it."), agent(text))


def test_masks_are_numbered_as_their_secrets_are_met_and_stay_the_same() -> None:
    secrets = ShownSecrets()
    text = f"API_KEY={KEY} TOKEN={OTHER} again {KEY}"
    shown = "API_KEY=[MASKED:anthropic_key:1] TOKEN=[MASKED:github_token:2]"
    assert secrets.text(text) == f"{shown} again [MASKED:anthropic_key:1]"
    assert secrets.text(secrets.text(text)) == secrets.text(text)
    assert ShownSecrets().text(text) == secrets.text(text)
    assert secrets.number == 2


def test_masks_that_the_recording_holds_stay_as_they_are() -> None:
    kept = "API_KEY=[MASKED:anthropic_key:f6c2ff60161a]"
    assert ShownSecrets().text(f"{kept} {OTHER}") == f"{kept} [MASKED:github_token:1]"


def test_a_trace_without_secrets_is_the_very_same() -> None:
    trace = said("It is done.")
    assert ShownSecrets().trace(trace) is trace


def test_secrets_are_kept_where_that_is_wanted() -> None:
    secrets = ShownSecrets(is_masking=False)
    trace = said(KEY)
    one = of((1, None, KEY), note=KEY)
    assert secrets.trace(trace) is trace
    assert secrets.text(KEY) == KEY
    assert secrets.occurrence(one, before=trace, after=trace) is one


@pytest.mark.parametrize(
    ("quote", "shown"),
    [
        ("it is set", "it is set"),
        (f"key {KEY}", "key [MASKED:anthropic_key:1]"),
        (KEY, "[MASKED:anthropic_key:1]"),
        (KEY[20:30], "[MASKED:anthropic_key:1]"),
        (f"{KEY[-9:]} and {OTHER[:9]}", "[MASKED:anthropic_key:1] and [MASKED:github_token:2]"),
        (f"and {OTHER}, go", "and [MASKED:github_token:2], go"),
        (", go on", ", go on"),
    ],
    ids=["before", "with", "whole", "inside", "across", "second", "after"],
)
def test_a_quote_moves_with_the_masks_around_it(quote: str, shown: str) -> None:
    trace = said(f"it is set: key {KEY} and {OTHER}, go on")
    secrets = ShownSecrets()
    clean = secrets.trace(trace)
    assert secrets.quotes(trace.turns[1], clean.turns[1], quote) == [shown]
    assert shown in clean.turns[1].text


def test_a_quote_in_arguments_moves_too() -> None:
    asked = {"env": {"password": "hunter2!x9"}, "command": "deploy --password hunter2!x9 now"}
    trace = run("t", human("Do it."), agent("", call("Bash", asked, "password: hunter2!x9")))
    secrets = ShownSecrets()
    clean = secrets.trace(trace)
    shown = secrets.quotes(trace.turns[1], clean.turns[1], "hunter2!x9")
    assert "hunter2" not in str(clean.turns[1])
    assert shown == ["[MASKED:password:1]"]
    assert secrets.quotes(trace.turns[1], clean.turns[1], "hunter2!x9 now") == [
        "[MASKED:password:1] now"
    ]


def test_a_note_loses_the_secret_that_its_evidence_showed() -> None:
    trace = run("t", human("Do it."), agent("", call("Bash", {"password": "hunter2!x9"}, "ok")))
    one = of((1, 0, "hunter2!x9"), note="it uses hunter2!x9 here")
    secrets = ShownSecrets()
    shown = secrets.occurrence(one, before=trace, after=secrets.trace(trace))
    assert shown.evidence[0].quote == "[MASKED:password:1]"
    assert shown.note == "it uses [MASKED:password:1] here"


def test_a_secret_that_is_evidence_itself_is_masked_without_its_trace() -> None:
    shown = ShownSecrets().occurrence(of((1, 0, "hunter2!x9"), behavior="A07"))
    assert shown.evidence[0].quote == "[MASKED:secret:1]"
    assert ShownSecrets().occurrence(of((1, None, KEY))).evidence[0].quote.startswith("[MASKED:")


PIECES = st.lists(
    st.one_of(st.sampled_from([KEY, OTHER]), st.text("ab .,\n=", max_size=12)), max_size=8
)


@given(pieces=PIECES, data=st.data())
def test_whatever_is_quoted_stands_in_what_is_shown_and_holds_no_secret(
    pieces: list[str], data: st.DataObject
) -> None:
    text = " ".join(pieces)
    start = data.draw(st.integers(0, len(text)))
    quote = text[start : data.draw(st.integers(start, len(text)))]
    trace = said(text)
    secrets = ShownSecrets()
    clean = secrets.trace(trace)
    for shown in secrets.quotes(trace.turns[1], clean.turns[1], quote):
        assert shown in clean.turns[1].text
        assert KEY not in shown
        assert OTHER not in shown
        assert all(part in quote for part in MASK.split(shown))
