"""A foreign library's function with something around it: it behaves as it did before."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from types import MethodType
from typing import Any

from tracedance_sdk.recording.wrappers import Recorded, lookup

Around = Callable[[Callable[..., Any], Any, tuple[Any, ...], dict[str, Any]], Any]
"""Called instead of the function, with it, the object it is bound to, and its arguments."""


class Patched(Recorded):
    """A patched function. Copied as itself and pickled by reference, as functions are.

    Its class accounts for all the difference: ``type(x)`` is no function's and no method's.

    Args:
        function: A function, or a classmethod or staticmethod as its class holds it.
        around: What to call instead.
        enabled: Whether to, asked each time.
        method_of: The class whose method the function is; None for any other.
    """

    def __init__(
        self,
        function: Any,
        around: Around,
        *,
        enabled: Callable[[], bool],
        method_of: type[Any] | None = None,
    ) -> None:
        super().__init__(function, around, enabled=enabled)
        self._self_method_of = method_of

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if self._self_method_of is None:
            return super().__get__(instance, owner)
        # A class gives its function itself, each time the same: libraries tell by it whether a
        # subclass has a method of its own. What it gives its instances is a plain method.
        return self if instance is None else MethodType(self, instance)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call what is around the function; of a method, the first argument is its object."""
        if self._self_method_of is None or not args:
            return super().__call__(*args, **kwargs)
        is_enabled: Any = self._self_enabled
        if not is_enabled():
            return self.__wrapped__(*args, **kwargs)
        around: Any = self._self_wrapper
        instance = args[0]
        bound = self.__wrapped__.__get__(instance, type(instance))
        return around(bound, instance, args[1:], kwargs)

    def __reduce_ex__(self, protocol: Any) -> Any:
        name = getattr(self, "__qualname__", None)
        if name is None:
            return self.__wrapped__.__reduce_ex__(protocol)
        found: Any = lookup(self.__module__, name)
        if (
            found is not None
            and found is not self
            and inspect.unwrap(found) is inspect.unwrap(self)
        ):
            # Put back meanwhile, or known elsewhere by the name that it has here.
            return copy.copy, (found,)
        return name
