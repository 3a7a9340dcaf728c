"""The three people in two teams of the check for leaks, and their secrets in every part of memory and the host's tables."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db import transaction

from accounts.models import Team, User
from accounts.models.teams import Role
from accounts.principals import load_run_principal, load_user_principal
from accounts.services import add_member, create_team
from accounts.tenancy import tenant
from config.ids import uuid7
from memory import services
from memory.core.records import Json
from memory.host import get_host
from memory.logic.knowledge.named_bases import TEAM_KNOWLEDGE
from memory.management.canaries import Canary
from memory.models import Curation, Entry, Namespace, Proposal
from memory.services import CallOrigin, MemoryCaller, list_reachable
from memory.services.gateway import engine_port


@dataclass(slots=True)
class Person:
    """A person with their secret, the secret of their team, and the ids of their data by kind.

    ``area_secrets`` are those in the host's own tables: of each area whether the whole team may read it, and the secret.
    """

    name: str
    user: User
    team: Team
    secret: Canary
    team_secret: Canary
    ids: dict[str, list[str]] = field(default_factory=dict)
    area_secrets: dict[str, tuple[bool, Canary]] = field(default_factory=dict)

    def list_hidden_from(self, reader: "Person") -> list[Canary]:
        """Return the secrets that the other person must not read."""
        is_colleague = reader.team == self.team
        areas = [
            canary
            for is_shared, canary in self.area_secrets.values()
            if not (is_shared and is_colleague)
        ]
        return [self.secret, *([] if is_colleague else [self.team_secret]), *areas]

    @property
    def namespace(self) -> str:
        return f"user:{self.user.pk}"

    def build_caller(self) -> MemoryCaller:
        return MemoryCaller(load_user_principal(self.user), self.team.pk)

    def add_ids(self, kind: str, *ids: object) -> None:
        self.ids.setdefault(kind, []).extend(map(str, ids))


@contextmanager
def make_people() -> Iterator[list[Person]]:
    """Make the three people with their secrets, and roll everything back at the end of the block."""
    with transaction.atomic(), _run_in_transaction():
        people = _create_people()
        for person in people:
            _fill_memory(person)
        yield people
        transaction.set_rollback(True)


@contextmanager
def _run_in_transaction() -> Iterator[None]:
    """Run the memory port's calls in this thread, since other threads' connections don't see this transaction."""

    async def run_in_this_thread(work: Callable[[], Any]) -> Any:
        return await sync_to_async(work, thread_sensitive=True)()

    disabled_level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # thousands of expected refusals
    try:
        with patch.object(engine_port, "run_in_database_thread", run_in_this_thread):
            yield
    finally:
        logging.disable(disabled_level)


def _create_people() -> list[Person]:
    """Create two colleagues and a person of another team."""
    users = [
        User.objects.create_user(f"{name}-{uuid7()}@leakcheck.invalid", name=name)
        for name in ("Ann", "Ben", "Cay")
    ]
    first_team = create_team(owner=users[0], name="Leak check")
    second_team = create_team(owner=users[2], name="Leak check")
    add_member(team=first_team, user=users[1], role=Role.EDITOR)
    first_canary, second_canary = Canary.create("Ann's and Ben's team"), Canary.create("Cay's team")
    return [
        Person("Ann", users[0], first_team, Canary.create("Ann"), first_canary),
        Person("Ben", users[1], first_team, Canary.create("Ben"), first_canary),
        Person("Cay", users[2], second_team, Canary.create("Cay"), second_canary),
    ]


