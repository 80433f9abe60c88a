"""Describe an action: its tool, its inputs, whether it succeeded, the state at the time."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, ValidatorFunctionWrapHandler, model_validator
from pydantic_core import PydanticCustomError

from tracedance_sdk.grading.criterion import Flag, SpecPart
from tracedance_sdk.grading.expected import Expected
from tracedance_sdk.grading.matching import Answer, both
from tracedance_sdk.grading.run_view import RunView
from tracedance_sdk.trace import Call


def _as_name(value: Expected) -> Expected:
    name = value.source
    if isinstance(name, str) and any(letter in name for letter in "*?"):
        hint = f'{name!r} as a name matches no other; write {{$glob: "{name}"}} for a pattern'
        raise PydanticCustomError("tool_name", "{hint}", {"hint": hint})
    return value


ToolName = Annotated[Expected, AfterValidator(_as_name)]
"""The name of a tool, or a condition on it. What looks like a pattern and is none is refused: it
would match nothing, and every rule about it would pass. `$literal` names a tool that has one."""


class StateCondition(SpecPart):
    """What the environment's state must be like when an action begins.

    Attributes:
        state: Compared in part: it may hold more than this.
    """

    state: Expected

    def holds(self, call: Call, run: RunView) -> Answer:
        """Whether the state at the time was so; None when it was not recorded."""
        return self.state.holds(run.states.before(call))


class ActionPattern(SpecPart):
    """Which calls are meant. In a specification a bare text is the name of the tool.

    Attributes:
        action: The tool's name, or a condition on it.
        matches: Inputs that the call must have; it may have more. None means any.
        success: Only calls that succeeded (true) or failed (false).
        when: Only calls that began in such a state.
    """

    action: ToolName
    matches: Expected | None = None
    success: Flag | None = None
    when: StateCondition | None = None

    @model_validator(mode="wrap")
    @classmethod
    def _from_name(cls, data: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        if not isinstance(data, (str, dict, cls)):
            raise PydanticCustomError("action_pattern", "a name or an object is needed")
        return handler({"action": data} if isinstance(data, str) else data)

    def fits(self, call: Call, run: RunView) -> Answer:
        """Whether a call is meant; None where the evidence does not tell."""
        named = self.action.holds(call.name)
        if named is False:
            return False
        return both((named, self._input(call), self._success(call), self._state(call, run)))

    @property
    def label(self) -> str:
        """How a sentence names the pattern."""
        name = self.action.source
        text = name if isinstance(name, str) else repr(name)
        if self.matches is not None:
            text += f" {self.matches.source!r}"
        if self.success is not None:
            text += " that succeeds" if self.success else " that fails"
        return text

    def _input(self, call: Call) -> Answer:
        return True if self.matches is None else input_fits(call, self.matches)

    def _success(self, call: Call) -> Answer:
        if self.success is None:
            return True
        found = succeeded(call)
        return None if found is None else found is self.success

    def _state(self, call: Call, run: RunView) -> Answer:
        return True if self.when is None else self.when.holds(call, run)


def input_fits(call: Call, expected: Expected) -> Answer:
    """Whether a call has these inputs, and perhaps more; an empty object is met by every call."""
    if expected.source == {}:
        return True
    return expected.holds(call.arguments, mode="input")


def succeeded(call: Call) -> Answer:
    """Whether a call succeeded; None when that was not recorded or the call was interrupted."""
    if call.result is None or call.result.interrupted:
        return None
    return call.result.ok
