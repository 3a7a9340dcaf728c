"""``/api/v1/memory``: namespaces, entries, search and erasure."""

from typing import Annotated, Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from ninja import Header, Query, Router
from ninja.pagination import paginate

from accounts.http.auth import api_auth
from accounts.principals import get_current_team_id, get_principal
from config.http.pages import Listing, OwnPages, Pages, Rows, list_rows
from memory import permissions, services
from memory.core.errors import AccessDenied, InvalidInput
from memory.core.provider import MAX_TOP_K
from memory.core.records import MemoryEntry, Source
from memory.core.scopes import get_scope
from memory.models import Namespace, Revision
from memory.schemas import entries
from memory.services import MemoryCaller
from memory.services.erasure.erasure_jobs import erase_at_once
from memory.services.history.reads import EntryRead
from memory.services.review.contradicting import propose_contradictions


router = Router(auth=api_auth(), tags=["memory"])

IfMatch = Annotated[str, Header(alias="If-Match", max_length=40)]


def build_caller(request: HttpRequest) -> MemoryCaller:
    """Return the caller of a request, who has the permissions of the principal and no run."""
    return MemoryCaller(principal=get_principal(request), team_id=get_current_team_id(request))


def parse_revision(if_match: str) -> int:
    """Return the revision number in an ``If-Match`` header; raise InvalidInput if there is none."""
    number = if_match.strip().removeprefix("W/").strip('"')
    if not number.isascii() or not number.isdecimal():
        raise InvalidInput("If-Match: must be a revision number.")
    return int(number)


@router.get("/memory/namespaces", response=list[entries.NamespaceOut])
@paginate(Pages)
def list_namespaces(request: HttpRequest, scope: str | None = None) -> Listing[Namespace]:
    """List the namespaces you may view. An API key lists shared namespaces only."""
    scope_word = None if scope is None else str(get_scope(scope).word)
    caller = build_caller(request)

    def read(offset: int, limit: int) -> Rows[Namespace]:
        page = services.list_namespace_page(caller, scope=scope_word, limit=limit, offset=offset)
        return Rows(page.rows, page.total)

    return Listing(read, lambda rows: [entries.namespace_out(row) for row in rows])


@router.get("/memory/entries", response=list[entries.EntryOut])
@paginate(Pages)
def list_entries(request: HttpRequest, params: Query[entries.EntriesQuery]) -> Listing[MemoryEntry]:
    """List entries, newest first, including quarantined ones."""
    caller = build_caller(request)

    def read(offset: int, limit: int) -> Rows[MemoryEntry]:
        page = services.list_entries(caller, **params.dict(), limit=limit, offset=offset)
        return Rows(page.entries, page.total)

    return Listing(read, entries.entries_out)


@router.get("/memory/search", response=entries.SearchOut)
@paginate(OwnPages)
def search_everywhere(
    request: HttpRequest, params: Query[entries.EverywhereQuery]
) -> Listing[MemoryEntry]:
    """Search by words in every namespace you may view; a key searches shared namespaces only.

    Results are ranked together, with scores and their parts. Quarantined entries come last, and a key finds them only
    if it names that tier, because they have not been reviewed yet.
    """
    conditions = params.dict()
    conditions["query"] = conditions.pop("q")
    caller = build_caller(request)

    def read(offset: int, limit: int) -> Rows[MemoryEntry]:
        results = services.search_all_namespaces(caller, **conditions, limit=limit, offset=offset)
        return Rows(results.entries, results.total, extra={"complete": results.is_all})

    return Listing(read, entries.entries_out)


@router.post("/memory/entries", response={201: entries.EntryOut})
def store_entry(request: HttpRequest, body: entries.StoreIn) -> entries.EntryOut:
    """Store an entry. ``source`` is its origin in another installation, whose API key needs ``memory:serve``."""
    caller = build_caller(request)
    if body.source is not None and permissions.get_guest_id(caller.principal) is None:
        raise AccessDenied(_("source: requires an API key with the permission memory:serve."))
    source = Source(**body.source.dict()) if body.source else None
    entry = services.remember(caller, **{**body.dict(), "source": source})
    if source is None:
        propose_contradictions(caller, [entry])
    return entries.entry_out(entry)


