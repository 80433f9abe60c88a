"""Who takes part in the runs of `tracedance replay`, by the names that users give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracedance_sdk.cli.model_options import OpenedModel, opened_models
from tracedance_sdk.cli.replay_keeping import masked_by
from tracedance_sdk.cli.replay_plan import RECORDED, ReplayPlan
from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.grading import TaskRegistry, load_spec
from tracedance_sdk.judging import Panel, RubricJudge, load_rubric
from tracedance_sdk.replay import (
    FunctionGrader,
    ModelCustomer,
    ModelSimulator,
    NearestSimulator,
    Person,
    Players,
    PureTool,
    RecordedAgent,
    RunGrader,
    Simulator,
    SpecGrader,
    Suite,
    TemplateSimulator,
    TranscriptGrader,
    UntilDone,
    agent_named,
    customer_named,
    function_named,
)


class PlannedModels:
    """The models of a plan, each opened once."""

    def __init__(self, plan: ReplayPlan) -> None:
        names = [*plan.judges]
        names += [n for n in (plan.who_speaks, plan.simulator) if ":" in n and n not in names]
        self.opened: list[OpenedModel] = (
            opened_models(names, plan.calls, out=plan.out) if names else []
        )
        self._by_name = dict(zip(names, self.opened, strict=True))

    @property
    def askers(self) -> list[Any]:
        """What is to be closed in the end."""
        return [item.asker for item in self.opened]

    def named(self, name: str) -> OpenedModel:
        """Return a model by the name that the plan has."""
        return self._by_name[name]


def players_of(plan: ReplayPlan, suite: Suite, models: PlannedModels) -> Players:
    """Return who takes part.

    Raises:
        TraceDanceError: Somebody whom there is not.
    """
    return Players(
        agent=_agent(plan, suite),
        customer=_customer(plan, models),
        grader=_grader(plan, models),
        pure=dict(map(_pure_tool, plan.pure)),
        simulator=_simulator(plan, models),
    )


def _agent(plan: ReplayPlan, suite: Suite) -> Any:
    if plan.agent == RECORDED:
        return lambda: RecordedAgent(suite)
    return agent_named(plan.agent, offline=plan.calls.offline, masked=masked_by(plan))


def _customer(plan: ReplayPlan, models: PlannedModels) -> Callable[[Person], Any]:
    factory = _named_customer(plan.who_speaks, models)
    if plan.agent == RECORDED:
        return lambda person: UntilDone(factory(person))
    return factory


def _named_customer(name: str, models: PlannedModels) -> Callable[[Person], Any]:
    if ":" not in name:
        return customer_named(name)
    model = models.named(name)
    return lambda person: ModelCustomer(model.asker, person, name=model.name)


def _simulator(plan: ReplayPlan, models: PlannedModels) -> Simulator | None:
    if plan.simulator == "none":
        return None
    if plan.simulator == NearestSimulator.name:
        return NearestSimulator()
    if plan.simulator == TemplateSimulator.name:
        return TemplateSimulator()
    if ":" not in plan.simulator:
        raise InvalidOption(
            f"--simulator {plan.simulator!r} is nobody; say none, nearest, template, or "
            "provider:model"
        )
    model = models.named(plan.simulator)
    return ModelSimulator(model.asker, name=model.name)


def _grader(plan: ReplayPlan, models: PlannedModels) -> RunGrader | None:
    given = [
        name
        for name, value in (
            ("--spec", plan.spec),
            ("--tasks", plan.tasks),
            ("--grader", plan.grader),
            ("--judge", plan.judges),
        )
        if value
    ]
    if len(given) > 1:
        raise InvalidOption(f"{' and '.join(given)}: say once who grades")
    if plan.spec is not None:
        return SpecGrader(load_spec(plan.spec))
    if plan.tasks is not None:
        return SpecGrader(TaskRegistry.from_folder(plan.tasks))
    if plan.grader is not None:
        return FunctionGrader(function_named(plan.grader), plan.grader)
    if plan.judges:
        rubric = load_rubric(plan.rubric)
        if rubric.about != "trace":
            raise InvalidOption(
                f"--rubric {plan.rubric!r} is about one turn; a run is judged as a whole: name a "
                "rubric about the trace"
            )
        opened = [models.named(name) for name in plan.judges]
        judges = [RubricJudge(item.asker, rubric, model_name=item.name) for item in opened]
        return TranscriptGrader(Panel(judges))
    return None


def _pure_tool(text: str) -> tuple[str, PureTool]:
    name, mark, place = text.rpartition("=")
    place = place if mark else text
    function = function_named(place)
    return (name if mark else place.rpartition(":")[2].rpartition(".")[2]), function
