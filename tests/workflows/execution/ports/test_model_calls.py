"""How many calls a provider gets at the same time from all workers together."""

import asyncio
from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.tenancy import tenant
from tests.factories.workflows import make_provider
from tests.support.cast import Cast
from workflows.engine.errors import ModelFailed
from workflows.execution.ports.model_calls import open_slot
from workflows.execution.ports.models import load_directory
from workflows.models import ModelCall
from workflows.services.credentials import update_provider


pytestmark = pytest.mark.django_db(transaction=True)


def test_calls_wait_for_a_slot_and_those_of_killed_workers_do_not_count(cast: Cast) -> None:
    provider = make_provider(cast.alice, name="ollama")
    limits = {"max_concurrency": 2, "timeout_seconds": 30}
    update_provider(cast.alice.principal, provider=provider, limits=limits)
    team = cast.team_a.pk
    config = load_directory(team).configs["ollama"]
    with tenant([team]):
        ModelCall.objects.create(
            team_id=team, provider=provider, expires_at=timezone.now() - timedelta(seconds=1)
        )
    open_calls = most = 0
    are_two_open = asyncio.Event()

    async def call() -> None:
        nonlocal open_calls, most
        async with open_slot(team, config):
            open_calls += 1
            most = max(most, open_calls)
            if open_calls == 2:
                are_two_open.set()
            await asyncio.wait_for(are_two_open.wait(), 20)
            await asyncio.sleep(0.05)  # a third would come
            open_calls -= 1

    async def call_all() -> None:
        await asyncio.gather(*(call() for _ in range(5)))

    asyncio.run(call_all())

    assert most == 2
    with tenant([team]):
        assert not ModelCall.objects.unscoped().exists()


def test_call_that_gets_no_slot_in_its_time_fails_and_may_be_repeated(cast: Cast) -> None:
    provider = make_provider(cast.alice, name="ollama")
    limits = {"max_concurrency": 1, "timeout_seconds": 1}
    update_provider(cast.alice.principal, provider=provider, limits=limits)
    config = load_directory(cast.team_a.pk).configs["ollama"]

    async def call_twice() -> None:
        async with open_slot(cast.team_a.pk, config), open_slot(cast.team_a.pk, config):
            pass

    with pytest.raises(ModelFailed, match="ollama is busy") as failed:
        asyncio.run(call_twice())

    assert failed.value.retryable
