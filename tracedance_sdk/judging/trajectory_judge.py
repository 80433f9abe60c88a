"""A judge behind a model: how did a run go, from 0 to 1, with reasons and what went wrong."""

from __future__ import annotations

from typing import Any, Final

from tracedance_sdk.errors import InvalidJudgement
from tracedance_sdk.grading import JudgeAnswer, TaskSpec, read_with_warnings
from tracedance_sdk.judging.condensing import MOST_CHARACTERS, check_room
from tracedance_sdk.judging.identity import JudgeIdentity
from tracedance_sdk.judging.items import added
from tracedance_sdk.judging.rubric_judge import OUTPUT_CAP
from tracedance_sdk.judging.trajectory_prompt import (
    RUBRIC_SHA256,
    context_of,
    message,
    prompt_digest,
    reply_schema,
)
from tracedance_sdk.llm import (
    Asker,
    Missing,
    MissingKind,
    Question,
    Reply,
    ReplySchema,
    Settings,
    structured_value,
)
from tracedance_sdk.trace import Trace

_TRIES: Final = 2
_WORTH_ANOTHER: Final[frozenset[MissingKind]] = frozenset(
    ("empty", "refused", "cut_off", "unparsable", "error")
)
_FIELDS: Final = ("reasoning", "strengths", "weaknesses", "issues", "score")
_OPEN: Final = ReplySchema(
    "judgement",
    {
        "type": "object",
        "additionalProperties": False,
        "required": list(_FIELDS),
        "properties": {name: {} for name in _FIELDS},
    },
)
"""Only that there is one object with these fields; `read_with_warnings` sees to the rest."""


class TrajectoryJudge:
    """Asks a model how a run went; what it says decides nothing by itself.

    The model is shown the task, each action with its result, and the final state; it is asked the
    same questions of every run. A reply that cannot be used is asked for once more; then the score
    is missing, with the reason.

    Args:
        asker: The model, with its cache and limits. It is not closed here.
        model_name: The model's name, which is part of the judge's identity.
        settings: How replies are made. The form of the reply and the number of the sample are the
            judge's own.
        most_characters: Of a question; longer runs are shortened.

    Attributes:
        identity: Model, prompt, and the questions with their scale.
        name: Of the identity: another model or another prompt is another judge.

    Raises:
        InvalidOption: Too few characters.

    Example:
        >>> from tracedance_sdk.grading import evaluate
        >>> from tracedance_sdk.llm import Asker, chat_model
        >>> model = chat_model("openai:local@http://127.0.0.1:8080/v1")
        >>> judge = TrajectoryJudge(Asker(model), model_name=model.name)
        >>> judge.name.startswith("openai:local@http://127.0.0.1:8080/v1#")
        True
        >>> report = evaluate(trace, spec, judge=judge)  # doctest: +SKIP
    """

    def __init__(
        self,
        asker: Asker,
        *,
        model_name: str,
        settings: Settings | None = None,
        most_characters: int = MOST_CHARACTERS,
    ) -> None:
        check_room(most_characters)
        self.asker = asker
        self._settings = settings or Settings(max_output_tokens=OUTPUT_CAP)
        self._most_characters = most_characters
        digest = prompt_digest(
            most_characters=most_characters,
            temperature=self._settings.temperature,
            top_p=self._settings.top_p,
        )
        self.identity = JudgeIdentity(model_name, digest, RUBRIC_SHA256)
        self.name = self.identity.name

    def question(self, trace: Trace, spec: TaskSpec, *, attempt: int = 0) -> Question:
        """Return what the model is asked.

        Args:
            trace: The run.
            spec: Of its task.
            attempt: 0, or 1 where the first reply could not be used.
        """
        seed = self._settings.seed
        settings = self._settings._replace(
            reply_schema=reply_schema(),
            sample=attempt,
            seed=None if seed is None else seed + attempt,
        )
        text = message(trace, spec, most_characters=self._most_characters)
        return Question(context_of(text), (), settings)

    async def judge(self, trace: Trace, spec: TaskSpec) -> JudgeAnswer:
        """Judge one run.

        Returns:
            The judgement, or the reason why there is none, with tokens and cost of all calls.

        Raises:
            InvalidOption: The model has no key.
            MissingDependency: The model's SDK is not installed.
        """
        answer, usage, attempt = self._about(), None, 0
        for _ in range(_TRIES):
            reply = await self.asker.ask(self.question(trace, spec, attempt=attempt))
            usage = added(usage, reply.usage)
            answer = _kept(answer, self._answer(reply, trace))
            is_final = reply.missing is not None and reply.missing.is_final
            if is_final or answer.missing not in _WORTH_ANOTHER:
                break
            # Errors are not kept in a cache: the same question is asked again.
            attempt += answer.missing != "error"
        return answer.model_copy(update={"usage": usage})

    def _answer(self, reply: Reply, trace: Trace) -> JudgeAnswer:
        value = structured_value(reply, _OPEN)
        if not isinstance(value, Missing):
            try:
                judgement, warnings = read_with_warnings(value, trace)
            except InvalidJudgement as error:
                value = Missing("unparsable", str(error))
            else:
                return self._about(judgement=judgement, warnings=warnings)
        return self._about(missing=value.kind, missing_reason=str(value))

    def _about(self, **told: Any) -> JudgeAnswer:
        return JudgeAnswer(judge=self.name, identity=self.identity._asdict(), **told)


def _kept(first: JudgeAnswer, second: JudgeAnswer) -> JudgeAnswer:
    """Return what counts of two tries; a limit before the second does not hide the first."""
    if second.missing == "not_asked" and first.missing is not None:
        reason = f"{first.missing_reason}; then {second.missing_reason}"
        return first.model_copy(update={"missing_reason": reason})
    return second
