"""Which shell commands run tests: runners of many languages, and tasks called so."""

from __future__ import annotations

import re
from typing import Final

_PREFIX: Final = re.compile(
    r"""(?:(?:if|elif|while|until|then|do|else|!|\{|\()\s+
      | (?:sudo|doas)(?:\s+-\S+)*\s+ | (?:time|nice|nohup|exec|command|builtin|unbuffer|xvfb-run
      | env)(?:\s+-\S+)*\s+ | (?:env\s+)?[A-Za-z_]\w*=\S*\s+ | stdbuf\s+(?:-\S+\s+)+
      | timeout(?:\s+-\S+)*\s+\d\S*\s+ | xargs(?:\s+-\S+(?:\s+\d+)?)*\s+
      | (?:docker|podman)(?:[ -]compose)?\s+(?:exec|run)(?:\s+-\S+)*\s+\S+\s+
      | (?:uv|poetry|pipenv|pdm|rye|hatch)\s+run\s+(?:-\S+\s+)*
      | (?:npx|pnpx|bunx|uvx|(?:pnpm|yarn|npm)\s+exec|bundle\s+exec|mise\s+exec)\s+(?:-\S+\s+)*
      | (?:python[\d.]*\s+-m\s+)?coverage\s+run(?:\s+-\S+)*\s+-m\s+
      | conda\s+run(?:\s+-n\s+\S+)?\s+)""",
    re.VERBOSE,
)
_MOST_PREFIXES: Final = 6
PROGRAM: Final = re.compile(r"(?:[\w.~$@{}+-]*/)*([\w.@+-]+)")
"""A program with its folder; the group is its name."""

_RUNNER: Final = (
    r"(?:pytest|py\.test|tox|nox|jest|vitest|mocha|ava|rspec|phpunit|ctest|nosetests|nose2|karma|"
    r"ginkgo|bats|busted|gotestsum|trial|stestr|cypress\s+run|playwright\s+test|rails\s+test|"
    r"django-admin\s+test|run-?tests?|bin/(?:run-)?tests?)"
)
_MODULE: Final = (
    r"python[\d.]*(?:\s+-[^m\s]\S*(?:\s+[^-\s]\S*)?)*\s+-m\s+"
    r"(?:pytest|unittest|nose2?|tox|nox|doctest|trial|xdoctest)"
)
_SCRIPT: Final = (
    r"(?:python[\d.]*(?:\s+-\S+)*\s+|bash\s+|sh\s+|node\s+|ruby\s+(?:-\S+\s+)*|php\s+)?\S*?"
    r"(?:run[_-]?tests?|test[_-]runner|(?<![\w-])tests?[_-]\w+|\w+[_-]tests?|(?<![\w-])tests?)"
    r"\.(?:py|sh|js|mjs|ts|rb|php|pl)"
)
_MANAGED: Final = r"(?:python[\d.]*\s+)?\S*(?:manage|setup)\.py\s+test"
_PACKAGE_SCRIPT: Final = (
    r"(?:npm|yarn|pnpm|bun|deno|npm-run-all|turbo|nx|lerna)(?:\s+-\S+)*"
    r"(?:\s+(?:run|workspace\s+\S+))?(?:\s+-\S+)*\s+(?:t|tst|tests?)(?:[:.-][:\w.-]*)?"
)
_TASK: Final = (
    r"(?:make|gmake|just|task|mise|rake|invoke|inv|doit|moon|gradlew?|mvnw?|meson|ninja|mage|nix)\b"
    r"[^\n]*?(?<!-C )(?<!-f )(?<![\w./=-])(?::?\w+[:.-])*(?:tests?|check|verify|specs?)"
    r"(?:[:.-]?\w+)*"
)
_TOOL: Final = (
    r"(?:pants|bazel|bazelisk|buck2?|sbt|lein|mix|swift|dotnet|zig|dune|stack|cabal|artisan|"
    r"composer|hatch|pdm|poe|go|cargo|xcodebuild|forge|hardhat|flutter|dart|rebar3|cmake|earthly|"
    r"clojure|clj)\b[^\n]*?(?<![\w./=-])(?::?\w+[:.-])*(?:runtest|nextest|tests?)(?:[:.-]\w+)*"
)
_TESTS: Final = re.compile(
    rf"(?:{_RUNNER}|{_MODULE}|{_SCRIPT}|{_MANAGED}|{_PACKAGE_SCRIPT}|{_TASK}|{_TOOL})(?=\s|$|[;)<>&])",
    re.IGNORECASE,
)
_ONLY_ASKS: Final = re.compile(
    r"\s--(?:version|help|collect-only|list|list-tests|listTests|showConfig|dry-run)(?![\w-])"
    r"|\s-h(?:\s|$)|\s--co(?:\s|$)"
)
_LONGEST: Final = 300


def without_prefix(part: str) -> str:
    """Return a command without what only says how it is run.

    Example:
        >>> without_prefix("sudo timeout 30 uv run pytest -q")
        'pytest -q'
    """
    place = 0
    for _ in range(_MOST_PREFIXES):
        found = _PREFIX.match(part, place)
        if found is None:
            break
        place = found.end()
    return part[place:]


def runs_tests(bare: str) -> bool:
    """Whether a command, without its prefixes, runs tests.

    Example:
        >>> [runs_tests(text) for text in ("mise run test", "pytest --version", "grep pytest x")]
        [True, False, False]
    """
    program = PROGRAM.match(bare)
    if program is None:
        return False
    told = bare[:_LONGEST]
    found = _TESTS.match(told, program.start(1)) or _TESTS.match(told)
    return found is not None and _ONLY_ASKS.search(told) is None
