"""What every part of a specification, and every criterion in it, has in common."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Final, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    StrictBool,
    ValidationError,
    ValidatorFunctionWrapHandler,
    model_serializer,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from tracedance_sdk.grading.grades import Finding
from tracedance_sdk.grading.run_view import RunView
from tracedance_sdk.grading.verdicts import Severity
from tracedance_sdk.trace import Json


def _as_list(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Words = Annotated[tuple[str, ...], BeforeValidator(_as_list)]
"""One text or several."""

Flag = StrictBool
Count = Annotated[int, Field(strict=True, ge=0)]
Positive = Annotated[int, Field(strict=True, ge=1)]
Amount = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]


class SpecPart(BaseModel):
    """A part of a specification: frozen; unknown keys are refused, but for ``x-...``.

    Attributes:
        metadata: Whatever its author wants to keep there; nothing reads it.
        extensions: The ``x-...`` keys; in files they stand beside the others.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    metadata: dict[str, Json] = Field(default_factory=dict)
    extensions: dict[str, Json] = Field(default_factory=dict)

    @model_validator(mode="wrap")
    @classmethod
    def _known_keys_only(cls, data: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        if not isinstance(data, dict):
            return handler(data)
        known = cls.model_fields.keys() - {"extensions"}
        unknown = [key for key in data if key not in known and not str(key).startswith("x-")]
        # Python code may pass the keys set aside as one argument.
        aside = data.get("extensions")
        if isinstance(aside, dict) and all(str(key).startswith("x-") for key in aside):
            unknown = [key for key in unknown if key != "extensions"]
        else:
            aside = {}
        fields = {key: value for key, value in data.items() if key in known}
        aside = aside | {k: v for k, v in data.items() if str(k).startswith("x-")}
        if aside:
            fields["extensions"] = aside
        found: list[InitErrorDetails] = [
            _unknown_key(key, data[key], cls.suggestion(str(key), sorted(known))) for key in unknown
        ]
        try:
            made = handler(fields)
        except ValidationError as error:
            meant = {(suggested_key(str(key), known),) for key in unknown}
            problems = [
                item
                for item in error.errors(include_url=False)
                # A key that is there under another name is one problem, not two.
                if item["type"] != "missing" or item["loc"] not in meant
            ]
            found = [*(same_finding(item, item["loc"]) for item in problems), *found]
        else:
            if not found:
                return made
        raise ValidationError.from_exception_data(cls.__name__, found)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy, as pydantic does, without what was worked out from the old fields."""
        made = super().model_copy(update=update, deep=deep)
        for name in made.__dict__.keys() - type(self).model_fields.keys():
            del made.__dict__[name]
        return made

    @classmethod
    def suggestion(cls, key: str, known: list[str]) -> str:
        """Return what to say about a key that is unknown here."""
        near = suggested_key(key, known)
        return f"did you mean {near!r}?" if near else f"known are {', '.join(known)}"

    @model_serializer(mode="wrap")
    def _beside(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return written(self, handler(self))


class Criterion(SpecPart):
    """One requirement on a run.

    Attributes:
        type: Which kind of requirement it is.
        id: Unique in a specification; made from the type where it is absent.
        severity: What a violation makes of the verdict: ``critical``, ``major`` (fail), or
            ``minor`` (reported only).
        negate: Require the contrary.
    """

    type: str
    id: str | None = Field(default=None, min_length=1)
    name: str = ""
    description: str = ""
    severity: Severity = "major"
    negate: Flag = False

    passing: ClassVar[str] = "holds"
    """What to say when there is no finding."""

    def findings(self, run: RunView) -> Iterable[Finding]:
        """Yield every violation, and every place where one can be neither shown nor excluded."""
        raise NotImplementedError

    def passing_text(self, run: RunView) -> str:  # noqa: ARG002 - for those that tell more
        """Return what to say when there is no finding."""
        return self.passing


def written(part: SpecPart, fields: dict[str, Any]) -> dict[str, Any]:
    """Return a part as it stands in files: its type always, ``x-...`` keys beside the others."""
    beside = fields.pop("extensions", {})
    kind = {"type": part.type} if isinstance(part, Criterion) else {}
    return {**kind, **fields, **beside}


def plain_json(value: Any) -> Any:
    """Return a dumped value with lists for tuples."""
    if isinstance(value, dict):
        return {key: plain_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_json(item) for item in value]
    return value


def _unknown_key(key: Any, value: Any, suggestion: str) -> InitErrorDetails:
    what = f"unknown key {str(key)[:60]!r}; {suggestion}"
    return InitErrorDetails(type=_custom("unknown_key", what), loc=(str(key),), input=value)


_OTHER_WORDS: Final = {
    "args": "matches",
    "arguments": "matches",
    "input": "matches",
    "inputs": "matches",
    "parameters": "matches",
    "name": "action",
    "tool": "action",
    "tool_name": "action",
    "function": "action",
    "max_calls": "max_actions",
    "max_steps": "max_actions",
    "max_tool_calls": "max_actions",
    "max_errors": "max_failures",
    "max_cost": "max_cost_usd",
    "max_duration": "max_duration_ms",
    "before": "first",
    "after": "then",
    "second": "then",
    "text": "contains",
    "pattern": "regex",
    "tools": "actions",
    "state": "expected_state",
    "final_state": "expected_state",
    "expected": "expected_state",
}
"""What other tools call a thing → what it is called here, where that is a key."""


def suggested_key(key: str, known: Iterable[str]) -> str | None:
    """Return the known key that is probably meant by another one."""
    names = sorted(known)
    other = _OTHER_WORDS.get(key.casefold())
    if other == "matches" and other not in names:
        other = "acceptable_inputs"
    near = [other] if other in names else difflib.get_close_matches(key, names, n=1)
    return near[0] if near else None


def same_finding(item: Any, location: tuple[int | str, ...]) -> InitErrorDetails:
    """Return something pydantic found, so that it can be raised again, with its place."""
    return InitErrorDetails(
        type=_custom(item["type"], item["msg"], item.get("ctx")),
        loc=location,
        input=item["input"],
    )


def _custom(kind: str, text: str, context: dict[str, Any] | None = None) -> PydanticCustomError:
    # A text with a context would be taken for a template, so braces in it are kept apart.
    return PydanticCustomError(kind, "{text}", {**(context or {}), "text": text})
