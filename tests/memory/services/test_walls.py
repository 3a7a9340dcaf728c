"""Who reaches what. Each refusal is tried against something that is really there."""

from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Literal

import pytest

from accounts.personas import make_persona_id, make_service_subject
from accounts.principals import KeyPrincipal, get_service_account_id
from accounts.tenancy import tenant
from memory import services
from memory.core.errors import AccessDenied, MemoryFault, NotFound
from memory.models import Policy
from memory.services import MemoryCaller
from tests.memory.services.conftest import at_door, in_run, trail
from tests.support.cast import Cast, Person


pytestmark = pytest.mark.django_db


@pytest.fixture
def secret(alice: Person) -> str:
    """What alice told a chatbot about herself; her namespace."""
    services.remember(in_run(alice), scope="user", key="secret", value="alice's secret")
    return f"user:{alice.user.pk}"


def test_person_finds_their_own_memory_at_the_door(alice: Person, secret: str) -> None:
    assert [e.key for e in services.recall(at_door(alice), namespace=secret)] == ["secret"]
    assert [n.text for n in services.list_namespace_page(at_door(alice)).rows] == [secret]


@pytest.mark.parametrize("name", ["ada", "bob", "vic", "carol"])
def test_nobody_else_finds_it_whatever_their_role(cast: Cast, name: str, secret: str) -> None:
    person = cast.people[name]
    caller = (
        replace(at_door(person), team_id=cast.team_a.id) if name != "carol" else at_door(person)
    )

    with pytest.raises(NotFound):
        services.recall(caller, namespace=secret)
    with pytest.raises(MemoryFault):
        services.remember(caller, namespace=secret, key="planted", value="x")
    assert services.list_namespace_page(caller).rows == []


def test_stranger_who_names_the_team_is_refused(cast: Cast, secret: str) -> None:
    stranger = MemoryCaller(cast.carol.principal, cast.team_a.id)

    with pytest.raises(NotFound):
        services.recall(stranger, namespace=secret)


@pytest.mark.parametrize("name", ["ada", "bob"])
def test_run_for_an_outside_id_that_is_an_account_is_refused(
    cast: Cast, name: str, secret: str
) -> None:
    run = in_run(cast.people[name], user_id=str(cast.alice.user.pk), outside=True)

    with pytest.raises(AccessDenied, match="another user"):
        services.recall(run, scope="user")


def test_run_reaches_only_its_own_namespaces(alice: Person, secret: str) -> None:
    services.remember(at_door(alice), namespace="global:other", key="k", value=1)
    run = in_run(alice, user_id="mia", conversation_id="c1")

    for namespace in (secret, "global:other", "conv:c2", "user:tom", "ai:notes:r2"):
        with pytest.raises(AccessDenied):
            services.recall(run, namespace=namespace)
    for scope in ("user", "conversation", "global", "run"):
        assert services.recall(run, scope=scope) == []
    assert ("memory.refused", secret, False) in trail(alice.team.id)


def test_test_person_is_seen_by_the_member_who_plays_it_alone(
    alice: Person, bob: Person, api_key: Any
) -> None:
    mia = make_persona_id("mia", alice.user.pk)
    services.remember(in_run(alice, user_id=mia, outside=True), scope="user", key="k", value=1)

    assert [e.key for e in services.recall(at_door(alice), namespace=f"user:{mia}")] == ["k"]
    for other in (at_door(bob), key_caller(api_key, alice, {"memory:read", "memory:write"})):
        with pytest.raises(NotFound):
            services.recall(other, namespace=f"user:{mia}")
    with pytest.raises(AccessDenied):
        services.recall(in_run(bob, user_id=mia, outside=True), scope="user")


def test_what_a_programme_keeps_for_itself_is_no_other_programmes(
    alice: Person, bob: Person, api_key: Any
) -> None:
    mine = key_caller(api_key, alice, {"memory:read", "memory:write"})
    other = key_caller(api_key, alice, {"memory:read", "memory:write"})
    own = get_service_account_id(mine.principal)
    assert own is not None
    services.remember(mine, namespace=f"user:{make_service_subject(own)}", key="k", value=1)

    assert len(services.recall(mine, namespace=f"user:{make_service_subject(own)}")) == 1
    for stranger in (other, at_door(bob)):
        with pytest.raises(NotFound):
            services.recall(stranger, namespace=f"user:{make_service_subject(own)}")


def test_member_can_not_introduce_a_programmes_customer_to_read_along(
    alice: Person, api_key: Any
) -> None:
    with pytest.raises(NotFound):
        services.remember(at_door(alice), namespace="user:customer-7", key="k", value=1)

    programme = key_caller(api_key, alice, {"memory:read", "memory:write"})
    services.remember(programme, namespace="user:customer-7", key="secret", value=1)
    with pytest.raises(NotFound):
        services.recall(at_door(alice), namespace="user:customer-7")


def test_conversation_is_seen_by_who_takes_part(cast: Cast) -> None:
    run = in_run(cast.alice, conversation_id="c1")
    both = replace(run, participants=frozenset({cast.alice.user.pk, cast.bob.user.pk}))
    services.remember(both, scope="conversation", key="k", value=1)

    for person in (cast.alice, cast.bob):
        assert len(services.recall(at_door(person), namespace="conv:c1")) == 1
    for person in (cast.ada, cast.vic):
        with pytest.raises(NotFound):
            services.recall(at_door(person), namespace="conv:c1")


