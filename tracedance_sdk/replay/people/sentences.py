"""Sentences of a conversation: their clauses, what they are about, what asks and what offers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tracedance_sdk.replay.people.spellings import listed

STOP_TOKENS: Final = ("###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###")
"""What simulated customers of known benchmarks end a conversation with."""

OFFERS: Final = re.compile(
    r"(?i)\b(?:certificates?|vouchers?|coupons?|discounts?|compensation|goodwill|rebates?|"
    r"store credits?|(?:travel|flight|account|bill|courtesy) credits?|(?:free|complimentary) "
    r"(?:upgrade|month|gift|shipping|replacement|bags?|meal|night|stay|data))\b"
)
"""What a company gives for nothing."""

_SENTENCE: Final = re.compile(r"[^.!?\n]+(?:[.!?](?=\S)[^.!?\n]+)*[.!?]*")
_WORD: Final = re.compile(r"[^\W\d_][^\W\d_]*(?:['-][^\W\d_]+)*")
_CLAUSE: Final = re.compile(
    r"[,;:]\s+|\s+-+\s+|\s+(?=(?:and|but|so|then|because|since|if|or|while|where|which|plus|"
    r"instead|unless|as long as)\b)",
    re.IGNORECASE,
)
_JOINT: Final = re.compile(r"(?i)^(?:and|but|so|then|or|also|plus|which|because)\b[\s,]*")
_OFFERING: Final = re.compile(
    r"(?i)\b(?:offer(?:ed|ing)?|gesture|goodwill|compensat\w+|make (?:it )?up (?:to|for)|"
    r"(?:give|gave|issue|issued|issuing|send|sent|provide|provided|grant|granted|credit|extend|"
    r"apply|applied)\b.{0,20}\b(?:you|your|a|an|the)|eligible for|entitled to|instead)\b"
)
_ASKS: Final = re.compile(
    r"(?i)\?|\b(?:could|can|would|will|may) (?:you|i) |\bplease\b|"
    r"\b(?:provide|confirm|tell me|give me|share|specify|let me know|verify)\b|"
    r"\b(?:i(?:'ll| will)?|we(?:'ll| will)?) (?:also |first |still |just )?need\b|"
    r"\bwhat(?:'s| is)\b|\bwhich\b"
)
_ABBREVIATIONS: Final = re.compile(
    r"(?i)\b(?:a|p|mr|mrs|ms|dr|st|no|e\.g|i\.e|approx|vs)\.$|\bm\.$"
)
_STOP_WORDS: Final = frozenset(
    listed(
        "a about also am an and any are as at be but by can could do does for from get go has have "
        "hi hello i i'd i'll i'm i've id if in is it it's its just let like me my need no not of "
        "oh ok on or our out please provide so sure than thank thanks that that's the them then "
        "there these they this to under up us want was we will with would yes you your confirm "
        "could share give tell know help assist here which what when where who how further before "
        "proceed first next once more all other some should did were been being too now again "
        "alright actually great perfect"
    )
)
_LONGEST_PART: Final = 4_000


def sentences_of(text: str) -> Iterator[str]:
    """Yield the sentences of a message, stop tokens left out.

    Example:
        >>> list(sentences_of("Hi! It is 4.50 at 3 p.m. sharp. Thanks ###STOP###"))
        ['Hi!', 'It is 4.50 at 3 p.m. sharp.', 'Thanks']
    """
    held = ""
    for match in _SENTENCE.finditer(without_stop_tokens(text)):
        held = f"{held} {match[0].strip()}".strip()
        if _ABBREVIATIONS.search(held[-8:]) and len(held) < _LONGEST_PART:
            continue
        if held:
            yield held
        held = ""
    if held:
        yield held


def clauses_of(sentence: str) -> list[str]:
    """Return the parts that a sentence is made of; joined they are the sentence.

    Example:
        >>> clauses_of("Cancel it, and refund me if you can.")
        ['Cancel it, ', 'and refund me ', 'if you can.']
    """
    ends = [match.end() for match in _CLAUSE.finditer(sentence)]
    starts = [0, *ends]
    parts = [sentence[a:b] for a, b in zip(starts, [*ends, len(sentence)], strict=True)]
    return [part for part in parts if part]


def joined_clauses(clauses: list[str]) -> str:
    """Return a sentence of those parts that are left."""
    text = _JOINT.sub("", "".join(clauses).strip(" ,;:-"))
    if not text:
        return ""
    return text[0].upper() + text[1:] + ("" if text[-1] in ".!?" else ".")


def without_stop_tokens(text: str) -> str:
    """Return a message without what ends a conversation in benchmarks."""
    for token in STOP_TOKENS:
        text = text.replace(token, "")
    return text.strip()


def content_words(text: str) -> list[str]:
    """Return the words of a text that say what it is about, in lower case and in the singular.

    Example:
        >>> content_words("Could you please provide your reservation numbers?")
        ['reservation', 'number']
    """
    words = (word.casefold().removesuffix("'s") for word in _WORD.findall(text))
    return [_singular(word) for word in words if word not in _STOP_WORDS and len(word) > 1]


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and word[-2] not in "siu" else word


def asks(sentence: str) -> bool:
    """Whether a sentence asks for something."""
    return _ASKS.search(sentence) is not None


def offers_in(text: str) -> Iterator[str]:
    """Yield what the sentences of an agent offer for nothing, in lower case and in the singular.

    Example:
        >>> list(offers_in("I can offer you a $200 certificate. Certificates expire."))
        ['certificate']
    """
    for sentence in sentences_of(text):
        if _OFFERING.search(sentence):
            for match in OFFERS.finditer(sentence):
                yield match[0].casefold().removesuffix("s")
