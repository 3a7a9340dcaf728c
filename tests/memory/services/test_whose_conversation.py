"""Conversations and runs at the doors: what isn't yours can be neither read nor made.

Two teams, members and keys, every namespace of theirs before and after it exists, every operation,
against an oracle written down here.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import transaction

from accounts.principals import KeyPrincipal, Principal, load_run_principal
from accounts.tenancy import tenant
from memory import services
from memory.core.errors import AccessDenied, NotFound
from memory.models import Namespace
from memory.services import CallOrigin, MemoryCaller, list_reachable
from tests.factories.workflows import make_workflow
from tests.support.cast import Cast
from workflows.models import Conversation
from workflows.services.chat.conversations import open_conversation
from workflows.services.runs.runs import resolve_subject


pytestmark = pytest.mark.django_db


@dataclass(frozen=True)
class Actor:
    name: str
    team: str
    principal: Principal
    team_id: Any

    @property
    def caller(self) -> MemoryCaller:
        return MemoryCaller(self.principal, self.team_id)


@pytest.fixture
def actors(cast: Cast, api_key: Any) -> dict[str, Actor]:
    people = {"alice": cast.alice, "bob": cast.bob, "ada": cast.ada, "carol": cast.carol}
    found = {
        name: Actor(name, str(person.team.pk), person.principal, person.team.pk)
        for name, person in people.items()
    }
    for name, person in {
        "key 1": cast.alice,
        "key 2": cast.alice,
        "their key": cast.carol,
    }.items():
        key = KeyPrincipal(api_key(person).key)
        found[name] = Actor(name, str(person.team.pk), key, person.team.pk)
    return found


# Everybody's, named alike in both teams; None: a conversation nobody has.
LEADERS = ("alice", "bob", "key 1", "key 2", "carol", "their key", None)


@pytest.fixture
def talks(cast: Cast, actors: dict[str, Actor]) -> dict[str | None, str]:
    """Leader → the key of their conversation."""
    homes = {
        str(person.team.pk): make_workflow(person, "Chat") for person in (cast.alice, cast.carol)
    }
    found: dict[str | None, str] = {None: "talk-nobody"}
    for number, leader in enumerate(LEADERS[:-1]):
        actor = actors[str(leader)]
        person = resolve_subject(actor.principal, None)
        found[leader] = open_conversation(
            actor.principal,
            workflow=homes[actor.team],
            subject=person.id,
            subject_user_id=person.user_id,
            key=f"talk-{number}",
        ).key
    return found


def store(caller: MemoryCaller, namespace: str) -> Any:
    return services.remember(caller, namespace=namespace, key="planted", value="canary")


OPERATIONS: dict[str, Callable[[MemoryCaller, str], Any]] = {
    "store": store,
    "recall": lambda caller, place: services.recall(caller, namespace=place),
    "list": lambda caller, place: services.list_entries(caller, namespace=place),
    "forget": lambda caller, place: services.forget(caller, namespace=place, key="planted"),
    "clear": lambda caller, place: services.clear(caller, namespace=place),
}


@pytest.mark.parametrize("exists", [False, True], ids=["before it exists", "once it exists"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_conversation_at_a_door_is_only_theirs_whose_it_is(
    actors: dict[str, Actor], talks: dict[str | None, str], operation: str, *, exists: bool
) -> None:
    if exists:
        for leader in LEADERS[:-1]:
            store(in_their_run(actors[str(leader)], talks[leader]), f"conv:{talks[leader]}")

    wrong = [
        (actor.name, leader)
        for actor in actors.values()
        for leader, key in talks.items()
        if reached(operation, actor, f"conv:{key}") != (actor.name == leader)
    ]

    assert wrong == []


@pytest.mark.parametrize("operation", OPERATIONS)
def test_notes_of_a_run_are_the_runs_own(actors: dict[str, Actor], operation: str) -> None:
    for leader in ("alice", "key 1"):
        run = in_their_run(actors[leader], "talk-0", run_id=f"run-{leader[-1]}")
        store(run, f"ai:notes:run-{leader[-1]}")

    let_in = [
        (actor.name, run)
        for actor in actors.values()
        for run in ("run-e", "run-1", "run-not-begun")
        if reached(operation, actor, f"ai:notes:{run}")
    ]

    assert let_in == []


def test_list_of_namespaces_shows_a_key_the_conversations_it_leads(
    actors: dict[str, Actor], talks: dict[str | None, str]
) -> None:
    for leader in LEADERS[:-1]:
        store(in_their_run(actors[str(leader)], talks[leader]), f"conv:{talks[leader]}")

    shown = {
        name: [row.text for row in services.list_namespace_page(actor.caller).rows]
        for name, actor in actors.items()
    }

    assert shown == {name: [f"conv:{talks[name]}"] if name in talks else [] for name in actors}


def test_conversations_namespace_made_at_a_door_is_of_all_who_take_part(
    cast: Cast, actors: dict[str, Actor], talks: dict[str | None, str]
) -> None:
    with tenant([cast.team_a.pk]):
        talk = Conversation.objects.unscoped().get(key=talks["alice"])
        talk.subject_user = cast.bob.user
        talk.save()

    store(actors["alice"].caller, f"conv:{talk.key}")

    with tenant([cast.team_a.pk]):
        row = Namespace.objects.unscoped().get(text=f"conv:{talk.key}")
    assert set(row.participants) == {cast.alice.user.pk, cast.bob.user.pk}


def in_their_run(actor: Actor, key: str, run_id: str = "r1") -> MemoryCaller:
    identity = {"conversation_id": key, "run_id": run_id}
    principal = load_run_principal(
        run_id=actor.team_id,  # any UUID
        team_id=actor.team_id,
        user_id=actor.principal.user_id,
        key_id=actor.principal.key.pk if isinstance(actor.principal, KeyPrincipal) else None,
    )
    return MemoryCaller(
        principal,
        actor.team_id,
        identity=identity,
        reach=list_reachable(identity),
        origin=CallOrigin(run_id, "node", "step"),
    )


def reached(operation: str, actor: Actor, namespace: str) -> bool:
    with undone():
        try:
            OPERATIONS[operation](actor.caller, namespace)
        except NotFound:
            return False
        except AccessDenied:  # would tell that it is there
            return True
        return True


@contextmanager
def undone() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
