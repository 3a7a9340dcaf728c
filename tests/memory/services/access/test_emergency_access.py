"""Emergency access: reading alone, for a while, with a reason, and its person is told of it at once."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import ProgrammingError, connection, transaction
from django.utils import timezone

from accounts import audit
from accounts.errors import NotAllowed
from accounts.models import AuditEntry, Membership, Role
from accounts.personas import make_persona_id
from accounts.tenancy import tenant
from memory import permissions, selectors, services
from memory.core.errors import AccessDenied, InvalidInput, MemoryFault, NotFound
from memory.core.scopes import parse_namespace
from memory.models import EmergencyAccess, Entry, Namespace
from memory.permissions import AccessReason, NamespaceTarget
from memory.services.access.emergency_access import (
    acknowledge,
    end_emergency_access,
    list_current_accesses,
    list_emergency_accesses,
    start_emergency_access,
    summarize_reads,
)
from memory.services.transfer.page_archive import export_single_page
from tests.memory.services.conftest import at_door, in_run, trail
from tests.support.cast import Cast, Person


pytestmark = pytest.mark.django_db


@pytest.fixture
def secret(cast: Cast) -> str:
    """What bob told a chatbot about himself; his namespace."""
    services.remember(in_run(cast.bob), scope="user", key="secret", value="bob's secret")
    return f"user:{cast.bob.user.pk}"


def told(person: Person) -> list[EmergencyAccess]:
    """Return the accesses of the notice that the person has not acknowledged."""
    with tenant([person.team.pk]):
        accesses = list_current_accesses(person.principal, person.team.pk)
    others = [access for access in accesses if access.by_id != person.user.pk]
    return [access for access in others if person.user.pk not in access.seen_by]


def broken(person: Person, namespace: str, minutes: int = 15) -> EmergencyAccess:
    return start_emergency_access(
        at_door(person), namespace=namespace, reason="Police inquiry 7", minutes=minutes
    )


def rows_of(team_id: UUID, emergency_access: EmergencyAccess) -> list[AuditEntry]:
    with tenant([team_id]):
        found = AuditEntry.objects.unscoped().filter(
            team_id=team_id, detail__emergency_access=str(emergency_access.pk)
        )
        return list(found.order_by("seq"))


@pytest.mark.parametrize("name", ["ada", "alice"])
def test_admin_reads_private_memory_by_emergency_access_and_changes_nothing(
    cast: Cast, secret: str, name: str
) -> None:
    person = cast.people[name]
    with pytest.raises(NotFound):
        services.list_entries(at_door(person), namespace=secret)

    broken(person, secret)

    page = services.list_entries(at_door(person), namespace=secret)
    assert [entry.value for entry in page.entries] == ["bob's secret"]
    entry_id = page.entries[0].id
    for change in (
        lambda: services.remember(at_door(person), namespace=secret, key="planted", value=1),
        lambda: services.forget(at_door(person), namespace=secret, key="secret"),
        lambda: services.edit(at_door(person), entry_id=entry_id, if_revision=1, value="x"),
        lambda: services.share(
            at_door(person), namespace=secret, verb="view", recipient=person.user
        ),
    ):
        with pytest.raises(AccessDenied):
            change()
    assert services.get_entry(at_door(cast.bob), entry_id=entry_id).value == "bob's secret"


@pytest.mark.parametrize("name", ["vic", "carol"])
def test_nobody_below_an_admin_starts_emergency_access(cast: Cast, secret: str, name: str) -> None:
    person = cast.people[name]

    with pytest.raises((NotAllowed, MemoryFault)):
        start_emergency_access(
            services.MemoryCaller(person.principal, cast.team_a.pk),
            namespace=secret,
            reason="curious",
            minutes=15,
        )

    with tenant([cast.team_a.pk]):
        assert EmergencyAccess.objects.unscoped().count() == 0
    refused = [row for row in trail(cast.team_a.pk) if row == ("memory.refused", secret, False)]
    assert len(refused) == (1 if name == "vic" else 0)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"reason": "  "}, "reason"),
        ({"reason": "x" * 501}, "reason"),
        ({"minutes": 16}, "minutes"),
        ({"namespace": "user:nobody"}, "No memory found"),
        ({"namespace": "global:app"}, "not private"),
        ({"namespace": "ai:notes:r1"}, "not private"),
        ({"namespace": "own"}, "already"),
    ],
)
def test_access_that_is_not_one_is_refused_with_the_reason(
    cast: Cast, secret: str, asked: dict[str, Any], message: str
) -> None:
    services.remember(in_run(cast.ada), scope="user", key="k", value=1)
    services.remember(in_run(cast.ada), scope="global", key="k", value=1)
    services.remember(in_run(cast.ada), scope="run", key="k", value=1)
    wanted = {"namespace": secret, "reason": "why", "minutes": 15, **asked}
    if wanted["namespace"] == "own":
        wanted["namespace"] = f"user:{cast.ada.user.pk}"

    with pytest.raises((InvalidInput, NotFound), match=message):
        start_emergency_access(at_door(cast.ada), **wanted)


def test_every_read_under_it_names_it_in_the_trail(cast: Cast, secret: str) -> None:
    emergency_access, caller = broken(cast.ada, secret), at_door(cast.ada)
    with tenant([cast.team_a.pk]):
        row = Namespace.objects.unscoped().get(text=secret)
        entry = Entry.objects.unscoped().get(namespace=row)
    reads: dict[str, Callable[[], object]] = {
        "recall": lambda: services.recall(caller, namespace=secret),
        "entries": lambda: services.list_entries(caller, namespace=secret),
        "look": lambda: services.get_entry(caller, entry_id=entry.pk),
        "revisions": lambda: services.list_revisions(caller, entry_id=entry.pk),
        "values": lambda: services.list_values(caller, namespace=secret, key="secret"),
        "namespace page": lambda: selectors.find_namespace(
            caller.principal, cast.team_a.pk, row.pk
        ),
        "entry page": lambda: selectors.find_entry(caller.principal, cast.team_a.pk, entry.pk),
        "pages": lambda: services.get_knowledge_base(caller, namespace=secret),
    }
    for name, read in reads.items():
        before = len(rows_of(cast.team_a.pk, emergency_access))
        with tenant([cast.team_a.pk]):
            read()
        after = rows_of(cast.team_a.pk, emergency_access)
        assert len(after) == before + 1, name
        assert (after[-1].actor, after[-1].subject) == (f"user:{cast.ada.user.pk}", secret), name
    assert audit.verify(cast.team_a.pk).intact
    looked = summarize_reads([emergency_access])[emergency_access.pk]
    assert (looked.count, looked.entries) == (len(reads), (entry.pk,))


def test_what_was_read_is_asked_once_for_all_of_them(
    cast: Cast, secret: str, django_assert_num_queries: Any
) -> None:
    """Each with its own looks, though two are of the same person into the same memory."""
    caller = at_door(cast.ada)
    first = broken(cast.ada, secret)
    with tenant([cast.team_a.pk]):
        services.recall(caller, namespace=secret)
        (one,) = services.list_entries(caller, namespace=secret).entries
        services.get_entry(caller, entry_id=one.id)
    end_emergency_access(caller, access_id=first.pk)
    second = broken(cast.ada, secret)
    services.recall(caller, namespace=secret)
    unused = broken(cast.alice, secret)

    with tenant([cast.team_a.pk]), django_assert_num_queries(3):  # one, in a savepoint
        looked = summarize_reads([first, second, unused])

    assert {key: (one.count, len(one.entries)) for key, one in looked.items()} == {
        first.pk: (3, 1),
        second.pk: (1, 0),
        unused.pk: (0, 0),
    }


def test_what_lists_many_places_never_widens(cast: Cast, secret: str) -> None:
    broken(cast.ada, secret)
    ada = cast.ada.principal

    with tenant([cast.team_a.pk]):
        assert selectors.list_newest_entries(ada, cast.team_a.pk) == []
        assert list(selectors.list_fullest_namespaces(ada, cast.team_a.pk, limit=9)) == []
        assert not Entry.objects.visible_to(ada).exists()
    assert services.list_namespace_page(at_door(cast.ada)).rows == []


def test_owner_is_told_at_once_by_whom_why_and_until_when(cast: Cast, secret: str) -> None:
    assert told(cast.bob) == []

    emergency_access = broken(cast.ada, secret, minutes=60)

    (one,) = told(cast.bob)
    assert (one.pk, one.by, one.reason) == (emergency_access.pk, cast.ada.user, "Police inquiry 7")
    assert one.expires_at - one.created_at == timedelta(minutes=60)
    for person in (cast.vic, cast.alice, cast.ada):
        assert told(person) == []
    acknowledge(at_door(cast.bob), access_id=emergency_access.pk)
    assert told(cast.bob) == []
    assert [one.pk for one in list_emergency_accesses(at_door(cast.bob))] == [
        emergency_access.pk
    ]  # it stays in the list
    assert list_emergency_accesses(at_door(cast.vic)) == []
    with pytest.raises(NotFound):
        acknowledge(at_door(cast.alice), access_id=emergency_access.pk)


def test_test_person_is_told_through_the_member_who_plays_them(cast: Cast) -> None:
    mia = make_persona_id("mia", cast.bob.user.pk)
    services.remember(in_run(cast.bob, user_id=mia, outside=True), scope="user", key="k", value=1)

    broken(cast.ada, f"user:{mia}")

    assert len(told(cast.bob)) == 1


def test_outside_person_has_the_notice_kept_for_the_programme_that_names_them(
    cast: Cast, api_key: Any
) -> None:
    client = api_key(cast.alice)
    asked = {"namespace": "user:customer-7", "key": "k", "value": 1}
    assert client.post("/api/v1/memory/entries", asked, "application/json").status_code == 201

    emergency_access = broken(cast.ada, "user:customer-7")

    answer = client.get("/api/v1/memory/emergency-access", {"namespace": "user:customer-7"}).json()[
        "items"
    ]
    assert [(one["id"], one["reason"]) for one in answer] == [
        (str(emergency_access.pk), "Police inquiry 7")
    ]
    assert client.get("/api/v1/memory/emergency-access").json()["items"] == []
    with (
        pytest.raises(ProgrammingError, match="permission denied"),
        transaction.atomic(),
        tenant([cast.team_a.pk]),
    ):
        EmergencyAccess.objects.unscoped().filter(pk=emergency_access.pk).delete()


def test_conversation_tells_each_who_takes_part(cast: Cast) -> None:
    run = in_run(cast.bob, conversation_id="c1")
    services.remember(run, scope="conversation", key="k", value=1)

    broken(cast.ada, "conv:c1")

    assert len(told(cast.bob)) == 1
    assert len(services.recall(at_door(cast.ada), namespace="conv:c1")) == 1


def test_access_is_over_at_the_instant_it_says(
    cast: Cast, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    emergency_access = broken(cast.ada, secret)
    assert may_look(cast.ada, secret)
    monkeypatch.setattr(timezone, "now", lambda: emergency_access.expires_at)

    assert not may_look(cast.ada, secret)
    assert not emergency_access.is_open()
    with pytest.raises(NotFound):
        services.recall(at_door(cast.ada), namespace=secret)


@pytest.mark.parametrize("name", ["ada", "bob", "alice"])
def test_access_is_ended_by_hand(cast: Cast, secret: str, name: str) -> None:
    emergency_access = broken(cast.ada, secret)

    ended = end_emergency_access(at_door(cast.people[name]), access_id=emergency_access.pk)

    assert not ended.is_open()
    assert ended.effective_end < emergency_access.expires_at
    with pytest.raises(NotFound):
        services.recall(at_door(cast.ada), namespace=secret)
    again = end_emergency_access(at_door(cast.ada), access_id=emergency_access.pk)
    assert again.ended_by == f"user:{cast.people[name].user.pk}"
    with pytest.raises(NotFound):
        end_emergency_access(at_door(cast.vic), access_id=emergency_access.pk)


def test_role_that_is_taken_away_takes_the_access_along(cast: Cast, secret: str) -> None:
    broken(cast.ada, secret)
    with tenant([cast.team_a.pk]):
        Membership.objects.unscoped().filter(user=cast.ada.user).update(role=Role.EDITOR)

    assert not may_look(cast.ada, secret)
    with pytest.raises(NotFound):
        services.recall(at_door(cast.ada), namespace=secret)


def test_run_started_by_who_starts_emergency_access_reads_nothing_of_it(
    cast: Cast, secret: str
) -> None:
    broken(cast.ada, secret)

    with pytest.raises(AccessDenied):
        services.recall(in_run(cast.ada), namespace=secret)
    with pytest.raises(AccessDenied):
        services.recall(in_run(cast.ada, user_id=str(cast.bob.user.pk)), scope="user")


@pytest.mark.parametrize("change", ["reason = 'x'", "expires_at = now() + interval '1 year'"])
def test_database_lets_nobody_rewrite_who_looked_and_why(
    cast: Cast, secret: str, change: str
) -> None:
    broken(cast.ada, secret)

    with (
        pytest.raises(ProgrammingError, match="permission denied"),
        transaction.atomic(),
        tenant([cast.team_a.pk]),
        connection.cursor() as cursor,
    ):
        cursor.execute(f"UPDATE memory_emergencyaccess SET {change}")


def may_look(person: Person, text: str) -> bool:
    """By both roads, which must agree."""
    principal = person.principal
    with tenant([person.team.pk]):
        row = Namespace.objects.unscoped().get(text=text)
        place = NamespaceTarget(row.team_id, parse_namespace(text), row)
        found = list(permissions.find_reasons(principal, "view", place))
        rows: Any = Namespace.objects  # Any: the manager types its model, not its queryset
        listed = rows.open_to(principal).filter(pk=row.pk).exists()
    assert listed == bool(found)
    return found == [AccessReason.EMERGENCY_ACCESS]


def test_access_that_ends_while_a_value_is_looked_for_shows_nothing(
    cast: Cast, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    emergency_access = broken(cast.ada, secret)
    with tenant([cast.team_a.pk]):
        entry = Entry.objects.unscoped().get(namespace__text=secret)
    of_row = permissions.build_target

    def found_and_ended(row: Namespace) -> NamespaceTarget:
        EmergencyAccess.objects.unscoped().filter(pk=emergency_access.pk).update(
            ended_at=timezone.now()
        )
        return of_row(row)

    with tenant([cast.team_a.pk]):
        assert selectors.find_entry(cast.ada.principal, cast.team_a.pk, entry.pk) == entry
        monkeypatch.setattr(permissions, "build_target", found_and_ended)
        with pytest.raises(NotFound):
            selectors.find_entry(cast.ada.principal, cast.team_a.pk, entry.pk)


def test_who_looks_by_emergency_access_takes_nothing_out_as_a_file(cast: Cast, secret: str) -> None:
    """It ends, and each look is told; a file would do neither."""
    page = {"title": "Salary", "summary": "", "content": "Bob's pay.", "tags": [], "references": []}
    (kept,) = services.write_pages(at_door(cast.bob), namespace=secret, pages=[page])
    broken(cast.ada, secret)
    ada, bob = at_door(cast.ada), at_door(cast.bob)
    ways: list[Callable[[Any], Any]] = [
        lambda who: services.export_namespace(who, namespace=secret),
        lambda who: services.export_pages(who, namespace=secret),
        lambda who: export_single_page(who, entry_id=kept.entry.id),
    ]

    for out in ways:
        with pytest.raises(AccessDenied, match="view-only"):
            out(ada)
        assert out(bob)
    with pytest.raises(NotFound):
        services.export_person(ada, subject=str(cast.bob.user.pk))
    assert b"Bob's pay." not in b"".join(services.export_team(ada).read_chunks())
    assert services.list_entries(ada, namespace=secret).total == 2
    refused = [row for row in trail(cast.team_a.pk) if not row[2]]
    assert [row[0] for row in refused if row[1] == secret] == ["memory.refused"] * 4, refused


def test_who_is_let_in_by_a_grant_as_well_takes_it_out(cast: Cast, secret: str) -> None:
    broken(cast.ada, secret)
    services.share(at_door(cast.bob), namespace=secret, verb="view", recipient=cast.ada.user)

    made = services.export_namespace(at_door(cast.ada), namespace=secret)

    assert b"bob's secret" in b"".join(made.read_chunks())


def test_accesses_come_in_pages_for_people_and_for_the_key_that_names_somebody(
    cast: Cast, api_key: Any
) -> None:
    client, place = api_key(cast.ada), "user:customer-7"
    stored = {"namespace": place, "key": "k", "value": 1}
    client.post("/api/v1/memory/entries", data=stored, content_type="application/json")
    for number in range(3):
        made = start_emergency_access(
            at_door(cast.ada), namespace=place, reason=f"look {number}", minutes=15
        )
        end_emergency_access(at_door(cast.ada), access_id=made.pk)

    def read(address: str) -> tuple[list[str], str | None]:
        page = client.get(f"/api/v1/memory/{address}").json()
        return [one["reason"] for one in page["items"]], page["next"]

    for address in (f"emergency-access?namespace={place}&", "subjects/customer-7/looks?"):
        reasons, cursor = read(f"{address}limit=2")
        assert reasons == ["look 2", "look 1"]
        assert read(f"{address}limit=2&cursor={cursor}") == (["look 0"], None)
    found = list_emergency_accesses(at_door(cast.ada), limit=1, offset=1)
    assert [one.reason for one in found] == ["look 1"]
