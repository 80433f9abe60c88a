"""A model takes the next turn: recorded contexts go in, one turn of the assistant's comes out each.

Nothing that a turn asks for is carried out. A reply that is no answer (empty, refused, cut off,
unparsable, an error, a context too long) is *missing*: it is counted and never scored. A call of
an unknown tool, or with odd arguments, is an answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from tracedance_sdk.errors import Unsendable
from tracedance_sdk.llm import (
    Asker,
    ChatModel,
    ProviderModel,
    Question,
    RecordedModel,
    Reply,
    Settings,
)
from tracedance_sdk.replay.next_turn_contexts import DecisionPoint, Exclusion, recorded_settings


class Sampling(NamedTuple):
    """How often and how each turn is taken.

    Attributes:
        samples: Replies for each decision point.
        seed: Of the first sample; each further one has the next number. None sends none.
        settings: For all replies.
        as_recorded: Take temperature and top_p from the recorded turn, where it has them.
    """

    samples: int = 1
    seed: int | None = None
    settings: Settings = Settings()
    as_recorded: bool = False

    def of(self, point: DecisionPoint) -> Iterator[Settings]:
        """Yield the settings of each sample at a decision point."""
        settings = self.settings
        if self.as_recorded and point.turn < len(point.trace.turns):
            settings = recorded_settings(point.trace.turns[point.turn], settings)
        for sample in range(self.samples):
            seed = None if self.seed is None else self.seed + sample
            yield settings._replace(sample=sample, seed=seed)


class TakenTurn(NamedTuple):
    """What came of one sample at one decision point."""

    point: DecisionPoint
    sample: int
    reply: Reply


class OnTurn(Protocol):
    """Whoever is told of each turn as it comes."""

    def __call__(self, taken: TakenTurn, /) -> None:
        """Take note of a turn."""


def sendable(
    points: Iterable[DecisionPoint], model: ChatModel, sampling: Sampling
) -> Iterator[DecisionPoint | Exclusion]:
    """Yield the decision points, those that the model's API cannot express as exclusions.

    Models that this library does not know are asked as they are.
    """
    writer = model.model if isinstance(model, RecordedModel) else model
    for point in points:
        if isinstance(writer, ProviderModel):
            try:
                writer.request(
                    point.context, tools=point.trace.tools, settings=next(sampling.of(point))
                )
            except Unsendable as error:
                reason = f"not sendable: {error.kind}"
                told = Exclusion(point.trace.id, point.turn, reason, str(error), point.instance_id)
                yield told
                continue
        yield point


async def take_next_turns(
    points: Sequence[DecisionPoint], asker: Asker, sampling: Sampling | None = None
) -> AsyncIterator[TakenTurn]:
    """Ask for every sample at every decision point and yield what comes, in the order it comes.

    Args:
        points: Those that `sendable` passed.
        asker: The model, with its cache and limits.
        sampling: How often and how.

    Raises:
        Unsendable: The model's API cannot express a context.
    """
    how = sampling or Sampling()
    asked = ((point, settings) for point in points for settings in how.of(point))
    waiting: dict[int, tuple[DecisionPoint, int]] = {}

    def questions() -> Iterator[Question]:
        for number, (point, settings) in enumerate(asked):
            waiting[number] = (point, settings.sample)
            yield Question(point.context, point.trace.tools, settings)

    async for number, reply in asker.ask_all(questions()):
        point, sample = waiting.pop(number)
        yield TakenTurn(point, sample, reply)


def run_next_turns(
    points: Sequence[DecisionPoint],
    asker: Asker,
    sampling: Sampling | None = None,
    *,
    on_turn: OnTurn | None = None,
) -> list[TakenTurn]:
    """Do what `take_next_turns` does, outside any event loop, and return all that came.

    Args:
        points: See `take_next_turns`.
        asker: See `take_next_turns`.
        sampling: See `take_next_turns`.
        on_turn: Called after each turn, for showing progress.

    Returns:
        The turns in the order of the points and samples.
    """

    async def work() -> list[TakenTurn]:
        found: list[TakenTurn] = []
        try:
            async for taken in take_next_turns(points, asker, sampling):
                found.append(taken)
                if on_turn is not None:
                    on_turn(taken)
        finally:
            await asker.close()
        return found

    order = {id(point): number for number, point in enumerate(points)}
    taken = asyncio.run(work())
    return sorted(taken, key=lambda item: (order[id(item.point)], item.sample))
