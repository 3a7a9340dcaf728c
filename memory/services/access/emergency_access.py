"""Emergency access: viewing a person's private memory for a limited time and with a reason; the person is notified.

It allows reading only. It ends automatically at the stated time, or earlier if the viewer, the owner of the memory or
another member with the permission ends it. Every read under it names it in the audit log.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import reduce
from operator import or_
from typing import Any
from uuid import UUID

from django.db.models import F, Q, Window
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import RowNumber
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts import access, audit
from accounts.errors import AccountsFault
from accounts.models import AuditEntry
from accounts.principals import Principal
from accounts.tenancy import tenant
from config.retry import retry_on_conflict
from memory import permissions
from memory.core.errors import InvalidInput, MemoryFault, NotFound
from memory.core.scopes import parse_namespace, resolve_namespace
from memory.models import EmergencyAccess, Entry, Namespace
from memory.models.emergency_access import VERB, build_notified_condition, build_owner_condition
from memory.permissions import NamespaceTarget
from memory.providers.postgres import rows
from memory.services.gateway.audit_lines import record, record_refusal
from memory.services.gateway.caller import MemoryCaller, select_visible


MINUTES = (15, 60, 240)
MAX_REASON_LENGTH = 500
MAX_COUNTED_READS = 1_000  # for each access


@dataclass(frozen=True, slots=True)
class ReadSummary:
    """The number of reads under an emergency access and the entries that were opened one by one."""

    count: int
    entries: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class EmergencyAccessPage:
    """One page of a list; ``total`` counts the whole list."""

    emergency_accesses: list[EmergencyAccess]
    total: int
    offset: int


@retry_on_conflict
def start_emergency_access(
    caller: MemoryCaller, *, namespace: str, reason: str, minutes: int
) -> EmergencyAccess:
    """Start an emergency access. The owner of the memory is notified at once."""
    detail: dict[str, Any] = {"minutes": minutes, "reason": reason.strip()[:MAX_REASON_LENGTH]}
    with _record_refusals(caller, namespace, "memory.emergency_access_started", detail):
        access.check(caller.principal, VERB, caller.team_id)
        _check_request(reason, minutes)
        row, user_id = _find_private_namespace(caller, namespace), caller.principal.user_id
        assert user_id is not None  # noqa: S101  # the verb has no key's scope: only people have it
        now = timezone.now()
        emergency_access = EmergencyAccess.objects.unscoped().create(
            team_id=caller.team_id,
            namespace=row,
            by_id=user_id,
            reason=detail["reason"],
            created_at=now,
            expires_at=now + timedelta(minutes=minutes),
        )
        detail |= {
            "emergency_access": str(emergency_access.pk),
            "until": emergency_access.expires_at.isoformat(),
        }
        record(caller, "memory.emergency_access_started", row.text, detail)
        return emergency_access


@retry_on_conflict
def end_emergency_access(caller: MemoryCaller, *, access_id: UUID) -> EmergencyAccess:
    """End an emergency access early. An access that has already ended is not changed."""
    with tenant([caller.team_id]):
        emergency_access = _find_visible(caller, access_id, lock=True)
        if emergency_access.is_open():
            emergency_access.ended_at, emergency_access.ended_by = (
                timezone.now(),
                caller.principal.actor,
            )
            emergency_access.save(update_fields=["ended_at", "ended_by"])
            text = emergency_access.namespace.text
            record(
                caller,
                "memory.emergency_access_ended",
                text,
                {"emergency_access": str(emergency_access.pk)},
            )
        return emergency_access


@retry_on_conflict
def acknowledge(caller: MemoryCaller, *, access_id: UUID) -> EmergencyAccess:
    """Record that the owner has seen the notice. The access stays in their list."""
    user_id = caller.principal.user_id
    with tenant([caller.team_id]):
        emergency_access = _find_visible(caller, access_id, lock=True)
        if (
            user_id is None
            or not is_notified(caller.principal, emergency_access)
            or emergency_access.by_id == user_id
        ):
            raise NotFound(_("Emergency access not found."))
        if user_id not in emergency_access.seen_by:
            emergency_access.seen_by = [*emergency_access.seen_by, user_id]
            emergency_access.save(update_fields=["seen_by"])
            record(
                caller,
                "memory.emergency_access_acknowledged",
                emergency_access.namespace.text,
                {"emergency_access": str(emergency_access.pk)},
            )
        return emergency_access


def list_subject_accesses(
    caller: MemoryCaller, *, subject: str, limit: int = 100, offset: int = 0
) -> list[EmergencyAccess]:
    """Return the emergency accesses to an external user's memory, for a key that names them."""
    namespace = resolve_namespace("user", {"user_id": subject})
    return list_emergency_accesses(caller, namespace=namespace, limit=limit, offset=offset)


