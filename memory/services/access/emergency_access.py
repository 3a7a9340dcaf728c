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

from django.db.models import F, Q, QuerySet, Window
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import RowNumber
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts import access as account_access
from accounts import audit
from accounts.errors import AccountsFault
from accounts.models import AuditEntry
from accounts.principals import Principal
from accounts.tenancy import reading, tenant
from config.retry import retry_on_conflict
from memory import permissions
from memory.core.errors import InvalidInput, MemoryFault, NotFound
from memory.core.scopes import parse_namespace, resolve_namespace
from memory.models import EmergencyAccess, Entry, Namespace
from memory.models.emergency_access import (
    EMERGENCY_VERB,
    build_notified_condition,
    build_owner_condition,
)
from memory.services.gateway.audit_lines import record, record_refusal
from memory.services.gateway.caller import MemoryCaller, select_visible
from memory.services.gateway.namespace_access import find_target


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
        account_access.check(caller.principal, EMERGENCY_VERB, caller.team_id)
        _check_request(reason, minutes)
        row, user_id = _find_private_namespace(caller, namespace), caller.principal.user_id
        assert user_id is not None  # noqa: S101  # the verb has no key's scope: only people have it
        now = timezone.now()
        access = EmergencyAccess.objects.unscoped().create(
            team_id=caller.team_id,
            namespace=row,
            by_id=user_id,
            reason=detail["reason"],
            created_at=now,
            expires_at=now + timedelta(minutes=minutes),
        )
        detail |= {"emergency_access": str(access.pk), "until": access.expires_at.isoformat()}
        record(caller, "memory.emergency_access_started", row.text, detail)
        return access


@retry_on_conflict
def end_emergency_access(caller: MemoryCaller, *, access_id: UUID) -> EmergencyAccess:
    """End an emergency access early. An access that has already ended is not changed."""
    with tenant([caller.team_id]):
        access = _lock_visible(caller, access_id)
        if access.is_open():
            access.ended_at, access.ended_by = timezone.now(), caller.principal.actor
            access.save(update_fields=["ended_at", "ended_by"])
            _record(caller, "memory.emergency_access_ended", access)
        return access


@retry_on_conflict
def acknowledge(caller: MemoryCaller, *, access_id: UUID) -> EmergencyAccess:
    """Record that the owner has seen the notice. The access stays in their list."""
    user_id = caller.principal.user_id
    with tenant([caller.team_id]):
        access = _lock_visible(caller, access_id)
        is_own = access.by_id == user_id
        if user_id is None or is_own or not is_notified(caller.principal, access):
            raise NotFound(_("Emergency access not found."))
        if user_id not in access.seen_by:
            access.seen_by = [*access.seen_by, user_id]
            access.save(update_fields=["seen_by"])
            _record(caller, "memory.emergency_access_acknowledged", access)
        return access


def list_subject_accesses(
    caller: MemoryCaller, *, subject: str, limit: int = 100, offset: int = 0
) -> list[EmergencyAccess]:
    """Return the emergency accesses to an external user's memory, for a key that names them."""
    namespace = resolve_namespace("user", {"user_id": subject})
    return list_emergency_accesses(caller, namespace=namespace, limit=limit, offset=offset)


def list_emergency_accesses(
    caller: MemoryCaller, *, namespace: str | None = None, limit: int = 100, offset: int = 0
) -> list[EmergencyAccess]:
    """Return the accesses that the caller may see, newest first: by them, to their memory, or all of the team."""
    with reading([caller.team_id]):
        if namespace is not None and caller.principal.kind != "user":
            accesses = _select_for_key(caller, namespace)
        else:
            accesses = select_visible(caller, EmergencyAccess)
            if namespace is not None:
                accesses = accesses.filter(namespace__text=namespace)
        return list(_sort_newest(accesses)[offset : offset + limit])


def load_emergency_access_page(
    caller: MemoryCaller, *, own_memory: bool, limit: int = 50, offset: int = 0
) -> EmergencyAccessPage:
    """Return a page, the newest first: the accesses to the caller's memory, or all others that the caller may see."""
    user_id = caller.principal.user_id
    if user_id is None:
        return EmergencyAccessPage([], 0, offset)
    condition = build_owner_condition(user_id)
    with tenant([caller.team_id]):
        visible = select_visible(caller, EmergencyAccess)
        accesses = visible.filter(condition if own_memory else ~condition)
        page = list(_sort_newest(accesses)[offset : offset + limit + 1])
        is_last = len(page) <= limit and (page or not offset)  # most pages need no count
        total = offset + len(page) if is_last else accesses.count()
        return EmergencyAccessPage(page[:limit], total, offset)


def list_current_accesses(principal: Principal, team_id: UUID) -> list[EmergencyAccess]:
    """Return the accesses for the notice on every page: open ones by the principal or to their memory, and ended ones
    to their memory that they have not acknowledged. An API key gets none.

    Most teams have never had one, which is looked up first: composing the query takes longer than running it.
    """
    user_id = principal.user_id
    if principal.kind != "user" or user_id is None:
        return []
    rows = EmergencyAccess.objects.unscoped().filter(team_id=team_id)
    if not rows.exists():
        return []
    to_own_memory = build_notified_condition(user_id)
    unseen = to_own_memory & ~Q(seen_by__contains=[user_id])
    is_open = (Q(by=user_id) | to_own_memory) & Q(ended_at=None, expires_at__gt=timezone.now())
    return list(_sort_newest(rows.filter(unseen | is_open))[:20])


