"""Preview forgetting: count the rows by table that it would remove, without changing anything."""

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
from memory.core.values import count_entry_bytes
from memory.models import Entry
from memory.providers.postgres import rows
from memory.services.entries.forget import apply_selection, check_entry_count, check_selection
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import get_shared_namespace, open_namespace


QUERIES: Final = read_queries("memory/sql/queries/counts.sql")


@dataclass(frozen=True, slots=True)
class ForgetPreview:
    """The numbers of rows that would be removed and of those kept for undo, by table as in an erasure's receipt."""

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
    """Return what ``forget`` would remove, with the same checks and errors."""
    if entry_ids is None:
        check_selection(key, filter)
        select = partial(apply_selection, key=key, filter_=filter)
        build_query = partial(MemoryQuery, key=key, filter=filter, include_former=True)
        return _preview(caller, scope, namespace, select, build_query)
    check_entry_count(entry_ids)
    shared = get_shared_namespace(caller, entry_ids)
    ids = {UUID(str(entry_id)) for entry_id in entry_ids}
    preview = _preview(caller, None, shared, lambda query: query.filter(pk__in=ids), _query_all)
    if preview.count != len(ids):
        raise NotFound(_("Memory not found. It may have been forgotten already."))
    return preview


@retry_on_conflict
def plan_clearing(
    caller: MemoryCaller, *, scope: str | None = None, namespace: str | None = None
) -> ForgetPreview:
    """Return what ``clear`` would remove, with the same checks and errors."""
    return _preview(caller, scope, namespace, lambda query: query, _query_all)


def preview_entries(entries: Collection[Entry]) -> ForgetPreview:
    """Return what forgetting these entries would remove. At least their ids and sizes are loaded."""
    counts = dict.fromkeys(("memory_embedding", "memory_revision"), 0)
    if entries:
        with connection.cursor() as cursor:
            cursor.execute(QUERIES["of_entries"], {"ids": [entry.pk for entry in entries]})
            counts |= dict(cursor.fetchall())
    size = sum(entry.size for entry in entries)
    kept_tables = {"memory_revision": counts.pop("memory_revision")}
    return ForgetPreview(len(entries), size, {"memory_entry": len(entries), **counts}, kept_tables)


def _query_all(namespace: str) -> MemoryQuery:
    return MemoryQuery(namespace, include_former=True)


def _preview(
    caller: MemoryCaller,
    scope: str | None,
    namespace: str | None,
    select: Callable[[QuerySet[Entry]], QuerySet[Entry]],
    build_query: Callable[[str], MemoryQuery],
) -> ForgetPreview:
    with open_namespace(
        caller, "forget", "memory.rehearsed", scope=scope, namespace=namespace
    ) as access:
        row = access.target.row
        if access.external is not None:  # an external provider keeps nothing for undo
            external_entries = access.open_store().recall(build_query(access.text))
            size = sum(
                count_entry_bytes(entry.key, entry.value, entry.metadata)
                for entry in external_entries
            )
            tables = {"elsewhere": len(external_entries)}
            preview = ForgetPreview(len(external_entries), size, tables, {})
        elif row is None:
            preview = preview_entries([])
        else:
            living = rows.find_living(row).exclude(expires_at__lte=access.now)
            preview = preview_entries(list(select(living).only("id", "size")))
        access.detail["keys"] = preview.count
        return preview
