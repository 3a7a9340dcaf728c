"""Erase a person: everything memory keeps for them, history included, and no way back.

What is theirs: their own namespace, those of their test persons, of their conversations, and of the runs
that were for them; the host knows whose conversations and runs those are, and erases them as well. It ends with a
receipt: how many rows of each table went, the same question asked anew, and what stays.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts import access, audit
from accounts.models import AuditEntry, Membership, Role
from accounts.personas import find_key_id, find_player
from accounts.pseudonyms import find_outside_ids
from accounts.tenancy import tenant
from config.retry import retry_on_conflict
from config.sql import read_queries
from memory import permissions
from memory.core.errors import AccessDenied, MemoryFault, NotFound
from memory.core.policy import NO_LIMITS
from memory.core.scopes import ParsedNamespace, parse_namespace, resolve_namespace
from memory.host import get_host
from memory.models import Namespace
from memory.permissions import NamespaceTarget
from memory.providers.postgres import rows
from memory.routing import find_external_provider
from memory.services.gateway.audit_lines import record, record_refusal
from memory.services.gateway.caller import MemoryCaller


QUERIES: Final = read_queries("memory/sql/queries/counts.sql")

TABLES = (
    "memory_entry", "memory_revision", "memory_read", "memory_change", "memory_posting",
    "memory_embedding", "memory_group", "memory_proposal", "memory_curation", "memory_emergencyaccess",
    "memory_namespace",
)  # fmt: skip

PERSONS = "accounts_auditperson"  # whom the trail means by a pseudonym


@dataclass(frozen=True, slots=True)
class Receipt:
    """``tables``: rows that went, or would; ``left``: what asking anew found; ``kept``: what stays."""

    subject: str
    dry_run: bool
    at: datetime
    namespaces: int
    tables: Mapping[str, int]
    left: Mapping[str, int]
    kept: Mapping[str, int]


def erase(
    caller: MemoryCaller,
    *,
    subject: str,
    dry_run: bool = False,
    runs: bool = True,
    cleared: Counter[str] | None = None,
) -> Receipt:
    """The person themselves may, the key that names them, and who leads the team, who sees nothing of it.

    ``runs``: their conversations and runs as well. Outside people an admin may erase, members the owner.
    ``cleared`` is for who tries the whole again: what other providers cleared, of each namespace, is no
    part of a transaction, and a second try finds nothing there to count.
    """
    return _tried(caller, subject, dry_run, runs, Counter() if cleared is None else cleared)


@retry_on_conflict
def _tried(
    caller: MemoryCaller, subject: str, dry_run: bool, runs: bool, cleared: Counter[str]
) -> Receipt:
    with tenant([caller.team_id]):
        found = what_is_theirs(caller.team_id, subject)
        erase_in_host = partial(_erase_in_host, caller.team_id, subject, runs)
        persons = _in_words(caller.team_id, subject, found)
        named = audit.count_persons(caller.team_id, persons)
        _check(caller, subject, bool(found or named) or any(erase_in_host(dry_run=True).values()))
        trail = _in_the_trail(caller.team_id, found, persons)
        if dry_run:
            tables = left = _all_counted(caller.team_id, found, persons) | erase_in_host(
                dry_run=True
            )
        else:
            # What lies above memory is locked before it, everywhere: their runs first.
            others = erase_in_host(dry_run=False)
            rows.lock_namespaces(caller.team_id, [row.text for row in found])
            _clear_external(caller.team_id, found, cleared)
            tables = {"elsewhere": cleared.total(), "sharing": access.end_sharing(found)}
            tables |= _erased([row.pk for row in found]) | others
            # Last: what the trail says of the erasing so far still means them by their key.
            audit.forget_persons(caller.team_id, persons)
            tables |= {PERSONS: named}
            left = _all_counted(caller.team_id, found, persons) | erase_in_host(dry_run=True)
        receipt = Receipt(
            subject,
            dry_run,
            timezone.now(),
            len(found),
            tables,
            left,
            {"accounts_auditentry": trail},
        )
        if not dry_run:
            _record(caller, receipt)
    return receipt


def _erase_in_host(team_id: UUID, subject: str, runs: bool, *, dry_run: bool) -> dict[str, int]:
    return dict(get_host().erase_person(team_id, subject, dry_run=dry_run)) if runs else {}


def _all_counted(team_id: UUID, found: list[Namespace], persons: Sequence[str]) -> dict[str, int]:
    return _counted(team_id, found) | {
        "sharing": access.count_shared(found),
        PERSONS: audit.count_persons(team_id, persons),
    }


def _check(caller: MemoryCaller, subject: str, known: bool) -> None:
    principal, team_id = caller.principal, caller.team_id
    named = parse_namespace(resolve_namespace("user", {"user_id": subject}))
    place = NamespaceTarget(team_id, named, rows.find_namespace(team_id, named.text))
    if permissions.is_owner(principal, place):
        return
    known = known or _is_member(team_id, named)
    if known and principal.kind == "user" and _leads(principal.get_role(team_id), place):
        return
    fault: MemoryFault = NotFound(_("User not found."))
    if principal.kind == "key" and not principal.allows("memory:write"):
        fault = AccessDenied(
            _("This API key doesn't have the permission %(scope)s.") % {"scope": "memory:write"}
        )
    if known:  # who is nobody here gets no line, which would make somebody of them
        record_refusal(caller, "memory.erased", named.text, fault)
    raise fault


def _is_member(team_id: UUID, named: ParsedNamespace) -> bool:
    """Of whom nothing may be remembered yet: that is what their receipt says, then."""
    account = permissions.find_account_id(named)
    members = Membership.objects.unscoped().filter(team_id=team_id, user=account)
    return account is not None and members.exists()


def _leads(role: Role | None, place: NamespaceTarget) -> bool:
    """Whoever has an account here can ask for it themselves; the owner may for those who don't."""
    if role == Role.OWNER:
        return True
    subject = place.parsed.ids[0]
    own = find_player(subject) or find_key_id(subject) or permissions.find_account_id(place.parsed)
    return role == Role.ADMIN and own is None


