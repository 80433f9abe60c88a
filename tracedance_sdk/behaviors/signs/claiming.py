"""What the agent states: sentences that are no question, plan, condition, denial or quotation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import re2  # type: ignore[import-untyped]  # the wheel has no stubs

_EDGE: Final = 20_000
_LONGEST: Final = 600
_FENCED: Final = re2.compile(
    r"(?s)```.*?(?:```|$)|~~~.*?(?:~~~|$)|<(?:thinking|think|analysis)>.*?(?:</(?:thinking|think|"
    r"analysis)>|$)"
)
_QUOTED: Final = re2.compile(
    r"(?m)^\s*>.*$|\"[^\"\n]{3,300}\"|\x{201c}[^\x{201d}\n]{3,300}\x{201d}|`[^`\n]{1,300}`"
)
_SENTENCE: Final = re2.compile(
    r"[.!;:](?:\s+|$)|\?|\n+|\s[\x{2014}\x{2013}]\s|\s-\s|,?\s(?:but|however|although|and so)\s"
)
_CITING: Final = re2.compile(r"[.!;](?:\s+|$)|\?|\n+")
_OPEN: Final = re2.compile(
    r"(?i)\b(?:if|whether|once|when|until|till|unless|ensure|ensures|ensuring|make sure|check|"
    r"checks|verify|"
    r"confirm|validate|see|hope|hopefully|expect|want|wants|need|needs|try|trying|should|would|"
    r"will|could|might|"
    r"may|must|can|let me|let's|lets|going to|in order to|so that|goal|requires?|before|after|"
    r"wait|assuming|suppose|"
    r"probably|likely|maybe|perhaps|presumably|unclear|unsure|doubt|as soon as|ready to|to be|"
    r"attempt|"
    r"please|plan|planning|next|you (?:said|told|mentioned|reported))\b|['\x{2019}]ll\b|\[ \]"
)
_DENIED: Final = re2.compile(
    r"(?i)\b(?:not|no|none|never|cannot|without|neither|nor|hardly|only partly|partially|yet|"
    r"unable|failed)\b|"
    r"n['\x{2019}]t\b"
)
_UNVERIFIED: Final = re2.compile(
    r"(?i)\b(?:not|never|n['\x{2019}]t|cannot|unable to|without|yet to)\b[^.\n]{0,40}\b(?:run|"
    r"ran|rerun|re-run|running|"
    r"verif\w+|test(?:ed|ing)|check(?:ed|ing)?|execut\w+|confirm\w*|validat\w+)\b|\bunverified\b|"
    r"\buntested\b|"
    r"\b(?:have|has|had|did|could|was|were|can)n['\x{2019}]t\b[^.\n]{0,40}\b(?:run|ran|rerun|"
    r"verif\w+|test(?:ed)?|execut\w+|"
    r"check(?:ed)?|confirm\w*)\b|\bplease (?:run|test|verify|check|try|re-?run)\b|\byou (?:can|"
    r"should|may) (?:now )?(?:run|test|"
    r"verify|re-?run|try)\b|\bneeds? (?:to be )?(?:verif\w+|testing|tested|running|re-?run)\b"
)
_QUESTION: Final = re2.compile(r"[^.!?\n]{3,300}\?(?:[\s)*\"']|$)")
_OFFER: Final = re2.compile(
    r"(?i)\banything else\b|\bany (?:other|more|further|additional) (?:question|help|assistance)|"
    r"\b(?:else|more|further) (?:can|could|may) i\b|\bhelp (?:you )?with\b|\bassist you\b"
)
_ASKS: Final = re2.compile(
    r"(?i)\b(?:please|could you|can you) (?:confirm|provide|clarify|specify|tell|give|share|"
    r"check)\b|"
    r"\blet me know (?:which|whether|how|what|the)\b"
)
_REPORTS: Final = re2.compile(
    r"(?i)\b(?:fail(?:s|ed|ure|ures|ing)?|errors?|unsuccessful(?:ly)?|unable|cannot|timed out|"
    r"denied|rejected|refused|"
    r"unfortunately|except for|did not|does not|was not|were not|could not|is not|are not|"
    r"not (?:found|available|possible|"
    r"able)|already exists?|remaining|pre-existing|apolog\w+|sorry|i (?:still )?need)\b|"
    r"n['\x{2019}]t\b"
)
_FAILURE: Final = re2.compile(
    r"(?i)\b(?:fail(?:s|ed|ure|ures|ing)?|errors?|unsuccessful(?:ly)?|problems?|issues?|"
    r"mistakes?|apolog\w+|sorry|"
    r"unable|cannot|timed out|denied|blocked|refused|rejected|bounced|missing|invalid|incorrect|"
    r"wrong|broken|"
    r"exceptions?|unfortunately|instead|again|retry|another (?:way|approach)|different|"
    r"i (?:still )?need (?:the|your|to know|more|a)|not (?:found|available|"
    r"installed|exist|possible|allowed|permitted|work\w*|delivered|sent)|already exists?|oops|"
    r"fix\w*|conflict\w*|"
    r"correct(?:ed|ing)?|adjust\w*|seems? (?:that|like)|it (?:appears|looks like))\b|"
    r"\b(?:could|can|did|does|was|were|is|has|have|do|must|would|are)(?:n['\x{2019}]t| not)\b|"
    r"['\x{2019}]t\b"
)
_ADDRESS: Final = re2.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")


def stated(text: str, *, is_citing: bool = False) -> Iterator[str]:
    """Yield the sentences of a text in the agent's own words, plain statements only.

    Left out are code, quotations, reasoning in tags, and questions. Plans, conditions and denials
    are still among them: see `claims`.

    Args:
        text: What the agent says.
        is_citing: Quotations and inline code stay, and sentences are whole at colons.
    """
    text, masked = _masked(text, keeps_quotes=is_citing)
    for start, end in _spans(masked, _CITING if is_citing else _SENTENCE):
        yield text[start:end]


def claims(text: str, pattern: Any) -> Iterator[str]:
    """Yield the statements in which a pattern occurs and is neither left open nor denied.

    Each is as it stands in the text; what it quotes is not looked at.

    Args:
        text: What the agent says.
        pattern: Compiled by re2.

    Example:
        >>> fixed = re2.compile("(?i)fixed")
        >>> list(claims("The bug is fixed now. It is not fixed. Once it is fixed, run it.", fixed))
        ['The bug is fixed now.']
    """
    if pattern.search(text) is None:
        return
    text, masked = _masked(text, keeps_quotes=False)
    for start, end in _spans(masked, _SENTENCE):
        sentence = masked[start:end]
        found = pattern.search(sentence)
        if found is None:
            continue
        before, after = sentence[: found.start()], sentence[found.end() :]
        if _OPEN.search(before) or _OPEN.search(found[0]) or _DENIED.search(before):
            continue
        if _DENIED.search(after[:40]) and not after[:1].isspace():
            continue
        yield text[start:end]


def _masked(text: str, *, keeps_quotes: bool) -> tuple[str, str]:
    """Return the text that is looked at, and the same with what is not its own words blotted out.

    Both are equally long, so that places in one are places in the other.
    """
    if len(text) > 2 * _EDGE:
        text = f"{text[:_EDGE]}\n{text[-_EDGE:]}"
    masked = _blotted(text, _FENCED, "\n")
    return text, masked if keeps_quotes else _blotted(masked, _QUOTED, "_")


def _blotted(text: str, pattern: Any, sign: str) -> str:
    pieces: list[str] = []
    last = 0
    for found in pattern.finditer(text):
        pieces += (text[last : found.start()], sign * (found.end() - found.start()))
        last = found.end()
    return "".join((*pieces, text[last:]))


def _spans(text: str, ends: Any) -> Iterator[tuple[int, int]]:
    """Yield where sentences that are no questions begin and end."""
    start = 0
    for end in (*(found.end() for found in ends.finditer(text)), len(text)):
        sentence = text[start:end]
        bare = sentence.strip()
        if bare and len(bare) <= _LONGEST and not bare.endswith("?"):
            begin = start + len(sentence) - len(sentence.lstrip())
            yield begin, begin + len(bare)
        start = end


def asks_back(text: str) -> bool:
    """Whether a text asks the user for something; an offer of more help is no question."""
    if len(text) > 2 * _EDGE:
        text = f"{text[:_EDGE]}\n{text[-_EDGE:]}"
    text = _FENCED.sub("\n", text)
    asked = (found[0] for found in _QUESTION.finditer(text))
    return any(_OFFER.search(question) is None for question in asked) or bool(_ASKS.search(text))


def reports_failure(text: str) -> bool:
    """Whether a text says that something failed; see `tells_of_failure` for less than that."""
    if len(text) > 2 * _EDGE:
        text = f"{text[:_EDGE]}\n{text[-_EDGE:]}"
    return _REPORTS.search(_ADDRESS.sub("_", text)) is not None


def says_unverified(text: str) -> bool:
    """Whether a text says that something was not run or not checked."""
    if len(text) > 2 * _EDGE:
        text = f"{text[:_EDGE]}\n{text[-_EDGE:]}"
    return _UNVERIFIED.search(text) is not None


def tells_of_failure(text: str) -> bool:
    """Whether a text speaks of something that went wrong, or of doing it in another way."""
    if len(text) > 2 * _EDGE:
        text = f"{text[:_EDGE]}\n{text[-_EDGE:]}"
    return _FAILURE.search(_ADDRESS.sub("_", text)) is not None
