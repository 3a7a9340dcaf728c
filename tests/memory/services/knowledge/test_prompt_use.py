"""A page that may enter no prompt is found by people, and by no run and no key."""

import asyncio
from typing import Any

import pytest

from accounts.principals import KeyPrincipal
from memory import services
from memory.core.errors import NotFound
from memory.core.records import MemoryEntry, MemoryQuery, PromptUse, StoreParams
from memory.logic.knowledge.page_requests import write_drafts
from memory.logic.provider_port import ProviderPort
from memory.providers.in_memory import InMemoryProvider
from memory.services.gateway.engine_port import RunMemory
from memory.services.knowledge import search_candidates
from memory.services.sandbox.sandbox import SandboxMemory
from tests.memory.services.conftest import at_door, in_run
from tests.memory.services.knowledge.test_page_finding import NoLedger
from tests.support.cast import Cast, Person, make_cast, make_key
from workflows.engine.ports import Origin


WIKI = "global:app"
HOURS = {"title": "Opening hours", "content": "The shop is open from nine to five."}
DOOR = {"title": "Door", "content": "The door is open."}


def fill(person: Person) -> MemoryEntry:
    (hours, _door) = services.write_pages(at_door(person), namespace=WIKI, pages=[HOURS, DOOR])
    return choose(person, hours.entry)


def choose(person: Person, entry: MemoryEntry, use: PromptUse = PromptUse.NEVER) -> MemoryEntry:
    return services.edit(
        at_door(person), entry_id=entry.id, if_revision=entry.revision, prompt_use=use
    )


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["run", "sandbox", "provider"])
def test_no_port_finds_it_names_it_or_reads_it(kind: str) -> None:
    alice, provider = make_cast().alice, InMemoryProvider()
    if kind == "provider":
        fill_provider(provider)
    else:
        fill(alice)
    port: Any = {
        "run": lambda: RunMemory(in_run(alice)),
        "sandbox": lambda: SandboxMemory(in_run(alice), NoLedger()),
        "provider": lambda: ProviderPort(provider),
    }[kind]()
    at: dict[str, Any] = {"identity": {"app_id": "app"}, "origin": Origin("r1", "n", "k")}

    async def work() -> Any:
        pages = await port.find_pages(scope="global", query="open", **at)
        (base,) = await port.list_knowledge_bases(namespaces=[WIKI], **at)
        await port.maintain_wiki(scope="global", action="read", arguments={"page": "Door"}, **at)
        with pytest.raises(NotFound):
            await port.maintain_wiki(
                scope="global", action="read", arguments={"page": "Opening hours"}, **at
            )
        return [page.page["title"] for page in pages], base.titles

    assert asyncio.run(work()) == (["Door"], ("Door",))


def fill_provider(provider: InMemoryProvider) -> None:
    write_drafts([HOURS, DOOR], provider, WIKI)
    for entry in provider.recall(MemoryQuery(WIKI)):
        if entry.value["title"] == HOURS["title"]:
            params = StoreParams(
                WIKI, entry.key, value=entry.value, metadata=entry.metadata,
                category=entry.category, prompt_use=PromptUse.NEVER,
            )  # fmt: skip
            provider.store(params)


@pytest.mark.django_db
@pytest.mark.parametrize("size", ["small", "large"])
def test_people_find_it_and_keys_do_not(
    cast: Cast, size: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if size == "large":
        monkeypatch.setattr(search_candidates, "LARGE_SIZE", 0)
    fill(cast.alice)
    row, _secret = make_key(cast, cast.alice, scopes={"memory:read"})
    key = services.MemoryCaller(KeyPrincipal(row), cast.team_a.pk)

    def find(caller: services.MemoryCaller) -> list[set[str]]:
        one = services.find_pages(caller, namespace=WIKI, query="open")
        every = services.search_all_pages(caller, query="open", top_k=5).hits
        return [{hit.item.page.title for hit in hits} for hits in (one, every)]

    assert find(at_door(cast.alice)) == [{"Opening hours", "Door"}] * 2
    assert find(key) == [{"Door"}] * 2


@pytest.mark.django_db
def test_choice_stays_when_the_page_is_written_again(alice: Person) -> None:
    hours = fill(alice)
    page = {**HOURS, "content": "The shop is closed on Sundays."}

    (again,) = services.write_pages(at_door(alice), namespace=WIKI, pages=[page])

    assert (again.entry.id, again.entry.prompt_use) == (hours.id, PromptUse.NEVER)
