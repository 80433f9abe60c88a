"""What the models behind the providers' SDKs have in common: one request, sent once, then read."""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import ModuleType
from typing import Any, ClassVar, Final

import orjson

from tracedance_sdk.errors import InvalidJSON, InvalidTrace, MissingDependency
from tracedance_sdk.llm.chat import Context, Missing, Reply, Settings
from tracedance_sdk.llm.endpoints import Endpoint, key_of
from tracedance_sdk.llm.failures import is_used_up, masked, missing_of, told_error
from tracedance_sdk.trace import UNKNOWN, Json, ToolDefinition, Turn, parse_json

TIMEOUT_S: Final = 600.0
RETRIES: Final = 2
_LONGEST_WAIT_S: Final = 60.0
"""What an SDK waits at most before it tries again."""

_NO_KEY: Final = "none"
"""Sent to a local server, as the SDKs insist on a key."""


class ProviderModel(ABC):
    """A model behind a provider's SDK. A subclass knows the shape of requests and replies.

    Args:
        endpoint: The model and where it is.
        timeout_s: How long one try may take.
        retries: How often the SDK tries again after what may pass.

    Attributes:
        package: The SDK.
    """

    package: ClassVar[str]

    def __init__(
        self, endpoint: Endpoint, *, timeout_s: float = TIMEOUT_S, retries: int = RETRIES
    ) -> None:
        self.endpoint = endpoint
        self.name = endpoint.name
        self._timeout_s = timeout_s
        self._retries = retries
        self._client: Any = None
        self._key: str | None = None

    @abstractmethod
    def request(
        self, context: Context, *, tools: Sequence[ToolDefinition], settings: Settings
    ) -> dict[str, Any]:
        """Return the body to be sent.

        Raises:
            Unsendable: The API cannot express the context.
        """

    @abstractmethod
    async def _post(self, client: Any, request: dict[str, Any]) -> Any:
        """Send a body by the SDK and return its raw response."""

    @abstractmethod
    def _turn(self, body: Json) -> Turn:
        """Read the turn in a body; raises `InvalidTrace` for anything else."""

    @abstractmethod
    def _missing(self, turn: Turn, body: dict[str, Any]) -> Missing | None:
        """Return why a turn is no answer, by how the API says that it ended."""

    def request_hash(self, request: dict[str, Any], settings: Settings) -> str:
        """Return 64 hex characters that stand for a request to this very endpoint."""
        return hashlib.sha256(self.encoded(request, settings)).hexdigest()

    def encoded(self, request: dict[str, Any], settings: Settings) -> bytes:
        """Return what `request_hash` digests: the request, where it goes, which sample."""
        told: dict[str, Any] = {
            "api": self.endpoint.provider,
            "url": self.endpoint.named_url,
            "request": request,
            "sample": settings.sample,
        }
        if settings.reply_schema is not None:
            # Models write fields in the order of the schema, which the sorted keys do not tell.
            told["fields"] = orjson.dumps(settings.reply_schema.schema).decode()
        try:
            return orjson.dumps(told, option=orjson.OPT_SORT_KEYS)
        except (TypeError, ValueError):
            return json.dumps(told, sort_keys=True, separators=(",", ":")).encode()

    def prepare(self) -> None:
        """Check that the SDK is installed and the key is set, so that it is said before any work.

        Raises:
            MissingDependency: The SDK is not installed.
            InvalidOption: The key is not set.
        """
        self._sdk()
        self._key = key_of(self.endpoint)

    async def send(self, request: dict[str, Any]) -> Json | Missing:
        """Send a request and return the body that came back, or why there is none.

        Raises:
            MissingDependency: The SDK is not installed.
            InvalidOption: The key is not set.
        """
        sdk = self._sdk()
        if self._client is None:
            self._key = key_of(self.endpoint)
            self._client = self._open(sdk)
        tries = self._retries + 1
        deadline_s = self._timeout_s * tries + _LONGEST_WAIT_S * self._retries
        try:
            # A server that sends a byte now and then would never run into the SDK's own timeout.
            async with asyncio.timeout(deadline_s):
                response = await self._post(self._client, request)
        except Exception as error:
            missing = missing_of(error, sdk, secret=self._key)
            if missing is None:
                raise
            return missing
        return self._body(response.http_response.text)

    def read(self, raw: Json) -> Reply:
        """Return what a body says: an answer, or a turn that is none with the reason."""
        body = raw if isinstance(raw, dict) else {}
        if isinstance(body.get("error"), dict):
            # Proxies, and failed responses, report errors in the body of a success.
            return Reply(None, None, raw, told_error(body["error"], secret=self._key))
        try:
            turn = self._turn(raw)
        except InvalidTrace as error:
            return Reply(None, None, raw, Missing("unparsable", str(error)))
        return Reply(turn, turn.usage, raw, self._missing(turn, body) or _lacks(turn))

    async def complete(
        self, context: Context, *, tools: Sequence[ToolDefinition], settings: Settings
    ) -> Reply:
        """Ask the model; see `ChatModel.complete`."""
        raw = await self.send(self.request(context, tools=tools, settings=settings))
        return Reply(None, None, None, raw) if isinstance(raw, Missing) else self.read(raw)

    async def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.close()

    def _sdk(self) -> ModuleType:
        try:
            return importlib.import_module(self.package)
        except ImportError as error:
            raise MissingDependency.for_extra(self.package, extra="models") from error

    def _open(self, sdk: ModuleType) -> Any:
        kind = {"openai": "AsyncOpenAI", "anthropic": "AsyncAnthropic"}[self.package]
        options: dict[str, Any] = {}
        if self.endpoint.is_loopback:
            # Neither a proxy nor a redirect may take a local call off this machine.
            options = {"trust_env": False, "follow_redirects": False}
        client = sdk.DefaultAsyncHttpxClient(event_hooks={"response": [_stop_hopeless]}, **options)
        return getattr(sdk, kind)(
            api_key=self._key or _NO_KEY,
            base_url=self.endpoint.base_url,
            timeout=self._timeout_s,
            max_retries=self._retries,
            http_client=client,
        )

    def _body(self, text: str) -> Json | Missing:
        try:
            return parse_json(masked(text, self._key).encode(), where="reply")
        except InvalidJSON as error:
            return Missing("unparsable", str(error))


async def _stop_hopeless(response: Any) -> None:
    """Tell the SDK not to try again when an account is used up, which no waiting mends."""
    if response.status_code == 429:
        await response.aread()
        if is_used_up(response.text):
            response.headers["x-should-retry"] = "false"


def _lacks(turn: Turn) -> Missing | None:
    """Return why a turn that ended well is no answer all the same."""
    if any((part.model_extra or {}).get("refusal") is True for part in turn.content):
        return Missing("refused", turn.text[:300])
    for call in turn.calls:
        if call.arguments is UNKNOWN or not isinstance(call.arguments, dict):
            return Missing("unparsable", f"the arguments of {call.name!r:.60} are no JSON object")
    if not turn.calls and not turn.text.strip():
        return Missing("empty", "")
    return None
