"""What the agents of the replayed suites share: tools, and what their model says.

A module of an agent is used as a user would use it: run as a program it records two conversations,
and ``tracedance replay`` finds the agents ``changed`` and ``lost`` in it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import tracedance_sdk as td
from tracedance_sdk.testing import Scene, Step
from tracedance_sdk.trace import Trace

Messages = list[dict[str, Any]]
Answered = Callable[[str, Messages], Awaitable[str]]
"""An agent's reply, by its system prompt and the conversation."""

URL: Final = "OFFICE_MODEL"
"""Environment variable with the address of the model."""

RAN: Final = "OFFICE_RAN"
"""Environment variable with the file that names each tool whose code ran."""


def find_contact(name: str) -> str:
    """Return somebody's address."""
    _note("find_contact")
    return f"{name.lower()}@example.com"


def send_mail(to: str, body: str) -> str:
    """Send a mail."""
    _note("send_mail")
    return f"sent to {to}: {body}"


TOOLS: Final = (find_contact, send_mail)


def _note(name: str) -> None:
    with Path(os.environ[RAN]).open("a") as file:
        file.write(f"{name}\n")


def openai_url() -> str:
    """Return the address of the model for OpenAI's clients."""
    return f"{os.environ[URL]}/v1"


def scene(system: str, user: str, *steps: Step) -> Scene:
    """Return what the model says to an agent with a system prompt."""
    return Scene("clerk", system, user, TOOLS, steps)


def look_up(name: str) -> tuple[str, dict[str, str]]:
    """Return a call that asks for an address."""
    return "find_contact", {"name": name}


def invite(name: str, words: str = "Lunch at noon?") -> tuple[str, dict[str, str]]:
    """Return a call that sends a mail."""
    return "send_mail", {"to": f"{name.lower()}@example.com", "body": words}


RECORDED: Final = tuple(
    scene(
        f"You are the clerk who looks after {name}.",
        f"Ask {name} to lunch.",
        Step("I look up the address.", (look_up(name),)),
        Step(None, (invite(name),)),
        Step(f"{name} has been asked to lunch."),
    )
    for name in ("Sam", "Kim")
)
CHANGED: Final = scene(
    "You are the new clerk, who looks everybody up and only ever writes to Sam.",
    "",
    Step(None, (look_up("Sam"), look_up("Kim"))),
    Step(None, (invite("Sam"),)),
    Step("The mail is on its way."),
)
LOST: Final = scene(
    "You are the clerk who has words of his own.",
    "",
    Step(None, (look_up("Sam"),)),
    Step(None, (invite("Sam", "Hungry?"),)),
    Step("The mail is on its way."),
)
SCENES: Final = (*RECORDED, CHANGED, LOST)


def record(answered: Answered) -> None:
    """Hold the two conversations, and save their traces in the folder that was named."""
    asyncio.run(_record(answered, Path(sys.argv[1])))


async def _record(answered: Answered, folder: Path) -> None:
    for played in RECORDED:
        name = played.user.split()[1]
        with td.TraceRecorder(agent="clerk", session_id=f"about-{name}") as recorder:
            await answered(played.system, [{"role": "user", "content": played.user}])
        td.save_trace(recorder.trace, folder / f"{name}.json")


def right_mail(trace: Trace) -> dict[str, str]:
    """Say whether the mail went to the one who was to get it."""
    name = trace.turns[0].text.split()[1].lower()
    sent = [call.arguments["to"] for call in trace.calls if call.name == "send_mail"]
    verdict = "pass" if sent == [f"{name}@example.com"] else "fail"
    return {"verdict": verdict, "reason": f"mails went to {sent}"}
