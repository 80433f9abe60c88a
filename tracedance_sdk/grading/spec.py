"""`TaskSpec`: what a run of a task must, may and must not do, as data."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, ClassVar, Final

from pydantic import (
    ConfigDict,
    Discriminator,
    Field,
    SerializerFunctionWrapHandler,
    StringConstraints,
    Tag,
    ValidatorFunctionWrapHandler,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError

from tracedance_sdk.grading.attempts import Idempotence, Recovery
from tracedance_sdk.grading.counting import Budget, Counts
from tracedance_sdk.grading.criterion import Criterion, Flag, SpecPart, plain_json, written
from tracedance_sdk.grading.final_state import FinalState
from tracedance_sdk.grading.grades import Dimension
from tracedance_sdk.grading.inputs import AcceptableInputs, CriticalErrors
from tracedance_sdk.grading.invariants import Invariant
from tracedance_sdk.grading.misspelt import Mention, NamedTools, mentions, named_tools, unmatched
from tracedance_sdk.grading.plugin_graders import Grader, grader_types, make_grader
from tracedance_sdk.grading.replies import Reply
from tracedance_sdk.grading.run_outcome import RunOutcome
from tracedance_sdk.grading.sequences import ForbiddenSequence, Order, RequiredActions
from tracedance_sdk.grading.trajectories import Trajectory
from tracedance_sdk.grading.unexpected_changes import MOST_COMBINATIONS, UnexpectedChanges
from tracedance_sdk.trace import UNKNOWN, Fitness, Json, Trace, json_digest

FORMAT: Final = "tracedance.task"
VERSION: Final = 1

_PLUGIN: Final = "installed grader"


class PluginCriterion(Criterion):
    """A criterion whose grader another package offers; its further keys are the parameters.

    Attributes:
        parameters: What the grader is made with; in files they stand beside the other keys.
    """

    parameters: dict[str, Json] = Field(default_factory=dict)

    @model_validator(mode="wrap")
    @classmethod
    def _beside_parameters(cls, data: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        if not isinstance(data, dict) or "parameters" in data:
            return handler(data)
        own = {key for key in data if key in cls.model_fields or str(key).startswith("x-")}
        further = {key: value for key, value in data.items() if key not in own}
        return handler({**{key: data[key] for key in own}, "parameters": further})

    @model_validator(mode="after")
    def _loads(self) -> PluginCriterion:
        try:
            self.__dict__["grader"] = make_grader(self.type, self.parameters)
        except ValueError as error:
            raise PydanticCustomError("grader", "{text}", {"text": str(error)}) from error
        return self

    @model_serializer(mode="wrap")
    def _spread(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = handler(self)
        return written(self, {**fields.pop("parameters", {}), **fields})

    @cached_property
    def grader(self) -> Grader:
        """The grader, made when the criterion was read."""
        return make_grader(self.type, self.parameters)


_BUILT_IN: Final[tuple[type[Criterion], ...]] = (
    FinalState,
    RunOutcome,
    Reply,
    AcceptableInputs,
    CriticalErrors,
    Order,
    RequiredActions,
    ForbiddenSequence,
    Counts,
    Budget,
    Recovery,
    Idempotence,
    Invariant,
    Trajectory,
)
CRITERION_TYPES: Final[dict[str, type[Criterion]]] = {
    kind.model_fields["type"].default: kind for kind in _BUILT_IN
}
"""The types of criteria a specification may name, installed graders aside."""


def _tag(value: Any) -> str | None:
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    if not isinstance(kind, str):
        return None
    return kind if kind in CRITERION_TYPES else _PLUGIN if kind in grader_types() else None


AnyCriterion = Annotated[
    Annotated[FinalState, Tag("final_state")]
    | Annotated[RunOutcome, Tag("outcome")]
    | Annotated[Reply, Tag("reply")]
    | Annotated[AcceptableInputs, Tag("acceptable_inputs")]
    | Annotated[CriticalErrors, Tag("critical_errors")]
    | Annotated[Order, Tag("order")]
    | Annotated[RequiredActions, Tag("required_actions")]
    | Annotated[ForbiddenSequence, Tag("forbidden_sequence")]
    | Annotated[Counts, Tag("counts")]
    | Annotated[Budget, Tag("budget")]
    | Annotated[Recovery, Tag("recovery")]
    | Annotated[Idempotence, Tag("idempotence")]
    | Annotated[Invariant, Tag("invariant")]
    | Annotated[Trajectory, Tag("trajectory")]
    | Annotated[PluginCriterion, Tag(_PLUGIN)],
    Discriminator(
        _tag,
        custom_error_type="criterion_type",
        custom_error_message="not a criterion of a known type",
    ),
]


class JudgePolicy(SpecPart):
    """What a judge's score may do to the verdict.

    Attributes:
        gate: Let a calibrated judge turn pass into fail or inconclusive. It can never turn
            anything else into pass.
    """

    gate: Flag = False


class TaskSpec(SpecPart):
    """A task and its criteria.

    Attributes:
        id: The task's id, by which a registry finds it.
        description: What the agent is to do; judges read it.
        initial_state: Of the environment, for traces that do not hold their own.
        outcomes: What must be achieved. Without a `type`, a criterion here is a ``final_state``.
        actions: What the actions must be like. Without a `type`: ``acceptable_inputs``.
        critical_errors: What must never be done. Without a `type`: ``critical_errors``.
        criteria: Everything else; each names its `type`.
        unexpected_changes: That nothing else changed; graded when the initial state is known and
            there is a final-state criterion. None (in files: false) switches it off.
        requires: What a trace must be fit for; else the verdict is inconclusive at best.
        judge: What a judge's score may do.

    Example:
        >>> spec = TaskSpec(id="mail", outcomes=[{"expected_state": {"sent": True}}])
        >>> spec.outcomes[0].type
        'final_state'
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    id: Annotated[str, StringConstraints(min_length=1, max_length=500)]
    description: str = ""
    initial_state: Json = UNKNOWN
    outcomes: tuple[AnyCriterion, ...] = ()
    actions: tuple[AnyCriterion, ...] = ()
    critical_errors: tuple[AnyCriterion, ...] = ()
    criteria: tuple[AnyCriterion, ...] = ()
    unexpected_changes: UnexpectedChanges | None = UnexpectedChanges()
    requires: tuple[Fitness, ...] = ()
    judge: JudgePolicy = JudgePolicy()

    groups: ClassVar[dict[str, tuple[Dimension, str | None]]] = {
        "outcomes": ("outcome", "final_state"),
        "actions": ("actions", "acceptable_inputs"),
        "critical_errors": ("critical_errors", "critical_errors"),
        "criteria": ("further", None),
    }
    """List of criteria → the dimension it makes, and the type that need not be named in it."""

    @model_validator(mode="wrap")
    @classmethod
    def _filled_in(cls, data: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        if not isinstance(data, dict):
            return handler(data)
        fields = dict(data)
        for group, (_, kind) in cls.groups.items():
            if isinstance(fields.get(group), (list, tuple)):
                fields[group] = [_typed(item, kind) for item in fields[group]]
        frame = fields.get("unexpected_changes")
        if frame is False:
            fields["unexpected_changes"] = None
        elif frame is True:
            fields["unexpected_changes"] = UnexpectedChanges()
        return handler(fields)

    @model_validator(mode="after")
    def _consistent(self) -> TaskSpec:
        seen: set[str] = set()
        for _, _, criterion in self.listed():
            if criterion.id in seen:
                text = f"two criteria have the id {criterion.id!r}"
                raise PydanticCustomError("criterion_id", "{text}", {"text": text})
            if criterion.id is not None:
                seen.add(criterion.id)
        combinations = 1
        for criterion in self.final_states:
            combinations *= len(criterion.acceptable)
        if combinations > MOST_COMBINATIONS:
            text = (
                f"{combinations} combinations of acceptable final states; "
                f"at most {MOST_COMBINATIONS}"
            )
            raise PydanticCustomError("any_of", "{text}", {"text": text})
        return self

    @classmethod
    def suggestion(cls, key: str, known: list[str]) -> str:
        """Return what to say about a key that is unknown here: it may be a criterion."""
        if f"{key}s" not in known and (key in CRITERION_TYPES or key in grader_types()):
            return f"a criterion; write criteria: [{{type: {key}, ...}}]"
        return super().suggestion(key, known)

    @cached_property
    def final_states(self) -> tuple[FinalState, ...]:
        """The final-state criteria that are required to hold."""
        return tuple(
            criterion
            for _, _, criterion in self.listed()
            if isinstance(criterion, FinalState) and not criterion.negate
        )

    def listed(self) -> tuple[tuple[str, Dimension, Criterion], ...]:
        """Return ``(id, dimension, criterion)`` in order; ids that are absent are made."""
        return self._listed

    @cached_property
    def _listed(self) -> tuple[tuple[str, Dimension, Criterion], ...]:
        named = [
            (dimension, criterion)
            for group, (dimension, _) in self.groups.items()
            for criterion in getattr(self, group)
        ]
        taken = {criterion.id for _, criterion in named}
        return tuple(
            (criterion.id or _free_id(criterion.type, taken), dimension, criterion)
            for dimension, criterion in named
        )

    @cached_property
    def mentions(self) -> tuple[Mention, ...]:
        """The tools and arguments that the criteria name."""
        return mentions((name, criterion) for name, _, criterion in self.listed())

    @cached_property
    def _named_tools(self) -> tuple[NamedTools, ...]:
        return named_tools((name, criterion) for name, _, criterion in self.listed())

    def unmatched(self, trace: Trace) -> list[str]:
        """Return which rules name no tool that a trace has or calls, as ``criterion: 'name'``.

        They may be right, as a tool need not be used; of many traces, one that is never matched
        is rather a mistake.
        """
        return unmatched(self._named_tools, trace)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the specification; the same for equal specifications."""
        return json_digest(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return the versioned document in our own notation; defaults are absent."""
        fields: dict[str, Any] = plain_json(self.model_dump(exclude_defaults=True))
        if self.unexpected_changes is None:
            fields["unexpected_changes"] = False
        return {"format": FORMAT, "version": VERSION, **fields}


def _typed(item: Any, kind: str | None) -> Any:
    """Return a criterion with the type that its list lets it leave out."""
    if kind is None or not isinstance(item, dict) or "type" in item:
        return item
    return {"type": kind, **item}


def _free_id(kind: str, taken: set[str | None]) -> str:
    number = 1
    while (name := kind if number == 1 else f"{kind}-{number}") in taken:
        number += 1
    taken.add(name)
    return name