def list_emergency_accesses(
    caller: MemoryCaller, *, namespace: str | None = None, limit: int = 100, offset: int = 0
) -> list[EmergencyAccess]:
    """Return the newest first: the caller's own, those to the caller's memory, and all of the team
    for those with the permission.
    """
    with tenant([caller.team_id]):
        if namespace is not None and caller.principal.kind != "user":
            return _list_for_key(caller, namespace, limit, offset)
        emergency_accesses = select_visible(caller, EmergencyAccess)
        if namespace is not None:
            emergency_accesses = emergency_accesses.filter(namespace__text=namespace)
        emergency_accesses = emergency_accesses.select_related("namespace", "by")
        return list(emergency_accesses.order_by("-created_at", "-id")[offset : offset + limit])


def load_emergency_access_page(
    caller: MemoryCaller, *, into_own: bool, limit: int = 50, offset: int = 0
) -> EmergencyAccessPage:
    """Return a page, the newest first: the accesses to the caller's memory, or all others that the caller may see."""
    user_id = caller.principal.user_id
    if user_id is None:
        return EmergencyAccessPage([], 0, offset)
    own_memory = build_owner_condition(user_id)
    with tenant([caller.team_id]):
        visible = select_visible(caller, EmergencyAccess)
        emergency_accesses = visible.filter(own_memory if into_own else ~own_memory).order_by(
            "-created_at", "-id"
        )
        page_rows = list(
            emergency_accesses.select_related("namespace", "by")[offset : offset + limit + 1]
        )
        is_last = len(page_rows) <= limit and (
            page_rows or not offset
        )  # saves the count on most pages
        return EmergencyAccessPage(
            page_rows[:limit],
            offset + len(page_rows) if is_last else emergency_accesses.count(),
            offset,
        )


def list_unacknowledged(principal: Principal, team_id: UUID) -> list[EmergencyAccess]:
    """Return the accesses that the principal has not acknowledged. The caller has set the tenant."""
    user_id = principal.user_id
    emergency_accesses = list_current(principal, team_id)
    return [
        emergency_access
        for emergency_access in emergency_accesses
        if emergency_access.by_id != user_id and user_id not in emergency_access.seen_by
    ]


def list_current(principal: Principal, team_id: UUID) -> list[EmergencyAccess]:
    """Return the accesses for the notice on every page, by one query: those that the principal has not acknowledged,
    and current ones by the principal or to their memory.
    """
    user_id = principal.user_id
    if principal.kind != "user" or user_id is None:
        return []
    unseen = build_notified_condition(user_id) & ~Q(seen_by__contains=[user_id])
    is_open = (Q(by=user_id) | build_notified_condition(user_id)) & Q(
        ended_at=None, expires_at__gt=timezone.now()
    )
    emergency_accesses = EmergencyAccess.objects.unscoped().filter(
        unseen | is_open, team_id=team_id
    )
    emergency_accesses = emergency_accesses.select_related("by", "namespace").order_by(
        "-created_at", "-id"
    )
    return list(emergency_accesses[:20])


def is_notified(principal: Principal, emergency_access: EmergencyAccess) -> bool:
    """Return whether the principal owns the memory. The access must come with its namespace."""
    row, user_id = emergency_access.namespace, principal.user_id
    if principal.kind == "key":
        return True  # the key named the person
    return user_id is not None and user_id in (
        row.owner_user_id,
        row.persona_of_id,
        *row.participants,
    )


def summarize_reads(emergency_accesses: Sequence[EmergencyAccess]) -> Mapping[UUID, ReadSummary]:
    """Return the reads under each access from the audit log, where the viewer can't remove them, by one query."""
    if not emergency_accesses:
        return {}
    details_by_access: dict[UUID, list[dict[str, Any]]] = {
        emergency_access.pk: [] for emergency_access in emergency_accesses
    }  # JSON
    with tenant({emergency_access.team_id for emergency_access in emergency_accesses}):
        for detail in _list_read_details(emergency_accesses):
            details_by_access[UUID(detail["emergency_access"])].append(detail)
    return {
        access_id: ReadSummary(len(details), tuple(dict.fromkeys(_list_entry_ids(details))))
        for access_id, details in details_by_access.items()
    }


def load_visible_entries(principal: Principal, ids: Sequence[UUID]) -> dict[UUID, Entry]:
    """Return the entries by id that the principal may see. Deleted entries are missing."""
    if not ids:
        return {}
    entries = Entry.objects.visible_to(principal).filter(pk__in=ids)
    return {entry.pk: entry for entry in entries}


