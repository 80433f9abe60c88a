"""What the drivers of the conformance kit share: our integrations, others' spans, loops, cases."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import pytest

from tracedance_sdk.testing import Driver, checks_for


class IntegrationDriver(Driver):
    """A driver that puts one of our integrations in place.

    Attributes:
        integration: The name of its module.
    """

    integration = ""

    def install(self) -> None:
        """Put it in place."""
        import_module(f"tracedance_integrations.{self.integration}").install()

    def uninstall(self) -> None:
        """Take it out again."""
        import_module(f"tracedance_integrations.{self.integration}").uninstall()


def promises(
    *drivers: Driver, package: str | None = None, names: tuple[str, ...] = ()
) -> pytest.MarkDecorator:
    """Return what gives a test every ``driver`` and ``check`` of the kit that fits it.

    Args:
        drivers: Of the frameworks.
        package: Whose version stands in the table; None means the one named like the framework.
        names: Of the drivers in the ids of the tests; none means their frameworks.
    """
    cases = [
        pytest.param(
            driver,
            check,
            id=f"{name}-{check}",
            marks=pytest.mark.cell(
                driver.framework, check.capability, package=package or driver.framework
            ),
        )
        for name, driver in zip(names or [d.framework for d in drivers], drivers, strict=True)
        for check in checks_for(driver)
    ]
    return pytest.mark.parametrize(("driver", "check"), cases)


def collected_spans(*processors: Any) -> tuple[Any, Any]:
    """Return a provider of OpenTelemetry and the exporter that has all its ended spans.

    Args:
        processors: Told of the spans before the exporter is.
    """
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    for processor in (*processors, SimpleSpanProcessor(exporter)):
        provider.add_span_processor(processor)
    return provider, exporter


@contextlib.contextmanager
def instrumented(library: str, name: str, **options: Any) -> Iterator[Callable[[], int]]:
    """Have an instrumentor of OpenInference's in place, and tell how many spans it has ended.

    Args:
        library: The part of ``openinference.instrumentation`` that it is in.
        name: Of its class.
        options: For its ``instrument``.
    """
    module = pytest.importorskip(f"openinference.instrumentation.{library}")
    provider, exporter = collected_spans()
    instrumentor = getattr(module, name)()
    instrumentor.instrument(tracer_provider=provider, **options)
    try:
        yield lambda: len(exporter.get_finished_spans())
    finally:
        instrumentor.uninstrument()


@contextlib.contextmanager
def own_loop() -> Iterator[asyncio.AbstractEventLoop]:
    """Have an event loop that the frameworks' synchronous methods take as the thread's own."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        yield loop
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        asyncio.set_event_loop(None)
        loop.close()
