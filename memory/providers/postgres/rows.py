"""Writing rows: entry, revision, counts, together or not at all. The caller holds the transaction.

A namespace's row lock puts its writers in line; the counters move by one conditional UPDATE, so
that with room for one more exactly one of two gets it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NoReturn
from uuid import UUID

from django.db import connection
from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext as _

from memory.core.entry_codec import CONTENT, get_columns, get_state
from memory.core.errors import AlreadyExists, QuotaExceeded
from memory.core.policy import MemorySecurityPolicy, check_room
from memory.core.records import MemoryEntry, Source, StoreParams, Tier
from memory.core.scopes import Scope, parse_namespace
from memory.core.values import search_text, size_of
from memory.models import Entry, Group, Namespace, Revision
from memory.models.entries import Operation
from memory.providers.postgres.indexing import Index
from memory.providers.postgres.fixed_queries import Select
from memory.providers.postgres.writing import Act as Act
from memory.providers.postgres.writing import Room, lock_for_write, state_before_write, write_entry
from memory.providers.postgres.writing import WriteState as WriteState


Entries = QuerySet[Entry]


@dataclass(frozen=True, slots=True)
class Ownership:
    """The owner, the persona's person and the participants that a new namespace gets; see ``memory.permissions``."""

    owner_user_id: UUID | None = None
    persona_of_id: UUID | None = None
    participants: tuple[UUID, ...] = ()


NOBODY = Ownership()
# Every run has its own, for a while: they count towards no limit of how many a team may have.
OF_RUNS = frozenset({Scope.RUN.value, Scope.RUN_METADATA.value})

MOST_BYTES = 64 * 1024 * 1024  # of values a statement

_FIND = Select(Namespace, "WHERE team_id = %s AND text = %s")
_LOCK = Select(Namespace, "WHERE team_id = %s AND text = %s FOR UPDATE")
_LIVING_KEY = Select(
    Entry, "WHERE team_id = %s AND namespace_id = %s AND key = %s AND deleted_at IS NULL"
)
_OVER = Select(
    Entry, "WHERE namespace_id = %s AND deleted_at IS NULL AND expires_at <= %s ORDER BY id"
)
_NUMBERED = Select(
    Entry,
    "WHERE namespace_id = %s AND number = ANY(string_to_array(%s, ',')::int[])"
    " AND deleted_at IS NULL",
)


def find_namespace(team_id: UUID, text: str) -> Namespace | None:
    return _FIND.one(team_id, text)


def lock_namespace(team_id: UUID, text: str) -> Namespace | None:
    return _LOCK.one(team_id, text)


def lock_namespaces(team_id: UUID, texts: Iterable[str]) -> list[Namespace]:
    """Lock those of the namespaces that exist, in id order and at once, so that two writers cannot deadlock."""
    found = Namespace.objects.unscoped().filter(team_id=team_id, text__in=set(texts))
    return list(found.order_by("id").select_for_update())


def claim_namespace(
    team_id: UUID, text: str, ownership: Ownership = NOBODY, *, most: int | None = None
) -> Namespace:
    """The namespace's locked row, made if there is none; two makers end up with the same one."""
    found = lock_namespace(team_id, text)
    if found is None:
        found = _make_namespace(team_id, text, ownership, most)
    _join_in(found, ownership.participants)
    return found


def claim_to_write(
    known: Namespace, key: str, act: Act, ownership: Ownership = NOBODY
) -> WriteState | None:
    """Lock a known namespace as ``claim_namespace`` does, and read in the same statement what ``write`` needs first.

    Return None if the namespace is gone since it was found.
    """
    state = lock_for_write(known, key, act)
    if state is not None:
        _join_in(known, ownership.participants)
    return state


def write(
    namespace: Namespace,
    params: StoreParams,
    act: Act,
    policy: MemorySecurityPolicy,
    state: WriteState | None = None,
) -> tuple[Entry, int]:
    """Store an entry; return it and the revision it had before (0: it is new). ``namespace`` is locked.

    ``state`` was read under the same lock, and nothing has changed since.
    """
    if state is None or state.key != params.key:
        state = state_before_write(namespace, params.key, act)
    if state.has_expired:
        expire(namespace, act.at)
        state = state_before_write(namespace, params.key, act)
    old = state.entry
    if old is not None and state.is_repeated:
        return old, old.revision
    entry = old or Entry(team_id=namespace.team_id, namespace=namespace, created_at=act.at)
    before, was = (entry.revision, entry.size) if old else (0, 0)
    index = Index(namespace, state.next_number)
    index.take_out(entry)
    _fill(entry, params, act, size_of(params.value))
    entry.revision = before + 1
    index.put_in(entry)
    room = Room(int(old is None), entry.size - was)
    if not write_entry(entry, act, room, policy, index.postings()):
        _refuse_room(namespace, policy, room)
    index.save_related()
    return entry, before


