"""Read what a judge replied to a rubric: a score for each item, or the reason why there is none.

What is unusable is *missing*, never a number. Lengths are not held against a reply, as not every
API keeps to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tracedance_sdk.errors import shown
from tracedance_sdk.judging.items import RubricScore
from tracedance_sdk.judging.rubric import LEVELS
from tracedance_sdk.judging.rubric_prompt import LONGEST_REASONING, labels
from tracedance_sdk.llm import Missing, Reply, ReplySchema, structured_value
from tracedance_sdk.trace import Json

_MOST_WARNINGS: Final = 5


def _object(**fields: Json) -> dict[str, Json]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(fields),
        "properties": fields,
    }


_WORDS: Final = {"type": "string"}
_ONE: Final = ReplySchema("score", _object(reasoning=_WORDS, score={"enum": list(LEVELS)}))
_ENTRY: Final = _object(id=_WORDS, reasoning=_WORDS, score={})
_SEVERAL: Final = ReplySchema("scores", _object(responses={"type": "array", "items": _ENTRY}))


def read_score(reply: Reply) -> RubricScore:
    """Return what a reply to a question about one item says."""
    value = structured_value(reply, _ONE)
    if isinstance(value, Missing):
        return missing_score(value)
    return _score(value)


def read_scores(reply: Reply, n: int) -> list[RubricScore]:
    """Return what a reply to a question about `n` responses says of each, in their order.

    Labels that nobody has are dropped with a warning. A response that was left out, or scored
    twice, has no score.
    """
    value = structured_value(reply, _SEVERAL)
    if isinstance(value, Missing):
        return [missing_score(value)] * n
    entries: Any = value["responses"]
    known = labels(n)
    strangers = dict.fromkeys(entry["id"] for entry in entries if entry["id"] not in known)
    told = [
        f"the judge scored {shown(name)}, which is no response"
        for name in list(strangers)[:_MOST_WARNINGS]
    ]
    scores = [_labelled(entries, label) for label in known]
    return [score._replace(warnings=tuple(told)) for score in scores] if told else scores


def missing_score(missing: Missing) -> RubricScore:
    """Return what there is to say where a reply is no answer."""
    return RubricScore(None, missing_reason=str(missing), missing=missing.kind)


def _labelled(entries: Sequence[dict[str, Any]], label: str) -> RubricScore:
    found = [entry for entry in entries if entry["id"] == label]
    if len(found) != 1:
        what = "scored twice" if found else "left out"
        return missing_score(Missing("unparsable", f"the response {label} was {what}"))
    return _score(found[0])


def _score(value: dict[str, Any]) -> RubricScore:
    score = value["score"]
    if isinstance(score, bool) or not isinstance(score, (int, float)) or score not in LEVELS:
        what = f"the score is {shown(score)}, no whole number from 0 to 5"
        return missing_score(Missing("unparsable", what))
    reasoning: str = value["reasoning"].strip()
    if len(reasoning) > LONGEST_REASONING:
        reasoning = f"{reasoning[: LONGEST_REASONING - 3]}..."
    return RubricScore(int(score), reasoning)
