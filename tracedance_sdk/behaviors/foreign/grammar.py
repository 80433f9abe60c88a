"""What Python source of an anchor may be made of; everything else is refused before it runs.

The source defines one function, ``anchor(run, place, parameters)``, and whatever functions and
constants it needs. What is refused here is the first wall; the second is the process it runs in.
"""

from __future__ import annotations

import ast
from typing import Final

from tracedance_sdk.errors import InvalidSpec, Problem, shown

ENTRY: Final = "anchor"
MODULES: Final = frozenset(("re", "json", "collections", "itertools", "math", "datetime"))
"""Modules that may be imported; each offers its harmless functions alone."""

_MOST_CHARACTERS: Final = 20_000
_MOST_NODES: Final = 4_000
_MOST_PROBLEMS: Final = 20
_REFUSED_NODES: Final[dict[type[ast.AST], str]] = {
    ast.ClassDef: "a class",
    ast.AsyncFunctionDef: "an async function",
    ast.AsyncFor: "an async loop",
    ast.AsyncWith: "an async block",
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "yield from",
    ast.With: "a with block",
    ast.Global: "global",
    ast.Nonlocal: "nonlocal",
    ast.Delete: "del",
    ast.Match: "match",
    ast.TryStar: "except*",
}
_REFUSED_ATTRIBUTES: Final = frozenset(
    """
    format format_map mro gi_frame gi_code gi_yieldfrom cr_frame cr_code cr_origin ag_frame ag_code
    f_back f_builtins f_code f_globals f_locals f_trace tb_frame tb_next tb_lasti with_traceback
    func_globals co_code co_consts co_names obj args
    """.split()  # noqa: SIM905 - a table to be read
)
_UNSTEADY_ATTRIBUTES: Final = frozenset(("now", "today", "utcnow"))
"""What reads the clock: an anchor that does finds something else each time."""

_REFUSED_NAMES: Final = frozenset(
    """
    exec eval compile open input print breakpoint exit quit help copyright credits license globals
    locals vars dir getattr setattr delattr hasattr type object super memoryview bytearray bytes id
    classmethod staticmethod property callable issubclass BaseException BaseExceptionGroup
    SystemExit KeyboardInterrupt GeneratorExit hash aiter anext
    """.split()  # noqa: SIM905 - a table to be read
)


def check_source(source: str, *, where: str = "anchor.code") -> ast.Module:
    r"""Return the tree of an anchor's source if it may be run.

    Args:
        source: Python.
        where: What it is, for messages.

    Raises:
        InvalidSpec: It may not; `problems` lists what is refused, with line numbers.

    Example:
        >>> check_source("def anchor(run, place, parameters):\n    return open('x')")
        Traceback (most recent call last):
        tracedance_sdk.errors.InvalidSpec: anchor.code: the name 'open' is not allowed @ line 2
    """
    if len(source) > _MOST_CHARACTERS:
        raise _invalid(where, [Problem(f"more than {_MOST_CHARACTERS:,} characters")])
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        place = f"line {line}" if line else "$"
        raise _invalid(where, [Problem(f"no Python: {error.args[0]}", place)]) from None
    nodes = list(ast.walk(tree))
    if len(nodes) > _MOST_NODES:
        raise _invalid(where, [Problem(f"more than {_MOST_NODES:,} parts")])
    problems = [found for node in nodes if (found := _refusal(node)) is not None]
    problems += _outline(tree)
    if problems:
        raise _invalid(where, problems[:_MOST_PROBLEMS])
    return tree


def _invalid(where: str, problems: list[Problem]) -> InvalidSpec:
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return InvalidSpec(f"{where}: {problems[0]}{more}", problems=problems)


def _refusal(node: ast.AST) -> Problem | None:
    """Return why a part of the tree is refused, if it is."""
    what = _REFUSED_NODES.get(type(node)) or _refused(node)
    if what is None:
        return None
    line = getattr(node, "lineno", None)
    return Problem(f"{what} is not allowed", f"line {line}" if line else "$")


def _refused(node: ast.AST) -> str | None:
    if isinstance(node, ast.Attribute):
        if not isinstance(node.ctx, ast.Load):
            return f"setting the attribute {shown(node.attr)}"
        return _refused_attribute(node.attr)
    if isinstance(node, ast.Name) and _is_refused(node.id, _REFUSED_NAMES):
        return f"the name {shown(node.id)}"
    if isinstance(node, (ast.arg, ast.keyword)) and _is_refused(node.arg or "", frozenset()):
        return f"the name {shown(node.arg)}"
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return _refused_import(node)
    return _refused_statement(node)


def _refused_attribute(name: str) -> str | None:
    if name in _UNSTEADY_ATTRIBUTES:
        return f"the attribute {shown(name)}, which reads the clock,"
    is_refused = name.startswith("_") or name in _REFUSED_ATTRIBUTES
    return f"the attribute {shown(name)}" if is_refused else None


def _is_refused(name: str, names: frozenset[str]) -> bool:
    return (name.startswith("_") and name != "_") or name in names


def _refused_statement(node: ast.AST) -> str | None:
    if isinstance(node, ast.While) and isinstance(node.test, ast.Constant):
        return "a loop without an end"
    if isinstance(node, ast.FunctionDef) and (node.decorator_list or node.name.startswith("_")):
        return "a decorator or a name with '_' in front"
    if isinstance(node, ast.ExceptHandler) and node.type is None:
        return "except without a type"
    if isinstance(node, ast.Try) and (left := _left_by(node.finalbody)):
        return f"{left} in finally"
    return None


def _left_by(body: list[ast.stmt]) -> str | None:
    """Return the statement that leaves a finally block, and so lets go what was raised."""
    pending: list[tuple[ast.AST, bool]] = [(node, False) for node in body]
    while pending:
        node, in_loop = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            continue
        if isinstance(node, ast.Return):
            return "return"
        if isinstance(node, (ast.Break, ast.Continue)) and not in_loop:
            return "break" if isinstance(node, ast.Break) else "continue"
        if isinstance(node, (ast.For, ast.While)):
            pending += [(child, True) for child in node.body]
            pending += [(child, in_loop) for child in node.orelse]
        else:
            pending += [(child, in_loop) for child in ast.iter_child_nodes(node)]
    return None


def _refused_import(node: ast.Import | ast.ImportFrom) -> str | None:
    names = [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        if node.level or node.module not in MODULES or "*" in names:
            return f"importing from {shown(node.module or '.')}"
    elif unknown := [name for name in names if name not in MODULES]:
        return f"importing {shown(unknown[0])}"
    bound = [alias.asname or alias.name for alias in node.names]
    taken = [name for name in bound + names if name.startswith("_")]
    return f"the name {shown(taken[0])}" if taken else None


def _outline(tree: ast.Module) -> list[Problem]:
    """Return what is wrong with what stands at the top of the source."""
    allowed = (ast.FunctionDef, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.Expr)
    problems = [
        Problem("only functions, imports and constants stand at the top", f"line {node.lineno}")
        for node in tree.body
        if not isinstance(node, allowed)
        or (isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant))
    ]
    entries = [
        node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == ENTRY
    ]
    if len(entries) != 1 or len(entries[0].args.args) != 3:
        problems.append(Problem(f"one function '{ENTRY}(run, place, parameters)' is needed"))
    return problems
