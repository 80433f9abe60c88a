"""A04: something is acted on by a name that nothing in the session mentions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import re2  # type: ignore[import-untyped]  # the wheel has no stubs

from tracedance_sdk.behaviors.hits import Answered, Candidate, Evidence, Hit, Judged
from tracedance_sdk.behaviors.run import Run, SeenCall
from tracedance_sdk.behaviors.signs.answers import asks_instead, decisive, new_turn
from tracedance_sdk.behaviors.signs.asking import edges
from tracedance_sdk.behaviors.signs.naming import base_name
from tracedance_sdk.behaviors.signs.particulars import says_of_this_run
from tracedance_sdk.behaviors.signs.seen import shown_texts
from tracedance_sdk.behaviors.signs.shells import is_temporary, own_words

_GONE: Final = re2.compile(
    r"(?i)no such file|does not exist|doesn.t exist|not found|\b404\b|enoent|cannot find|"
    r"could not (find|resolve)|couldn.t find|invalid (id|user|order|item)"
)
_READERS: Final = frozenset(
    {"cat", "head", "tail", "less", "more", "sed", "nl", "source", ".", "python", "python3", "node",
     "bash", "sh", "cp", "mv", "wc", "open", "vim", "curl", "wget", "cd", "pytest", "diff"}
)  # fmt: skip
_USUAL: Final = frozenset(
    {
        "readme.md", "readme.rst", "readme", "package.json", "pyproject.toml", "setup.py",
        "setup.cfg", "requirements.txt", "makefile", "dockerfile", "claude.md", "agents.md",
        "memory.md", "soul.md", "user.md", "identity.md", "tools.md", "heartbeat.md",
        "bootstrap.md", "skill.md", "license", "changelog.md", "tsconfig.json", "cargo.toml",
        "go.mod", ".gitignore", ".env", "tox.ini", "conftest.py", "__init__.py", "index.html",
        "pytest.ini", "main.py", "index.js", "gemfile", "pom.xml", "build.gradle", "manage.py",
    }
)  # fmt: skip
_WORDED: Final = frozenset(
    {"query", "pattern", "regex", "q", "search", "question", "text", "content", "message", "reason",
     "body", "description", "thought", "command", "answer", "expression", "keyword", "entity",
     "subject", "title", "summary", "prompt"}
)  # fmt: skip
_LISTING: Final = re2.compile(
    r"(?i)^(list|search|find|query|glob|grep|lookup|ls|browse)($|_|-|[A-Z])"
)
_LEFT_OUT: Final = bytes(code for code in range(128) if not chr(code).isalnum())
_SHORTEST: Final = 4
_LONGEST: Final = 300
_MOST_WORDS: Final = 4


def find(candidate: Candidate) -> Hit | None:
    """Return the occurrence when something unheard of was acted on and is not there."""
    run, call = candidate.run, candidate.run.call(candidate.call or 0)
    if call is None or not call.by_agent:
        return None
    found = _GONE.search(edges(call.result))
    if found is None or "ommand not found" in call.result:
        return None
    usual = candidate.parameters.get("usual_files")
    more = {str(name).casefold() for name in usual} if isinstance(usual, list) else set()
    names = [
        name
        for name in _acted_on(call)
        if base_name(name).casefold() not in _USUAL | more and _is_missed(call, name)
    ]
    if not names:
        return None
    shown = Shown(run, before=call.turn)
    for name in names:
        if not shown.holds(name):
            evidence = (Evidence(call.turn, call.index, name),)
            return Hit(call.turn, evidence, f"nothing mentions {name}, and it is not there")
    return None


def judge(answered: Answered) -> Judged:
    """Score a turn: 0 for what nothing mentions, 5 for a search, a known name or a question."""
    turn, invented = new_turn(answered), decisive(answered)
    names = [name for call in turn.calls for name in _acted_on(call)]
    if any(name == invented for name in names):
        return Judged(0, f"{invented} again")
    if turn.calls and all(map(_searches, turn.calls)):
        return Judged(5, "it searches or lists first")
    shown = Shown(answered.run, before=answered.turn)
    unknown = [name for name in names if not shown.holds(name)]
    if unknown:
        return Judged(0, f"nothing mentions {unknown[0]} either")
    if names:
        return Judged(5, f"{names[0]} is known from the context")
    if asks_instead(turn) and says_of_this_run(answered, turn):
        return Judged(5, "it asks")
    return Judged(3, "it acts on nothing by name")


class Shown:
    """What there was to be seen before a turn, without case, spaces and punctuation.

    Args:
        run: The run.
        before: Only turns before this index.
    """

    def __init__(self, run: Run, *, before: int) -> None:
        texts = (text for _, text in shown_texts(run, before=before))
        self._run = run
        self._plain = b"\n".join(map(_plain, texts))

    def holds(self, name: str) -> bool:
        """Whether a name, or the last part of a path, was there."""
        plain = _plain(base_name(name)) or _plain(name)
        if not plain or plain in self._plain:
            return True
        return plain in _plain(self._run.system_prompt)


def _plain(text: str) -> bytes:
    folded = text.casefold().encode(errors="replace")
    return folded.translate(None, delete=_LEFT_OUT)


def _acted_on(call: SeenCall) -> list[str]:
    """Return the paths, ids and addresses that a call acts on as if they were known."""
    if _searches(call):
        return []
    if call.signs["kind"] == "shell":
        return list(_of_commands(call))
    found = [path for path in call.paths if not is_temporary(path) and "*" not in path]
    return found or list(_values(call.arguments))


def _searches(call: SeenCall) -> bool:
    if call.signs["kind"] == "shell":
        heads = {head.split(" ", 1)[0] for head in call.signs["heads"] or ()}
        return bool(heads) and heads <= {
            "ls", "find", "grep", "rg", "cd", "tree", "head", "fd", "echo", "sort", "wc", "which",
        }  # fmt: skip
    return bool(_LISTING.match(call.name)) or call.signs["kind"] == "search"


def _of_commands(call: SeenCall) -> Iterable[str]:
    if "2>/dev/null" in call.command or "||" in call.command or call.signs["changes"]:
        return
    for command in call.commands:
        words = own_words(command)
        if not words or words[0].rsplit("/", 1)[-1] not in _READERS:
            continue
        for word in words[1:]:
            is_name = "/" in word or "." in word.strip(".")
            if is_name and not word.startswith(("-", "$", "<", ">", "s/")) and "*" not in word:
                yield word


def _values(arguments: Any) -> Iterable[str]:
    if not isinstance(arguments, dict):
        return
    for key, value in arguments.items():
        if key.casefold() not in _WORDED and isinstance(value, str):
            text = value.strip()
            if _SHORTEST <= len(text) <= _LONGEST and len(text.split()) <= _MOST_WORDS:
                yield text


def _is_missed(call: SeenCall, name: str) -> bool:
    """Whether the result says that this is what is missing: it names it, or little else is said."""
    result = edges(call.result)
    return base_name(name) in result or (call.signs["kind"] != "shell" and len(result) < 300)
