"""The conformance kit finds fault with integrations that do not keep their promises."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from tracedance_sdk.testing import CHECKS, Check, Driver, checks_for, installed

_HERE = Path(__file__).parents[1] / "frameworks" / "test_openai.py"


def _driver() -> Any:
    """Return the driver of the client that is always here."""
    name = "tests_openai_driver"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, _HERE)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]._Chat


def _checks(*but: str) -> list[Check]:
    return [check for check in checks_for(_driver()()) if check.capability not in but]


@pytest.mark.parametrize(
    "check", _checks("replay", "no recorder", "beside others", "nested agents"), ids=str
)
def test_an_integration_that_records_nothing_fails(check: Check) -> None:
    class Absent(_driver()):  # type: ignore[misc]  # loaded from a file
        def install(self) -> None:
            """Hook into nothing."""

    with pytest.raises(AssertionError):
        check(Absent())


def test_an_integration_that_stays_fails() -> None:
    class Staying(_driver()):  # type: ignore[misc]  # loaded from a file
        def uninstall(self) -> None:
            """Take nothing away."""

    (check,) = [check for check in CHECKS if check.capability == "uninstall"]
    try:
        with pytest.raises(AssertionError, match="left behind"):
            check(Staying())
    finally:
        _driver()().uninstall()


def test_an_integration_that_runs_tools_in_replays_fails() -> None:
    class Running(_driver()):  # type: ignore[misc]  # loaded from a file
        def run(self, scene: Any, endpoint: Any) -> str:
            for tool in scene.tools[:1]:
                tool(name="Sam")
            return str(super().run(scene, endpoint))

    (check,) = [check for check in CHECKS if check.capability == "replay"]
    with pytest.raises(AssertionError, match="whose code ran"):
        check(Running())


def test_what_a_driver_cannot_do_is_not_checked() -> None:
    class Little(Driver):
        def run(self, scene: Any, endpoint: Any) -> str:
            return ""

    found = {check.capability for check in checks_for(Little())}
    assert "sync" in found
    assert not found & {"async", "streaming", "uninstall", "beside others", "cancellation"}


def test_the_integration_is_gone_after_a_check_even_when_it_fails() -> None:
    driver = _driver()()
    owner, name = driver.places()[0]
    before = vars(owner)[name]

    def fail() -> None:
        with installed(driver):
            assert vars(owner)[name] is not before
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert vars(owner)[name] is before
