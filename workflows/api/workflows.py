"""Routes of ``/api/v1/workflows``: documents, versions and samples."""

from typing import Literal
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from ninja import Path, Router, Status
from ninja.pagination import paginate

from accounts.http.auth import api_auth
from accounts.principals import Principal, get_current_team_id, get_principal
from config.http.openapi import Number
from config.http.pages import Listing, Pages, list_rows
from workflows import selectors
from workflows.api.folders import find_folder
from workflows.api.request_context import find_workflow
from workflows.engine.import_report.report import ImportReport
from workflows.engine.language.document import Dialect
from workflows.engine.language.problems import Problem, select_errors
from workflows.models import Version, Workflow
from workflows.samples import Sample
from workflows.schemas import workflows
from workflows.services import publishing
from workflows.services.catalog import folders, importing
from workflows.services.catalog.import_reports import report_workflow
from workflows.services.catalog.uses import check_unused
from workflows.services.editor import drafts
from workflows.services.samples import samples
from workflows.services.tools.workflow_tools import change_tool_settings, list_workflow_tools


router = Router(auth=api_auth(), tags=["workflows"])

MEDIA_TYPES = {"yaml": "application/yaml", "json": "application/json"}


@router.get("/workflows", response=list[workflows.WorkflowOut], summary="List workflows")
@paginate(Pages)
def list_workflows(
    request: HttpRequest,
    team: UUID | None = None,
    archived: bool = False,
    folder: UUID | Literal["top"] | None = None,
) -> QuerySet[Workflow]:
    """Return every workflow that you may see, most recently changed first.

    ``team`` limits the list to one team, ``folder`` to the workflows directly in a folder, or to
    those in none (``top``).
    """
    principal = get_principal(request)
    matching_workflows = selectors.list_workflows(principal, team_id=team, archived=archived)
    if folder is not None:
        parent = None if folder == "top" else selectors.find_folder(principal, folder)
        matching_workflows = matching_workflows.filter(folder=parent)
    return matching_workflows


@router.post(
    "/workflows", response={201: workflows.CreatedOut}, summary="Create a workflow from a document"
)
def create_workflow(request: HttpRequest, body: workflows.WorkflowIn) -> Status[dict[str, object]]:
    """Create a workflow in your current team from a document.

    The document is only parsed: nothing is run or requested. Content that the format doesn't know is kept and
    reported as a warning; ``report`` says what the document wants that your team lacks. Fails with DocumentInvalid,
    or NewerDocument unless ``confirm_newer`` is set.
    """
    principal = get_principal(request)
    imported = importing.import_document(
        principal,
        team_id=get_current_team_id(request),
        source=body.document,
        name=body.name,
        folder=find_folder(principal, body.folder),
        confirm_newer=body.confirm_newer,
    )
    return Status(201, _serialize_import(principal, imported))


@router.get(
    "/workflows/{uuid:workflow_id}/report",
    response=workflows.ImportReportOut,
    summary="Read what a workflow lacks",
)
def read_report(request: HttpRequest, workflow_id: UUID) -> ImportReport:
    """Return what the draft wants that this installation or your team lacks, and what happens without it."""
    principal, workflow = find_workflow(request, workflow_id)
    return report_workflow(principal, workflow)


@router.post("/workflows/validate", response=workflows.ReportOut, summary="Validate a document")
def validate_document(request: HttpRequest, body: workflows.ValidateIn) -> dict[str, object]:
    """Return every problem of a document without storing it."""
    get_principal(request)
    return _serialize_report(importing.list_document_problems(body.document))


@router.get("/workflows/samples", response=list[workflows.SampleOut], summary="List samples")
@paginate(Pages)
def list_samples(request: HttpRequest) -> list[Sample]:
    """Return the samples that can run on this installation."""
    get_principal(request)
    return list(samples.list_offered())


