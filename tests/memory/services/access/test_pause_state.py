"""Paused: programmes remember and recall nothing of the person; the person still does as they like."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import AuditEntry
from accounts.personas import make_persona_id
from accounts.principals import KeyPrincipal
from accounts.tenancy import tenant
from memory import services
from memory.core.errors import InvalidInput
from memory.models import Namespace
from memory.services.access.pause import get_own_pause
from memory.services.access.pause_state import Paused
from memory.services.curation.curate import plan_curation
from memory.services.curation.learning_rules import LearningRule, set_learning_rule
from memory.services.gateway.caller import CallOrigin
from memory.services.sandbox.sandbox import SandboxMemory
from tests.memory.services.conftest import at_door, in_run, trail
from tests.support.cast import Cast, Person


pytestmark = pytest.mark.django_db

TEA: dict[str, Any] = {"scope": "user", "key": "tea", "value": "Alice drinks green tea."}


def values(person: Person, **identity: Any) -> list[Any]:
    found = services.recall(in_run(person, **identity), scope="user", query_text="green tea")
    return [one.value for one in found]


@pytest.mark.parametrize(
    ("what", "stores", "recalls"),
    [("remembering", False, True), ("recalling", True, False), ("both", False, False)],
)
def test_run_for_a_paused_person_stores_and_recalls_what_was_left_on(
    alice: Person, what: Any, stores: bool, recalls: bool
) -> None:
    services.remember(in_run(alice), **TEA)
    services.pause(at_door(alice), what=what)

    found = services.recall(in_run(alice), scope="user", query_text="green tea")
    assert [one.value for one in found] == ([TEA["value"]] if recalls else [])
    assert getattr(found, "withheld", None) == (None if recalls else "paused")
    cat: dict[str, Any] = {"scope": "user", "key": "cat", "value": "Miso is a cat."}
    if stores:
        services.remember(in_run(alice), **cat)
    else:
        with pytest.raises(Paused, match="Paused by the person") as refused:
            services.remember(in_run(alice), **cat)
        assert refused.value.reasons == ("paused",)


def test_pages_are_neither_written_nor_found(alice: Person) -> None:
    services.write_pages(
        in_run(alice), scope="user", pages=[{"title": "Tea", "content": "Green tea."}]
    )
    services.pause(at_door(alice))

    assert not services.find_pages(in_run(alice), scope="user", query="tea")
    with pytest.raises(Paused):
        services.write_pages(in_run(alice), scope="user", pages=[{"title": "Cat"}])


def test_person_sees_corrects_and_forgets_by_hand_while_paused(alice: Person) -> None:
    kept = services.remember(in_run(alice), **TEA)
    services.pause(at_door(alice))
    door = at_door(alice)

    assert services.list_entries(door, namespace=f"user:{alice.user.pk}").total == 1
    services.edit(door, entry_id=kept.id, if_revision=1, value="Alice drinks coffee.")
    assert services.forget(door, entry_id=kept.id).count == 1


def test_within_a_conversation_it_goes_on_being_known_what_was_said(alice: Person) -> None:
    services.pause(at_door(alice))
    talk = in_run(alice, conversation_id="c1")

    services.remember(talk, scope="conversation", key="said", value="green tea")

    assert [one.value for one in services.recall(talk, scope="conversation")] == ["green tea"]


def test_others_test_persons_and_other_teams_are_not_paused_with_them(cast: Cast) -> None:
    alice, bob = cast.alice, cast.people["bob"]
    services.pause(at_door(alice))
    ben = make_persona_id("ben", alice.user.pk)

    services.remember(in_run(bob), **TEA)
    services.remember(in_run(alice, outside=True, user_id=ben), **TEA)

    assert values(bob) == values(alice, user_id=ben) == [TEA["value"]]


def test_pause_ends_at_its_moment_and_when_it_is_resumed(alice: Person) -> None:
    door = at_door(alice)
    later = timezone.now() + timedelta(hours=1)
    services.pause(door, what="both", until=later)
    known = get_own_pause(door)
    assert known is not None
    assert (known.what, known.until) == ("both", later)

    with tenant([alice.team.pk]):
        Namespace.objects.unscoped().filter(text=f"user:{alice.user.pk}").update(
            paused_until=timezone.now() - timedelta(seconds=1)
        )
    assert get_own_pause(door) is None
    services.remember(in_run(alice), **TEA)

    services.pause(door)
    assert services.resume(door) is True
    assert services.resume(door) is False
    assert values(alice) == [TEA["value"]]


@pytest.mark.parametrize(
    "asked", [{"what": "nothing"}, {"until": timezone.now() - timedelta(minutes=1)}]
)
def test_nonsense_pauses_nothing(alice: Person, asked: Any) -> None:
    with pytest.raises(InvalidInput):
        services.pause(at_door(alice), **asked)
    assert get_own_pause(at_door(alice)) is None


def test_trail_says_what_was_paused_what_was_refused_and_what_was_withheld(alice: Person) -> None:
    services.pause(at_door(alice), what="both")
    with pytest.raises(Paused):
        services.remember(in_run(alice), **TEA)
    values(alice)
    services.resume(at_door(alice))

    own = f"user:{alice.user.pk}"
    assert trail(alice.team.pk) == [
        ("memory.paused", own, True),
        ("memory.refused", own, False),
        ("memory.recalled", own, True),
        ("memory.resumed", own, True),
    ]
    with tenant([alice.team.pk]):
        rows = AuditEntry.objects.unscoped().filter(subject=own).order_by("seq")
        paused, refused, recalled, _resumed = rows.values_list("detail", flat=True)
    assert paused["what"] == "both"
    assert (refused["op"], refused["error"]) == ("memory.stored", "Paused")
    assert (recalled["paused"], recalled["keys"]) == ("recalling", 0)


def test_nothing_is_learnt_from_a_paused_persons_run_wherever_it_would_be_put(cast: Cast) -> None:
    alice, bob = cast.alice, cast.people["bob"]
    set_learning_rule(
        at_door(alice), app_id="app", learning=LearningRule(auto_memory=True, scope="global")
    )
    services.pause(at_door(alice))

    assert plan_curation(in_run(alice), run_id="r1", app_id="app") is None
    assert plan_curation(in_run(bob), run_id="r2", app_id="app") is not None


def test_erasing_the_person_ends_their_pause_with_all_else(alice: Person) -> None:
    services.remember(in_run(alice), **TEA)
    services.pause(at_door(alice))

    receipt = services.erase(at_door(alice), subject=str(alice.user.pk))

    assert set(receipt.left.values()) == {0}
    assert get_own_pause(at_door(alice)) is None


class NoLedger:
    def load(self) -> list[Any]:
        return []

    def add(self, changes: Any) -> None:
        raise AssertionError("nothing is to be written here")


@pytest.mark.django_db(transaction=True)
def test_run_that_only_tries_out_is_told_nothing_either(alice: Person) -> None:
    services.remember(in_run(alice), **TEA)
    services.pause(at_door(alice))
    memory = SandboxMemory(in_run(alice), NoLedger())
    at: Any = {"scope": "user", "identity": {}, "origin": CallOrigin("r1", "node", "step")}

    assert asyncio.run(memory.recall(**at, query_text="green tea")) == []
    with pytest.raises(Paused):
        asyncio.run(memory.store(**at, key="cat", value="Miso"))


@pytest.mark.parametrize(
    "until", ["9999-12-31T23:59:59-14:00", "9500-01-01T00:00:00+00:00", "0001-01-01T00:00:00+14:00"]
)
def test_moment_that_could_never_be_read_again_is_refused(alice: Person, until: str) -> None:
    with pytest.raises(InvalidInput, match="until"):
        services.pause(at_door(alice), until=datetime.fromisoformat(until))
    assert get_own_pause(at_door(alice)) is None


def test_outside_person_is_paused_by_the_key_that_names_them(cast: Cast, api_key: Any) -> None:
    alice, app = cast.alice, api_key(cast.alice)
    other, reader = api_key(cast.carol), api_key(alice, scopes={"memory:read"})
    run = replace(in_run(alice, outside=True, user_id="uma"), principal=KeyPrincipal(app.key))
    services.remember(run, **TEA)
    at = "/api/v1/memory/subjects/uma"
    assert app.get(f"{at}/pause").json() == {"pause": None}

    for who in (alice.client, cast.ada.client, reader):
        assert send(who, f"{at}/pause").status_code in (403, 404)
    assert send(other, f"{at}/pause").status_code == 200, "another team's uma is somebody else"
    assert send(app, f"{at}/pause", {"what": "both"}).json()["what"] == "both"

    assert not services.recall(run, scope="user", query_text="green tea")
    with pytest.raises(Paused):
        services.remember(run, **{**TEA, "key": "more"})
    assert app.get(f"{at}/pause").json()["pause"]["what"] == "both"
    assert send(app, f"{at}/resume").json() == {"resumed": True}
    assert [one.value for one in services.recall(run, scope="user", query_text="tea")] == [
        TEA["value"]
    ]
    # A member's own pause is theirs, whatever they share.
    services.remember(in_run(alice), **TEA)
    for verb in ("view", "forget"):
        own = f"user:{alice.user.pk}"
        services.share(at_door(alice), namespace=own, verb=verb, recipient=cast.vic.user)
    for asked in ("pause", "resume"):
        own = f"/api/v1/memory/subjects/{alice.user.pk}/{asked}"
        assert send(cast.vic.client, own).status_code == 404
    assert send(app, f"/api/v1/memory/subjects/{alice.user.pk}/pause").status_code in (403, 404)


def send(client: Any, path: str, body: Any = None) -> Any:
    return client.post(path, body or {}, content_type="application/json")
