"""What a server does for a call that somebody makes in another process: a run of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracedance_sdk.recording.agents import AgentRun
from tracedance_sdk.recording.options import writes_by_default
from tracedance_sdk.recording.plans import AgentName, plan_run

if TYPE_CHECKING:
    from tracedance_sdk.recording.driving import Operation
    from tracedance_sdk.recording.remote_parents import RemoteParent


def start_served(
    name: str, *, version: str | None = None, parent: RemoteParent | None = None
) -> Operation | None:
    """Return the run of a server that answers one request, as an operation.

    It goes where `configure` or the environment say; nobody else is there to read it.

    Args:
        name: Of the server.
        version: Of the server.
        parent: The call that the request was made for. The run is in its OpenTelemetry trace, and
            whatever run is open around here does not count.

    Returns:
        An operation to be driven (see `tracedance_sdk.recording.driving`); None where nothing says
        where to record.
    """
    if not writes_by_default():
        return None
    return AgentRun(plan_run(agent=AgentName(name, version))._replace(remote=parent))
