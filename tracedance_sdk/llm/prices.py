"""What tokens cost: a dated table that comes with the package, and one of one's own before it."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.trace import Json, Usage, parse_yaml, read_bytes

FORMAT: Final = "tracedance.prices"
VERSION: Final = 1
_FIELDS: Final = ("input", "output", "cache_read", "cache_write")
_MOST_USD: Final = 1e12
"""What a reply counts at most, so that sums stay finite: it is beyond any limit."""

_DATED: Final = re.compile(r"-(?:20\d\d-?\d\d-?\d\d|latest)$")


class Price(NamedTuple):
    """What a model's tokens cost, in US dollars per million.

    Attributes:
        cache_read: Of input read from the provider's cache; None as the other input.
        cache_write: Of input written to it; None as the other input.
        as_of: The day it was looked up, ISO.
    """

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None
    as_of: str | None = None

    def cost(self, usage: Usage | None) -> float | None:
        """Return what a reply cost in US dollars; None when its tokens are not known, or below 0.

        Example:
            >>> Price(2.0, 8.0).cost(Usage(input_tokens=1_000_000, output_tokens=500_000))
            6.0
        """
        if usage is None or usage.input_tokens is None or usage.output_tokens is None:
            return None
        read, written = usage.cache_read_tokens or 0, usage.cache_write_tokens or 0
        if min(usage.input_tokens, usage.output_tokens, read, written) < 0:
            return None
        plain = max(0, usage.input_tokens - read - written)
        dollars = (
            plain * self.input
            + read * (self.input if self.cache_read is None else self.cache_read)
            + written * (self.input if self.cache_write is None else self.cache_write)
            + usage.output_tokens * self.output
        )
        return dollars / 1e6


class Cost(NamedTuple):
    """What a reply cost.

    Attributes:
        usd: US dollars from 0 up; None when not known.
        is_odd: The reply states a cost that is no amount, such as -5, which was not used.
    """

    usd: float | None
    is_odd: bool = False


def cost_of(usage: Usage | None, price: Price | None) -> Cost:
    """Return what a reply cost: as it says itself, else its tokens at the price of its model.

    A stated cost below 0, or that is no finite number, is as good as none: it would lift any limit.

    Args:
        usage: Of the reply.
        price: Of its model; None when not known.

    Example:
        >>> cost_of(Usage(cost_usd=0.5), None)
        Cost(usd=0.5, is_odd=False)
        >>> cost_of(Usage(cost_usd=-5, input_tokens=1000, output_tokens=0), Price(2.0, 8.0))
        Cost(usd=0.002, is_odd=True)
    """
    stated = None if usage is None else usage.cost_usd
    if stated is not None and type(stated) in (int, float) and 0 <= stated < math.inf:
        return Cost(float(min(stated, _MOST_USD)))
    return Cost(None if price is None else price.cost(usage), stated is not None)


class PriceTable:
    """Prices by model; see `price_table`."""

    def __init__(self, rows: Iterable[tuple[str, Price]]) -> None:
        self._prices = dict(rows)

    def of(self, model: str) -> Price | None:
        """Return the price of a model, by its name or the name without its date; None if unknown.

        Example:
            >>> table = PriceTable([("gpt-x", Price(1.0, 4.0))])
            >>> table.of("gpt-x-2026-01-31") == table.of("gpt-x"), table.of("gpt-xl")
            (True, None)
        """
        return self._prices.get(model) or self._prices.get(_DATED.sub("", model))


def price_table(own: str | os.PathLike[str] | None = None) -> PriceTable:
    """Return the packaged table of prices, with those of one's own before it.

    Args:
        own: YAML file of the packaged one's form; None for none.

    Raises:
        InvalidSpec: The file is no YAML.
        InvalidOption: It is not of this form; the error names the place.
        UnreadableFile: It is missing or not permitted.
    """
    rows = dict(_packaged())
    if own is not None:
        rows.update(_rows(parse_yaml(read_bytes(own), where=str(own)), str(own)))
    return PriceTable(rows.items())


@cache
def _packaged() -> tuple[tuple[str, Price], ...]:
    data = files("tracedance_sdk.llm").joinpath("prices.yaml").read_bytes()
    return tuple(_rows(parse_yaml(data, where="prices.yaml"), "prices.yaml"))


def _rows(document: Json, where: str) -> Iterable[tuple[str, Price]]:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InvalidOption(f"{where}: no table of prices: 'format' is not {FORMAT!r}")
    if document.get("version") != VERSION:
        raise InvalidOption(f"{where}: version {document.get('version')!r}; known is {VERSION}")
    models = document.get("models")
    if not isinstance(models, dict):
        raise InvalidOption(f"{where}: an object is needed @ $.models")
    as_of = document.get("as_of")
    for name, row in models.items():
        yield name, _price(row, as_of, f"{where}: %s @ $.models.{name}")


def _price(row: Json, as_of: Json, problem: str) -> Price:
    if not isinstance(row, dict) or not {"input", "output"} <= row.keys() <= set(_FIELDS):
        raise InvalidOption(problem % f"give 'input' and 'output', of {', '.join(_FIELDS)}")
    for value in row.values():
        if type(value) not in (int, float) or not math.isfinite(value) or value < 0:
            raise InvalidOption(problem % f"{value!r:.40} is no price in dollars per million")
    return Price(**row, as_of=None if as_of is None else str(as_of))
