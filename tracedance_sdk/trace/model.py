"""The trace model: one run of one agent as frozen data.

Three conventions hold throughout:

* None in an optional field means "not recorded" and is absent in files;
* fields typed `Json` may hold null as a value, and `UNKNOWN` when nothing was observed;
* fields this version does not know are kept and written back.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AllowInfNan, BaseModel, BeforeValidator, ConfigDict, Field, Strict

from tracedance_sdk.trace.markers import UNKNOWN, Json
from tracedance_sdk.trace.objects import FORMAT, VERSION, plain

Effect = Literal["pure", "read", "write", "terminal", "unknown"]
Kind = Literal[
    "shell", "read", "write", "edit", "search", "plan", "ask", "send", "subagent", "other"
]
Role = Literal["system", "user", "assistant"]
Origin = Literal["human", "harness", "agent", "environment"]
BoundBy = Literal["id", "key", "order", "synthetic"]
Fitness = Literal["reading", "grading", "state_grading", "next_turn", "rebuilt_test"]


def _text(value: object) -> object:
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return value


def _time(value: object) -> datetime:
    """Return an aware time in UTC; numbers are refused, as nobody knows their unit."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if not isinstance(value, datetime):
        raise ValueError("expected a time as ISO-8601 text")  # noqa: TRY004 - pydantic's contract
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("a time outside the years 1 to 9999") from error


Str = Annotated[str, BeforeValidator(_text)]
"""Text that can be written as UTF-8; a lone surrogate becomes its escape."""

Flag = Annotated[bool, Strict()]
Count = Annotated[int, Strict(), Field(ge=-(2**63), lt=2**64)]
Index = Annotated[int, Strict(), Field(ge=0, lt=2**64)]
Number = Annotated[float, Strict(), AllowInfNan(False)]
"""Not coerced from text or from one another; an integer is a number."""

Time = Annotated[datetime, BeforeValidator(_time)]
"""An aware datetime in UTC; a naive one is taken as UTC."""


class Record(BaseModel):
    """What every part of a trace has in common: frozen, unknown fields kept."""

    model_config = ConfigDict(frozen=True, extra="allow", protected_namespaces=())


class Text(Record):
    """Words of a turn."""

    type: Literal["text"] = "text"
    text: Str


class Reasoning(Record):
    """What a model wrote for itself; never shown to another model."""

    type: Literal["reasoning"] = "reasoning"
    text: Str


class Media(Record):
    """An image, sound, video, document, or any part that is no text.

    Attributes:
        modality: ``image``, ``audio``, ``video``, ``document``, or the source's own word.
        mime_type: Such as ``image/png``.
        uri: Where the content lies, when it is not inline.
        data: Base64 text, a blob stub, or the source's own part, when it is inline.
    """

    type: Literal["media"] = "media"
    modality: Str = "other"
    mime_type: Str | None = None
    uri: Str | None = None
    data: Json = UNKNOWN


Part = Annotated[Text | Reasoning | Media, Field(discriminator="type")]


class ErrorInfo(Record):
    """What went wrong: a type (exception class or the source's code) and a message."""

    type: Str
    message: Str = ""


class Result(Record):
    """What came back from a call.

    Attributes:
        ok: True, False, or None when the source does not tell.
        content: The value returned; `UNKNOWN` when there is none (an exception, an interruption).
        error: Type and message, when the call failed.
        exit_code: Of a process.
        interrupted: The call never came to its end.
        truncated: The source cut the content.
    """

    ok: Flag | None = None
    content: Json = UNKNOWN
    error: ErrorInfo | None = None
    exit_code: Count | None = None
    interrupted: Flag = False
    truncated: Flag = False


class Call(Record):
    """One use of a tool.

    Attributes:
        index: Position among all calls of the trace, from 0; reports speak of ``index + 1``.
        id: Unique within the trace where the source allows; may repeat in foreign traces.
        name: The tool's name.
        arguments: The arguments by name, or what the source gave; `UNKNOWN` when not recorded.
        raw_arguments: The text the model wrote, where it is not the JSON of `arguments`.
        result: What came back; None when never recorded.
        requested_by: ``agent``; ``user`` for a simulated user's call; ``tool`` for a call made
            inside another call (`parent_call_id` names it).
        bound_by: How the executed call was matched to the model's request; None where the
            source gives request and result as one. A call nobody asked for is ``synthetic``.
        state_change: JSON Patch of the environment's state, when recorded per call.
        duration_ms: Of the execution, on a monotonic clock.
    """

    index: Index
    id: Str
    name: Str
    arguments: Json = UNKNOWN
    raw_arguments: Str | None = None
    result: Result | None = None
    requested_by: Literal["agent", "user", "tool"] = "agent"
    parent_call_id: Str | None = None
    bound_by: BoundBy | None = None
    state_change: list[dict[str, Json]] | None = None
    started_at: Time | None = None
    duration_ms: Number | None = None

    @property
    def failed(self) -> bool:
        """Whether the call is known to have failed."""
        return self.result is not None and self.result.ok is False

    @property
    def made_here(self) -> bool:
        """Whether it was made in this run, although a turn of an earlier one asked for it."""
        return (self.__pydantic_extra__ or {}).get("made_here") is True