def _list_read_details(emergency_accesses: Sequence[EmergencyAccess]) -> Sequence[dict[str, Any]]:
    """Return the audit details of the reads, the oldest first and at most ``MAX_COUNTED_READS`` for each access."""
    access_id = KeyTextTransform("emergency_access", "detail")
    forms = _list_audit_forms(emergency_accesses)
    filters = reduce(
        or_,
        (
            _build_audit_filter(emergency_access, forms[emergency_access.namespace.text])
            for emergency_access in emergency_accesses
        ),
    )
    log = AuditEntry.objects.unscoped().filter(filters, success=True)
    reads = log.exclude(
        action__in=("memory.emergency_access_started", "memory.emergency_access_ended")
    )
    numbered = reads.annotate(
        nth=Window(RowNumber(), partition_by=[F("team_id"), access_id], order_by=F("seq").asc())
    )
    details = numbered.filter(nth__lte=MAX_COUNTED_READS).order_by("team_id", "seq")
    return list(details.values_list("detail", flat=True))


def _list_audit_forms(emergency_accesses: Sequence[EmergencyAccess]) -> Mapping[str, list[str]]:
    """Return how the audit log writes the namespaces; each team may have its own form."""
    texts: dict[UUID, set[str]] = defaultdict(set)
    for emergency_access in emergency_accesses:
        texts[emergency_access.team_id].add(emergency_access.namespace.text)
    forms: dict[str, list[str]] = defaultdict(list)
    for team_id, team_texts in texts.items():
        for text, variants in audit.list_written_forms(team_id, team_texts).items():
            forms[text] += variants
    return forms


def _build_audit_filter(emergency_access: EmergencyAccess, forms: Sequence[str]) -> Q:
    """Build the filter of one access. It names subject and actor too because the audit log is indexed by them."""
    return Q(
        team_id=emergency_access.team_id,
        actor=f"user:{emergency_access.by_id}",
        subject__in=forms,
        detail__emergency_access=str(emergency_access.pk),
        at__gte=emergency_access.created_at,
    )


def _list_entry_ids(details: Sequence[Mapping[str, Any]]) -> Iterator[UUID]:
    return (UUID(detail["entry"]) for detail in details if detail.get("entry"))


def _check_request(reason: str, minutes: int) -> None:
    if not reason.strip():
        raise InvalidInput(_("reason: required. The user will see it."))
    if len(reason.strip()) > MAX_REASON_LENGTH:
        raise InvalidInput(_("reason: at most %(most)d characters.") % {"most": MAX_REASON_LENGTH})
    if minutes not in MINUTES:
        choices = ", ".join(map(str, MINUTES))
        raise InvalidInput(_("minutes: use one of %(offered)s.") % {"offered": choices})


def _find_private_namespace(caller: MemoryCaller, namespace: str) -> Namespace:
    parsed = parse_namespace(namespace)
    target = NamespaceTarget(
        caller.team_id, parsed, rows.find_namespace(caller.team_id, parsed.text)
    )
    if target.row is None:
        raise NotFound(_("No memory found under this name."))
    if not permissions.allows_emergency_access(target):
        raise InvalidInput(_("namespace: this is not private memory."))
    if permissions.is_allowed(caller.principal, "view", target):
        raise InvalidInput(_("namespace: you already have access to it."))
    return target.row


def _find_visible(caller: MemoryCaller, access_id: UUID, *, lock: bool = False) -> EmergencyAccess:
    visible = select_visible(caller, EmergencyAccess).filter(pk=access_id)
    matches = (visible.select_for_update(of=("self",)) if lock else visible).select_related(
        "namespace"
    )
    emergency_access = matches.first()
    if emergency_access is None:
        raise NotFound(_("Emergency access not found."))
    return emergency_access


def _list_for_key(
    caller: MemoryCaller, namespace: str, limit: int, offset: int
) -> list[EmergencyAccess]:
    """List the accesses for the key that names an external user, who has no account and therefore gets no notice."""
    parsed = parse_namespace(namespace)
    target = NamespaceTarget(
        caller.team_id, parsed, rows.find_namespace(caller.team_id, parsed.text)
    )
    if target.row is None or not permissions.is_allowed(caller.principal, "view", target):
        raise NotFound(_("Namespace not found."))
    emergency_accesses = EmergencyAccess.objects.unscoped().filter(
        team_id=caller.team_id, namespace=target.row
    )
    ordered = emergency_accesses.select_related("namespace", "by").order_by("-created_at", "-id")
    return list(ordered[offset : offset + limit])


@contextmanager
def _record_refusals(
    caller: MemoryCaller, subject: str, action: str, detail: Mapping[str, Any]
) -> Iterator[None]:
    """Run the block in one transaction, and record a refusal although it rolls the transaction back."""
    try:
        with tenant([caller.team_id]):
            yield
    except (MemoryFault, AccountsFault) as fault:
        if caller.team_id in caller.principal.team_ids:
            with tenant([caller.team_id]):
                record_refusal(caller, action, subject, fault, detail)
        raise
