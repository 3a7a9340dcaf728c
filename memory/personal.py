"""Load the memory about a user for that user: their own and that of their test users."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db.models import Count, Max, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts import access
from accounts.tenancy import reading
from memory import naming, provenance
from memory.core.errors import AccessDenied, NotFound
from memory.core.records import MemoryEntry
from memory.host import RunDescription
from memory.logic.profile import MAX_ENTRY_TOKENS, build_profile, build_profile_query
from memory.models import Entry, Namespace, Read, Revision
from memory.models.entries import Operation, TierChoice
from memory.models.namespaces import ScopeChoice
from memory.providers.postgres.folding import contains
from memory.providers.postgres.newest import fetch_newest
from memory.providers.postgres.provider import search
from memory.services.access.pause_state import Pause, get_active_pause
from memory.services.gateway.caller import MemoryCaller
from memory.services.review.review_sample import find_demo_namespace


MAX_SHOWN: Final = 200  # other entries are found by searching
MAX_FORGOTTEN: Final = 50
FORGOTTEN_PERIOD: Final = timedelta(days=30)
CHOSEN_REASON: Final = "use in prompts chosen"
_EMPTY: Final = "–"
_LINE_LENGTH: Final = 80


@dataclass(frozen=True, slots=True)
class PersonalEntry:
    """An entry with the run it was learned in, if the reader may see it, and the number of runs that recalled it."""

    row: Entry
    text: str
    run: RunDescription | None = None
    uses: int = 0
    corrected_at: datetime | None = None  # the last edit by the person
    used_at: datetime | None = None
    used_in: RunDescription | None = None  # the newest run that recalled it

    @property
    def is_manual(self) -> bool:
        return not self.row.source_run

    @property
    def is_text(self) -> bool:
        return isinstance(self.row.value, str)

    @property
    def is_self_explanatory(self) -> bool:
        """Return whether the value makes sense without its key. A number or a list alone doesn't."""
        return isinstance(self.row.value, str | Mapping)

    @property
    def is_waiting(self) -> bool:
        return self.row.tier == TierChoice.QUARANTINE


@dataclass(frozen=True, slots=True)
class ProfileLine:
    """An entry that is in the profile, or for which it has no room."""

    entry: MemoryEntry
    text: str


@dataclass(frozen=True, slots=True)
class PersonProfile:
    """Every prompt about the user gets these entries. The tokens are those of the entries alone."""

    entries: tuple[ProfileLine, ...]
    left_out: tuple[ProfileLine, ...]
    tokens: int
    max_tokens: int = MAX_ENTRY_TOKENS


@dataclass(frozen=True, slots=True)
class PersonMemory:
    """The newest entries about one user: the reader or a test user. A search shows no profile."""

    namespace: Namespace
    name: str
    is_own: bool
    entries: tuple[PersonalEntry, ...]
    profile: PersonProfile | None = None


@dataclass(frozen=True, slots=True)
class PersonalMemory:
    """The memory of a user and their test users. ``total`` counts all living entries, even if a search shows fewer."""

    people: tuple[PersonMemory, ...]
    total: int
    shown_count: int
    pause: Pause | None
    is_shared: bool = False  # whether it is shared with members
    forgotten: tuple[PersonalEntry, ...] = ()  # within ``FORGOTTEN_PERIOD``, the newest first


def load_personal_memory(caller: MemoryCaller, *, text: str = "") -> PersonalMemory:
    """Return the caller's own memory and that of their test users: the newest entries, or those with the text."""
    user_id = caller.principal.user_id
    with reading([caller.team_id]):
        namespaces = _list_own_namespaces(caller)
        ids = [row.pk for row in namespaces]
        # Any: the manager's queryset is untyped
        visible: Any = Entry.objects.visible_to(caller.principal)
        living = visible.living().filter(namespace_id__in=ids)
        rows = _search_text(living, text) if text else _list_newest(caller, namespaces)
        entries = _add_sources(caller, rows)
        total = living.count() if text or len(rows) == MAX_SHOWN else len(rows)
        forgotten = _list_recently_forgotten(visible.filter(namespace_id__in=ids))
        own = next((row for row in namespaces if row.owner_user_id == user_id), None)
        is_shared = own is not None and any(grant.user for grant in access.list_grants(own))
        profiles = {row.pk: _load_profile(row) for row in namespaces if row.entry_count}
    by_namespace: dict[UUID, list[PersonalEntry]] = defaultdict(list)
    for row in rows:
        by_namespace[row.namespace_id].append(entries[row.pk])
    people = tuple(
        PersonMemory(
            named_row.row,
            named_row.title,
            named_row.is_own,
            tuple(by_namespace[named_row.row.pk]),
            None if text else profiles.get(named_row.row.pk),
        )
        for named_row in naming.name_namespaces(namespaces, reader_id=user_id)
    )
    pause = get_active_pause(own, timezone.now())
    return PersonalMemory(people, total, len(rows), pause, is_shared, forgotten)


