"""Secrets are taken out of what people are shown, and what was marked in it stays marked.

A store holds what it was given: what `tracedance import` masked, and what a program put there as it
was. A page is sent by mail, so it is masked whatever its store holds. Masks made here are numbered
in the order in which their secrets are met, so that the same source gives the same page and nobody
can test a guess against it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeVar

import orjson
from pydantic import BaseModel

from tracedance_sdk.behaviors import Occurrence
from tracedance_sdk.recording import SecretRedactor, redaction_key
from tracedance_sdk.report.safe_text import json_text
from tracedance_sdk.trace import (
    MASK,
    MAX_TRACE_DEPTH,
    UNKNOWN,
    Json,
    Reasoning,
    Text,
    Trace,
    Turn,
    decode,
    encode,
    encode_json,
    mask_text,
    parse_json,
    spelled_out,
)

_MASK: Final = re.compile(MASK.pattern.encode())
_PARTS: Final = re.compile(r"\[MASKED:([A-Za-z0-9_.-]{1,40}):")
_QUOTES_SECRETS: Final = frozenset(("A07",))
"""Behaviours whose evidence is a secret; alone, without its surroundings, it may look like none."""

_SHORTEST: Final = 6

_Model = TypeVar("_Model", bound=BaseModel)


class ShownSecrets:
    """Takes secrets out of what is shown.

    Args:
        is_masking: False shows everything as it is.

    Attributes:
        number: How many different secrets were taken out until now.

    Example:
        >>> ShownSecrets().text("export API_KEY=sk-ant-api03-" + "Ab1" * 30 + "AA")
        'export API_KEY=[MASKED:anthropic_key:1]'
    """

    def __init__(self, *, is_masking: bool = True) -> None:
        self._redactor = SecretRedactor(key=redaction_key(None)) if is_masking else None
        self._numbers: dict[bytes, bytes] = {}
        self._secrets: dict[str, str] = {}

    @property
    def number(self) -> int:
        """How many different secrets were taken out until now."""
        return len(self._numbers)

    def value(self, value: Json) -> Json:
        """Return a JSON value without secrets; the very same where it holds none."""
        plain = spelled_out(value)
        data = orjson.dumps(plain)
        clean = self._clean(data)
        return value if clean == data else orjson.loads(clean)

    def text(self, text: str) -> str:
        """Return a text without secrets, also those that marked texts were found to hold."""
        found = self.value(text)
        said = found if isinstance(found, str) else ""
        for secret, mask in self._secrets.items():
            said = said.replace(secret, mask)
        return said

    def model(self, item: _Model) -> _Model:
        """Return an object of ours without secrets in any of its fields."""
        if self._redactor is None:
            return item
        fields = item.model_dump(mode="json")
        clean = self.value(fields)
        return item if clean is fields else type(item).model_validate(clean)

    def trace(self, trace: Trace) -> Trace:
        """Return a trace without secrets.

        Raises:
            InvalidTrace: What is left is no trace; it is not to be shown then.
        """
        data = encode_json(trace)
        clean = self._clean(data)
        if clean == data:
            return trace
        return decode(parse_json(clean, where="masked", max_depth=MAX_TRACE_DEPTH), where="masked")

    def turn(self, turn: Turn) -> Turn:
        """Return a turn without secrets."""
        fields = encode(Trace(id="t", turns=(turn,)))["turns"][0]
        clean = self.value(fields)
        return turn if clean is fields else Turn.model_validate(clean)

    def quotes(self, before: Turn, after: Turn, quote: str) -> list[str]:
        """Return what stands where a quote stood, now that secrets are out of its turn.

        Args:
            before: The turn as it is stored.
            after: The same without secrets.
            quote: Words of it; a mask that they reach into comes whole.

        Returns:
            Different ones where it stood in different surroundings; at least one.
        """
        if not quote:
            return [quote]
        found: dict[str, None] = {}
        for plain, masked in zip(_texts(before), _texts(after), strict=False):
            if quote in plain:
                spans = _spans(plain, masked)
                self._secrets |= {
                    plain[start:end]: masked[first:last]
                    for start, end, first, last in spans
                    if end - start >= _SHORTEST
                }
                found[_moved(plain, masked, quote, spans)] = None
        return list(found) or [self.text(quote)]

    def occurrence(
        self, one: Occurrence, *, before: Trace | None = None, after: Trace | None = None
    ) -> Occurrence:
        """Return an occurrence without secrets in its note and evidence.

        Args:
            one: As a scan found it.
            before: Its trace as it is stored, where it is at hand.
            after: The same without secrets.
        """
        if self._redactor is None:
            return one
        evidence = []
        for item in one.evidence:
            known = before is not None and after is not None and item.turn < len(after.turns)
            if known and before is not None and after is not None:
                quote = self.quotes(before.turns[item.turn], after.turns[item.turn], item.quote)[0]
            else:
                quote = self._alone(one.behavior, item.quote)
            evidence.append(item.model_copy(update={"quote": quote}))
        told = one.model_copy(update={"evidence": tuple(evidence), "note": self.text(one.note)})
        return self.model(told)

    def _alone(self, behavior: str, quote: str) -> str:
        found = self.text(quote)
        if found != quote or behavior not in _QUOTES_SECRETS:
            return found
        value = self.value({"secret": quote})
        return str(value["secret"]) if isinstance(value, dict) and "secret" in value else found

    def _clean(self, data: bytes) -> bytes:
        if self._redactor is None:
            return data
        clean = self._redactor.redact(data)
        if clean == data:
            return data
        kept = set(_MASK.findall(data))

        def numbered(match: re.Match[bytes]) -> bytes:
            mask = match[0]
            if mask in kept:
                return mask
            kind = _PARTS.match(mask.decode())
            number = len(self._numbers) + 1
            made = mask_text(kind[1] if kind else "secret", str(number)).encode()
            return self._numbers.setdefault(mask, made)

        return _MASK.sub(numbered, clean)


def _texts(turn: Turn) -> Iterator[str]:
    """Yield the texts of a turn as pages show them, in an order that masking does not change."""
    said = [part.text for part in turn.content if isinstance(part, (Text, Reasoning))]
    yield from said
    yield "".join(part.text for part in turn.content if isinstance(part, Text))
    for call in turn.calls:
        yield from _forms(call.arguments)
        yield call.raw_arguments or ""
        if call.result is not None:
            yield from _forms(call.result.content)
            yield call.result.error.message if call.result.error is not None else ""


def _forms(value: Json) -> Iterator[str]:
    """Yield a JSON value as it is written, and each text in it."""
    yield "" if value is UNKNOWN else value if isinstance(value, str) else json_text(value)
    pending: list[Any] = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending += item.values()
        elif isinstance(item, list):
            pending += item
        else:
            yield item if isinstance(item, str) else ""


def _spans(plain: str, masked: str) -> list[tuple[int, int, int, int]]:
    """Return where masks took the place of what: start and end in the one, and in the other."""
    found: list[tuple[int, int, int, int]] = []
    place = reached = 0
    masks = [match for match in MASK.finditer(masked) if plain != masked]
    for number, mask in enumerate(masks):
        place += mask.start() - reached
        reached = mask.end()
        if plain.startswith(mask[0], place):
            place += len(mask[0])
            continue
        later = masks[number + 1].start() if number + 1 < len(masks) else len(masked)
        follows = masked[reached:later]
        is_last = number + 1 == len(masks)
        end = len(plain) - len(follows) if is_last else plain.find(follows, place + 1)
        if end < place or not plain.startswith(follows, end):
            break
        found.append((place, end, mask.start(), mask.end()))
        place = end
    return found


def _moved(plain: str, masked: str, quote: str, spans: Iterable[tuple[int, int, int, int]]) -> str:
    """Return what stands in the masked text where the quote first stands in the plain one."""
    start = plain.find(quote)
    end = start + len(quote)
    before, after = start, end
    for first, last, mask, mask_end in spans:
        if last <= start:
            before = start + mask_end - last
        elif first <= start:
            before = mask
        if last <= end:
            after = end + mask_end - last
        elif first < end:
            after = mask_end
    return masked[before:after]
