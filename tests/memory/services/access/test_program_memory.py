"""What a program remembers for nobody: whoever manages the team's keys views it and forgets it, and nobody else."""

from typing import Any

import pytest

from accounts.personas import make_service_subject
from accounts.principals import KeyPrincipal, RunPrincipal
from accounts.tenancy import tenant
from config.ids import uuid7
from memory import permissions, services
from memory.core.errors import NotFound
from memory.core.scopes import parse_namespace
from memory.models import Entry, Namespace
from memory.permissions import NamespaceTarget, Verb
from memory.services.gateway.caller import MemoryCaller
from tests.memory.services.conftest import at_door
from tests.support.cast import Cast, Person, make_key


pytestmark = pytest.mark.django_db

VERBS: tuple[Verb, ...] = ("view", "write", "forget", "share")


@pytest.fixture
def program(cast: Cast) -> str:
    """Return the namespace of a program of Alice's team, which has one memory."""
    key, _secret = make_key(cast, cast.alice)
    subject = make_service_subject(key.service_account_id)
    run = RunPrincipal(uuid7(), cast.team_a.pk, KeyPrincipal(key))
    namespace = f"user:{subject}"
    caller = MemoryCaller(
        run,
        cast.team_a.pk,
        identity={"user_id": subject, "run_id": str(run.run_id)},
        reach=frozenset({namespace}),
    )
    services.remember(caller, scope="user", key="stock", value="12 boxes are left")
    return namespace


def list_verbs(person: Person, namespace: str, principal: Any = None) -> set[Verb]:
    """Return what the principal may do. The list of memory must agree."""
    principal = principal or person.principal
    with tenant([person.team.pk]):
        row = Namespace.objects.unscoped().filter(text=namespace).first()
        if row is None:
            return set()
        target = NamespaceTarget(row.team_id, parse_namespace(namespace), row)
        verbs = {verb for verb in VERBS if permissions.is_allowed(principal, verb, target)}
        listed = Namespace.objects.visible_to(principal).filter(pk=row.pk).exists()
        shown = Entry.objects.visible_to(principal).filter(namespace=row).exists()
    assert listed == shown == ("view" in verbs)
    return verbs


def test_only_who_manages_keys_views_and_forgets_what_a_program_remembers(
    cast: Cast, program: str
) -> None:
    assert {name: list_verbs(person, program) for name, person in cast.people.items()} == {
        "alice": {"view", "forget"},  # owner
        "ada": {"view", "forget"},  # admin
        "bob": set(),
        "vic": set(),
        "carol": set(),
    }


def test_run_of_an_admin_reads_nothing_of_a_program(cast: Cast, program: str) -> None:
    run = RunPrincipal(uuid7(), cast.team_a.pk, cast.ada.principal)

    assert list_verbs(cast.ada, program, run) == set()


@pytest.mark.parametrize("name", ["mia", "key-bob", "key-", "KEY-{}", "key-{}-x", "{}"])
def test_memory_of_persons_named_like_a_program_stays_private(cast: Cast, name: str) -> None:
    key, _secret = make_key(cast, cast.alice)
    person = name.format(str(key.service_account_id).upper())
    caller = MemoryCaller(KeyPrincipal(key), cast.team_a.pk)
    services.remember(caller, namespace=f"user:{person}", key="secret", value="of a person")

    assert list_verbs(cast.alice, f"user:{person}") == set()


def test_admin_forgets_what_a_program_remembers(cast: Cast, program: str) -> None:
    recalled = services.recall(at_door(cast.ada), namespace=program, key="stock")
    services.forget(at_door(cast.ada), namespace=program, key="stock")

    assert [entry.value for entry in recalled] == ["12 boxes are left"]
    assert services.recall(at_door(cast.ada), namespace=program, key="stock") == []
    with pytest.raises(NotFound):
        services.recall(at_door(cast.bob), namespace=program, key="stock")
