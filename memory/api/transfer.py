"""``/api/v1/memory/export`` and ``import``: memory as a file of JSON Lines."""

import io

from django.http import HttpRequest
from ninja import Query, Router, Status

from accounts.http.auth import api_auth
from memory import services
from memory.api.entries import build_caller
from memory.downloads import FileDownload
from memory.schemas import transfer as schemas


router = Router(auth=api_auth(), tags=["memory"])


@router.get("/memory/export")
def export_memory(request: HttpRequest, params: Query[schemas.ExportQuery]) -> FileDownload:
    """Export a namespace or, for admins, every namespace of the team that they may view. Each line is a JSON object; the
    first counts what was left out. Entries have revisions, metadata, tiers, groups and expiry.
    """
    caller = build_caller(request)
    if params.namespace is not None:
        export = services.export_namespace(caller, namespace=params.namespace)
    else:
        export = services.export_team(caller)
    return FileDownload(export, params.namespace or "team-memory")


@router.get("/memory/subjects/{path:subject}/export")
def export_person(request: HttpRequest, subject: str) -> FileDownload:
    """Export the memory about a person, with their conversations and the runs that used it. The person and the API key
    that names them get everything, others what they may view.
    """
    return FileDownload(services.export_person(build_caller(request), subject=subject), subject)


@router.post("/memory/import", response={200: schemas.ImportOut, 422: schemas.ImportOut})
def import_memory(request: HttpRequest, body: schemas.MemoryImportIn) -> Status[schemas.ImportOut]:
    """Import a file, or only preview it unless ``dry_run`` is false. If a line is invalid, nothing is imported (422).
    Lines that permissions, policy or quota refuse are skipped, and so is what was forgotten here, unless ``restore`` is
    true. Both are reported.
    """
    report = services.import_file(
        build_caller(request),
        io.BytesIO(body.file.encode()),
        on_conflict=body.on_conflict,
        into=body.into,
        as_mine=body.as_mine,
        dry_run=body.dry_run,
        reason=body.reason,
        restore=body.restore,
    )
    return Status(422 if report.problems else 200, schemas.import_out(report))


@router.post("/memory/import/undo", response=schemas.UndoneImportOut)
def undo_import(request: HttpRequest, body: schemas.UndoImportIn) -> schemas.UndoneImportOut:
    """Undo all changes of an import, or none."""
    count = services.undo_import(build_caller(request), changes=body.changes)
    return schemas.UndoneImportOut(count=count)