def load_personal_entries(
    caller: MemoryCaller, *, ids: Sequence[UUID]
) -> Mapping[UUID, PersonalEntry]:
    """Return the entries that the caller may see, forgotten ones included, by id."""
    if not ids:
        return {}
    with reading([caller.team_id]):
        rows = Entry.objects.visible_to(caller.principal).filter(team_id=caller.team_id, pk__in=ids)
        return {row.pk: PersonalEntry(row, format_value(row.value)) for row in rows}


def find_own_entry(caller: MemoryCaller, *, entry_id: UUID) -> PersonalEntry:
    """Return an entry about the caller, forgotten or not. Raise ``NotFound`` for any other."""
    with reading([caller.team_id]):
        ids = [row.pk for row in _list_own_namespaces(caller)]
        rows = Entry.objects.visible_to(caller.principal).filter(pk=entry_id, namespace_id__in=ids)
        row = rows.select_related("namespace").first()
        if row is None:
            raise NotFound(_("Memory not found."))
        return _add_sources(caller, [row])[row.pk]


def load_profile_of(caller: MemoryCaller, *, entry_id: UUID) -> PersonMemory:
    """Return the profile of the user whom an entry of the caller is about, without other entries."""
    entry = find_own_entry(caller, entry_id=entry_id)
    namespace = find_own_namespace(caller, namespace_id=entry.row.namespace_id)
    with reading([caller.team_id]):
        return PersonMemory(
            namespace, "", is_own=False, entries=(), profile=_load_profile(namespace)
        )


def find_own_namespace(caller: MemoryCaller, *, namespace_id: UUID) -> Namespace:
    with reading([caller.team_id]):
        rows = {row.pk: row for row in _list_own_namespaces(caller)}
    if namespace_id not in rows:
        raise NotFound(_("Namespace not found."))
    return rows[namespace_id]


def format_value(value: object) -> str:
    """Return a remembered value as text: a string as it is, any other value as a list of lines."""
    if isinstance(value, Mapping) and value:
        return "\n".join(_format_member(str(name), item) for name, item in value.items())
    if isinstance(value, list) and value:
        return "\n".join(_indent("· ", format_value(item)) for item in value)
    return _format_scalar(value)


def _format_member(name: str, value: object) -> str:
    """Return the name with a short value beside it or a longer one below it."""
    if not isinstance(value, Mapping | list) or not value:
        return f"{name}: {_format_scalar(value)}"
    if isinstance(value, list) and not any(isinstance(item, Mapping | list) for item in value):
        line = f"{name}: {', '.join(map(_format_scalar, value))}"
        if len(line) <= _LINE_LENGTH:
            return line
    return f"{name}:\n{_indent('  ', format_value(value))}"


def _format_scalar(value: object) -> str:
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if value is None or value in ({}, []):
        return _EMPTY
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _indent(prefix: str, text: str) -> str:
    return prefix + text.replace("\n", "\n" + " " * len(prefix))


def _load_profile(namespace: Namespace) -> PersonProfile:
    hits = search(namespace, build_profile_query(namespace.text), timezone.now())
    profile = build_profile(hits)
    return PersonProfile(
        _build_lines(profile.entries), _build_lines(profile.left_out), profile.entry_tokens
    )


def _build_lines(entries: Sequence[MemoryEntry]) -> tuple[ProfileLine, ...]:
    return tuple(ProfileLine(entry, format_value(entry.value)) for entry in entries)


