"""Emergency access: look into somebody's private memory, with a reason, for a while, and they are told.

Reading alone. It ends by itself at the instant it says, or earlier by the hand of who looked, of whose
memory it is, or of another who could have. Every read under it names it in the audit trail.
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
from memory.models.emergency_access import VERB, is_into_what_is, is_of
from memory.permissions import NamespaceTarget
from memory.providers.postgres import rows
from memory.services.gateway.audit_lines import record, record_refusal
from memory.services.gateway.caller import MemoryCaller


MINUTES = (15, 60, 240)
LONGEST_REASON = 500
MOST_LOOKS = 1_000  # that are counted


@dataclass(frozen=True, slots=True)
class Looked:
    """How often it was used, and for what: how many namespaces' lists, and which entries."""

    times: int
    entries: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class EmergencyAccessPage:
    """``total``: all there are, of which these are some."""

    emergency_accesses: list[EmergencyAccess]
    total: int
    offset: int


@retry_on_conflict
def start_emergency_access(
    caller: MemoryCaller, *, namespace: str, reason: str, minutes: int
) -> EmergencyAccess:
    """Its person sees it at once."""
    detail: dict[str, Any] = {"minutes": minutes, "reason": reason.strip()[:LONGEST_REASON]}
    with _refusals_noted(caller, namespace, "memory.emergency_access_started", detail):
        access.check(caller.principal, VERB, caller.team_id)
        _check_asked(reason, minutes)
        row, who = _private_row(caller, namespace), caller.principal.user_id
        assert who is not None  # noqa: S101  # the verb has no key's scope: only people have it
        now = timezone.now()
        emergency_access = EmergencyAccess.objects.unscoped().create(
            team_id=caller.team_id,
            namespace=row,
            by_id=who,
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
    """By hand. What is over already stays as it was."""
    with tenant([caller.team_id]):
        emergency_access = _visible(caller, access_id, lock=True)
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
    """They have seen it; it stays in the list."""
    who = caller.principal.user_id
    with tenant([caller.team_id]):
        emergency_access = _visible(caller, access_id, lock=True)
        if (
            who is None
            or not is_told(caller.principal, emergency_access)
            or emergency_access.by_id == who
        ):
            raise NotFound(_("Emergency access not found."))
        if who not in emergency_access.seen_by:
            emergency_access.seen_by = [*emergency_access.seen_by, who]
            emergency_access.save(update_fields=["seen_by"])
            record(
                caller,
                "memory.emergency_access_acknowledged",
                emergency_access.namespace.text,
                {"emergency_access": str(emergency_access.pk)},
            )
        return emergency_access


def looks_into(
    caller: MemoryCaller, *, subject: str, limit: int = 100, offset: int = 0
) -> list[EmergencyAccess]:
    """For the programme that names an outside person: who looked into what is remembered about them."""
    theirs = resolve_namespace("user", {"user_id": subject})
    return list_emergency_accesses(caller, namespace=theirs, limit=limit, offset=offset)


def list_emergency_accesses(
    caller: MemoryCaller, *, namespace: str | None = None, limit: int = 100, offset: int = 0
) -> list[EmergencyAccess]:
    """Newest first: one's own looks, those into one's own memory, and for who could look, all of the team."""
    with tenant([caller.team_id]):
        if namespace is not None and caller.principal.kind != "user":
            return _of_what_a_key_names(caller, namespace, limit, offset)
        found = EmergencyAccess.objects.visible_to(caller.principal).filter(team_id=caller.team_id)
        if namespace is not None:
            found = found.filter(namespace__text=namespace)
        found = found.select_related("namespace", "by")
        return list(found.order_by("-created_at", "-id")[offset : offset + limit])


def load_emergency_access_page(
    caller: MemoryCaller, *, into_own: bool, limit: int = 50, offset: int = 0
) -> EmergencyAccessPage:
    """Newest first: a person's page of those into what is theirs, or of all others that they may see."""
    who = caller.principal.user_id
    if who is None:
        return EmergencyAccessPage([], 0, offset)
    own = is_into_what_is(who)
    with tenant([caller.team_id]):
        seen = EmergencyAccess.objects.visible_to(caller.principal).filter(team_id=caller.team_id)
        found = seen.filter(own if into_own else ~own).order_by("-created_at", "-id")
        rows_ = list(found.select_related("namespace", "by")[offset : offset + limit + 1])
        is_last = len(rows_) <= limit and (rows_ or not offset)  # most need no counting
        return EmergencyAccessPage(
            rows_[:limit], offset + len(rows_) if is_last else found.count(), offset
        )


def notices(principal: Principal, team_id: UUID) -> list[EmergencyAccess]:
    """What they have not yet said they saw; behind the wall that the caller opened."""
    who = principal.user_id
    found = current(principal, team_id)
    return [one for one in found if one.by_id != who and who not in one.seen_by]


def current(principal: Principal, team_id: UUID) -> list[EmergencyAccess]:
    """For the top of pages, in one query: what they haven't seen, and what is open still, theirs or into theirs."""
    who = principal.user_id
    if principal.kind != "user" or who is None:
        return []
    unseen = is_of(who) & ~Q(seen_by__contains=[who])
    runs = (Q(by=who) | is_of(who)) & Q(ended_at=None, expires_at__gt=timezone.now())
    found = EmergencyAccess.objects.unscoped().filter(unseen | runs, team_id=team_id)
    found = found.select_related("by", "namespace").order_by("-created_at", "-id")
    return list(found[:20])


def is_told(principal: Principal, emergency_access: EmergencyAccess) -> bool:
    """Whether it is into what is theirs; ``emergency_access`` with its namespace."""
    row, who = emergency_access.namespace, principal.user_id
    if principal.kind == "key":
        return True  # it named the person
    return who is not None and who in (row.owner_user_id, row.persona_of_id, *row.participants)


def what_was_read(emergency_accesses: Sequence[EmergencyAccess]) -> Mapping[UUID, Looked]:
    """From the trail, where who looked can't take it back; of all of them by one question."""
    if not emergency_accesses:
        return {}
    found: dict[UUID, list[dict[str, Any]]] = {
        one.pk: [] for one in emergency_accesses
    }  # details, as JSON
    with tenant({one.team_id for one in emergency_accesses}):
        for detail in _looks(emergency_accesses):
            found[UUID(detail["emergency_access"])].append(detail)
    return {
        one: Looked(len(details), tuple(dict.fromkeys(_entries_in(details))))
        for one, details in found.items()
    }


def entries_named(principal: Principal, ids: Sequence[UUID]) -> dict[UUID, Entry]:
    """What was looked at, for those whose it is; what has gone since is left out."""
    if not ids:
        return {}
    found = Entry.objects.visible_to(principal).filter(pk__in=ids)
    return {one.pk: one for one in found}


def _looks(emergency_accesses: Sequence[EmergencyAccess]) -> Sequence[dict[str, Any]]:
    """The details of what was read under them, the oldest first, and of each only so many."""
    under = KeyTextTransform("emergency_access", "detail")
    written = _written(emergency_accesses)
    theirs = reduce(or_, (_under(one, written[one.namespace.text]) for one in emergency_accesses))
    trail = AuditEntry.objects.unscoped().filter(theirs, success=True)
    read = trail.exclude(
        action__in=("memory.emergency_access_started", "memory.emergency_access_ended")
    )
    counted = read.annotate(
        nth=Window(RowNumber(), partition_by=[F("team_id"), under], order_by=F("seq").asc())
    )
    details = counted.filter(nth__lte=MOST_LOOKS).order_by("team_id", "seq")
    return list(details.values_list("detail", flat=True))


def _written(emergency_accesses: Sequence[EmergencyAccess]) -> Mapping[str, list[str]]:
    """How the trail has their namespaces; of several teams each may have its own way."""
    texts: dict[UUID, set[str]] = defaultdict(set)
    for one in emergency_accesses:
        texts[one.team_id].add(one.namespace.text)
    found: dict[str, list[str]] = defaultdict(list)
    for team_id, of_team in texts.items():
        for text, ways in audit.list_written_forms(team_id, of_team).items():
            found[text] += ways
    return found


def _under(emergency_access: EmergencyAccess, written: Sequence[str]) -> Q:
    """Subject and actor are said as well: by those the trail has indexes."""
    return Q(
        team_id=emergency_access.team_id,
        actor=f"user:{emergency_access.by_id}",
        subject__in=written,
        detail__emergency_access=str(emergency_access.pk),
        at__gte=emergency_access.created_at,
    )


def _entries_in(details: Sequence[Mapping[str, Any]]) -> Iterator[UUID]:
    return (UUID(one["entry"]) for one in details if one.get("entry"))


def _check_asked(reason: str, minutes: int) -> None:
    if not reason.strip():
        raise InvalidInput(_("reason: required. The user will see it."))
    if len(reason.strip()) > LONGEST_REASON:
        raise InvalidInput(_("reason: at most %(most)d characters.") % {"most": LONGEST_REASON})
    if minutes not in MINUTES:
        offered = ", ".join(map(str, MINUTES))
        raise InvalidInput(_("minutes: use one of %(offered)s.") % {"offered": offered})


def _private_row(caller: MemoryCaller, namespace: str) -> Namespace:
    named = parse_namespace(namespace)
    place = NamespaceTarget(caller.team_id, named, rows.find_namespace(caller.team_id, named.text))
    if place.row is None:
        raise NotFound(_("No memory found under this name."))
    if not permissions.allows_emergency_access(place):
        raise InvalidInput(_("namespace: this is not private memory."))
    if permissions.is_allowed(caller.principal, "view", place):
        raise InvalidInput(_("namespace: you already have access to it."))
    return place.row


def _visible(caller: MemoryCaller, access_id: UUID, *, lock: bool = False) -> EmergencyAccess:
    rows_ = EmergencyAccess.objects.visible_to(caller.principal).filter(
        team_id=caller.team_id, pk=access_id
    )
    found = (rows_.select_for_update(of=("self",)) if lock else rows_).select_related("namespace")
    emergency_access = found.first()
    if emergency_access is None:
        raise NotFound(_("Emergency access not found."))
    return emergency_access


def _of_what_a_key_names(
    caller: MemoryCaller, namespace: str, limit: int, offset: int
) -> list[EmergencyAccess]:
    """An outside person has no account to be told by; the programme that speaks for them is."""
    named = parse_namespace(namespace)
    place = NamespaceTarget(caller.team_id, named, rows.find_namespace(caller.team_id, named.text))
    if place.row is None or not permissions.is_allowed(caller.principal, "view", place):
        raise NotFound(_("Namespace not found."))
    found = EmergencyAccess.objects.unscoped().filter(team_id=caller.team_id, namespace=place.row)
    ordered = found.select_related("namespace", "by").order_by("-created_at", "-id")
    return list(ordered[offset : offset + limit])


@contextmanager
def _refusals_noted(
    caller: MemoryCaller, subject: str, action: str, detail: Mapping[str, Any]
) -> Iterator[None]:
    """One transaction; a refusal rolls it back and is written down all the same."""
    try:
        with tenant([caller.team_id]):
            yield
    except (MemoryFault, AccountsFault) as fault:
        if caller.team_id in caller.principal.team_ids:
            with tenant([caller.team_id]):
                record_refusal(caller, action, subject, fault, detail)
        raise
