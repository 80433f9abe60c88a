"""What tools answered in recorded conversations, in order, with the writes made before."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from datetime import datetime
from typing import Final, NamedTuple

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.replay.recordings.histories import Write, history_marks, telling_values
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


class Recording(NamedTuple):
    """One answer of one tool in one conversation.

    Attributes:
        key: The canonical key of the call.
        name: Of the tool.
        arguments: Of the call.
        ordinal: Which call of this key in its conversation, from 1.
        result: What came back.
        turn: Index of the turn that made the call.
        place: Of the call among the agent's calls, from 0.
        n_writes: Writes of the conversation that were made before.
    """

    key: str
    name: str
    arguments: Json
    ordinal: int
    result: Result
    turn: int
    place: int
    n_writes: int


class Conversation(NamedTuple):
    """The recordings of one conversation.

    Attributes:
        id: Of the trace.
        group: The leave-out unit: a conversation of the same group is never borrowed from.
        recordings: In the order of the calls.
        writes: In order; `Recording.n_writes` counts into it.
        unanswered: Keys of calls without a recorded result.
        started_at: When it began, where known.
        marks: `history_marks` of the writes.
    """

    id: str
    group: str
    recordings: tuple[Recording, ...]
    writes: tuple[Write, ...]
    unanswered: frozenset[str] = frozenset()
    started_at: datetime | None = None
    marks: tuple[int, ...] = (0,)

    def writes_before(self, recording: Recording) -> tuple[Write, ...]:
        """Return the writes made before a recording of this conversation."""
        return self.writes[: recording.n_writes]


def conversation_of(trace: Trace, effect_of: EffectOf) -> Conversation:
    """Return what tools answered to the agent of a trace.

    Calls that others made (a simulated customer) are left out. Without a group, conversations of
    one task, else of one session, are a group.
    """
    seen: Counter[str] = Counter()
    recordings: list[Recording] = []
    writes: list[Write] = []
    unanswered: set[str] = set()
    place = 0
    for turn in trace.turns:
        for call in turn.calls:
            if call.requested_by != "agent":
                continue
            key = call_key(call.name, call.arguments)
            result = call.result
            if call.arguments is UNKNOWN or result is None or not is_answer(result):
                unanswered.add(key)
            else:
                seen[key] += 1
                recordings.append(
                    Recording(
                        key,
                        call.name,
                        call.arguments,
                        seen[key],
                        result,
                        turn.index,
                        place,
                        len(writes),
                    )
                )
            if effect_of(call.name) in WRITES:
                took_effect = None if key in unanswered else call.failed is False
                writes.append(Write(key, telling_values(call.arguments), took_effect))
            place += 1
    return Conversation(
        id=trace.id,
        group=group_of(trace),
        recordings=tuple(recordings),
        writes=tuple(writes),
        unanswered=frozenset(unanswered),
        started_at=next((t.started_at for t in trace.turns if t.started_at is not None), None),
        marks=history_marks(writes),
    )


def group_of(trace: Trace) -> str:
    """Return the leave-out unit of a trace: its group, else its task, its session, itself."""
    return trace.group or trace.task_id or trace.session_id or trace.id


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
