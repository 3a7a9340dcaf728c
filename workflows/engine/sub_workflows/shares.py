"""Shares: what calls of models that go on at the same time have together, so that they don't all spend it.

An agent that calls several tools at once gives them one share. Each call of a model below reserves what it may cost before
it is made, of every share around it at once, and says afterwards what it did cost. It waits while others have reserved
the rest. Nobody waits who has reserved something, so that no two wait for each other.

If nothing says how long an answer may become, the call reserves all that is left, and goes on alone. So does a call that
may cost more than is left. Only such a call can spend more than its share.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Protocol, runtime_checkable

from workflows.engine.errors import LimitReached
from workflows.engine.language.document import Json
from workflows.engine.ports import ModelRequest, Usage
from workflows.engine.sub_workflows.spending_limits import SpendingLimits


@runtime_checkable
class EstimatePort(Protocol):
    """A model port that can tell what a call will cost at most."""

    async def estimate(self, request: ModelRequest) -> Usage | None:
        """Return the tokens of the prompt and of the longest answer, and their cost; None if no length is set."""
        ...


@dataclass(frozen=True, slots=True)
class Share:
    """This is what an agent had left when it made its calls. ``key`` names these calls, in every attempt at the run."""

    key: str
    limits: SpendingLimits

    def to_json(self) -> dict[str, Json]:
        return {"key": self.key, **self.limits.to_json()}

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> "Share":
        return cls(value["key"], SpendingLimits.from_json(value))


@dataclass(frozen=True, slots=True)
class Amount:
    """This is what a call may cost at most; None means that it isn't known."""

    tokens: int | None = None
    cost: float | None = None

    @classmethod
    def of(cls, usage: Usage | None) -> "Amount":
        """Return the amount of an estimate. A model without a price costs nothing that is counted."""
        return cls(usage.total_tokens, usage.cost or 0.0) if usage is not None else cls()


@dataclass(slots=True)
class Account:
    """It has what the calls of a share have spent, and what those that go on have reserved, by the ids of the calls."""

    spent: Usage = field(default_factory=Usage)
    reserved: dict[str, Usage] = field(default_factory=dict)

    def settle(self, call: str, usage: Usage) -> None:
        self.reserved.pop(call, None)
        self.spent += usage


def reserve(accounts: Sequence[tuple[Share, Account]], call: str, amount: Amount) -> bool:
    """Reserve the amount of each share, or of none. Return False if the call has to wait for others.

    Raises LimitReached if a share is used up.
    """
    for share, account in accounts:
        check_spending(share.limits, account.spent)
    reservations = [_fit(share, account, amount) for share, account in accounts]
    for (_share, account), reservation in zip(accounts, reservations, strict=True):
        if reservation is not None and None not in reservations:
            account.reserved[call] = reservation
    return None not in reservations


def check_spending(limits: SpendingLimits, usage: Usage) -> None:
    """Raise LimitReached if nothing is left of the limits."""
    reached = limits.find_reached(usage)
    if reached is not None:
        limit = getattr(limits, reached)
        raise LimitReached(
            f"{reached} of the agent that called this workflow is used up: {limit:g} were left for it"
        )


def _fit(share: Share, account: Account, amount: Amount) -> Usage | None:
    """Return what the call reserves of the share, or None if it has to wait."""
    rest = share.limits.subtract(sum(account.reserved.values(), account.spent))
    is_alone = not account.reserved
    tokens = _fit_one(rest.max_tokens, amount.tokens, is_alone)
    cost = _fit_one(rest.max_cost, amount.cost, is_alone)
    return None if tokens is None or cost is None else Usage(int(tokens), 0, cost)


def _fit_one(rest: float | None, amount: float | None, is_alone: bool) -> float | None:
    if rest is None:
        return 0
    if amount is not None and amount <= rest:
        return amount
    return rest if is_alone else None


class SharePort(Protocol):
    """Keeps the accounts of the shares of a start."""

    async def reserve(self, shares: Sequence[Share], amount: Amount) -> str:
        """Wait until the amount is there, and return the id of the call. Raises LimitReached if a share is used up."""
        ...

    async def settle(self, shares: Sequence[Share], call: str, usage: Usage) -> None:
        """Count what the call has spent, and give the rest of its reservation back."""
        ...


class LocalShares:
    """Implements SharePort for runs in this process."""

    def __init__(self) -> None:
        self._accounts: dict[str, Account] = {}
        self._numbers = count(1)
        self._waiting: list[asyncio.Future[None]] = []

    async def reserve(self, shares: Sequence[Share], amount: Amount) -> str:
        accounts = self._list_accounts(shares)
        call = str(next(self._numbers))
        while not reserve(accounts, call, amount):
            settlement = asyncio.get_running_loop().create_future()
            self._waiting.append(settlement)
            await settlement
        return call

    async def settle(self, shares: Sequence[Share], call: str, usage: Usage) -> None:
        for _share, account in self._list_accounts(shares):
            account.settle(call, usage)
        waiting, self._waiting = self._waiting, []
        for settlement in waiting:
            if not settlement.done():  # by a cancellation
                settlement.set_result(None)

    def _list_accounts(self, shares: Sequence[Share]) -> list[tuple[Share, Account]]:
        return [(share, self._accounts.setdefault(share.key, Account())) for share in shares]
