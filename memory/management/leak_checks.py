"""People with secrets of their own, and everything that could hand one of them to somebody else.

All of it happens in one transaction that is taken back: three people in two teams who never were. Their runs,
every page and every address of the API, asked with their own ids and with each other's, and the rows each of
them may see, are looked through for secrets that aren't theirs.

One thing that shows somebody's words to another is meant, and none of these people does it: the maker of an API key
opens a run it made for an outside person, and sees what that run recalled of theirs. It is their programme that asked;
the page says whose it is, and the trail that they looked (``workflows/services/runs/run_access.py``). Nobody else of the team
finds that run, the owner included.
"""

import json
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
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
from memory.management.canaries import Canary, foreign_in
from memory.models import Curation, Entry, Namespace, Proposal
from memory.services import CallOrigin, MemoryCaller, reach_of
from memory.services.gateway import engine_port


PARAMETER: Final = re.compile(r"<(?:\w+:)?(\w+)>")
OF_MEMORY: Final = re.compile(r"memory|knowledge|curation|task|runs?/")
NEVER: Final = re.compile(
    r"^(accounts|static|i18n|admin|api/v1/docs|api/v1/openapi)|logout|\(\?P|\\"
)
MOST_READ: Final = 4 * 1024 * 1024
SIGN_IN: Final = "allauth.account.auth_backends.AuthenticationBackend"


@dataclass(slots=True)
class Person:
    """``ids``: what is theirs, by kind. ``own`` is theirs alone, ``shared`` their team's."""

    name: str
    user: User
    team: Team
    own: Canary
    shared: Canary
    ids: dict[str, list[str]] = field(default_factory=dict)

    @property
    def space(self) -> str:
        return f"user:{self.user.pk}"

    def caller(self) -> MemoryCaller:
        return MemoryCaller(load_user_principal(self.user), self.team.pk)

    def add(self, kind: str, *ids: object) -> None:
        self.ids.setdefault(kind, []).extend(map(str, ids))


@dataclass(frozen=True, slots=True)
class Leak:
    where: str
    asked_by: str
    whose: str
    form: str


@dataclass(slots=True)
class Report:
    """``answers`` by where they came from; ``broken``: addresses that answered with an error of ours."""

    answers: Counter[str] = field(default_factory=Counter)
    leaks: list[Leak] = field(default_factory=list)
    broken: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)


class _TakenBack(Exception):
    """The end of the check."""


def check(
    *,
    thorough: bool = False,
    first: bool = False,
    askers: Sequence[str] = (),
    say: Callable[[str], object] = lambda _line: None,
) -> Report:
    """``first``: the first leak is enough. ``askers``: only these of them ask."""
    report = Report()
    try:
        with transaction.atomic(), _here_and_now(), override_settings(ALLOWED_HOSTS=["*"]):
            people = _people()
            ann, ben, cay = people
            for person in people:
                _fill(person)
            say("People and secrets are made.")
            for person in people if thorough else (ben, cay):
                if askers and person.name not in askers:
                    continue
                others = [one for one in people if one is not person]
                asked = _Asked(report, person, others, None if thorough else ann, first=first)
                asked.nodes()
                asked.rows()
                asked.addresses(thorough=thorough)
                say(f"{person.name} has asked.")
            raise _TakenBack
    except _TakenBack:
        return report


@contextmanager
def _here_and_now() -> Iterator[None]:
    """The port's own threads have connections that see nothing of this transaction."""

    async def here(call: Callable[[], Any]) -> Any:
        return await sync_to_async(call, thread_sensitive=True)()

    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # thousands of refusals, each of them meant
    try:
        with patch.object(engine_port, "in_thread", here):
            yield
    finally:
        logging.disable(before)


def _people() -> list[Person]:
    """Two colleagues, and somebody from another team."""
    users = [
        User.objects.create_user(f"{name}-{uuid7()}@leakcheck.invalid", name=name)
        for name in ("Ann", "Ben", "Cay")
    ]
    one, two = (create_team(owner=user, name="Leak check") for user in (users[0], users[2]))
    add_member(team=one, user=users[1], role=Role.EDITOR)
    first, second = Canary.of("Ann's and Ben's team"), Canary.of("Cay's team")
    return [
        Person("Ann", users[0], one, Canary.of("Ann"), first),
        Person("Ben", users[1], one, Canary.of("Ben"), first),
        Person("Cay", users[2], two, Canary.of("Cay"), second),
    ]


