"""Bodies of the memory API. Unknown fields are refused."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from pydantic import AwareDatetime, Field, PlainSerializer, WithJsonSchema

from config.derived_models import with_fields_of
from config.http.openapi import Body, Number, with_example
from config.http.pages import PageOut
from memory.core.entry_codec import get_columns
from memory.core.provider import MAX_QUERY_LENGTH, MAX_TOP_K
from memory.core.records import EntryContent, EntryState, MemoryEntry, Tier
from memory.core.values import ENTRY_ID_PATTERN
from memory.logic.entries.ingress import list_quarantine_reasons
from memory.models import Namespace
from memory.schemas.namespaces import NamespaceText
from memory.services.entries.preview_forget import ForgetPreview
from memory.services.history.reads import EntryRead


Json = Any  # a stored value can be any JSON

RECALLED_BY_TEXT: Final = 5  # the default of the recall node as well, to keep prompts short
_TOP_K_DESCRIPTION: Final = (
    f"The maximum number of entries. Without it {RECALLED_BY_TEXT} with a query_text and {MAX_TOP_K} otherwise; an API "
    "key with memory:serve gets all."
)
_VALID_AT: Any = Field(
    None,
    description="Leaves out entries that don't hold at this moment, which is otherwise now. An entry is returned by its key in any case.",
)
_INCLUDE_FORMER: Any = Field(
    False, description="Also returns former entries and those that don't hold yet."
)
_FOR_PROMPT: Any = Field(
    None,
    description="Leaves out entries whose prompt_use is never. True if it is missing, but not for an API key with memory:serve.",
)
_WITHOUT_LESSONS: Any = Field(
    False,
    description="Leaves out what runs learned from their tasks, unless a key or a filter on the category asks for it.",
)
_ENTRY_ID: Final = f"^{ENTRY_ID_PATTERN}$"


def _format_moment(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


# Times have microseconds, unlike Django's JSON: an entry expires at an exact moment.
Moment = Annotated[
    datetime,
    PlainSerializer(_format_moment),
    WithJsonSchema({"type": "string", "format": "date-time"}, mode="serialization"),
]


class SourceOut(Body):
    actor: str
    run_id: str
    node_id: str
    message: str
    rule: str


class SourceIn(Body):
    """The source of an entry in another installation; only API keys with ``memory:serve`` may send it."""

    actor: str = Field("", max_length=120)
    run_id: str = Field("", max_length=80)
    node_id: str = Field("", max_length=200)
    message: str = Field("", max_length=80)
    rule: str = Field("", max_length=120)


@with_fields_of(EntryState, required=True)
class EntryOut(Body):
    """An entry. ``held_for`` has the reasons for its quarantine and is empty for an entry in use.

    It holds from ``valid_from`` until before ``valid_until``; null sets no limit. ``replaces`` and ``replaced_by`` are ids
    of entries, or empty. ``prompt_use`` is what a person chose: always (in every profile), relevant or never; with auto, what
    the entry is decides.

    ``score`` is present after a search by text: the share of the query that the entry meets, from 0 to 1, whatever else
    was found. ``explain`` has its parts, which add up to it, and ``rank``, by which the results are sorted, with its parts.
    """

    id: UUID
    namespace: str
    key: str
    value: Json
    metadata: dict[str, Json]
    tier: str
    revision: int
    created_at: Moment | None
    updated_at: Moment | None
    valid_from: Moment | None
    valid_until: Moment | None
    expires_at: Moment | None
    source: SourceOut
    score: float | None = None
    explain: dict[str, float] = {}
    held_for: list[str] = []


class RecalledOut(PageOut):
    """One page of recalled entries."""

    items: list[EntryOut]


class NamespaceOut(Body):
    id: UUID
    namespace: str
    scope: str
    entries: int
    bytes: int
    created_at: datetime


@with_fields_of(EntryContent, required=True)
class EntryRevisionOut(Body):
    number: int
    operation: str
    value: Json
    metadata: dict[str, Json]
    tier: str
    valid_from: Moment | None
    valid_until: Moment | None
    actor: str
    reason: str
    run_id: str
    node_id: str
    change_id: UUID
    at: datetime


class EntryReadOut(Body):
    """A recall of an entry. ``run_id``, ``workflow`` and ``node_id`` are null for a run that you may not see."""

    run_id: str | None
    workflow: str | None
    node_id: str | None
    revision: int
    score: float | None
    in_prompt: bool
    at: datetime


class EntriesQuery(Body):
    namespace: NamespaceText
    text: str = Field("", max_length=500)
    category: str = Field("", max_length=40)
    tier: Tier | None = None


class EverywhereQuery(Body):
    """A search for the words ``q`` in all namespaces that the caller can see, or in those of one scope."""

    q: str = Field(min_length=1, max_length=500)
    min_score: float | None = Field(None, ge=0, le=1)
    scope: str | None = Field(None, max_length=40)
    category: str = Field("", max_length=40)
    tier: Tier | None = None
    valid_at: AwareDatetime | None = _VALID_AT
    include_former: bool = _INCLUDE_FORMER


class SearchOut(PageOut):
    """The matches, best first, then quarantined entries. ``complete`` is false if some namespaces have another provider."""

    items: list[EntryOut]
    complete: bool


@with_fields_of(EntryContent)
class StoreIn(Body):
    """An entry to store in a namespace such as ``user:{id}``. It replaces an existing entry with the same key.

    A fact that stopped holding gets a ``valid_until``, and the id of its successor as ``replaced_by``.
    """

    model_config = with_example(
        namespace="global:default", key="opening hours", value="Monday to Friday, nine to five."
    )

    namespace: NamespaceText
    key: str = Field(min_length=1, max_length=400)
    value: Json
    metadata: dict[str, Json] = {}
    category: str | None = None
    tier: str = "long_term"
    importance: float = Field(0.5, ge=0, le=1)
    valid_from: AwareDatetime | None = None
    valid_until: AwareDatetime | None = None
    replaces: str = Field("", pattern=_ENTRY_ID)
    replaced_by: str = Field("", pattern=_ENTRY_ID)
    ttl_seconds: float | None = Field(None, gt=0, le=10**10)
    reason: str = Field("", max_length=500)
    source: SourceIn | None = None


class RecallIn(Body):
    model_config = with_example(
        namespace="global:default", query_text="When are you open?", top_k=5
    )

    namespace: NamespaceText
    key: str | None = None
    query_text: str | None = Field(None, max_length=MAX_QUERY_LENGTH)
    filter: dict[str, Json] | None = None
    top_k: int | None = Field(None, ge=0, le=MAX_TOP_K, description=_TOP_K_DESCRIPTION)
    language: str = Field("english", max_length=20)
    recency_days: float | None = None
    min_score: float | None = Field(
        None,
        ge=0,
        le=1,
        description="Leaves out entries that meet less of the query_text. Without a query_text it has no effect.",
    )
    as_of: AwareDatetime | None = None
    valid_at: AwareDatetime | None = _VALID_AT
    include_former: bool = _INCLUDE_FORMER
    for_prompt: bool | None = _FOR_PROMPT
    without_lessons: bool = _WITHOUT_LESSONS


@with_fields_of(EntryContent, optional=True)
class EntryEditIn(Body):
    """The fields to change; missing fields stay. ``If-Match`` names the revision that the edit is based on.

    Null removes a ``valid_from`` or ``valid_until``.
    """

    model_config = with_example(value="Monday to Saturday, nine to five.", reason="new hours")

    value: Json = None
    metadata: dict[str, Json] | None = None
    category: str | None = None
    tier: str | None = None
    importance: float | None = Field(None, ge=0, le=1)
    valid_from: AwareDatetime | None = None
    valid_until: AwareDatetime | None = None
    replaces: str | None = Field(None, pattern=_ENTRY_ID)
    replaced_by: str | None = Field(None, pattern=_ENTRY_ID)
    reason: str = Field("", max_length=500)


class ForgetIn(Body):
    """Either entries of one namespace by id, or a namespace with a key or a filter.

    With ``dry_run``, nothing is deleted, and the response has the number of rows by table.
    """

    model_config = with_example(
        namespace="global:default", key="opening hours", reason="closed for good"
    )

    entries: list[UUID] | None = Field(None, min_length=1, max_length=1000)
    namespace: NamespaceText | None = None
    key: str | None = None
    filter: dict[str, Json] | None = None
    reason: str = Field("", max_length=500)
    dry_run: bool = False


class ClearIn(Body):
    model_config = with_example(namespace="global:default", reason="start afresh")

    namespace: NamespaceText
    reason: str = Field("", max_length=500)
    dry_run: bool = False


class HistoryQuery(Body):
    namespace: NamespaceText
    key: str = Field(max_length=400)


class ForgottenOut(Body):
    """The number of forgotten entries. Undoing ``change`` restores them; it is null if there were none."""

    count: int
    change: UUID | None


class ForgetPreviewOut(Body):
    """A preview: ``tables`` counts the rows that would be deleted, ``kept`` those that would stay for an undo."""

    dry_run: Literal[True] = True
    count: int
    bytes: int
    tables: dict[str, int]
    kept: dict[str, int]


class EraseIn(Body):
    """A request to erase a person. With ``runs``, their conversations, tasks and runs are erased as well."""

    model_config = with_example(dry_run=True, runs=True)

    dry_run: bool = True
    runs: bool = True


class ReceiptOut(Body):
    """The receipt of an erasure or of its preview.

    ``tables`` counts the rows that were or would be erased, ``left`` those that a count afterwards
    still finds, and ``kept`` those that stay: audit entries, and what the person wrote that belongs to others, such as
    answers to questions of their runs and comments. ``to_decide`` are the ids of shared entries that runs for
    the person wrote and in which others have words, too: somebody who may forget them decides, with
    ``POST /memory/erasures/{erasure_id}/decisions/{entry_id}``.
    """

    subject: str
    dry_run: bool
    at: Moment
    namespaces: int
    tables: dict[str, int]
    left: dict[str, int]
    kept: dict[str, int]
    to_decide: list[str]


class RestoreIn(Body):
    model_config = with_example(revision=1, reason="it was right")

    revision: Number | None = None
    reason: str = Field("", max_length=500)


class UndoRunIn(Body):
    """The request to undo a run's writes. With ``dry_run``, the writes are counted and none is undone."""

    model_config = with_example(reason="it listened to the wrong person", dry_run=True)

    reason: str = Field("", max_length=500)
    dry_run: bool = False


