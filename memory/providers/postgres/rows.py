"""Reads and writes entries with their revisions and counts, in a transaction that the caller holds.

A namespace's row lock makes its writers wait for each other. One conditional UPDATE changes the counters, so that
only one of two writers gets the last free space.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NoReturn
from uuid import UUID

from django.db import connection
from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext as _

from config.ids import uuid7
from config.sql import read_queries
from memory.core.entry_codec import CONTENT, STATE, get_columns, get_state
from memory.core.errors import AlreadyExists, QuotaExceeded
from memory.core.policy import MemorySecurityPolicy, check_room
from memory.core.records import (
    LESSON_CATEGORIES,
    MemoryEntry,
    PromptUse,
    Source,
    StoreParams,
    Tier,
)
from memory.core.scopes import Scope, parse_namespace
from memory.core.values import build_search_text, count_entry_bytes
from memory.models import Entry, Group, Namespace, Revision
from memory.models.conditions import build_holding_condition
from memory.models.entries import Operation
from memory.providers.postgres.fixed_queries import (
    Select,
    SelectEntries,
    fetch_prepared,
    fetch_rows,
)
from memory.providers.postgres.history_notes import make_room_for_notes
from memory.providers.postgres.indexing import Index
from memory.providers.postgres.vectors import RUN_SCOPES
from memory.providers.postgres.writing import (
    CONTEXT_COLUMNS,
    UsageChange,
    load_write_state,
    lock_for_write,
    write_entry,
)
from memory.providers.postgres.writing import WriteContext as WriteContext
from memory.providers.postgres.writing import WriteState as WriteState


Entries = QuerySet[Entry]


@dataclass(frozen=True, slots=True)
class Ownership:
    """The owner of a new namespace, the member who plays its persona, and its participants."""

    owner_user_id: UUID | None = None
    persona_of_id: UUID | None = None
    participants: tuple[UUID, ...] = ()


NO_OWNERSHIP = Ownership()

MAX_STATEMENT_BYTES = 64 * 1024 * 1024  # of values in one statement

_FIND = Select(Namespace, "WHERE team_id = %s AND text = %s")
_LOCK = Select(Namespace, "WHERE team_id = %s AND text = %s FOR UPDATE")
QUERIES: Final = read_queries("memory/sql/queries/entries.sql")
_STATE_COLUMNS = ", ".join(f'"{column}"' for column in STATE)
_FORGET = QUERIES["forget"].format(state=_STATE_COLUMNS)
_RETIRE = QUERIES["retire"].format(state=_STATE_COLUMNS)
_LIVING = Select(
    Entry, "WHERE namespace_id = %s AND id = ANY(%s) AND deleted_at IS NULL ORDER BY id"
)
_EXPIRED = Select(
    Entry, "WHERE namespace_id = %s AND deleted_at IS NULL AND expires_at <= %s ORDER BY id"
)
_WITH_IDS = SelectEntries("WHERE namespace_id = %s AND id = ANY(%s) AND deleted_at IS NULL")


def find_namespace(team_id: UUID, text: str) -> Namespace | None:
    return _FIND.fetch_one(team_id, text)


def lock_namespace(team_id: UUID, text: str) -> Namespace | None:
    return _LOCK.fetch_one(team_id, text)


def lock_namespaces(team_id: UUID, texts: Iterable[str]) -> list[Namespace]:
    """Lock and return the existing namespaces in the order of their ids, so that two writers cannot deadlock."""
    namespaces = Namespace.objects.unscoped().filter(team_id=team_id, text__in=set(texts))
    return list(namespaces.order_by("id").select_for_update())


def claim_namespace(
    team_id: UUID, text: str, ownership: Ownership = NO_OWNERSHIP, *, max_count: int | None = None
) -> Namespace:
    """Lock and return the namespace, which is created if missing; raise QuotaExceeded if the team has ``max_count``."""
    namespace = lock_namespace(team_id, text)
    if namespace is None:
        namespace = _create_namespace(team_id, text, ownership, max_count)
    _add_participants(namespace, ownership.participants)
    return namespace


def claim_to_write(
    namespace: Namespace, key: str, context: WriteContext, ownership: Ownership = NO_OWNERSHIP
) -> WriteState | None:
    """Lock the namespace and return, from the same statement, the state that ``write`` needs.

    Return None if the namespace was deleted since it was read.
    """
    state = lock_for_write(namespace, key, context)
    if state is not None:
        _add_participants(namespace, ownership.participants)
    return state


def write(
    namespace: Namespace,
    params: StoreParams,
    context: WriteContext,
    policy: MemorySecurityPolicy,
    state: WriteState | None = None,
) -> tuple[Entry, int]:
    """Store an entry in the locked namespace. Return it and its previous revision, which is 0 for a new entry.

    ``state`` can be passed if it was read under the same lock and nothing has changed since. A step that is repeated
    after a crash writes nothing. Raise QuotaExceeded if the policy leaves no room.
    """
    if state is None or state.key != params.key:
        state = load_write_state(namespace, params.key, context)
    if state.has_expired:
        expire(namespace, context.at)
        state = load_write_state(namespace, params.key, context)
    old = state.entry
    if old is not None and state.is_repeated:
        return old, old.revision
    entry = old or Entry(team_id=namespace.team_id, namespace=namespace, created_at=context.at)
    old_revision, old_size = (entry.revision, entry.size) if old else (0, 0)
    index = Index(namespace, state.next_number)
    index.take_out(entry)
    _apply_params(
        entry, params, context, count_entry_bytes(params.key, params.value, params.metadata)
    )
    entry.revision = old_revision + 1
    index.put_in(entry)
    usage = UsageChange(int(old is None), entry.size - old_size)
    postings, due = index.build_postings(), index.take_due_vectors()
    if not write_entry(entry, context, usage, policy, postings, due):
        roomier = make_room_for_notes(namespace, policy)
        if roomier == policy or not write_entry(entry, context, usage, roomier, postings, due):
            _raise_quota_exceeded(namespace, policy, usage)
    index.save_related()
    return entry, old_revision


def lock_unchanged(
    namespace: Namespace, entries: Sequence[MemoryEntry], context: WriteContext
) -> list[Entry]:
    """Lock the namespace and return the rows of those entries that are still as they were read."""
    state = claim_to_write(namespace, entries[0].key, context)
    if state is None:
        return []
    if state.has_expired:
        expire(namespace, context.at)
    if len(entries) == 1 and not state.has_expired:
        living_rows = [state.entry] if state.entry else []
    else:
        living_rows = _LIVING.fetch_all(namespace.pk, [UUID(entry.id) for entry in entries])
    revisions = {UUID(entry.id): entry.revision for entry in entries}
    return [row for row in living_rows if revisions.get(row.pk) == row.revision]


def retire(
    entry: MemoryEntry, context: WriteContext, *, valid_until: datetime, replaced_by: str
) -> int | None:
    """End the validity of an entry of the locked namespace, which another one replaces.

    Return its new revision, or None if it isn't any more as it was read.
    """
    params = {
        **_build_context_params(context),
        "id": UUID(entry.id),
        "revision": entry.revision,
        "revision_id": uuid7(),
        "valid_until": valid_until,
        "replaced_by": replaced_by,
    }
    result = fetch_prepared(_RETIRE, params)
    return int(result[0][0]) if result else None


def forget(
    namespace: Namespace,
    entries: Iterable[Entry],
    context: WriteContext,
    *,
    is_change: bool = False,
) -> list[Entry]:
    """Mark entries of the locked namespace as deleted and return them. Their rows stay, and each gets a new revision.

    If it ``is_change``, the change of the context is recorded, too, so that it can be undone as a whole.
    """
    removals = list(entries)
    if not removals:
        return []
    index = Index(namespace)
    for entry in removals:
        index.take_out(entry)
        entry.deleted_at = context.at
        entry.updated_at = context.at
        entry.revision += 1
    params = {
        **_build_context_params(context),
        "team": namespace.team_id,
        "namespace": namespace.pk,
        "ids": [entry.pk for entry in removals],
        "revision_ids": [uuid7() for _entry in removals],
        "count": len(removals),
        "size": sum(entry.size for entry in removals),
        "postings": index.build_postings(),
        "is_change": is_change,
    }
    fetch_prepared(_FORGET, params)
    return removals


def _build_context_params(context: WriteContext) -> dict[str, object]:
    columns = {name: getattr(context, name) for name in CONTEXT_COLUMNS}
    return {**columns, "operation": str(context.operation)}


def restore_state(entry: Entry, revision: Revision, context: WriteContext, size: int) -> None:
    """Set the entry's fields to the state of a revision, without saving. An expiry in the past is dropped."""
    _set_content(entry, revision)
    expires_at = revision.expires_at
    entry.expires_at = expires_at if expires_at is None or expires_at > context.at else None
    entry.text, entry.size = build_search_text(entry.key, entry.value), size
    entry.deleted_at, entry.updated_at = None, context.at
    entry.revision += 1


