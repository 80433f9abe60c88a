"""What a judge says of a trace: the protocol, the schema, and what happens to unusable replies.

A judge looks at how the run went, not at what it achieved, and its score never decides a verdict
by itself. A reply that does not meet the schema is a *missing* score with a reason, never a
number: a missing score must not pull a mean towards zero.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Protocol, get_args

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, StrictFloat, ValidationError

from tracedance_sdk.errors import InvalidJSON, InvalidJudgement, Problem
from tracedance_sdk.trace import (
    Json,
    Trace,
    Usage,
    is_type_stub,
    parse_json,
    path_text,
    unfenced,
)

if TYPE_CHECKING:
    from tracedance_sdk.grading.spec import TaskSpec

_log = logging.getLogger(__name__)

IssueType = Literal[
    "unnecessary_action", "poor_recovery", "inefficient_path", "confusing_action", "other"
]
IssueSeverity = Literal["low", "medium", "high"]

_MOST_SHOWN: Final = 60

JUDGEMENT_SCHEMA: Final[dict[str, Json]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["score", "reasoning", "strengths", "weaknesses", "issues"],
    "properties": {
        "score": {"type": "number", "minimum": 0, "maximum": 1},
        "reasoning": {"type": "string"},
        "strengths": {"type": "array", "items": {"type": "string"}},
        "weaknesses": {"type": "array", "items": {"type": "string"}},
        "issues": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["type", "severity", "action_ids", "explanation"],
                "properties": {
                    "type": {"enum": list(get_args(IssueType))},
                    "severity": {"enum": list(get_args(IssueSeverity))},
                    "action_ids": {"type": "array", "items": {"type": "string"}},
                    "explanation": {"type": "string"},
                },
            },
        },
    },
}
"""JSON Schema of a reply, to show a model: every field required, nothing else allowed."""


class Issue(BaseModel):
    """One thing a judge found wrong with the way a run went.

    Attributes:
        action_ids: Ids of calls of the trace. ``actionIds`` is read as well.
        explanation: Empty when the judge gave none; always written.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    type: IssueType
    severity: IssueSeverity
    action_ids: tuple[str, ...] = Field(
        validation_alias=AliasChoices("action_ids", "actionIds"), strict=False
    )
    explanation: str = ""


class Judgement(BaseModel):
    """A judge's view of one trace.

    Attributes:
        score: Quality of the trajectory, from 0 to 1.
        strengths: What went well, in the judge's order.
        weaknesses: What did not.
        issues: What went wrong, with the calls it concerns.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    score: Annotated[StrictFloat, Field(ge=0, le=1, allow_inf_nan=False)]
    reasoning: str
    strengths: tuple[str, ...] = Field(strict=False)
    weaknesses: tuple[str, ...] = Field(strict=False)
    issues: tuple[Issue, ...] = Field(strict=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the judgement as JSON, every field written."""
        return self.model_dump(mode="json")


class JudgeAnswer(BaseModel):
    """What came of asking a judge: a judgement, or the reason why there is none.

    Attributes:
        judge: The judge's name.
        judgement: None when the judge had no usable reply.
        missing_reason: One line; None exactly when there is a judgement.
        warnings: What was dropped from the reply, such as ids of calls that do not exist.
        missing: The kind of what is missing, where a model was asked: a key of `llm.MISSING`.
        usage: Tokens and cost of all calls for it; None where no model was asked.
        identity: What makes the judge this one: digests of its prompt and the like.
    """

    model_config = ConfigDict(frozen=True)

    judge: str
    judgement: Judgement | None = None
    missing_reason: str | None = None
    warnings: tuple[str, ...] = ()
    missing: str | None = None
    usage: Usage | None = None
    identity: dict[str, str] | None = None

    @property
    def score(self) -> float | None:
        """The judgement's score; None when it is missing."""
        return None if self.judgement is None else self.judgement.score


class Judge(Protocol):
    """Somebody who scores how a run went. A `name` attribute, when present, names it in reports.

    Returned may be a `Judgement`, a reply (text or JSON) that is then read as one, or a
    `JudgeAnswer`, which can tell what it cost.
    """

    def judge(self, trace: Trace, spec: TaskSpec) -> Judgement | Json | Awaitable[Judgement | Json]:
        """Judge one trace of a task; sync or async.

        Raises:
            InvalidJudgement: There is no usable judgement; the message says why.
        """


def read_judgement(reply: Json, trace: Trace) -> Judgement:
    """Read a judge's reply.

    Args:
        reply: The text of the reply (JSON, alone or in one code fence), the parsed JSON, or a
            `Judgement`. Ids of calls that the trace does not have are dropped with a warning.
        trace: The trace the reply is about.

    Raises:
        InvalidJudgement: Empty, not JSON, or not a judgement; `problems` lists what is wrong.

    Example:
        >>> from tracedance_sdk.trace import Trace
        >>> read_judgement("I would say 8 out of 10.", Trace(id="t"))
        Traceback (most recent call last):
        tracedance_sdk.errors.InvalidJudgement: the judge's reply is not JSON: 'I would say 8 ...
    """
    judgement, warnings = read_with_warnings(reply, trace)
    for warning in warnings:
        _log.warning("%s", warning)
    return judgement


