"""A check that one person can't read another person's memory.

It creates three people in two teams, each with secrets, in a transaction that is rolled back at the end. Then each
person's runs, pages, API responses and visible rows are searched for the secrets of the others. Pages and API are
requested with the person's own ids and with those of the others.

One intended exception isn't checked: the creator of an API key may open a run that the key started for an external
user, and see what the run recalled about them. The page names the external user, and the access is recorded in the
audit log (``workflows/services/runs/run_access.py``). No other member finds that run, not even the owner.
"""

import json
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, TypeVar
from unittest.mock import patch
from uuid import UUID

from asgiref.sync import sync_to_async
from django.apps import apps
from django.db import models, transaction
from django.test import Client
from django.test.utils import override_settings
from django.urls import URLPattern, URLResolver, get_resolver

from accounts.models import Team, User
from accounts.models.teams import Role
from accounts.principals import load_run_principal, load_user_principal
from accounts.services import add_member, create_team
from accounts.tenancy import TenantManager, TenantQuerySet, tenant
from config.ids import uuid7
from memory import services
from memory.core.records import Json
from memory.host import get_host
from memory.logic.knowledge.named_bases import TEAM_KNOWLEDGE
from memory.management.canaries import Canary, find_canaries
from memory.models import Curation, Entry, Namespace, Proposal
from memory.services import CallOrigin, MemoryCaller, list_reachable
from memory.services.gateway import engine_port


T = TypeVar("T")

PARAMETER: Final = re.compile(r"<(?:\w+:)?(\w+)>")
MEMORY_PATHS: Final = re.compile(
    r"memory|knowledge|curation|task|runs?/|data-sets|feedback|usage|tools|waits|waiting"
)
EXCLUDED_PATHS: Final = re.compile(
    r"^(accounts|static|i18n|admin|api/v1/docs|api/v1/openapi)|logout|\(\?P|\\"
)
MAX_READ: Final = 4 * 1024 * 1024
AUTH_BACKEND: Final = "allauth.account.auth_backends.AuthenticationBackend"


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


@dataclass(frozen=True, slots=True)
class Leak:
    """A secret of ``owner`` that another person could read, the request that returned it, and the secret's encoding."""

    location: str
    attacker: str
    owner: str
    encoding: str


@dataclass(slots=True)
class Report:
    """The result: searched outputs by area, leaks, paths that returned a server error, and HTTP statuses."""

    outputs: Counter[str] = field(default_factory=Counter)
    leaks: list[Leak] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)


class _FirstLeak(Exception):
    """Ends the check, of which nothing more is asked."""


def check_leaks(
    *,
    thorough: bool = False,
    in_turn: bool = False,
    stop_at_first: bool = False,
    stop_at_area: str = "",
    attackers: Sequence[str] = (),
    report_progress: Callable[[str], object] = lambda _line: None,
) -> Report:
    """Run the check: if ``thorough``, for all pairs of people and all URLs; ``attackers`` limits it to people by name.

    With ``in_turn``, one id stands for the others that a path could have, and the paths take turns with them.
    ``stop_at_first`` ends it with the first leak, or with the first one of an area of the host's tables, whose URLs are
    then requested first, and only by people who may not read the area.
    """
    report = Report()
    with make_people() as people, suppress(_FirstLeak), override_settings(ALLOWED_HOSTS=["*"]):
        ann, ben, cay = people
        report_progress("People and secrets are made.")
        for person in people if thorough else (ben, cay):
            if attackers and person.name not in attackers:
                continue
            if person.team == ann.team and stop_at_area in get_host().leak_areas.shared:
                continue  # a colleague may read all of it
            others = [other for other in people if other is not person]
            victims = others if thorough else [ann]
            attacker = _Attacker(report, person, others, victims, stop_at_first, stop_at_area)
            attacker.try_everything(thorough=thorough, in_turn=in_turn)
            report_progress(f"{person.name} has asked.")
    return report


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
    caller = _build_run_caller(person)
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


def _build_run_caller(person: Person) -> MemoryCaller:
    """Return the caller of one of the person's runs, with the permissions of that run."""
    run_id = person.ids.get("run", [str(uuid7())])[0]
    identity = _build_identity(person) | {"run_id": run_id}
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


