"""One question to all knowledge bases: every knowledge base one may see, and none besides."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory import services
from memory.core.errors import InvalidInput, NotFound
from memory.services.access.quotas import Limits, change_limits
from memory.services.knowledge import page_search
from tests.memory.services.conftest import at_door, trail
from tests.support.cast import Cast, Person


pytestmark = pytest.mark.django_db


def write(person: Person, namespace: str, *pages: dict[str, Any]) -> None:
    services.write_pages(at_door(person), namespace=namespace, pages=pages)


def found(person: Person, query: str, **more: Any) -> list[tuple[str, str]]:
    hits = services.search_all_pages(at_door(person), query=query, **more).hits
    return [(hit.entry.namespace, hit.item.page.title) for hit in hits]


@pytest.fixture
def knowledge_bases(cast: Cast) -> Cast:
    write(cast.alice, "global:wiki", {"title": "Deployment", "content": "Ship with blue buttons."})
    write(
        cast.alice,
        "global:garden",
        {"title": "Seeds", "content": "Sown in spring.", "tags": ["Plants"]},
    )
    own = f"user:{cast.alice.user.pk}"
    write(cast.alice, own, {"title": "Deployment", "content": "My notes about the blue button."})
    write(
        cast.carol, "global:wiki", {"title": "Deployment", "content": "Theirs has a blue button."}
    )
    return cast


def test_question_finds_pages_of_all_knowledge_bases_best_first(knowledge_bases: Cast) -> None:
    own = f"user:{knowledge_bases.alice.user.pk}"

    assert set(found(knowledge_bases.alice, "deployment")) == {
        ("global:wiki", "Deployment"),
        (own, "Deployment"),
    }
    assert found(knowledge_bases.alice, "when are seeds sown")[0] == ("global:garden", "Seeds")
    assert found(knowledge_bases.alice, "seed", tags=["plants"]) == [("global:garden", "Seeds")]
    assert found(knowledge_bases.alice, "deployment", tags=["plants"]) == []
    answer = services.search_all_pages(at_door(knowledge_bases.alice), query="deployment", top_k=1)
    assert (len(answer.hits), answer.is_all) == (1, True)
    assert [place.text for place in answer.namespaces.values()] == [answer.hits[0].entry.namespace]


def test_scores_are_in_order_and_say_what_they_are_made_of(knowledge_bases: Cast) -> None:
    hits = services.search_all_pages(
        at_door(knowledge_bases.alice), query="blue button deployment"
    ).hits

    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert 0.1 <= scores[-1] <= scores[0] <= 1
    assert {"title", "content", "bm25"} <= set(hits[0].parts)


def test_nobody_finds_what_they_may_not_see(knowledge_bases: Cast) -> None:
    assert found(knowledge_bases.vic, "deployment blue button") == [("global:wiki", "Deployment")]
    assert found(knowledge_bases.carol, "seeds sown in spring") == []
    assert [place for place, _title in found(knowledge_bases.carol, "deployment")] == [
        "global:wiki"
    ]


def test_key_finds_what_the_team_shares_alone(knowledge_bases: Cast, api_key: Any) -> None:
    answer = api_key(knowledge_bases.alice).get("/api/v1/knowledge/search?query=deployment").json()

    assert [hit["page"]["namespace"] for hit in answer["items"]] == ["global:wiki"]


def test_only_knowledge_bases_with_a_word_of_it_are_opened_each_in_the_trail(
    knowledge_bases: Cast,
) -> None:
    before = len(trail(knowledge_bases.team_a.pk))

    assert found(knowledge_bases.alice, "spring")

    assert trail(knowledge_bases.team_a.pk)[before:] == [("memory.recalled", "global:garden", True)]


def test_empty_question_asks_nothing_and_limits_are_checked(knowledge_bases: Cast) -> None:
    caller = at_door(knowledge_bases.alice)
    with CaptureQueriesContext(connection) as asked:
        assert services.search_all_pages(caller, query="   ").hits == ()
    assert len(asked) == 0
    with pytest.raises(InvalidInput):
        found(knowledge_bases.alice, "seeds", top_k=0)


def test_more_knowledge_bases_than_are_looked_at_are_said(
    knowledge_bases: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_search, "MAX_KNOWLEDGE_BASES", 1)

    answer = services.search_all_pages(at_door(knowledge_bases.alice), query="deployment")

    assert (len(answer.hits), answer.is_all) == (1, False)


def test_page_that_was_deleted_is_not_found(knowledge_bases: Cast) -> None:
    (hit,) = services.search_all_pages(at_door(knowledge_bases.alice), query="spring").hits

    services.delete_page(at_door(knowledge_bases.alice), entry_id=hit.entry.id)

    assert found(knowledge_bases.alice, "spring") == []


def test_knowledge_base_outside_the_policy_is_left_out_and_said(knowledge_bases: Cast) -> None:
    change_limits(at_door(knowledge_bases.ada), Limits(allowed_prefixes=("user:",)))
    own = f"user:{knowledge_bases.alice.user.pk}"

    answer = services.search_all_pages(at_door(knowledge_bases.alice), query="deployment")

    assert [hit.entry.namespace for hit in answer.hits] == [own]
    assert (set(answer.namespaces), answer.is_all) == ({own}, False)
    assert ("memory.refused", "global:wiki", False) in trail(knowledge_bases.team_a.pk)


def test_knowledge_base_that_went_meanwhile_is_left_out(
    knowledge_bases: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_into = page_search._search_candidates

    def gone(caller: Any, row: Any, query: str) -> Any:
        if row.text == "global:wiki":
            raise NotFound
        return looked_into(caller, row, query)

    monkeypatch.setattr(page_search, "_search_candidates", gone)

    assert {place for place, _title in found(knowledge_bases.alice, "deployment")} == {
        f"user:{knowledge_bases.alice.user.pk}"
    }
