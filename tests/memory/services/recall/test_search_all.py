"""One search over everything somebody may look into."""

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import AuditEntry
from accounts.principals import KeyPrincipal
from accounts.tenancy import tenant
from memory import services
from memory.core.errors import InvalidInput
from memory.models import Entry, Namespace, Policy
from memory.services.access import emergency_access
from memory.services.recall import search_all
from memory.services.recall.search_all import SearchResults
from tests.memory.services.conftest import at_door, in_run
from tests.support.cast import Person
from tests.support.score_parts import check_parts


pytestmark = pytest.mark.django_db


def store(person: Person, namespace: str, key: str, value: Any, **more: Any) -> str:
    return services.remember(at_door(person), namespace=namespace, key=key, value=value, **more).id


def found(person: Person, query: str, **narrowed: Any) -> SearchResults:
    return services.search_all_namespaces(at_door(person), query=query, **narrowed)


def keys(person: Person, query: str, **narrowed: Any) -> list[str]:
    return [one.key for one in found(person, query, **narrowed).entries]


def test_min_score_leaves_out_what_meets_less(alice: Person) -> None:
    store(alice, "global:shop", "a", "the printer needs toner")
    store(alice, "global:wiki", "b", "the printer of the office")

    assert keys(alice, "printer toner") == ["a", "b"]
    assert keys(alice, "printer toner", min_score=0.9) == ["a"]
    assert found(alice, "Which printer did Napoleon use", min_score=0.5).total == 0
    with pytest.raises(InvalidInput, match="min_score"):
        found(alice, "printer", min_score=1.5)


def test_hits_of_all_namespaces_are_ranked_as_one_with_place_and_reasons(alice: Person) -> None:
    store(alice, "global:shop", "hours", "open from nine to five")
    store(alice, "global:wiki", "tea", "green tea, and tea again")
    store(alice, f"user:{alice.user.pk}", "drink", "I like green tea with a long walk before it")

    page = found(alice, "green tea")

    assert [one.key for one in page.entries] == ["tea", "drink"]
    assert [one.namespace for one in page.entries] == ["global:wiki", f"user:{alice.user.pk}"]
    assert (page.total, page.is_all, set(page.namespaces)) == (
        2,
        True,
        {"global:wiki", f"user:{alice.user.pk}"},
    )
    best = page.entries[0]
    assert best.score is not None
    check_parts(best)
    assert best.explain["rank_literal"] > 0


def test_one_namespace_is_ranked_as_its_own_recall_ranks_it(alice: Person) -> None:
    here = "global:talk"
    for number, said in enumerate(
        ("a red bicycle", "the bicycle has a flat tyre", "no more of it", "red wine", "a red car")
    ):
        store(alice, here, f"k{number}", said, metadata={"group": "talk" if number < 3 else ""})
    recalled = services.recall(at_door(alice), namespace=here, query_text="red bicycle")

    page = found(alice, "red bicycle")

    assert {one.key: one.score for one in page.entries} == {one.key: one.score for one in recalled}
    assert {one.key: dict(one.explain) for one in page.entries} == {
        one.key: dict(one.explain) for one in recalled
    }
    assert len(recalled) >= 4


def test_groups_of_a_later_namespace_lend_to_their_own_neighbours(alice: Person) -> None:
    """What is numbered anew here must still stand beside who it stood beside."""
    for place in ("global:one", "global:two"):
        for number, said in enumerate(("my bicycle", "it is broken", "what a pity")):
            store(alice, place, f"{place} {number}", said, metadata={"group": "talk"})

    page = found(alice, "bicycle")

    by_key = {one.key: one for one in page.entries}
    assert len(by_key) == 6  # the two after each say nothing of it, and are lent to
    for number in range(3):
        first, second = by_key[f"global:one {number}"], by_key[f"global:two {number}"]
        assert first.score == second.score
    assert by_key["global:two 1"].explain["rank_neighbours"] > 0


def test_nobody_finds_what_is_not_theirs_to_see(
    alice: Person, bob: Person, carol: Person, ada: Person
) -> None:
    store(alice, f"user:{alice.user.pk}", "mine", "a secret zebra")
    store(alice, "global:shop", "shared", "a public zebra")
    services.remember(in_run(alice, conversation_id="c1"), scope="conversation", key="k", value="z")

    assert sorted(keys(alice, "zebra")) == ["mine", "shared"]
    assert keys(bob, "zebra") == ["shared"]
    assert keys(carol, "zebra") == []
    services_access = emergency_access.start_emergency_access(
        at_door(ada), namespace=f"user:{alice.user.pk}", reason="fire", minutes=15
    )
    assert services_access.is_open()
    assert keys(ada, "zebra") == ["shared"]  # emergency access opens one door, and widens no list


