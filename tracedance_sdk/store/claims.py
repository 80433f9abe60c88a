"""Claims that tests pass, told from questions, plans and conditions about the same."""

from __future__ import annotations

import re
from typing import Final

_TESTS: Final = r"(?:tests?|specs?|(?:test )?suites?|checks?|pytest|assertions?)"
_ADVERB: Final = (
    r"(?:(?:now|all|both|also|still|already|again|is|are|was|were|has|have|been|be|finally|"
    r"successfully|should|would|will|must|may|might|can|could)\s+)*"
)
_CLAIM: Final = re.compile(
    rf"""\b{_TESTS}\b(?:\s*\([^()\n]{{0,60}}\))?\s+(?P<how>{_ADVERB})
        (?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?|ok|(?:ran|run|completed?)\s+successfully)\b
      | \ball\s+(?:of\s+)?(?:the\s+)?(?:\d+\s+)?(?:[\w-]+\s+)?{_TESTS}\s+(?:now\s+)?(?:pass|green)
      | \b[1-9]\d*(?:\s*/\s*\d+)?\s+(?:[\w-]+\s+)?(?:{_TESTS}\s+)?(?:passed|passing)\b
      | \bpassing\s+{_TESTS}\b|\b{_TESTS}:?\s+✅|✅\s+(?:all\s+)?{_TESTS}\b""",
    re.IGNORECASE | re.VERBOSE,
)
_OPEN: Final = re.compile(
    r"""\b(?:if|whether|once|when|until|till|unless|ensure|ensures|ensuring|sure|check|checks|verify
      | confirm|validate|see|hope|hopefully|expect|expected|want|wants|need|needs|needed|try|trying
      | should|would|will|could|might|may|must|can|to|let\ me|let's|going\ to|in\ order|so\ that
      | goal|require|requires|required|before|wait|assuming|suppose|probably|likely|maybe|perhaps
      | presumably|unclear|unsure|doubt)\b|['\u2019]ll\b|\[\ \]""",
    re.IGNORECASE | re.VERBOSE,
)
_DENIED: Final = re.compile(
    r"\b(?:not|no|none|never|cannot|without|does|do|0|most|some|few|only)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
_PARTLY: Final = re.compile(
    r"\b[1-9]\d*\s+(?:[\w-]+\s+)?(?:failed|failing|failures?|errors?)\b", re.IGNORECASE
)
_SENTENCE: Final = re.compile(r"[.!?:;]+(?=\s)|\n+|\s[\u2014\u2013-]\s|,?\s(?=(?:but|and so|so)\s)")
_EDGE: Final = 8_000


def claims_passing(text: str) -> bool:
    """Whether a text says that tests pass.

    A question, a plan, a condition and a denial say nothing of the kind; nor does a line that
    counts failures beside the passes. Looked at are the first and last 8,000 characters.

    Example:
        >>> [
        ...     claims_passing(text)
        ...     for text in (
        ...         "All tests pass now.",
        ...         "Let me verify that the tests pass:",
        ...         "Do the tests pass?",
        ...         "Once tests pass, I will push.",
        ...         "2 failed, 5 passed",
        ...         "I ran it: 5 passed.",
        ...     )
        ... ]
        [True, False, False, False, False, True]
    """
    if len(text) > 2 * _EDGE:
        text = f"{text[:_EDGE]}\n{text[-_EDGE:]}"
    start = 0
    for end in (*(match.end() for match in _SENTENCE.finditer(text)), len(text)):
        if _says_so(text[start:end]):
            return True
        start = end
    return False


def _says_so(sentence: str) -> bool:
    if sentence.rstrip().endswith("?") or _PARTLY.search(sentence):
        return False
    for found in _CLAIM.finditer(sentence):
        before = sentence[: found.start()]
        is_open = _OPEN.search(before) or _OPEN.search(found["how"] or "")
        if not is_open and not _DENIED.search(before.rpartition(",")[2]):
            return True
    return False
