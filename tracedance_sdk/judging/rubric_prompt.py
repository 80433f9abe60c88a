"""How a judge is asked by a rubric: the instructions, what is to be judged, the form of the reply.

Instructions and rubric are the system prompt. The message holds what is to be judged and nothing
else: lines of JSON between marks made from their own content, which nothing in them can foresee.
Neither the model that answered nor ids of its calls are in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final, Literal

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.judging.condensing import (
    ABOUT_CONDENSED,
    FEWEST_CHARACTERS,
    Sections,
    check_room,
    condensed,
    lines_within,
)
from tracedance_sdk.judging.items import JudgedItem
from tracedance_sdk.judging.rubric import LEVELS, Rubric
from tracedance_sdk.judging.shortening import Entry, fenced
from tracedance_sdk.llm import Context, ReplySchema
from tracedance_sdk.trace import (
    UNKNOWN,
    Call,
    Json,
    Media,
    Result,
    Text,
    ToolDefinition,
    Trace,
    Turn,
    json_digest,
)

Mode = Literal["single", "joint"]
MODES: Final[tuple[Mode, ...]] = ("single", "joint")

LONGEST_REASONING: Final = 600
"""Characters that a reason may take; longer ones are cut when read."""

MOST_TOGETHER: Final = 60
"""Responses that one question of joint mode may hold."""

_FEWEST_FOR_ONE: Final = 400

_SYSTEM: Final = """\
You judge {what} by one rubric, as a careful expert would who has seen many.

