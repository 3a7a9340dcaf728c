"""``/api/v1/memory``: the services over HTTP."""

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from ninja import Header, Query, Router, Status

from accounts.http.auth import api_auth
from accounts.principals import get_current_team_id, get_principal
from config.http.openapi import Limit, Offset
from memory import permissions, services
from memory.core.errors import AccessDenied, InvalidInput
from memory.core.provider import MAX_TOP_K
from memory.core.records import Source
from memory.core.scopes import scope_named
from memory.schemas import entries
from memory.services import MemoryCaller
from memory.services.entries.edit import UNCHANGED


router = Router(auth=api_auth(), tags=["memory"])


def caller_of(request: HttpRequest) -> MemoryCaller:
    """A person or a key at the door: no run, so permissions alone decide how far they reach."""
    return MemoryCaller(principal=get_principal(request), team_id=get_current_team_id(request))


@router.get("/memory/namespaces", response=list[entries.NamespaceOut])
def list_namespaces(
    request: HttpRequest,
    response: HttpResponse,
    scope: str | None = None,
    limit: Limit = 200,
    offset: Offset = 0,
) -> list[entries.NamespaceOut]:
    """Those you may look into, and ``X-Total-Count`` of them. A key sees what is shared; a person's it reaches by
    naming them."""
    word = None if scope is None else str(scope_named(scope).word)
    page = services.namespace_page(caller_of(request), scope=word, limit=limit, offset=offset)
    response["X-Total-Count"] = str(page.total)
    return [entries.namespace_out(row) for row in page.rows]


@router.get("/memory/entries", response=entries.EntriesOut)
def list_entries(request: HttpRequest, asked: Query[entries.EntriesQuery]) -> entries.EntriesOut:
    """Newest first, quarantined ones included."""
    page = services.entries(caller_of(request), **asked.dict())
    found = [entries.entry_out(entry) for entry in page.entries]
    return entries.EntriesOut(entries=found, total=page.total, offset=page.offset)


@router.get("/memory/search", response=entries.SearchOut)
def search_everywhere(
    request: HttpRequest, asked: Query[entries.EverywhereQuery]
) -> entries.SearchOut:
    """By words in every namespace you may look into; a key sees what is shared, as in their list.

    Ranked together, with scores and what they are made of. Quarantined ones come last, and to a key only where it
    names their tier: nobody has looked at them yet.
    """
    given = asked.dict()
    found = services.search_everywhere(caller_of(request), query=given.pop("q"), **given)
    return entries.SearchOut(
        results=[entries.entry_out(one) for one in found.entries],
        total=found.total,
        offset=found.offset,
        complete=found.is_all,
    )


@router.post("/memory/entries", response={201: entries.EntryOut})
def store_entry(request: HttpRequest, body: entries.StoreIn) -> Status[entries.EntryOut]:
    """``source`` is another installation's word for what wrote it: its key needs ``memory:serve``."""
    caller = caller_of(request)
    if body.source is not None and permissions.get_guest_key_id(caller.principal) is None:
        raise AccessDenied(_("source: requires an API key with the permission memory:serve."))
    source = Source(**body.source.dict()) if body.source else None
    stored = services.remember(caller, **{**body.dict(), "source": source})
    return Status(201, entries.entry_out(stored))


@router.post("/memory/recall", response=entries.RecalledOut)
def recall_entries(request: HttpRequest, body: entries.RecallIn) -> entries.RecalledOut:
    """By key, by text (best first, with scores), or the newest."""
    caller = caller_of(request)
    top_k = body.top_k
    # Another installation whose memory this is keeps to the provider's contract: no number, no end.
    if top_k is None and permissions.get_guest_key_id(caller.principal) is None:
        top_k = MAX_TOP_K if body.query_text is None else entries.RECALLED_BY_TEXT
    found = services.recall(caller, **{**body.dict(), "top_k": top_k})
    return entries.RecalledOut(results=[entries.entry_out(one) for one in found], count=len(found))


@router.post("/memory/forget", response=entries.ForgottenOut | entries.WouldGoOut)
def forget_entries(
    request: HttpRequest, body: entries.ForgetIn
) -> entries.ForgottenOut | entries.WouldGoOut:
    """Soft: the answer's ``change`` undoes all of it as one. With ``dry_run`` nothing goes, and it says what would."""
    caller = caller_of(request)
    if body.entries is not None and (
        body.namespace or body.key is not None or body.filter is not None
    ):
        raise InvalidInput("entries: can't be combined with namespace, key, or filter.")
    named: dict[str, Any] = {"namespace": body.namespace, "key": body.key, "filter": body.filter}
    if body.dry_run:
        plan = services.plan_forgetting(caller, entry_ids=body.entries, **named)
        return entries.would_go_out(plan)
    if body.entries is not None:
        done = services.forget_many(caller, entry_ids=body.entries, reason=body.reason)
    else:
        done = services.forget(caller, **named, reason=body.reason)
    return entries.ForgottenOut(count=done.count, change=done.change_id)


