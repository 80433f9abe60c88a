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
from tracedance_sdk.llm.event_loops import LoopClients
from tracedance_sdk.llm.failures import may_pass, missing_of, told_error
from tracedance_sdk.llm.masking import masked, masked_value
from tracedance_sdk.llm.reply_size import TOO_LARGE, cap_size, is_too_large
from tracedance_sdk.llm.retrying import LONGEST_WAIT_S, stop_hopeless
from tracedance_sdk.llm.streaming import OddStream
from tracedance_sdk.trace import UNKNOWN, Json, ToolDefinition, Turn, parse_json

TIMEOUT_S: Final = 600.0
RETRIES: Final = 2
_PAUSE_S: Final = 0.5
"""Before the first further try after a stream broke off, as the SDKs do; then twice as long."""

_NO_KEY: Final = "none"
"""Sent to a local server, as the SDKs insist on a key."""


class ProviderModel(ABC):
    """A model behind a provider's SDK. A subclass knows the shape of requests and replies.

    Args:
        endpoint: The model and where it is.
        timeout_s: How long one try may take; of a streamed reply, how long it may be silent.
        retries: How often to try again after what may pass.
        stream: Whether replies are streamed, which keeps connections that are idle for minutes
            from being dropped. The body, its place in a cache and what is read of it are the same.
            None streams only where the SDK asks for it: Anthropic's refuses to wait unstreamed for
            a reply that may take more than ten minutes, which it takes to be 21,333 tokens. Many
            other servers stream poorly: no usage, calls in pieces that do not fit.

    Attributes:
        package: The SDK.
    """

    package: ClassVar[str]
    _streamed_by: ClassVar[dict[str, Any]] = {"stream": True}

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        timeout_s: float = TIMEOUT_S,
        retries: int = RETRIES,
        stream: bool | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.name = endpoint.name
        self._stream = stream
        self._timeout_s = timeout_s
        self._retries = retries
        self._clients = LoopClients()
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
    async def _collected(self, response: Any) -> dict[str, Any]:
        """Return the body that a streamed raw response adds up to; see `streaming`."""

    @abstractmethod
    def _turn(self, body: Json) -> Turn:
        """Read the turn in a body; raises `InvalidTrace` for anything else."""

    @abstractmethod
    def _missing(self, turn: Turn, body: dict[str, Any]) -> Missing | None:
        """Return why a turn is no answer, by how the API says that it ended."""

    def is_streamed(self, request: dict[str, Any]) -> bool:  # noqa: ARG002 - a subclass looks at it
        """Whether the reply to a request is streamed."""
        return bool(self._stream)

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
            await self._clients.keep(self._open(sdk))
        tries = self._retries + 1
        deadline_s = self._timeout_s * tries + LONGEST_WAIT_S * self._retries
        try:
            # A server that sends a byte now and then would never run into the SDK's own timeout.
            async with asyncio.timeout(deadline_s):
                if self.is_streamed(request):
                    text = await self._streamed(sdk, request)
                else:
                    text = _text((await self._post(self._client, request)).http_response)
        except Exception as error:
            missing = missing_of(error, sdk, secret=self._key)
            if missing is None:
                raise
            return missing
        return self._body(text)

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
        """Close the running event loop's connections; the next call opens new ones.

        They close by themselves when the loop ends.
        """
        await self._clients.close()

    async def _streamed(self, sdk: ModuleType, request: dict[str, Any]) -> str:
        """Send a request and return the text of the body that is streamed back.

        A stream that breaks off is asked for again, as long as there are tries left: the SDKs only
        try again before a stream begins.
        """
        left, pause_s = self._retries, _PAUSE_S
        while True:
            client = (
                self._client
                if left == self._retries
                else self._client.with_options(max_retries=left)
            )
            response = await self._post(client, request | self._streamed_by)
            left -= response.retries_taken
            try:
                kind = response.headers.get("content-type", "").lower()
                if not kind.startswith("text/event-stream"):
                    # A page of a proxy's, or a server that does not stream.
                    await response.http_response.aread()
                    return _text(response.http_response)
                return json.dumps(await self._collected(response))
            except Exception as error:
                if is_too_large(response.http_response):
                    raise OddStream(TOO_LARGE) from error
                if left < 1 or not may_pass(error, sdk):
                    raise
            finally:
                await response.http_response.aclose()
            left -= 1
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_WAIT_S)

    @property
    def _client(self) -> Any:
        """The client of the running event loop; None before the first call."""
        return self._clients.here()

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
        client = sdk.DefaultAsyncHttpxClient(
            event_hooks={"response": [cap_size, stop_hopeless]}, **options
        )
        return getattr(sdk, kind)(
            api_key=self._key or _NO_KEY,
            base_url=self.endpoint.base_url,
            timeout=self._timeout_s,
            max_retries=self._retries,
            http_client=client,
        )

    def _body(self, text: str) -> Json | Missing:
        try:
            return masked_value(parse_json(text.encode(), where="reply"), self._key)
        except InvalidJSON as error:
            return Missing("unparsable", masked(str(error), self._key))


def _text(response: Any) -> str:
    """Return the text of a response that was read whole; raises `OddStream` where it was cut."""
    if is_too_large(response):
        raise OddStream(TOO_LARGE)
    return str(response.text)


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
