"""Erase a person: everything that memory stores for them, including the history, permanently.

This covers their namespace and those of their test persons, their conversations and the runs for them, and what these
runs wrote elsewhere; the host erases its data of these conversations and runs as well. The receipt states how many rows of
each table were erased, the same counts taken again afterwards, and what is kept.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import Any, Final, Self
from uuid import UUID

import structlog
from django.db import connection
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts import access, audit
from accounts.models import AuditEntry, Membership, Role
from accounts.personas import find_player, find_service_account_id
from accounts.principals import Principal
from accounts.pseudonyms import find_external_ids
from accounts.tenancy import tenant
from config.retry import retry_on_conflict
from config.sql import read_queries
from memory import permissions
from memory.core.errors import AccessDenied, MemoryFault, NotFound
from memory.core.identifiers import escape, normalize_identifier
from memory.core.policy import NO_LIMITS
from memory.core.scopes import ParsedNamespace, parse_namespace, resolve_namespace
from memory.host import get_host
from memory.models import Entry, Namespace
from memory.permissions import NamespaceTarget
from memory.providers.postgres import rows
from memory.routing import find_external_provider
from memory.services.erasure.erase_documents import erase_uploads, remove_originals
from memory.services.erasure.erase_proposals import RunProposals
from memory.services.erasure.erase_run_writes import (
    RUN_WRITES,
    TO_DECIDE,
    RunWrites,
    erase_run_writes,
    find_run_writes,
)
from memory.services.erasure.erase_sources import (
    count_sources,
    erase_sources,
    list_source_entries,
    list_source_namespaces,
)
from memory.services.erasure.memory_counts import (
    SHOWN_TO_OTHERS,
    MemoryCounts,
    count_memories,
    count_runs_shown_to,
)
from memory.services.gateway.audit_lines import record, record_refusal
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.namespace_access import find_target
from memory.upkeep.run_people import forget_noted_runs, list_noted_runs


log = structlog.get_logger(__name__)

QUERIES: Final = read_queries("memory/sql/queries/counts.sql")

TABLES = (
    "memory_entry", "memory_revision", "memory_read", "memory_change", "memory_posting",
    "memory_embedding", "memory_group", "memory_proposal", "memory_curation", "memory_emergencyaccess",
    "memory_namespace", "memory_wikijob",
)  # fmt: skip

RUN_PEOPLE_TABLE = "memory_runperson"
AUDIT_PERSONS_TABLE = "accounts_auditperson"  # people to whom the audit log refers by a pseudonym


@dataclass(frozen=True, slots=True)
class Receipt:
    """The receipt of an erasure or its preview.

    ``tables`` counts the rows that were or would be erased, ``left`` those found afterwards, ``kept`` those that stay.
    ``to_decide`` are the ids of shared entries that runs for the person wrote, and in which others have words, too.
    ``memories`` tells the rows of ``memory_entry`` apart.
    """

    subject: str
    dry_run: bool
    at: datetime
    namespaces: int
    tables: Mapping[str, int]
    left: Mapping[str, int]
    kept: Mapping[str, int]
    to_decide: tuple[str, ...] = ()
    memories: MemoryCounts = field(default_factory=MemoryCounts)


def erase(
    caller: MemoryCaller, *, subject: str, dry_run: bool = False, runs: bool = True
) -> Receipt:
    """Erase the person, with their conversations and runs if ``runs`` is set.

    The person may erase themselves, and so may the API key that names them; an admin may erase people without an
    account, the owner any person. None of them sees the data.
    """
    if dry_run:
        return erase_here(caller, subject=subject, dry_run=True, runs=runs)
    with clear_elsewhere(caller, subject=subject, runs=runs) as cleared:
        return erase_here(caller, subject=subject, runs=runs, cleared=cleared)


@contextmanager
def clear_elsewhere(
    caller: MemoryCaller, *, subject: str, runs: bool = True
) -> Iterator[Counter[str]]:
    """Clear what external providers have about the person, and yield the counts of entries by namespace.

    Providers are slow, so this happens before the transaction that erases the rest, and again after it: runs may have
    written there meanwhile. The history there expires automatically.
    """
    subject, cleared = normalize_identifier(subject), Counter[str]()
    with tenant([caller.team_id]):
        texts = [row.text for row in list_namespaces_of_person(caller.team_id, subject)]
    providers = [
        (text, find_external_provider(caller.team_id, parse_namespace(text), NO_LIMITS))
        for text in texts
    ]
    external = {text: each.provider for text, each in providers if each is not None}
    if external:
        # What would refuse the erasure does so now: a refusal changes nothing, elsewhere neither.
        erase_here(caller, subject=subject, dry_run=True, runs=runs)
        if runs:
            with tenant([caller.team_id]):
                get_host().check_erasable(caller.team_id, subject)
    for text, provider in external.items():
        cleared[text] += provider.clear_namespace(text)
    yield cleared
    for text, provider in external.items():
        try:
            provider.clear_namespace(text)
        except MemoryFault as fault:
            log.warning("not_cleared_again", namespace=text, why=type(fault).__name__)


@dataclass(frozen=True, slots=True)
class _Person:
    """The person as memory knows them: their namespaces, ids and runs, and what these wrote into other namespaces."""

    team_id: UUID
    namespaces: list[Namespace]
    ids: list[str]
    run_ids: list[str]

    @property
    def erased_ids(self) -> list[UUID]:
        return [row.pk for row in self.namespaces]

    @classmethod
    def find(cls, team_id: UUID, subject: str) -> Self:
        namespaces = list_namespaces_of_person(team_id, subject)
        ids = _list_person_ids(team_id, subject, namespaces)
        return cls(team_id, namespaces, ids, _list_run_ids(team_id, ids))

    def find_run_writes(self) -> RunWrites:
        return find_run_writes(self.team_id, self.run_ids, self.erased_ids)

    def list_source_entries(self) -> list[Entry]:
        return list_source_entries(self.team_id, self.ids, self.erased_ids)

    def find_proposals(self, writes: RunWrites) -> RunProposals:
        """Find what the runs proposed or taught, and the proposals about what is erased, with what the runs wrote."""
        entries = [*writes.erasable, *self.list_source_entries()]
        return RunProposals.of(self.team_id, self.run_ids, entries, self.erased_ids)

    def count_rows(self) -> dict[str, int]:
        counts = Counter(_count_rows(self.team_id, self.namespaces, self.ids))
        writes = self.find_run_writes()
        counts[RUN_WRITES] = len(writes.erasable)
        counts.update(self.find_proposals(writes).counts)
        return dict(counts)


@retry_on_conflict
def erase_here(
    caller: MemoryCaller,
    *,
    subject: str,
    dry_run: bool = False,
    runs: bool = True,
    cleared: Mapping[str, int] = MappingProxyType({}),
) -> Receipt:
    """Erase the person as ``erase`` does, but not what external providers have; they ``cleared`` so many entries."""
    subject, team_id = normalize_identifier(subject), caller.team_id
    with tenant([team_id]):
        # Before the host erases the runs, which tell for whom they were.
        person = _Person.find(team_id, subject)
        erase_in_host = partial(
            _erase_in_host, team_id, subject, runs, person.ids, person.erased_ids
        )
        writes = person.find_run_writes()
        has_data = bool(person.namespaces or person.run_ids or person.list_source_entries())
        has_data = has_data or audit.count_persons(team_id, person.ids) > 0
        has_data = has_data or any(erase_in_host(dry_run=True).values())
        _check_permission(caller, subject, has_data)
        staying_counts = {
            "accounts_auditentry": _count_audit_entries(team_id, person.namespaces, person.ids),
            TO_DECIDE: len(writes.mixed),
            SHOWN_TO_OTHERS: count_runs_shown_to(
                team_id, person.erased_ids, writes.erasable, person.run_ids
            ),
            **get_host().count_kept(team_id, subject),
        }
        memories, tables = count_memories(person.erased_ids), dict[str, int]()
        if not dry_run:
            tables = _erase_rows(caller, person, writes, erase_in_host)
            tables |= {"elsewhere": sum(cleared.values())}
        remaining = person.count_rows() | erase_in_host(dry_run=True)
        tables = remaining if dry_run else tables
        now, count = timezone.now(), len(person.namespaces)
        to_decide = tuple(str(entry.pk) for entry in writes.mixed)
        receipt = Receipt(
            subject, dry_run, now, count, tables, remaining, staying_counts, to_decide, memories
        )
        if not dry_run:
            _record(caller, receipt)
    return receipt


def _erase_rows(
    caller: MemoryCaller,
    person: _Person,
    writes: RunWrites,
    erase_in_host: Callable[..., dict[str, int]],
) -> dict[str, int]:
    """Erase everything, and return the number of rows of each table."""
    team_id, erased_ids = caller.team_id, person.erased_ids
    person_count = audit.count_persons(team_id, person.ids)
    proposals = person.find_proposals(writes)
    # Locking order: the host's rows, such as runs, always come before memory's.
    host_tables = erase_in_host(dry_run=False)
    shared = list_source_namespaces(team_id, person.ids) | writes.namespaces | proposals.namespaces
    rows.lock_namespaces(team_id, {*(row.text for row in person.namespaces), *shared})
    tables = {"sharing": access.end_sharing(person.namespaces)}
    proposal_counts = proposals.delete()
    tables |= erase_sources(caller, person.ids, erased_ids)
    tables |= erase_run_writes(caller, writes)
    tables |= {RUN_PEOPLE_TABLE: forget_noted_runs(team_id, person.ids)}
    tables |= erase_uploads(team_id, person.ids, erased_ids)
    wiki_jobs = {"memory_wikijob": _erase_wiki_jobs(erased_ids, person.ids)}
    tables |= _erase_namespaces(erased_ids) | wiki_jobs | host_tables
    tables |= {name: tables[name] + count for name, count in proposal_counts.items()}
    # This comes last, because the audit entries of this erasure still need the person's key.
    audit.forget_persons(team_id, person.ids)
    return tables | {AUDIT_PERSONS_TABLE: person_count}


def _erase_in_host(
    team_id: UUID,
    subject: str,
    runs: bool,
    person_ids: Sequence[str],
    erased_ids: Sequence[UUID],
    *,
    dry_run: bool,
) -> dict[str, int]:
    """Erase what the host stores about the person, and the originals of the documents that are erased here."""
    files = remove_originals(team_id, person_ids, erased_ids, with_person=runs, dry_run=dry_run)
    counts = Counter(get_host().erase_person(team_id, subject, dry_run=dry_run) if runs else {})
    counts.update(files)
    return dict(counts)


def _check_permission(caller: MemoryCaller, subject: str, is_known: bool) -> None:
    principal, team_id = caller.principal, caller.team_id
    parsed = parse_namespace(resolve_namespace("user", {"user_id": subject}))
    target = find_target(caller, parsed)
    if permissions.is_owner(principal, target):
        return
    is_known = is_known or _is_member(team_id, parsed)
    if is_known and principal.kind == "user" and _can_erase_others(principal, target):
        return
    fault: MemoryFault = NotFound(_("User not found."))
    if principal.kind == "key" and not principal.allows("memory:write"):
        fault = AccessDenied(
            _("This API key doesn't have the permission %(scope)s.") % {"scope": "memory:write"}
        )
    if is_known:  # an audit entry about an unknown person would create a record of them
        record_refusal(caller, "memory.erased", parsed.text, fault)
    raise fault


def _is_member(team_id: UUID, parsed: ParsedNamespace) -> bool:
    """Return whether the person is a member, even if nothing is stored for them yet."""
    account_id = permissions.find_account_id(parsed)
    members = Membership.objects.unscoped().filter(team_id=team_id, user=account_id)
    return account_id is not None and members.exists()


def _can_erase_others(principal: Principal, target: NamespaceTarget) -> bool:
    """Return whether the member may erase this person. The owner may erase any, an admin people without an account."""
    role = principal.get_role(target.team_id)
    if role == Role.OWNER:
        return True
    subject = target.parsed.ids[0]
    account_id = find_player(subject) or find_service_account_id(subject)
    account_id = account_id or permissions.find_account_id(target.parsed)
    return role == Role.ADMIN and account_id is None


def list_namespaces_of_person(team_id: UUID, subject: str) -> list[Namespace]:
    """Return the namespaces of the person and their test persons, and those of their conversations and runs."""
    host = get_host()
    texts = set(_list_persona_namespaces(team_id, subject))
    for person_id in (subject, *(parse_namespace(text).ids[0] for text in sorted(texts))):
        texts.add(resolve_namespace("user", {"user_id": person_id}))
        texts.update(host.list_namespaces_of_person(team_id, person_id))
    namespaces = Namespace.objects.unscoped().filter(team_id=team_id, text__in=texts)
    return list(namespaces.order_by("id"))


def _list_person_ids(team_id: UUID, subject: str, namespaces: Iterable[Namespace]) -> list[str]:
    """Return the ids that the audit log may have for the person and their test persons, even without any memory."""
    ids = {id_ for row in namespaces for id_ in find_external_ids(row.text)}
    return sorted({subject, *ids, *audit.list_personas(team_id, subject)})


def _list_run_ids(team_id: UUID, person_ids: Sequence[str]) -> list[str]:
    """Return the runs for the people, and those of before that wrote shared memory and are deleted."""
    host = get_host()
    run_ids = (host.list_runs_of_person(team_id, person_id) for person_id in person_ids)
    noted = list_noted_runs(team_id, person_ids)
    return list(dict.fromkeys(chain(chain.from_iterable(run_ids), noted)))


def _list_persona_namespaces(team_id: UUID, subject: str) -> list[str]:
    try:
        player = UUID(subject)
    except ValueError:
        return []
    namespaces = Namespace.objects.unscoped().filter(team_id=team_id, persona_of_id=player)
    return list(namespaces.values_list("text", flat=True))


def _count_rows(
    team_id: UUID, namespaces: list[Namespace], person_ids: Sequence[str]
) -> dict[str, int]:
    """Count the rows about the person by table, in memory and in accounts."""
    params: dict[str, Any] = {  # any SQL parameter
        "ids": [row.pk for row in namespaces],
        "texts": [row.text for row in namespaces],
        "team": team_id,
        "people": list(person_ids),
    }
    with connection.cursor() as cursor:
        cursor.execute(QUERIES["of_namespaces"], params)
        counts = dict(cursor.fetchall())
    counts["sharing"] = access.count_shared(namespaces)
    counts |= count_sources(team_id, person_ids, [row.pk for row in namespaces])
    counts[AUDIT_PERSONS_TABLE] = audit.count_persons(team_id, person_ids)
    counts[RUN_PEOPLE_TABLE] = len(list_noted_runs(team_id, person_ids))
    return counts


def _erase_namespaces(ids: list[UUID]) -> dict[str, int]:
    counts = dict.fromkeys(TABLES, 0)
    with connection.cursor() as cursor:
        for namespace_id in ids:
            cursor.execute("SELECT name, rows FROM memory_erase_namespace(%s)", [namespace_id])
            for name, count in cursor.fetchall():
                counts[name] += count
    return counts


def _erase_wiki_jobs(ids: list[UUID], person_ids: Sequence[str]) -> int:
    """Delete the wiki jobs of these namespaces, and those that the person asked for elsewhere."""
    with connection.cursor() as cursor:
        cursor.execute(QUERIES["delete_wiki_jobs"], {"ids": ids, "people": list(person_ids)})
        return int(cursor.rowcount)


def _count_audit_entries(
    team_id: UUID, namespaces: Iterable[Namespace], person_ids: Iterable[str]
) -> int:
    """Count the audit entries about the person. They are kept because they contain no memories."""
    texts = {row.text for row in namespaces} | {_build_name(person_id) for person_id in person_ids}
    forms = list(chain.from_iterable(audit.list_written_forms(team_id, sorted(texts)).values()))
    return AuditEntry.objects.unscoped().filter(team_id=team_id, subject__in=forms).count()


def _build_name(person_id: str) -> str:
    return f"user:{escape(person_id)}"


def _record(caller: MemoryCaller, receipt: Receipt) -> None:
    tables = {"tables": dict(receipt.tables), "left": dict(receipt.left)}
    subject = audit.anonymize(_build_name(receipt.subject))
    detail = {"namespaces": receipt.namespaces, "to_decide": len(receipt.to_decide), **tables}
    record(caller, "memory.erased", subject, detail, is_hidden=True)
