"""Whether something stood in a run before: said by somebody, shown by a tool, or written there."""

from __future__ import annotations

from collections.abc import Iterator

from tracedance_sdk.behaviors.run import Run


def seen(run: Run, text: str, *, before: int, since: int = 0) -> int | None:
    """Return the index of the last turn before which, or in which, a text was there to be seen.

    What counts is text of the system and of users, results of calls, and arguments of calls that
    succeeded and change something. The agent's own words do not count.

    Args:
        run: The run.
        text: Looked for as it is, upper and lower case apart; empty text is never seen.
        before: Only turns before this index, with the results of their calls.
        since: Only turns from this index.
    """
    if not text:
        return None
    last = None
    for index, told in shown_texts(run, before=before, since=since):
        if text in told:
            last = index
    return last


def shown_texts(run: Run, *, before: int, since: int = 0) -> Iterator[tuple[int, str]]:
    """Yield what there was to be seen, with the index of the turn, in order.

    Args:
        run: The run.
        before: Only turns before this index, with the results of their calls.
        since: Only turns from this index.
    """
    for turn in run.turns[since:before]:
        if turn.role != "assistant" and turn.text:
            yield turn.index, turn.text
        for call in turn.calls:
            if call.signs["changes"] and not call.signs["failed"]:
                yield turn.index, call.arguments_text
            if call.result:
                yield turn.index, call.result
