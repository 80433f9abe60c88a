"""What a provider's SDK raised, as a reason why there is no answer."""

from __future__ import annotations

import importlib
import re
from types import ModuleType
from typing import Any, Final

from tracedance_sdk.llm.chat import Missing, MissingKind
from tracedance_sdk.llm.masking import masked
from tracedance_sdk.llm.streaming import CutStream, OddStream, ToldError

_TOO_LONG: Final = re.compile(
    r"context[ _-]?(?:length|size|window)|prompt is too long|maximum context|too many tokens|"
    r"input (?:is|length).{0,40}(?:too long|exceed)|exceeds? the (?:available )?context",
    re.IGNORECASE,
)
_REFUSED: Final = re.compile(r"content[ _]?(?:policy|filter|management)|safety", re.IGNORECASE)
_USED_UP: Final = re.compile(r"insufficient_quota|billing_hard_limit|credit balance is too low")
_FINAL: Final = {
    401: "the endpoint refuses the key",
    402: "the account cannot pay",
    403: "the endpoint refuses access",
    404: "the endpoint does not know the model or the address",
}
_PASSES: Final = re.compile(r"overloaded|rate_limit|server_error|api_error|timeout|unavailable")
"""Codes of errors told in a stream that may be gone at the next try."""

_BAD_REQUEST: Final = (400, 413, 422)
_LONGEST: Final = 300


def missing_of(error: BaseException, sdk: ModuleType, *, secret: str | None) -> Missing | None:
    """Return why there is no answer; None for an exception that is none of the endpoint's doing.

    Args:
        error: What was raised.
        sdk: The package `openai` or `anthropic`.
        secret: The key, to be masked in whatever the endpoint says.
    """
    http = _http(sdk)
    told = _told_by(error, sdk)
    if told is not None:
        return told_error(told, secret=secret)
    if isinstance(error, (sdk.APITimeoutError, http.TimeoutException, TimeoutError)):
        return Missing("error", "no reply in time", may_cost=True)
    if isinstance(error, sdk.APIStatusError):
        return _of_status(error, secret)
    if isinstance(error, CutStream):
        return Missing("error", "the stream ended before the reply did", may_cost=True)
    if isinstance(error, _lost(sdk)):
        cause = error.__cause__ or error
        what = "no connection" if cause is not error else "connection lost"
        reason = f"{what}: {_line(f'{type(cause).__name__} {cause}', secret)}"
        return Missing("error", reason, may_cost=not isinstance(cause, http.ConnectError))
    if isinstance(error, (OddStream, sdk.APIError)):
        return Missing("unparsable", _line(str(error), secret))
    return None


def may_pass(error: BaseException, sdk: ModuleType) -> bool:
    """Whether another try may do better after a stream broke off; no SDK tries again then."""
    told = _told_by(error, sdk)
    if told is not None:
        return _PASSES.search(_told_in(told)[0]) is not None
    return isinstance(error, (CutStream, *_lost(sdk)))


def is_used_up(text: str) -> bool:
    """Whether an error says that the account has no quota or money left."""
    return _USED_UP.search(text) is not None


def told_error(error: dict[str, Any], *, secret: str | None) -> Missing:
    """Return what an error means that stands in the body of a reply."""
    code, message = _told_in(error)
    reason = _line(f"{code}: {message}" if code else message, secret)
    return Missing(_kind(code, message), reason, is_final=is_used_up(code))


def _kind(code: str, message: str) -> MissingKind:
    told = f"{code} {message}"
    if _TOO_LONG.search(told):
        return "context_too_long"
    return "refused" if _REFUSED.search(told) else "error"


def _of_status(error: Any, secret: str | None) -> Missing:
    status: int = error.status_code
    code, message = _told(error)
    said = _line(message, secret)
    reason = f"HTTP {status}" + (f": {said}" if said else "")
    if status in _FINAL:
        return Missing("error", f"{_FINAL[status]} ({reason})", is_final=True)
    if status == 429:
        return Missing("error", reason, is_final=is_used_up(f"{code} {message}"))
    if status == 413:
        return Missing("context_too_long", reason)
    if is_used_up(f"{code} {message}"):
        return Missing("error", reason, is_final=True)
    # Some local servers answer 500 to a context that is too long.
    kind = _kind(code, message)
    if status not in _BAD_REQUEST and kind == "refused":
        kind = "error"
    return Missing(kind, reason)


def _http(sdk: ModuleType) -> ModuleType:
    """Return the HTTP library of an SDK, whose own errors come out of streams."""
    client = sdk.DefaultAsyncHttpxClient.__mro__[1]
    return importlib.import_module(client.__module__.partition(".")[0])


def _lost(sdk: ModuleType) -> tuple[type[Exception], ...]:
    """Return what lost connections raise, also in streams and below TLS."""
    end = importlib.import_module("anyio").EndOfStream
    return (sdk.APIConnectionError, _http(sdk).RequestError, OSError, end)


def _told_by(error: BaseException, sdk: ModuleType) -> dict[str, Any] | None:
    """Return the error that was told in an event of a stream; None for all others."""
    body: Any = None
    if isinstance(error, ToldError):
        body = error.body
    elif isinstance(error, sdk.APIStatusError):
        body = error.body if error.status_code < 400 else None
    elif isinstance(error, sdk.APIError) and not isinstance(
        error, (sdk.APIConnectionError, sdk.APIResponseValidationError)
    ):
        body = error.body
    inner = body.get("error", body) if isinstance(body, dict) else None
    return inner if isinstance(inner, dict) else None


def _told(error: Any) -> tuple[str, str]:
    """Return the code and the message in an error's body, in whatever shape it came."""
    body = error.body
    inner = body.get("error", body) if isinstance(body, dict) else body
    return _told_in(inner) if isinstance(inner, dict) else ("", str(inner or ""))


def _told_in(error: dict[str, Any]) -> tuple[str, str]:
    code = " ".join(str(error[key]) for key in ("code", "type") if error.get(key))
    return code, str(error.get("message") or "")


def _line(text: str, secret: str | None) -> str:
    line = " ".join(masked(text, secret).split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."
