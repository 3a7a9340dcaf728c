"""A question about the past finds former entries alike in a run, a dry run and the in-process runner, and says why."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from accounts.tenancy import tenant
from memory import services
from memory.core.records import PromptUse, StoreParams
from memory.embedding.judge import find_judge
from memory.logic.judgement.asked_facts import TOPIC_PART
from memory.logic.provider_port import ProviderPort
from memory.models import Read
from memory.providers.in_memory import InMemoryProvider
from memory.services.gateway.engine_port import RunMemory
from memory.services.sandbox.partial_memory import PartialMemory
from memory.services.sandbox.sandbox import SandboxMemory
from tests.memory.services.conftest import at_door, in_run
from tests.support.cast import Person, make_cast
from workflows.engine.ports import Origin


ENDED = datetime(2026, 3, 3, tzinfo=UTC)
HOME = {"attribute": "home"}
FACTS: dict[str, dict[str, Any]] = {
    "berlin": {"value": "I live in Berlin.", "valid_until": ENDED},
    "secret": {"value": "I live in a hut.", "valid_until": ENDED, "prompt_use": PromptUse.NEVER},
    "lyon": {"value": "I moved to Lyon."},
}
AT: dict[str, Any] = {"scope": "user", "origin": Origin("r1", "n", "k")}


class NoLedger:
    def load(self) -> Any:
        return []

    def add(self, changes: Any) -> None:
        raise AssertionError(changes)


def fill(person: Person) -> None:
    namespace = f"user:{person.user.pk}"
    for key, fields in FACTS.items():
        services.remember(at_door(person), namespace=namespace, key=key, metadata=HOME, **fields)


def make_port(kind: str, alice: Person) -> Any:
    if kind == "provider":
        provider = InMemoryProvider()
        for key, fields in FACTS.items():
            provider.store(StoreParams("user:mia", key, metadata=HOME, **fields))
        return ProviderPort(provider, find_judge())
    fill(alice)
    real = RunMemory(in_run(alice))
    if kind == "sandbox":
        return SandboxMemory(in_run(alice), NoLedger())
    return PartialMemory(real, NoLedger(), {"conversation"}) if kind == "partial" else real


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["run", "sandbox", "provider", "partial"])
def test_every_port_finds_former_entries_for_questions_about_the_past_only(
    kind: str, settings: Any
) -> None:
    settings.MEMORY_EMBEDDER = "local"
    port = make_port(kind, make_cast().alice)

    async def ask(question: str, **more: Any) -> list[str]:
        hits = await port.recall(query_text=question, identity={"user_id": "mia"}, **AT, **more)
        return [hit.key for hit in hits]

    async def work() -> list[list[str]]:
        past = "Where did I live before?"
        return [
            await ask(past),
            await ask(past, include_former=False),
            await ask("Where do I live?"),
        ]

    assert asyncio.run(work()) == [["berlin", "lyon"], ["lyon"], ["lyon"]]


@pytest.mark.django_db(transaction=True)
def test_read_of_a_fact_that_was_asked_for_says_so(settings: Any) -> None:
    settings.MEMORY_EMBEDDER = "local"
    alice = make_cast().alice
    port = make_port("run", alice)

    async def work() -> None:
        await port.recall(query_text="In welcher Stadt wohne ich?", identity={}, **AT)

    asyncio.run(work())

    with tenant([alice.team.pk]):
        reads = [read.explain for read in Read.objects.unscoped()]
    assert [TOPIC_PART in explain for explain in reads] == [True]
