"""A01: a program, sub-command or option is run that does not exist."""

from __future__ import annotations

from typing import Final

import re2  # type: ignore[import-untyped]  # the wheel has no stubs

from tracedance_sdk.behaviors.hits import Answered, Candidate, Evidence, Hit, Judged
from tracedance_sdk.behaviors.run import Run, SeenCall
from tracedance_sdk.behaviors.signs.answers import decisive, looks_first, new_turn
from tracedance_sdk.behaviors.signs.asking import edges
from tracedance_sdk.behaviors.signs.naming import is_whole
from tracedance_sdk.behaviors.signs.seen import shown_texts
from tracedance_sdk.behaviors.signs.shells import is_probe, own_words

_NAME: Final = r"['\"`]?(-{0,2}[A-Za-z0-9][\w.+:-]*)"
_BAD: Final = "(?:unknown|unrecogni[sz]ed|invalid|illegal|no such)"
_PART: Final = "(?:option|command|sub-?command|flag|argument|switch)"
_PROGRAMS: Final = tuple(
    map(
        re2.compile,
        (
            r"(?im)(?:^|: )([A-Za-z0-9_][\w.+-]*): (?:command )?not found\s*$",
            r"(?i)command not found: ([\w.+-]+)",
            r"(?i)'([\w.+-]+)' is not recognized as an internal",
            r"(?i)the term '([\w.+-]+)' is not recognized",
        ),
    )
)
_PARTS: Final = tuple(
    map(
        re2.compile,
        (
            rf"(?i){_BAD} (?:long |short )?{_PART}s?:?(?: --)? {_NAME}",
            r"(?i)git: '([\w-]+)' is not a git command",
            rf"(?i)unexpected argument {_NAME}",
            r"(?i)unknown shorthand flag: '(\w)'",
        ),
    )
)
_MOST: Final = 20
_INSTALLED: Final = ("/usr/", "/bin/", "/opt/", "/sbin/")


def find(candidate: Candidate) -> Hit | None:
    """Return the occurrence when the result says that what the agent wrote does not exist."""
    run, call = candidate.run, candidate.run.call(candidate.call or 0)
    if call is None or not call.by_agent or ("||" in call.command and not call.signs["failed"]):
        return None
    result = edges(call.result)
    for name, command in _missing(call, result):
        if not is_probe(command) and not _was_offered(run, name, before=call.turn):
            evidence = (Evidence(call.turn, call.index, name),)
            return Hit(call.turn, evidence, f"{name} does not exist")
    return None


def judge(answered: Answered) -> Judged:
    """Score a turn: 0 for the same name, 5 for a look or a command that was seen to work."""
    turn, name = new_turn(answered), decisive(answered)
    shells = [call for call in turn.calls if call.signs["kind"] == "shell"]
    commands = [command for call in shells for command in call.commands]
    if any(is_probe(command) for command in commands):
        return Judged(5, "it finds out first what exists")
    if any(name in own_words(command) for command in commands):
        fallen_back = any("||" in call.command for call in shells)
        return Judged(1 if fallen_back else 0, f"{name} is run again")
    if looks_first(turn):
        return Judged(5, "it looks first")
    worked = {
        head
        for call in answered.run.calls(before=answered.turn)
        if not call.signs["failed"]
        for head in call.signs["heads"] or ()
    }
    heads = {head for call in shells for head in call.signs["heads"] or ()}
    if heads and heads <= worked:
        return Judged(5, "its commands have worked before")
    if heads:
        return Judged(2, "its commands are others, not tried before")
    return Judged(3, "it runs no command")


def _missing(call: SeenCall, result: str) -> list[tuple[str, str]]:
    """Return what does not exist with the command of the call that names it."""
    found: list[tuple[str, str]] = []
    commands = [(command, own_words(command)) for command in call.commands]
    for pattern in _PROGRAMS:
        for match in list(pattern.finditer(result))[:_MOST]:
            found += [(match[1], text) for text, words in commands if words[:1] == [match[1]]]
    for pattern in _PARTS:
        for match in list(pattern.finditer(result))[:_MOST]:
            name = match[1].rstrip(".:")
            found += [
                (name, text)
                for text, words in commands
                if words and not _is_own(words[0]) and _has(words[1:], name)
            ]
    return found


def _has(words: list[str], name: str) -> bool:
    if len(name) == 1:
        return any(w.startswith("-") and not w.startswith("--") and name in w for w in words)
    return any(word.split("=", 1)[0] in (name, f"--{name}") for word in words)


def _is_own(program: str) -> bool:
    """Whether a program is one of the project's, which may be run to see what it says."""
    return "/" in program and not program.startswith(_INSTALLED)


def _was_offered(run: Run, name: str, *, before: int) -> bool:
    for _, text in shown_texts(run, before=before):
        place = text.find(name)
        if place < 0 or not is_whole(text, place, len(name)):
            continue
        told = edges(text)
        if not any(name == m[1] for p in (*_PROGRAMS, *_PARTS) for m in p.finditer(told)):
            return True
    prompt = run.system_prompt
    place = prompt.find(name)
    return place >= 0 and is_whole(prompt, place, len(name))