@router.post("/memory/recall", response=entries.RecalledOut)
def recall_entries(request: HttpRequest, body: entries.RecallIn) -> entries.RecalledOut:
    """Return the entry with a key, the entries that match a text (best first, with scores), or the newest entries."""
    caller = build_caller(request)
    top_k, for_prompt = body.top_k, body.for_prompt
    # Another installation that keeps its memory here follows the provider's contract, which has no maximum number.
    is_provider = permissions.get_guest_id(caller.principal) is not None
    if top_k is None and not is_provider:
        top_k = MAX_TOP_K if body.query_text is None else entries.RECALLED_BY_TEXT
    if for_prompt is None:
        for_prompt = not is_provider
    results = services.recall(caller, **{**body.dict(), "top_k": top_k, "for_prompt": for_prompt})
    rows = [entries.entry_out(entry) for entry in results]
    return entries.RecalledOut(items=rows, next=None, count=len(rows))


@router.post("/memory/forget", response=entries.ForgottenOut | entries.ForgetPreviewOut)
def forget_entries(
    request: HttpRequest, body: entries.ForgetIn
) -> entries.ForgottenOut | entries.ForgetPreviewOut:
    """Forget entries; undoing ``change`` restores them together. With ``dry_run`` only a preview is returned."""
    caller = build_caller(request)
    if body.entries is not None and (
        body.namespace or body.key is not None or body.filter is not None
    ):
        raise InvalidInput("entries: can't be combined with namespace, key, or filter.")
    target: dict[str, Any] = {"namespace": body.namespace, "key": body.key, "filter": body.filter}
    if body.dry_run:
        preview = services.plan_forgetting(caller, entry_ids=body.entries, **target)
        return entries.forget_preview_out(preview)
    if body.entries is not None:
        forgotten = services.forget_many(caller, entry_ids=body.entries, reason=body.reason)
    else:
        forgotten = services.forget(caller, **target, reason=body.reason)
    return entries.ForgottenOut(count=forgotten.count, change=forgotten.change_id)


@router.post("/memory/clear", response=entries.ForgottenOut | entries.ForgetPreviewOut)
def clear_namespace(
    request: HttpRequest, body: entries.ClearIn
) -> entries.ForgottenOut | entries.ForgetPreviewOut:
    """Forget all entries of a namespace; undoing ``change`` restores them. With ``dry_run`` only a preview is returned."""
    caller = build_caller(request)
    if body.dry_run:
        return entries.forget_preview_out(services.plan_clearing(caller, namespace=body.namespace))
    forgotten = services.clear(caller, namespace=body.namespace, reason=body.reason)
    return entries.ForgottenOut(count=forgotten.count, change=forgotten.change_id)


@router.get("/memory/history", response=list[entries.EntryOut])
@paginate(Pages)
def list_values(request: HttpRequest, params: Query[entries.HistoryQuery]) -> Listing[MemoryEntry]:
    """List every value of the present entry with a key, oldest first; empty if there is none."""
    values = services.list_values(build_caller(request), **params.dict())
    return list_rows(values, entries.entries_out)


@router.get("/memory/entries/{uuid:entry_id}", response=entries.EntryOut)
def read_entry(request: HttpRequest, response: HttpResponse, entry_id: UUID) -> entries.EntryOut:
    """Return an entry. ``ETag`` is the revision, for ``If-Match``."""
    entry = services.get_entry(build_caller(request), entry_id=entry_id)
    response["ETag"] = f'"{entry.revision}"'
    return entries.entry_out(entry)


