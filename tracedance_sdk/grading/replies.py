"""What the agent said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import AfterValidator, model_validator
from pydantic_core import PydanticCustomError

from tracedance_sdk.grading.criterion import Criterion, Flag, Words
from tracedance_sdk.grading.grades import Finding
from tracedance_sdk.grading.matching import Answer, either
from tracedance_sdk.grading.predicates import compile_regex
from tracedance_sdk.grading.run_view import RunView
from tracedance_sdk.trace import MASK

_MASKED: Final = re.compile(MASK.pattern, re.IGNORECASE)

_NOWHERE: Final = {
    "any": "is in none of the {replies}",
    "last": "is not in the last of the {replies}",
    "every": "is not in every one of the {replies}",
}

Normalisation = Literal["remove_commas", "fold_case", "collapse_space"]


def _readable(pattern: str) -> str:
    try:
        compile_regex(pattern)
    except ValueError as error:
        raise PydanticCustomError("regex", "{text}", {"text": str(error)}) from error
    return pattern


Regex = Annotated[str, AfterValidator(_readable)]
"""An RE2 pattern."""


class Reply(Criterion):
    """The agent's replies hold certain words. Reasoning does not count as a reply.

    Attributes:
        contains: Texts that must all be there, each in any of the replies looked at.
        regex: An RE2 pattern that must be found.
        replies: ``any``: it is enough when one reply has it; ``last``: the last one must;
            ``every``: each one must.
        beside_calls: Whether text beside a request for calls counts too; some harnesses never
            show it to the user.
        normalize: What is done to replies and to `contains` (not to `regex`) before comparing.
    """

    type: Literal["reply"] = "reply"
    contains: Words = ()
    regex: Regex | None = None
    replies: Literal["any", "last", "every"] = "any"
    beside_calls: Flag = True
    normalize: tuple[Normalisation, ...] = ()

    passing: ClassVar[str] = "the replies hold what they should"

    @model_validator(mode="after")
    def _something(self) -> Reply:
        if not self.contains and self.regex is None:
            text = "give 'contains' (one text or several) or 'regex'"
            raise PydanticCustomError("reply", "{text}", {"text": text})
        return self

    def findings(self, run: RunView) -> Iterator[Finding]:
        """Yield each text or pattern that the replies do not, or may not, hold."""
        turns = [turn for turn in run.replies if self.beside_calls or not turn.calls]
        texts = [self._normal(turn.text) for turn in turns]
        lost = run.trace.fidelity.count("content_off") > 0
        for wanted in self.contains:
            needle = self._normal(wanted)
            found = self._over([_contains(text, needle) for text in texts], lost=lost)
            if found is not True:
                what = f"the text {wanted!r}"
                yield self._finding(run, len(texts), what, found=found, expected=wanted)
        if self.regex is not None:
            regex = compile_regex(self.regex)
            found = self._over([_searches(regex, text) for text in texts], lost=lost)
            if found is not True:
                what = f"the pattern {self.regex!r}"
                expected = {"$regex": self.regex}
                yield self._finding(run, len(texts), what, found=found, expected=expected)

    def _over(self, answers: list[Answer], *, lost: bool) -> Answer:
        """Join the answers for single replies; where content was lost, nothing is excluded."""
        if self.replies == "last":
            answers = answers[-1:]
        if self.replies == "every" and answers:
            found = either(None if item is None else not item for item in answers)
            joined = None if found is None else not found
        else:
            joined = either(answers)
        return None if lost and joined is False else joined

    def _normal(self, text: str) -> str:
        for step in self.normalize:
            if step == "remove_commas":
                text = text.replace(",", "")
            elif step == "fold_case":
                text = text.casefold()
            else:
                text = " ".join(text.split())
        return text

    def _finding(
        self, run: RunView, n_replies: int, what: str, *, found: Answer, expected: Any
    ) -> Finding:
        if found is None:
            text = f"whether {what} is in the replies cannot be told: masked or not recorded"
        elif not n_replies:
            text = f"{what} is in no reply: the agent gave none"
        elif n_replies == 1:
            text = f"{what} is not in the only reply"
        else:
            text = f"{what} {_NOWHERE[self.replies].format(replies=f'{n_replies} replies')}"
        return Finding(run.evidence(text, expected=expected), found is False)


def _contains(text: str, needle: str) -> Answer:
    if "[masked:" not in text.casefold():
        return needle in text
    # Words beside a masked secret are certain; words that are not there may be part of it.
    return True if any(needle in part for part in _MASKED.split(text)) else None


def _searches(regex: Any, text: str) -> Answer:
    if "[MASKED:" in text:
        return None
    return regex.search(text) is not None