@router.post(
    "/workflows/samples/{slug:slug}/copy",
    response={201: workflows.WorkflowOut},
    summary="Create a workflow from a sample",
)
def copy_sample(request: HttpRequest, slug: str, folder: UUID | None = None) -> Status[Workflow]:
    """Create a workflow in your current team from a sample, with its test cases and memories."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    workflow = samples.copy_sample(
        principal, team_id=team_id, slug=slug, folder=find_folder(principal, folder)
    )
    return Status(201, workflow)


@router.get(
    "/workflows/{uuid:workflow_id}", response=workflows.WorkflowDetailOut, summary="Get a workflow"
)
def read_workflow(request: HttpRequest, workflow_id: UUID) -> Workflow:
    """Return a workflow with its draft."""
    return selectors.find_workflow(get_principal(request), workflow_id)


@router.patch(
    "/workflows/{uuid:workflow_id}",
    response=workflows.WorkflowOut,
    summary="Update name, description, folder or use as a tool",
)
def change_workflow(
    request: HttpRequest, workflow_id: UUID, body: workflows.WorkflowPatch
) -> Workflow:
    """Change a workflow's name, description, folder, or use as a tool. Only the first two change the draft's revision."""
    principal, workflow = find_workflow(request, workflow_id, "edit")
    fields = body.model_fields_set
    with transaction.atomic():  # both or neither
        if "folder" in fields:
            target = find_folder(principal, body.folder)
            (workflow,) = folders.move_workflows(principal, workflows=[workflow], into=target)
        if fields & {"name", "description"}:
            workflow = drafts.rename(
                principal,
                workflow=workflow,
                name=body.name if "name" in fields else workflow.name,
                description=body.description,
            )
        if fields & {"is_tool", "tool_description"}:
            workflow = change_tool_settings(
                principal,
                workflow=workflow,
                is_tool=body.is_tool if "is_tool" in fields else workflow.is_tool,
                description=body.tool_description,
            )
    return workflow


@router.get(
    "/workflow-tools",
    response=list[workflows.WorkflowToolOut],
    summary="List the workflows that can be used as tools",
)
@paginate(Pages)
def list_tools(request: HttpRequest) -> list[dict[str, object]]:
    """Return the published workflows of your current team that offer themselves as tools, by name."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    return [
        {
            "workflow": tool.workflow.pk,
            "slug": tool.workflow.slug,
            "name": tool.spec.name,
            "description": tool.spec.description,
            "parameters": tool.spec.parameters,
        }
        for tool in list_workflow_tools(principal, team_id)
    ]


@router.delete("/workflows/{uuid:workflow_id}", response={204: None}, summary="Archive a workflow")
def archive_workflow(
    request: HttpRequest, workflow_id: UUID, confirm_used: bool = False
) -> Status[None]:
    """Archive a workflow: it leaves the lists, keeps its versions and runs, and can be restored.

    While other workflows run it, triggers start it, its public page is open or a data set was run with it, this fails
    with WorkflowInUse, whose ``problems`` name each use, unless ``confirm_used`` is set.
    """
    principal, workflow = find_workflow(request, workflow_id, "delete")
    if not confirm_used:
        check_unused(principal, workflow)
    drafts.archive(principal, workflow=workflow)
    return Status(204, None)


@router.post(
    "/workflows/{uuid:workflow_id}/restore",
    response=workflows.WorkflowOut,
    summary="Restore an archived workflow",
)
def restore_workflow(request: HttpRequest, workflow_id: UUID) -> Workflow:
    """Restore an archived workflow into its folder."""
    principal, workflow = find_workflow(request, workflow_id, "delete")
    return drafts.unarchive(principal, workflow=workflow)


@router.put(
    "/workflows/{uuid:workflow_id}/draft",
    response=workflows.CreatedOut,
    summary="Replace the draft with a document",
)
def replace_draft(
    request: HttpRequest, workflow_id: UUID, body: workflows.DraftIn
) -> dict[str, object]:
    """Replace the draft with a document, as one edit that can be undone. The workflow keeps its name.

    Fails with DocumentInvalid, or NewerDocument unless ``confirm_newer`` is set.
    """
    principal, workflow = find_workflow(request, workflow_id, "edit")
    imported = importing.replace_from_document(
        principal, workflow=workflow, source=body.document, confirm_newer=body.confirm_newer
    )
    return _serialize_import(principal, imported)