def expire(namespace: Namespace, now: datetime) -> list[Entry]:
    """Forget the expired entries of the locked namespace, so that their keys and space are free, and return them."""
    expired_entries = _EXPIRED.fetch_all(namespace.pk, now)
    if not expired_entries:
        return []
    return forget(namespace, expired_entries, WriteContext(Operation.EXPIRE, now, actor="expiry"))


def fetch_by_ids(namespace: Namespace, ids: Iterable[str]) -> dict[str, MemoryEntry]:
    """Return the entries with these ids that are not forgotten, by id."""
    rows = _WITH_IDS.fetch_all(namespace.text, namespace.pk, [*map(UUID, ids)])
    return {entry.id: entry for entry, _more in rows}


def list_replaced_ids(namespace: Namespace, ids: Iterable[str]) -> list[str]:
    """Return the ids of the entries whose place these took, and of those before them, forgotten or not."""
    params = {"namespace": namespace.pk, "ids": [*ids]}
    return [str(pk) for (pk,) in fetch_rows(QUERIES["list_replaced"], params)]


def find_living(namespace: Namespace) -> Entries:
    """Return the entries that are not forgotten, including expired ones that have not been removed yet."""
    return Entry.objects.unscoped().filter(namespace=namespace, deleted_at=None)


def find_visible(
    namespace: Namespace,
    now: datetime,
    *,
    holding_at: datetime | None = None,
    for_prompt: bool = False,
    without_lessons: bool = False,
) -> Entries:
    """Return the entries that may be recalled: all, or those that hold at a moment, may enter a prompt, are no lessons."""
    unexpired = Q(expires_at=None) | Q(expires_at__gt=now)
    visible = find_living(namespace).filter(unexpired).exclude(tier=Tier.QUARANTINE)
    if for_prompt:
        visible = visible.exclude(prompt_use=PromptUse.NEVER)
    if without_lessons:
        visible = visible.exclude(category__in=LESSON_CATEGORIES)
    return visible if holding_at is None else visible.filter(build_holding_condition(holding_at))


