"""Models: one protocol, the providers' SDKs behind it, replies kept and counted.

Submodules are imported when one of their names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracedance_sdk._lazy import lazy_face

if TYPE_CHECKING:
    from tracedance_sdk.llm.asking import CONCURRENCY, Asker, Question
    from tracedance_sdk.llm.chat import (
        MISSING,
        OUTPUT_CAP,
        ChatModel,
        Context,
        Missing,
        MissingKind,
        Reply,
        ReplySchema,
        Settings,
    )
    from tracedance_sdk.llm.endpoints import PROVIDERS, Endpoint, endpoint_of, installed_providers
    from tracedance_sdk.llm.limits import Budget, Limits, Spending
    from tracedance_sdk.llm.naming import NamedModel, chat_model
    from tracedance_sdk.llm.plugin_models import ModelFactory, PluginModel
    from tracedance_sdk.llm.prices import Cost, Price, PriceTable, cost_of, price_table
    from tracedance_sdk.llm.provider_model import RETRIES, TIMEOUT_S, ProviderModel
    from tracedance_sdk.llm.recorded_model import RecordedModel
    from tracedance_sdk.llm.reply_cache import ReplyCache, cached_models
    from tracedance_sdk.llm.structured import structured_value

__all__ = [
    "CONCURRENCY",
    "MISSING",
    "OUTPUT_CAP",
    "PROVIDERS",
    "RETRIES",
    "TIMEOUT_S",
    "Asker",
    "Budget",
    "ChatModel",
    "Context",
    "Cost",
    "Endpoint",
    "Limits",
    "Missing",
    "MissingKind",
    "ModelFactory",
    "NamedModel",
    "PluginModel",
    "Price",
    "PriceTable",
    "ProviderModel",
    "Question",
    "RecordedModel",
    "Reply",
    "ReplyCache",
    "ReplySchema",
    "Settings",
    "Spending",
    "cached_models",
    "chat_model",
    "cost_of",
    "endpoint_of",
    "installed_providers",
    "price_table",
    "structured_value",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "asking": ("CONCURRENCY", "Asker", "Question"),
        "chat": (
            "MISSING",
            "OUTPUT_CAP",
            "ChatModel",
            "Context",
            "Missing",
            "MissingKind",
            "Reply",
            "ReplySchema",
            "Settings",
        ),
        "endpoints": ("PROVIDERS", "Endpoint", "endpoint_of", "installed_providers"),
        "limits": ("Budget", "Limits", "Spending"),
        "naming": ("NamedModel", "chat_model"),
        "plugin_models": ("ModelFactory", "PluginModel"),
        "prices": ("Cost", "Price", "PriceTable", "cost_of", "price_table"),
        "provider_model": ("RETRIES", "TIMEOUT_S", "ProviderModel"),
        "recorded_model": ("RecordedModel",),
        "reply_cache": ("ReplyCache", "cached_models"),
        "structured": ("structured_value",),
    },
)
