"""Carry a run into threads that do not inherit the context of whoever gave them work."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from tracedance_sdk.recording.scopes import Scope

_P = ParamSpec("_P")
_T = TypeVar("_T")


def bound_to(scope: Scope, function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Return a function that runs the given one in a scope, in whatever thread or task."""
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            tokens = scope.enter()
            try:
                return await function(*args, **kwargs)
            finally:
                scope.leave(tokens)

        return awaited  # type: ignore[return-value]  # as async as the function is

    @functools.wraps(function)
    def called(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        tokens = scope.enter()
        try:
            return function(*args, **kwargs)
        finally:
            scope.leave(tokens)

    return called


class RunThreadPool(ThreadPoolExecutor):
    """A thread pool whose work belongs to the scope from which it was submitted.

    Args:
        scope: Gives the scope when work is submitted.
        max_workers: As for the standard pool.
    """

    def __init__(self, scope: Callable[[], Scope], *, max_workers: int | None = None) -> None:
        super().__init__(max_workers, thread_name_prefix="tracedance-pool")
        self._scope = scope

    def submit(
        self, function: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs
    ) -> Future[_T]:
        """Schedule the call; see `concurrent.futures.Executor.submit`."""
        return super().submit(bound_to(self._scope(), function), *args, **kwargs)
