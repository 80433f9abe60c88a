"""The options of every verb that asks models, and how it opens the models that they name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from tracedance_sdk.cli.number_options import number, seconds, whole

if TYPE_CHECKING:
    from tracedance_sdk.llm import Asker, Budget, NamedModel, PriceTable

MODEL_NAMES: Final = "provider:model[@base_url] (openai, openai-responses, anthropic), recorded:DIR"


class ModelOptions(NamedTuple):
    """How models are asked; the fields are named as the options.

    Attributes:
        cache: Where replies are kept; None for a folder beside the results.
        max_calls: Calls that the whole command sends; None for no limit.
        max_cost: US dollars, of the whole command; None for no limit.
        prices: File with prices of one's own.
        concurrency: Most calls under way at a time, to each model.
        timeout_s: For one try.
        retries: Further tries after what may pass.
        stream: Whether replies are streamed; None where the SDK insists.
        offline: Refuse every model that is not on this machine.
    """

    cache: Path | None = None
    max_calls: int | None = None
    max_cost: float | None = None
    prices: Path | None = None
    concurrency: int = 8
    timeout_s: float = 600
    retries: int = 2
    stream: bool | None = None
    offline: bool = False


class OpenedModel(NamedTuple):
    """A model that a command asks."""

    model: NamedModel
    asker: Asker

    @property
    def name(self) -> str:
        """As ``provider:model[@base_url]``; of recorded replies, whose they are."""
        return self.model.name


_OPTIONS: Final = (
    click.option(
        "--cache",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Where replies are kept; by default beside --out, as DIR.replies.",
    ),
    click.option(
        "--max-calls",
        type=whole(1),
        metavar="N",
        help="Send at most N calls; tries of a call again are not counted.",
    ),
    click.option(
        "--max-cost",
        type=number(0, above=True),
        metavar="USD",
        help="Start no call once this is spent, or a reply does not say its tokens.",
    ),
    click.option(
        "--prices",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Prices of one's own (YAML).",
    ),
    click.option(
        "--concurrency",
        type=whole(1, 256),
        default=8,
        show_default=True,
        metavar="N",
        help="Calls at a time, to each model.",
    ),
    click.option(
        "--timeout",
        "timeout_s",
        type=seconds(),
        default=600,
        show_default=True,
        metavar="SECONDS",
        help="For one try.",
    ),
    click.option(
        "--retries",
        type=whole(0, 10),
        default=2,
        show_default=True,
        metavar="N",
        help="Further tries after what may pass.",
    ),
    click.option(
        "--stream/--no-stream",
        default=None,
        help="Stream long replies; by default where the SDK insists.",
    ),
    click.option("--offline", is_flag=True, help="Refuse every model that is not on this machine."),
)


def model_options(command: Callable[..., int]) -> Callable[..., int]:
    """Give a verb the options; it gets them as one `ModelOptions`, by the name ``calls``."""

    @functools.wraps(command)
    def with_calls(*arguments: Any, **options: Any) -> int:
        given = {name: options.pop(name) for name in ModelOptions._fields}
        return command(*arguments, calls=ModelOptions(**given), **options)

    found: Callable[..., int] = with_calls
    for option in reversed(_OPTIONS):
        found = option(found)
    return found


def opened_models(
    names: Sequence[str], options: ModelOptions, *, out: Path | None
) -> list[OpenedModel]:
    """Open the models of a command; nothing is sent yet.

    They have one budget: the limits hold for all of them together.

    Args:
        names: As `chat_model` takes them.
        options: How they are asked.
        out: Folder of the results, beside which replies are kept unless the options name a cache.
            None, and no cache in the options, keeps none.

    Raises:
        InvalidOption: An unknown provider, a missing key, an address or price that cannot be used,
            a model that is named twice, or a limit on the cost of a model without a known price.
        MissingDependency: A provider's SDK is not installed.
        UnreadableFile: A folder of replies or file of prices that cannot be read.
    """
    from tracedance_sdk.errors import InvalidOption
    from tracedance_sdk.llm import Budget, Limits, chat_model, price_table

    table = price_table(options.prices)
    budget = Budget(Limits(options.max_calls, options.max_cost))
    folder = options.cache
    if folder is None and out is not None:
        folder = out.with_name(f"{out.resolve().name}.replies")
    found: dict[str, OpenedModel] = {}
    for name in names:
        model = chat_model(
            name,
            offline=options.offline,
            timeout_s=options.timeout_s,
            retries=options.retries,
            stream=options.stream,
        )
        if model.name in found:
            raise InvalidOption(f"the model {model.name} is named twice; name it once")
        found[model.name] = _opened(model, options, budget, folder, table)
    return list(found.values())


def _opened(
    model: NamedModel,
    options: ModelOptions,
    budget: Budget,
    folder: Path | None,
    table: PriceTable,
) -> OpenedModel:
    from tracedance_sdk.errors import InvalidOption
    from tracedance_sdk.llm import Asker, RecordedModel, ReplyCache

    is_recorded = isinstance(model, RecordedModel)
    endpoint = (model.model if isinstance(model, RecordedModel) else model).endpoint
    # The packaged table is of the providers' own addresses.
    is_priced = endpoint.is_official or options.prices is not None
    price = table.of(endpoint.model) if is_priced else None
    if options.max_cost is not None and price is None:
        raise InvalidOption(
            f"the price of {model.name} is not known, so its cost cannot be limited; limit the "
            "calls by --max-calls, or give a table of prices by --prices"
        )
    asker = Asker(
        model,
        cache=None if folder is None or is_recorded else ReplyCache(folder, model.name),
        budget=budget,
        price=price,
        concurrency=options.concurrency,
    )
    return OpenedModel(model, asker)
