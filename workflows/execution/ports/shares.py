"""The accounts of shares in the database, so that runs of one start reserve what they may spend wherever they are executed.

They are in the row of the run that somebody started. A reservation belongs to an attempt at a run: if the worker of that
attempt is lost, the next call that would wait for it gives it back.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final
from uuid import UUID

from django.db.models.functions import Now

from accounts.tenancy import tenant
from config.ids import uuid7
from workflows.engine.language.document import Json
from workflows.engine.ports import Usage
from workflows.engine.sub_workflows.shares import Account, Amount, Share, reserve
from workflows.execution.claims import Claim
from workflows.execution.ports.runs_below import find_start
from workflows.execution.threads import run_in_thread
from workflows.models import Run
from workflows.models.run import RunStatus


FIRST_DELAY: Final = 0.05  # seconds between looks at the accounts
MAX_DELAY: Final = 1.0

Accounts = dict[str, Account]


@dataclass
class StoredShares:
    """Implements ``engine.sub_workflows.shares.SharePort`` for one attempt at a run."""

    claim: Claim

    async def reserve(self, shares: Sequence[Share], amount: Amount) -> str:
        call, delay = f"{self.claim.run_id} {self.claim.attempt} {uuid7()}", FIRST_DELAY
        while not await self._try_once(shares, call, amount):
            await asyncio.sleep(delay)
            delay = min(delay * 2, MAX_DELAY)
        return call

    async def _try_once(self, shares: Sequence[Share], call: str, amount: Amount) -> bool:
        """Try to reserve the amount. A thread can't be cancelled: what it reserves for a cancelled call is given back."""
        attempt = asyncio.ensure_future(run_in_thread(self._try_to_reserve, shares, call, amount))
        try:
            return await asyncio.shield(attempt)
        except asyncio.CancelledError:
            await asyncio.wait({attempt})
            if not attempt.exception():
                await self.settle(shares, call, Usage())
            raise

    async def settle(self, shares: Sequence[Share], call: str, usage: Usage) -> None:
        await run_in_thread(self._settle, shares, call, usage)

    @cached_property
    def _start_id(self) -> UUID:
        """The run that somebody started, at the top of the runs around this one."""
        return find_start(self.claim.run_id) or self.claim.run_id

    def _try_to_reserve(self, shares: Sequence[Share], call: str, amount: Amount) -> bool:
        """Reserve the amount. Return False if the call has to wait. It is no error if an earlier try has reserved it."""
        with tenant([self.claim.team_id]):
            accounts = self._lock_accounts()
            own = [(share, accounts.setdefault(share.key, Account())) for share in shares]
            if all(call in account.reserved for _share, account in own):
                return True
            is_reserved = reserve(own, call, amount)
            if not is_reserved and _drop_lost(accounts.values()):
                is_reserved = reserve(own, call, amount)
            self._save_accounts(accounts)
            return is_reserved

    def _settle(self, shares: Sequence[Share], call: str, usage: Usage) -> None:
        """Count the usage once: a call that isn't there was settled, or its attempt had lost the run."""
        with tenant([self.claim.team_id]):
            accounts = self._lock_accounts()
            for share in shares:
                account = accounts.get(share.key)
                if account is not None and call in account.reserved:
                    account.settle(call, usage)
            self._save_accounts(accounts)

    def _lock_accounts(self) -> Accounts:
        rows = Run.objects.unscoped().select_for_update(of=("self",), no_key=True)
        stored = rows.filter(pk=self._start_id).values_list("shares", flat=True).first()
        return {key: _read_account(value) for key, value in (stored or {}).items()}

    def _save_accounts(self, accounts: Accounts) -> None:
        values = {key: _dump_account(account) for key, account in accounts.items()}
        Run.objects.unscoped().filter(pk=self._start_id).update(shares=values)


def _drop_lost(accounts: Collection[Account]) -> bool:
    """Give back what attempts have reserved that no worker executes any more. Return whether there were any."""
    calls = {call for account in accounts for call in account.reserved}
    run_ids = {UUID(call.split()[0]) for call in calls}
    executed = Run.objects.unscoped().filter(
        pk__in=run_ids, status=RunStatus.RUNNING, lease_until__gt=Now()
    )
    attempts = {f"{run_id} {attempt}" for run_id, attempt in executed.values_list("pk", "attempt")}
    lost = {call for call in calls if call.rpartition(" ")[0] not in attempts}
    for account in accounts:
        account.reserved = {
            call: usage for call, usage in account.reserved.items() if call not in lost
        }
    return bool(lost)


def _read_account(value: Mapping[str, Json]) -> Account:
    reserved = {call: Usage(tokens, 0, cost) for call, (tokens, cost) in value["reserved"].items()}
    return Account(Usage(value["tokens"], 0, value["cost"]), reserved)


def _dump_account(account: Account) -> dict[str, Json]:
    return {
        "tokens": account.spent.total_tokens,
        "cost": account.spent.cost or 0.0,
        "reserved": {
            call: [usage.total_tokens, usage.cost or 0.0]
            for call, usage in account.reserved.items()
        },
    }
