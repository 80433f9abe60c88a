"""Results and errors of calls, of both generations of the library, as records hold them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from tracedance_sdk.formats import mcp_result, value_of_mcp_result
from tracedance_sdk.recording import ReplayedError
from tracedance_sdk.recording.integrating import ToolOutcome
from tracedance_sdk.trace import Json

TOOL_ERROR: Final = "tool_error"
"""Type of a failure that a result tells, by OpenTelemetry's conventions."""

_CODE: Final = re.compile(r"-?\d{1,9}")


def outcome(result: Any) -> ToolOutcome:
    """Return what came of a call that returned this."""
    wire = _on_the_wire(result)
    if not isinstance(wire.get("content"), list):
        # The server asks for input first, or an extension answers in its own way.
        return ToolOutcome(dict(wire))
    value = value_of_mcp_result(wire)
    if wire.get("isError") is not True:
        return ToolOutcome(value)
    words = [block.get("text") for block in wire["content"]]
    told = "\n".join(text for text in words if isinstance(text, str))
    return ToolOutcome(value, TOOL_ERROR, told or "the tool failed")


def failure(error: BaseException) -> ToolOutcome | None:
    """Return what an error of JSON-RPC says; its code is its type. None for any other."""
    told = getattr(error, "error", None)
    code = getattr(told, "code", None)
    if not isinstance(code, int) or not type(error).__module__.startswith("mcp."):
        return None
    return ToolOutcome(None, str(code), getattr(told, "message", "") or str(error))


def rebuilt(value: Json, *, is_packed: bool = False, failed: bool = False) -> Any:
    """Return the result of a call, as the library has it, for a recorded value."""
    from mcp.types import CallToolResult

    return CallToolResult.model_validate(mcp_result(value, is_packed=is_packed, failed=failed))


def raised_again(error: ReplayedError) -> Exception | None:
    """Return a recorded error of JSON-RPC as the library raises it; None for any other."""
    if _CODE.fullmatch(error.recorded_type) is None:
        return None
    from mcp.shared import exceptions
    from mcp.types import ErrorData

    code, message = int(error.recorded_type), str(error)
    kind: Any = getattr(exceptions, "MCPError", None)
    made: Exception = (
        exceptions.McpError(ErrorData(code=code, message=message))
        if kind is None
        else kind(code=code, message=message)
    )
    return made


def _on_the_wire(result: Any) -> Mapping[str, Any]:
    if isinstance(result, Mapping):
        return result
    dumped: dict[str, Any] = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    return dumped
