"""Check that files and functions stay small enough to hold in the head.

The bounds: no Python file over 500 lines (tests: 700), no function over 80 lines, and 90 % of the
functions of each package at most 35 lines. A function's lines run from ``def`` to its last
statement, docstring and nested functions included.

    python tools/check_sizes.py [ROOT]

Prints every offender and exits 1 if there is one.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

MAX_FILE_LINES = 500
MAX_TEST_FILE_LINES = 700
MAX_FUNCTION_LINES = 80
SHORT_FUNCTION_LINES = 35
MIN_SHORT_SHARE = 0.9

PACKAGES = (
    "tracedance_sdk",
    "integrations/tracedance_integrations",
    "collectors/tracedance_collectors",
    "samples",
    "tests",
    "tools",
    "docs",
    ".ci",
)


class Function(NamedTuple):
    """One function of a file, nested ones and methods included."""

    path: Path
    name: str
    line: int
    n_lines: int


def functions_of(path: Path, source: str) -> Iterator[Function]:
    """Yield every function of a file with its length in lines."""
    for node in ast.walk(ast.parse(source, filename=str(path))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            end_line = node.end_lineno or node.lineno
            yield Function(path, node.name, node.lineno, end_line - node.lineno + 1)


def long_functions(functions: list[Function]) -> Iterator[str]:
    """Yield one line for each function over the bound."""
    for path, name, line, n_lines in functions:
        if n_lines > MAX_FUNCTION_LINES:
            yield f"{path}:{line}: {name}() has {n_lines} lines, at most {MAX_FUNCTION_LINES}"


def too_few_short(package: str, functions: list[Function]) -> Iterator[str]:
    """Yield the verdict on a package whose functions are too often long, then the longest ones."""
    over = [function for function in functions if function.n_lines > SHORT_FUNCTION_LINES]
    share = (len(functions) - len(over)) / max(len(functions), 1)
    if not over or share >= MIN_SHORT_SHARE:
        return
    yield (
        f"{package}: {share:.1%} of {len(functions)} functions have at most "
        f"{SHORT_FUNCTION_LINES} lines, at least {MIN_SHORT_SHARE:.0%}; the longest:"
    )
    for path, name, line, n_lines in sorted(over, key=lambda function: -function.n_lines)[:10]:
        yield f"    {path}:{line}: {name}() {n_lines}"


def check_package(root: Path, package: str) -> Iterator[str]:
    """Yield every offence in one package."""
    max_lines = MAX_TEST_FILE_LINES if package == "tests" else MAX_FILE_LINES
    functions: list[Function] = []
    for path in sorted((root / package).rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        shown = path.relative_to(root)
        n_lines = len(source.splitlines())
        if n_lines > max_lines:
            yield f"{shown}: {n_lines} lines, at most {max_lines}"
        functions += functions_of(shown, source)
    yield from long_functions(functions)
    yield from too_few_short(package, functions)


def main(arguments: list[str]) -> int:
    """Check every package below the root (default: this project) and print what is too large."""
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parents[1]
    offences = [line for package in PACKAGES for line in check_package(root, package)]
    for line in offences:
        print(line)
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