def _build_identity(person: Person) -> dict[str, Json]:
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


@dataclass(slots=True)
class _Attacker:
    """A person who tries to read the secrets of all ``others`` by using the ids of the ``victims``."""

    report: Report
    person: Person
    others: list[Person]
    victims: list[Person]
    stop_at_first: bool
    stop_at_area: str = ""
    # Paths without ids are the same for all owners, and a method that a path doesn't have is refused whatever is sent.
    requested: set[str] = field(default_factory=set)
    refused: set[tuple[str, str]] = field(default_factory=set)

    @property
    def foreign_canaries(self) -> list[Canary]:
        canaries = [each for other in self.others for each in other.list_hidden_from(self.person)]
        return list(dict.fromkeys(canaries))

    @property
    def _end_of_owner(self) -> str:
        return f"({self.stop_at_area})" if self.stop_at_area else ""

    def search_output(self, area: str, location: str, output: bytes) -> None:
        """Add the secrets of others in the output to the report."""
        self.report.outputs[area] += 1
        for canary, encoding in find_canaries(output, self.foreign_canaries):
            self.report.leaks.append(Leak(location, self.person.name, canary.owner, encoding))
            if self.stop_at_first and canary.owner.endswith(self._end_of_owner):
                raise _FirstLeak

    def try_everything(self, *, thorough: bool, in_turn: bool) -> None:
        """Try nodes, rows and URLs; the URLs first where only a leak of an area counts."""
        if self.stop_at_area:
            self.try_urls(thorough=thorough, in_turn=in_turn)
        self.try_nodes()
        self.try_rows()
        if not self.stop_at_area:
            self.try_urls(thorough=thorough, in_turn=in_turn)

    def try_nodes(self) -> None:
        memory = engine_port.RunMemory(_build_run_caller(self.person))
        groups = [str(other.user.pk) for other in self.victims]
        trials = get_host().node_trials
        identity = _build_identity(self.person)
        for location, output in trials.run_nodes(memory, identity, groups=groups):
            self.search_output("node kinds", location, output.encode())

    def try_rows(self) -> None:
        """Search the rows that the person can see, in each table that has its own rules of visibility."""
        principal = load_user_principal(self.person.user)
        with tenant(principal.team_ids):
            for model in _list_private_models():
                any_model: Any = model  # mypy does not know the manager of an abstract type
                for row in any_model.objects.visible_to(principal).values():
                    self.search_output("rows", model._meta.db_table, repr(row).encode())

    def try_urls(self, *, thorough: bool, in_turn: bool = False) -> None:
        client = Client(raise_request_exception=False)
        client.force_login(self.person.user, backend=AUTH_BACKEND)
        for number, path in enumerate(_list_paths(self.stop_at_area, thorough=thorough)):
            turn = number if in_turn else None
            is_memory_path = bool(MEMORY_PATHS.search(path))
            for owner in (self.person, *self.victims):
                limit = 1 if owner is self.person else 4 if thorough else 2
                urls = list(_build_urls(path, owner, limit=limit))
                chosen = _take_turn(urls, turn)
                for url in chosen if PARAMETER.search(path) else urls:
                    if url not in self.requested:
                        self.requested.add(url)
                        self._request(client, "get", path, url)
                if owner is self.person or not (is_memory_path or thorough):
                    continue
                for url in chosen:
                    for body in _build_bodies(path, owner):
                        self._request(client, "post", path, url, body)

    def _request(self, client: Client, method: str, path: str, url: str, body: Json = None) -> None:
        if (method, path) in self.refused:
            return
        options: dict[str, Any] = {} if body is None else {"data": body}
        is_api = path.startswith("api/")
        if is_api and body is not None:
            options = {"data": json.dumps(body), "content_type": "application/json"}
        savepoint = transaction.savepoint()
        try:
            response = getattr(client, method)(f"/{url}", **options)
            headers = "\n".join(f"{name}: {value}" for name, value in response.items()).encode()
            self.report.statuses[response.status_code] += 1
            if response.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
                self.refused.add((method, path))
            if response.status_code >= 500:
                self.report.failures[f"{method.upper()} {path}"] += 1
            area = "API" if is_api else "pages"
            self.search_output(area, f"{method.upper()} /{path}", headers + _read_content(response))
        finally:
            transaction.savepoint_rollback(savepoint)


