"""What a rebuilt test may see of the recordings: its own conversation, and those of other groups.

Several conversations of one group are the same customer at the same moment, which production never
has. A test that borrows from its own group would be told what it is to find out. `Shelf` holds the
permitted ones and no way to the others.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from tracedance_sdk.errors import ForbiddenRecording, InvalidOption
from tracedance_sdk.replay.recordings.conversations import Conversation, Recording, RecordingIndex


class Borrowed(NamedTuple):
    """A recording of another conversation."""

    conversation: Conversation
    recording: Recording


def recording_at(
    conversation: Conversation, found: Sequence[Recording], key: str, number: int
) -> Recording | None:
    """Return the n-th recording of a call, the last one where it was made less often.

    Args:
        conversation: Where it was made.
        found: Its recordings of the call, in order.
        key: Of the call.
        number: From 1.

    Returns:
        None where that answer was not recorded.
    """
    lost = conversation.unanswered.get(key, ())
    if not lost:
        return found[min(number, len(found)) - 1] if found else None
    wanted = min(number, len(found) + len(lost))
    return next((recording for recording in found if recording.ordinal == wanted), None)


class Shelf:
    """The recordings that one test may read.

    Args:
        index: Of all conversations.
        own: Id of the test's conversation.
        excluded_groups: Groups that are not borrowed from, beside the conversation itself.
        excluded_ids: Conversations that are not borrowed from.

    Raises:
        InvalidOption: The index has no such conversation.
    """

    def __init__(
        self,
        index: RecordingIndex,
        own: str,
        *,
        excluded_groups: Iterable[str],
        excluded_ids: Iterable[str] = (),
    ) -> None:
        groups, ids = frozenset(excluded_groups), {own, *excluded_ids}
        number = index.number_of(own)
        if number is None:
            raise InvalidOption(f"no conversation {own!r} among the recordings")
        self._number = number
        self.own = index.conversations[number]
        self._index = index
        self._permitted = tuple(
            c.group not in groups and c.id not in ids for c in index.conversations
        )

    @property
    def permitted(self) -> list[Conversation]:
        """The conversations that may be borrowed from, in order."""
        pairs = zip(self._index.conversations, self._permitted, strict=True)
        return [conversation for conversation, may in pairs if may]

    def own_recordings(self, key: str) -> list[Recording]:
        """Return the recordings of a call in the test's own conversation, in order."""
        return self._index.of_call(key).get(self._number, [])

    def own_recording(self, key: str, number: int) -> Recording | None:
        """Return what the test's own conversation was told the n-th time it made a call.

        Args:
            key: Of the call.
            number: From 1; when the call was made less often there, the last time counts.

        Returns:
            None where it never made the call, or where that answer was not recorded.
        """
        return recording_at(self.own, self.own_recordings(key), key, number)

    def candidates(self, key: str) -> Iterator[tuple[Conversation, list[Recording]]]:
        """Yield the recordings of a call by conversation that may be borrowed from, in order."""
        for number, found in self._index.of_call(key).items():
            if self._permitted[number]:
                yield self._index.conversations[number], found

    def said(self, recording: Recording) -> Hashable:
        """Return what a recording answers, as something that is equal for equal answers."""
        return self._index.said(recording)

    def lost_answer(self, key: str) -> bool:
        """Whether a conversation that may be read made this call and its answer is not recorded."""
        return any(
            number == self._number or self._permitted[number]
            for number in self._index.without_answer(key)
        )

    def of_tool(self, name: str) -> Iterator[Borrowed]:
        """Yield all recordings of a tool that may be borrowed, in order."""
        for number, recording in self._index.of_tool(name):
            if self._permitted[number]:
                yield Borrowed(self._index.conversations[number], recording)

    @property
    def tools(self) -> list[str]:
        """Names of the tools recorded anywhere, sorted."""
        return self._index.tools

    def conversation(self, identity: str) -> Conversation:
        """Return a conversation by its id.

        Raises:
            ForbiddenRecording: This test may not read it, or there is none.
        """
        number = self._index.number_of(identity)
        if number is not None and (number == self._number or self._permitted[number]):
            return self._index.conversations[number]
        raise ForbiddenRecording(
            f"the test of {self.own.id!r} may not read the conversation {identity!r}"
        )