RUBRIC: {title}
{question}
Scores:
{levels}
{between}
RULES
- Judge by the rubric alone. Length, politeness and confidence earn nothing. Between two scores, \
give the lower.
- {rule}
- Reply by the form asked for alone, with no words before or after it.
- First give the reason, in two or three sentences that name what decided it (at most 500 \
characters), then the score, a whole number from 0 to 5.
{together}
DATA
{about}"""

_WHAT: Final = {
    "trace": "how an AI agent did its task",
    "turn": "what an AI agent said or did next",
}
_RULES: Final = {
    "trace": "The whole run is shown. Trust the results of calls more than what the agent says of "
    "them.",
    "turn": "The trace is what came before. The response is what the agent said and which calls it "
    "asked for; they were not carried out, so their results are unknown and no fault.",
}
_BETWEEN: Final = "A score without words lies between its neighbours.\n"
_TOGETHER: Final = """\
- Several responses to the same situation are shown, each under a label. Labels and their order \
mean nothing. Score each by the rubric, as if it stood alone, and give each label exactly once.
"""


def system_prompt(rubric: Rubric, mode: Mode) -> str:
    """Return the instructions with the rubric in them; the same for all that is judged by it."""
    levels = rubric.levels
    return _SYSTEM.format(
        what=_WHAT[rubric.about],
        title=rubric.title,
        question=rubric.question,
        levels="\n".join(f"{level}: {text}" for level, text in levels.items()),
        between=_BETWEEN if len(levels) < len(LEVELS) else "",
        rule=_RULES[rubric.about],
        together=_TOGETHER if mode == "joint" else "",
        about=ABOUT_CONDENSED.replace("<<<trace and trace>>>", "<<<NAME MARK and NAME MARK>>>"),
    )


def message(items: Sequence[JudgedItem], mode: Mode, *, most_characters: int) -> str:
    """Return what is to be judged, as a judge is shown it.

    Args:
        items: One item, or the responses of one instance in the order of their labels.
        mode: In joint mode a response has a label, even where it is the only one.
        most_characters: That the trace may take; responses together take a third of it more, or
            as much again where there are several, and tools a sixth.

    Raises:
        InvalidOption: Too few characters, or too many responses.
    """
    check_room(most_characters)
    first = items[0]
    if first.response is None:
        return f"{condensed(first.trace, most_characters=most_characters)}\n\nScore the run."
    if len(items) > MOST_TOGETHER:
        raise InvalidOption(
            f"{len(items)} responses to one instance are too many for one question; "
            f"at most {MOST_TOGETHER} are judged jointly"
        )
    context = condensed(first.trace, until=first.subject.turn, most_characters=most_characters)
    offered = first.trace.tools
    parts = [_tools(offered, most_characters // 6)] if offered else []
    parts.append(context)
    room = max(_FEWEST_FOR_ONE, min(most_characters // 3, most_characters // len(items)))
    names = ["response"] if mode == "single" else labels(len(items))
    parts += [_response(item.response, name, room) for item, name in zip(items, names, strict=True)]
    ending = "Score the response." if mode == "single" else "Score each response."
    return "\n\n".join([*parts, ending])


def labels(n: int) -> list[str]:
    """Return the labels of `n` responses.

    Example:
        >>> labels(3)
        ['R1', 'R2', 'R3']
    """
    return [f"R{place}" for place in range(1, n + 1)]


def reply_schema(mode: Mode, n: int = 1) -> ReplySchema:
    """Return what a judge's reply has to be, as it is asked for.

    Texts and lists are bounded, as small models would go on for ever.
    """
    words = {"type": "string", "maxLength": LONGEST_REASONING}
    fields: dict[str, Json] = {
        "reasoning": words,
        "score": {"type": "integer", "enum": list(LEVELS)},
    }
    if mode == "single":
        return ReplySchema("score", _object(fields), "The reason, then the score.")
    entry = _object({"id": {"type": "string", "enum": labels(n)}, **fields})
    entries = {"type": "array", "minItems": n, "maxItems": n, "items": entry}
    return ReplySchema(
        "scores", _object({"responses": entries}), "For each response the reason, then the score."
    )


@cache
def prompt_digest(
    mode: Mode,
    *,
    most_characters: int,
    temperature: float | None = None,
    top_p: float | None = None,
) -> str:
    """Return SHA-256 of everything that shapes a question but the rubric and what is judged.

    It digests what comes of a specimen, so that another wording, another form of the reply, or
    another way to shorten traces gives another value; and the settings that change replies.
    """
    turn, run = _specimen()
    asked = {
        "mode": mode,
        "system": [system_prompt(_rubric(about), mode) for about in ("trace", "turn")],
        "messages": [
            message(items, mode, most_characters=FEWEST_CHARACTERS)
            for items in ([run], [turn] if mode == "single" else [turn, turn])
        ],
        "reply": reply_schema(mode, 2)._asdict(),
        "most_characters": most_characters,
        "temperature": temperature,
        "top_p": top_p,
    }
    return json_digest(asked)


def context_of(rubric: Rubric, mode: Mode, text: str) -> Context:
    """Return what a model is shown: the instructions, and one message."""
    turn = Turn(index=0, role="user", origin="harness", content=(Text(text=text),))
    return Context((turn,), system_prompt(rubric, mode))


def _object(fields: dict[str, Any]) -> dict[str, Json]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(fields),
        "properties": fields,
    }


def _tools(tools: Sequence[ToolDefinition], room: int) -> str:
    entries = [
        Entry(
            {"offered": tool.name[:80]},
            {
                key: value
                for key in ("description", "parameters")
                if (value := getattr(tool, key)) is not None
            },
        )
        for tool in tools
    ]
    return fenced("tools", lines_within(Sections(entries, [], []), room))


def _response(turn: Turn | None, name: str, room: int) -> str:
    entries = list(_entries(turn)) if turn is not None else []
    return fenced(name, lines_within(Sections([], entries, []), room))


def _entries(turn: Turn) -> Iterator[Entry]:
    """Yield what a turn says and which calls it asks for; no reasoning, no ids, no results."""
    text = "\n".join(
        part.text if isinstance(part, Text) else f"[{part.modality}]"
        for part in turn.content
        if isinstance(part, (Text, Media))
    )
    if text or not turn.calls:
        yield Entry({}, {"text": text})
    for call in turn.calls:
        given = call.raw_arguments if call.arguments is UNKNOWN else call.arguments
        yield Entry({"calls": call.name[:80]}, {"arguments": given}, is_call=True)


def _rubric(about: Literal["trace", "turn"]) -> Rubric:
    return Rubric(id="r", title="t", about=about, question="q", levels={0: "a", 5: "b"})


def _specimen() -> tuple[JudgedItem, JudgedItem]:
    """Return a made-up response and a run, long enough to be shortened."""
    from tracedance_sdk.grading import Subject

    turns: list[Turn] = []
    for place in range(24):
        told = Result(ok=place % 5 != 3, content={"lines": [f"line {n}" for n in range(place * 4)]})
        call = Call(index=place, id=f"c{place}", name="look", arguments={"at": place}, result=told)
        role: Any = "user" if place % 4 == 0 else "assistant"
        said = Text(text=f"Words {place}. " * place)
        calls = (call,) if role == "assistant" else ()
        origin: Any = "human" if role == "user" else "agent"
        turns.append(Turn(index=place, role=role, origin=origin, content=(said,), calls=calls))
    tool = ToolDefinition(name="look", description="Looks. " * 200, parameters={"type": "object"})
    trace = Trace(
        id="specimen",
        system_prompt="Be kind. " * 100,
        tools=(tool,),
        turns=tuple(turns),
        final_state={"done": True},
    )
    item = JudgedItem(Subject(trace_id=trace.id, turn=23), trace, turns[23])
    return item, JudgedItem(Subject(trace_id=trace.id), trace)