def load_last_positions(namespace: Namespace) -> dict[str, int]:
    """Return the highest position that was ever assigned in each group."""
    groups = Group.objects.unscoped().filter(namespace=namespace)
    return dict(groups.values_list("name", "last_position"))


def build_entry(row: Entry, namespace: str) -> MemoryEntry:
    return MemoryEntry(
        id=str(row.id),
        namespace=namespace,
        key=row.key,
        created_at=row.created_at,
        updated_at=row.updated_at,
        source=build_source(row),
        revision=row.revision,
        **get_state(row),
    )


def build_source(row: Entry) -> Source:
    return Source(
        row.source_actor, row.source_run, row.source_node, row.source_message, row.source_rule
    )


def record_revisions(entries: Sequence[Entry], context: WriteContext) -> None:
    """Record the state of the entries as their newest revisions, in statements of limited size."""
    largest = max((entry.size for entry in entries), default=0)
    Revision.objects.unscoped().bulk_create(
        [
            Revision(
                team_id=entry.team_id,
                entry=entry,
                number=entry.revision,
                operation=context.operation,
                **get_columns(entry),
                actor=context.actor,
                reason=context.reason,
                run_id=context.run_id,
                node_id=context.node_id,
                origin_key=context.origin_key,
                change_id=context.change_id,
                at=context.at,
            )
            for entry in entries
        ],
        batch_size=max(1, MAX_STATEMENT_BYTES // max(1, largest)),
    )


def reserve_space(
    namespace: Namespace,
    policy: MemorySecurityPolicy,
    *,
    entries: int,
    size: int,
    incoming: Sequence[Entry] = (),
) -> None:
    """Add entries and bytes to the namespace's counts; raise QuotaExceeded if the policy leaves no room for them.

    ``incoming`` has those of the entries that may be notes of the product, which need no room.
    """
    if _add_to_counts(namespace, policy, entries, size):
        return
    roomier = make_room_for_notes(namespace, policy, incoming)
    if roomier == policy or not _add_to_counts(namespace, roomier, entries, size):
        _raise_quota_exceeded(namespace, policy, UsageChange(entries, size))


def _add_to_counts(
    namespace: Namespace, policy: MemorySecurityPolicy, entries: int, size: int
) -> bool:
    """Add to the counts and return True, or return False if the policy leaves no room."""
    namespaces = Namespace.objects.unscoped().filter(pk=namespace.pk)
    max_entries, max_bytes = policy.max_entries_per_namespace, policy.max_namespace_bytes
    if entries > 0 and max_entries is not None:
        namespaces = namespaces.filter(entry_count__lte=max_entries - entries)
    if size > 0 and max_bytes is not None:
        namespaces = namespaces.filter(byte_count__lte=max_bytes - size)
    counts = {"entry_count": F("entry_count") + entries, "byte_count": F("byte_count") + size}
    return bool(namespaces.update(**counts))


def _apply_params(entry: Entry, params: StoreParams, context: WriteContext, size: int) -> None:
    entry.key, entry.size = params.key, size
    entry.text = build_search_text(params.key, params.value)
    _set_content(entry, params)
    entry.updated_at = context.at
    ttl = params.ttl_seconds
    entry.expires_at = None if ttl is None else context.at + timedelta(seconds=ttl)
    source = params.source
    entry.source_actor, entry.source_rule = source.actor or context.actor, source.rule
    entry.source_run = source.run_id or context.run_id
    entry.source_node = source.node_id or context.node_id
    entry.source_message = source.message


def _set_content(entry: Entry, source: StoreParams | Revision) -> None:
    for name, value in get_columns(source, CONTENT).items():
        setattr(entry, name, value)


def _raise_quota_exceeded(
    namespace: Namespace, policy: MemorySecurityPolicy, usage: UsageChange
) -> NoReturn:
    namespace.refresh_from_db(fields=["entry_count", "byte_count"])
    entries, size = namespace.entry_count + usage.entries, namespace.byte_count + usage.size
    check_room(policy, namespace.text, entries=entries, size=size)
    raise QuotaExceeded(_("%(namespace)s is full.") % {"namespace": namespace.text})


def _create_namespace(
    team_id: UUID, text: str, ownership: Ownership, max_count: int | None
) -> Namespace:
    new_namespace = _build_namespace(team_id, text, ownership)
    if new_namespace.scope not in RUN_SCOPES:
        _check_namespace_quota(team_id, max_count)
    Namespace.objects.unscoped().bulk_create([new_namespace], ignore_conflicts=True)
    namespace = lock_namespace(team_id, text)
    if namespace is None:
        raise AlreadyExists(f"{text} could not be created; another transaction is creating it.")
    return namespace


def _build_namespace(team_id: UUID, text: str, ownership: Ownership) -> Namespace:
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


def _add_participants(namespace: Namespace, participants: Iterable[UUID]) -> None:
    missing = [pk for pk in participants if pk not in namespace.participants]
    if missing:
        namespace.participants = [*namespace.participants, *missing]
        namespace.save(update_fields=["participants"])


def _check_namespace_quota(team_id: UUID, max_count: int | None) -> None:
    if max_count is None:
        return
    # The count is only exact while no other transaction creates a namespace.
    lock = "SELECT pg_advisory_xact_lock(hashtext('memory-namespaces'), hashtext(%s))"
    with connection.cursor() as cursor:
        cursor.execute(lock, [str(team_id)])
    namespaces = Namespace.objects.unscoped().filter(team_id=team_id).exclude(scope__in=RUN_SCOPES)
    if namespaces.count() >= max_count:
        raise QuotaExceeded(
            _("The team has reached its quota of %(most)d namespaces.") % {"most": max_count}
        )
