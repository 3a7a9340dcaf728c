"""Who can see this, and why: for everybody of the team exactly what the rules and the doors say."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts import access
from accounts.models import ApiKey
from accounts.personas import make_persona_id, make_service_subject
from accounts.principals import KeyPrincipal
from accounts.services import add_to_group, create_group
from accounts.tenancy import tenant
from memory import permissions, services
from memory.core.errors import InvalidInput, MemoryFault
from memory.models import Namespace
from memory.permissions import AccessReason, Verb, build_target
from memory.services import MemoryCaller
from memory.services.access.emergency_access import start_emergency_access
from memory.services.access.explanation import VERBS, AccessExplanation, explain_access
from tests.memory.services.conftest import at_door, in_run, trail
from tests.support.cast import Cast
from tests.support.markup import markup_of


pytestmark = pytest.mark.django_db

PEOPLE = ("alice", "ada", "bob", "vic")


@pytest.fixture
def world(cast: Cast, api_key: Any) -> dict[str, Any]:
    """A namespace of each kind, with who may surely look at it; and keys of several scopes."""
    keys = {
        "full": api_key(cast.alice).key,
        "reader": api_key(cast.alice, scopes={"memory:read"}).key,
        "guest": api_key(
            cast.alice, scopes={"memory:read", "memory:write", "memory:serve", "team:read"}
        ).key,
        "other": api_key(cast.alice, scopes={"runs:read"}).key,
    }
    bob, full = cast.bob, caller_of(keys["full"])
    mia = make_persona_id("mia", bob.user.pk)
    made = [
        (at_door(cast.ada), in_run(cast.ada), "global"),
        (at_door(bob), in_run(bob), "user"),
        (at_door(bob), in_run(bob, user_id=mia, outside=True), "user"),
        (at_door(bob), in_run(bob, conversation_id="c1"), "conversation"),
        (at_door(cast.vic), in_run(bob, workflow_id="w1", group_id="g"), "workflow"),
    ]
    places = {}
    for looker, run, scope in made:
        places[services.remember(run, scope=scope, key="k", value=1).namespace] = looker
    for text in (
        "user:customer-7",
        f"user:{make_service_subject(keys['full'].service_account_id)}",
    ):
        services.remember(full, namespace=text, key="k", value=1)
        places[text] = full
    return {"keys": keys, "places": places}


def caller_of(key: ApiKey) -> MemoryCaller:
    return MemoryCaller(KeyPrincipal(key), key.team_id)


@contextmanager
def undone() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


GRANTS = st.lists(
    st.tuples(st.sampled_from([*PEOPLE, "group"]), st.sampled_from(VERBS)), max_size=5
)


@pytest.mark.parametrize("examples", [5, pytest.param(60, marks=pytest.mark.nightly)])
def test_explanation_agrees_with_the_rules_the_lists_and_the_doors(
    cast: Cast, world: Any, examples: int
) -> None:
    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(
        grants=GRANTS,
        inside=st.sets(st.sampled_from(PEOPLE)),
        emergency_access=st.sampled_from(["", "ada", "alice"]),
    )
    def check(grants: list[tuple[str, Verb]], inside: set[str], emergency_access: str) -> None:
        check_explanation(cast, world, grants, inside, emergency_access)

    check()


def check_explanation(
    cast: Cast, world: Any, grants: list[tuple[str, Verb]], inside: set[str], emergency_access: str
) -> None:
    callers = {cast.people[name].user.pk: at_door(cast.people[name]) for name in PEOPLE}
    callers |= {key.pk: caller_of(key) for key in world["keys"].values()}
    for text, looker in world["places"].items():
        with undone():
            row = arranged(cast, text, grants, inside, emergency_access)

            found = explain_access(looker, namespace=text)

            assert {one.id for one in found.principals} == set(callers)
            for one in found.principals:
                agrees(one.reasons, callers[one.id], row)


def arranged(
    cast: Cast, text: str, grants: list[tuple[str, Verb]], inside: set[str], emergency_access: str
) -> Namespace:
    with tenant([cast.team_a.pk]):
        row = Namespace.objects.unscoped().get(text=text)
    group = create_group(cast.ada.principal, team=cast.team_a, name="Support")
    for name in inside:
        add_to_group(cast.ada.principal, group_id=group.pk, user_id=cast.people[name].user.pk)
    for name, verb in grants:
        who = group.group if name == "group" else cast.people[name].user
        access.grant(who, f"memory.{verb}", row)
    if emergency_access:
        try:
            caller = at_door(cast.people[emergency_access])
            start_emergency_access(caller, namespace=text, reason="an inquiry", minutes=15)
        except MemoryFault:
            pass  # not private, or theirs already: then there is none
    return row


def agrees(may: Any, caller: MemoryCaller, row: Namespace) -> None:
    with tenant([row.team_id]):
        place = build_target(row)
        by_rules = {verb for verb in VERBS if permissions.is_allowed(caller.principal, verb, place)}
    assert set(may) == by_rules
    assert all(may.values())
    assert at_the_door(caller, row) == ("view" in may)
    if caller.principal.kind == "user":  # a key reaches outside people by naming, not by listing
        rows: Any = Namespace.objects
        with tenant([row.team_id]):
            listed = rows.open_to(caller.principal).filter(pk=row.pk).exists()
        assert listed == ("view" in may)
    if AccessReason.EMERGENCY_ACCESS in {reason.kind for reason in may.get("view", ())}:
        assert AccessReason.EMERGENCY_ACCESS not in {
            r.kind for v, found in may.items() if v != "view" for r in found
        }


def at_the_door(caller: MemoryCaller, row: Namespace) -> bool:
    try:
        return len(services.list_entries(caller, namespace=row.text).entries) == 1
    except MemoryFault:
        return False


def whys(found: AccessExplanation, who: Any) -> dict[str, list[str]]:
    (one,) = (seer for seer in found.principals if seer.id == who)
    return {
        verb: [reason.kind.value for reason in reasons] for verb, reasons in one.reasons.items()
    }


def test_each_reason_is_said_with_who_gave_it_and_when(cast: Cast) -> None:
    services.remember(in_run(cast.bob), scope="user", key="k", value=1)
    text, mine = f"user:{cast.bob.user.pk}", at_door(cast.bob)
    group = create_group(cast.ada.principal, team=cast.team_a, name="Support")
    add_to_group(cast.ada.principal, group_id=group.pk, user_id=cast.alice.user.pk)
    services.share(mine, namespace=text, verb="view", recipient=cast.vic.user)
    with tenant([cast.team_a.pk]):  # as a group was let in before that was refused
        access.grant(group.group, "memory.forget", Namespace.objects.unscoped().get(text=text))
    emergency_access = start_emergency_access(
        at_door(cast.ada), namespace=text, reason="an inquiry", minutes=60
    )

    found = explain_access(mine, namespace=text)

    assert whys(found, cast.bob.user.pk) == {verb: ["own"] for verb in VERBS}
    assert whys(found, cast.vic.user.pk) == {"view": ["grant"]}
    assert whys(found, cast.alice.user.pk) == {}  # a group's grant on what is private
    assert whys(found, cast.ada.user.pk) == {"view": ["emergency_access"]}
    (of_vic,) = (one for one in found.principals if one.id == cast.vic.user.pk)
    given = of_vic.reasons["view"][0].grant
    assert given is not None
    assert (given.granted_by, given.granted_at is not None) == (f"user:{cast.bob.user.pk}", True)
    (of_ada,) = (one for one in found.principals if one.id == cast.ada.user.pk)
    told = of_ada.reasons["view"][0].emergency_access
    assert told is not None
    assert (told.pk, told.expires_at, told.reason) == (
        emergency_access.pk,
        emergency_access.expires_at,
        "an inquiry",
    )
    assert [(one.verb, str(one.user or one.group), one.has_effect) for one in found.grants] == [
        ("view", "Vic", True),
        ("forget", "Support", False),
    ]
    assert (found.runs, [one.name for one in found.non_viewers]) == ("person", ["Alice"])

    services.unshare(mine, namespace=text, verb="forget", recipient=group)
    assert [one.verb for one in explain_access(mine, namespace=text).grants] == ["view"]


def test_explaining_asks_as_often_for_many_members_as_for_few(
    cast: Cast, django_assert_num_queries: Any
) -> None:
    from accounts.models import Role, User
    from accounts.services import add_member

    services.remember(in_run(cast.bob), scope="user", key="k", value=1)
    text = f"user:{cast.bob.user.pk}"
    explain_access(at_door(cast.bob), namespace=text)  # the first one pays for caches
    with CaptureQueriesContext(connection) as asked:
        assert len(explain_access(at_door(cast.bob), namespace=text).principals) == 4
    for number in range(20):
        user = User.objects.create_user(f"u{number}@example.org", name=f"U{number}")
        add_member(team=cast.team_a, user=user, role=Role.ADMIN)

    with django_assert_num_queries(len(asked)):
        assert len(explain_access(at_door(cast.bob), namespace=text).principals) == 24


def test_api_shares_says_who_and_why_and_takes_back(cast: Cast, api_key: Any) -> None:
    stored = services.remember(at_door(cast.ada), namespace="global:app", key="k", value=1)
    with tenant([cast.team_a.pk]):
        row = Namespace.objects.unscoped().get(text=stored.namespace)
    base, ada = f"/api/v1/memory/namespaces/{row.pk}", cast.ada.client
    given = {"verb": "write", "member": str(cast.vic.user.pk)}

    assert ada.post(f"{base}/grants", given, "application/json").status_code == 204
    (grant,) = cast.vic.client.get(f"{base}/grants").json()["items"]
    assert (grant["verb"], grant["name"], grant["by"]) == (
        "write",
        "Vic",
        f"user:{cast.ada.user.pk}",
    )
    seers = {one["name"]: one["may"] for one in ada.get(f"{base}/access").json()["seers"]}
    assert [one["why"] for one in seers["Vic"]["write"]] == ["grant"]
    assert [one["why"] for one in seers["Bob"]["write"]] == ["role"]
    services.remember(at_door(cast.vic), namespace="global:app", key="k2", value=1)

    assert ada.delete(f"{base}/grants", given, "application/json").status_code == 204
    assert cast.vic.client.get(f"{base}/grants").json()["items"] == []
    for wrong in ({"verb": "view"}, {**given, "group": str(row.pk)}, {**given, "verb": "own"}):
        assert ada.post(f"{base}/grants", wrong, "application/json").status_code == 422
    refused = cast.bob.client.post(f"{base}/grants", given, "application/json")
    assert refused.status_code == 403
    assert api_key(cast.alice, scopes={"memory:read"}).get(f"{base}/access").status_code == 403


def test_api_starts_emergency_access_tells_and_ends(cast: Cast) -> None:
    services.remember(in_run(cast.bob), scope="user", key="secret", value="x")
    text, ada, bob = f"user:{cast.bob.user.pk}", cast.ada.client, cast.bob.client
    asked = {"namespace": text, "reason": "an inquiry", "minutes": 15}
    listing = f"/api/v1/memory/entries?namespace={text}"
    assert ada.get(listing).status_code == 404

    made = ada.post("/api/v1/memory/emergency-access", asked, "application/json")

    assert made.status_code == 201
    assert [one["key"] for one in ada.get(listing).json()["items"]] == ["secret"]
    (told,) = bob.get("/api/v1/memory/emergency-access").json()["items"]
    assert (told["by_name"], told["reason"], told["is_open"], told["reads"]) == (
        "Ada",
        "an inquiry",
        True,
        1,
    )
    one = f"/api/v1/memory/emergency-access/{told['id']}"
    assert bob.post(f"{one}/seen", {}, "application/json").status_code == 200
    ended = bob.post(f"{one}/end", {}, "application/json").json()
    assert ended["is_open"] is False
    assert ada.get(listing).status_code == 404
    for wrong in ({**asked, "minutes": 10_000}, {**asked, "reason": ""}, {**asked, "team": "x"}):
        assert (
            ada.post("/api/v1/memory/emergency-access", wrong, "application/json").status_code
            == 422
        )


def test_groups_grant_on_what_is_private_lets_nobody_in_however_old_it_is(cast: Cast) -> None:
    """As it was given before emergency access was there, and groups were refused."""
    services.remember(in_run(cast.bob), scope="user", key="k", value=1)
    text = f"user:{cast.bob.user.pk}"
    group = create_group(cast.ada.principal, team=cast.team_a, name="Support")
    add_to_group(cast.ada.principal, group_id=group.pk, user_id=cast.ada.user.pk)
    with tenant([cast.team_a.pk]):
        row = Namespace.objects.unscoped().get(text=text)
        for verb in VERBS:
            access.grant(group.group, f"memory.{verb}", row)

        assert not any(
            permissions.is_allowed(cast.ada.principal, verb, build_target(row)) for verb in VERBS
        )
        assert not Namespace.objects.visible_to(cast.ada.principal).filter(pk=row.pk).exists()
    for attempt in (
        lambda: services.recall(at_door(cast.ada), namespace=text),
        lambda: services.remember(at_door(cast.ada), namespace=text, key="k", value=2),
        lambda: services.share(
            at_door(cast.ada), namespace=text, verb="view", recipient=cast.vic.user
        ),
    ):
        with pytest.raises(MemoryFault):
            attempt()
    page = markup_of(cast.bob.client.get(f"/memory/namespaces/{row.pk}/access/"))
    assert "No effect" in page


def test_group_is_let_in_to_what_is_the_teams_and_never_to_what_is_private(cast: Cast) -> None:
    services.remember(in_run(cast.bob), scope="user", key="k", value=1)
    services.remember(at_door(cast.bob), namespace="global:app", key="k", value=1)
    group = create_group(cast.ada.principal, team=cast.team_a, name="Support")
    add_to_group(cast.ada.principal, group_id=group.pk, user_id=cast.vic.user.pk)

    with pytest.raises(InvalidInput, match="single members"):
        services.share(
            at_door(cast.bob), namespace=f"user:{cast.bob.user.pk}", verb="view", recipient=group
        )
    assert ("memory.refused", f"user:{cast.bob.user.pk}", False) in trail(cast.team_a.pk)
    services.share(at_door(cast.ada), namespace="global:app", verb="write", recipient=group)

    services.remember(at_door(cast.vic), namespace="global:app", key="k", value=2)
