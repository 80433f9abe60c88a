"""Every package face says the same three times: to type checkers, in `__all__`, in its table."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from pathlib import Path

import pytest

import tracedance_sdk

ROOT = Path(tracedance_sdk.__file__).parent
FACES = sorted(
    ".".join(path.relative_to(ROOT.parent).parent.parts)
    for path in ROOT.rglob("__init__.py")
    if "lazy_face(" in path.read_text(encoding="utf-8")
)


def typed_names(package: str) -> dict[str, str]:
    """Return name → submodule out of the package's ``TYPE_CHECKING`` block."""
    path = ROOT.parent.joinpath(*package.split("."), "__init__.py")
    found: dict[str, str] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            continue
        for item in ast.walk(node):
            if isinstance(item, ast.ImportFrom) and item.module is not None:
                home = item.module.removeprefix(f"{package}.")
                found.update((alias.asname or alias.name, home) for alias in item.names)
    return found


def table(package: str) -> dict[str, str]:
    """Return name → submodule out of the call of ``lazy_face``."""
    path = ROOT.parent.joinpath(*package.split("."), "__init__.py")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "lazy_face":
            return {
                name: home
                for home, names in ast.literal_eval(node.args[1]).items()
                for name in names
            }
    raise AssertionError(f"{package} calls no lazy_face")


@pytest.mark.parametrize("package", FACES)
def test_types_list_and_table_of_a_face_agree(package: str) -> None:
    face = importlib.import_module(package)
    typed = typed_names(package)
    assert typed
    assert table(package) == typed
    assert sorted(face.__all__) == sorted(typed)
    assert len(set(face.__all__)) == len(face.__all__)
    assert dir(face) == sorted(typed)


@pytest.mark.parametrize("package", FACES)
def test_every_public_name_can_be_used(package: str) -> None:
    face = importlib.import_module(package)
    for name in face.__all__:
        assert getattr(face, name) is not None
    with pytest.raises(AttributeError, match="no_such_name"):
        face.no_such_name  # noqa: B018 - the look-up is the test


@pytest.mark.parametrize("package", FACES)
def test_no_public_name_is_also_a_submodule(package: str) -> None:
    face = importlib.import_module(package)
    modules = {module.name for module in pkgutil.iter_modules(face.__path__)}
    assert not modules & set(face.__all__)


def test_there_are_faces_to_test() -> None:
    assert {"tracedance_sdk", "tracedance_sdk.trace", "tracedance_sdk.formats"} <= set(FACES)
