"""LangChain and LangGraph: chat models, tools, and graphs with their state.

    from tracedance_integrations import langchain as td_langchain

    td_langchain.install()

Every chat model and tool used inside an open recorder is recorded, by `create_agent`, by graphs of
your own and by loops written by hand; streamed, asynchronous, or neither. A compiled graph is an
agent: the first one in a recorder is the recorder's own run, one that is called in a tool or that
is a node of another graph is a sub-agent with a trace of its own. The state of the graph is the
trace's state where the recorder has no ``state=``.

LangGraph need not be installed; without it there are no graphs. `install` changes the libraries'
classes and `uninstall` puts them back.
"""

from __future__ import annotations

import importlib.util
from typing import Final

from tracedance_integrations.langchain.graphs import graph_hooks
from tracedance_integrations.langchain.models import model_hooks
from tracedance_integrations.langchain.tools import tool_hooks
from tracedance_sdk.recording.integrating import Integration, Patches


def _hooks(patches: Patches) -> None:
    patches.attempt(model_hooks)
    patches.attempt(tool_hooks)


_CORE: Final = Integration(
    "langchain",
    module="langchain_core",
    package="langchain-core",
    oldest="1.0",
    below="2",
    hooks=_hooks,
)
_GRAPHS: Final = Integration(
    "langchain",
    module="langgraph",
    package="langgraph",
    oldest="1.0",
    below="2",
    hooks=graph_hooks,
)


def install() -> bool:
    """Record models, tools and graphs, inside open recorders.

    Returns:
        Whether any hook is in place.

    Raises:
        MissingDependency: LangChain is not installed.
    """
    found = _CORE.install()
    if importlib.util.find_spec("langgraph") is not None:
        found |= _GRAPHS.install()
    return found


def uninstall() -> None:
    """Take the hooks out again."""
    _GRAPHS.uninstall()
    _CORE.uninstall()
