"""What forgetting would take: counted by table first, with the very choice that forgetting makes, and nothing done."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from config.again import tried_again
from memory.core.errors import NotFound
from memory.core.records import Json, MemoryQuery
from memory.core.values import size_of
from memory.models import Entry
from memory.providers.postgres import rows
from memory.services.caller import MemoryCaller
from memory.services.door import Door, opened
from memory.services.forget import check_chosen, check_many, named_by
from memory.services.one_place import shared_place


COUNT: Final = """
    SELECT 'memory_embedding', count(*) FROM memory_embedding WHERE entry_id = ANY(%(ids)s)
    UNION ALL SELECT 'memory_revision', count(*) FROM memory_revision WHERE entry_id = ANY(%(ids)s)
"""


@dataclass(frozen=True, slots=True)
class WouldGo:
    """``tables``: rows that would go, by what a receipt of erasing calls them; ``kept``: what stays for undoing."""

    count: int
    size: int
    tables: Mapping[str, int] = field(default_factory=dict)
    kept: Mapping[str, int] = field(default_factory=dict)


@tried_again
def plan_forgetting(
    caller: MemoryCaller,
    *,
    entry_ids: Sequence[UUID | str] | None = None,
    scope: str | None = None,
    namespace: str | None = None,
    key: str | None = None,
    filter: Mapping[str, Json] | None = None,  # noqa: A002 - the contract's word
) -> WouldGo:
    """Refused as the forgetting itself would be."""
    if entry_ids is None:
        check_chosen(key, filter)
        return _planned(
            caller,
            scope,
            namespace,
            lambda found: named_by(found, key, filter),
            lambda text: MemoryQuery(text, key=key, filter=filter),
        )
    check_many(entry_ids)
    place = shared_place(caller, entry_ids)
    wanted = {UUID(str(one)) for one in entry_ids}
    plan = _planned(caller, None, place, lambda found: found.filter(pk__in=wanted), MemoryQuery)
    if plan.count != len(wanted):
        raise NotFound(_("There is no such memory; it may be forgotten already."))
    return plan


@tried_again
def plan_clearing(
    caller: MemoryCaller, *, scope: str | None = None, namespace: str | None = None
) -> WouldGo:
    return _planned(caller, scope, namespace, lambda found: found, MemoryQuery)


def would_go(entries: Collection[Entry]) -> WouldGo:
    """Of entries that are there, each with its id and size."""
    counted = dict.fromkeys(("memory_embedding", "memory_revision"), 0)
    if entries:
        with connection.cursor() as cursor:
            cursor.execute(COUNT, {"ids": [one.pk for one in entries]})
            counted |= dict(cursor.fetchall())
    return WouldGo(
        len(entries),
        sum(one.size for one in entries),
        {"memory_entry": len(entries), "memory_embedding": counted["memory_embedding"]},
        {"memory_revision": counted["memory_revision"]},
    )


def _planned(
    caller: MemoryCaller,
    scope: str | None,
    namespace: str | None,
    choose: Callable[[QuerySet[Entry]], QuerySet[Entry]],
    query: Callable[[str], MemoryQuery],
) -> WouldGo:
    with opened(caller, "forget", "memory.rehearsed", scope=scope, namespace=namespace) as door:
        plan = _there(door, query(door.text)) if door.elsewhere else _here(door, choose)
        door.detail["keys"] = plan.count
        return plan


def _here(door: Door, choose: Callable[[QuerySet[Entry]], QuerySet[Entry]]) -> WouldGo:
    if door.place.row is None:
        return would_go([])
    found = rows.living(door.place.row).exclude(expires_at__lte=door.now)
    return would_go(list(choose(found).only("id", "size")))


def _there(door: Door, query: MemoryQuery) -> WouldGo:
    """Kept by another provider, where nothing stays."""
    found = door.elsewhere.recall(query) if door.elsewhere and door.place.row else []
    size = sum(size_of(one.value) for one in found)
    return WouldGo(len(found), size, {"elsewhere": len(found)}, {})