def test_application_memory_follows_the_role(cast: Cast) -> None:
    services.remember(at_door(cast.bob), namespace="global:app", key="k", value=1)

    assert len(services.recall(at_door(cast.vic), namespace="global:app")) == 1
    with pytest.raises(AccessDenied):
        services.remember(at_door(cast.vic), namespace="global:app", key="k", value=2)
    with pytest.raises(AccessDenied):
        services.forget(at_door(cast.vic), namespace="global:app", key="k")
    assert services.forget(at_door(cast.ada), namespace="global:app", key="k").count == 1


def test_run_for_an_outside_person_only_reads_application_memory(alice: Person) -> None:
    run = in_run(alice, user_id="mia", outside=True)

    with pytest.raises(AccessDenied, match="only read global:app"):
        services.remember(run, scope="global", key="k", value=1)
    assert services.recall(run, scope="global") == []

    services.remember(in_run(alice), scope="global", key="k", value=1)  # for a member
    with tenant([alice.team.id]):
        Policy.objects.unscoped().create(team=alice.team, subjects_write_global=True)
    assert services.remember(run, scope="global", key="k2", value=2).key == "k2"


@pytest.mark.parametrize(
    ("team", "app", "may"),
    [
        (True, None, True),
        (True, True, True),
        (True, False, False),
        (False, None, False),
        (False, True, False),
        (None, True, False),
    ],
)
def test_application_forbids_runs_for_outside_people_and_never_allows_what_the_team_does_not(
    alice: Person, team: bool | None, app: bool | None, may: bool
) -> None:
    run = in_run(alice, user_id="mia", outside=True)
    with tenant([alice.team.id]):
        for app_id, word in (("", team), ("app", app)):
            Policy.objects.unscoped().create(
                team=alice.team, app_id=app_id, max_entries=9, subjects_write_global=word
            )

    with nullcontext() if may else pytest.raises(AccessDenied, match="only read global:app"):
        services.remember(run, scope="global", key="k", value=1)


def key_caller(api_key: Any, person: Person, scopes: set[str]) -> MemoryCaller:
    return MemoryCaller(KeyPrincipal(api_key(person, scopes=scopes).key), person.team.id)


def test_key_reaches_outside_people_it_names_and_no_account(
    alice: Person, api_key: Any, secret: str
) -> None:
    caller = key_caller(api_key, alice, {"memory:read", "memory:write"})
    services.remember(caller, namespace="user:customer-7", key="k", value=1)

    assert len(services.recall(caller, namespace="user:customer-7")) == 1
    with pytest.raises(NotFound):
        services.recall(caller, namespace=secret)
    assert services.list_namespace_page(caller).rows == []
    with pytest.raises(NotFound):  # nor does a member see the key's customers
        services.recall(at_door(alice), namespace="user:customer-7")


def test_key_without_the_scope_does_nothing(alice: Person, api_key: Any) -> None:
    services.remember(at_door(alice), namespace="global:x", key="k", value=1)
    reader = key_caller(api_key, alice, {"memory:read"})
    other = key_caller(api_key, alice, {"runs:read"})

    assert len(services.recall(reader, namespace="global:x")) == 1
    with pytest.raises(AccessDenied):
        services.remember(reader, namespace="global:x", key="k", value=2)
    for there_or_not in ("global:x", "global:y"):
        with pytest.raises(AccessDenied, match="memory:read"):
            services.recall(other, namespace=there_or_not)


def test_shared_namespace_is_seen_until_the_sharing_ends(cast: Cast, secret: str) -> None:
    mine, theirs = at_door(cast.alice), at_door(cast.vic)
    services.share(mine, namespace=secret, verb="view", recipient=cast.vic.user)

    assert len(services.recall(theirs, namespace=secret)) == 1
    assert [n.text for n in services.list_namespace_page(theirs).rows] == [secret]
    with pytest.raises(AccessDenied):
        services.remember(theirs, namespace=secret, key="k", value=1)
    with pytest.raises(AccessDenied):
        services.share(theirs, namespace=secret, verb="view", recipient=cast.bob.user)

    services.unshare(mine, namespace=secret, verb="view", recipient=cast.vic.user)
    with pytest.raises(NotFound):
        services.recall(theirs, namespace=secret)


def test_guest_who_writes_does_not_become_a_participant(cast: Cast) -> None:
    services.remember(
        in_run(cast.alice, conversation_id="c1"), scope="conversation", key="k", value=1
    )
    mine, guest = at_door(cast.alice), at_door(cast.bob)
    verbs: tuple[Literal["view", "write"], ...] = ("view", "write")
    for verb in verbs:
        services.share(mine, namespace="conv:c1", verb=verb, recipient=cast.bob.user)
    services.remember(guest, namespace="conv:c1", key="note", value="from a guest")

    for verb in verbs:
        services.unshare(mine, namespace="conv:c1", verb=verb, recipient=cast.bob.user)

    with pytest.raises(NotFound):
        services.recall(guest, namespace="conv:c1")
    assert len(services.recall(mine, namespace="conv:c1")) == 2
