"""Models of Pydantic AI and the output that they give, recorded by its integration."""

import asyncio
from typing import Any

import pytest

from tests.frameworks.pydantic_ai_scripts import (
    call,
    cell,
    look,
    recording,
    saying,
    streaming,
    text,
    told,
)

pytestmark = [
    pytest.mark.needs("pydantic_ai"),
    pytest.mark.usefixtures("own_loop"),
    pytest.mark.installs("pydantic_ai"),
]


class TestModels:
    def test_every_class_is_recorded_also_one_that_is_defined_later(self) -> None:
        from pydantic_ai import Agent
        from pydantic_ai.models.fallback import FallbackModel
        from pydantic_ai.models.test import TestModel
        from pydantic_ai.models.wrapper import WrapperModel

        async def request(self: Any, *args: Any, **kwargs: Any) -> Any:
            return await self.wrapped.request(*args, **kwargs)

        later: Any = type("Later", (WrapperModel,), {"request": request})
        fallback = FallbackModel(saying([text("one")]), TestModel())
        models = (TestModel(custom_output_text="one"), fallback, later(saying([text("one")])))
        for model in models:
            with recording() as recorder:
                Agent(model).run_sync("go")
            assert told(recorder.trace) == [("user", "go"), ("assistant", "one")]

    def test_a_request_without_an_agent_is_recorded(self) -> None:
        from pydantic_ai.direct import model_request_sync
        from pydantic_ai.messages import ModelRequest

        with recording() as recorder:
            model_request_sync(saying([text("hello")]), [ModelRequest.user_text_prompt("hi")])
        assert told(recorder.trace) == [("user", "hi"), ("assistant", "hello")]

    def test_prompts_settings_and_images_are_told(self) -> None:
        from pydantic_ai import Agent, ImageUrl

        agent: Any = Agent(
            saying([text("a cat")]),
            system_prompt="You see.",
            instructions="Be brief.",
            model_settings={"temperature": 0.5},
        )
        image = ImageUrl(url="https://example.com/cat.png")
        with recording() as recorder:
            agent.run_sync(["What is it?", image])
        trace = recorder.trace
        assert trace.system_prompt == "You see.\n\nBe brief."
        assert trace.turns[1].settings == {"temperature": 0.5}
        media = trace.turns[0].content[1].model_dump()
        assert (media["modality"], media["uri"]) == ("image", "https://example.com/cat.png")

    def test_a_thought_is_no_text(self) -> None:
        from pydantic_ai import Agent
        from pydantic_ai.messages import ThinkingPart

        agent: Any = Agent(saying([ThinkingPart("hm"), text("yes")]))
        with recording() as recorder:
            agent.run_sync("go")
        said = recorder.trace.turns[1]
        assert [part.type for part in said.content] == ["reasoning", "text"]
        assert said.text == "yes"


class TestOutputs:
    def test_output_is_a_call_of_the_models_with_the_frameworks_result(self) -> None:
        from pydantic_ai import Agent

        turns = (
            [call("final_result", "c1", name="Ulm")],
            [call("final_result", "c2", name="Ulm", size=2), call("look", "c3", n=1)],
        )
        agent: Any = Agent(saying(*turns), output_type=city(), tools=[look], end_strategy="early")
        with recording() as recorder:
            assert agent.run_sync("go").output.size == 2
        trace = recorder.trace
        assert sorted(tool.name for tool in trace.tools) == ["final_result", "look"]
        found = told(trace)
        assert found[:4] == [
            ("user", "go"),
            ("assistant", ""),
            ("c1", "final_result", {"name": "Ulm"}, "ValidationError"),
            ("assistant", ""),
        ]
        processed = ("c2", "final_result", {"name": "Ulm", "size": 2}, "Final result processed.")
        assert processed in found[4:]
        assert [entry[:3] for entry in found[4:]].count(("c3", "look", {"n": 1})) == 1

    @cell("streaming")
    def test_streamed_output_is_the_same(self) -> None:
        from pydantic_ai import Agent

        turn = [call("final_result", "c1", name="Ulm", size=2)]
        cities = Agent(streaming(turn), output_type=city())

        async def play() -> Any:
            async with cities.run_stream("go") as result:
                return await result.get_output()

        with recording() as recorder:
            assert asyncio.run(play()).size == 2
        assert told(recorder.trace)[2:] == [
            ("c1", "final_result", {"name": "Ulm", "size": 2}, "Final result processed.")
        ]

    def test_refused_text_is_told_by_nobody_in_person(self) -> None:
        from pydantic_ai import Agent, ModelRetry

        agent: Any = Agent(saying([text("no")], [text("yes")]), retries=2)

        def check(output: str) -> str:
            if output == "no":
                raise ModelRetry("say yes")
            return output

        agent.output_validator(check)

        with recording() as recorder:
            agent.run_sync("go")
        turns = recorder.trace.turns
        assert [(turn.role, turn.origin) for turn in turns] == [
            ("user", "human"),
            ("assistant", "agent"),
            ("user", "environment"),
            ("assistant", "agent"),
        ]
        assert "say yes" in turns[2].text


def city() -> Any:
    from pydantic import BaseModel

    class City(BaseModel):
        name: str
        size: int

    return City