class Usage(Record):
    """Tokens and cost of one model turn; None where not reported.

    `input_tokens` includes cached ones, `output_tokens` includes reasoning.
    """

    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_read_tokens: Count | None = None
    cache_write_tokens: Count | None = None
    reasoning_tokens: Count | None = None
    cost_usd: Number | None = None


class Turn(Record):
    """One message of the conversation, with the calls it requested.

    What else became of it are further fields of its file, read by `error`, `interrupted`,
    `not_seen`, `copied_context` and `context_rewritten`: each has a value for every turn.

    Attributes:
        index: Position in the trace, from 0.
        role: Who speaks to whom in the model's terms.
        origin: Who really wrote it: a human, the harness, the agent, or the environment.
        content: Text, reasoning and media, in order.
        calls: In order of execution; those never executed last, in the order requested.
        settings: Sampling settings sent to the model, by the provider's names.
        synthetic: Opened by a call made outside any model turn.

    Example:
        >>> told = {"index": 1, "role": "assistant", "origin": "agent"}
        >>> turn = Turn.model_validate({**told, "error": {"type": "Refused", "message": "no"}})
        >>> turn.error, turn.interrupted
        (ErrorInfo(type='Refused', message='no'), False)
    """

    index: Index
    role: Role
    origin: Origin
    content: tuple[Part, ...] = ()
    calls: tuple[Call, ...] = ()
    name: Str | None = None
    model: Str | None = None
    finish_reason: Str | None = None
    usage: Usage | None = None
    settings: dict[str, Json] | None = None
    started_at: Time | None = None
    ended_at: Time | None = None
    synthetic: Flag = False

    @property
    def text(self) -> str:
        """The turn's text parts joined by newlines; reasoning and media left out."""
        return "\n".join(part.text for part in self.content if isinstance(part, Text))

    @property
    def actions(self) -> tuple[Call, ...]:
        """The agent's own calls that were made in this run, in order.

        Not a simulated user's, not those inside a call, and not those of a turn that was copied
        from an earlier run, unless this run made them.
        """
        calls: tuple[Call, ...] = self.__dict__["calls"]
        if not calls:
            return ()
        if self.__pydantic_extra__ and self.copied_context:
            calls = tuple([call for call in calls if call.made_here])
        # Records are plain objects: their dicts are read faster than their attributes.
        return tuple([call for call in calls if call.__dict__["requested_by"] == "agent"])

    @property
    def error(self) -> ErrorInfo | None:
        """Why the model call failed, or broke off; None where it is not known to have failed."""
        told = self._further("error")
        if isinstance(told, dict) and isinstance(told.get("type"), str):
            message = told.get("message")
            return ErrorInfo(type=told["type"], message=message if isinstance(message, str) else "")
        return None

    @property
    def interrupted(self) -> bool:
        """Whether the model call was left or cancelled before its reply had come to its end."""
        return self._further("interrupted") is True

    @property
    def not_seen(self) -> bool:
        """Whether a reply came that the recorder could not see."""
        return self._further("not_seen") is True

    @property
    def copied_context(self) -> bool:
        """Whether the agent was handed this turn, and it was not said in this run."""
        return self._further("copied_context") is True

    @property
    def context_rewritten(self) -> bool:
        """Whether the model was shown something else than the turns before this one."""
        return self._further("context_rewritten") is True

    def _further(self, name: str) -> object:
        return (self.__pydantic_extra__ or {}).get(name)


class ToolDefinition(Record):
    """A tool as the model was shown it.

    Attributes:
        parameters: JSON Schema of the arguments.
        origin: ``recorded`` with the run, ``known`` from a table of clients, or ``inferred``.
        effect: What a use does to the world; matters for replay.
        kind: What sort of tool it is; matters for behaviours.
    """

    name: Str
    description: Str | None = None
    parameters: dict[str, Json] | None = None
    origin: Literal["recorded", "known", "inferred"] = "recorded"
    effect: Effect = "unknown"
    kind: Kind = "other"


class Agent(Record):
    """Who ran."""

    name: Str = "agent"
    version: Str | None = None


class Parent(Record):
    """The trace, and the call in it, that started this sub-agent."""

    trace_id: Str
    call_id: Str | None = None


class OtelContext(Record):
    """Where the run stands in OpenTelemetry: lower-case hex ids."""

    trace_id: Str
    root_span_id: Str


