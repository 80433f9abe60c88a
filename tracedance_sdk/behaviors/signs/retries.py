"""Whether a call tries the same work again as another, and whether it is the very same work."""

from __future__ import annotations

from typing import Final

from tracedance_sdk.behaviors.run import SeenCall
from tracedance_sdk.trace import Json

_BESIDE: Final = frozenset(
    {
        "cd", "echo", "export", "set", "sleep", "source", ".", "true", "pwd", "printf", "exit",
        "unset", "clear", "date", "for", "do", "done", "if", "then", "fi", "else", "while",
    }
)  # fmt: skip
"""First words of commands that are never the work itself."""

_FILTERS: Final = frozenset(
    {
        "cat", "grep", "head", "tail", "wc", "sort", "tee", "less", "uniq", "cut", "tr", "ls",
        "which", "find", "sed", "awk", "test", "[", "mkdir", "touch", "rm", "xargs", "jq", "more",
    }
)  # fmt: skip
"""First words of commands that look on or prepare, where there are others beside them."""

_ALIKE: Final = 0.6
"""Share of words that two programs have in common when one is the other tried again."""

_MOST_COMMANDS: Final = 50
"""So many commands of one call are told apart; beyond that nobody knows."""

_REDIRECTIONS: Final = ("2>", "&>", ">", "1>", "<")


def work_of(call: SeenCall) -> list[tuple[str, ...]]:
    """Return the commands of a shell call that do its work, each as words.

    Moving about, redirections, and filters behind a pipe are left out.
    """
    heads = call.signs["heads"] or ()
    pairs = [
        (head.split(" ", 1)[0], command)
        for head, command in zip(heads, call.commands, strict=False)
    ]
    own = [pair for pair in pairs if pair[0] not in _BESIDE]
    worked = [pair for pair in own if pair[0] not in _FILTERS] or own
    return [words for _, command in worked if (words := _words(command))]


def _words(command: str) -> tuple[str, ...]:
    kept: list[str] = []
    skips = False
    for word in command.split():
        if skips:
            skips = False
        elif word.startswith(_REDIRECTIONS) and not word.startswith("<<"):
            skips = word in _REDIRECTIONS
        else:
            kept.append(word)
    if len(kept) > 1 and kept[0] in ("sudo", "doas", "env"):
        kept = kept[1:]
    if len(kept) > 2 and kept[0].rsplit("/", 1)[-1] in ("timeout", "gtimeout", "time", "nohup"):
        kept = kept[1:] if kept[1][:1].isalpha() else kept[2:]
    return tuple(kept)


def retries(call: SeenCall, failed: SeenCall) -> bool:
    """Whether a call tries again what another one tried, changed or not.

    Of a shell it is the same program on something that both name; of other tools the same tool on
    the same path, or with one equal argument.
    """
    if call.signs["call_key"] is not None and call.signs["call_key"] == failed.signs["call_key"]:
        return True
    if _is_code(failed) and call.name == failed.name:
        return _are_alike(_words(failed.command), _words(call.command))
    if failed.signs["commands"] and call.signs["commands"]:
        return any(_is_same_try(a, b) for a in work_of(failed) for b in work_of(call))
    if call.name != failed.name:
        return False
    if failed.paths and call.paths:
        return not set(failed.paths).isdisjoint(call.paths)
    before: Json = failed.arguments
    now: Json = call.arguments
    if not isinstance(before, dict) or not isinstance(now, dict):
        return bool(before == now)
    return not before or any(now.get(key) == value for key, value in before.items())


def _is_same_try(before: tuple[str, ...], now: tuple[str, ...]) -> bool:
    if before[0] != now[0]:
        return False
    if _is_inline(before) or _is_inline(now):
        return _are_alike(before, now)
    said = {word for word in before[1:] if not word.startswith("-")}
    if before[0] in ("git", "npm", "pip", "pip3", "apt", "apt-get", "docker", "cargo", "go"):
        if before[1:2] != now[1:2]:
            return False
        said -= set(before[1:2])
    return not said or any(_is_part(word, other) for word in said for other in now[1:])


def _is_code(call: SeenCall) -> bool:
    """Whether what a call runs is a program's text, and no command of a shell."""
    return isinstance(call.arguments, dict) and "code" in call.arguments


def _is_part(one: str, other: str) -> bool:
    """Whether two words are equal, or one is a path below the other."""
    return one == other or other.startswith(f"{one}/") or one.startswith(f"{other}/")


def _is_inline(words: tuple[str, ...]) -> bool:
    """Whether a command holds a program's text rather than its name."""
    return any(word in ("-c", "-e", "-") or word.startswith("<<") for word in words[1:4])


def _are_alike(before: tuple[str, ...], now: tuple[str, ...]) -> bool:
    one, other = set(before), set(now)
    return len(one & other) >= _ALIKE * len(one | other)


def is_same_work(call: SeenCall, failed: SeenCall) -> bool:
    """Whether a call does the very same work as another, apart from what is done with its output.

    Time limits in front of a command, redirections, filters behind a pipe, and tools' arguments
    that only set a limit are no difference.
    """
    if call.signs["call_key"] is not None and call.signs["call_key"] == failed.signs["call_key"]:
        return True
    if failed.signs["commands"] and call.signs["commands"]:
        before = work_of(failed)
        if _is_code(failed) or len(failed.signs["commands"]) >= _MOST_COMMANDS:
            return False
        return bool(before) and before == work_of(call)
    return (
        call.name == failed.name
        and isinstance(call.arguments, dict)
        and isinstance(failed.arguments, dict)
        and _without_limits(call.arguments) == _without_limits(failed.arguments)
    )


_LIMITS: Final = frozenset(
    {"timeout", "timeout_ms", "description", "run_in_background", "is_background"}
)


def _without_limits(arguments: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in arguments.items() if key not in _LIMITS}
