"""What goes wrong around Pydantic AI's integration: faults of ours, versions, late classes."""

import importlib
import sys
from collections.abc import Callable
from importlib import metadata
from typing import Any

import pytest

import tracedance_sdk as td
from tests.frameworks.pydantic_ai_scripts import (
    call,
    cell,
    look,
    saying,
    text,
    told,
)

pytestmark = [
    pytest.mark.needs("pydantic_ai"),
    pytest.mark.usefixtures("own_loop"),
]


class TestTrouble:
    @pytest.mark.installs("pydantic_ai")
    @pytest.mark.parametrize(
        ("module", "name", "kind"),
        [
            ("reading", "request", "model call"),
            ("reading", "reply", "reply"),
            ("reading", "ending", "conversation"),
            ("tools", "_outcome", "outcome"),
        ],
    )
    def test_a_fault_of_ours_is_counted_and_the_agent_untouched(
        self, monkeypatch: pytest.MonkeyPatch, module: str, name: str, kind: str
    ) -> None:
        from pydantic_ai import Agent
        from tracedance_integrations import pydantic_ai as td_pydantic_ai

        def broken(*_: Any, **__: Any) -> Any:
            raise ZeroDivisionError("a fault of ours")

        ours = importlib.import_module(f"{td_pydantic_ai.__name__}.{module}")
        monkeypatch.setattr(ours, name, broken)
        agent: Any = Agent(saying([call("look", "c1", n=1)], [text("done")]), tools=[look])
        with td.TraceRecorder() as recorder:
            assert agent.run_sync("go").output == "done"
        faults = dict(recorder.close().faults)
        assert [found for found in faults if found.startswith(kind)], faults

    @pytest.mark.installs("pydantic_ai")
    @pytest.mark.parametrize("name", ["_name", "_asked"])
    def test_a_fault_in_looking_reaches_nobody(
        self, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        from pydantic_ai import Agent
        from tracedance_integrations import pydantic_ai as td_pydantic_ai

        def broken(*_: Any, **__: Any) -> Any:
            raise ZeroDivisionError("a fault of ours")

        ours = importlib.import_module(
            f"{td_pydantic_ai.__name__}.{'agents' if name == '_name' else 'tools'}"
        )
        monkeypatch.setattr(ours, name, broken)
        agent: Any = Agent(saying([call("look", "c1", n=1)], [text("done")]), tools=[look])
        with td.TraceRecorder() as recorder:
            assert agent.run_sync("go").output == "done"
        assert told(recorder.trace)[-1] == ("assistant", "done")

    def test_a_version_that_is_not_tested_is_warned_of_once(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        from tracedance_integrations import pydantic_ai as td_pydantic_ai

        monkeypatch.setattr(metadata, "version", lambda _: "0.9.1")
        monkeypatch.setattr(td_pydantic_ai._INTEGRATION, "_has_warned", False)
        for _ in range(2):
            td_pydantic_ai.install()
            td_pydantic_ai.uninstall()
        assert [record.levelname for record in caplog.records] == ["WARNING"]
        assert "pydantic-ai-slim 0.9.1 is outside the tested versions" in caplog.text

    def test_without_the_framework_one_line_says_what_to_install(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from tracedance_integrations import pydantic_ai as td_pydantic_ai

        from tracedance_sdk.errors import MissingDependency

        monkeypatch.setitem(sys.modules, "pydantic_ai", None)
        with pytest.raises(MissingDependency) as caught:
            td_pydantic_ai.install()
        assert "tracedance-sdk[pydantic-ai]" in str(caught.value)
        assert "\n" not in str(caught.value)

    @cell("uninstall")
    def test_a_class_that_is_defined_meanwhile_is_let_go_too(self) -> None:
        from pydantic_ai.models.wrapper import WrapperModel
        from tracedance_integrations import pydantic_ai as td_pydantic_ai

        async def request(*_: Any) -> None:
            """Stand for a method."""

        td_pydantic_ai.install()
        made = type("Made", (WrapperModel,), {"request": request})
        wrapped: Callable[..., Any] = vars(made)["request"]
        td_pydantic_ai.uninstall()
        assert wrapped is not request
        assert vars(made)["request"] is request
        assert vars(type("Later", (WrapperModel,), {"request": request}))["request"] is request