def forget(namespace: Namespace, entries: Iterable[Entry], act: Act) -> list[Entry]:
    """Soft: the rows stay, one revision further. ``namespace`` is locked, ``entries`` are living."""
    gone = list(entries)
    index = Index(namespace)
    for entry in gone:
        index.take_out(entry)
        entry.deleted_at = act.at
        entry.updated_at = act.at
        entry.revision += 1
    Entry.objects.unscoped().filter(pk__in=[entry.pk for entry in gone]).update(
        deleted_at=act.at, updated_at=act.at, revision=F("revision") + 1
    )
    index.save()
    record_revisions(gone, act)
    _give_room(namespace, entries=len(gone), size=sum(entry.size for entry in gone))
    return gone


def put_back(
    namespace: Namespace, entry: Entry, wanted: Revision, act: Act, policy: MemorySecurityPolicy
) -> Entry:
    """The entry as ``wanted`` has it, as a new revision. An end that has passed is dropped."""
    expire(namespace, act.at)
    entry.refresh_from_db()
    if entry.is_forgotten and living(namespace).filter(key=entry.key).exists():
        raise AlreadyExists(
            _("“%(key)s” was stored again since. Forget the new entry first.") % {"key": entry.key}
        )
    size = size_of(wanted.value)
    take_room(
        namespace,
        policy,
        entries=int(entry.is_forgotten),
        size=size - (0 if entry.is_forgotten else entry.size),
    )
    index = Index(namespace)
    index.take_out(entry)
    restore_state(entry, wanted, act, size)
    index.put_in(entry)
    entry.save()
    index.save()
    record_revisions([entry], act)
    return entry


def restore_state(entry: Entry, wanted: Revision, act: Act, size: int) -> None:
    """Give the entry the state of a revision, as a new revision. An end that has passed is dropped."""
    _set_content(entry, wanted)
    ends = wanted.expires_at
    entry.expires_at = ends if ends is None or ends > act.at else None
    entry.text, entry.size = search_text(entry.key, entry.value), size
    entry.deleted_at, entry.updated_at = None, act.at
    entry.revision += 1


def _set_content(entry: Entry, source: StoreParams | Revision) -> None:
    for name, value in get_columns(source, CONTENT).items():
        setattr(entry, name, value)


def expire(namespace: Namespace, now: datetime) -> list[Entry]:
    """Retires what is over, so that its key and its room are free. ``namespace`` is locked."""
    over = _OVER.all(namespace.pk, now)
    if not over:
        return []
    return forget(namespace, over, Act(Operation.EXPIRE, now, actor="expiry"))


def by_numbers(namespace: Namespace, numbers: Iterable[int]) -> list[Entry]:
    """Living entries by their numbers in the namespace, in no order."""
    return _NUMBERED.all(namespace.pk, ",".join(map(str, numbers)))


def living(namespace: Namespace) -> Entries:
    return Entry.objects.unscoped().filter(namespace=namespace, deleted_at=None)


def visible(namespace: Namespace, now: datetime) -> Entries:
    """Return the entries that may be recalled."""
    fresh = Q(expires_at=None) | Q(expires_at__gt=now)
    return living(namespace).filter(fresh).exclude(tier=Tier.QUARANTINE)


def visible_key(namespace: Namespace, key: str, now: datetime) -> Entry | None:
    """Return the entry under a key, if it may be recalled."""
    row = _LIVING_KEY.one(namespace.team_id, namespace.pk, key)
    if row is None or row.tier == Tier.QUARANTINE:
        return None
    return None if row.expires_at is not None and row.expires_at <= now else row


def last_places(namespace: Namespace) -> dict[str, int]:
    """Return the last position that was given in each group."""
    groups = Group.objects.unscoped().filter(namespace=namespace)
    return dict(groups.values_list("name", "last_position"))


def entry_of(row: Entry, namespace: str) -> MemoryEntry:
    return MemoryEntry(
        id=str(row.id),
        namespace=namespace,
        key=row.key,
        created_at=row.created_at,
        updated_at=row.updated_at,
        source=Source(
            actor=row.source_actor,
            run_id=row.source_run,
            node_id=row.source_node,
            message=row.source_message,
            rule=row.source_rule,
        ),
        revision=row.revision,
        **get_state(row),
    )


