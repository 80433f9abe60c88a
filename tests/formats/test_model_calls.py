"""Calls of models that repeat what came before: every message is told once."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tracedance_sdk.formats.message_pieces import Message, SeenCall, SeenResult
from tracedance_sdk.formats.model_calls import ModelCall, Threads
from tracedance_sdk.formats.transcript import reasoning_part, text_part

words = st.text("ab", min_size=1, max_size=2)
users = st.builds(lambda text: Message("user", (text_part(text),)), words)


@st.composite
def rounds(draw: st.DrawFn) -> list[tuple[list[Message], Message]]:
    """Draw a conversation: what was added before each reply, and the reply."""
    found: list[tuple[list[Message], Message]] = []
    waiting: list[SeenCall] = []
    for number in range(draw(st.integers(1, 5))):
        added = [
            Message("tool", (SeenResult(call.id, call.name, draw(words)),)) for call in waiting
        ]
        if not waiting or draw(st.booleans()):
            added.append(draw(users))
        names = draw(st.lists(st.sampled_from(["f", "g"]), max_size=2))
        waiting = [
            SeenCall(name, f"c{number}.{place}", {"n": draw(words)})
            for place, name in enumerate(names)
        ]
        pieces: list[Any] = [reasoning_part(draw(words))] if draw(st.booleans()) else []
        pieces += [text_part(draw(words)), *waiting]
        found.append((added, Message("assistant", tuple(pieces))))
    return found


def bare(message: Message) -> Message:
    """Return a message as it is often repeated: without reasoning, ids of calls anew."""
    pieces: list[Any] = []
    for piece in message.pieces:
        if isinstance(piece, SeenCall):
            pieces.append(piece._replace(id=f"new {piece.id}"))
        elif not isinstance(piece, dict) or piece["type"] != "reasoning":
            pieces.append(piece)
    return message._replace(pieces=tuple(pieces))


def said(threads: Threads) -> list[list[tuple[str, str, list[Any]]]]:
    return [
        [
            (
                turn["role"],
                "".join(part["text"] for part in turn["content"] if part["type"] == "text"),
                [(call["name"], call.get("result", {}).get("content")) for call in turn["calls"]],
            )
            for turn in thread.log.turns
        ]
        for thread in threads.threads
    ]


@given(rounds(), st.booleans())
def test_requests_that_repeat_all_before_them_are_one_conversation_told_once(
    conversation: list[tuple[list[Message], Message]], is_bare: bool
) -> None:
    history: list[Message] = []
    repeated, once = Threads("x"), Threads("x")
    for number, (added, reply) in enumerate(conversation):
        history += added
        turns = len(once.threads[0].log.turns) if once.threads else 0
        repeated.add(ModelCall(tuple(history), (reply,), {}))
        once.add(
            ModelCall(tuple(added), (reply,), {}, id=str(number), follows=str(number - 1))
            if number
            else ModelCall(tuple(added), (reply,), {}, id="0")
        )
        assert len(once.threads[0].log.turns) > turns
        history.append(bare(reply) if is_bare else reply)
    assert said(repeated) == said(once)
    assert len(repeated.threads) == 1


@given(rounds(), rounds())
def test_two_conversations_at_once_do_not_mix(
    first: list[tuple[list[Message], Message]], second: list[tuple[list[Message], Message]]
) -> None:
    threads, histories = Threads("x"), ([], [])  # type: ignore[var-annotated]
    for number in range(max(len(first), len(second))):
        for place, conversation in enumerate((first, second)):
            if number < len(conversation):
                added, reply = conversation[number]
                mark = Message("user", (text_part(f"agent {place}"),))
                histories[place].extend([mark, *added] if not number else added)
                threads.add(ModelCall(tuple(histories[place]), (reply,), {}))
                histories[place].append(reply)
    assert len(threads.threads) == 2
    replies = [
        sum(turn["role"] == "assistant" for turn in thread.log.turns) for thread in threads.threads
    ]
    assert replies == [len(first), len(second)]


def test_an_echo_that_spells_arguments_differently_goes_on_with_the_conversation() -> None:
    threads = Threads("x")
    user = Message("user", (text_part("go"),))
    threads.add(ModelCall((user,), (Message("assistant", (SeenCall("f", "c", text="{bad"),)),), {}))
    echo = Message("assistant", (SeenCall("f", "c", {}),))
    answer = Message("tool", (SeenResult("c", "f", "ok"),))
    threads.add(ModelCall((user, echo, answer), (Message("assistant", (text_part("x"),)),), {}))
    assert said(threads) == [
        [("user", "go", []), ("assistant", "", [("f", "ok")]), ("assistant", "x", [])]
    ]


def test_branches_that_only_name_where_they_leave_copy_within_bounds() -> None:
    threads = Threads("x")
    long = tuple(Message("user", (text_part(str(number)),)) for number in range(1000))
    done = (Message("assistant", (text_part("x"),)),)
    threads.add(ModelCall(long, done, {}, id="root"))
    for number in range(300):
        threads.add(ModelCall((), done, {}, id=f"b{number}", follows="root"))
    turns = [len(thread.log.turns) for thread in threads.threads]
    assert sum(turns) < 210_000
    assert threads.threads[-1].log.notes()[0].kind == "record_lost"


def test_a_system_prompt_that_changes_stands_with_the_reply() -> None:
    threads = Threads("x")
    user, done = Message("user", (text_part("go"),)), Message("assistant", (text_part("x"),))
    threads.add(ModelCall((user,), (done,), {}, system="old"))
    _, turn = threads.add(ModelCall((user, done, user), (done,), {}, system="new"))
    assert threads.threads[0].system == "old"
    assert turn is not None
    assert turn["system_prompt"] == "new"