class Source(Record):
    """Where a trace was taken from."""

    collector: Str
    uri: Str | None = None
    native_id: Str | None = None


class Outcome(Record):
    """What the source says of the run as a whole.

    Attributes:
        success: The source's own verdict.
        reward: The source's own number.
        ended: Whether the run came to its proper end, as far as the source tells.
        error: What stopped the run.
        details: Everything else the source recorded of the outcome.
    """

    success: Flag | None = None
    reward: Number | None = None
    ended: Flag | None = None
    error: ErrorInfo | None = None
    details: dict[str, Json] = Field(default_factory=dict)


class Note(Record):
    """One kind of defect: how often, and up to five places (``turns[3].calls[0]``)."""

    kind: Str
    count: Count = 1
    places: tuple[Str, ...] = ()


class Fidelity(Record):
    """What is missing, truncated, guessed or unknown, and what the trace is fit for."""

    notes: tuple[Note, ...] = ()
    fit_for: tuple[Fitness, ...] = ()

    def count(self, kind: str) -> int:
        """How often a kind of defect was noted; 0 when it was not."""
        return sum(note.count for note in self.notes if note.kind == kind)


class Trace(Record):
    """One run of one agent, from the environment's initial state to its final one.

    Attributes:
        id: 32 hex characters where we made it.
        session_id: The conversation that several runs belong to.
        parent: Of a sub-agent's run: the trace and the call that started it.
        otel: The OpenTelemetry trace and root span it was recorded or exported as.
        group: The leave-out unit, such as the task that several trials share.
        task_id: What the run is about, by which a specification is found.
        tools: What the agent could use, as far as that is known.
        turns: In order, each with the calls it asked for.
        initial_state: The environment before; `UNKNOWN` when it was never seen.
        final_state: The environment after; `UNKNOWN` when it was never seen.
        outcome: What the source itself says came of the run.
        fidelity: What is missing or guessed, and what the trace is fit for.
        source: The file or system it was read from; None where it was recorded here.
        metadata: Whatever else was kept with it, as JSON.

    Example:
        >>> call = Call(index=0, id="1", name="send_email", arguments={"to": "Sam"})
        >>> turn = Turn(index=0, role="assistant", origin="agent", calls=(call,))
        >>> trace = Trace(id="run-1", turns=(turn,), final_state={"sent": True})
        >>> [call.name for call in trace.actions], trace.initial_state is UNKNOWN
        (['send_email'], True)
    """

    id: Str = Field(min_length=1)
    session_id: Str | None = None
    parent: Parent | None = None
    otel: OtelContext | None = None
    group: Str | None = None
    task_id: Str | None = None
    agent: Agent = Agent()
    system_prompt: Str | None = None
    tools: tuple[ToolDefinition, ...] = ()
    turns: tuple[Turn, ...] = ()
    initial_state: Json = UNKNOWN
    final_state: Json = UNKNOWN
    outcome: Outcome | None = None
    fidelity: Fidelity = Fidelity()
    source: Source | None = None
    started_at: Time | None = None
    ended_at: Time | None = None
    metadata: dict[str, Json] = Field(default_factory=dict)

    @property
    def calls(self) -> tuple[Call, ...]:
        """Every call, whoever asked for it, in order."""
        found: list[Call] = []
        for turn in self.turns:
            # Records are plain objects: their dicts are read faster than their attributes.
            found += turn.__dict__["calls"]
        return tuple(found)

    @property
    def actions(self) -> tuple[Call, ...]:
        """The agent's own calls in order, those of every turn; see `Turn.actions`."""
        found: list[Call] = []
        for turn in self.turns:
            found += turn.actions
        return tuple(found)

    def places(self) -> Iterator[tuple[str, Call]]:
        """Yield ``("turns[i].calls[j]", call)`` for every call, in order."""
        for turn in self.turns:
            for position, call in enumerate(turn.calls):
                yield f"turns[{turn.index}].calls[{position}]", call

    def before(self, turn: int) -> tuple[Turn, ...]:
        """What the model saw before the turn with this index: earlier turns, no reasoning.

        Args:
            turn: Its index; the number of turns for the one that would follow the last.

        Raises:
            IndexError: No such turn.
        """
        if not 0 <= turn <= len(self.turns):
            raise IndexError(f"turn {turn} of a trace with {len(self.turns)} turns")
        return tuple(
            earlier.model_copy(
                update={
                    "content": tuple(p for p in earlier.content if not isinstance(p, Reasoning))
                }
            )
            for earlier in self.turns[:turn]
        )

    def find_call(self, call_id: str) -> Call | None:
        """Return the first call with this id, or None."""
        return next((call for call in self.calls if call.id == call_id), None)

    def to_dict(self) -> dict[str, Any]:
        """Return the versioned document that `load_trace` reads back (see `encode`)."""
        return {"format": FORMAT, "version": VERSION, **plain(self)}
