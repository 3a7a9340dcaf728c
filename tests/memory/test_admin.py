"""Django's admin of memory: as much as the pages show, nothing to change, and written down."""

import pytest
from django.apps import apps
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEntry
from accounts.tenancy import tenant
from memory import services
from memory.services.access import emergency_access
from tests.memory.services.conftest import at_door, in_run
from tests.support.cast import Cast, Person
from tests.support.markup import markup_of


pytestmark = pytest.mark.django_db

MODELS = [
    model.__name__.lower()
    for model in apps.get_app_config("memory").get_models()
    if model.__name__ != "Posting"
]


def at_the_site(person: Person) -> Client:
    """With every right that Django's own admin knows of."""
    person.user.is_staff = person.user.is_superuser = True
    person.user.save()
    return person.client


def address(name: str, verb: str, *args: object) -> str:
    return reverse(f"admin:memory_{name}_{verb}", args=args)


def test_private_memory_is_nobodys_to_look_at_not_even_by_emergency_access(cast: Cast) -> None:
    stored = services.remember(in_run(cast.bob), scope="user", key="tea-of-bob", value="oolong")
    emergency_access.start_emergency_access(
        at_door(cast.ada), namespace=stored.namespace, reason="case", minutes=15
    )
    site = at_the_site(cast.ada)

    for name in MODELS:
        listed = site.get(address(name, "changelist"))
        assert listed.status_code == 200, name
        assert "tea-of-bob" not in markup_of(listed), name
    assert site.get(address("entry", "change", stored.id)).status_code == 302  # to the front page
    found = site.get(address("entry", "changelist"), {"q": "oolong"})
    assert found.context["cl"].result_count == 0


@pytest.mark.parametrize("name", MODELS)
def test_nothing_is_added_changed_or_deleted_here(cast: Cast, name: str) -> None:
    site = at_the_site(cast.alice)

    assert site.get(address(name, "add")).status_code == 403
    assert site.get(address(name, "changelist")).context["has_add_permission"] is False


def test_who_looks_at_what_is_remembered_is_in_the_trail(cast: Cast) -> None:
    stored = services.remember(at_door(cast.bob), namespace="global:app", key="a", value="shared")
    site = at_the_site(cast.ada)

    site.get(address("entry", "changelist"))
    site.get(address("entry", "change", stored.id))
    site.get(address("revision", "changelist"))

    with tenant([cast.team_a.pk]):
        rows = AuditEntry.objects.unscoped().filter(team_id=cast.team_a.pk, detail__door="admin")
        told = [(row.subject, row.actor, row.detail) for row in rows.order_by("seq")]
    actor = f"user:{cast.ada.user.pk}"
    assert told == [
        ("table:memory_entry", actor, {"door": "admin", "rows": 1}),
        ("table:memory_entry", actor, {"door": "admin", "row": str(stored.id)}),
        ("table:memory_revision", actor, {"door": "admin", "rows": 1}),
    ]
