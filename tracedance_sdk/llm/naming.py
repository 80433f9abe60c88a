"""Models by name, such as ``openai:gpt-x`` or ``anthropic:local@http://localhost:8080``."""

from __future__ import annotations

from typing import Final

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.llm.anthropic_models import AnthropicModel
from tracedance_sdk.llm.endpoints import endpoint_of
from tracedance_sdk.llm.openai_models import OpenAIChatModel, OpenAIResponsesModel
from tracedance_sdk.llm.plugin_models import PluginModel, plugin_model
from tracedance_sdk.llm.provider_model import RETRIES, TIMEOUT_S, ProviderModel
from tracedance_sdk.llm.recorded_model import RecordedModel, only_model
from tracedance_sdk.llm.reply_cache import ReplyCache, cached_models

_MODELS: Final[dict[str, type[ProviderModel]]] = {
    "anthropic": AnthropicModel,
    "openai": OpenAIChatModel,
    "openai-responses": OpenAIResponsesModel,
}
_RECORDED: Final = "recorded:"

NamedModel = ProviderModel | PluginModel | RecordedModel
"""What a name stands for."""


def chat_model(
    name: str,
    *,
    offline: bool = False,
    timeout_s: float = TIMEOUT_S,
    retries: int = RETRIES,
    stream: bool | None = None,
) -> NamedModel:
    """Return the model of a name; nothing is sent yet.

    Args:
        name: ``provider:model[@base_url]``; the provider is ``openai`` (chat completions, also of
            other servers), ``openai-responses``, ``anthropic``, or one of another package, see
            `ModelFactory`. Or ``recorded:DIR``, a folder of replies that were paid for before.
        offline: Refuse whatever is not on this machine.
        timeout_s: How long one try may take; of a streamed reply, how long it may be silent.
        retries: How often to try again after what may pass: 408, 409, 429, 5xx, a lost connection,
            a timeout.
        stream: Whether replies are streamed; None leaves it to what the SDKs ask for, see
            `ProviderModel`. Other packages' models are not told.

    Raises:
        InvalidOption: An unknown provider, a missing key, an address that cannot be used, or one
            that `offline` refuses.
        MissingDependency: The provider's SDK is not installed.
        UnreadableFile: No such folder of replies.

    Example:
        >>> chat_model("openai:local@http://127.0.0.1:8080/v1", offline=True).name
        'openai:local@http://127.0.0.1:8080/v1'
    """
    if name.startswith(_RECORDED):
        return _recorded(name.removeprefix(_RECORDED))
    endpoint = endpoint_of(name)
    kind = _MODELS.get(endpoint.provider)
    if kind is None:
        plugin = plugin_model(endpoint, timeout_s=timeout_s, retries=retries)
        _check_place(endpoint.name, is_local=plugin.is_local or not offline)
        return plugin
    _check_place(endpoint.name, is_local=endpoint.is_loopback or not offline)
    model = kind(endpoint, timeout_s=timeout_s, retries=retries, stream=stream)
    model.prepare()
    return model


def _check_place(name: str, *, is_local: bool) -> None:
    if not is_local:
        raise InvalidOption(f"{name} is not on this machine, and --offline refuses all others")


def _recorded(path: str) -> RecordedModel:
    if not path:
        raise InvalidOption("recorded: names no folder; give recorded:DIR")
    models = cached_models(path)
    name = only_model(dict(models), path)
    endpoint = endpoint_of(name)
    kind = _MODELS.get(endpoint.provider)
    if kind is None:
        raise InvalidOption(f"{path!r} holds replies of {name}, whose requests are not known here")
    return RecordedModel(kind(endpoint), ReplyCache.at(models[name], name))
