"""What a request tells the server of the call that it is made for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

from tracedance_sdk.recording.calls import OpenCall
from tracedance_sdk.recording.integrating import Patches, attempt
from tracedance_sdk.recording.remote_parents import TRACEPARENT, told_parent
from tracedance_sdk.recording.scopes import CURRENT, open_runs

KEY: Final = "tracedance/parent"
"""In ``_meta``: what `told_parent` gives."""

_TRACESTATE: Final = "tracestate"
_METHOD: Final = "tools/call"


class CallsOnTheirWay:
    """Calls that requests are made for at this moment, by their spans.

    A server in the same process finds there what it works for.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: dict[str, tuple[OpenCall, int]] = {}

    def add(self, call: OpenCall) -> None:
        """Say that a request is made."""
        with self._lock:
            _, number = self._calls.get(call.span_id, (call, 0))
            self._calls[call.span_id] = call, number + 1

    def remove(self, call: OpenCall) -> None:
        """Say that a request has come to its end."""
        with self._lock:
            _, number = self._calls.pop(call.span_id)
            if number > 1:
                self._calls[call.span_id] = call, number - 1

    def find(self, span_id: str) -> OpenCall | None:
        """Return the call of a span; None where it is none of this process, or is over."""
        found = self._calls.get(span_id)
        return None if found is None else found[0]


ON_THEIR_WAY: Final = CallsOnTheirWay()


def sending_hooks(patches: Patches) -> None:
    """Put the hooks where requests leave."""
    try:
        from mcp.shared import direct_dispatcher, jsonrpc_dispatcher
    except ImportError:
        from mcp.shared.session import BaseSession

        patches.wrap(BaseSession, "send_request", _send_request)
        return
    patches.wrap(jsonrpc_dispatcher.JSONRPCDispatcher, "send_raw_request", _send_raw_request)
    patches.wrap(direct_dispatcher.DirectDispatcher, "send_raw_request", _send_raw_request)
    patches.wrap(jsonrpc_dispatcher, "inject_trace_context", _inject)


async def _send_raw_request(wrapped: Any, _: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Send a request of any method, in versions from 2 on."""
    if not open_runs:
        return await wrapped(*args, **kwargs)
    given = dict(zip(("method", "params"), args, strict=False)) | kwargs
    if given.get("method") != _METHOD:
        return await wrapped(*args, **kwargs)

    def with_context(call: OpenCall) -> tuple[Any, dict[str, Any]]:
        params = dict(given["params"])
        params["_meta"] = _added(call, params.get("_meta") or {})
        if len(args) > 1:
            return (args[0], params, *args[2:]), kwargs
        return args, {**kwargs, "params": params}

    return await _sent(wrapped, args, kwargs, with_context)


async def _send_request(wrapped: Any, _: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Send a request of any method, in versions before 2."""
    if not open_runs:
        return await wrapped(*args, **kwargs)
    request = args[0] if args else kwargs.get("request")
    inner = getattr(request, "root", None)
    if getattr(inner, "method", None) != _METHOD:
        return await wrapped(*args, **kwargs)

    def with_context(call: OpenCall) -> tuple[Any, dict[str, Any]]:
        made = _request_with_context(call, request)
        return ((made, *args[1:]), kwargs) if args else (args, {**kwargs, "request": made})

    return await _sent(wrapped, args, kwargs, with_context)


async def _sent(
    wrapped: Any,
    args: Any,
    kwargs: dict[str, Any],
    with_context: Callable[[OpenCall], tuple[Any, dict[str, Any]]],
) -> Any:
    call = CURRENT.get()
    if not isinstance(call, OpenCall) or not call.run.is_open:
        return await wrapped(*args, **kwargs)
    args, kwargs = attempt("trace context", with_context, call) or (args, kwargs)
    ON_THEIR_WAY.add(call)
    try:
        return await wrapped(*args, **kwargs)
    finally:
        ON_THEIR_WAY.remove(call)


def _added(call: OpenCall, given: dict[str, Any]) -> dict[str, Any]:
    """Return ``_meta`` with what we tell; a trace that the program names itself stays."""
    told = told_parent(call)
    return {TRACEPARENT: told[TRACEPARENT], **given, KEY: told}


def _request_with_context(call: OpenCall, request: Any) -> Any:
    inner = request.root
    before = inner.params.meta
    given = {} if before is None else before.model_dump(exclude_none=True)
    from mcp.types import RequestParams

    meta = RequestParams.Meta(**_added(call, given))
    params = inner.params.model_copy(update={"meta": meta})
    return type(request)(inner.model_copy(update={"params": params}))


def _inject(wrapped: Any, _: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Let the library add the span that is current, and keep ours where a call is made."""
    meta: Any = args[0] if args else kwargs.get("meta")
    kept = attempt("trace context", _kept, meta)
    made = wrapped(*args, **kwargs)
    if kept is not None:
        if _TRACESTATE not in kept:
            meta.pop(_TRACESTATE, None)
        meta.update(kept)
    return made


def _kept(meta: Any) -> dict[str, Any] | None:
    """Return what must not be replaced; None where the program's own spans lead to the call."""
    call = CURRENT.get()
    told = meta.get(KEY) if open_runs else None
    if told is None or call is None or call.run.spans is not None:
        return None
    if meta.get(TRACEPARENT) != told.get(TRACEPARENT):
        return None
    return {key: meta[key] for key in (TRACEPARENT, _TRACESTATE) if key in meta}
