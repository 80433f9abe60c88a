"""No connections to other machines while tools are replayed.

What Python programs connect with is replaced for the time, in the whole process: ``connect``,
``connect_ex`` and ``sendto`` of `socket.socket`, `socket.create_connection`, and the functions that
look up names, such as `socket.getaddrinfo`. Connections to this machine, and those of other
families such as ``AF_UNIX``, are made. Other processes, and libraries that bring their own sockets,
such as gRPC and uvloop, are not covered.
"""

from __future__ import annotations

import contextlib
import fnmatch
import ipaddress
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from tracedance_sdk.errors import BlockedNetwork
from tracedance_sdk.recording import tool_let_run

_FAMILIES: Final = (socket.AF_INET, socket.AF_INET6)
_LOCAL: Final = ("", "localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback")


class NetworkBlock:
    """What may be reached during one replay.

    Args:
        allow: Names of hosts, or addresses, that may be; ``*`` stands for any characters.
        during: What is replayed, for messages.

    Attributes:
        refused: What was tried, as ``host:port``, in order.
    """

    def __init__(self, allow: Iterable[str] = (), *, during: str = "a replay") -> None:
        self._allowed = [pattern.lower() for pattern in allow]
        self._during = during
        self._resolved: set[str] = set()
        self.refused: list[str] = []

    def check(self, host: object, port: object) -> None:
        """Pass where a connection may be made.

        Raises:
            BlockedNetwork: It may not.
        """
        name = _text(host)
        if _is_local(name) or name in self._resolved or self._allows(name):
            return
        where = f"{name}:{port}"
        self.refused.append(where)
        tool = tool_let_run()
        by = "" if tool is None else f" by the tool {tool}"
        raise BlockedNetwork(
            f"connection to {where}{by} is blocked while {self._during} replays recorded answers;"
            f" allow the host with allow_hosts=[{name!r}], or record its tool"
        )

    def check_name(self, host: object, port: object) -> None:
        """Pass where a name may be looked up; numbers are, which asks nobody."""
        if _address(_text(host)) is None:
            self.check(host, port)

    def resolved(self, host: object, found: Iterable[Any]) -> None:
        """Note the addresses of a host that may be reached."""
        if self._allows(_text(host)):
            self._resolved.update(_text(entry[4][0]) for entry in found)

    def _allows(self, name: str) -> bool:
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self._allowed)


_ACTIVE: Final[list[NetworkBlock]] = []
_LOCK: Final = threading.Lock()
_ORIGINALS: Final[dict[str, Callable[..., Any]]] = {}
_METHODS: Final = ("connect", "connect_ex", "sendto")
_FUNCTIONS: Final = ("create_connection", "getaddrinfo", "gethostbyname", "gethostbyname_ex")


@contextlib.contextmanager
def blocked_network(block: NetworkBlock) -> Iterator[NetworkBlock]:
    """Refuse connections for a while; of several blocks the latest counts.

    Example:
        >>> with blocked_network(NetworkBlock()):
        ...     socket.create_connection(("example.com", 443))
        Traceback (most recent call last):
        tracedance_sdk.errors.BlockedNetwork: connection to example.com:443 is blocked ...
    """
    with _LOCK:
        if not _ACTIVE:
            _replace()
        _ACTIVE.append(block)
    try:
        yield block
    finally:
        with _LOCK:
            _ACTIVE.remove(block)
            if not _ACTIVE:
                _restore()


def _replace() -> None:
    for name in _METHODS:
        # These are inherited: what is put here hides them, and what is removed shows them again.
        if name not in vars(socket.socket):
            setattr(socket.socket, name, _method(name))
    for name in _FUNCTIONS:
        _ORIGINALS[name] = getattr(socket, name)
        setattr(socket, name, _OURS[name])


def _restore() -> None:
    for name in _METHODS:
        if getattr(vars(socket.socket).get(name), "__module__", None) == __name__:
            delattr(socket.socket, name)
    for name in _FUNCTIONS:
        # Whoever has replaced ours meanwhile calls it until they are done: it lets all through.
        if getattr(socket, name) is _OURS[name]:
            setattr(socket, name, _ORIGINALS[name])


def _method(name: str) -> Callable[..., Any]:
    inherited = getattr(super(socket.socket, socket.socket), name)

    def checked(self: socket.socket, *args: Any) -> Any:
        target = args[-1] if args else None
        if _ACTIVE and self.family in _FAMILIES and isinstance(target, tuple) and len(target) > 1:
            _ACTIVE[-1].check(target[0], target[1])
        return inherited(self, *args)

    checked.__name__ = name
    return checked


def _create_connection(address: Any, *args: Any, **kwargs: Any) -> Any:
    if _ACTIVE:
        _ACTIVE[-1].check(address[0], address[1])
    return _ORIGINALS["create_connection"](address, *args, **kwargs)


def _getaddrinfo(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
    if not _ACTIVE:
        return _ORIGINALS["getaddrinfo"](host, port, *args, **kwargs)
    block = _ACTIVE[-1]
    block.check_name(host, port)
    found = _ORIGINALS["getaddrinfo"](host, port, *args, **kwargs)
    block.resolved(host, found)
    return found


def _gethostbyname(hostname: Any) -> Any:
    return _looked_up("gethostbyname", hostname)


def _gethostbyname_ex(hostname: Any) -> Any:
    return _looked_up("gethostbyname_ex", hostname)


def _looked_up(function: str, hostname: Any) -> Any:
    if _ACTIVE:
        _ACTIVE[-1].check_name(hostname, "(its name)")
    return _ORIGINALS[function](hostname)


_OURS: Final[dict[str, Callable[..., Any]]] = {
    "create_connection": _create_connection,
    "getaddrinfo": _getaddrinfo,
    "gethostbyname": _gethostbyname,
    "gethostbyname_ex": _gethostbyname_ex,
}


def _text(host: object) -> str:
    if host is None:
        return ""
    text = host.decode("ascii", "replace") if isinstance(host, (bytes, bytearray)) else str(host)
    return text.lower().rstrip(".")


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return None


def _is_local(name: str) -> bool:
    """Whether a name is this machine's own; the unspecified address is, for a connection."""
    if name in _LOCAL or name.endswith(".localhost"):
        return True
    address = _address(name)
    if address is None:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback or address.is_unspecified
