"""``/api/v1/memory``: what waits in quarantine, and moves between the tiers."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Header, Query, Router

from accounts.http.auth import api_auth
from memory import services
from memory.api.entries import caller_of, revision_named
from memory.schemas import entries, tiers


router = Router(auth=api_auth(), tags=["memory"])


@router.get("/memory/quarantine", response=entries.EntriesOut)
def list_quarantine(
    request: HttpRequest, asked: Query[tiers.QuarantineQuery]
) -> entries.EntriesOut:
    """What waits in a namespace for somebody to decide, newest first; or what was rejected there."""
    page = services.list_quarantined(caller_of(request), **asked.dict())
    found = [entries.entry_out(entry) for entry in page.entries]
    return entries.EntriesOut(entries=found, total=page.total, offset=page.offset)


@router.post("/memory/entries/{uuid:entry_id}/move", response=tiers.MovedOut)
def move_entry(
    request: HttpRequest,
    response: HttpResponse,
    entry_id: UUID,
    body: tiers.EntryMoveIn,
    if_match: str = Header(..., alias="If-Match", max_length=40),  # type: ignore[type-arg]  # ninja's stub
) -> tiers.MovedOut:
    """Approve, reject, promote or quarantine one. 409 when somebody was quicker."""
    done = services.move(
        caller_of(request),
        entry_ids=[entry_id],
        if_revision=revision_named(if_match),
        **body.dict(),
    )
    response["ETag"] = f'"{done.entries[0].revision}"'
    return tiers.moved_out(done)


@router.post("/memory/move", response=tiers.MovesOut)
def move_entries(request: HttpRequest, body: tiers.MovesIn) -> tiers.MovesOut:
    """Several at once, all or none; the answer's ``change`` undoes them as one."""
    caller = caller_of(request)
    if body.dry_run:
        planned = services.plan_moves(caller, move=body.move, entry_ids=body.entries, to=body.to)
        return tiers.MovesOut(
            count=sum(not one.problem for one in planned),
            planned=[tiers.planned_out(one) for one in planned],
        )
    done = services.move(
        caller, move=body.move, entry_ids=body.entries, to=body.to, reason=body.reason
    )
    moved = tiers.moved_out(done)
    return tiers.MovesOut(count=len(moved.entries), entries=moved.entries, change=moved.change)