def is_notified(principal: Principal, access: EmergencyAccess) -> bool:
    """Return whether the principal is notified: as the owner of the memory, or as a key that names the owner."""
    row, user_id = access.namespace, principal.user_id
    if principal.kind == "key":
        return True  # the key named the person
    return user_id is not None and user_id in (
        row.owner_user_id,
        row.persona_of_id,
        *row.participants,
    )


def summarize_reads(accesses: Sequence[EmergencyAccess]) -> Mapping[UUID, ReadSummary]:
    """Return the reads under each access from the audit log, where the viewer can't remove them, by one query."""
    if not accesses:
        return {}
    details_by_access: dict[UUID, list[dict[str, Any]]]  # JSON
    details_by_access = {access.pk: [] for access in accesses}
    with tenant({access.team_id for access in accesses}):
        for detail in _list_read_details(accesses):
            details_by_access[UUID(detail["emergency_access"])].append(detail)
    return {
        access_id: ReadSummary(len(details), tuple(dict.fromkeys(_list_entry_ids(details))))
        for access_id, details in details_by_access.items()
    }


def load_visible_entries(principal: Principal, ids: Sequence[UUID]) -> dict[UUID, Entry]:
    """Return the entries that the principal may see, by id."""
    if not ids:
        return {}
    entries = Entry.objects.visible_to(principal).filter(pk__in=ids)
    return {entry.pk: entry for entry in entries}


def _list_read_details(accesses: Sequence[EmergencyAccess]) -> Sequence[dict[str, Any]]:
    """Return the audit details of the reads, the oldest first and at most ``MAX_COUNTED_READS`` for each access."""
    forms = _list_audit_forms(accesses)
    filters = [_build_audit_filter(access, forms[access.namespace.text]) for access in accesses]
    log = AuditEntry.objects.unscoped().filter(reduce(or_, filters), success=True)
    reads = log.exclude(
        action__in=("memory.emergency_access_started", "memory.emergency_access_ended")
    )
    partition_columns: list[Any] = [F("team_id"), KeyTextTransform("emergency_access", "detail")]
    numbered = reads.annotate(
        nth=Window(RowNumber(), partition_by=partition_columns, order_by=F("seq").asc())
    )
    details = numbered.filter(nth__lte=MAX_COUNTED_READS).order_by("team_id", "seq")
    return list(details.values_list("detail", flat=True))


def _list_audit_forms(accesses: Sequence[EmergencyAccess]) -> Mapping[str, list[str]]:
    """Return the forms in which the audit logs of the teams write each namespace."""
    texts: dict[UUID, set[str]] = defaultdict(set)
    for access in accesses:
        texts[access.team_id].add(access.namespace.text)
    forms: dict[str, list[str]] = defaultdict(list)
    for team_id, team_texts in texts.items():
        for text, variants in audit.list_written_forms(team_id, team_texts).items():
            forms[text] += variants
    return forms


def _build_audit_filter(access: EmergencyAccess, forms: Sequence[str]) -> Q:
    """Build the filter for the audit entries of one access. Subject and actor are in it because they are indexed."""
    return Q(
        team_id=access.team_id,
        actor=f"user:{access.by_id}",
        subject__in=forms,
        detail__emergency_access=str(access.pk),
        at__gte=access.created_at,
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
    target = find_target(caller, parse_namespace(namespace))
    if target.row is None:
        raise NotFound(_("No memory found under this name."))
    if not permissions.allows_emergency_access(target):
        raise InvalidInput(_("namespace: this is not private memory."))
    if permissions.is_allowed(caller.principal, "view", target):
        raise InvalidInput(_("namespace: you already have access to it."))
    return target.row


def _lock_visible(caller: MemoryCaller, access_id: UUID) -> EmergencyAccess:
    visible = select_visible(caller, EmergencyAccess).filter(pk=access_id)
    matches = visible.select_for_update(of=("self",)).select_related("namespace")
    access = matches.first()
    if access is None:
        raise NotFound(_("Emergency access not found."))
    return access


def _select_for_key(caller: MemoryCaller, namespace: str) -> QuerySet[EmergencyAccess]:
    """Select the accesses to an external user's memory for the key that names them, because they get no notice."""
    target = find_target(caller, parse_namespace(namespace))
    if target.row is None or not permissions.is_allowed(caller.principal, "view", target):
        raise NotFound(_("Namespace not found."))
    return EmergencyAccess.objects.unscoped().filter(team_id=caller.team_id, namespace=target.row)


def _sort_newest(accesses: QuerySet[EmergencyAccess]) -> QuerySet[EmergencyAccess]:
    return accesses.select_related("namespace", "by").order_by("-created_at", "-id")


def _record(caller: MemoryCaller, action: str, access: EmergencyAccess) -> None:
    record(caller, action, access.namespace.text, {"emergency_access": str(access.pk)})


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
