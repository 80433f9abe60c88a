"""The grader's self-check: a recording that was tampered with must not pass.

In every recording that passes, each write is left out in turn, and each write gets one argument
that it did not have. A grader that inspects what the run did to the world must say that it did not
pass. What it does not notice is listed: it may be blind there, or the write may not have mattered.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.grading import Verdict
from tracedance_sdk.replay.faithfulness.regrading import Recorded, Regraded, graded, regrade
from tracedance_sdk.replay.faithfulness.replayed import passed
from tracedance_sdk.replay.recordings import WRITES, EffectOf
from tracedance_sdk.replay.running import RunGrader
from tracedance_sdk.trace import Call, Json, Trace, Turn, canonical_json

MOST: Final = 400
"""Most altered recordings that are graded unless more are asked for."""

Kind = Literal["left out", "altered"]
Outcome = Literal["caught", "missed", "error"]
Path = tuple[str | int, ...]


class Alteration(NamedTuple):
    """What was done to a recording.

    Attributes:
        name: Of the recording.
        call: Which of the agent's calls, from 0.
        tool: Its name.
        kind: Whether the call was left out, or got another argument.
        what: In words.
    """

    name: str
    call: int
    tool: str
    kind: Kind
    what: str


class Tampered(NamedTuple):
    """What the grader says of an altered recording.

    Attributes:
        alteration: What was altered.
        verdict: The grader's.
        reason: Why, in one line.
    """

    alteration: Alteration
    verdict: Verdict
    reason: str

    @property
    def outcome(self) -> Outcome:
        """``missed`` where it still passes, ``error`` where the grader failed, else ``caught``."""
        if self.verdict is Verdict.ERROR:
            return "error"
        return "missed" if passed(self.verdict) else "caught"


class SelfCheck(NamedTuple):
    """What came of tampering.

    Attributes:
        regraded: The untouched recordings.
        n_passing: Those that pass and are stored as passing, or as nothing.
        n_without_writes: Of these, those without a write that took effect: nothing to alter.
        n_possible: Alterations there are.
        tampered: Those that were graded.
        seed: Of what was chosen.
    """

    regraded: tuple[Regraded, ...]
    n_passing: int
    n_without_writes: int
    n_possible: int
    tampered: tuple[Tampered, ...]
    seed: int

    def of(self, outcome: Outcome) -> list[Tampered]:
        """Return the altered recordings of one outcome."""
        return [item for item in self.tampered if item.outcome == outcome]

    @property
    def disagreeing(self) -> list[Regraded]:
        """Untouched recordings that the grader says something else of than is stored."""
        return [item for item in self.regraded if item.stored is not None and not item.agrees]


def self_check(
    recorded: Sequence[Recorded],
    grader: RunGrader,
    *,
    effect_of: EffectOf,
    seed: int = 0,
    most: int = MOST,
) -> SelfCheck:
    """Tamper with recordings and see whether the grader notices.

    Args:
        recorded: The recordings.
        grader: Who grades the replays.
        effect_of: What tools do: only writes that took effect are altered, and what is not known
            is taken for a write.
        seed: Of the values that are put in, and of the choice where there are too many.
        most: Altered recordings to grade, at most.

    Raises:
        InvalidOption: `most` is below 1.
    """
    if most < 1:
        raise InvalidOption(f"most is {most!r}; it begins at 1")
    regraded = regrade(recorded, grader)
    passing = [
        item
        for item, found in zip(recorded, regraded, strict=True)
        if passed(found.verdict) and item.stored is not False
    ]
    values = _values_by_place(recorded)
    jobs = [
        (item, *made)
        for item in passing
        for made in _alterations(item, values, effect_of, _dice(f"{seed} {item.name}"))
    ]
    chosen = jobs
    if len(jobs) > most:
        places = sorted(_dice(str(seed)).sample(range(len(jobs)), most))
        chosen = [jobs[place] for place in places]

    async def work() -> list[Tampered]:
        found = []
        for item, alteration, trace in chosen:
            finding = await graded(grader, item.run._replace(trace=trace))
            found.append(Tampered(alteration, finding.verdict, finding.reason))
        return found

    touched = {item.run.trace.id for item, *_ in jobs}
    return SelfCheck(
        tuple(regraded),
        len(passing),
        sum(item.run.trace.id not in touched for item in passing),
        len(jobs),
        tuple(asyncio.run(work())),
        seed,
    )


def _dice(seed: str) -> random.Random:
    return random.Random(seed)  # noqa: S311 - values that differ, no secret


_Values = dict[tuple[str, Path], list[Json]]


def _alterations(
    item: Recorded, values: _Values, effect_of: EffectOf, dice: random.Random
) -> Iterator[tuple[Alteration, Trace]]:
    trace = item.run.trace
    for number, call in enumerate(trace.actions):
        # A write that failed did nothing to the world that could be missed.
        if effect_of(call.name) not in WRITES or call.failed or call.result is None:
            continue
        left_out = Alteration(item.name, number, call.name, "left out", "the call")
        yield left_out, _with_call(trace, call, None)
        places = list(_leaves(call.arguments))
        if not places:
            continue
        path, old = dice.choice(places)
        new = _another(old, values.get((call.name, path), []), dice)
        arguments = _put(call.arguments, path, new)
        what = f"{'.'.join(map(str, path))}: {old!r} became {new!r}"
        yield (
            Alteration(item.name, number, call.name, "altered", what),
            _with_call(trace, call, call.model_copy(update={"arguments": arguments})),
        )


def _with_call(trace: Trace, call: Call, other: Call | None) -> Trace:
    """Return a trace with another call in the place of one, or none."""
    turns = tuple(_with(turn, call, other) for turn in trace.turns)
    return trace.model_copy(update={"turns": turns})


def _with(turn: Turn, call: Call, other: Call | None) -> Turn:
    if not any(item is call for item in turn.calls):
        return turn
    swapped = (other if item is call else item for item in turn.calls)
    return turn.model_copy(update={"calls": tuple(item for item in swapped if item is not None)})


def _values_by_place(recorded: Sequence[Recorded]) -> _Values:
    """Return the values that tools were given, by tool and place, without repetitions."""
    found: dict[tuple[str, Path], dict[bytes, Json]] = {}
    for item in recorded:
        for call in item.run.trace.actions:
            for path, value in _leaves(call.arguments):
                found.setdefault((call.name, path), {})[canonical_json(value)] = value
    return {place: [of[key] for key in sorted(of)] for place, of in found.items()}


def _leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            yield from _leaves(item, (*path, number))
    elif path and isinstance(value, (str, int, float, bool)):
        yield path, value


def _another(old: Json, known: Sequence[Json], dice: random.Random) -> Json:
    """Return another value: one that the tool was given elsewhere, or one like it."""
    others = [value for value in known if canonical_json(value) != canonical_json(old)]
    if others:
        return dice.choice(others)
    if isinstance(old, bool):
        return not old
    if isinstance(old, (int, float)):
        return old + 1
    return f"{old}-altered"


def _put(value: Any, path: Path, new: Json) -> Any:
    if not path:
        return new
    head, *rest = path
    if isinstance(value, dict):
        return {key: _put(v, tuple(rest), new) if key == head else v for key, v in value.items()}
    return [_put(v, tuple(rest), new) if n == head else v for n, v in enumerate(value)]
