"""Recall entries by key, by text, or the newest, and record what the steps of a run recalled."""

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, Final

from django.conf import settings
from django.utils import timezone

from accounts.request_transaction import pausable_tenant
from config.ids import uuid7
from config.postgres.prepared import open_prepared_cursor
from config.retry import retry_on_conflict
from config.sql import read_queries
from memory.core.errors import MemoryFault
from memory.core.provider import check_query
from memory.core.records import MemoryEntry, MemoryQuery
from memory.embedding.judge import find_judge
from memory.embedding.query_embedding import embed_query
from memory.embedding.team_models import find_team_embedder
from memory.logic.judgement.asked_facts import name_reason
from memory.logic.judgement.questions.question_recall import recall_for_question
from memory.services.access.pause_state import WithheldEntries
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import authorize, hash_key, open_namespace
from memory.services.gateway.namespace_access import NamespaceAccess, NamespaceLookup
from memory.services.recall.prompt_notes import add_notes, list_shown


QUERIES: Final = read_queries("memory/sql/queries/reads.sql")


def recall(
    caller: MemoryCaller,
    *,
    scope: str | None = None,
    namespace: str | None = None,
    injected: bool = False,
    with_notes: bool = False,
    **fields: Any,  # of MemoryQuery
) -> list[MemoryEntry]:
    """Return the entries with the key, or those that match the text, or without both the newest."""
    query = MemoryQuery("", **fields)
    return recall_query(
        caller,
        query,
        scope=scope,
        namespace=namespace,
        injected=injected,
        with_notes=with_notes,
    )


@retry_on_conflict
def recall_query(
    caller: MemoryCaller,
    query: MemoryQuery,
    *,
    scope: str | None = None,
    namespace: str | None = None,
    injected: bool = False,
    with_notes: bool = False,
) -> list[MemoryEntry]:
    """Answer the query in the namespace of the scope, or in the one with this name.

    ``injected`` marks a recall whose entries are added to a prompt. While the person has paused recalling, the result is
    ``WithheldEntries``. ``with_notes`` adds what a prompt says beside the entries, and what disagrees with them.
    """
    with open_for_query(caller, query, scope=scope, namespace=namespace) as (access, query):
        entries = name_reason(query, access.open_store().recall(query))
        if access.is_withheld:
            entries = WithheldEntries()
        elif with_notes:
            entries = add_notes(access, query, entries)
        if query.key is not None:
            access.detail["key"] = hash_key(query.key)
        if query.as_of is not None:
            access.detail["as_of"] = query.as_of.isoformat()
        if query.valid_at is not None:
            access.detail["valid_at"] = query.valid_at.isoformat()
        if query.include_former:
            access.detail["include_former"] = True
        if query.meaning is not None and not query.meaning.vector:
            access.detail["meaning"] = "no answer"
        access.detail.update(keys=len(entries), injected=injected)
        record_reads(access, list_shown(entries), injected=injected)
        return entries


def recall_for_node(
    caller: MemoryCaller,
    *,
    scope: str,
    finds_former: bool = True,
    **fields: Any,  # of MemoryQuery
) -> list[MemoryEntry]:
    """Return what a node with these settings recalls for a prompt, as the runs of its workflow do."""

    def recall(query: MemoryQuery) -> list[MemoryEntry]:
        return recall_query(caller, query, scope=scope, with_notes=True)

    query = MemoryQuery("", for_prompt=True, **fields)
    judge = find_judge() if query.is_search else None
    return recall_for_question(judge, query, scope, recall, timezone.now, finds_former=finds_former)


@contextmanager
def open_for_query(
    caller: MemoryCaller, query: MemoryQuery, *, scope: str | None, namespace: str | None
) -> Iterator[tuple[NamespaceAccess, MemoryQuery]]:
    """Open a namespace for a recall. Yield it, and the query with the namespace's name and the text's embedding."""
    query, access = embed_for(caller, query, scope=scope, namespace=namespace)
    with open_embedded(caller, query, access, scope=scope, namespace=namespace) as opened:
        yield opened


def embed_for(
    caller: MemoryCaller, query: MemoryQuery, *, scope: str | None, namespace: str | None = None
) -> tuple[MemoryQuery, NamespaceAccess | None]:
    """Return the query with the text's embedding, and the access if it had to be checked before.

    This is called before the transaction because the embedder is slow. Only if the caller is authorized and there is
    something to find, the text leaves the process: that of a refused query is never sent.
    """
    authorized: NamespaceAccess | None = None

    def may_embed() -> bool:
        nonlocal authorized
        authorized = authorize(caller, "view", "memory.recalled", scope=scope, namespace=namespace)
        has_entries = authorized.target.row is not None and authorized.external is None
        return has_entries and _is_valid_query(query)

    if settings.MEMORY_EMBEDDER or find_team_embedder(caller.team_id):
        query = embed_query(query, caller.team_id, may_embed, caller.embedding_caller)
    return query, authorized


@contextmanager
def open_embedded(
    caller: MemoryCaller,
    query: MemoryQuery,
    authorized: NamespaceAccess | None,
    *,
    scope: str | None,
    namespace: str | None = None,
    lookup: NamespaceLookup | None = None,
) -> Iterator[tuple[NamespaceAccess, MemoryQuery]]:
    """Open a namespace for a query that has its embedding, as ``open_for_query`` does."""
    with open_namespace(
        caller,
        "view",
        "memory.recalled",
        scope=scope,
        namespace=namespace,
        access=authorized,
        lookup=lookup,
    ) as access:
        # Memory that is kept elsewhere has no vectors, and so no floor.
        meaning = None if access.external is not None else query.meaning
        yield access, replace(query, namespace=access.text, meaning=meaning)


@contextmanager
def open_several_for_query(
    caller: MemoryCaller, query: MemoryQuery, namespaces: Sequence[str]
) -> Iterator[tuple[Sequence[NamespaceAccess], MemoryQuery]]:
    """Open these namespaces for one recall, as ``open_for_query`` opens one, if the caller is authorized for all."""
    accesses = [authorize(caller, "view", "memory.recalled", namespace=text) for text in namespaces]

    def may_embed() -> bool:
        has_entries = any(
            access.target.row is not None and access.external is None for access in accesses
        )
        return has_entries and _is_valid_query(query)

    if settings.MEMORY_EMBEDDER or find_team_embedder(caller.team_id):
        query = embed_query(query, caller.team_id, may_embed, caller.embedding_caller)
    with pausable_tenant([caller.team_id]), ExitStack() as stack:
        for access in accesses:
            stack.enter_context(
                open_namespace(
                    caller, "view", "memory.recalled", namespace=access.text, access=access
                )
            )
        yield accesses, query


def _is_valid_query(query: MemoryQuery) -> bool:
    try:
        check_query(query)
    except MemoryFault:
        return False
    return True


def record_reads(
    access: NamespaceAccess, entries: Sequence[MemoryEntry], *, injected: bool
) -> None:
    """Record which entries a step of a run read, once even if the step is repeated.

    Entries of an external provider are left out because they have no rows in this database.
    """
    origin = access.caller.origin
    if not entries or not origin.run_id or access.external is not None:
        return
    records = [
        {
            "id": str(uuid7()),
            "entry_id": entry.id,
            "revision": entry.revision,
            "score": entry.score,
            "explain": dict(entry.explain),
        }
        for entry in entries
    ]
    with open_prepared_cursor() as cursor:
        cursor.execute(
            QUERIES["insert"],
            [
                *(access.caller.team_id, origin.run_id, origin.node_id, origin.idempotency_key),
                *(injected, access.now, json.dumps(records)),
            ],
        )