def _take_turn(values: Sequence[T], turn: int | None) -> Sequence[T]:
    """Return the value whose turn it is, or all of them if they don't take turns."""
    return values if turn is None else [values[turn % len(values)]]


def _read_content(response: Any) -> bytes:
    if not response.streaming:
        return bytes(response.content)
    if response.get("Content-Type", "").startswith("text/event-stream"):
        return b""  # never ends; its content comes from the same rows
    content = bytearray()
    for chunk in response.streaming_content:
        content += chunk
        if len(content) > MAX_READ:
            break
    return bytes(content)


def _list_private_models() -> Iterable[type[models.Model]]:
    """Yield the models with their own rules of visibility; rows of the other models are visible to all members."""
    whole_team = TenantQuerySet.visible_to
    for model in apps.get_models():
        manager: Any = getattr(model, "objects", None)
        queryset_class: Any = getattr(manager, "_queryset_class", None)
        if isinstance(manager, TenantManager) and (
            type(manager).visible_to is not TenantManager.visible_to
            or getattr(queryset_class, "visible_to", whole_team) is not whole_team
        ):
            yield model


def _list_paths(area: str = "", *, thorough: bool) -> list[str]:
    """Return the paths that are requested; those that a word of the area's name is in come first."""
    words = area.split()

    def names_nothing_of_it(path: str) -> bool:
        return not any(word in path for word in words)

    paths = sorted(set(_walk_patterns(get_resolver().url_patterns, "")))
    paths.sort(key=names_nothing_of_it)
    paths = [path for path in paths if not EXCLUDED_PATHS.search(path)]
    return [path for path in paths if thorough or MEMORY_PATHS.search(path)]


def _walk_patterns(patterns: Iterable[Any], prefix: str) -> Iterator[str]:
    for pattern in patterns:
        path = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _walk_patterns(pattern.url_patterns, path)
        elif isinstance(pattern, URLPattern):
            yield path


def _build_urls(path: str, owner: Person, *, limit: int) -> Iterator[str]:
    """Yield URLs of the path with the owner's ids or, if it has no parameters, with their namespace in the query."""
    names = PARAMETER.findall(path)
    if not names:
        namespace = owner.namespace if path.startswith("api/") else owner.ids["namespace"][0]
        yield path
        yield f"{path}?namespace={namespace}"
        if "usage" in path:
            yield f"{path}?by=person"
        return
    ids_by_name = [_list_ids(name, owner) for name in names]
    for number in range(min(limit, max(map(len, ids_by_name)))):
        ids = [ids[number % len(ids)] for ids in ids_by_name]
        arguments = dict(zip(names, ids, strict=True))
        yield PARAMETER.sub(lambda match: arguments[match[1]], path)  # noqa: B023 - used at once


def _list_ids(name: str, owner: Person) -> list[str]:
    """Return the owner's ids of the kind that a parameter's name says, or one of each kind if it says none."""
    kind = name.removesuffix("_id").removeprefix("other_")
    ids = owner.ids.get(kind, [])
    if kind == "entry":
        ids = owner.ids["page"] + ids
    return ids or [owner.ids[other_kind][0] for other_kind in sorted(owner.ids)]


def _build_bodies(path: str, owner: Person) -> Iterator[Mapping[str, Json]]:
    """Yield request bodies with the owner's data for a path of the API or of a page."""
    namespace = owner.namespace
    if not path.startswith("api/"):
        yield {"namespace": owner.ids["namespace"][0], "person": str(owner.user.pk), "whose": "other",
               "change": owner.ids["change"][0], "entry": owner.ids["entry"][0]}  # fmt: skip
        return
    yield {}
    if PARAMETER.search(path):
        return
    yield {"namespace": namespace, "query_text": "secret", "top_k": 50}
    yield {"namespace": namespace, "key": "k"}
    yield {"entries": owner.ids["entry"][:1]}
    yield {"changes": owner.ids["change"][:1]}
