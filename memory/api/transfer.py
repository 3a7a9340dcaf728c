"""``/api/v1/memory/export`` and ``import``: memory as a file of JSON Lines, out and in."""

import io

from django.http import HttpRequest
from ninja import Query, Router, Status

from accounts.http.auth import api_auth
from memory import services
from memory.api.entries import caller_of
from memory.downloads import FileDownload
from memory.schemas import transfer as shapes


router = Router(auth=api_auth(), tags=["memory"])


@router.get("/memory/export")
def export_memory(request: HttpRequest, asked: Query[shapes.ExportQuery]) -> FileDownload:
    """One namespace, or (for admins) all of the team's that they may see; the first line says how many
    were left out. Entries with their revisions, metadata, tiers, groups and ends, one thing a line."""
    caller = caller_of(request)
    if asked.namespace is not None:
        made = services.export_namespace(caller, namespace=asked.namespace)
    else:
        made = services.export_team(caller)
    return FileDownload(made, asked.namespace or "team-memory")


@router.get("/memory/subjects/{subject}/export")
def export_person(request: HttpRequest, subject: str) -> FileDownload:
    """All that is remembered about a person, with their conversations and the runs it reached. Their own to
    take; the key that names somebody takes it for them; anybody else gets what they may see."""
    return FileDownload(services.export_person(caller_of(request), subject=subject), subject)


@router.post("/memory/import", response={200: shapes.ImportOut, 422: shapes.ImportOut})
def import_memory(request: HttpRequest, body: shapes.MemoryImportIn) -> Status[shapes.ImportOut]:
    """A dry run first, unless you say otherwise. Bad lines are named with their field, and change nothing (422);
    what rights, policy or quota refuse is left out and named."""
    done = services.import_file(
        caller_of(request),
        io.BytesIO(body.file.encode()),
        clash=body.clash,
        into=body.into,
        as_mine=body.as_mine,
        dry_run=body.dry_run,
        reason=body.reason,
    )
    return Status(422 if done.problems else 200, shapes.import_out(done))


@router.post("/memory/import/undo", response=shapes.UndoneImportOut)
def undo_import(request: HttpRequest, body: shapes.UndoImportIn) -> shapes.UndoneImportOut:
    """All of an import, or none of it."""
    count = services.undo_import(caller_of(request), changes=body.changes)
    return shapes.UndoneImportOut(count=count)
