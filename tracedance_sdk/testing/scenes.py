"""Small agents, every word of their models written in advance, to be played in any framework."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

SECRET: Final = "sk-proj-" + "Zq7Rk2Vn9Xw4Bt6Lm3Hc8Jd5" * 2
"""What no record of the scene `with_secret` may hold; nobody's key."""


class Step(NamedTuple):
    """What a model says in its next turn.

    Attributes:
        text: Its words; None for none.
        calls: Tools it asks for, with their arguments.
        status: Of HTTP, instead of an answer; 0 for an answer.
        delay_s: Before anything is sent.
        breaks_off: The connection is closed in the midst: of a streamed reply, when half of its
            words have been sent.
    """

    text: str | None = None
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    status: int = 0
    delay_s: float = 0
    breaks_off: bool = False


class Scene(NamedTuple):
    """An agent, what it is asked, and what its model says.

    Attributes:
        agent: Its name.
        system: Its system prompt, which no other agent of the play has.
        user: What it is asked.
        tools: Plain functions with a docstring and hints; names and parameters are the tools'.
        steps: The model's turns, in order. The last one ends the run.
        helpers: Agents that it may use as tools: the tool is named ``ask_<agent>``, its only
            parameter is ``question``.
    """

    agent: str
    system: str
    user: str
    tools: tuple[Callable[..., Any], ...]
    steps: tuple[Step, ...]
    helpers: tuple[Scene, ...] = ()

    @property
    def end(self) -> str:
        """The last words."""
        return self.steps[-1].text or ""

    @property
    def cast(self) -> tuple[Scene, ...]:
        """The agent and all that it may use."""
        return (self, *(scene for helper in self.helpers for scene in helper.cast))


class Desk:
    """Three tools that count their uses.

    Attributes:
        uses: Names of the tools in the order in which their code ran.
    """

    def __init__(self) -> None:
        self.uses: list[str] = []

    @property
    def tools(self) -> tuple[Callable[..., Any], ...]:
        """The tools, as plain functions."""
        uses = self.uses

        def find_contact(name: str) -> str:
            """Return somebody's address."""
            uses.append("find_contact")
            return f"{name.lower()}@example.com"

        def send_mail(to: str, body: str) -> str:
            """Send a mail."""
            uses.append("send_mail")
            return f"sent to {to}: {body}"

        def use_printer(pages: int) -> str:
            """Print pages."""
            uses.append("use_printer")
            raise RuntimeError(f"the printer is on fire at page {pages}")

        return find_contact, send_mail, use_printer


_CLERK: Final = "You are the clerk of a small office. Write mails when you are asked to."
_FIND: Final = ("find_contact", {"name": "Sam"})
_SEND: Final = ("send_mail", {"to": "sam@example.com", "body": "Lunch at noon?"})


def mail(desk: Desk) -> Scene:
    """Two calls, one after the other."""
    return Scene(
        "clerk",
        _CLERK,
        "Ask Sam to lunch.",
        desk.tools,
        (
            Step("I look up the address.", (_FIND,)),
            Step(None, (_SEND,)),
            Step("Sam has been asked to lunch."),
        ),
    )


def parallel(desk: Desk) -> Scene:
    """Three calls in one turn, two of them equal."""
    calls = (_FIND, ("find_contact", {"name": "Kim"}), _FIND)
    steps = (Step(None, calls), Step("Here are the addresses."))
    return Scene("clerk", _CLERK, "Find Sam and Kim.", desk.tools, steps)


def failing_tool(desk: Desk) -> Scene:
    """A tool that raises, after which the agent goes on."""
    steps = (Step(None, (("use_printer", {"pages": 3}),)), Step("The printer does not work."))
    return Scene("clerk", _CLERK, "Print three pages.", desk.tools, steps)


def failing_model(desk: Desk) -> Scene:
    """A model whose second request is refused for good."""
    steps = (Step(None, (_FIND,)), Step(status=400))
    return Scene("clerk", _CLERK, "Find Sam.", desk.tools, steps)


def slow_model(desk: Desk) -> Scene:
    """A model whose second reply takes ten seconds: time to go away."""
    steps = (Step(None, (_FIND,)), Step("Too late.", delay_s=10))
    return Scene("clerk", _CLERK, "Find Sam, slowly.", desk.tools, steps)


def with_secret(desk: Desk) -> Scene:
    """A key in what is asked, in a call, in its result and in the last words."""
    call = ("send_mail", {"to": "ops@example.com", "body": f"the key is {SECRET}"})
    steps = (Step(None, (call,)), Step(f"I sent {SECRET}."))
    return Scene("clerk", _CLERK, f"Send them our key {SECRET}.", desk.tools, steps)


def nested(desk: Desk) -> Scene:
    """An agent that asks another one, which uses a tool of its own."""
    find, send, _ = desk.tools
    helper = Scene(
        "archivist",
        "You are the archivist and know every address.",
        "",
        (find,),
        (Step(None, (_FIND,)), Step("The address is sam@example.com.")),
    )
    steps = (
        Step(None, (("ask_archivist", {"question": "What is Sam's address?"}),)),
        Step(None, (_SEND,)),
        Step("Sam has been asked to lunch."),
    )
    return Scene("clerk", _CLERK, "Ask Sam to lunch.", (send,), steps, (helper,))
