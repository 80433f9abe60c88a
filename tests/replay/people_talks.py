"""Small conversations written as lines: who says what, and which tools answer what."""

from __future__ import annotations

from typing import Any

from tracedance_sdk.trace import Call, Result, Text, Trace, Turn

Line = str | tuple[str, dict[str, Any], Any]


def talk(*lines: Line, system_prompt: str | None = None) -> Trace:
    """Return a conversation.

    A line ``"P: ..."`` is the person's, ``"A: ..."`` the agent's; a tuple is a call of the agent
    with its arguments and its answer.
    """
    turns: list[Turn] = []
    n_calls = 0
    for index, line in enumerate(lines):
        if isinstance(line, tuple):
            name, arguments, answer = line
            call = Call(
                index=n_calls,
                id=f"c{n_calls + 1}",
                name=name,
                arguments=arguments,
                result=Result(ok=True, content=answer),
            )
            n_calls += 1
            turns.append(Turn(index=index, role="assistant", origin="agent", calls=(call,)))
            continue
        who, text = line.split(": ", 1)
        role, origin = ("user", "human") if who == "P" else ("assistant", "agent")
        content = (Text(text=text),)
        turns.append(Turn(index=index, role=role, origin=origin, content=content))  # type: ignore[arg-type]
    return Trace(id="talk", group="g", turns=tuple(turns), system_prompt=system_prompt)
