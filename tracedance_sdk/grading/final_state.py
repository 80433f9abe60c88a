"""What the environment is like in the end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.grading.criterion import Criterion
from tracedance_sdk.grading.expected import Expected, read_expected
from tracedance_sdk.grading.grades import Finding, brief
from tracedance_sdk.grading.matching import ABSENT, Answer, Difference, Mode, answer
from tracedance_sdk.grading.run_view import RunView
from tracedance_sdk.trace import UNKNOWN, Json, covers, split

MOST_DIFFERENCES = 100


def _pointer(pattern: str) -> str:
    try:
        split(pattern)
    except InvalidOption as error:
        raise PydanticCustomError("pointer", "{text}", {"text": str(error)}) from error
    return pattern


PointerPattern = Annotated[str, AfterValidator(_pointer)]
"""A JSON Pointer in which ``*`` is any one step and ``**`` any number of steps."""


class FinalState(Criterion):
    """The final state is as expected, or as one of several that are acceptable.

    Attributes:
        expected_state: The one acceptable end; this or `any_of`.
        any_of: The acceptable ends.
        match: ``partial``: the state may hold more than expected; ``exact``: nothing more.
        ignore_paths: Places that are not compared, with all below them.
    """

    type: Literal["final_state"] = "final_state"
    # Null is a state like others, so it must not be taken for the absence of an expected one.
    expected_state: Annotated[Expected | None, BeforeValidator(read_expected)] = None
    any_of: tuple[Expected, ...] = Field(default=(), max_length=100)
    match: Literal["partial", "exact"] = "partial"
    ignore_paths: tuple[PointerPattern, ...] = ()

    passing: ClassVar[str] = "the final state is as expected"

    @model_validator(mode="after")
    def _one_way(self) -> FinalState:
        if (self.expected_state is None) is (not self.any_of):
            text = "give either 'expected_state' or 'any_of' (a list of acceptable states)"
            raise PydanticCustomError("expected_state", "{text}", {"text": text})
        return self

    @property
    def acceptable(self) -> tuple[Expected, ...]:
        """The acceptable ends: one or more."""
        return self.any_of if self.expected_state is None else (self.expected_state,)

    def differences(self, expected: Expected, state: Json) -> list[Difference]:
        """Return where a state is not, or may not be, as one acceptable end."""
        mode: Mode = self.match
        found = expected.differences(state, mode=mode)
        if not self.ignore_paths:
            return found
        return [item for item in found if not self._ignores(item.path)]

    def accepts(self, expected: Expected, state: Json) -> Answer:
        """Whether a state is as one acceptable end; None where the evidence does not tell."""
        return answer(self.differences(expected, state))

    def findings(self, run: RunView) -> Iterator[Finding]:
        """Yield how the final state differs from the acceptable end that is nearest to it."""
        if run.final_state is UNKNOWN:
            yield Finding(run.evidence("the final state was not recorded"), certain=False)
            return
        nearest = min(
            (self.differences(expected, run.final_state) for expected in self.acceptable),
            key=_distance,
        )
        certain = [item for item in nearest if item.certain] or nearest
        for difference in certain[:MOST_DIFFERENCES]:
            yield _finding(run, difference)

    def _ignores(self, path: str) -> bool:
        return any(covers(pattern, path) for pattern in self.ignore_paths)


def _distance(found: list[Difference]) -> tuple[int, int]:
    """Sort ends that may be met before those that are not, then by how much is missing."""
    certain = sum(item.certain for item in found)
    return certain, len(found)


def _finding(run: RunView, difference: Difference) -> Finding:
    evidence = run.evidence(
        difference_text(difference),
        path=difference.path,
        expected=difference.expected,
        found=difference.found,
    )
    return Finding(evidence, difference.certain)


def difference_text(difference: Difference) -> str:
    """Return a sentence for a difference between a state and an expected one."""
    place = difference.path or "the whole state"
    if not difference.certain:
        return f"{place} cannot be compared: {_why(difference.found)}"
    if difference.found is ABSENT:
        return f"{place} is missing; expected {brief(difference.expected)}"
    if difference.expected is ABSENT:
        return f"{place} is {brief(difference.found)}; expected nothing there"
    return f"{place} is {brief(difference.found)}; expected {brief(difference.expected)}"


def _why(found: Any) -> str:
    if found is UNKNOWN:
        return "it was not recorded"
    return "it is masked, cut, kept elsewhere or an object not written out"
