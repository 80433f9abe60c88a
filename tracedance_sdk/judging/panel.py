"""A panel of judges: everybody scores the same items by one rubric, and the mean decides.

In *single* mode each judge sees one item at a time. In *joint* mode each sees all responses to an
instance at once, anonymous and in one random order, which is the same for all judges and another
for each instance.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from tracedance_sdk.errors import InvalidOption, shown
from tracedance_sdk.judging.identity import JudgeIdentity
from tracedance_sdk.judging.items import JudgedItem, RubricScore, check_item
from tracedance_sdk.judging.panel_scores import JudgeScores, PanelScore, panel_score
from tracedance_sdk.judging.rubric import Rubric
from tracedance_sdk.judging.rubric_judge import RubricJudge
from tracedance_sdk.judging.rubric_prompt import MOST_TOGETHER, Mode
from tracedance_sdk.trace import json_digest

_AT_ONCE: Final = 32
"""Items, or instances, under way at a time, where no asker takes more calls at a time."""


class PanelFinding(NamedTuple):
    """What a panel said of one item.

    Attributes:
        item: What was judged.
        rubric: By what.
        judges: What each judge said, in the order of the panel.
        score: What follows from it.
    """

    item: JudgedItem
    rubric: Rubric
    judges: tuple[JudgeScores, ...]
    score: PanelScore


class Panel:
    """Judges who score by one rubric.

    Args:
        judges: At least one, no two the same; all with the same rubric.
        mode: How they are asked; judges made for another mode are taken over in this one.
        repeats: How often each judge scores each item.
        seed: Of the order of responses in joint mode.

    Attributes:
        judges: In this mode.
        rubric: The one they have in common.

    Raises:
        InvalidOption: No judge, one twice, several rubrics, no repetition, or joint mode for a
            rubric about whole traces.
    """

    def __init__(
        self,
        judges: Sequence[RubricJudge],
        *,
        mode: Mode = "single",
        repeats: int = 1,
        seed: int = 0,
    ) -> None:
        if not judges:
            raise InvalidOption("a panel needs at least one judge")
        if repeats < 1:
            raise InvalidOption(f"repeats must be at least 1, not {shown(repeats)}")
        self.judges = tuple(judge.in_mode(mode) for judge in judges)
        self.rubric = judges[0].rubric
        self.mode: Mode = mode
        self.repeats = repeats
        self.seed = seed
        rubrics = dict.fromkeys(
            f"{judge.rubric.id} ({judge.rubric.sha256[:8]})" for judge in judges
        )
        if len(rubrics) > 1:
            raise InvalidOption(
                f"judges with different rubrics cannot sit on one panel: {', '.join(rubrics)}; "
                "make a panel for each rubric"
            )
        twice = [name for name, n in Counter(self.names).items() if n > 1]
        if twice:
            raise InvalidOption(
                f"the judge {twice[0]!r} sits on the panel twice; use repeats to ask it again"
            )
        if mode == "joint" and self.rubric.about == "trace":
            raise InvalidOption(
                f"the rubric {self.rubric.id!r} is about whole traces, which are judged one at a "
                "time; use single mode"
            )

    @property
    def identities(self) -> tuple[JudgeIdentity, ...]:
        """Who judges, in the order of the panel."""
        return tuple(judge.identity for judge in self.judges)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the judges, in the order of the panel."""
        return tuple(identity.name for identity in self.identities)

    def n_questions(self, items: Sequence[JudgedItem]) -> int:
        """Return how many questions the items make, should every reply be usable."""
        n = len(items) if self.mode == "single" else len({item.instance for item in items})
        return n * len(self.judges) * self.repeats

    def questions(self, items: Sequence[JudgedItem]) -> Iterator[tuple[JudgedItem, ...]]:
        """Yield the items of each question, in the order in which judges are shown them.

        Raises:
            InvalidOption: An item twice, one that the rubric is not about, or responses to one
                instance that do not belong together or are too many. Nothing was asked then.
        """
        for item in items:
            check_item(self.rubric, item)
        counts = Counter(item.order for item in items)
        for item in items:
            if counts[item.order] > 1:
                raise InvalidOption(
                    f"one item is there {counts[item.order]} times ({item}); tell repetitions "
                    "apart by 'sample', or models by 'model'"
                )
        if self.mode == "single":
            yield from ((item,) for item in items)
            return
        together = sorted(items, key=lambda item: item.order)
        groups = [list(found) for _, found in groupby(together, key=lambda item: item.instance)]
        for group in groups:
            _check_together(group)
        for group in groups:
            yield tuple(shuffled(group, seed=self.seed))

    async def ask(self, items: Sequence[JudgedItem]) -> list[PanelFinding]:
        """Let every judge answer one question as often as it is to be repeated.

        Args:
            items: As `questions` yields them.
        """
        asked = [(judge, repeat) for judge in self.judges for repeat in range(self.repeats)]
        answers = await _together([judge.score(items, repeat=repeat) for judge, repeat in asked])
        findings = []
        for place, item in enumerate(items):
            said = iter([scores[place] for scores in answers])
            judges = tuple(
                JudgeScores(identity, tuple(next(said) for _ in range(self.repeats)))
                for identity in self.identities
            )
            score = panel_score(judges, pass_from=self.rubric.pass_from)
            findings.append(PanelFinding(item, self.rubric, judges, score))
        return findings


