"""MCP: tools that a client calls on a server, and tools that a server runs.

    from tracedance_integrations import mcp as td_mcp

    td_mcp.install()

Inside an open recorder, every ``tools/call`` of a client is a call of the run, and what servers
list are the run's tools. The request tells the server which call it works for, in ``_meta``: as
W3C's ``traceparent``, and under ``tracedance/parent``. A server in another process that has
installed the integration records a run of its own for it, in the same OpenTelemetry trace and
linked to the call, when `tracedance_sdk.configure` or the environment says where to. One in the
same process works inside the client's call.
"""

from __future__ import annotations

from typing import Final

from tracedance_sdk.recording.integrating import Integration, Patches


def _hooks(patches: Patches) -> None:
    from tracedance_integrations.mcp.client import client_hooks
    from tracedance_integrations.mcp.functions import function_hooks
    from tracedance_integrations.mcp.sending import sending_hooks
    from tracedance_integrations.mcp.server import server_hooks
    from tracedance_integrations.mcp.starting import starting_hooks

    for hooks in (client_hooks, starting_hooks, sending_hooks, server_hooks, function_hooks):
        patches.attempt(hooks)


_INTEGRATION: Final = Integration(
    "mcp", module="mcp", package="mcp", oldest="1.20", below="3", hooks=_hooks
)
install, uninstall = _INTEGRATION.install, _INTEGRATION.uninstall
