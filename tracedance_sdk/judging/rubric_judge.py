"""A judge behind a model: it scores by a rubric from 0 to 5 and gives the reason first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Self

from tracedance_sdk.errors import InvalidOption, shown
from tracedance_sdk.judging.condensing import MOST_CHARACTERS, check_room
from tracedance_sdk.judging.identity import JudgeIdentity
from tracedance_sdk.judging.items import (
    JudgedItem,
    RubricScore,
    added,
    check_item,
    shared_out,
)
from tracedance_sdk.judging.rubric import Rubric
from tracedance_sdk.judging.rubric_prompt import (
    MODES,
    Mode,
    context_of,
    message,
    prompt_digest,
    reply_schema,
)
from tracedance_sdk.judging.rubric_replies import read_score, read_scores
from tracedance_sdk.llm import Asker, MissingKind, Question, Reply, Settings

OUTPUT_CAP: Final = 8_192
"""Most tokens of a judge's reply, its reasoning included, unless set otherwise."""

_TRIES: Final = 2
_WORTH_ANOTHER: Final[frozenset[MissingKind]] = frozenset(
    ("empty", "refused", "cut_off", "unparsable", "error")
)


class RubricJudge:
    """Scores runs or responses by a rubric through a model.

    In *single* mode each question holds one item, so that a score does not depend on what else is
    judged. In *joint* mode it holds all responses to one instance. A reply that cannot be used is
    asked for once more; then the score is missing.

    Args:
        asker: The model, with its cache and limits. It is not closed here.
        rubric: What is judged.
        model_name: The model's name, which is part of the judge's identity.
        mode: ``single`` or ``joint``.
        settings: How replies are made. The form of the reply and the number of the sample are the
            judge's own; a seed grows by one with each repetition.
        most_characters: Of the trace in a question; longer ones are condensed.

    Attributes:
        identity: Model, prompt and rubric.

    Raises:
        InvalidOption: An unknown mode, or too few characters.
    """

    def __init__(
        self,
        asker: Asker,
        rubric: Rubric,
        *,
        model_name: str,
        mode: Mode = "single",
        settings: Settings | None = None,
        most_characters: int = MOST_CHARACTERS,
    ) -> None:
        if mode not in MODES:
            raise InvalidOption(f"unknown mode {shown(mode)}; give {' or '.join(MODES)}")
        check_room(most_characters)
        self.asker = asker
        self.rubric = rubric
        self.mode: Mode = mode
        self.model_name = model_name
        self._settings = settings or Settings(max_output_tokens=OUTPUT_CAP)
        self._most_characters = most_characters
        digest = prompt_digest(
            mode,
            most_characters=most_characters,
            temperature=self._settings.temperature,
            top_p=self._settings.top_p,
        )
        self.identity = JudgeIdentity(model_name, digest, rubric.sha256)

    def in_mode(self, mode: Mode) -> Self:
        """Return this judge asking in another mode, which makes it another judge.

        Raises:
            InvalidOption: An unknown mode.
        """
        if mode == self.mode:
            return self
        return type(self)(
            self.asker,
            self.rubric,
            model_name=self.model_name,
            mode=mode,
            settings=self._settings,
            most_characters=self._most_characters,
        )

    def question(
        self, items: Sequence[JudgedItem], *, repeat: int = 0, attempt: int = 0
    ) -> Question:
        """Return what the model is asked.

        Args:
            items: One item; in joint mode the responses to one instance, in the order shown.
            repeat: Which repetition, from 0.
            attempt: 0, or 1 where the first reply could not be used.

        Raises:
            InvalidOption: An item that the rubric is not about, or too many.
        """
        for item in items:
            check_item(self.rubric, item)
        sample = repeat * _TRIES + attempt
        seed = self._settings.seed
        settings = self._settings._replace(
            reply_schema=reply_schema(self.mode, len(items)),
            sample=sample,
            seed=None if seed is None else seed + sample,
        )
        text = message(items, self.mode, most_characters=self._most_characters)
        return Question(context_of(self.rubric, self.mode, text), (), settings)

    async def score(self, items: Sequence[JudgedItem], *, repeat: int = 0) -> list[RubricScore]:
        """Score items by one question.

        Args:
            items: See `question`.
            repeat: Which repetition, from 0.

        Returns:
            A score for each item, in their order, with what it cost. What the first reply left
            open is taken from the second.

        Raises:
            InvalidOption: See `question`; or the model has no key.
        """
        found, usage = [RubricScore(None)] * len(items), None
        sample = 0
        for _ in range(_TRIES):
            reply = await self.asker.ask(self.question(items, repeat=repeat, attempt=sample))
            usage = added(usage, reply.usage)
            found = [
                _kept(old, new)
                for old, new in zip(found, self._read(reply, len(items)), strict=True)
            ]
            if not any(item.missing in _WORTH_ANOTHER for item in found) or _is_final(reply):
                break
            # Errors are not kept in a cache: the same question is asked again.
            sample += found[0].missing != "error"
        shares = shared_out(usage, len(items))
        return [
            score._replace(usage=share, repeat=repeat)
            for score, share in zip(found, shares, strict=True)
        ]

    def _read(self, reply: Reply, n: int) -> list[RubricScore]:
        return [read_score(reply)] if self.mode == "single" else read_scores(reply, n)


def _kept(first: RubricScore, second: RubricScore) -> RubricScore:
    """Return what counts of two tries; a limit before the second does not hide the first."""
    if first.score is not None:
        return first
    if second.missing == "not_asked" and first.missing is not None:
        return first._replace(
            missing_reason=f"{first.missing_reason}; then {second.missing_reason}"
        )
    return second


def _is_final(reply: Reply) -> bool:
    return reply.missing is not None and reply.missing.is_final