@router.get("/workflows/{uuid:workflow_id}/export", summary="Export the draft")
def export_workflow(
    request: HttpRequest,
    workflow_id: UUID,
    dialect: Dialect | None = None,
    format: Literal["yaml", "json"] = "yaml",  # noqa: A002 - the name in the address
    include_secrets: bool = False,
) -> HttpResponse:
    """Return the draft as a YAML or JSON file. Secret variables are blank unless ``include_secrets`` is set."""
    principal, workflow = find_workflow(request, workflow_id)
    document_text = drafts.export(
        principal,
        workflow=workflow,
        dialect=dialect,
        format=format,
        include_secrets=include_secrets,
    )
    return HttpResponse(
        document_text,
        content_type=f"{MEDIA_TYPES[format]}; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{workflow.pk}.{format}"'},
    )


@router.post(
    "/workflows/{uuid:workflow_id}/validate",
    response=workflows.ReportOut,
    summary="Validate the draft",
)
def validate_draft(request: HttpRequest, workflow_id: UUID) -> dict[str, object]:
    """Return every problem of the draft, errors and warnings."""
    workflow = selectors.find_workflow(get_principal(request), workflow_id)
    return _serialize_report(drafts.validate_draft(workflow))


@router.post(
    "/workflows/{uuid:workflow_id}/duplicate",
    response={201: workflows.WorkflowOut},
    summary="Duplicate a workflow",
)
def duplicate_workflow(
    request: HttpRequest, workflow_id: UUID, body: workflows.DuplicateIn
) -> Status[Workflow]:
    """Create a workflow with the same draft. Versions, runs and secret values stay with the original."""
    principal, workflow = find_workflow(request, workflow_id)
    copy = importing.duplicate_workflow(principal, workflow=workflow, name=body.name)
    return Status(201, copy)


@router.post(
    "/workflows/{uuid:workflow_id}/publish",
    response={201: workflows.VersionOut},
    summary="Publish the draft as a version",
)
def publish_workflow(
    request: HttpRequest, workflow_id: UUID, body: workflows.PublishIn
) -> Status[dict[str, object]]:
    """Publish the draft as a new version. Fails with DocumentInvalid with every error, or NothingToPublish.

    If a run would fail at some nodes, because what they need is missing here, it fails with PublishingUnconfirmed, whose
    ``problems`` name each node, unless ``confirm_failing`` is set.
    """
    principal, workflow = find_workflow(request, workflow_id, "publish")
    version = publishing.publish(
        principal,
        workflow=workflow,
        note=body.note,
        accepts_failing_nodes=body.confirm_failing,
    )
    return Status(201, serialize_version(version, workflow))


@router.get(
    "/workflows/{uuid:workflow_id}/versions",
    response=list[workflows.VersionOut],
    summary="List versions",
)
@paginate(Pages)
def list_versions(request: HttpRequest, workflow_id: UUID) -> Listing[Version]:
    """Return the workflow's versions, newest first."""
    principal, workflow = find_workflow(request, workflow_id)
    versions = selectors.list_versions(principal, workflow)
    return list_rows(
        versions, lambda rows: [serialize_version(version, workflow) for version in rows]
    )


@router.get(
    "/workflows/{uuid:workflow_id}/versions/{int:number}",
    response=workflows.VersionDetailOut,
    summary="Get a version with its document",
)
def read_version(
    request: HttpRequest, workflow_id: UUID, number: Path[Number]
) -> dict[str, object]:
    """Return a version with its document."""
    principal, workflow = find_workflow(request, workflow_id)
    version = selectors.find_version(principal, workflow, number)
    return {**serialize_version(version, workflow), "document": version.snapshot.document}


def serialize_version(version: Version, workflow: Workflow) -> dict[str, object]:
    return {
        "number": version.number,
        "note": version.note,
        "content_hash": version.content_hash,
        "published": version.pk == workflow.published_version_id,
        "created_at": version.created_at,
    }


def _serialize_import(
    principal: Principal, imported: importing.ImportedWorkflow
) -> dict[str, object]:
    workflow = imported.workflow
    return {
        "workflow": workflow,
        "warnings": imported.warnings,
        "report": report_workflow(principal, workflow),
    }


def _serialize_report(problems: list[Problem]) -> dict[str, object]:
    return {"valid": not select_errors(problems), "problems": problems}
