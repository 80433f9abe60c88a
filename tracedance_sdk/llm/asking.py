"""Ask a model many things: within limits, some at a time, nothing twice."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.llm.chat import ChatModel, Context, Missing, Reply, Settings
from tracedance_sdk.llm.event_loops import PerLoop
from tracedance_sdk.llm.limits import Budget, Limits, Outcome, Spending
from tracedance_sdk.llm.plugin_models import PluginModel
from tracedance_sdk.llm.prices import Price
from tracedance_sdk.llm.provider_model import ProviderModel
from tracedance_sdk.llm.recorded_model import RecordedModel
from tracedance_sdk.llm.reply_cache import ReplyCache
from tracedance_sdk.trace import ToolDefinition

CONCURRENCY: Final = 8


class Question(NamedTuple):
    """Something to ask a model."""

    context: Context
    tools: Sequence[ToolDefinition] = ()
    settings: Settings = Settings()


class Asker:
    """Asks one model, from a cache where it can.

    Args:
        model: Whom.
        cache: Where replies are kept; only for the models of this library, whose
            requests are known.
        limits: What may be spent; not beside a budget.
        budget: Shared with other askers, where its limits hold for all of them together.
        price: Of the model's tokens; None when not known.
        concurrency: Most calls under way at a time.

    Attributes:
        concurrency: Most calls under way at a time.
        spending: What was spent so far.
        from_cache: Replies that had been paid for before.

    Raises:
        InvalidOption: A limit on cost, and no price to count by; or both limits and a budget.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        cache: ReplyCache | None = None,
        limits: Limits | None = None,
        budget: Budget | None = None,
        price: Price | None = None,
        concurrency: int = CONCURRENCY,
    ) -> None:
        if limits is not None and budget is not None:
            raise InvalidOption("give an asker either limits or a budget, which has limits")
        self._model = model
        self._cache = cache
        self._places = PerLoop(lambda: asyncio.Semaphore(concurrency))
        self.concurrency = concurrency
        self._stopped: Missing | None = None
        self.spending = Spending(budget or Budget(limits), price)
        self.from_cache = 0

    async def ask(self, question: Question) -> Reply:
        """Return the model's reply.

        Raises:
            Unsendable: The model's API cannot express the context; nothing was sent.
        """
        if isinstance(self._model, RecordedModel):
            return self._recorded(await self._complete(question))
        if not isinstance(self._model, ProviderModel):
            return await self._sent(0.0, lambda: self._complete(question))
        model = self._model
        request = model.request(question.context, tools=question.tools, settings=question.settings)
        data = model.encoded(request, question.settings)
        mark = hashlib.sha256(data).hexdigest()
        if (known := self._known(model, mark)) is not None:
            return known
        async with contextlib.AsyncExitStack() as held:
            if self._cache is not None:
                await held.enter_async_context(self._cache.claim(mark))
                # Whoever held the claim before may have paid.
                if (known := self._known(model, mark)) is not None:
                    return known
            return await self._sent(
                self.spending.expected(len(data)), lambda: self._fresh(model, request, mark)
            )

    async def ask_all(self, questions: Iterable[Question]) -> AsyncIterator[tuple[int, Reply]]:
        """Yield the number of each question, from 0, with its reply, as they come in.

        No more questions are drawn from `questions` than are being asked.

        Raises:
            Unsendable: The model's API cannot express a context.
        """
        waiting: set[asyncio.Task[tuple[int, Reply]]] = set()
        numbered = enumerate(questions)
        try:
            while True:
                while len(waiting) < self.concurrency:
                    following = next(numbered, None)
                    if following is None:
                        break
                    waiting.add(asyncio.create_task(self._numbered(*following)))
                if not waiting:
                    return
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    yield task.result()
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    async def close(self) -> None:
        """Close the model's connections."""
        if isinstance(self._model, (ProviderModel, PluginModel)):
            await self._model.close()

    async def _numbered(self, number: int, question: Question) -> tuple[int, Reply]:
        return number, await self.ask(question)

    def _known(self, model: ProviderModel, mark: str) -> Reply | None:
        raw = None if self._cache is None else self._cache.get(mark)
        if raw is None:
            return None
        return self._recorded(model.read(raw)._replace(cached=True))

    def _recorded(self, reply: Reply) -> Reply:
        self.from_cache += reply.cached
        return reply._replace(usage=self.spending.priced(reply.usage))

    async def _complete(self, question: Question) -> Reply:
        return await self._model.complete(
            question.context, tools=question.tools, settings=question.settings
        )

    async def _fresh(self, model: ProviderModel, request: dict[str, Any], mark: str) -> Reply:
        raw = await model.send(request)
        if isinstance(raw, Missing):
            return Reply(None, None, None, raw)
        reply = model.read(raw)
        if self._cache is not None and reply.turn is not None:
            self._cache.put(mark, raw)
        return reply

    async def _sent(self, expected: float, send: Callable[[], Awaitable[Reply]]) -> Reply:
        """Wait for a place, send unless that is barred, and count what came."""
        async with self._places.here():
            barred = self._stopped or self.spending.start(expected)
            if barred is not None:
                return Reply(None, None, None, barred)
            reply = await send()
            usage = self.spending.priced(reply.usage)
            self.spending.finish(usage, expected, outcome=_outcome(reply))
        missing = reply.missing
        if missing is not None and missing.is_final and self._stopped is None:
            self._stopped = Missing("not_asked", f"stopped, as {missing.reason}")
        return reply._replace(usage=usage)


def _outcome(reply: Reply) -> Outcome:
    """Return what came of a call: whatever comes with success is paid for, be it unreadable."""
    missing = reply.missing
    if reply.turn is not None or missing is None or missing.kind == "unparsable":
        return "replied"
    return "lost" if missing.may_cost else "failed"