def what_is_theirs(team_id: UUID, subject: str) -> list[Namespace]:
    """The person's own, their test persons', and those of the conversations and runs of each."""
    host = get_host()
    texts = set(_personas(team_id, subject))
    for one in (subject, *(parse_namespace(text).ids[0] for text in sorted(texts))):
        texts.add(resolve_namespace("user", {"user_id": one}))
        texts.update(host.list_namespaces_of_person(team_id, one))
    found = Namespace.objects.unscoped().filter(team_id=team_id, text__in=texts)
    return list(found.order_by("id"))


def _in_words(team_id: UUID, subject: str, found: Iterable[Namespace]) -> list[str]:
    """The ids by which the trail may mean them: their own, and their test persons', whose memory may be gone."""
    ids = {id_ for row in found for id_ in find_outside_ids(row.text)}
    return sorted({subject, *ids, *audit.list_personas(team_id, subject)})


def _personas(team_id: UUID, subject: str) -> list[str]:
    try:
        player = UUID(subject)
    except ValueError:
        return []
    found = Namespace.objects.unscoped().filter(team_id=team_id, persona_of_id=player)
    return list(found.values_list("text", flat=True))


def _counted(team_id: UUID, found: list[Namespace]) -> dict[str, int]:
    asked: dict[str, Any] = {  # what a statement takes
        "ids": [row.pk for row in found],
        "texts": [row.text for row in found],
        "team": team_id,
    }
    with connection.cursor() as cursor:
        cursor.execute(QUERIES["of_namespaces"], asked)
        return dict(cursor.fetchall())


def _erased(ids: list[UUID]) -> dict[str, int]:
    gone = dict.fromkeys(TABLES, 0)
    with connection.cursor() as cursor:
        for one in ids:
            cursor.execute("SELECT name, rows FROM memory_erase_namespace(%s)", [one])
            for name, count in cursor.fetchall():
                gone[name] += count
    return gone


def _clear_external(team_id: UUID, found: list[Namespace], cleared: Counter[str]) -> None:
    """Working memory another provider keeps; what it keeps of the past for ``as_of`` ends by itself."""
    for row in found:
        named = parse_namespace(row.text)
        if external := find_external_provider(team_id, named, NO_LIMITS):
            cleared[row.text] += external.provider.clear_namespace(row.text)


def _in_the_trail(team_id: UUID, found: Iterable[Namespace], persons: Iterable[str]) -> int:
    """The trail names namespaces and hashes of keys, never what was remembered; it can't be shortened."""
    texts = {row.text for row in found} | {f"user:{one}" for one in persons}
    ways = [
        way for each in audit.list_written_forms(team_id, sorted(texts)).values() for way in each
    ]
    return AuditEntry.objects.unscoped().filter(team_id=team_id, subject__in=ways).count()


def _record(caller: MemoryCaller, receipt: Receipt) -> None:
    detail: dict[str, Any] = {
        "namespaces": receipt.namespaces,
        "tables": dict(receipt.tables),
        "left": dict(receipt.left),
    }
    subject = audit.anonymize(f"user:{receipt.subject}")
    record(caller, "memory.erased", subject, detail, is_hidden=True)
