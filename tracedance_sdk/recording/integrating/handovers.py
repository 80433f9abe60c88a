"""Agents that take over from one another inside one use of a framework's runner."""

from __future__ import annotations

from tracedance_sdk.recording.driving import Operation
from tracedance_sdk.recording.guard import GUARD
from tracedance_sdk.recording.integrating.agent_runs import start_agent
from tracedance_sdk.recording.scopes import CURRENT, Scope, Tokens, find_scope, open_runs


class Relay:
    """Who is at work in a run that agents hand over to one another.

    Made inside the first agent's run. A framework's loop goes on in one context while its agents
    change, so what the loop does for the agent at work stands between `enter` and `leave`.
    """

    def __init__(self) -> None:
        scope = find_scope() if open_runs else None
        self._scopes: list[Scope] = [] if scope is None else [scope]
        self._taken: list[Operation] = []

    def hand_over(
        self, name: str, *, call_id: str | None, system_prompt: str | None = None
    ) -> None:
        """Let another agent go on from here, in a trace of its own.

        Args:
            name: The agent's.
            call_id: The call by which the agent at work handed over.
            system_prompt: The other agent's instructions, where known.
        """
        if self._scopes:
            faults = self._scopes[0].run.faults
            GUARD.attempt("handover", faults, self._hand_over, name, call_id, system_prompt)

    def _hand_over(self, name: str, call_id: str | None, system_prompt: str | None) -> None:
        tokens = self.enter()
        try:
            operation = start_agent(name, call_id=call_id, system_prompt=system_prompt)
            inner = operation.enter()
            scope = CURRENT.get()
            operation.leave(inner)
        finally:
            self.leave(tokens)
        if scope is not None:
            self._scopes.append(scope)
            self._taken.append(operation)

    def enter(self) -> Tokens:
        """Make the agent at work the current one, in code that belongs to no other run or call."""
        here = CURRENT.get()
        if not self._taken or not any(here is scope for scope in self._scopes):
            return None, None
        return self._taken[-1].enter()

    def leave(self, tokens: Tokens) -> None:
        """Undo `enter`."""
        if tokens[0] is not None:
            self._taken[-1].leave(tokens)

    def end(self, error: BaseException | None = None) -> None:
        """End the agents that took over, the last one first.

        Args:
            error: What left the framework's runner, if anything.
        """
        while self._taken:
            operation = self._taken.pop()
            if error is None:
                operation.succeed(None)
            else:
                operation.fail(error)
