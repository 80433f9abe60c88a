"""Models of other packages, found by the provider in a model's name.

A package offers one under the entry point group ``tracedance.models``: the name is the provider,
the object is called with an `Endpoint` and keyword options and returns a `ChatModel`.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Final, Protocol

from tracedance_sdk.errors import InvalidOption, Unsendable
from tracedance_sdk.llm.chat import ChatModel, Context, Missing, Reply, Settings
from tracedance_sdk.llm.endpoints import Endpoint, installed_providers
from tracedance_sdk.llm.masking import masked_by_all
from tracedance_sdk.trace import ToolDefinition

_LONGEST: Final = 300


class ModelFactory(Protocol):
    """What a package offers as a provider of models."""

    def __call__(self, endpoint: Endpoint, **options: Any) -> ChatModel:
        """Return the model; nothing is sent yet.

        Args:
            endpoint: `provider` and `model` as they stand in the name; `base_url` is empty unless
                the name has one.
            **options: ``timeout_s`` and ``retries`` as `chat_model` has them; later releases may
                give more.

        Raises:
            InvalidOption: No such model, or no key; one line that says what to do.
        """


class PluginModel:
    """A model of another package, by its name; whatever it raises is a reply that is missing.

    It is not cached, as only it knows what it sends. A context that it cannot express is found
    when it is asked, and is missing as well.

    Args:
        endpoint: As it was named.
        model: Of the other package. An ``is_local`` that is true says that it runs on this
            machine, which ``--offline`` asks for; its ``close()``, sync or async, is called at
            the end.

    Attributes:
        name: As ``provider:model[@base_url]``.
    """

    def __init__(self, endpoint: Endpoint, model: ChatModel) -> None:
        self.endpoint = endpoint
        self.name = endpoint.name
        self._model = model

    @property
    def is_local(self) -> bool:
        """Whether it runs on this machine, by its address or by its own word."""
        return self.endpoint.is_loopback or getattr(self._model, "is_local", False) is True

    async def complete(
        self, context: Context, *, tools: Sequence[ToolDefinition], settings: Settings
    ) -> Reply:
        """Ask the model; see `ChatModel.complete`."""
        try:
            reply: Any = await self._model.complete(context, tools=tools, settings=settings)
        except Unsendable as error:
            return _failed(f"the model cannot be asked this: {error}")
        except Exception as error:  # noqa: BLE001 - another package's model may fail in any way
            return _failed(f"{self.name} raised {type(error).__name__}: {error}")
        if not isinstance(reply, Reply):
            return _failed(f"{self.name} gave {type(reply).__name__}, which is no Reply")
        is_nothing = reply.turn is None and reply.missing is None
        return reply._replace(missing=Missing("empty", "")) if is_nothing else reply

    async def close(self) -> None:
        """Close what the model holds open, if it says how."""
        close = getattr(self._model, "close", None)
        if callable(close):
            closing = close()
            if inspect.isawaitable(closing):
                await closing


def plugin_model(endpoint: Endpoint, **options: Any) -> PluginModel:
    """Return the model of another package.

    Args:
        endpoint: Of a provider in `installed_providers`.
        **options: For the package's `ModelFactory`.

    Raises:
        InvalidOption: The package cannot be loaded, refuses the model, or makes something else.
    """
    entry = installed_providers()[endpoint.provider]
    try:
        model = entry.load()(endpoint, **options)
    except InvalidOption:
        raise
    except Exception as error:
        told = _line(f"{type(error).__name__}: {error}")
        raise InvalidOption(f"{endpoint.name} cannot be made by {entry.value}: {told}") from error
    if not inspect.iscoroutinefunction(getattr(model, "complete", None)):
        raise InvalidOption(f"{endpoint.name}: what {entry.value} makes has no async complete()")
    return PluginModel(endpoint, model)


def _failed(reason: str) -> Reply:
    return Reply(None, None, None, Missing("error", _line(reason)))


def _line(text: str) -> str:
    line = " ".join(masked_by_all(text).split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."