def record_revisions(entries: Sequence[Entry], act: Act) -> None:
    largest = max((entry.size for entry in entries), default=0)
    Revision.objects.unscoped().bulk_create(
        [
            Revision(
                team_id=entry.team_id,
                entry=entry,
                number=entry.revision,
                operation=act.operation,
                **get_columns(entry),
                actor=act.actor,
                reason=act.reason,
                run_id=act.run_id,
                node_id=act.node_id,
                origin_key=act.origin_key,
                change_id=act.change_id,
                at=act.at,
            )
            for entry in entries
        ],
        batch_size=max(1, MOST_BYTES // max(1, largest)),
    )


def _fill(entry: Entry, params: StoreParams, act: Act, size: int) -> None:
    entry.key, entry.text, entry.size = params.key, search_text(params.key, params.value), size
    _set_content(entry, params)
    entry.updated_at = act.at
    ttl = params.ttl_seconds
    entry.expires_at = None if ttl is None else act.at + timedelta(seconds=ttl)
    source = params.source
    entry.source_actor, entry.source_rule = source.actor or act.actor, source.rule
    entry.source_run = source.run_id or act.run_id
    entry.source_node = source.node_id or act.node_id
    entry.source_message = source.message


def take_room(
    namespace: Namespace, policy: MemorySecurityPolicy, *, entries: int, size: int
) -> None:
    room = Namespace.objects.unscoped().filter(pk=namespace.pk)
    most, widest = policy.max_entries_per_namespace, policy.max_namespace_bytes
    if entries > 0 and most is not None:
        room = room.filter(entry_count__lte=most - entries)
    if size > 0 and widest is not None:
        room = room.filter(byte_count__lte=widest - size)
    taken = room.update(entry_count=F("entry_count") + entries, byte_count=F("byte_count") + size)
    if not taken:
        _refuse_room(namespace, policy, Room(entries, size))


def _refuse_room(namespace: Namespace, policy: MemorySecurityPolicy, room: Room) -> NoReturn:
    namespace.refresh_from_db(fields=["entry_count", "byte_count"])
    check_room(
        policy,
        namespace.text,
        entries=namespace.entry_count + room.entries,
        size=namespace.byte_count + room.size,
    )
    raise QuotaExceeded(_("%(namespace)s is full.") % {"namespace": namespace.text})


def _give_room(namespace: Namespace, *, entries: int, size: int) -> None:
    Namespace.objects.unscoped().filter(pk=namespace.pk).update(
        entry_count=F("entry_count") - entries, byte_count=F("byte_count") - size
    )


def _make_namespace(team_id: UUID, text: str, ownership: Ownership, most: int | None) -> Namespace:
    fresh = _fresh_namespace(team_id, text, ownership)
    if fresh.scope not in OF_RUNS:
        _check_namespaces(team_id, most)
    Namespace.objects.unscoped().bulk_create([fresh], ignore_conflicts=True)
    found = lock_namespace(team_id, text)
    if found is None:
        raise AlreadyExists(f"{text} could not be created; another transaction is creating it.")
    return found


def _fresh_namespace(team_id: UUID, text: str, ownership: Ownership) -> Namespace:
    parsed = parse_namespace(text)
    return Namespace(
        team_id=team_id,
        text=text,
        scope=str(parsed.scope),
        owner_user_id=ownership.owner_user_id,
        persona_of_id=ownership.persona_of_id,
        participants=list(ownership.participants),
        app_id=parsed.ids[0] if parsed.scope in (Scope.GLOBAL, Scope.WORKFLOW) else "",
        conversation_id=parsed.ids[0] if parsed.scope == Scope.CONVERSATION else "",
    )


def _join_in(namespace: Namespace, participants: Iterable[UUID]) -> None:
    missing = [one for one in participants if one not in namespace.participants]
    if missing:
        namespace.participants = [*namespace.participants, *missing]
        namespace.save(update_fields=["participants"])


def _check_namespaces(team_id: UUID, most: int | None) -> None:
    if most is None:
        return
    with connection.cursor() as cursor:  # counting is only exact while nobody else makes one
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtext('memory-namespaces'), hashtext(%s))",
            [str(team_id)],
        )
    counted = Namespace.objects.unscoped().filter(team_id=team_id).exclude(scope__in=OF_RUNS)
    if counted.count() >= most:
        raise QuotaExceeded(
            _("The team has reached its quota of %(most)d namespaces.") % {"most": most}
        )
