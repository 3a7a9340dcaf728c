"""``/api/v1/memory/export`` and ``import``: memory as a file of JSON Lines."""

import io

from django.http import HttpRequest
from ninja import Query, Router, Status

from accounts.http.auth import api_auth
from memory import services
from memory.api.entries import build_caller
from memory.downloads import FileDownload
from memory.schemas import transfer as shapes


router = Router(auth=api_auth(), tags=["memory"])


@router.get("/memory/export")
def export_memory(request: HttpRequest, params: Query[shapes.ExportQuery]) -> FileDownload:
    """Export one namespace, or for admins everything of the team that they may view; the first line counts what was left
    out. Entries come with revisions, metadata, tiers, groups and expiry, one object per line.
    """
    caller = build_caller(request)
    if params.namespace is not None:
        export = services.export_namespace(caller, namespace=params.namespace)
    else:
        export = services.export_team(caller)
    return FileDownload(export, params.namespace or "team-memory")


@router.get("/memory/subjects/{subject}/export")
def export_person(request: HttpRequest, subject: str) -> FileDownload:
    """Export everything that is remembered about a person, with their conversations and the runs it reached. The person
    and the key that names them get all of it, others what they may view.
    """
    return FileDownload(services.export_person(build_caller(request), subject=subject), subject)


@router.post("/memory/import", response={200: shapes.ImportOut, 422: shapes.ImportOut})
def import_memory(request: HttpRequest, body: shapes.MemoryImportIn) -> Status[shapes.ImportOut]:
    """Import a file; a dry run unless you say otherwise. Invalid lines are reported with their field and change nothing
    (422); lines that permissions, policy or quota refuse are skipped and reported.
    """
    report = services.import_file(
        build_caller(request),
        io.BytesIO(body.file.encode()),
        on_conflict=body.on_conflict,
        into=body.into,
        as_mine=body.as_mine,
        dry_run=body.dry_run,
        reason=body.reason,
    )
    return Status(422 if report.problems else 200, shapes.import_out(report))


@router.post("/memory/import/undo", response=shapes.UndoneImportOut)
def undo_import(request: HttpRequest, body: shapes.UndoImportIn) -> shapes.UndoneImportOut:
    """Undo all of an import, or nothing."""
    count = services.undo_import(build_caller(request), changes=body.changes)
    return shapes.UndoneImportOut(count=count)
