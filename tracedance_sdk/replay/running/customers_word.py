"""What a customer says, whoever it is."""

from __future__ import annotations

from collections.abc import Sequence

from tracedance_sdk.errors import CustomerFailed
from tracedance_sdk.replay.people import Customer
from tracedance_sdk.replay.running.apart import (
    CUSTOMERS,
    ForeignFailure,
    call_apart,
    runs_apart,
    written,
)
from tracedance_sdk.replay.running.clock import limited
from tracedance_sdk.trace import Turn


async def customers_word(
    customer: Customer, conversation: Sequence[Turn], *, limit_s: float
) -> str | None:
    """Ask a customer for the next message.

    Args:
        customer: Who speaks.
        conversation: All turns so far.
        limit_s: Seconds for one that is not asked on the loop that runs the tests.

    Raises:
        CustomerFailed: It raised something, said what is no text, or took too long.
    """
    try:
        if runs_apart(customer):
            said = await customer.reply(conversation)
        else:
            async with limited(limit_s):
                said = await call_apart(customer.reply, tuple(conversation), lane=CUSTOMERS)
    except ForeignFailure as error:
        if isinstance(error.error, CustomerFailed):
            raise error.error from error
        raise CustomerFailed(f"the customer raised {error.told}") from error
    except TimeoutError as error:
        raise CustomerFailed(f"the customer gave no answer within {limit_s:g} s") from error
    if said is not None and not isinstance(said, str):
        raise CustomerFailed(f"the customer said {type(said).__name__}, not a text")
    return None if said is None else written(said)
