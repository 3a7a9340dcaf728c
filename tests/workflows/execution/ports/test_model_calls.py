"""How many calls a provider gets at the same time from all workers together."""

import asyncio
from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from accounts.tenancy import tenant
from tests.factories.workflows import make_provider
from tests.support.cast import Cast
from tests.support.waiting import until_async
from workflows.engine.errors import ModelFailed
from workflows.execution.ports import model_calls
from workflows.execution.ports.model_calls import open_slot
from workflows.execution.ports.models import load_directory
from workflows.llm.config import ProviderConfig
from workflows.models import ModelCall
from workflows.services.credentials import update_provider


pytestmark = pytest.mark.django_db(transaction=True)


def test_calls_wait_for_a_slot_and_those_of_killed_workers_do_not_count(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = make_provider(cast.alice, name="ollama")
    limits = {"max_concurrency": 2, "timeout_seconds": 300}
    update_provider(cast.alice.principal, provider=provider, limits=limits)
    team = cast.team_a.pk
    config = load_directory(team).configs["ollama"]
    with tenant([team]):
        ModelCall.objects.create(
            team_id=team, provider=provider, expires_at=timezone.now() - timedelta(seconds=1)
        )
    refused = note_refusals(monkeypatch)
    open_calls = most = 0

    async def call() -> None:
        nonlocal open_calls, most
        async with open_slot(team, config):
            open_calls += 1
            most = max(most, open_calls)
            # The other three have asked while two were open.
            await until_async(lambda: most == 2 and len(refused) >= 3)
            open_calls -= 1

    async def call_all() -> None:
        await asyncio.gather(*(call() for _ in range(5)))

    asyncio.run(call_all())

    assert most == 2
    with tenant([team]):
        assert not ModelCall.objects.unscoped().exists()


def note_refusals(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """Return a list that gets an entry whenever a call is refused a slot."""
    refused: list[None] = []
    take_slot = model_calls._take_slot

    def take_and_note(team_id: UUID, config: ProviderConfig, limit: int) -> UUID | None:
        call_id = take_slot(team_id, config, limit)
        if call_id is None:
            refused.append(None)
        return call_id

    monkeypatch.setattr(model_calls, "_take_slot", take_and_note)
    return refused


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
