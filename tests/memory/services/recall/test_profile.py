"""The profile through every port of a run: read once, with the reason, and only what the person lets in."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from accounts.models import AuditEntry
from accounts.tenancy import tenant
from memory import services
from memory.core.errors import AccessDenied
from memory.core.records import MemoryEntry, PromptUse, StoreParams
from memory.logic.provider_port import ProviderPort
from memory.models import Policy, Read
from memory.providers.in_memory import InMemoryProvider
from memory.services.gateway.engine_port import RunMemory
from memory.services.recall.profile import recall_profile
from memory.services.sandbox.partial_memory import PartialMemory
from memory.services.sandbox.sandbox import SandboxMemory
from tests.memory.services.conftest import at_door, in_run
from tests.support.cast import Cast, Person, make_cast
from workflows.engine.ports import Origin


pytestmark = pytest.mark.django_db


def remember(person: Person, key: str, **more: Any) -> MemoryEntry:
    return services.remember(in_run(person), scope="user", key=key, value=f"{key} is so", **more)


def fill(person: Person) -> None:
    remember(person, "name", metadata={"attribute": "name"})
    remember(person, "home", metadata={"attribute": "home"})
    remember(person, "pinned", prompt_use=PromptUse.ALWAYS)
    remember(person, "secret", metadata={"attribute": "name"}, prompt_use=PromptUse.NEVER)


def test_profile_is_read_with_always_as_the_reason(alice: Person) -> None:
    fill(alice)

    profile = recall_profile(in_run(alice), injected=True)

    assert [entry.key for entry in profile.entries] == ["pinned", "name"]
    with tenant([alice.team.id]):
        reads = list(
            Read.objects.unscoped().filter(run_id="r1").values("score", "explain", "injected")
        )
        audit = AuditEntry.objects.unscoped().filter(action="memory.recalled").order_by("-seq")[0]
    assert reads == [{"score": None, "explain": {"always": 1.0}, "injected": True}] * 2
    assert (audit.detail["keys"], audit.detail["left_out"]) == (2, 0)


def test_profile_of_another_person_is_nobody_elses(cast: Cast) -> None:
    fill(cast.alice)

    assert recall_profile(in_run(cast.people["bob"])).entries == ()


def test_policy_that_keeps_no_memory_of_people_leaves_the_profile_empty(alice: Person) -> None:
    fill(alice)
    with tenant([alice.team.id]):
        Policy.objects.unscoped().create(team=alice.team, allowed_prefixes=["global:"])

    assert recall_profile(in_run(alice)).entries == ()
    with pytest.raises(AccessDenied):
        services.recall(in_run(alice), scope="user")


def test_profile_that_the_run_may_not_read_is_refused(alice: Person) -> None:
    with pytest.raises(AccessDenied):
        recall_profile(replace(in_run(alice), reach=frozenset()))


def test_paused_person_has_no_profile(alice: Person) -> None:
    fill(alice)
    services.pause(at_door(alice), what="recalling", until=None)

    profile = recall_profile(in_run(alice))

    assert (profile.entries, profile.withheld) == ((), "paused")


def test_step_that_writes_again_keeps_what_the_person_chose(alice: Person) -> None:
    entry = remember(alice, "phone")
    services.edit(at_door(alice), entry_id=entry.id, if_revision=1, prompt_use=PromptUse.NEVER)

    again = remember(alice, "phone", metadata={"attribute": "phone"})
    restored = services.restore(at_door(alice), entry_id=entry.id, revision=1)

    assert (again.revision, again.prompt_use) == (3, PromptUse.NEVER)
    assert restored.prompt_use is PromptUse.AUTO


class NoLedger:
    def load(self) -> Any:
        return []

    def add(self, changes: Any) -> None:
        raise AssertionError(changes)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["run", "sandbox", "provider", "partial", "left out"])
def test_every_port_gives_the_same_profile_and_recalls_nothing_that_may_enter_no_prompt(
    kind: str,
) -> None:
    alice = make_cast().alice
    provider = InMemoryProvider()
    if kind == "provider":
        for key, metadata, use in (
            ("name", {"attribute": "name"}, PromptUse.AUTO),
            ("home", {"attribute": "home"}, PromptUse.AUTO),
            ("pinned", {}, PromptUse.ALWAYS),
            ("secret", {"attribute": "name"}, PromptUse.NEVER),
        ):
            provider.store(
                StoreParams("user:mia", key, value="so", metadata=metadata, prompt_use=use)
            )
    else:
        fill(alice)
    real = RunMemory(in_run(alice))
    port = {
        "run": lambda: real,
        "sandbox": lambda: SandboxMemory(in_run(alice), NoLedger()),
        "provider": lambda: ProviderPort(provider),
        "partial": lambda: PartialMemory(real, NoLedger(), {"conversation"}),
        "left out": lambda: PartialMemory(real, NoLedger(), {"user"}),
    }[kind]()
    at: dict[str, Any] = {"identity": {"user_id": "mia"}, "origin": Origin("r1", "n", "k")}

    async def work() -> tuple[list[str], list[str]]:
        profile = await port.recall_profile(**at)
        entries = await port.recall(scope="user", **at)
        return [e.key for e in profile.entries], sorted(e.key for e in entries)

    expected = ([], []) if kind == "left out" else (["pinned", "name"], ["home", "name", "pinned"])
    assert asyncio.run(work()) == expected
