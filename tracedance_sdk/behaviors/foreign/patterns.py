"""What ``re`` offers to the source of an anchor: RE2, which takes time in proportion to the text.

Patterns that are written out are compiled before anything runs, so that one which RE2 does not
know is told with its line.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, Final

import re2  # type: ignore[import-untyped]  # the wheel has no stubs

from tracedance_sdk.errors import Problem, shown

_SEARCHING: Final = ("search", "match", "fullmatch", "findall", "finditer")
_CHANGING: Final = ("split", "sub", "subn")
_TAKES_PATTERN: Final = frozenset(("compile", *_SEARCHING, *_CHANGING))
_LETTERS: Final = {"i": 2, "m": 8, "s": 16}
_FLAGS: Final = {
    "I": 2, "IGNORECASE": 2, "M": 8, "MULTILINE": 8, "S": 16, "DOTALL": 16,
}  # fmt: skip
_UNKNOWN: Final = ("invalid perl operator", "invalid escape sequence")


def offered_patterns() -> SimpleNamespace:
    """Return what stands for ``re``."""

    def with_flags(do: Callable[..., Any]) -> Callable[..., Any]:
        def call(pattern: Any, *arguments: Any, flags: int = 0) -> Any:
            return do(_compiled(pattern, flags), *arguments)

        return call

    def searching(do: Callable[..., Any]) -> Callable[..., Any]:
        def call(pattern: Any, text: str, flags: int = 0) -> Any:
            return do(_compiled(pattern, flags), text)

        return call

    found = {name: searching(getattr(re2, name)) for name in _SEARCHING}
    found |= {name: with_flags(getattr(re2, name)) for name in _CHANGING}
    return SimpleNamespace(compile=_compiled, escape=re2.escape, **found, **_FLAGS)


def _compiled(pattern: Any, flags: int = 0) -> Any:
    """Return a pattern of RE2's, which says nothing on standard error.

    Raises:
        ValueError: It is no pattern of RE2's.
    """
    if not isinstance(pattern, (str, bytes)):
        return pattern
    letters = "".join(letter for letter, bit in _LETTERS.items() if flags & bit)
    wanted = f"(?{letters}){pattern}" if letters and isinstance(pattern, str) else pattern
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(wanted, options)
    except (re2.error, UnicodeError) as error:
        raise ValueError(f"the pattern {shown(pattern)}: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    told = error.args[0] if error.args else ""
    text = told.decode("utf-8", "replace") if isinstance(told, bytes) else str(error)
    has_not = "; RE2 has no look-ahead, no look-behind and no back-references"
    return text + (has_not if text.startswith(_UNKNOWN) else "")


def pattern_problems(tree: ast.Module) -> list[Problem]:
    r"""Return what is wrong with the patterns that stand in an anchor's source.

    Args:
        tree: Checked already. A pattern that is put together when it runs is not looked at.

    Example:
        >>> source = "import re\ndef anchor(run, place, parameters):\n    re.search('(?=x)', 'x')"
        >>> print(pattern_problems(ast.parse(source))[0])
        the pattern '(?=x)': invalid perl operator: (?=; RE2 has no look-ahead, no look-behind and no back-references @ line 3
    """  # noqa: E501 - a message is one line
    constants = _constants(tree)
    found: list[Problem] = []
    for node, given in _patterns(tree):
        pattern = constants.get(given.id) if isinstance(given, ast.Name) else _text(given)
        try:
            _compiled(pattern)
        except ValueError as error:
            found.append(Problem(str(error), f"line {node.lineno}"))
    return found


def _patterns(tree: ast.Module) -> Iterator[tuple[ast.Call, ast.expr]]:
    """Yield the calls of what `re` offers, with their patterns."""
    nodes = list(ast.walk(tree))
    modules, functions = set[str](), set[str]()
    for node in nodes:
        if isinstance(node, ast.Import):
            modules |= {item.asname or item.name for item in node.names if item.name == "re"}
        elif isinstance(node, ast.ImportFrom) and node.module == "re":
            names = [item for item in node.names if item.name in _TAKES_PATTERN]
            functions |= {item.asname or item.name for item in names}
    for node in nodes:
        if isinstance(node, ast.Call) and _is_asked(node.func, modules, functions):
            named = [item.value for item in node.keywords if item.arg == "pattern"]
            yield from ((node, given) for given in (*node.args[:1], *named))


def _is_asked(function: ast.expr, modules: set[str], functions: set[str]) -> bool:
    if isinstance(function, ast.Name):
        return function.id in functions
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return False
    return function.value.id in modules and function.attr in _TAKES_PATTERN


def _constants(tree: ast.Module) -> dict[str, str | None]:
    """Return the texts that are given a name at the top and nowhere another."""
    given = Counter(
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )
    given.update(node.arg for node in ast.walk(tree) if isinstance(node, ast.arg))
    return {
        node.targets[0].id: _text(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and given[node.targets[0].id] == 1
    }


def _text(node: ast.expr) -> str | None:
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return str(node.value) if is_text and isinstance(node, ast.Constant) else None
