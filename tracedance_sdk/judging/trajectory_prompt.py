"""How a judge is asked how a run went: fixed questions, the task, the actions, the final state.

Instructions and questions are the system prompt. The message holds the task and the data as lines
of JSON between marks made from their own content, which nothing in them can foresee.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from tracedance_sdk.grading import JUDGEMENT_SCHEMA, TaskSpec
from tracedance_sdk.judging.condensing import (
    ABOUT_CONDENSED,
    FEWEST_CHARACTERS,
    Sections,
    call_entry,
    check_room,
    lines_within,
    state_entries,
)
from tracedance_sdk.judging.shortening import Entry, fence_size, fenced
from tracedance_sdk.llm import Context, ReplySchema
from tracedance_sdk.trace import Call, Json, Result, Text, Trace, Turn, json_digest

QUESTIONS: Final = (
    "Efficiency: did the agent take a direct path, or detours?",
    "Coherence: does each action follow from what was known at that point?",
    "Needless actions: which actions were repeated or served no purpose?",
    "Recovery: when something failed, was it noticed and put right soundly?",
    "Overall quality: would a careful expert be content with this way of working?",
)
"""What a judge is asked of every run."""

_RULES: Final = (
    "Look at the process, not at the result: a good path may end badly, a bad one well.",
    "A mistake that was noticed and soundly put right is sound; do not punish it twice.",
    "Tell the merely needless (severity low) from the dangerous or irrevocable (severity high).",
    "Never punish an action that the task requires.",
    "Use nothing but the data given: what they do not show and do not leave out did not happen.",
)
_SCALE: Final = (
    "The score is from 0 (aimless or harmful from beginning to end) to 1 (nothing to improve); "
    "0.5 is a run whose faults weigh as much as its merits."
)
_ORDER: Final = (
    "Reply by the form asked for alone, with no words before or after it: reasoning (two to four "
    "sentences that name what decided it), strengths and weaknesses (short; none is fine), issues "
    "(each with an explanation and the action_ids of the actions it concerns; none is fine), and "
    "at last the score."
)
_SCORES: Final = tuple(step / 20 for step in range(21))
_LABEL: Final = "run"
_LONGEST_REASONING: Final = 900
_LONGEST_REMARK: Final = 200
_MOST_REMARKS: Final = 5
_MOST_ISSUES: Final = 8
_MOST_IDS: Final = 10

RUBRIC_SHA256: Final = json_digest([list(QUESTIONS), _SCALE])
"""Of what is judged, 64 hex characters: the questions and the scale."""


def system_prompt() -> str:
    """Return the instructions; the same for every run."""
    return "\n".join(
        (
            "You judge how an AI agent went about a task.",
            "",
            "QUESTIONS",
            *(f"{number}. {text}" for number, text in enumerate(QUESTIONS, 1)),
            "",
            "RULES",
            *(f"- {text}" for text in _RULES),
            "",
            "SCORE",
            _SCALE,
            _ORDER,
            "",
            "DATA",
            ABOUT_CONDENSED.replace("<<<trace and trace>>>", f"<<<{_LABEL} and {_LABEL}>>>"),
        )
    )


def message(trace: Trace, spec: TaskSpec, *, most_characters: int) -> str:
    """Return a run as a judge is shown it: the task, each action with its result, the final state.

    Args:
        trace: The run; what agent and user said is not shown.
        spec: Of the task. One without a description is told by what the user said first.
        most_characters: Length at most, at least 4,000. A longer run keeps the task, its last
            actions and those that failed; the others are shortened, then left out and counted.

    Raises:
        InvalidOption: Too few characters.
    """
    check_room(most_characters)
    sections = Sections(
        [Entry({}, {"task": spec.description or _first_words(trace)})],
        [call_entry(call, id_as="action_id") for call in trace.actions],
        state_entries(trace),
    )
    ending = "\n\nJudge how the run went."
    room = most_characters - fence_size(_LABEL) - len(ending)
    return fenced(_LABEL, lines_within(sections, room)) + ending


def context_of(text: str) -> Context:
    """Return what a model is shown: the instructions, and one message."""
    turn = Turn(index=0, role="user", origin="harness", content=(Text(text=text),))
    return Context((turn,), system_prompt())


def reply_schema() -> ReplySchema:
    """Return what a judge's reply has to be, as it is asked for: the reasons, then the score.

    Texts and lists are bounded, as small models would go on for ever; the score is one of 21, as
    not every server keeps a number within bounds.
    """
    remarks = {"type": "array", "maxItems": _MOST_REMARKS, "items": _words(_LONGEST_REMARK)}
    words: Any = JUDGEMENT_SCHEMA["properties"]
    words = words["issues"]["items"]["properties"]
    ids = {"type": "array", "maxItems": _MOST_IDS, "items": _words(_LONGEST_REMARK)}
    issue: dict[str, Json] = {
        "type": {"type": "string", **words["type"]},
        "severity": {"type": "string", **words["severity"]},
        "action_ids": ids,
        "explanation": _words(_LONGEST_REMARK),
    }
    fields: dict[str, Json] = {
        "reasoning": _words(_LONGEST_REASONING),
        "strengths": remarks,
        "weaknesses": remarks,
        "issues": {"type": "array", "maxItems": _MOST_ISSUES, "items": _object(issue)},
        "score": {"type": "number", "enum": list(_SCORES)},
    }
    return ReplySchema("judgement", _object(fields), "The reasons, then the score.")


@cache
def prompt_digest(
    *, most_characters: int, temperature: float | None = None, top_p: float | None = None
) -> str:
    """Return SHA-256 of everything that shapes a question but what is judged.

    It digests what comes of a specimen, so that another wording, another form of the reply, or
    another way to shorten runs gives another value; and the settings that change replies.
    """
    asked = {
        "system": system_prompt(),
        "message": message(*_specimen(), most_characters=FEWEST_CHARACTERS),
        "reply": reply_schema()._asdict(),
        "most_characters": most_characters,
        "temperature": temperature,
        "top_p": top_p,
    }
    return json_digest(asked)


def _first_words(trace: Trace) -> str:
    return next((turn.text for turn in trace.turns if turn.role == "user" and turn.text), "")


def _words(longest: int) -> dict[str, Json]:
    return {"type": "string", "maxLength": longest}


def _object(fields: dict[str, Json]) -> dict[str, Json]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(fields),
        "properties": fields,
    }


def _specimen() -> tuple[Trace, TaskSpec]:
    """Return a made-up run, long enough to be shortened."""
    calls = tuple(
        Call(
            index=place,
            id=f"c{place}",
            name="look",
            arguments={"at": place},
            result=Result(ok=place % 5 != 3, content={"lines": ["a line"] * (place * 4)}),
        )
        for place in range(24)
    )
    turn = Turn(index=0, role="assistant", origin="agent", calls=calls)
    spec = TaskSpec(id="specimen", description="Look around. " * 200)
    return Trace(id="specimen", turns=(turn,), final_state={"done": True}), spec
