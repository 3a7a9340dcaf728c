"""A preview of forgetting: the rows by table, selected in the same way as for forgetting. Nothing is changed."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from config.retry import retry_on_conflict
from config.sql import read_queries
from memory.core.errors import NotFound
from memory.core.records import Json, MemoryQuery
from memory.core.values import count_bytes
from memory.models import Entry
from memory.providers.postgres import rows
from memory.services.entries.forget import check_entry_count, check_selection, filter_by
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import get_shared_namespace, open_namespace


QUERIES: Final = read_queries("memory/sql/queries/counts.sql")


@dataclass(frozen=True, slots=True)
class ForgetPreview:
    """The rows that would be removed, by the names that an erasure's receipt has for them, and those kept for undo."""

    count: int
    size: int
    tables: Mapping[str, int] = field(default_factory=dict)
    kept_tables: Mapping[str, int] = field(default_factory=dict)


@retry_on_conflict
def plan_forgetting(
    caller: MemoryCaller,
    *,
    entry_ids: Sequence[UUID | str] | None = None,
    scope: str | None = None,
    namespace: str | None = None,
    key: str | None = None,
    filter: Mapping[str, Json] | None = None,  # noqa: A002 - the interface's name
) -> ForgetPreview:
    """Preview forgetting. It is refused where forgetting itself would be."""
    if entry_ids is None:
        check_selection(key, filter)
        choose = partial(filter_by, key=key, filter_=filter)
        return _plan(caller, scope, namespace, choose, partial(MemoryQuery, key=key, filter=filter))
    check_entry_count(entry_ids)
    shared = get_shared_namespace(caller, entry_ids)
    ids = {UUID(str(entry_id)) for entry_id in entry_ids}
    plan = _plan(caller, None, shared, lambda query: query.filter(pk__in=ids), MemoryQuery)
    if plan.count != len(ids):
        raise NotFound(_("Memory not found. It may have been forgotten already."))
    return plan


@retry_on_conflict
def plan_clearing(
    caller: MemoryCaller, *, scope: str | None = None, namespace: str | None = None
) -> ForgetPreview:
    return _plan(caller, scope, namespace, lambda query: query, MemoryQuery)


def preview_entries(entries: Collection[Entry]) -> ForgetPreview:
    """Preview forgetting these entries, each loaded with its id and size."""
    counts = dict.fromkeys(("memory_embedding", "memory_revision"), 0)
    if entries:
        with connection.cursor() as cursor:
            cursor.execute(QUERIES["of_entries"], {"ids": [entry.pk for entry in entries]})
            counts |= dict(cursor.fetchall())
    size = sum(entry.size for entry in entries)
    kept_tables = {"memory_revision": counts.pop("memory_revision")}
    return ForgetPreview(len(entries), size, {"memory_entry": len(entries), **counts}, kept_tables)


def _plan(
    caller: MemoryCaller,
    scope: str | None,
    namespace: str | None,
    choose: Callable[[QuerySet[Entry]], QuerySet[Entry]],
    query: Callable[[str], MemoryQuery],
) -> ForgetPreview:
    with open_namespace(
        caller, "forget", "memory.rehearsed", scope=scope, namespace=namespace
    ) as access:
        row = access.target.row
        if access.external is not None:  # it keeps nothing for undo
            external_entries = access.store().recall(query(access.text))
            size = sum(count_bytes(entry.value) for entry in external_entries)
            tables = {"elsewhere": len(external_entries)}
            plan = ForgetPreview(len(external_entries), size, tables, {})
        elif row is None:
            plan = preview_entries([])
        else:
            living = rows.find_living(row).exclude(expires_at__lte=access.now)
            plan = preview_entries(list(choose(living).only("id", "size")))
        access.detail["keys"] = plan.count
        return plan
