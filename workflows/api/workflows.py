"""``/api/v1/workflows``: documents in, documents out, versions, samples."""

from typing import Literal
from uuid import UUID

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from ninja import Path, Router, Status

from accounts.http.auth import api_auth
from accounts.principals import get_current_team_id, get_principal
from config.http.openapi import Limit, Number, Offset
from workflows import selectors
from workflows.api.folders import folder_named
from workflows.api.responses import problem_out, sample_out, version_out, workflow_out
from workflows.engine.language.document import Dialect
from workflows.engine.language.problems import Problem, errors_of
from workflows.models.documents import to_json
from workflows.schemas import workflows
from workflows.services import publishing
from workflows.services.catalog import folders, importing
from workflows.services.editor import drafts
from workflows.services.samples import samples


router = Router(auth=api_auth(), tags=["workflows"])

MEDIA_TYPES = {"yaml": "application/yaml", "json": "application/json"}


@router.get("/workflows", response=workflows.PageOut, summary="List workflows")
def list_workflows(
    request: HttpRequest,
    team: UUID | None = None,
    archived: bool = False,
    folder: UUID | Literal["top"] | None = None,
    offset: Offset = 0,
    limit: Limit = 50,
) -> dict[str, object]:
    """Every workflow you may see, newest change first. ``team`` narrows it to one team, ``folder`` to
    what lies directly in a folder, or in none (``top``)."""
    principal = get_principal(request)
    found = selectors.workflows_for(principal, team_id=team, archived=archived)
    if folder is not None:
        inside = None if folder == "top" else selectors.folder_for(principal, folder)
        found = found.filter(folder=inside)
    items = [workflow_out(row) for row in found[offset : offset + limit]]
    return {"items": items, "count": found.count()}


@router.post(
    "/workflows", response={201: workflows.CreatedOut}, summary="Create a workflow from a document"
)
def create_workflow(request: HttpRequest, body: workflows.WorkflowIn) -> Status[dict[str, object]]:
    """Parses only: nothing is run or requested. What isn't understood is kept, and reported."""
    principal = get_principal(request)
    made = importing.import_document(
        principal,
        team_id=get_current_team_id(request),
        source=body.document,
        name=body.name,
        folder=folder_named(principal, body.folder),
        confirm_newer=body.confirm_newer,
    )
    return Status(201, _imported(made))


@router.post("/workflows/validate", response=workflows.ReportOut, summary="Validate a document")
def validate_document(request: HttpRequest, body: workflows.ValidateIn) -> dict[str, object]:
    """Every problem of a document that is not stored, at once."""
    get_principal(request)
    return _report(importing.list_document_problems(body.document))


@router.get("/workflows/samples", response=list[workflows.SampleOut], summary="List samples")
def list_samples(request: HttpRequest) -> list[dict[str, object]]:
    get_principal(request)
    return [sample_out(sample) for sample in samples.list_offered()]


@router.post(
    "/workflows/samples/{slug:slug}/copy",
    response={201: workflows.WorkflowOut},
    summary="Create a workflow from a sample",
)
def copy_sample(
    request: HttpRequest, slug: str, folder: UUID | None = None
) -> Status[dict[str, object]]:
    principal, team_id = get_principal(request), get_current_team_id(request)
    made = samples.copy_sample(
        principal, team_id=team_id, slug=slug, folder=folder_named(principal, folder)
    )
    return Status(201, workflow_out(made))


@router.get("/workflows/{uuid:workflow_id}", response=workflows.WorkflowDetailOut, summary="Read")
def read_workflow(request: HttpRequest, workflow_id: UUID) -> dict[str, object]:
    workflow = selectors.workflow_for(get_principal(request), workflow_id)
    document = to_json(drafts.draft_document(workflow))
    return {**workflow_out(workflow), "document": document}


@router.patch(
    "/workflows/{uuid:workflow_id}",
    response=workflows.WorkflowOut,
    summary="Update name, description or folder",
)
def change_workflow(
    request: HttpRequest, workflow_id: UUID, body: workflows.WorkflowPatch
) -> dict[str, object]:
    """Moving it to another folder is no change of its draft: the revision stays."""
    principal = get_principal(request)
    workflow = selectors.workflow_for(principal, workflow_id, "edit")
    said = body.model_fields_set
    with transaction.atomic():  # both or neither
        if "folder" in said:
            into = folder_named(principal, body.folder)
            (workflow,) = folders.move_workflows(principal, workflows=[workflow], into=into)
        if said & {"name", "description"}:
            workflow = drafts.rename(
                principal,
                workflow=workflow,
                name=body.name if "name" in said else workflow.name,
                description=body.description,
            )
    return workflow_out(workflow)


