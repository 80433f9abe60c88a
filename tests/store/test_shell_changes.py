"""What shell commands may change, and which of them run tests."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracedance_sdk.store.running_tests import runs_tests, without_prefix
from tracedance_sdk.store.shell import LONGEST, split_commands
from tracedance_sdk.store.shell_changes import ShellChanges, shell_changes


def looked_at(command: str) -> ShellChanges:
    return shell_changes(command, split_commands(command))


@pytest.mark.parametrize(
    ("command", "changes"),
    [
        ("cat > f.py <<'EOF'\nx = 1\nEOF", ["redirect"]),
        ("cat <<EOF >> /app/f.py\nx\nEOF", ["redirect"]),
        ("echo 'a > b'", []),
        ("echo a -> b; echo 'x' => y", []),
        ("ls 2>/dev/null", []),
        ("make 2>&1", []),
        ("make &> build.log", []),
        ("make > build.txt", ["redirect"]),
        ("ls | tee list.txt", ["redirect"]),
        ("make | tee make.log", []),
        ("sed -i 's/a/b/' f.py", ["in_place"]),
        ("sed -i.bak -e s/a/b/ f.py", ["in_place"]),
        ("sed -n 1,5p file-i.py", []),
        ("perl -pi -e s/a/b/ f", ["in_place"]),
        ("cd /x && cp a b && mv b c", ["files"]),
        ("sudo rm -rf x", ["files"]),
        ("find . -name '*.pyc' -delete", ["files"]),
        ("find . -name x | xargs rm", ["files"]),
        ("find . -name rm", []),
        ("mkdir -p a/b; touch c", ["entries"]),
        ("patch -p1 < fix.diff", ["patch"]),
        ("git apply fix.diff", ["patch"]),
        ("git -C app checkout -- f", ["tree"]),
        ("git stash && git status", ["tree"]),
        ("git add f && git commit -m 'rm it'", ["git"]),
        ("git log --oneline -- rm", []),
        ("git diff > fix.diff", ["redirect"]),
        ("pip install -e .", ["install"]),
        ("python3 -m pip install x", ["install"]),
        ("DEBIAN_FRONTEND=noninteractive apt-get -y install x", ["install"]),
        ("npm ci", ["install"]),
        ("uv add x", ["install"]),
        ("pip list", []),
        ("python - <<'EOF'\nopen('f', 'w').write('x')\nEOF", ["script"]),
        ("python -c \"from pathlib import Path; Path('f').write_text('x')\"", ["script"]),
        ("python -c \"print(open('f').read())\"", []),
        ("cp a b; pip install x; mkdir c", ["files", "install", "entries"]),
        ("if test -f a; then rm a; fi", ["files"]),
        ("pytest -q > out.txt", []),
        ("pytest -q 2>&1 | tee out.txt", []),
        ("", []),
    ],
)
def test_what_a_command_may_change(command: str, changes: list[str]) -> None:
    assert list(looked_at(command).changes) == changes


@pytest.mark.parametrize(
    ("command", "is_last"),
    [
        ("sed -i s/a/b/ f && pytest", True),
        ("pytest; sed -i s/a/b/ f", False),
        ("pytest && git commit -m x", True),
        ("pytest > out.txt", True),
        ("cat > run.sh <<EOF\npytest\nEOF", False),
        ("ls", False),
    ],
)
def test_whether_a_test_run_comes_after_the_last_edit(command: str, is_last: bool) -> None:
    assert looked_at(command).test_is_last is is_last


@pytest.mark.parametrize(
    ("command", "effect"),
    [
        ("cd app && ls -l | head -3", "read"),
        ("git status; git -C x diff", "read"),
        ("grep -rn foo . 2>/dev/null", "read"),
        ("echo $(rm x)", "terminal"),
        ("python app.py", "terminal"),
        ("pytest", "terminal"),
        ("echo x > f", "write"),
        ("mkdir a", "write"),
        ("", "terminal"),
    ],
)
def test_the_effect_of_a_command(command: str, effect: str) -> None:
    assert looked_at(command).effect == effect


RUNS = [
    "pytest", "python -m pytest tests", "python3 -X dev -m unittest discover", "tox -e py312",
    "nox", "npm test", "npm run test:unit", "yarn test", "pnpm -r test", "pnpm run test", "npm t",
    "mise run test", "make test", "make -j4 check", "task test", "just test-unit", "cargo test",
    "cargo nextest run", "go test ./...", "mvn -q test", "./gradlew :app:test", "gradle test",
    "bazel test //...", "ctest --output-on-failure", "bundle exec rspec", "vendor/bin/phpunit",
    "dotnet test", "./runtests.py", "./tests/runtests.py admin", "python tests/runtests.py x.tests",
    "python manage.py test", "python test_fix.py", "mix test", "swift test", "rake test",
    "uv run pytest -q", "poetry run pytest", "npx jest", "timeout 60 pytest", "CI=1 pytest",
    "sudo -E pytest", "/usr/bin/python3 -m pytest", "docker compose exec web pytest",
    "bash run_tests.sh", "coverage run -m pytest", "turbo run test", "if pytest",
]  # fmt: skip
RUNS_NOT = [
    "grep -rn pytest .", "pip install pytest", "cat pytest.ini", "which pytest", "ls tests",
    "pytest --version", "pytest --collect-only", "jest --help", "git commit -m 'make test'",
    "echo run npm test", "vim test_app.py", "cat tests/test_app.py", "git add test_a.py",
    "make build", "npm run build", "cargo build", "go build ./test", "npm install jest",
    "mkdir tests", "sed -n 1,5p tests/runtests.py", "python app.py --test", "test -f x",
    "go vet ./...", "make -C tests clean", "cargo check",
    "docker build -t app:test .", "npm run check-types",
]  # fmt: skip


@pytest.mark.parametrize("command", RUNS)
def test_a_command_that_runs_tests(command: str) -> None:
    assert looked_at(command).is_test


@pytest.mark.parametrize("command", RUNS_NOT)
def test_a_command_that_runs_none(command: str) -> None:
    assert not looked_at(command).is_test


@given(st.text(alphabet="ab '\"\\;|&\n<>#()=E$`-.rmsedigt ", max_size=80))
def test_any_text_can_be_looked_at(text: str) -> None:
    found = looked_at(text)
    assert not found.test_is_last or found.is_test
    assert (found.effect == "write") is bool(found.changes)


@pytest.mark.parametrize(
    "piece",
    ["a ", "> ", ">a", "sed ", "sed -", "make ", "make a:", "-", "A=1 ", "sudo -a ", "'", "\\",
     "a/", "npm -a ", "open(", "git -c ", "apt a=b ", "test_", "a.", "find -exec "],
)  # fmt: skip
def test_time_grows_no_faster_than_the_text(piece: str) -> None:
    text = piece * (LONGEST // len(piece))
    started = time.perf_counter()
    shell_changes(text, [text])
    runs_tests(without_prefix(text[:2_000]))
    assert time.perf_counter() - started < 1.0
