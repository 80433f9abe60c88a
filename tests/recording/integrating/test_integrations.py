"""Hooks are put into foreign libraries once, and leave nothing behind."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest
import tracedance_integrations
from tracedance_integrations import available, install, uninstall

from tracedance_sdk.errors import InvalidOption, MissingDependency
from tracedance_sdk.recording import TraceRecorder
from tracedance_sdk.recording.guard import GUARD, PROCESS_FAULTS
from tracedance_sdk.recording.integrating import Integration, Patches


class Shop:
    def price(self, number: int) -> int:
        return number


class Branch(Shop):
    """Has everything from its parent."""


def doubled(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    return wrapped(*args, **kwargs) * 2


def test_a_patch_is_undone() -> None:
    before = vars(Shop)["price"]
    patches = Patches()
    patches.wrap(Shop, "price", doubled)
    assert Shop().price(3) == 6
    patches.undo()
    patches.undo()
    assert vars(Shop)["price"] is before
    assert Shop().price(3) == 3


def test_a_patch_of_something_inherited_leaves_no_copy_behind() -> None:
    patches = Patches()
    patches.wrap(Branch, "price", doubled)
    assert (Branch().price(3), Shop().price(3)) == (6, 3)
    patches.undo()
    assert "price" not in vars(Branch)


def test_a_patch_under_somebody_elses_does_nothing_after_it_is_undone() -> None:
    ours, theirs = Patches(), Patches()
    ours.wrap(Shop, "price", doubled)
    theirs.wrap(Shop, "price", lambda wrapped, _, args, kwargs: wrapped(*args, **kwargs) + 1)
    assert Shop().price(3) == 7
    ours.undo()
    assert Shop().price(3) == 4
    theirs.undo()
    assert Shop().price(3) == 3


def test_values_are_put_back_and_hooks_removed() -> None:
    owner, removed = SimpleNamespace(level=1), []
    patches = Patches()
    patches.replace(owner, "level", 2)
    patches.replace(owner, "name", "x")
    patches.on_undo(lambda: removed.append("hook"))
    patches.undo()
    assert (vars(owner), removed) == ({"level": 1}, ["hook"])


def integration(**changed: Any) -> Integration:
    of: dict[str, Any] = {
        "module": "orjson",
        "package": "orjson",
        "oldest": "3",
        "below": "99",
        "hooks": lambda patches: patches.wrap(Shop, "price", doubled),
    }
    return Integration("shop", **{**of, **changed})


def test_installing_twice_is_installing_once() -> None:
    found = integration()
    found.install()
    found.install()
    assert (found.is_installed, Shop().price(3)) == (True, 6)
    found.uninstall()
    found.uninstall()
    assert (found.is_installed, Shop().price(3)) == (False, 3)


def test_a_missing_library_is_told_in_one_line_with_the_command() -> None:
    with pytest.raises(MissingDependency) as caught:
        integration(module="no_such_library", package="no-such-library").install()
    line = "no-such-library is not installed; install it with: pip install 'tracedance-sdk[shop]'"
    assert str(caught.value) == line


def test_a_version_outside_the_range_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    found = integration(oldest="98")
    with caplog.at_level(logging.WARNING):
        found.install()
        found.uninstall()
        found.install()
        assert Shop().price(3) == 6
        found.uninstall()
    (record,) = caplog.records
    assert "is outside the tested versions (98 and newer, below 99)" in record.getMessage()


@pytest.mark.parametrize(
    ("version", "is_supported"),
    [("3", True), ("3.0.0", True), ("98.9rc1", True), ("2.9", False), ("99", False), ("x", False)],
)
def test_versions_are_compared_as_numbers(version: str, is_supported: bool) -> None:
    assert integration().supports(version) is is_supported


NO_METHOD = "install shop: test_integrations.Shop.no_such_method is missing: AttributeError"
NO_MODULE = "install shop: no_such_library is missing: ModuleNotFoundError"


def faults_of_a_recorder() -> dict[str, int]:
    with TraceRecorder() as recorder:
        pass
    assert f"{sum(recorder.close().faults.values())} faults" in f"{recorder!r} 0 faults"
    return {place: n for place, n in recorder.close().faults.items() if "shop" in place}


def of_a_module(patches: Patches) -> None:
    import no_such_library  # type: ignore[import-not-found]

    patches.wrap(no_such_library, "x", doubled)


def failing(_: Patches) -> None:
    raise RuntimeError("this version wants another one of that")


def test_what_finds_no_place_keeps_nothing_else_out_and_is_told_by_every_recorder(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(GUARD, "raises", False)
    monkeypatch.setattr(GUARD, "_logged", set())
    monkeypatch.setattr(Shop, "__module__", "test_integrations")
    before = PROCESS_FAULTS[NO_METHOD]

    def hooks(patches: Patches) -> None:
        patches.wrap(Shop, "no_such_method", doubled)
        patches.attempt(of_a_module)
        patches.attempt(failing)
        patches.wrap(Shop, "price", doubled)

    found = integration(hooks=hooks)
    assert (found.install(), found.install(), found.is_installed) == (True, True, True)
    assert Shop().price(3) == 6
    lacking = {NO_METHOD: 1, NO_MODULE: 1, "install shop: RuntimeError": 1}
    assert faults_of_a_recorder() == faults_of_a_recorder() == lacking
    assert PROCESS_FAULTS[NO_METHOD] == before + 1
    told = [record.getMessage() for record in caplog.records]
    assert [NO_METHOD in line for line in told] == [True, False, False]
    assert [NO_MODULE in line for line in told] == [False, True, False]
    found.uninstall()
    assert (Shop().price(3), faults_of_a_recorder()) == (3, {})


def test_an_integration_without_any_hook_is_not_installed_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(GUARD, "raises", False)
    found = integration(hooks=of_a_module)
    assert (found.install(), found.is_installed) == (False, False)
    assert found.install() is False
    assert faults_of_a_recorder() == {NO_MODULE: 1}
    found.uninstall()
    assert faults_of_a_recorder() == {}


def test_patches_that_tell_nobody_raise_what_they_miss() -> None:
    with pytest.raises(AttributeError, match="no_such_method"):
        Patches().wrap(Shop, "no_such_method", doubled)
    with pytest.raises(RuntimeError, match="wants another"):
        Patches().attempt(failing)


def test_installing_lists_no_integration_none_of_whose_hooks_is_in_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    modules = {
        name: SimpleNamespace(install=lambda answer=answer: answer)
        for name, answer in (("whole", True), ("lost", False), ("of_another_package", None))
    }
    monkeypatch.setattr(tracedance_integrations, "_modules", lambda names: modules)
    assert install() == ["whole", "of_another_package"]


def test_integrations_are_found_by_name() -> None:
    assert "openai" in available()
    assert "openai" in install("openai")
    uninstall("openai")
    with pytest.raises(InvalidOption, match="there is no integration 'nothing'; there are "):
        install("nothing")


def test_installing_all_takes_those_whose_library_is_here() -> None:
    found = install()
    assert "openai" in found
    uninstall()
