"""Limits the calls that a provider gets at the same time from all workers together."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Final
from uuid import UUID

from django.db import connection
from django.utils import timezone

from accounts.tenancy import tenant
from workflows.engine.errors import ModelFailed
from workflows.execution.threads import run_in_thread
from workflows.llm.config import ProviderConfig
from workflows.models import ModelCall


_FIRST_WAIT: Final = 0.05  # seconds
_LONGEST_WAIT: Final = 1.0
_GRACE_SECONDS: Final = 30


@asynccontextmanager
async def open_slot(team_id: UUID, config: ProviderConfig) -> AsyncIterator[None]:
    """Wait until the provider may be called once more, and count the call while the context is open.

    Raises ModelFailed if the time of the call is up before. A provider without a limit costs no query.
    """
    if config.max_concurrency is None:
        yield
        return
    call_id = await _wait_for_slot(team_id, config, config.max_concurrency)
    try:
        yield
    finally:
        await asyncio.shield(run_in_thread(_close_slot, team_id, call_id))


async def _wait_for_slot(team_id: UUID, config: ProviderConfig, limit: int) -> UUID:
    deadline = time.monotonic() + config.total_seconds
    seconds = _FIRST_WAIT
    while True:
        call_id = await run_in_thread(_take_slot, team_id, config, limit)
        if call_id is not None:
            return call_id
        if time.monotonic() + seconds > deadline:
            message = f"{config.name} is busy: {limit} calls at the same time are allowed."
            raise ModelFailed(message, retryable=True)
        await asyncio.sleep(seconds)
        seconds = min(seconds * 1.5, _LONGEST_WAIT)


def _take_slot(team_id: UUID, config: ProviderConfig, limit: int) -> UUID | None:
    """Count one call more, or return None if the provider has as many as it may."""
    now = timezone.now()
    with tenant([team_id]):
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_advisory_xact_lock(hashtext('model-calls'), hashtext(%s))", [config.id]
            )
        calls = ModelCall.objects.unscoped().filter(team_id=team_id, provider_id=UUID(config.id))
        calls.filter(expires_at__lt=now).delete()
        if calls.count() >= limit:
            return None
        expires_at = now + timedelta(seconds=config.total_seconds + _GRACE_SECONDS)
        call = ModelCall.objects.create(
            team_id=team_id, provider_id=UUID(config.id), expires_at=expires_at
        )
    return call.pk


def _close_slot(team_id: UUID, call_id: UUID) -> None:
    with tenant([team_id]):
        ModelCall.objects.unscoped().filter(pk=call_id).delete()
