"""The engine's memory port over the services, from an event loop."""

import asyncio
import inspect
from dataclasses import asdict, dataclass
from typing import Any

import pytest

from accounts.tenancy import tenant
from memory.core.errors import AccessDenied, InvalidInput
from memory.logic.provider_port import ProviderPort
from memory.models import Entry, Read
from memory.providers.in_memory import InMemoryProvider
from memory.services.entries.remember import remember
from memory.services.gateway.engine_port import RunMemory
from tests.memory.services.conftest import in_run, trail
from tests.support.cast import make_cast
from workflows.engine.memory_ports import FactOperation, LearningPort
from workflows.engine.ports import MemoryPort, Origin


@dataclass(frozen=True)
class Step:
    run_id: str = "r9"
    node_id: str = "recall"
    idempotency_key: str = "r9:recall:1"


@pytest.mark.django_db(transaction=True)
def test_node_stores_recalls_and_deletes_in_the_callers_namespace_whatever_it_claims() -> None:
    alice = make_cast().alice
    port = RunMemory(in_run(alice, user_id="mia", conversation_id="c1", outside=True))
    claimed = {"user_id": "somebody-else", "conversation_id": "other"}

    async def work() -> tuple[object, ...]:
        at: dict[str, Any] = {"identity": claimed, "origin": Step()}
        stored = await port.store(scope="user", key="cat", value="Miso", **at)
        found = await port.recall(scope="user", query_text="miso", injected=True, **at)
        with pytest.raises(AccessDenied):
            await port.store(scope="global", key="k", value=1, **at)
        with pytest.raises(InvalidInput):
            await port.delete(scope="user", **at)
        deleted = await port.delete(scope="user", key="cat", **at)
        return stored.namespace, [e.value for e in found], deleted

    assert asyncio.run(work()) == ("user:mia", ["Miso"], 1)
    with tenant([alice.team.id]):
        read = Read.objects.unscoped().get()
    assert (read.run_id, read.node_id, read.injected) == ("r9", "recall", True)


@pytest.mark.parametrize("port", [RunMemory, ProviderPort])
@pytest.mark.parametrize("method", ["recall", "store", "delete"])
def test_port_has_the_engines_shape(port: type, method: str) -> None:
    def shape(owner: type) -> dict[str, tuple[object, object]]:
        parameters = inspect.signature(getattr(owner, method)).parameters.values()
        return {one.name: (one.kind, one.default) for one in parameters}

    assert shape(port) == shape(MemoryPort)


def test_provider_handed_to_the_runner_offers_a_port_that_deletes_by_filter() -> None:
    port = InMemoryProvider().port()
    at: dict[str, Any] = {"identity": {"user_id": "mia"}, "origin": Origin("r", "n", "k")}

    async def work() -> tuple[int, list[str]]:
        for number in range(3):
            metadata = {"n": number}
            await port.store(scope="user", key=f"k{number}", value=1, metadata=metadata, **at)
        deleted = await port.delete(scope="user", filter={"n": {"$gt": 0}}, **at)
        return deleted, [e.key for e in await port.recall(scope="user", **at)]

    assert asyncio.run(work()) == (2, ["k0"])


@pytest.mark.django_db(transaction=True)
def test_fact_is_stored_once_and_a_repeated_step_is_told_that_it_stored_it() -> None:
    alice = make_cast().alice
    port = RunMemory(in_run(alice, user_id="mia", conversation_id="c1", outside=True))

    async def say(text: str, origin: Step) -> tuple[str, object, bool]:
        operation = FactOperation("add", text, evidence=text, key=f"k-{text[:9]}")
        at: dict[str, Any] = {"scope": "user", "identity": {}, "origin": origin}
        (learned,) = await port.learn(**at, operations=[asdict(operation)])
        assert learned.entry is not None
        return learned.entry.key, learned.entry.value, learned.is_new

    async def work() -> list[tuple[str, object, bool]]:
        first, later = Step(node_id="a"), Step("r10", "a", "r10:a:")
        return [
            await say("I live in Lyon", first),
            await say("I live in Lyon", first),
            await say("i live in lyon!", later),
            await say("I don't live in Lyon", later),
        ]

    assert asyncio.run(work()) == [
        ("k-I live in", "I live in Lyon", True),
        ("k-I live in", "I live in Lyon", True),
        ("k-I live in", "I live in Lyon", False),
        ("k-I don't l", "I don't live in Lyon", True),
    ]
    with tenant([alice.team.id]):
        entries = Entry.objects.unscoped().order_by("key").values_list("key", "revision")
        assert [*entries] == [("k-I don't l", 1), ("k-I live in", 1)]


# Of a message: the trail of a turn that nobody decides about but memory itself.
TRAILS = [
    ("I play the violin.", ["memory.stored"]),
    ("Thank you!", []),
    ("I moved to Lyon.", ["memory.recalled", "memory.stored", "memory.edited"]),
    ("Please forget my phone number.", ["memory.recalled"]),
]


@pytest.mark.django_db(transaction=True)
def test_known_facts_are_read_only_if_the_message_may_change_one(settings: Any) -> None:
    settings.MEMORY_EMBEDDER = "local"
    alice = make_cast().alice
    remember(in_run(alice), scope="user", key="home", value="I live in Oslo.")
    port = RunMemory(in_run(alice))

    def decide(proposal: Any) -> list[dict[str, Any]]:
        return [{**asdict(each), "key": f"m-{each.text}"} for each in proposal.operations]

    def learn(message: str) -> list[str]:
        before, origin = len(trail(alice.team.id)), Step(idempotency_key=message)
        asyncio.run(
            port.learn_message(
                scope="user", identity={}, origin=origin, message=message, decide=decide
            )
        )
        return [action for action, *_rest in trail(alice.team.id)[before:]]

    assert [(message, learn(message)) for message, _trail in TRAILS] == TRAILS


@pytest.mark.parametrize("port", [RunMemory, ProviderPort])
def test_port_can_learn(port: type) -> None:
    assert issubclass(port, LearningPort)
