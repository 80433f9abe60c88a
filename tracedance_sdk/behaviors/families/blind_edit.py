"""A05: an existing file is changed by somebody who has not seen it."""

from __future__ import annotations

from typing import Final

import re2  # type: ignore[import-untyped]  # the wheel has no stubs

from tracedance_sdk.behaviors.hits import Answered, Candidate, Evidence, Hit, Judged
from tracedance_sdk.behaviors.run import Run, SeenCall
from tracedance_sdk.behaviors.signs.answers import looks_first, new_turn
from tracedance_sdk.behaviors.signs.made_here import made_here
from tracedance_sdk.behaviors.signs.naming import base_name, last_compaction, same_path
from tracedance_sdk.behaviors.signs.seen import shown_texts

_OLD_KEYS: Final = ("old_string", "old_str", "oldText", "old_text", "search", "old_source", "old")
_NEW_KEYS: Final = (
    "new_string", "new_str", "newText", "new_text", "content", "file_text", "replace", "code_edit",
    "new_source", "contents", "text",
)  # fmt: skip
_WAS_THERE: Final = re2.compile(
    r"(?i)not been read|read (it|the file) first|must (be )?read|file already exists|"
    r"has been (updated|overwritten|edited|modified)|successfully (replaced|updated|overwr)|"
    r"overwrit|updated? (the )?(existing )?file|\bdiff --git|^---? a/|replaced .{0,40}occurrence"
)
_UNREAD: Final = re2.compile(r"(?i)not been read|read (it|the file) first|must (be )?read")
_TELLING: Final = 12
_GUESSED: Final = 2
"""Lines of a file that somebody may get right without having seen them."""
_HEAD: Final = 1_000


def find(candidate: Candidate) -> Hit | None:
    """Return the occurrence when the file was there and its content was not shown."""
    run, call = candidate.run, candidate.run.call(candidate.call or 0)
    if call is None or not call.by_agent or not call.paths or _only_views(call):
        return None
    if not any(turn.is_human for turn in run.turns[: call.turn]):
        return None  # The session began before: what was seen is not on record.
    wanted = candidate.parameters.get("min_lines", 1)
    if isinstance(wanted, int) and _lines(call) < wanted:
        return None
    if not _is_blind(run, call) or not _was_there(run, call):
        return None
    evidence = (Evidence(call.turn, call.index, base_name(call.paths[0])),)
    return Hit(call.turn, evidence, f"{call.paths[0]} is changed and was not read")


def judge(answered: Answered) -> Judged:
    """Score a turn: 0 for a change of what was not seen, 5 for a look first."""
    turn, run = new_turn(answered), answered.run
    changing = [
        call
        for call in turn.calls
        if call.signs["kind"] in ("edit", "write") and not _only_views(call)
    ]
    source = answered.hit.evidence[0].quote if answered.hit.evidence else ""
    blind = [
        call
        for call in changing
        if call.paths and _is_blind(run, call) and _may_be_there(call, source)
    ]
    if blind:
        reads = any(call.signs["kind"] == "read" or _only_views(call) for call in turn.calls)
        return Judged(1 if reads else 0, f"{blind[0].paths[0]} is changed and was not read")
    if changing:
        return Judged(5, "what it changes was shown before, or is new")
    if looks_first(turn) or any(map(_only_views, turn.calls)):
        near = any(source in path for call in turn.calls for path in call.paths)
        return Judged(5 if near or not source else 4, "it looks first")
    return Judged(3, "it changes no file and reads none")


def _only_views(call: SeenCall) -> bool:
    """Whether a call asks a tool that edits just to show a file."""
    given = call.arguments
    return isinstance(given, dict) and given.get("command") in ("view", "undo_edit")


def _may_be_there(call: SeenCall, source: str) -> bool:
    return base_name(call.paths[0]) == source or call.signs["kind"] == "edit"


def _is_blind(run: Run, call: SeenCall) -> bool:
    """Whether nothing before a call has shown what it changes."""
    path, since = call.paths[0], last_compaction(run, before=call.turn)
    if made_here(run, path, before=call.turn) is not None:
        return False
    for earlier in run.calls(start=since, before=call.turn):
        if not earlier.signs["failed"] and _shows(earlier, path):
            return False
    if any(
        other.index < call.index and _shows(other, path) for other in run.turns[call.turn].calls
    ):
        return False
    if _was_attached(run, base_name(path), call, since):
        return False
    lines = _old_lines(call)
    if not lines:
        return True
    is_taken = call.signs["failed"] is False and not _UNREAD.search(call.result[:_HEAD])
    if len(lines) > _GUESSED and is_taken:
        return False  # Nobody guesses that much: it was shown where no record tells of it.
    unseen = set(lines)
    for _, text in shown_texts(run, before=call.turn, since=since):
        unseen = {line for line in unseen if line not in text}
    return 2 * len(unseen) > len(set(lines))


def _was_attached(run: Run, name: str, call: SeenCall, since: int) -> bool:
    """Whether a turn that is not the agent's has brought a file: quoted, or attached by ``@``."""
    attached = re2.compile(rf"@\S*{re2.escape(name)}")
    return any(
        name in turn.text and ("```" in turn.text or attached.search(turn.text))
        for turn in run.turns[since : call.turn]
        if turn.role != "assistant"
    )


def _shows(call: SeenCall, path: str) -> bool:
    """Whether a call has shown, or written, what is in a file."""
    kind = call.signs["kind"]
    name = base_name(path)
    if kind == "shell":
        return name in call.command and not _only_lists(call)
    if kind in ("read", "write", "edit"):
        return any(same_path(path, other) for other in call.paths) or name in call.arguments_text
    if kind == "search":
        return _names_a_line(call.result, name) or name in call.arguments_text
    if kind in ("plan", "ask", "subagent"):
        return False
    return name in call.arguments_text or _names_a_line(call.result, name)


def _only_lists(call: SeenCall) -> bool:
    heads = {head.split(" ", 1)[0] for head in call.signs["heads"] or ()}
    return heads <= {"ls", "find", "cd", "mkdir", "touch", "test", "stat", "rm", "chmod", "echo"}


def _names_a_line(result: str, name: str) -> bool:
    return f"{name}:" in result


def _was_there(run: Run, call: SeenCall) -> bool:
    if _WAS_THERE.search(call.result[:_HEAD]):
        return True
    if call.signs["kind"] == "edit" and _old_lines(call):
        return not call.signs["failed"]
    name = base_name(call.paths[0])
    return call.signs["kind"] == "write" and any(
        _is_listed(text, name) for _, text in shown_texts(run, before=call.turn)
    )


def _is_listed(text: str, name: str) -> bool:
    place = text.find(name)
    return place >= 0 and any(line.strip().endswith(name) for line in text.splitlines()[:2_000])


def _old_lines(call: SeenCall) -> list[str]:
    """Return the telling lines that a call replaces."""
    old = _texts(call, _OLD_KEYS)
    lines = (line.strip() for text in old for line in text.splitlines()[:40])
    return [line for line in lines if len(line) >= _TELLING]


def _lines(call: SeenCall) -> int:
    texts = _texts(call, (*_OLD_KEYS, *_NEW_KEYS))
    return max((len(text.splitlines()) for text in texts), default=1)


def _texts(call: SeenCall, keys: tuple[str, ...]) -> list[str]:
    given = call.arguments
    if not isinstance(given, dict):
        return []
    places = [given]
    edits = given.get("edits")
    if isinstance(edits, list):
        places += [edit for edit in edits[:50] if isinstance(edit, dict)]
    return [text for place in places for key in keys if isinstance(text := place.get(key), str)]
