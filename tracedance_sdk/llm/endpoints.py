"""Where a model is reached: its provider, its address, its key."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from tracedance_sdk.errors import InvalidOption, shown


class Provider(NamedTuple):
    """A provider's API.

    Attributes:
        key: Environment variable with the key.
        address: Environment variable with another address.
        default: The provider's own address.
    """

    key: str
    address: str
    default: str


_OPENAI: Final = Provider("OPENAI_API_KEY", "OPENAI_BASE_URL", "https://api.openai.com/v1")
PROVIDERS: Final[dict[str, Provider]] = {
    "anthropic": Provider("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
    "openai": _OPENAI,
    "openai-responses": _OPENAI,
}
"""Word before the colon → its API."""

_SCHEMES: Final = ("http", "https")
_SCHEME: Final = re.compile(r"@([A-Za-z][A-Za-z0-9+.-]*)://")

GROUP: Final = "tracedance.models"
"""Entry points by which other packages offer models of further providers."""


class Endpoint(NamedTuple):
    """A model at an address.

    Attributes:
        provider: A key of `PROVIDERS`, or of another package.
        model: The provider's name of the model.
        base_url: Where; empty for another package's model without an address.
        named_url: The address where it is no default one; None otherwise.
    """

    provider: str
    model: str
    base_url: str
    named_url: str | None = None

    @property
    def name(self) -> str:
        """The endpoint as ``provider:model[@base_url]``."""
        at = "" if self.named_url is None else f"@{self.named_url}"
        return f"{self.provider}:{self.model}{at}"

    @property
    def is_loopback(self) -> bool:
        """Whether the address is this very machine."""
        host = urlsplit(self.base_url).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"

    @property
    def is_official(self) -> bool:
        """Whether the address is the provider's own."""
        own = PROVIDERS.get(self.provider)
        if own is None:
            return False
        return urlsplit(self.base_url).hostname == urlsplit(own.default).hostname


def endpoint_of(name: str) -> Endpoint:
    """Return what a name such as ``openai:gpt-x@http://127.0.0.1:8080/v1`` means.

    Args:
        name: As ``provider:model[@base_url]``.

    Raises:
        InvalidOption: An unknown provider, no model, or an address that cannot be used.

    Example:
        >>> endpoint_of("anthropic:local@http://localhost:8080").is_loopback
        True
    """
    word, _, rest = name.partition(":")
    provider = PROVIDERS.get(word)
    if provider is None and word not in installed_providers():
        known = ", ".join([*PROVIDERS, *installed_providers(), "recorded"])
        raise InvalidOption(
            f"unknown provider {shown(word)} in {_shown(name)}; give provider:model[@base_url], "
            f"the provider one of {known}"
        )
    model, url = rest, None
    if provider is not None:
        _check_scheme(rest)
    for scheme in ("@http://", "@https://"):
        if scheme in rest:
            model, _, tail = rest.partition(scheme)
            url = f"{scheme[1:]}{tail}".rstrip("/")
    if not model:
        raise InvalidOption(f"{_shown(name)} names no model; give {word}:model[@base_url]")
    if url is None and provider is not None:
        url = os.environ.get(provider.address, "").strip().rstrip("/") or None
        if url is not None and not url.startswith(("http://", "https://")):
            raise InvalidOption(
                f"the variable {provider.address} has to hold an address that begins with http:// "
                "or https://"
            )
    default = "" if provider is None else provider.default
    if url is None or url == default:
        return Endpoint(word, model, default)
    _check(url)
    return Endpoint(word, model, url, url)


def installed_providers() -> Mapping[str, EntryPoint]:
    """Return the providers of other packages, by name, in order.

    A provider of this library's own name is left out.

    Raises:
        InvalidOption: Two packages offer the same provider.
    """
    found: dict[str, EntryPoint] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)):
        if entry.name in PROVIDERS or entry.name == "recorded":
            continue
        other = found.setdefault(entry.name, entry)
        if other.value != entry.value:
            raise InvalidOption(
                f"two packages offer models of the provider {entry.name!r}: {other.value} and "
                f"{entry.value}; remove one of them"
            )
    return found


def key_of(endpoint: Endpoint) -> str | None:
    """Return the key for an endpoint from the environment; a local one may have none.

    Raises:
        InvalidOption: A key is needed and its variable is not set.
    """
    variable = PROVIDERS[endpoint.provider].key
    key = os.environ.get(variable, "").strip()
    if key or endpoint.is_loopback:
        return key or None
    raise InvalidOption(f"{endpoint.name} needs a key: set the variable {variable}")


def _check_scheme(rest: str) -> None:
    """Refuse ``model@ftp://...``, which would be taken for the name of a model."""
    found = _SCHEME.search(rest)
    if found is not None and found[1] not in _SCHEMES:
        raise InvalidOption(
            f"the address of {_shown(rest)} begins with {shown(found[1] + '://')}, which cannot be "
            "used; give one with http:// or https://"
        )


def _check(url: str) -> None:
    try:
        parts = urlsplit(url)
        host, has_port = parts.hostname, parts.port is not None
    except ValueError as error:
        raise InvalidOption(f"the model's address cannot be read: {error}") from None
    if not host:
        raise InvalidOption(f"the model's address {shown(url)} names no host")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        port = f":{parts.port}" if has_port else ""
        raise InvalidOption(
            f"the model's address at {host}{port} holds more than a place; give keys by the "
            "provider's variable, not in the address"
        )


def _shown(name: str) -> str:
    """Return a name for an error, without what its address may hold of secrets."""
    found = _SCHEME.search(name)
    return shown(name if found is None else name[: found.start()])