class RunUndoneOut(Body):
    """The number of undone writes. ``left`` counts entries that were changed since; ``change`` is null if none was undone."""

    count: int
    left: int
    change: UUID | None


class UndoneOut(Body):
    count: int
    entries: list[UUID]


def entry_read_out(read: EntryRead) -> EntryReadOut:
    row, run = read.row, read.run
    return EntryReadOut(
        run_id=row.run_id if run else None,
        workflow=run.workflow if run else None,
        node_id=row.node_id if run else None,
        revision=row.revision,
        score=row.score,
        in_prompt=row.injected,
        at=row.at,
    )


def entries_out(entries: Sequence[MemoryEntry]) -> list[EntryOut]:
    return [entry_out(entry) for entry in entries]


def entry_out(entry: MemoryEntry) -> EntryOut:
    return EntryOut(
        id=UUID(entry.id),
        namespace=entry.namespace,
        key=entry.key,
        revision=entry.revision,
        created_at=entry.created_at,
        updated_at=entry.updated_at,
        source=SourceOut(**asdict(entry.source)),
        score=entry.score,
        explain=dict(entry.explain),
        held_for=list(list_quarantine_reasons(entry)),
        **get_columns(entry),
    )


def namespace_out(row: Namespace) -> NamespaceOut:
    return NamespaceOut.from_object(
        row, namespace=row.text, entries=row.entry_count, bytes=row.byte_count
    )


def forget_preview_out(preview: ForgetPreview) -> ForgetPreviewOut:
    return ForgetPreviewOut.from_object(
        preview, dry_run=True, bytes=preview.size, kept=preview.kept_tables
    )