@router.delete("/workflows/{uuid:workflow_id}", response={204: None}, summary="Archive")
def archive_workflow(request: HttpRequest, workflow_id: UUID) -> Status[None]:
    """Takes it out of the lists; its versions and runs stay, and it can be restored."""
    principal = get_principal(request)
    workflow = selectors.workflow_for(principal, workflow_id, "delete")
    drafts.archive(principal, workflow=workflow)
    return Status(204, None)


@router.post(
    "/workflows/{uuid:workflow_id}/restore",
    response=workflows.WorkflowOut,
    summary="Restore an archived workflow",
)
def restore_workflow(request: HttpRequest, workflow_id: UUID) -> dict[str, object]:
    """Back into the lists and into its folder, as it was."""
    principal = get_principal(request)
    workflow = selectors.workflow_for(principal, workflow_id, "delete")
    return workflow_out(drafts.unarchive(principal, workflow=workflow))


@router.put(
    "/workflows/{uuid:workflow_id}/draft",
    response=workflows.CreatedOut,
    summary="Replace the draft with a document",
)
def replace_draft(
    request: HttpRequest, workflow_id: UUID, body: workflows.DraftIn
) -> dict[str, object]:
    principal = get_principal(request)
    workflow = selectors.workflow_for(principal, workflow_id, "edit")
    return _imported(
        importing.reimport(
            principal,
            workflow=workflow,
            source=body.document,
            confirm_newer=body.confirm_newer,
        )
    )


@router.get("/workflows/{uuid:workflow_id}/export", summary="Export the draft")
def export_workflow(
    request: HttpRequest,
    workflow_id: UUID,
    dialect: Dialect | None = None,
    format: Literal["yaml", "json"] = "yaml",  # noqa: A002 - the name in the address
    include_secrets: bool = False,
) -> HttpResponse:
    """The document as a file in either dialect. Secret variables are blank unless asked for."""
    principal = get_principal(request)
    workflow = selectors.workflow_for(principal, workflow_id)
    text = drafts.export(
        principal,
        workflow=workflow,
        dialect=dialect,
        format=format,
        include_secrets=include_secrets,
    )
    return HttpResponse(
        text,
        content_type=f"{MEDIA_TYPES[format]}; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{workflow.pk}.{format}"'},
    )


@router.post(
    "/workflows/{uuid:workflow_id}/validate",
    response=workflows.ReportOut,
    summary="Validate the draft",
)
def validate_draft(request: HttpRequest, workflow_id: UUID) -> dict[str, object]:
    workflow = selectors.workflow_for(get_principal(request), workflow_id)
    return _report(drafts.validate_draft(workflow))


@router.post(
    "/workflows/{uuid:workflow_id}/duplicate",
    response={201: workflows.WorkflowOut},
    summary="Duplicate",
)
def duplicate_workflow(
    request: HttpRequest, workflow_id: UUID, body: workflows.DuplicateIn
) -> Status[dict[str, object]]:
    """A new workflow with the same draft. Versions, runs and secret values stay with the first."""
    principal = get_principal(request)
    workflow = selectors.workflow_for(principal, workflow_id)
    return Status(
        201, workflow_out(importing.duplicate(principal, workflow=workflow, name=body.name))
    )


@router.post(
    "/workflows/{uuid:workflow_id}/publish",
    response={201: workflows.VersionOut},
    summary="Publish the draft as a version",
)
def publish_workflow(
    request: HttpRequest, workflow_id: UUID, body: workflows.PublishIn
) -> Status[dict[str, object]]:
    principal = get_principal(request)
    workflow = selectors.workflow_for(principal, workflow_id, "publish")
    version = publishing.publish(principal, workflow=workflow, note=body.note)
    return Status(201, version_out(version, workflow))


@router.get(
    "/workflows/{uuid:workflow_id}/versions",
    response=list[workflows.VersionOut],
    summary="List versions",
)
def list_versions(request: HttpRequest, workflow_id: UUID) -> list[dict[str, object]]:
    principal = get_principal(request)
    workflow = selectors.workflow_for(principal, workflow_id)
    return [version_out(row, workflow) for row in selectors.versions_of(principal, workflow)]


@router.get(
    "/workflows/{uuid:workflow_id}/versions/{int:number}",
    response=workflows.VersionDetailOut,
    summary="Get a version with its document",
)
def read_version(
    request: HttpRequest, workflow_id: UUID, number: Path[Number]
) -> dict[str, object]:
    principal = get_principal(request)
    workflow = selectors.workflow_for(principal, workflow_id)
    version = selectors.version_for(principal, workflow, number)
    return {**version_out(version, workflow), "document": version.snapshot.document}


def _imported(made: importing.Imported) -> dict[str, object]:
    return {
        "workflow": workflow_out(made.workflow),
        "warnings": [problem_out(problem) for problem in made.warnings],
    }


def _report(problems: list[Problem]) -> dict[str, object]:
    return {
        "valid": not errors_of(problems),
        "problems": [problem_out(problem) for problem in problems],
    }
