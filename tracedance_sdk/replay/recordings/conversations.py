"""What tools answered in recorded conversations, in order, with the writes made before."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Final, NamedTuple

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.replay.recordings.hidden import is_partly_hidden
from tracedance_sdk.replay.recordings.histories import Write, history_marks
from tracedance_sdk.replay.recordings.subjects import Subject, Subjects, changed_by
from tracedance_sdk.trace import (
    UNKNOWN,
    Effect,
    Json,
    Result,
    Trace,
    blob_digest,
    call_key,
    canonical_json,
)

EffectOf = Callable[[str], Effect]
"""What a use of the tool of this name does to the world."""

WRITES: Final[frozenset[Effect]] = frozenset({"write", "unknown"})
"""Effects that may change the world: what is not known is taken for a write, which is safe."""


_NONE: Final[Mapping[str, tuple[int, ...]]] = MappingProxyType({})


class MadeCall(NamedTuple):
    """A call that an agent made.

    Attributes:
        name: Of the tool.
        arguments: `UNKNOWN` where they were not recorded.
        result: What came back; None where it was not recorded.
        turn: Index of the turn that made it.
    """

    name: str
    arguments: Json
    result: Result | None
    turn: int


class Recording(NamedTuple):
    """One answer of one tool in one conversation.

    Attributes:
        key: The canonical key of the call.
        name: Of the tool.
        arguments: Of the call.
        ordinal: Which call of this key in its conversation, from 1; calls whose answers were not
            recorded are counted, too.
        result: What came back.
        turn: Index of the turn that made the call.
        place: Of the call among the agent's calls, from 0.
        n_writes: Writes of the conversation that were made before.
        is_masked: Whether parts of the answer are masked or were not kept.
    """

    key: str
    name: str
    arguments: Json
    ordinal: int
    result: Result
    turn: int
    place: int
    n_writes: int
    is_masked: bool = False


class Conversation(NamedTuple):
    """The recordings of one conversation.

    Attributes:
        id: Of the trace.
        group: The leave-out unit: a conversation of the same group is never borrowed from.
        recordings: In the order of the calls.
        writes: In order; `Recording.n_writes` counts into it.
        unanswered: Keys of calls without a recorded result, with the ordinals of these.
        started_at: When it began, where known.
        marks: `history_marks` of the writes.
        touched: All that the writes may have changed.
    """

    id: str
    group: str
    recordings: tuple[Recording, ...]
    writes: tuple[Write, ...]
    unanswered: Mapping[str, tuple[int, ...]] = _NONE
    started_at: datetime | None = None
    marks: tuple[int, ...] = (0,)
    touched: Subjects = frozenset()

    def writes_before(self, recording: Recording) -> tuple[Write, ...]:
        """Return the writes made before a recording of this conversation."""
        return self.writes[: recording.n_writes]

    def lost_writes(self, since: int, until: int) -> list[Write]:
        """Return the writes from one place among all to another whose answers are not known."""
        return [write for write in self.writes[since:until] if write.took_effect is None]


def conversation_of(trace: Trace, effect_of: EffectOf) -> Conversation:
    """Return what tools answered to the agent of a trace.

    Calls that others made (a simulated customer) are left out. Without a group, conversations of
    one task, else of one session, are a group.
    """
    calls = (
        MadeCall(call.name, call.arguments, call.result, turn.index)
        for turn in trace.turns
        for call in turn.calls
        if call.requested_by == "agent"
    )
    started_at = next((t.started_at for t in trace.turns if t.started_at is not None), None)
    return conversation_from(trace.id, group_of(trace), calls, effect_of, started_at=started_at)


def conversation_from(
    identity: str,
    group: str,
    calls: Iterable[MadeCall],
    effect_of: EffectOf,
    *,
    started_at: datetime | None = None,
) -> Conversation:
    """Return what tools answered to the calls of a conversation, in order.

    Args:
        identity: Of the conversation.
        group: The leave-out unit.
        calls: All that its agent made.
        effect_of: What tools do to the world.
        started_at: When it began, where known.
    """
    counts: Counter[str] = Counter()
    recordings: list[Recording] = []
    writes: list[Write] = []
    unanswered: dict[str, tuple[int, ...]] = {}
    for place, (name, arguments, result, turn) in enumerate(calls):
        key = call_key(name, arguments)
        counts[key] += 1
        is_known = arguments is not UNKNOWN and result is not None and is_answer(result)
        if result is None or not is_known:
            unanswered[key] = (*unanswered.get(key, ()), counts[key])
        else:
            masked = is_partly_hidden(result)
            recordings.append(
                Recording(
                    key, name, arguments, counts[key], result, turn, place, len(writes), masked
                )
            )
        if effect_of(name) in WRITES:
            took_effect = None if result is None or not is_known else result.ok is not False
            writes.append(Write(key, changed_by(name, arguments), took_effect))
    return Conversation(
        id=identity,
        group=group,
        recordings=tuple(recordings),
        writes=tuple(writes),
        unanswered=unanswered,
        started_at=started_at,
        marks=history_marks(writes),
        touched=frozenset[Subject]().union(*(write.subjects for write in writes)),
    )


def group_of(trace: Trace) -> str:
    """Return the leave-out unit of a trace: its group, else its task, its session, itself.

    A sub-agent's that has none of them is of the unit of the trace that started it.
    """
    started_by = trace.id if trace.parent is None else trace.parent.trace_id
    return trace.group or trace.task_id or trace.session_id or started_by


class RecordingIndex:
    """Finds the recordings of a call in many conversations.

    Args:
        conversations: In the order in which candidates of one call are to be named.

    Raises:
        InvalidOption: Two conversations have one id.
    """

    def __init__(self, conversations: Iterable[Conversation]) -> None:
        self.conversations = tuple(conversations)
        self._numbers: dict[str, int] = {}
        for number, conversation in enumerate(self.conversations):
            if self._numbers.setdefault(conversation.id, number) != number:
                raise InvalidOption(f"two conversations have the id {conversation.id!r}")
        self._found: dict[str, dict[int, list[Recording]]] = defaultdict(dict)
        self._of_tool: dict[str, list[tuple[int, Recording]]] = defaultdict(list)
        self._unanswered: dict[str, list[int]] = defaultdict(list)
        self._said: dict[int, Hashable] = {}
        for number, conversation in enumerate(self.conversations):
            for key in conversation.unanswered:
                self._unanswered[key].append(number)
            for recording in conversation.recordings:
                self._found[recording.key].setdefault(number, []).append(recording)
                self._of_tool[recording.name].append((number, recording))

    def number_of(self, identity: str) -> int | None:
        """Return the place of a conversation; None where there is none of that id."""
        return self._numbers.get(identity)

    def of_call(self, key: str) -> Mapping[int, list[Recording]]:
        """Return the recordings of a call by the number of their conversation, both in order."""
        return self._found.get(key, {})

    def without_answer(self, key: str) -> list[int]:
        """Return the numbers of the conversations that made a call whose answer is not recorded."""
        return self._unanswered.get(key, [])

    def said(self, recording: Recording) -> Hashable:
        """Return what a recording answers, as something that is equal for equal answers."""
        mark = id(recording)
        if mark not in self._said:
            self._said[mark] = _said(recording.result)
        return self._said[mark]

    def of_tool(self, name: str) -> list[tuple[int, Recording]]:
        """Return all recordings of a tool with the number of their conversation, in order."""
        return self._of_tool.get(name, [])

    @property
    def tools(self) -> list[str]:
        """Names of the recorded tools, sorted."""
        return sorted(self._of_tool)


def _said(result: Result) -> Hashable:
    error = None if result.error is None else (result.error.type, result.error.message)
    content = None if result.content is UNKNOWN else result.content
    # Most answers are texts, which need not be written as JSON to be told apart.
    told = content if isinstance(content, str) else canonical_json(content)
    return result.ok, told, error


def is_answer(result: Result) -> bool:
    """Whether what came back is known as it was; a failed call may have no content.

    Content that was cut, left out, or is kept elsewhere is not known.
    """
    content = result.content
    if result.interrupted or result.truncated:
        return False
    if isinstance(content, dict) and blob_digest(content) is not None:
        return False
    return content is not UNKNOWN or result.error is not None
