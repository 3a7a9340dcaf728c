"""``/api/v1/memory``: entries in quarantine, and moves between the tiers."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from ninja.pagination import paginate

from accounts.http.auth import api_auth
from config.http.pages import Listing, Pages, Rows
from memory import services
from memory.api.entries import IfMatch, build_caller, parse_revision
from memory.core.records import MemoryEntry
from memory.schemas import entries, tiers


router = Router(auth=api_auth(), tags=["memory"])


@router.get("/memory/quarantine", response=list[entries.EntryOut])
@paginate(Pages)
def list_quarantine(
    request: HttpRequest, params: Query[tiers.QuarantineQuery]
) -> Listing[MemoryEntry]:
    """List the entries of a namespace that wait for a decision, newest first, or those that were rejected."""
    caller = build_caller(request)

    def read(offset: int, limit: int) -> Rows[MemoryEntry]:
        page = services.list_quarantined(caller, **params.dict(), limit=limit, offset=offset)
        return Rows(page.entries, page.total)

    return Listing(read, entries.entries_out)


@router.post("/memory/entries/{uuid:entry_id}/move", response=tiers.MovedOut)
def move_entry(
    request: HttpRequest,
    response: HttpResponse,
    entry_id: UUID,
    body: tiers.EntryMoveIn,
    if_match: IfMatch,
) -> tiers.MovedOut:
    """Approve, reject, promote or quarantine an entry; 409 if it has been changed since ``If-Match``."""
    revision = parse_revision(if_match)
    result = services.move(
        build_caller(request), entry_ids=[entry_id], if_revision=revision, **body.dict()
    )
    response["ETag"] = f'"{result.entries[0].revision}"'
    return tiers.moved_out(result)


@router.post("/memory/move", response=tiers.MovesOut)
def move_entries(request: HttpRequest, body: tiers.MovesIn) -> tiers.MovesOut:
    """Move several entries, all or none. The returned ``change`` undoes all moves."""
    caller = build_caller(request)
    if body.dry_run:
        planned = services.plan_moves(caller, move=body.move, entry_ids=body.entries, to=body.to)
        return tiers.MovesOut(
            count=sum(not plan.problem for plan in planned),
            planned=[tiers.planned_out(plan) for plan in planned],
        )
    result = services.move(
        caller, move=body.move, entry_ids=body.entries, to=body.to, reason=body.reason
    )
    moved = tiers.moved_out(result)
    return tiers.MovesOut(count=len(moved.entries), entries=moved.entries, change=moved.change)
