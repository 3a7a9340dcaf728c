"""A preview of forgetting: the rows by table, selected in the same way as for forgetting. Nothing is changed."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from config.retry import retry_on_conflict
from config.sql import read_queries
from memory.core.errors import NotFound
from memory.core.records import Json, MemoryQuery
from memory.core.values import size_of
from memory.models import Entry
from memory.providers.postgres import rows
from memory.services.entries.forget import check_entry_count, check_selection, filter_by
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import get_shared_namespace, open_namespace
from memory.services.gateway.namespace_access import NamespaceAccess


QUERIES: Final = read_queries("memory/sql/queries/counts.sql")


@dataclass(frozen=True, slots=True)
class ForgetPreview:
    """``tables`` counts the rows that would be removed, by their names in an erasure's receipt; ``kept`` those that stay
    for undo.
    """

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
        return _plan(
            caller,
            scope,
            namespace,
            lambda query: filter_by(query, key, filter),
            lambda text: MemoryQuery(text, key=key, filter=filter),
        )
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
    return ForgetPreview(
        len(entries),
        sum(entry.size for entry in entries),
        {"memory_entry": len(entries), "memory_embedding": counts["memory_embedding"]},
        {"memory_revision": counts["memory_revision"]},
    )


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
        if access.external is None:
            plan = _plan_rows(access, choose)
        else:
            plan = _plan_externally(access, query(access.text))
        access.detail["keys"] = plan.count
        return plan


def _plan_rows(
    access: NamespaceAccess, choose: Callable[[QuerySet[Entry]], QuerySet[Entry]]
) -> ForgetPreview:
    if access.target.row is None:
        return preview_entries([])
    query = rows.find_living(access.target.row).exclude(expires_at__lte=access.now)
    return preview_entries(list(choose(query).only("id", "size")))


def _plan_externally(access: NamespaceAccess, query: MemoryQuery) -> ForgetPreview:
    """Count the entries of an external provider, which keeps nothing for undo."""
    entries = access.store().recall(query)
    size = sum(size_of(entry.value) for entry in entries)
    return ForgetPreview(len(entries), size, {"elsewhere": len(entries)}, {})
