"""Reservations of a share: what fits goes on together, the rest waits, and nobody waits for ever."""

import asyncio
from typing import Any

import pytest

from tests.support.cases import for_each
from workflows.engine.errors import LimitReached
from workflows.engine.ports import Usage
from workflows.engine.sub_workflows.shares import Account, Amount, LocalShares, Share, reserve
from workflows.engine.sub_workflows.spending_limits import SpendingLimits


COST = Share("cost", SpendingLimits(max_cost=1.0))
TOKENS = Share("tokens", SpendingLimits(max_tokens=100))
UNKNOWN = Amount()


@for_each(
    "spent, reserved, amount, expected",
    [
        (0.0, [], Amount(10, 0.25), 0.25),
        (0.0, [0.5], Amount(10, 0.5), 0.5),
        (0.0, [0.5], Amount(10, 0.75), None),  # waits
        (0.25, [0.5], Amount(10, 0.5), None),
        (0.25, [], Amount(10, 4.0), 0.75),  # alone, with all that is left
        (0.25, [], UNKNOWN, 0.75),
        (0.0, [0.5], UNKNOWN, None),
        (0.0, [1.0], Amount(10, 0.0), 0.0),  # a model without a price
    ],
)
def test_amount_is_reserved_where_it_fits_or_nobody_else_is_there(
    spent: float, reserved: list[float], amount: Amount, expected: float | None
) -> None:
    account = Account(
        Usage(cost=spent), {str(n): Usage(cost=each) for n, each in enumerate(reserved)}
    )

    assert reserve([(COST, account)], "new", amount) is (expected is not None)

    reservation = account.reserved.get("new")
    assert (reservation.cost if reservation else None) == expected


def test_call_is_refused_once_a_share_is_used_up() -> None:
    account = Account(Usage(60, 40))

    with pytest.raises(LimitReached, match=r"max_tokens of the agent .* 100 were left"):
        reserve([(TOKENS, account)], "new", Amount(1, 0.0))


def test_nothing_is_reserved_unless_every_share_has_it() -> None:
    outer, inner = Account(), Account(reserved={"other": Usage(100)})

    assert not reserve([(COST, outer), (TOKENS, inner)], "new", Amount(10, 0.25))

    assert outer.reserved == {}


class Calls:
    """Calls that begin together and end in the order in which they began, each with the same usage."""

    def __init__(self, *shares: Share, amount: Amount, usage: Usage) -> None:
        self.port, self.shares, self.amount, self.usage = LocalShares(), shares, amount, usage
        self.at_once = self.most_at_once = self.made = 0

    async def make(self) -> None:
        call = await self.port.reserve(self.shares, self.amount)
        self.made += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        await self.port.settle(self.shares, call, self.usage)


@pytest.mark.parametrize(
    ("amount", "most_at_once"), [(Amount(25, 0.25), 4), (Amount(50, 0.5), 2), (UNKNOWN, 1)]
)
async def test_calls_at_once_spend_their_share_and_no_more(
    amount: Amount, most_at_once: int
) -> None:
    calls = Calls(COST, TOKENS, amount=amount, usage=Usage(20, 5, 0.25))

    outcomes = await asyncio.gather(*(calls.make() for _ in range(20)), return_exceptions=True)

    assert calls.made == 4
    assert calls.most_at_once == most_at_once
    assert [type(each) for each in outcomes if each] == [LimitReached] * 16


async def test_call_that_is_given_up_while_it_waits_reserves_nothing() -> None:
    port = LocalShares()
    first = await port.reserve([COST], UNKNOWN)
    waiting = asyncio.create_task(port.reserve([COST], UNKNOWN))
    await asyncio.sleep(0)
    waiting.cancel()
    await port.settle([COST], first, Usage(cost=0.5))

    assert await asyncio.wait_for(port.reserve([COST], UNKNOWN), 60)


async def test_shares_in_any_order_never_wait_for_each_other() -> None:
    port, shares = LocalShares(), [COST, TOKENS]

    async def make(order: list[Share]) -> Any:
        call = await port.reserve(order, UNKNOWN)
        await asyncio.sleep(0)
        await port.settle(order, call, Usage(1, 0, 0.01))

    orders = [shares, shares[::-1], shares[:1], shares[1:]] * 5
    await asyncio.wait_for(asyncio.gather(*map(make, orders)), 60)
