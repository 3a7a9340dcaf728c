"""Knowledge bases that a document names: searched together, and by nobody who may not view them."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.principals import load_run_principal
from accounts.tenancy import tenant
from config.ids import uuid7
from memory import services
from memory.core.errors import AccessDenied, InvalidInput
from memory.logic.knowledge.page_queries import PageQuery
from memory.logic.wiki.actions import WikiAction
from memory.models import Read
from memory.services import MemoryCaller
from memory.services.gateway.engine_port import RunMemory
from memory.services.knowledge.named_bases import list_named_bases
from memory.services.knowledge.page_finding import find_pages_in
from memory.services.sandbox.sandbox import SandboxMemory
from memory.services.wiki.maintain import maintain_wiki
from memory.upkeep.embedding import embed_team
from tests.memory.services.conftest import at_door, in_run, trail
from tests.support.cast import Cast, Person, make_key
from tests.support.embedding import Tiny
from workflows.engine.ports import Origin


pytestmark = pytest.mark.django_db

HANDBOOK, SHOP = "global:handbook", "global:shop"


@pytest.fixture
def bases(cast: Cast) -> Cast:
    fill(cast.alice, HANDBOOK, "Refunds", "A refund takes five days.", ["money"])
    fill(cast.alice, SHOP, "Refunds", "The shop refunds in cash after five days.")
    fill(cast.carol, HANDBOOK, "Refunds", "Carol's team never pays a refund.")
    return cast


def fill(
    person: Person, namespace: str, title: str, content: str, tags: Sequence[str] = ()
) -> None:
    page = {"title": title, "content": content, "tags": list(tags)}
    services.write_pages(at_door(person), namespace=namespace, pages=[page])


def named(person: Person, *texts: str, **identity: Any) -> MemoryCaller:
    """A run of this person, whose document names these knowledge bases."""
    return replace(in_run(person, **identity), knowledge_bases=frozenset(texts))


def find(
    caller: MemoryCaller, *texts: str, query: str = "refund days", **more: Any
) -> list[tuple[str, str]]:
    hits = find_pages_in(caller, namespaces=texts, page_query=PageQuery(query, **more))
    return [(hit.entry.namespace, str(hit.page["content"])) for hit in hits]


def test_named_knowledge_bases_are_searched_together_and_audited_one_by_one(bases: Cast) -> None:
    found = find(named(bases.bob, HANDBOOK, SHOP), HANDBOOK, SHOP)

    assert found == [
        (HANDBOOK, "A refund takes five days."),
        (SHOP, "The shop refunds in cash after five days."),
    ]
    recalled = [line for line in trail(bases.team_a.id) if line[0] == "memory.recalled"]
    assert sorted(recalled) == [
        ("memory.recalled", HANDBOOK, True),
        ("memory.recalled", SHOP, True),
    ]
    with tenant([bases.team_a.id]):
        assert Read.objects.unscoped().filter(run_id="r1").count() == 2


def test_scores_are_those_of_a_single_search_of_all_pages(bases: Cast) -> None:
    """The words of a query weigh as if all pages were in one place."""
    pages = [
        {"title": "Refunds", "content": "A refund takes five days."},
        {"title": "Refunds in the shop", "content": "The shop refunds in cash after five days."},
    ]
    services.write_pages(at_door(bases.alice), namespace="global:one", pages=pages)
    fill(bases.alice, "global:a", **pages[0])
    fill(bases.alice, "global:b", **pages[1])
    door, query = at_door(bases.alice), PageQuery("refund in cash")

    one = find_pages_in(door, namespaces=["global:one"], page_query=query)
    two = find_pages_in(door, namespaces=["global:a", "global:b"], page_query=query)

    assert [hit.score for hit in one] == [hit.score for hit in two]
    assert [dict(hit.parts) for hit in one] == [dict(hit.parts) for hit in two]


def test_meaning_is_compared_across_knowledge_bases(bases: Cast, tiny: Tiny) -> None:
    fill(bases.alice, "global:boats", "Harbour", "A boat, and another boat.")
    fill(bases.alice, "global:bread", "Bakery", "Rye, and a loaf of wheat.")
    embed_team(bases.team_a.pk)
    run = named(bases.bob, "global:boats", "global:bread")
    tiny.questions.clear()

    found = find(run, "global:bread", "global:boats", query="vessels")

    assert [place for place, _content in found] == ["global:boats"]
    assert tiny.questions == ["vessels"]  # embedded once


def test_missing_knowledge_base_has_no_pages_and_is_told(bases: Cast) -> None:
    run = named(bases.bob, SHOP, "global:gone", "global:default")

    assert [place for place, _content in find(run, "global:gone", SHOP)] == [SHOP]
    told = list_named_bases(run, [SHOP, "global:gone", "global:default"])
    assert [(base.namespace, base.exists, base.titles) for base in told] == [
        (SHOP, True, ("Refunds",)),
        ("global:gone", False, ()),
        ("global:default", True, ()),
    ]


# -- who reaches what --------------------------------------------------------------------------------


def test_run_reaches_no_knowledge_base_that_its_document_does_not_name(bases: Cast) -> None:
    with pytest.raises(AccessDenied, match="no access to global:shop"):
        find(named(bases.bob, HANDBOOK), HANDBOOK, SHOP)
    with pytest.raises(AccessDenied):
        find(in_run(bases.bob), HANDBOOK)
    assert ("memory.recalled", HANDBOOK, True) not in trail(bases.team_a.id)


def test_naming_a_person_or_a_conversation_opens_nothing(bases: Cast) -> None:
    alice = bases.alice
    services.write_pages(
        at_door(alice), namespace=f"user:{alice.user.pk}", pages=[{"title": "Mine", "content": "x"}]
    )
    for text in (f"user:{alice.user.pk}", "conv:c9", "ai:notes:r2"):
        with pytest.raises(AccessDenied):
            find(named(bases.bob, text), text)


def test_naming_is_for_reading_alone(bases: Cast) -> None:
    run = named(bases.bob, SHOP)

    with pytest.raises(AccessDenied):
        services.write_pages(run, namespace=SHOP, pages=[{"title": "Planted", "content": "x"}])
    with pytest.raises(AccessDenied):
        services.forget(run, namespace=SHOP, filter={"title": {"$exists": True}})


def test_knowledge_base_of_the_same_name_in_another_team_stays_there(bases: Cast) -> None:
    assert find(named(bases.carol, HANDBOOK), HANDBOOK) == [
        (HANDBOOK, "Carol's team never pays a refund.")
    ]
    stranger = replace(named(bases.carol, HANDBOOK), team_id=bases.team_a.id)
    with pytest.raises(AccessDenied, match="another team"):
        find(stranger, HANDBOOK)


def by_key(cast: Cast, scopes: Iterable[str]) -> MemoryCaller:
    """The run of an external user, started by a key with these rights."""
    key, _secret = make_key(cast, cast.alice, scopes=set(scopes))
    principal = load_run_principal(run_id=uuid7(), team_id=cast.team_a.id, key_id=key.pk)
    return replace(named(cast.alice, HANDBOOK, user_id="mia", outside=True), principal=principal)


def test_key_needs_the_right_to_read_memory_and_the_error_names_the_knowledge_base(
    bases: Cast,
) -> None:
    assert len(find(by_key(bases, {"runs:write", "memory:read"}), HANDBOOK)) == 1

    with pytest.raises(AccessDenied, match="global:handbook can't be read"):
        find(by_key(bases, {"runs:write"}), HANDBOOK)
    with pytest.raises(AccessDenied, match="global:handbook can't be read"):
        list_named_bases(by_key(bases, {"runs:write"}), [HANDBOOK])
    assert ("memory.refused", HANDBOOK, False) in trail(bases.team_a.id)


def test_run_without_a_starter_reads_none(bases: Cast) -> None:
    principal = load_run_principal(run_id=uuid7(), team_id=bases.team_a.id)
    nobody = replace(named(bases.bob, HANDBOOK), principal=principal)

    with pytest.raises(AccessDenied, match="can't be read"):
        find(nobody, HANDBOOK)


# -- the port of a run -------------------------------------------------------------------------------


class NoLedger:
    def load(self) -> list[Any]:
        return []

    def add(self, changes: Any) -> None:
        raise AssertionError(changes)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["run", "sandbox"])
def test_port_takes_namespaces_and_a_filter_and_refuses_what_is_no_knowledge_base(
    bases: Cast, kind: str
) -> None:
    caller = named(bases.bob, HANDBOOK, SHOP)
    port = RunMemory(caller) if kind == "run" else SandboxMemory(caller, NoLedger())
    at: dict[str, Any] = {"identity": {}, "origin": Origin("r1", "n", "k"), "scope": "global"}
    seen: list[dict[str, Any]] = []

    def accepts(metadata: Any) -> bool:
        seen.append(dict(metadata))
        return "money" in metadata["tags"]

    async def work() -> Any:
        pages = await port.find_pages(
            query="refund", namespaces=[SHOP, HANDBOOK, SHOP], accepts=accepts, **at
        )
        told = await port.list_knowledge_bases(
            identity={}, origin=at["origin"], namespaces=[HANDBOOK]
        )
        with pytest.raises(InvalidInput, match="knowledge_bases"):
            await port.find_pages(query="refund", namespaces=["user:mia"], **at)
        with pytest.raises(AccessDenied):
            await port.find_pages(query="refund", namespaces=["global:other"], **at)
        return pages, told

    pages, told = asyncio.run(work())

    assert [page.entry.namespace for page in pages] == [HANDBOOK]
    assert {entry["uploader"] for entry in seen} == {"Alice"}
    assert [base.name for base in told] == ["handbook"]


def test_metadata_has_the_source_whose_text_is_not_read(alice: Person) -> None:
    arguments = {
        "source": {"text": "The shop opens at nine.", "title": "leaflet.pdf"},
        "pages": [{"title": "Opening hours", "content": "The shop opens at nine."}],
    }
    run = in_run(alice, app_id="shop")
    maintain_wiki(run, scope="global", action=WikiAction.INGEST, arguments=arguments)
    seen: list[Any] = []

    def accepts(metadata: Any) -> bool:
        seen.append(metadata)
        return "leaflet.pdf" in metadata["source"]

    query = PageQuery("opening hours", accepts=accepts)
    with CaptureQueriesContext(connection) as queries:
        (hit,) = find_pages_in(at_door(alice), namespaces=[SHOP], page_query=query)

    assert hit.source == {"title": "leaflet.pdf", "kind": "text", "url": ""}
    assert seen[0]["document_name"] == ["leaflet.pdf", "Opening hours"]
    of_sources = [q["sql"] for q in queries.captured_queries if "'source:" in q["sql"]]
    assert len(of_sources) == 1
    assert "->> 'title'" in of_sources[0]