def _fill_memory(person: Person) -> None:
    """Write the person's secrets to every part of memory."""
    ids = get_host().node_trials.prepare(
        load_user_principal(person.user),
        person.team.pk,
        own=person.secret.text,
        shared=person.team_secret.text,
    )
    for kind, id_ in ids.items():
        person.add_ids(kind, id_)
    _fill_areas(person)
    caller = build_run_caller(person)
    value = f"The secret is {person.secret.text}"
    metadata = {"group": person.secret.text, "topic": person.secret.text}
    for scope in ("user", "conversation", "run"):
        entry = services.remember(caller, scope=scope, key="k", value=value, metadata=metadata)
        person.add_ids("entry", entry.id)
    quarantined = services.remember(
        caller, scope="user", key="held", value=value, tier="quarantine"
    )
    person.add_ids("entry", quarantined.id)
    services.remember(caller, scope="user", key="gone", value=value)
    change = services.forget(caller, scope="user", key="gone", reason=person.secret.text)
    person.add_ids("change", change.change_id)
    team_value = f"The team's secret is {person.team_secret.text}"
    for scope in ("global", "workflow"):
        entry = services.remember(caller, scope=scope, key="k", value=team_value)
        person.add_ids("entry", entry.id)
    team_page = {"title": "Team secret", "content": team_value}
    services.write_pages(person.build_caller(), namespace=TEAM_KNOWLEDGE, pages=[team_page])
    services.recall(caller, scope="user", query_text="secret", injected=True)
    services.converse(
        caller, action="append", messages=[{"role": "user", "content": value}], rules={}
    )
    pages = [{"title": person.secret.text, "content": value}]
    (page,) = services.write_pages(person.build_caller(), namespace=person.namespace, pages=pages)
    person.add_ids("page", page.entry.id)
    _fill_tables(person)


def _fill_areas(person: Person) -> None:
    """Write a secret into each area of the host's tables."""
    areas = get_host().leak_areas
    for name in (*areas.own, *areas.shared):
        canary = Canary.create(f"{person.name} ({name})")
        person.area_secrets[name] = name in areas.shared, canary
    secrets = {name: canary.text for name, (_is_shared, canary) in person.area_secrets.items()}
    principal = load_user_principal(person.user)
    ids = areas.fill(principal, person.team.pk, person.ids["run"][0], secrets)
    for kind, id_ in ids.items():
        person.add_ids(kind, id_)


def _fill_tables(person: Person) -> None:
    """Write the person's secret to tables that services fill only later, and collect further ids."""
    secret = person.secret.text
    with tenant([person.team.pk]):
        namespace = Namespace.objects.unscoped().get(team=person.team, text=person.namespace)
        person.add_ids("namespace", namespace.pk)
        person.add_ids("subject", person.user.pk)
        proposal = Proposal.objects.unscoped().create(
            team=person.team,
            namespace=namespace,
            kind="forget",
            targets=[{"key": "k", "revision": 1, "value": secret}],
            reason=secret,
            fingerprint=secret,
        )
        curation = Curation.objects.unscoped().create(
            team=person.team,
            run_id=str(uuid7()),
            place=person.namespace,
            problem=secret,
            status="failed",
        )
        person.add_ids("proposal", proposal.pk)
        person.add_ids("item", proposal.pk, *person.ids["entry"][3:4])
        person.add_ids("curation", curation.pk)
        entries_with_secret = Entry.objects.unscoped().filter(text__contains=secret)
        namespace_ids = set(entries_with_secret.values_list("namespace_id", flat=True))
        person.add_ids("namespace", *namespace_ids - {namespace.pk})


def build_run_caller(person: Person) -> MemoryCaller:
    """Return the caller of one of the person's runs, with the permissions of that run."""
    run_id = person.ids.get("run", [str(uuid7())])[0]
    identity = build_identity(person) | {"run_id": run_id}
    principal = load_run_principal(
        run_id=UUID(run_id), team_id=person.team.pk, user_id=person.user.pk
    )
    return MemoryCaller(
        principal,
        person.team.pk,
        identity=identity,
        reach=list_reachable(identity),
        knowledge_bases=frozenset({TEAM_KNOWLEDGE}),
        origin=CallOrigin(run_id, "tried", str(uuid7())),
        participants=frozenset({person.user.pk}),
    )


def build_identity(person: Person) -> dict[str, Json]:
    def get_first_id(kind: str) -> str:
        return person.ids.get(kind, [f"{kind}-of-{person.user.pk}"])[0]

    return {
        "user_id": str(person.user.pk),
        "conversation_id": get_first_id("conversation_key"),
        "app_id": get_first_id("workflow"),
        "workflow_id": get_first_id("workflow"),
        "group_id": str(person.user.pk),
        "query": "What is the secret?",
    }
