"""An answer of a rebuilt test, stamped with where it came from."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from tracedance_sdk.trace import Json, Result

Stamp = Literal["same", "other", "pure", "derived", "simulated", "failed"]

STAMPS: Final[dict[Stamp, str]] = {
    "same": "recorded in this conversation",
    "other": "recorded in another conversation",
    "pure": "computed by the tool itself, which has no effect",
    "derived": "follows from recordings by a proven rule",
    "simulated": "made up by a simulator",
    "failed": "no answer",
}
"""Where an answer came from, in the order in which it is looked for."""

MissKind = Literal[
    "something_new",
    "unknown_tool",
    "recording_incomplete",
    "recording_stale",
    "tool_timeout",
    "tool_untold",
]

MISSES: Final[dict[MissKind, str]] = {
    "something_new": "the agent did something that no recording shows",
    "unknown_tool": "the agent called a tool that there is not",
    "recording_incomplete": "the call was made before, and its answer was not recorded",
    "recording_stale": "the record was written to since, and its new state is not known",
    "tool_timeout": "a pure tool that was run did not return",
    "tool_untold": "a pure tool that was run returned what JSON cannot tell",
}
"""Why no recording could be used."""


class Origin(NamedTuple):
    """The recording that an answer is.

    Attributes:
        conversation: Id of its trace.
        turn: Index of the turn that made the call.
        ordinal: Which call of this key it was there, from 1.
        n_writes: Writes that were made there before.
    """

    conversation: str
    turn: int
    ordinal: int
    n_writes: int = 0


class Nearest(NamedTuple):
    """A recorded call of the same tool that is much like the one that was missed.

    Attributes:
        conversation: Id of its trace.
        arguments: Its arguments.
        differing: Names of the arguments that differ.
    """

    conversation: str
    arguments: Json
    differing: tuple[str, ...]


class Answer(NamedTuple):
    """What a call is answered.

    Attributes:
        stamp: Where the answer came from.
        result: What the agent is told.
        origin: The recording, for `same` and `other`.
        stale: Recorded after other writes to the same records than were made now.
        write_history_differs: Recorded after any other writes than were made now; information.
        n_candidates: Conversations that hold a recording of the call, for `other`.
        n_disagreeing: Of those, how many say something else.
        rule: The rule in words, for `derived`.
        proof: What speaks for the rule, in words.
        simulator: Its name, for `simulated`.
        examples: Recordings that a simulator made its answer after.
        miss: Why no recording could be used, for everything but `same`, `other` and `pure`.
        nearest: Recorded calls that are much alike, where asked for.
        masked: Parts of the recorded answer are masked or were not kept: the agent is told less
            than the tool said.
    """

    stamp: Stamp
    result: Result
    origin: Origin | None = None
    stale: bool = False
    write_history_differs: bool = False
    n_candidates: int = 0
    n_disagreeing: int = 0
    rule: str | None = None
    proof: str | None = None
    simulator: str | None = None
    examples: tuple[Origin, ...] = ()
    miss: MissKind | None = None
    nearest: tuple[Nearest, ...] = ()
    masked: bool = False

    @property
    def is_evidence(self) -> bool:
        """Whether a verdict may rest on it: neither made up, nor missing, nor stale."""
        return self.stamp not in ("simulated", "failed") and not self.stale