def test_filters_narrow_by_scope_tier_and_category(alice: Person) -> None:
    own = f"user:{alice.user.pk}"
    store(alice, "global:shop", "a", "tea one", category="fact")
    store(alice, "global:shop", "b", "tea two", category="note", tier="working")
    store(alice, own, "c", "tea three", category="note")
    held = store(alice, own, "d", "tea four", category="note")
    services.move(at_door(alice), move="quarantine", entry_ids=[UUID(held)])

    assert sorted(keys(alice, "tea")) == ["a", "b", "c", "d"]
    assert keys(alice, "tea")[-1] == "d"  # what waits comes last, and has no score
    assert sorted(keys(alice, "tea", scope="user")) == ["c", "d"]
    assert sorted(keys(alice, "tea", category="note")) == ["b", "c", "d"]
    assert keys(alice, "tea", tier="working") == ["b"]
    assert keys(alice, "tea", tier="quarantine") == ["d"]
    assert keys(alice, "tea", tier="long_term", category="note", scope="user") == ["c"]
    assert keys(alice, "coffee tea", tier="quarantine") == []  # of what waits, all words


def test_programme_finds_what_waits_only_where_it_names_that_tier(
    alice: Person, api_key: Any
) -> None:
    store(alice, "global:shop", "a", "tea")
    held = store(alice, "global:shop", "b", "tea, and do as I say")
    services.move(at_door(alice), move="quarantine", entry_ids=[UUID(held)])
    programme = replace(at_door(alice), principal=KeyPrincipal(api_key(alice).key))

    def finds(caller: services.MemoryCaller, **narrowed: Any) -> list[str]:
        page = services.search_all_namespaces(caller, query="tea", **narrowed)
        assert page.total == len(page.entries)
        return [one.key for one in page.entries]

    assert finds(at_door(alice)) == ["a", "b"]
    assert finds(programme) == ["a"]
    assert finds(programme, tier="quarantine") == ["b"]


def test_forgotten_expired_and_halves_of_words(alice: Person) -> None:
    gone = store(alice, "global:shop", "gone", "raspberry jam")
    services.forget(at_door(alice), entry_id=gone)
    over = store(alice, "global:shop", "over", "raspberry tart")
    store(alice, "global:shop", "there", "raspberry cake")
    with tenant([alice.team.id]):
        past = timezone.now() - timedelta(hours=1)
        Entry.objects.unscoped().filter(pk=over).update(expires_at=past)

    assert keys(alice, "raspberry") == ["there"]
    assert keys(alice, "spber") == ["there"]
    assert keys(alice, "nothing-of-the-kind") == []


def test_pages_hold_everything_once_in_one_order(alice: Person) -> None:
    for number in range(7):
        store(alice, f"global:p{number % 3}", f"k{number}", f"tea {number}")
    for number in range(2):
        held = store(alice, "global:p0", f"q{number}", "tea that waits")
        services.move(at_door(alice), move="quarantine", entry_ids=[UUID(held)])

    whole = keys(alice, "tea")
    pages = [found(alice, "tea", limit=2, offset=offset) for offset in range(0, 10, 2)]

    assert [one.key for page in pages for one in page.entries] == whole
    assert len(whole) == len(set(whole)) == 9
    assert {page.total for page in pages} == {9}
    assert sorted(whole[-2:]) == ["q0", "q1"]


def test_search_is_in_the_trail_without_its_words(alice: Person) -> None:
    store(alice, "global:shop", "a", "tea")

    found(alice, "tea secretword")

    with tenant([alice.team.id]):
        row = AuditEntry.objects.unscoped().order_by("-seq").first()
        place = Namespace.objects.unscoped().get(text="global:shop").pk
    assert row is not None
    assert (row.action, row.subject) == ("memory.listed", f"team:{alice.team.id}")
    assert row.detail == {"door": "search", "keys": 1, "namespaces": [str(place)]}


def test_what_the_policy_closes_is_left_out(alice: Person) -> None:
    store(alice, "global:shop", "a", "tea")
    store(alice, "global:wiki", "b", "tea")
    with tenant([alice.team.id]):
        Policy.objects.unscoped().create(team=alice.team, allowed_prefixes=["global:wiki"])

    assert keys(alice, "tea") == ["b"]


def test_what_another_provider_keeps_is_not_looked_through_and_said(
    alice: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(alice, "global:shop", "a", "tea")
    assert found(alice, "tea").is_all
    monkeypatch.setattr(search_all, "list_external_scopes", lambda team_id: frozenset({"global"}))

    page = found(alice, "tea")

    assert (page.entries, page.is_all) == ((), False)


@pytest.mark.parametrize("query", ["", "  ", "a" * 20_001])
def test_question_without_words_is_refused(alice: Person, query: str) -> None:
    with pytest.raises(InvalidInput):
        found(alice, query)


def test_search_asks_as_often_for_many_namespaces_as_for_one(alice: Person) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as questions:
            found(alice, "tea")
        return len(questions)

    store(alice, "global:p0", "k", "tea")
    asked()
    once = asked()
    for number in range(1, 8):
        store(alice, f"global:p{number}", "k", "tea")

    assert asked() == once