def shuffled(group: Sequence[JudgedItem], *, seed: int) -> list[JudgedItem]:
    """Return the responses to one instance in the random order that judges are shown.

    It depends on the seed, the instance, and which responses there are, not on their order.
    """
    found = sorted(group, key=lambda item: item.order)
    mark = json_digest([seed, *found[0].instance])
    random.Random(int(mark, 16)).shuffle(found)  # noqa: S311 - an order, no secret
    return found


async def judge_items(
    work: Iterable[tuple[Panel, Sequence[JudgedItem]]],
) -> AsyncGenerator[tuple[int, PanelFinding], None]:
    """Yield what panels say of items as it comes, each with the panel's place in `work`.

    Raises:
        InvalidOption: See `Panel.questions`; nothing was asked then. Or a model has no key.
    """
    jobs = list(work)
    questions = [
        (place, panel, question)
        for place, (panel, items) in enumerate(jobs)
        for question in panel.questions(items)
    ]
    judges = [judge for panel, _ in jobs for judge in panel.judges]
    at_once = max([_AT_ONCE, *(judge.asker.concurrency for judge in judges)])

    async def answer(place: int, panel: Panel, question: Sequence[JudgedItem]) -> _Answer:
        return place, await panel.ask(question)

    left = iter(questions)
    waiting: set[asyncio.Task[_Answer]] = set()
    done: set[asyncio.Task[_Answer]] = set()
    try:
        while True:
            while len(waiting) < at_once and (following := next(left, None)) is not None:
                waiting.add(asyncio.create_task(answer(*following)))
            if not waiting:
                return
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                place, findings = task.result()
                for finding in findings:
                    yield place, finding
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, *done, return_exceptions=True)


def run_panels(
    work: Iterable[tuple[Panel, Sequence[JudgedItem]]],
    *,
    on_finding: Callable[[PanelFinding], None] | None = None,
) -> list[PanelFinding]:
    """Do what `judge_items` does, outside any event loop, and close the judges' connections.

    Args:
        work: Panels, each with its items.
        on_finding: Called after each item, for showing progress.

    Returns:
        All findings, by panel in the order given, then by item.

    Raises:
        InvalidOption: Nothing to judge; see also `judge_items`.
    """
    jobs = [(panel, list(items)) for panel, items in work]
    if not any(items for _, items in jobs):
        raise InvalidOption("there is nothing to judge")

    async def all_of_it() -> list[tuple[int, PanelFinding]]:
        found = []
        try:
            async for place, finding in judge_items(jobs):
                found.append((place, finding))
                if on_finding is not None:
                    on_finding(finding)
        finally:
            for asker in {id(j.asker): j.asker for panel, _ in jobs for j in panel.judges}.values():
                await asker.close()
        return found

    findings = asyncio.run(all_of_it())
    return [
        finding for _, finding in sorted(findings, key=lambda pair: (pair[0], pair[1].item.order))
    ]


_Answer = tuple[int, list[PanelFinding]]


async def _together(
    asked: Sequence[Coroutine[None, None, list[RubricScore]]],
) -> list[list[RubricScore]]:
    """Wait for all; when one fails, for nobody, and pass on its error as it is."""
    tasks = [asyncio.ensure_future(item) for item in asked]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _check_together(group: Sequence[JudgedItem]) -> None:
    """Refuse responses that judges cannot be shown at once."""
    if len(group) > MOST_TOGETHER:
        raise InvalidOption(
            f"{len(group)} responses to one instance ({group[0]}, ...) are too many for joint "
            f"mode, which takes at most {MOST_TOGETHER}; use single mode or fewer samples"
        )
    first = group[0]
    turn = first.subject.turn
    for item in group[1:]:
        if item.trace is first.trace:
            continue
        pairs = (item.trace.turns[:turn], first.trace.turns[:turn])
        if item.trace.system_prompt != first.trace.system_prompt or pairs[0] != pairs[1]:
            raise InvalidOption(
                f"responses to one instance follow different contexts ({first}; {item}); joint "
                "mode needs the same trace for both"
            )