@router.post("/memory/clear", response=entries.ForgottenOut | entries.WouldGoOut)
def clear_namespace(
    request: HttpRequest, body: entries.ClearIn
) -> entries.ForgottenOut | entries.WouldGoOut:
    """Everything in a namespace, softly: ``change`` undoes it as one. With ``dry_run`` it says what would go."""
    caller = caller_of(request)
    if body.dry_run:
        return entries.would_go_out(services.plan_clearing(caller, namespace=body.namespace))
    done = services.clear(caller, namespace=body.namespace, reason=body.reason)
    return entries.ForgottenOut(count=done.count, change=done.change_id)


@router.get("/memory/history", response=entries.ValuesOut)
def list_values(request: HttpRequest, asked: Query[entries.HistoryQuery]) -> entries.ValuesOut:
    """Every value of the living entry under a key; none: nothing lives there."""
    found = services.list_values(caller_of(request), **asked.dict())
    return entries.ValuesOut(values=[entries.entry_out(entry) for entry in found])


@router.get("/memory/entries/{uuid:entry_id}", response=entries.EntryOut)
def read_entry(request: HttpRequest, response: HttpResponse, entry_id: UUID) -> entries.EntryOut:
    """``ETag`` is the revision, for ``If-Match``."""
    entry = services.look(caller_of(request), entry_id=entry_id)
    response["ETag"] = f'"{entry.revision}"'
    return entries.entry_out(entry)


@router.patch("/memory/entries/{uuid:entry_id}", response=entries.EntryOut)
def edit_entry(
    request: HttpRequest,
    response: HttpResponse,
    entry_id: UUID,
    body: entries.EntryEditIn,
    if_match: str = Header(..., alias="If-Match", max_length=40),  # type: ignore[type-arg]  # ninja's stub
) -> entries.EntryOut:
    """409 when somebody was quicker."""
    changes = body.dict(exclude_unset=True)
    entry = services.edit(
        caller_of(request),
        entry_id=entry_id,
        if_revision=revision_named(if_match),
        **{"value": UNCHANGED, **changes},
    )
    response["ETag"] = f'"{entry.revision}"'
    return entries.entry_out(entry)


@router.delete("/memory/entries/{uuid:entry_id}", response=entries.ForgottenOut)
def forget_entry(request: HttpRequest, entry_id: UUID) -> entries.ForgottenOut:
    """Softly: ``change`` of the answer undoes it, and restoring brings it back."""
    done = services.forget(caller_of(request), entry_id=entry_id)
    return entries.ForgottenOut(count=done.count, change=done.change_id)


@router.post("/memory/entries/{uuid:entry_id}/restore", response=entries.EntryOut)
def restore_entry(
    request: HttpRequest, entry_id: UUID, body: entries.RestoreIn
) -> entries.EntryOut:
    """To a revision, or back from being forgotten."""
    return entries.entry_out(
        services.restore(
            caller_of(request), entry_id=entry_id, revision=body.revision, reason=body.reason
        )
    )


@router.get("/memory/entries/{uuid:entry_id}/revisions", response=list[entries.EntryRevisionOut])
def list_revisions(request: HttpRequest, entry_id: UUID) -> list[entries.EntryRevisionOut]:
    """Newest first."""
    found = services.list_revisions(caller_of(request), entry_id=entry_id)
    return [entries.revision_out(row) for row in found]


@router.post("/memory/changes/{uuid:change_id}/undo", response=entries.UndoneOut)
def undo_change(request: HttpRequest, change_id: UUID) -> entries.UndoneOut:
    """Everything that one act changed, as it was before; 409 where somebody changed it since."""
    done = services.undo(caller_of(request), change_id=change_id)
    return entries.UndoneOut(count=done.count, entries=[UUID(one) for one in done.entry_ids])


@router.post("/memory/runs/{uuid:run_id}/undo", response=entries.RunUndoneOut)
def undo_run(request: HttpRequest, run_id: UUID, body: entries.UndoRunIn) -> entries.RunUndoneOut:
    """Everything a run wrote, where you may change it: ``change`` brings it back as one."""
    done = services.undo_run(
        caller_of(request), run_id=str(run_id), reason=body.reason, dry_run=body.dry_run
    )
    return entries.RunUndoneOut(count=done.count, left=done.skipped, change=done.change_id)


@router.post("/memory/subjects/{subject}/erase", response=entries.ReceiptOut)
def erase_person(request: HttpRequest, subject: str, body: entries.EraseIn) -> entries.ReceiptOut:
    """For good, history included. Without ``dry_run: false`` nothing goes, and the receipt says what would."""
    done = services.erase(caller_of(request), subject=subject, dry_run=body.dry_run, runs=body.runs)
    return entries.receipt_out(done)


def revision_named(if_match: str) -> int:
    number = if_match.strip().removeprefix("W/").strip('"')
    if not number.isascii() or not number.isdecimal():
        raise InvalidInput("If-Match: must be a revision number.")
    return int(number)
