"""What of a conversation is new, where every request repeats the messages before it."""

from __future__ import annotations

from tracedance_sdk.formats import Heard, Message


def said(speaker: str, text: str) -> Message:
    return Message(speaker, ({"type": "text", "text": text},))  # type: ignore[arg-type]


def new_in(heard: Heard, *messages: tuple[str, str]) -> list[str]:
    return [message.text for message in heard.new_in([said(*one) for one in messages])]


OPENING = (("system", "Be brief."), ("user", "Look."))


def test_a_request_that_continues_brings_only_what_is_new() -> None:
    heard = Heard()
    assert new_in(heard, *OPENING) == ["Be brief.", "Look."]
    heard.remember(said("assistant", "I look."))
    grown = (*OPENING, ("assistant", "I look."), ("user", "Well?"))
    assert new_in(heard, *grown) == ["Well?"]
    assert new_in(heard, *grown, ("user", "Well?")) == ["Well?"]
    assert heard.rewritten == 0


def test_another_system_prompt_stands_before_the_same_history() -> None:
    heard = Heard()
    list(heard.new_in([said(*one) for one in OPENING]))
    heard.remember(said("assistant", "Ask the other."))
    other = (("system", "You are the other."), OPENING[1], ("assistant", "Ask the other."))
    assert new_in(heard, *other) == ["You are the other."]
    assert heard.rewritten == 1
    heard.remember(said("assistant", "Rain."))
    assert new_in(heard, *other, ("assistant", "Rain."), ("user", "Thanks.")) == ["Thanks."]
    # Back at the first, whose prompt is known.
    assert new_in(heard, *OPENING, *other[2:], ("assistant", "Rain."), ("user", "Thanks.")) == []
    assert heard.rewritten == 1


def test_a_system_message_inside_the_conversation_is_part_of_its_order() -> None:
    heard = Heard()
    reminder = ("system", "Be polite.")
    assert new_in(heard, *OPENING, reminder) == ["Be brief.", "Look.", "Be polite."]
    assert new_in(heard, *OPENING, reminder, ("user", "So?"), reminder) == ["So?", "Be polite."]


def test_a_history_that_was_changed_is_counted_once_for_each_new_message() -> None:
    heard = Heard()
    list(heard.new_in([said(*one) for one in (*OPENING, ("user", "More."))]))
    assert new_in(heard, ("system", "Be brief."), ("user", "In short: look.")) == [
        "In short: look."
    ]
    assert heard.rewritten == 1
