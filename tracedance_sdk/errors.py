"""Every error this library raises, in one tree.

Each leaf is also the nearest builtin exception, so ``except ValueError`` keeps working::

    TraceDanceError
    ├── InvalidJSON          (ValueError)    bytes that are not JSON we accept
    ├── InvalidTrace         (ValueError)    a trace that breaks the model
    ├── InvalidSpec          (ValueError)    a task specification or rubric that breaks the schema
    ├── InvalidTest          (ValueError)    a rebuilt test that breaks the schema
    ├── InvalidOption        (ValueError)    an argument or command-line option out of range
    ├── InvalidJudgement     (ValueError)    a judge's reply that cannot be used
    ├── Unsendable           (ValueError)    a context that a model's API cannot express
    ├── NotEnoughData        (ValueError)    a sample too small or too uniform for an answer
    ├── UnsupportedVersion   (ValueError)    a file of a newer or unknown format version
    ├── UnknownFormat        (ValueError)    no reader recognises the file
    ├── UnreadableFile       (OSError)       a file that is missing, a folder, or not permitted
    ├── JournalError         (OSError)       a journal that cannot be written or read
    ├── StoreError           (OSError)       a store of traces that cannot be written or read
    ├── BenchmarkRejected    (ValueError)    a benchmark that cannot be built as it was asked for
    ├── InvalidQuery         (ValueError)    SQL that is refused, or that DuckDB refuses
    ├── UnknownTask          (KeyError)      no specification under this task id
    ├── ForbiddenRecording   (PermissionError)  a recording that a rebuilt test may not read
    ├── UnrecordedCall       (LookupError)   a replayed call to which no recording has an answer
    ├── BlockedNetwork       (ConnectionError)  a connection that a replay does not allow
    ├── StateSourceError     (TypeError)     an object from which no state can be taken
    ├── RecorderError        (RuntimeError)  a recorder used out of order
    ├── AgentFailed          (RuntimeError)  an agent under test that raised, or made no sense
    ├── CustomerFailed       (RuntimeError)  a model that was to speak for a person and did not
    ├── AgentUnreachable     (ConnectionError)  an agent under test that could not be asked
    │   └── AgentNotStarted  (ConnectionError)  an agent's program that ended before any reply
    └── MissingDependency    (ImportError)   an extra that is not installed
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple


class Problem(NamedTuple):
    """One thing wrong with a document: what, and the JSON path where."""

    what: str
    path: str = "$"

    def __str__(self) -> str:
        return f"{self.what} @ {self.path}"


def shown(value: object, limit: int = 60) -> str:
    """Return a value's `repr` on one line for a message, cut to `limit` characters.

    What stands for a number that JSON cannot hold is shown as that number.

    Example:
        >>> shown({"$type": "float", "$repr": "nan"})
        'nan'
    """
    try:
        text = repr(_spoken(value))
    except Exception:  # noqa: BLE001 - such as an int of more digits than Python writes
        text = f"<{type(value).__name__}>"
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


_NUMBER: Final = re.compile(r"[-+0-9a-z.]{1,400}")


def _spoken(value: object) -> object:
    """Return a value with the stubs of numbers, see `tracedance_sdk.trace`, as those numbers."""
    if isinstance(value, list):
        return [_spoken(item) for item in value]
    if not isinstance(value, dict):
        return value
    told = value.get("$repr")
    is_stub = value.keys() == {"$type", "$repr"} and value["$type"] in ("int", "float")
    if is_stub and isinstance(told, str) and _NUMBER.fullmatch(told):
        return _Plain(told)
    return {key: _spoken(item) for key, item in value.items()}


class _Plain(str):
    """A text that is its own `repr`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class TraceDanceError(Exception):
    """Root of every error raised on purpose by this library.

    Attributes:
        problems: All findings, for errors about a document; empty otherwise.
    """

    problems: tuple[Problem, ...] = ()

    def __init__(self, message: str, *, problems: Iterable[Problem] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class InvalidJSON(TraceDanceError, ValueError):
    """Bytes that are not JSON, or JSON beyond our bounds (depth, encoding, duplicate keys)."""


class InvalidTrace(TraceDanceError, ValueError):
    """A document that is JSON but not a trace."""


class InvalidSpec(TraceDanceError, ValueError):
    """A task specification, or a rubric, with problems, each as ``what @ $.path``."""


class InvalidTest(TraceDanceError, ValueError):
    """A rebuilt test with problems, each as ``what @ $.path``."""


class InvalidOption(TraceDanceError, ValueError):
    """An argument, setting or command-line option that cannot be used."""


class InvalidJudgement(TraceDanceError, ValueError):
    """A judge's reply that does not meet the judgement schema."""


class Unsendable(TraceDanceError, ValueError):
    """A context that a model's API cannot express, or that is not whole; nothing was sent.

    Attributes:
        kind: What sort of thing stands in the way, in a few words that are the same for all of it.
    """

    def __init__(self, message: str, *, kind: str) -> None:
        super().__init__(message)
        self.kind = kind


class NotEnoughData(TraceDanceError, ValueError):
    """A sample from which a statistic cannot be computed: too few values, or all the same."""


class UnsupportedVersion(TraceDanceError, ValueError):
    """A file whose format version this release does not read."""


class UnknownFormat(TraceDanceError, ValueError):
    """A file that no collector recognises."""


class UnreadableFile(TraceDanceError, OSError):
    """A file or folder that cannot be opened."""


class JournalError(TraceDanceError, OSError):
    """A journal that cannot be written or read."""


class StoreError(TraceDanceError, OSError):
    """A store of traces that cannot be opened, read or written."""


class BenchmarkRejected(TraceDanceError, ValueError):
    """A benchmark that cannot be built as it was asked for; nothing was written.

    Attributes:
        reason: One of a fixed list, such as ``too_few_instances``.
        found: What there is instead, in one line.
        nearest: The nearest request that could be met, in one line; empty when there is none.
        refusals: Why places were not cut, the first of each check.
        behavior: Which of two benchmarks it is about; empty where one is asked for.
    """

    def __init__(
        self,
        found: str,
        *,
        reason: str,
        nearest: str = "",
        refusals: Mapping[str, str] | None = None,
        behavior: str = "",
    ) -> None:
        tail = f"; {nearest}" if nearest else ""
        of = f"{behavior}: " if behavior else ""
        super().__init__(f"rejected, {reason}: {of}{found}{tail}")
        self.reason = reason
        self.found = found
        self.nearest = nearest
        self.refusals = dict(refusals or {})
        self.behavior = behavior

    def of(self, behavior: str) -> BenchmarkRejected:
        """Return the same about one of two benchmarks."""
        return BenchmarkRejected(
            self.found,
            reason=self.reason,
            nearest=self.nearest,
            refusals=self.refusals,
            behavior=behavior,
        )


class InvalidQuery(TraceDanceError, ValueError):
    """SQL that is not one SELECT, that fails, or that takes too long."""


class ForbiddenRecording(TraceDanceError, PermissionError):
    """A rebuilt test asked for a conversation of its own group, or of none that it may read."""


class UnknownTask(TraceDanceError, KeyError):
    """A task id for which the registry holds no specification."""


class UnrecordedCall(TraceDanceError, LookupError):
    """A tool was called in a replay, and no recording says what it answers; it was not run.

    Attributes:
        writes: Such a call may have changed the world.
    """

    def __init__(self, message: str, *, writes: bool) -> None:
        super().__init__(message)
        self.writes = writes


class BlockedNetwork(TraceDanceError, ConnectionError):
    """A connection to another machine, which is not made while tools are replayed."""


class StateSourceError(TraceDanceError, TypeError):
    """An object that offers no way to take a snapshot of its state."""


class RecorderError(TraceDanceError, RuntimeError):
    """A recorder used before it was opened or after it was closed."""


class AgentFailed(TraceDanceError, RuntimeError):
    """An agent under test raised, or replied with something that is no message."""


class CustomerFailed(TraceDanceError, RuntimeError):
    """A model that was to speak for the person of a rebuilt test gave no answer."""


class AgentUnreachable(TraceDanceError, ConnectionError):
    """An agent under test could not be asked, which says nothing of the agent."""


class AgentNotStarted(AgentUnreachable):
    """The program of an agent under test ended before it ever replied to anything."""


class MissingDependency(TraceDanceError, ImportError):
    """An optional dependency that is needed here and not installed."""

    @classmethod
    def for_extra(cls, package: str, *, extra: str) -> MissingDependency:
        """Build the error that names the missing package and the install command."""
        return cls(
            f"{package} is not installed; install it with: pip install 'tracedance-sdk[{extra}]'"
        )
