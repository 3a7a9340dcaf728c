"""Who may see what a plug-in's scope keeps, at the door and in SQL alike."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from accounts.tenancy import tenant
from memory import services
from memory.core.errors import AccessDenied, MemoryFault
from memory.core.scope_kinds import ScopeKind, SeenBy
from memory.core.scopes import plug_in
from memory.models import Namespace, Policy
from memory.services import MemoryCaller
from tests.memory.services.conftest import at_door, in_run
from tests.support.cast import Cast, Person
from tests.support.markup import markup_of


pytestmark = pytest.mark.django_db


@pytest.fixture
def plugged() -> Iterator[Callable[[SeenBy], None]]:
    def plug(seen_by: SeenBy) -> None:
        plug_in(
            [ScopeKind("desk", "desk", lambda known: (str(known["user_id"]),), seen_by=seen_by)]
        )

    yield plug
    plug_in(())


SEEN = [
    (SeenBy.RUN, set()),
    (SeenBy.PARTICIPANTS, {"alice"}),
    (SeenBy.PERSON, {"alice"}),
    (SeenBy.TEAM, {"alice", "ada", "bob", "vic"}),
]


@pytest.mark.parametrize(("seen_by", "who"), SEEN)
def test_namespace_of_a_plugged_scope_is_seen_by(
    cast: Cast, plugged: Any, seen_by: SeenBy, who: set[str]
) -> None:
    plugged(seen_by)
    stored = services.remember(in_run(cast.alice), scope="desk", key="k", value="v")

    assert services.recall(in_run(cast.alice), scope="desk", key="k")[0].value == "v"
    at_doors = {name for name, person in cast.people.items() if _sees(person, stored.namespace)}
    listed = {
        name
        for name, person in cast.people.items()
        if services.list_namespace_page(MemoryCaller(person.principal, cast.team_a.pk)).rows
    }
    assert at_doors == listed == who


def _sees(person: Person, namespace: str) -> bool:
    try:
        return bool(services.recall(at_door(person), namespace=namespace))
    except MemoryFault:
        return False


def test_key_sees_only_what_is_the_teams(
    cast: Cast, plugged: Any, api_key: Callable[..., Any]
) -> None:
    plugged(SeenBy.RUN)
    stored = services.remember(in_run(cast.alice), scope="desk", key="k", value="v")
    client = api_key(cast.alice)
    asked = {"namespace": stored.namespace, "key": "k"}

    def answer() -> int:
        return int(
            client.post("/api/v1/memory/recall", asked, content_type="application/json").status_code
        )

    assert answer() == 404
    plugged(SeenBy.TEAM)
    assert answer() == 200
    assert (
        client.get("/api/v1/memory/namespaces", {"scope": "desk"}).json()["items"][0]["scope"]
        == "desk"
    )
    assert client.get("/api/v1/memory/namespaces", {"scope": "nonsense"}).status_code == 422


def test_policy_prefixes_hold_for_plugged_scopes(cast: Cast, plugged: Any) -> None:
    plugged(SeenBy.TEAM)
    with tenant([cast.team_a.pk]):
        Policy.objects.unscoped().create(team=cast.team_a, allowed_prefixes=["user:", "conv:"])

    with pytest.raises(AccessDenied):
        services.remember(in_run(cast.alice), scope="desk", key="k", value="v")


def test_outside_persons_run_only_reads_what_is_the_teams(cast: Cast, plugged: Any) -> None:
    plugged(SeenBy.TEAM)
    outside = in_run(cast.alice, user_id="mia", outside=True)

    with pytest.raises(AccessDenied, match="only read"):
        services.remember(outside, scope="desk", key="k", value="v")
    assert services.recall(outside, scope="desk") == []


def test_page_names_a_plugged_scope_and_forgets_it_with_its_plug_in(
    cast: Cast, plugged: Any
) -> None:
    plugged(SeenBy.TEAM)
    stored = services.remember(in_run(cast.alice), scope="desk", key="k", value="v")
    client = cast.alice.client

    assert stored.namespace in markup_of(client.get("/memory/namespaces/"))
    plug_in(())
    assert stored.namespace not in markup_of(client.get("/memory/namespaces/"))
    with tenant([cast.team_a.pk]):
        row = Namespace.objects.unscoped().get(text=stored.namespace)
    assert client.get(f"/memory/namespaces/{row.pk}/").status_code == 404
