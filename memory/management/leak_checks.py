"""A check that one person can't read another person's memory.

It creates three people in two teams, each with secrets, in a transaction that is rolled back at the end. Then each
person's runs, pages, API responses and visible rows are searched for the secrets of the others. Pages and API are
requested with the person's own ids and with those of the others.

One intended exception isn't checked: the creator of an API key may open a run that the key started for an external
user, and see what the run recalled about them. The page names the external user, and the access is recorded in the
audit log (``workflows/services/runs/run_access.py``). No other member finds that run, not even the owner.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, TypeVar

from django.apps import apps
from django.db import models, transaction
from django.test import Client
from django.test.utils import override_settings
from django.urls import URLPattern, URLResolver, get_resolver

from accounts.principals import load_user_principal
from accounts.tenancy import TenantManager, TenantQuerySet, tenant
from memory.core.records import Json
from memory.host import get_host
from memory.management.canaries import Canary, find_canaries
from memory.management.leak_people import Person, build_identity, build_run_caller, make_people
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
        memory = engine_port.RunMemory(build_run_caller(self.person))
        groups = [str(other.user.pk) for other in self.victims]
        trials = get_host().node_trials
        identity = build_identity(self.person)
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
