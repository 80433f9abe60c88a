"""Which words mean pass and which mean fail: judges say *satisfied*, *compliant*, *no issues*."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from tracedance_sdk.errors import InvalidJSON, InvalidOption, shown
from tracedance_sdk.trace import Json, find, parse_json, same_json, split, unfenced

_MOST_SHOWN: Final = 40
ABSENT: Final = "not there"


def _pointer(text: str) -> str:
    try:
        split(text)
    except InvalidOption as error:
        raise ValueError(str(error)) from error
    return text


Pointer = Annotated[str, AfterValidator(_pointer)]
"""A JSON Pointer; ``*`` and ``**`` stand for any step and any steps."""


class Place(BaseModel):
    """Where something is said.

    Attributes:
        at: JSON Pointer to it; the first place that fits counts.
        json_at: JSON Pointer within it, where what is said is the text of a JSON document, alone
            or in a code fence.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    at: Pointer = ""
    json_at: Pointer | None = Field(default=None, alias="json")

    def value(self, document: Json) -> tuple[Json, str | None]:
        """Return what stands there, or None with the reason why nothing does."""
        found = next((value for _, value in find(self.at, document)), ...)
        if found is ...:
            return None, ABSENT
        if self.json_at is None:
            return found, None
        if not isinstance(found, str):
            return None, "no text with JSON"
        try:
            inner = parse_json(unfenced(found), where="text")
        except InvalidJSON:
            return None, "no JSON in the text"
        value = next((value for _, value in find(self.json_at, inner)), ...)
        return (None, "not in the JSON of the text") if value is ... else (value, None)


class VerdictPlace(Place):
    """Where a verdict is said, and what its words mean.

    Attributes:
        passing: The words that mean pass. Case and blanks around a text do not matter; numbers
            and true and false are words too.
        failing: The words that mean fail.
        pass_from: In place of words: numbers from this on mean pass, others fail.
    """

    passing: tuple[Json, ...] = Field(default=(), alias="pass")
    failing: tuple[Json, ...] = Field(default=(), alias="fail")
    pass_from: float | None = Field(default=None, allow_inf_nan=False)

    @model_validator(mode="after")
    def _told_apart(self) -> VerdictPlace:
        has_words = bool(self.passing or self.failing)
        if has_words is (self.pass_from is not None):
            raise ValueError("give the words that mean pass and fail, or pass_from")
        for word in self.passing:
            if _is_among(word, self.failing):
                raise ValueError(f"{shown(word)} is among the words for pass and for fail")
        return self

    def verdict(self, document: Json) -> tuple[bool | None, str | None]:
        """Return whether what stands there means pass; None with the reason where that is unknown.

        A word that is in no list is never guessed.

        Example:
            >>> told = VerdictPlace(at="/verdict", passing=["satisfied"], failing=["fail"])
            >>> told.verdict({"verdict": "Satisfied"})
            (True, None)
            >>> told.verdict({"verdict": "mostly"})
            (None, "the word 'mostly' is in no list")
        """
        value, why = self.value(document)
        if why is not None:
            return None, why
        if self.pass_from is not None:
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                return None, f"{shown(value, _MOST_SHOWN)} is no number"
            return value >= self.pass_from, None
        if _is_among(value, self.passing):
            return True, None
        if _is_among(value, self.failing):
            return False, None
        return None, f"the word {shown(value, _MOST_SHOWN)} is in no list"


def _is_among(value: Json, words: tuple[Json, ...]) -> bool:
    if isinstance(value, str):
        plain = value.strip().casefold()
        return any(isinstance(word, str) and word.strip().casefold() == plain for word in words)
    return any(not isinstance(word, str) and same_json(word, value) for word in words)