def read_with_warnings(reply: Json, trace: Trace) -> tuple[Judgement, tuple[str, ...]]:
    """Read a judge's reply, see `read_judgement`; what was dropped is told and not logged.

    Raises:
        InvalidJudgement: Empty, not JSON, or not a judgement; `problems` lists what is wrong.
    """
    if isinstance(reply, Judgement):
        reply = reply.model_dump(warnings=False)
    elif isinstance(reply, (str, bytes)):
        reply = _parse(reply)
    if reply is None:
        raise InvalidJudgement("the judge's reply is empty")
    if not isinstance(reply, dict):
        raise InvalidJudgement(f"the judge's reply is not an object: {_shown(reply)}")
    return _known_ids_only(_validated(reply), trace)


async def ask_judge(judge: Judge, trace: Trace, spec: TaskSpec) -> JudgeAnswer:
    """Ask a judge and keep what came of it.

    A judge that raises or replies with something unusable gives a missing score with a reason;
    nothing is raised, so that verdicts stand whatever happens to the judge.
    """
    name = judge_name(judge)
    try:
        reply = judge.judge(trace, spec)
        if inspect.isawaitable(reply):
            reply = await reply
        if isinstance(reply, JudgeAnswer):
            return _heard(reply, name, trace)
        judgement, warnings = read_with_warnings(reply, trace)
    except InvalidJudgement as error:
        return JudgeAnswer(judge=name, missing_reason=one_line(str(error)))
    except Exception as error:  # noqa: BLE001 - a judge is foreign code; its failure is a value
        reason = f"the judge {name!r} raised {type(error).__name__}: {error}"
        return JudgeAnswer(judge=name, missing_reason=one_line(reason))
    return JudgeAnswer(judge=name, judgement=judgement, warnings=warnings)


def judge_name(judge: Judge) -> str:
    """Return the judge's own `name`, or its class's."""
    name = getattr(judge, "name", None)
    return name if isinstance(name, str) and name else type(judge).__name__


def one_line(text: str) -> str:
    """Return text with every run of white space and line ends as one space."""
    return " ".join(text.split())


def _heard(answer: JudgeAnswer, name: str, trace: Trace) -> JudgeAnswer:
    """Return a judge's own answer, checked like any reply."""
    if answer.judgement is None:
        reason = one_line(answer.missing_reason or "") or "the judge gave no judgement"
        return answer.model_copy(update={"judge": name, "missing_reason": reason})
    judgement, warnings = read_with_warnings(answer.judgement, trace)
    update = {
        "judge": name,
        "judgement": judgement,
        "missing_reason": None,
        "warnings": (*answer.warnings, *warnings),
    }
    return answer.model_copy(update=update)


def _parse(reply: str | bytes) -> Json:
    text = reply.decode("utf-8", "replace") if isinstance(reply, bytes) else reply
    if not text.strip():
        raise InvalidJudgement("the judge's reply is empty")
    try:
        return parse_json(unfenced(text), where="reply", unique_keys=True)
    except InvalidJSON as error:
        detail = str(error).removeprefix("reply: ").removeprefix("not JSON: ")
        raise InvalidJudgement(
            f"the judge's reply is not JSON: {_shown(text)}: {detail}"
        ) from error


def _validated(reply: dict[str, Json]) -> Judgement:
    score = reply.get("score")
    if type(score) is int:
        reply = {**reply, "score": float(score) if abs(score) < 2**53 else 2.0**53}
    try:
        return Judgement.model_validate(reply)
    except ValidationError as error:
        problems = [
            Problem(_what(item), path_text(item["loc"]))
            for item in error.errors(include_url=False, include_context=False)
        ]
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise InvalidJudgement(
            f"the judge's reply is not a judgement: {problems[0]}{more}", problems=problems
        ) from error


def _what(item: Any) -> str:
    if item["type"] in ("missing", "extra_forbidden"):
        return str(item["msg"])
    return f"{item['msg']}, got {_shown(item['input'])}"


def _known_ids_only(judgement: Judgement, trace: Trace) -> tuple[Judgement, tuple[str, ...]]:
    known = {call.id for call in trace.calls}
    unknown = [
        call_id
        for issue in judgement.issues
        for call_id in issue.action_ids
        if call_id not in known
    ]
    if not unknown:
        return judgement, ()
    issues = tuple(
        issue.model_copy(update={"action_ids": tuple(i for i in issue.action_ids if i in known)})
        for issue in judgement.issues
    )
    warnings = tuple(
        f"the judge named the call {_shown(call_id)}, which the trace does not have"
        for call_id in dict.fromkeys(unknown)
    )
    return judgement.model_copy(update={"issues": issues}), warnings


def _shown(value: Json) -> str:
    text = str(value["$repr"]) if is_type_stub(value) else repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 3]}..."
