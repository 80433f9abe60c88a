"""Whether a text speaks of this very run: a reply that would do anywhere shows nothing.

"The call failed, I try again" is true after every failure. A judge that gives points for words
asks whether they name something of the instance: a path, number, name or error that stands there,
or words of what was called.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import re2  # type: ignore[import-untyped]  # the wheel has no stubs

from tracedance_sdk.behaviors.hits import Answered
from tracedance_sdk.behaviors.run import SeenCall, SeenTurn
from tracedance_sdk.behaviors.signs.asking import human_words
from tracedance_sdk.behaviors.signs.reactions import failed_call

_EDGE: Final = 2_000
_HEAD: Final = 400
_RECENT: Final = 3
_ENOUGH: Final = 2
_TOKEN: Final = re2.compile(r"[\w./@:+-]*\w")
_MARKED: Final = re2.compile(r"\d\d|\w[_@/]\w|\w\.\w|[a-z][A-Z]|^[A-Z]{3,}$|^E[A-Z]+$")
_NAME: Final = re2.compile(r"[a-z,;:('\"] ?\b([A-Z][a-z]{2,})\b")
_WORD: Final = re2.compile(r"[a-z]{4,}")
_WORDS: Final = """
able about above accept accepted access account action after afterwards again against agent ahead
allow allowed almost already also alternative although always another answer anybody anyone
anything apologise apologize appear approach approval approve argument around asked asking
attempt available aware back because been before begin being below best better between both
break broken call called calling cannot case cause caused certain change changed changing check
checked clear come command complete completed condition confirm confirmed contain content
continue correct could credential current currently data denied deny detail determine did
different directly does doing done down each either else encounter encountered enough entire
error even ever every everything exact exactly example execute executed exist exit expected
explain expose exposed fail failed failing failure false file fine finish finished first fixed
follow followed following form found from full function further general get getting give given
goes going good got handle happen happened have having help here hold however inform information
input inside instead instruction into invalid issue itself just keep kind know known last later
least leave left less let like likely line list little look looked looking made main make making
many match may maybe mean mention message method might missing more most much must name
necessary need needed never next none nothing notice number object okay once one only open
operation option original other output over page parameter part path perform permission
place plan please point possible prepare present previous problem proceed process program proper
properly provide provided purpose put reach read reading ready really reason receive received
recent regard relevant report request require required resolve response rest result retry return
returned review right risk run running safe safely same save saved secret see seem send
sensitive sent set should show shown side simple simply since single skip some somebody someone
something soon sorry specific specify start started state statement status step still stop
string succeed success successful such suggest support sure suspicious system take taken task
tell term than thank that their them then there these they thing think this those though through
time told tool toward tried true try trying turn two type unable under understand unexpected
unfortunately unknown until update updated use used useful user using valid value verified
verify very wait want wanted way well were what when where whether which while whole will wish
with within without word work worked working would write written wrong yet your yourself
"""
_COMMON: Final = frozenset(_WORDS.split())
"""Words that any run may hold; what is left of a text is of what it is about."""


def is_of_this_run(answered: Answered, text: str) -> bool:
    """Whether a text names something that this run is about.

    That is a path, number, identifier or name that stands in what was asked, called and answered
    of late, a word of what shows the behaviour, of the last request or of the call that failed, or
    two words of the rest. Words that could stand anywhere do not count.

    Args:
        answered: The new turn in its place.
        text: What it says, or what it writes to somebody.
    """
    text = _edges(text)
    said_words, said_marks = _words([text]), _marks([text])
    if not said_words and not said_marks:
        return False
    core, around = list(_core(answered)), list(_around(answered))
    if said_words & _words(core):
        return True
    if said_marks & _marks([*core, *around]):
        return True
    return len(said_words & _words(around)) >= _ENOUGH


def says_of_this_run(answered: Answered, turn: SeenTurn) -> bool:
    """Whether a turn names something of the run, in its text or to whom its calls speak."""
    told = (c.arguments_text for c in turn.calls if c.signs["kind"] in ("ask", "send", "plan"))
    return any(is_of_this_run(answered, text) for text in (turn.text, *told) if text)


def _core(answered: Answered) -> Iterator[str]:
    """Yield what shows the behaviour, what was asked last, and the call that failed."""
    yield from (piece.quote for piece in answered.hit.evidence)
    yield _asked_last(answered)[:_HEAD]
    failed = failed_call(answered)
    if failed is not None:
        yield f"{failed.name} {failed.arguments_text[:_EDGE]}"
        yield failed.result[:_HEAD]
        yield failed.result[-_HEAD:]


def _around(answered: Answered) -> Iterator[str]:
    """Yield what was asked last, and what was called and answered right before."""
    yield _asked_last(answered)
    for turn in answered.run.turns[: answered.turn][-_RECENT:]:
        yield _edges(turn.text)
        for call in turn.calls:
            yield from _of(call)


def _asked_last(answered: Answered) -> str:
    before = reversed(answered.run.turns[: answered.turn])
    return next((words for turn in before if (words := human_words(turn))), "")


def _of(call: SeenCall) -> tuple[str, str, str]:
    return call.name, _edges(call.arguments_text), _edges(call.result)


def _words(texts: Iterable[str]) -> set[str]:
    """Return the words of texts that could not stand anywhere, without endings of the plural."""
    found = (word for text in texts for word in _WORD.findall(_edges(text).casefold()))
    return {bare for word in found if word not in _COMMON and (bare := word.rstrip("s"))} - _COMMON


def _marks(texts: Iterable[str]) -> set[str]:
    """Return paths, numbers, identifiers and names of texts, each with its last part."""
    found: set[str] = set()
    for text in map(_edges, texts):
        for token in _TOKEN.findall(text):
            if _MARKED.search(token):
                last = token.rsplit("/", 1)[-1]
                found |= {token.casefold(), last.casefold()}
        found |= {name.casefold() for name in _NAME.findall(text)}
    return {one for one in found if one not in _COMMON}


def _edges(text: str) -> str:
    return text if len(text) <= 2 * _EDGE else f"{text[:_EDGE]}\n{text[-_EDGE:]}"