def _list_own_namespaces(caller: MemoryCaller) -> list[Namespace]:
    if caller.principal.kind != "user":
        raise AccessDenied(_("API keys have to name the user."))
    rows, user_id = _filter_own_namespaces(caller), caller.principal.user_id
    return sorted(rows, key=lambda row: (row.owner_user_id != user_id, row.text))


def _filter_own_namespaces(caller: MemoryCaller) -> QuerySet[Namespace]:
    is_own = Q(owner_user=caller.principal.user_id) | Q(persona_of=caller.principal.user_id)
    own_namespaces = Namespace.objects.visible_to(caller.principal).filter(
        is_own, team_id=caller.team_id, scope=ScopeChoice.USER
    )
    return own_namespaces.exclude(text=find_demo_namespace(caller))  # it is about nobody


def _list_newest(caller: MemoryCaller, namespaces: Sequence[Namespace]) -> list[Entry]:
    own_namespaces, loaded = _filter_own_namespaces(caller), {row.pk: row for row in namespaces}
    return fetch_newest(own_namespaces, caller.team_id, timezone.now(), MAX_SHOWN, loaded=loaded)


def _search_text(living: Any, text: str) -> list[Entry]:  # Any: as above
    return list(living.filter(contains("text", text)).order_by("-updated_at", "-id")[:MAX_SHOWN])


def _list_recently_forgotten(visible: Any) -> tuple[PersonalEntry, ...]:  # Any: as above
    now = timezone.now()
    not_expired = Q(expires_at=None) | Q(expires_at__gt=now)
    forgotten = visible.filter(not_expired, deleted_at__gt=now - FORGOTTEN_PERIOD)
    rows = forgotten.order_by("-deleted_at", "-id")[:MAX_FORGOTTEN]
    return tuple(PersonalEntry(row, format_value(row.value)) for row in rows)


def _add_sources(caller: MemoryCaller, rows: Sequence[Entry]) -> dict[UUID, PersonalEntry]:
    """Return the entries with their runs, reads and corrections, by entry id."""
    reads = _count_reads(rows)
    newest_readers = _find_newest_readers(rows) if reads else {}
    runs = {row.source_run for row in rows} | set(newest_readers.values())
    descriptions = provenance.load_provenance(caller.principal, (), runs).runs
    corrections = _find_corrections(caller, rows)
    return {
        row.pk: PersonalEntry(
            row,
            format_value(row.value),
            descriptions.get(row.source_run),
            uses,
            corrections.get(row.pk),
            used_at,
            descriptions.get(newest_readers.get(row.pk, "")),
        )
        for row in rows
        for uses, used_at in [reads.get(row.pk, (0, None))]
    }


def _find_corrections(caller: MemoryCaller, rows: Sequence[Entry]) -> dict[UUID, datetime]:
    """Return when the person last edited each entry by hand. Entries without such an edit are missing."""
    changed_ids = [row.pk for row in rows if row.revision > 1]
    if not changed_ids:
        return {}
    edits = Revision.objects.unscoped().filter(
        entry__in=changed_ids, actor=caller.principal.actor, operation=Operation.EDIT, run_id=""
    )
    revisions = edits.exclude(reason=CHOSEN_REASON)  # which left the text as it was
    return dict(revisions.order_by().values_list("entry").annotate(Max("at")))


def _count_reads(rows: Sequence[Entry]) -> dict[UUID, tuple[int, datetime | None]]:
    """Return the number of runs that read each entry, and the time of the last read."""
    reads = Read.objects.unscoped().filter(entry__in=[row.pk for row in rows]).order_by()
    counts = reads.values_list("entry").annotate(Count("run_id", distinct=True), Max("at"))
    return {entry_id: (runs, last_at) for entry_id, runs, last_at in counts}


def _find_newest_readers(rows: Sequence[Entry]) -> dict[UUID, str]:
    """Return the id of the run that read each entry last, by entry id."""
    reads = Read.objects.unscoped().filter(entry__in=[row.pk for row in rows])
    newest = reads.order_by("entry_id", "-at", "-id").distinct("entry_id")
    return dict(newest.values_list("entry_id", "run_id"))
