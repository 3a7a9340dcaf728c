"""The worker of a process, in this process."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from accounts.tenancy import tenant
from tests.factories.workflows import make_workflow
from tests.support.cast import Cast
from tests.support.waiting import LIMIT
from workflows.execution import claims
from workflows.execution.worker import Worker
from workflows.models import Run
from workflows.services.runs.runs import start_run


pytestmark = pytest.mark.django_db(transaction=True)


def test_run_that_the_queue_claims_at_the_same_moment_is_awaited_too(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_claimed, goes_on, is_refused = Event(), Event(), Event()
    claim_next, claim_run = claims.claim_next_run, claims.claim_run

    async def claim_next_and_wait(*values: Any) -> Any:
        claim = await claim_next(*values)
        if claim is not None:
            is_claimed.set()
            await asyncio.to_thread(goes_on.wait, LIMIT)
        return claim

    async def claim_in_vain(*values: Any, **named: Any) -> Any:
        claim = await claim_run(*values, **named)
        if claim is None:
            is_refused.set()
        return claim

    monkeypatch.setattr(claims, "claim_next_run", claim_next_and_wait)
    monkeypatch.setattr(claims, "claim_run", claim_in_vain)
    run = start_run(cast.alice.principal, workflow=make_workflow(cast.alice), inputs={"text": "x"})
    worker = Worker(capacity=1)
    worker.start()
    try:
        with ThreadPoolExecutor(1) as pool:
            assert is_claimed.wait(LIMIT)
            executing = pool.submit(worker.execute_run, run.pk)
            assert is_refused.wait(LIMIT)
            goes_on.set()
            executing.result(LIMIT)
    finally:
        goes_on.set()
        worker.stop(0)

    with tenant([run.team_id]):
        assert Run.objects.unscoped().get(pk=run.pk).status == "succeeded"