@router.patch("/memory/entries/{uuid:entry_id}", response=entries.EntryOut)
def edit_entry(
    request: HttpRequest,
    response: HttpResponse,
    entry_id: UUID,
    body: entries.EntryEditIn,
    if_match: IfMatch,
) -> entries.EntryOut:
    """Edit an entry; 409 if it has been changed since ``If-Match``."""
    changes = body.dict(exclude_unset=True)
    entry = services.edit(
        build_caller(request), entry_id=entry_id, if_revision=parse_revision(if_match), **changes
    )
    response["ETag"] = f'"{entry.revision}"'
    return entries.entry_out(entry)


@router.delete("/memory/entries/{uuid:entry_id}", response=entries.ForgottenOut)
def forget_entry(request: HttpRequest, entry_id: UUID) -> entries.ForgottenOut:
    """Forget an entry. Undoing ``change`` or restoring the entry brings it back."""
    forgotten = services.forget(build_caller(request), entry_id=entry_id)
    return entries.ForgottenOut(count=forgotten.count, change=forgotten.change_id)


@router.post("/memory/entries/{uuid:entry_id}/restore", response=entries.EntryOut)
def restore_entry(
    request: HttpRequest, entry_id: UUID, body: entries.RestoreIn
) -> entries.EntryOut:
    """Restore an entry to a revision, or after it was forgotten."""
    entry = services.restore(
        build_caller(request), entry_id=entry_id, revision=body.revision, reason=body.reason
    )
    return entries.entry_out(entry)


@router.get("/memory/entries/{uuid:entry_id}/revisions", response=list[entries.EntryRevisionOut])
@paginate(Pages)
def list_revisions(request: HttpRequest, entry_id: UUID) -> Listing[Revision]:
    """List the revisions, newest first."""
    revisions = services.list_revisions(build_caller(request), entry_id=entry_id)
    return list_rows(revisions, lambda rows: list(map(entries.EntryRevisionOut.from_object, rows)))


@router.get("/memory/entries/{uuid:entry_id}/recalled-by", response=list[entries.EntryReadOut])
@paginate(Pages)
def list_entry_reads(request: HttpRequest, entry_id: UUID) -> Listing[EntryRead]:
    """List the recalls of an entry by runs, newest first. Of a run that you may not see, only score and time are shown."""
    caller = build_caller(request)

    def read(offset: int, limit: int) -> Rows[EntryRead]:
        page = services.list_entry_reads(caller, entry_id=entry_id, limit=limit, offset=offset)
        return Rows(page.reads, page.total)

    return Listing(read, lambda rows: list(map(entries.entry_read_out, rows)))


@router.post("/memory/changes/{uuid:change_id}/undo", response=entries.UndoneOut)
def undo_change(request: HttpRequest, change_id: UUID) -> entries.UndoneOut:
    """Undo a change as a whole; 409 if one of its entries has been changed since."""
    result = services.undo(build_caller(request), change_id=change_id)
    return entries.UndoneOut(count=result.count, entries=[UUID(id_) for id_ in result.entry_ids])


@router.post("/memory/runs/{uuid:run_id}/undo", response=entries.RunUndoneOut)
def undo_run(request: HttpRequest, run_id: UUID, body: entries.UndoRunIn) -> entries.RunUndoneOut:
    """Undo all writes of a run in namespaces that you may write to. The returned ``change`` reverts this.

    404 for a run that you may not see and that wrote nothing that you may see.
    """
    caller = build_caller(request)
    services.check_run_known(caller, run_id=str(run_id))
    result = services.undo_run(caller, run_id=str(run_id), reason=body.reason, dry_run=body.dry_run)
    return entries.RunUndoneOut(count=result.count, left=result.skipped, change=result.change_id)


@router.post("/memory/subjects/{path:subject}/erase", response=entries.ReceiptOut)
def erase_person(request: HttpRequest, subject: str, body: entries.EraseIn) -> entries.ReceiptOut:
    """Erase a person permanently, including the history. Without ``dry_run: false`` nothing is erased, and the
    receipt is a preview. What is to be decided is listed by ``GET /memory/erasures/decisions``.
    """
    receipt = erase_at_once(
        build_caller(request), subject=subject, dry_run=body.dry_run, runs=body.runs
    )
    return entries.ReceiptOut.from_object(receipt)