def _fill(person: Person) -> None:
    """Something of theirs in every place that memory has."""
    ids = get_host().node_trials.prepare(
        load_user_principal(person.user),
        person.team.pk,
        own=person.own.text,
        shared=person.shared.text,
    )
    for kind, id_ in ids.items():
        person.add(kind, id_)
    caller = _running(person)
    secret = f"The secret is {person.own.text}"
    mine = {"group": person.own.text, "topic": person.own.text}
    for scope in ("user", "conversation", "run"):
        entry = services.remember(caller, scope=scope, key="k", value=secret, metadata=mine)
        person.add("entry", entry.id)
    held = services.remember(caller, scope="user", key="held", value=secret, tier="quarantine")
    person.add("entry", held.id)
    services.remember(caller, scope="user", key="gone", value=secret)
    gone = services.forget(caller, scope="user", key="gone", reason=person.own.text)
    person.add("change", gone.change_id)
    common = f"The team's secret is {person.shared.text}"
    for scope in ("global", "workflow"):
        person.add("entry", services.remember(caller, scope=scope, key="k", value=common).id)
    services.recall(caller, scope="user", query_text="secret", injected=True)
    services.converse(
        caller, action="append", messages=[{"role": "user", "content": secret}], rules={}
    )
    pages = [{"title": person.own.text, "content": secret}]
    (page,) = services.write_pages(person.caller(), namespace=person.space, pages=pages)
    person.add("page", page.entry.id)
    _fill_tables(person)


def _fill_tables(person: Person) -> None:
    said = person.own.text
    with tenant([person.team.pk]):
        rows = Namespace.objects.unscoped().filter(team=person.team, text=person.space)
        space = rows.get()
        person.add("namespace", space.pk)
        person.add("subject", person.user.pk)
        proposal = Proposal.objects.unscoped().create(
            team=person.team,
            namespace=space,
            kind="forget",
            targets=[{"key": "k", "revision": 1, "value": said}],
            reason=said,
            fingerprint=said,
        )
        curation = Curation.objects.unscoped().create(
            team=person.team, run_id=str(uuid7()), place=person.space, problem=said, status="failed"
        )
        person.add("proposal", proposal.pk)
        person.add("item", proposal.pk, *person.ids["entry"][3:4])
        person.add("curation", curation.pk)
        private = Entry.objects.unscoped().filter(text__contains=said)
        person.add("namespace", *set(private.values_list("namespace_id", flat=True)) - {space.pk})


def _running(person: Person) -> MemoryCaller:
    """A run of theirs, with the rights of one."""
    run_id = person.ids.get("run", [str(uuid7())])[0]
    identity = _system(person) | {"run_id": run_id}
    principal = load_run_principal(
        run_id=UUID(run_id), team_id=person.team.pk, user_id=person.user.pk
    )
    return MemoryCaller(
        principal,
        person.team.pk,
        identity=identity,
        reach=reach_of(identity),
        origin=CallOrigin(run_id, "tried", str(uuid7())),
        participants=frozenset({person.user.pk}),
    )


def _system(person: Person) -> dict[str, Json]:
    def first(kind: str) -> str:
        return person.ids.get(kind, [f"{kind}-of-{person.user.pk}"])[0]

    return {
        "user_id": str(person.user.pk),
        "conversation_id": first("conversation_key"),
        "app_id": first("workflow"),
        "workflow_id": first("workflow"),
        "group_id": str(person.user.pk),
        "query": "What is the secret?",
    }


