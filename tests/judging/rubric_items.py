"""A small conversation, responses to it, and models that judge them as they are told."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from tracedance_sdk.grading import Subject
from tracedance_sdk.judging import JudgedItem, Rubric, RubricJudge
from tracedance_sdk.llm import Asker, Context, Missing, Reply, Settings
from tracedance_sdk.trace import (
    Call,
    Reasoning,
    Result,
    Text,
    ToolDefinition,
    Trace,
    Turn,
    Usage,
)

TURN_RUBRIC = Rubric(
    id="kind", title="Kindness", about="turn", question="Is it kind?", levels={0: "No.", 5: "Yes."}
)
TRACE_RUBRIC = TURN_RUBRIC.model_copy(update={"id": "done", "about": "trace"})


def trace(trace_id: str = "a" * 32, asked: str = "How much is 2 + 1?") -> Trace:
    call = Call(index=0, id="call_known", name="add", arguments={"a": 2}, result=Result(content=3))
    hidden = Reasoning(text="hidden thought")
    turns = (
        Turn(index=0, role="user", origin="human", content=(Text(text=asked),)),
        Turn(index=1, role="assistant", origin="agent", content=(hidden,), calls=(call,)),
        Turn(index=2, role="assistant", origin="agent", content=(Text(text="recorded end"),)),
    )
    tool = ToolDefinition(name="add", description="Adds numbers.")
    return Trace(id=trace_id, system_prompt="Be brief.", tools=(tool,), turns=turns)


def response(said: str, *calls: Call) -> Turn:
    content = (Reasoning(text="private thought"), Text(text=said))
    return Turn(index=2, role="assistant", origin="agent", content=content, calls=calls)


def item(said: str = "Three.", **fields: Any) -> JudgedItem:
    given = fields.pop("trace", None) or trace()
    subject = Subject(trace_id=given.id, turn=2)
    return JudgedItem(subject, given, response(said), **{"group": "sums", **fields})


def whole(given: Trace | None = None, **fields: Any) -> JudgedItem:
    run = given or trace()
    return JudgedItem(Subject(trace_id=run.id), run, **fields)


class Voice:
    """A model of somebody else's: it says what a function makes of the message it is shown."""

    def __init__(self, says: Callable[[str, int], str | Missing], name: str = "voice:one") -> None:
        self.name = name
        self.asked: list[tuple[Context, Settings]] = []
        self._says = says

    async def complete(
        self, context: Context, *, tools: Sequence[Any], settings: Settings
    ) -> Reply:
        self.asked.append((context, settings))
        said = self._says(context.turns[0].text, settings.sample)
        usage = Usage(input_tokens=100, output_tokens=7, cost_usd=0.25)
        if isinstance(said, Missing):
            return Reply(None, usage, None, said)
        turn = Turn(index=0, role="assistant", origin="agent", content=(Text(text=said),))
        return Reply(turn, usage, {})


def scored(score: Any, reasoning: str = "Because.") -> str:
    return json.dumps({"reasoning": reasoning, "score": score})


def always(*scores: int | None) -> Callable[[str, int], str | Missing]:
    """Say one score a repetition; None for a reply that cannot be used."""

    def says(_: str, sample: int) -> str | Missing:
        score = scores[sample // 2 % len(scores)]
        return "no idea" if score is None else scored(score)

    return says


def judge(voice: Voice, rubric: Rubric = TURN_RUBRIC, **options: Any) -> RubricJudge:
    return RubricJudge(Asker(voice), rubric, model_name=voice.name, **options)


def shown_responses(message: str) -> dict[str, str]:
    """Return label → text of the responses in a message of joint mode."""
    found = re.findall(r'^<<<(R\d+) [0-9a-f]+\n\{"text":"(.*?)"', message, re.MULTILINE)
    return dict(found)


def all_scored(message: str, scores: dict[str, Any]) -> str:
    """Return a reply of joint mode that scores each response by its text."""
    entries = [
        {"id": label, "reasoning": f"It says {text}.", "score": scores[text]}
        for label, text in shown_responses(message).items()
    ]
    return json.dumps({"responses": entries})
