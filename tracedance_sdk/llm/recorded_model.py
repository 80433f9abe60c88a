"""A model whose replies were recorded before: nothing is sent, nothing is paid."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.llm.chat import Context, Missing, Reply, Settings
from tracedance_sdk.llm.provider_model import ProviderModel
from tracedance_sdk.llm.reply_cache import ReplyCache
from tracedance_sdk.trace import ToolDefinition


class RecordedModel:
    """Answers with the replies that a cache holds for the very requests.

    Args:
        model: Whose replies they are; it writes the requests and is never called.
        cache: Where they lie.

    Attributes:
        name: Of the model whose replies they are.
    """

    def __init__(self, model: ProviderModel, cache: ReplyCache) -> None:
        self.model = model
        self.name = model.name
        self._cache = cache

    async def complete(
        self, context: Context, *, tools: Sequence[ToolDefinition], settings: Settings
    ) -> Reply:
        """Return the recorded reply; see `ChatModel.complete`."""
        request = self.model.request(context, tools=tools, settings=settings)
        mark = self.model.request_hash(request, settings)
        raw = self._cache.get(mark)
        if raw is None:
            where = f"no reply to request {mark[:12]} in {os.fspath(self._cache.folder)!r}"
            return Reply(None, None, None, Missing("error", where))
        return self.model.read(raw)._replace(cached=True)


def only_model(models: dict[str, object], path: str) -> str:
    """Return the one model in a folder of replies.

    Raises:
        InvalidOption: There is none, or several.
    """
    if len(models) == 1:
        return next(iter(models))
    found = ", ".join(sorted(models)) or "none"
    raise InvalidOption(
        f"{path!r} must hold the replies of one model; found: {found}; name the folder of one"
    )