@dataclass(slots=True)
class _Asked:
    """One of them, and everything they ask. ``only``: whose ids they try; else everybody's."""

    report: Report
    person: Person
    others: list[Person]
    only: Person | None
    first: bool = False

    @property
    def foreign(self) -> list[Canary]:
        theirs = (self.person.own, self.person.shared)
        found = {one.text: one for other in self.others for one in (other.own, other.shared)}
        return [one for one in found.values() if one not in theirs]

    @property
    def victims(self) -> list[Person]:
        return [self.only] if self.only is not None else self.others

    def look(self, area: str, where: str, answer: bytes) -> None:
        self.report.answers[area] += 1
        for canary, form in foreign_in(answer, self.foreign):
            self.report.leaks.append(Leak(where, self.person.name, canary.whose, form))
            if self.first:
                raise _TakenBack

    def nodes(self) -> None:
        memory = engine_port.RunMemory(_running(self.person))
        groups = [str(other.user.pk) for other in self.victims]
        trials = get_host().node_trials
        for where, said in trials.run_nodes(memory, _system(self.person), groups=groups):
            self.look("node kinds", where, said.encode())

    def rows(self) -> None:
        """What each table with rules of its own lets through, as services and the admin see it."""
        principal = load_user_principal(self.person.user)
        with tenant(principal.team_ids):
            for model in _private_models():
                manager: Any = model
                for row in manager.objects.visible_to(principal).values():
                    self.look("rows", model._meta.db_table, repr(row).encode())

    def addresses(self, *, thorough: bool) -> None:
        client = Client(raise_request_exception=False)
        client.force_login(self.person.user, backend=SIGN_IN)
        for path in _paths(thorough=thorough):
            of_memory = bool(OF_MEMORY.search(path))
            for owner in (self.person, *self.victims):
                most = 1 if owner is self.person else 4 if thorough else 2
                for address in _addresses(path, owner, most=most):
                    self._ask(client, "get", path, address)
                    if owner is not self.person and (of_memory or thorough):
                        for body in _bodies(path, owner):
                            self._ask(client, "post", path, address, body)

    def _ask(self, client: Client, method: str, path: str, address: str, body: Json = None) -> None:
        options: dict[str, Any] = {}
        is_api = path.startswith("api/")
        if body is not None:
            options = (
                {"data": json.dumps(body), "content_type": "application/json"}
                if is_api
                else {"data": body}
            )
        kept = transaction.savepoint()
        try:
            answer = getattr(client, method)(f"/{address}", **options)
            head = "\n".join(f"{name}: {value}" for name, value in answer.items()).encode()
            self.report.statuses[answer.status_code] += 1
            if answer.status_code >= 500:
                self.report.broken[f"{method.upper()} {path}"] += 1
            area = "API" if is_api else "pages"
            self.look(area, f"{method.upper()} /{path}", head + _content(answer))
        finally:
            transaction.savepoint_rollback(kept)


def _content(answer: Any) -> bytes:
    if not answer.streaming:
        return bytes(answer.content)
    if answer.get("Content-Type", "").startswith("text/event-stream"):
        return b""  # never ends; what it tells comes from the same rows
    read = bytearray()
    for chunk in answer.streaming_content:
        read += chunk
        if len(read) > MOST_READ:
            break
    return bytes(read)


def _private_models() -> Iterable[type[models.Model]]:
    """Those that say themselves who sees a row; of the others a team's rows are its members'."""
    plain = TenantQuerySet.visible_to
    for model in apps.get_models():
        manager: Any = getattr(model, "objects", None)
        query: Any = getattr(manager, "_queryset_class", None)
        if not isinstance(manager, TenantManager):
            continue
        if (
            type(manager).visible_to is not TenantManager.visible_to
            or getattr(query, "visible_to", plain) is not plain
        ):
            yield model


def _paths(*, thorough: bool) -> list[str]:
    found = sorted(set(_walk(get_resolver().url_patterns, "")))
    return [
        path for path in found if not NEVER.search(path) and (thorough or OF_MEMORY.search(path))
    ]


def _walk(patterns: Iterable[Any], before: str) -> Iterator[str]:
    for pattern in patterns:
        path = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern.url_patterns, path)
        elif isinstance(pattern, URLPattern):
            yield path


def _addresses(path: str, owner: Person, *, most: int) -> Iterator[str]:
    """With ids of theirs where it has any; otherwise with their namespace asked for by name."""
    names = PARAMETER.findall(path)
    if not names:
        by = owner.space if path.startswith("api/") else owner.ids["namespace"][0]
        yield path
        yield f"{path}?namespace={by}"
        return
    known = [_ids(name, owner) for name in names]
    for number in range(min(most, max(map(len, known)))):
        chosen = {name: ids[number % len(ids)] for name, ids in zip(names, known, strict=True)}
        yield PARAMETER.sub(lambda match: chosen[match[1]], path)  # noqa: B023 - used at once


def _ids(name: str, owner: Person) -> list[str]:
    """By what the parameter is called; a name that says nothing may be any of them."""
    kind = name.removesuffix("_id").removeprefix("other_")
    found = [*owner.ids.get(kind, ())]
    if kind == "entry":
        found = [*owner.ids["page"], *found]
    return found or [owner.ids[one][0] for one in sorted(owner.ids)]


def _bodies(path: str, owner: Person) -> Iterator[Mapping[str, Json]]:
    """What a programme or a form would send, about what is somebody else's."""
    space = owner.space
    if not path.startswith("api/"):
        yield {"namespace": owner.ids["namespace"][0], "person": str(owner.user.pk), "whose": "other",
               "change": owner.ids["change"][0], "entry": owner.ids["entry"][0]}  # fmt: skip
        return
    yield {}
    if PARAMETER.search(path):
        return
    yield {"namespace": space, "query_text": "secret", "top_k": 50}
    yield {"namespace": space, "key": "k"}
    yield {"entries": owner.ids["entry"][:1]}
    yield {"changes": owner.ids["change"][:1]}
