"""The size check, on small trees made for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CHECK = Path(__file__).resolve().parents[2] / "tools" / "check_sizes.py"


def function(name: str, *, n_lines: int) -> str:
    return f"def {name}() -> None:\n" + "    pass\n" * (n_lines - 1)


def check(root: Path, files: dict[str, str]) -> subprocess.CompletedProcess[str]:
    for name, source in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    return subprocess.run(
        [sys.executable, str(CHECK), str(root)], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({"tracedance_sdk/a.py": "x = 1\n" * 500}, id="file-500"),
        pytest.param({"tests/test_a.py": "x = 1\n" * 700}, id="test-file-700"),
        pytest.param(
            {
                "tracedance_sdk/a.py": function("long", n_lines=80),
                "tracedance_sdk/b.py": "".join(function(f"f{i}", n_lines=35) for i in range(9)),
            },
            id="function-80-among-ten",
        ),
    ],
)
def test_the_bounds_themselves_are_allowed(tmp_path: Path, files: dict[str, str]) -> None:
    result = check(tmp_path, files)

    assert (result.returncode, result.stdout) == (0, "")


@pytest.mark.parametrize(
    ("files", "offence"),
    [
        pytest.param(
            {"tracedance_sdk/a.py": "x = 1\n" * 501},
            "tracedance_sdk/a.py: 501 lines, at most 500",
            id="file",
        ),
        pytest.param(
            {"tests/test_a.py": "x = 1\n" * 701},
            "tests/test_a.py: 701 lines, at most 700",
            id="test-file",
        ),
        pytest.param(
            {"tools/a.py": "async " + function("long", n_lines=81)},
            "tools/a.py:1: long() has 81 lines, at most 80",
            id="function",
        ),
        pytest.param(
            {
                "collectors/tracedance_collectors/a.py": function("middling", n_lines=36)
                + "".join(function(f"f{i}", n_lines=2) for i in range(8)),
            },
            "collectors/tracedance_collectors: 88.9% of 9 functions have at most 35 lines",
            id="share",
        ),
    ],
)
def test_each_offender_is_named(tmp_path: Path, files: dict[str, str], offence: str) -> None:
    result = check(tmp_path, files)

    assert result.returncode == 1
    assert offence in result.stdout
