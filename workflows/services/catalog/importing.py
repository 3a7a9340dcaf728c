"""Create workflows from documents. An import only parses: it starts no process, no request and no run."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.tenancy import tenant
from workflows import permissions
from workflows.engine.errors import DocumentInvalid
from workflows.engine.language import dsl
from workflows.engine.language.document import Document, Json
from workflows.engine.language.problems import Problem
from workflows.engine.language.validation import validate
from workflows.errors import NewerDocument
from workflows.execution.kinds import load_kinds
from workflows.models import Folder, Workflow
from workflows.services import audit_lines
from workflows.services.catalog import folders
from workflows.services.editing import log
from workflows.services.editor import draft_rows, drafts


Source = str | bytes | Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class ImportedWorkflow:
    """A workflow whose draft was imported, and the warnings about its document."""

    workflow: Workflow
    warnings: tuple[Problem, ...]


def import_document(
    principal: Principal,
    *,
    team_id: UUID,
    source: Source,
    name: str | None = None,
    folder: Folder | None = None,
    confirm_newer: bool = False,
) -> ImportedWorkflow:
    """Create a workflow with the document as its draft. Raises DocumentInvalid or NewerDocument."""
    permissions.check_create(principal, team_id)
    document, warnings = load_source(source, confirm_newer=confirm_newer)
    workflow = create_from_document(
        principal, team_id=team_id, document=document, name=name, folder=folder
    )
    return ImportedWorkflow(workflow, warnings)


def replace_from_document(
    principal: Principal, *, workflow: Workflow, source: Source, confirm_newer: bool = False
) -> ImportedWorkflow:
    """Replace a workflow's draft, but not its name, with a document. Raises DocumentInvalid or NewerDocument."""
    permissions.check_edit(principal, workflow)
    document, warnings = load_source(source, confirm_newer=confirm_newer)
    return ImportedWorkflow(
        drafts.replace_draft(principal, workflow=workflow, document=document), warnings
    )


def load_source(source: Source, *, confirm_newer: bool) -> tuple[Document, tuple[Problem, ...]]:
    """Return the document and its warnings. Raises DocumentInvalid, or NewerDocument unless ``confirm_newer``."""
    loaded = dsl.load_document(source, confirm_newer=confirm_newer)
    if loaded.pending and not confirm_newer:
        raise NewerDocument(loaded.document.version)
    return loaded.document, tuple(loaded.warnings)


def list_document_problems(source: Source) -> list[Problem]:
    """Return every problem of a document without storing it: its syntax errors, or else its validation problems."""
    try:
        loaded = dsl.load_document(source, confirm_newer=True)
    except DocumentInvalid as invalid:
        return list(invalid.problems)
    return [*loaded.warnings, *validate(loaded.document, load_kinds())]


def create_from_document(
    principal: Principal,
    *,
    team_id: UUID,
    document: Document,
    name: str | None = None,
    folder: Folder | None = None,
    sample: str = "",
    slug: str = "",
    action: str = "workflow.imported",
) -> Workflow:
    """Create the rows of a new workflow. The caller has checked the principal's permission.

    The short name is made of ``slug``, or of the name; a number keeps it apart from the others of the team.
    """
    with tenant([team_id]):
        workflow = Workflow(
            team_id=team_id,
            name=drafts.clean_name(name or document.name or _("Untitled workflow")),
            description=document.description,
            folder_id=folders.lock_folder_id(team_id, folder),
            sample=sample,
            created_by_id=principal.user_id,
        )
        workflow.slug = workflow.find_free_slug(slug) if slug else ""
        draft_rows.copy_header(workflow, document)
        workflow.save(force_insert=True)
        draft_rows.write_rows(workflow, document)
        log.record_creation(principal, workflow)
        audit_lines.record(principal, workflow, action, nodes=len(document.nodes))
    return workflow


def duplicate_workflow(
    principal: Principal, *, workflow: Workflow, name: str | None = None
) -> Workflow:
    """Create a second workflow with the same draft in the same folder.

    Versions, runs and secret values stay with the original.
    """
    permissions.check_view(principal, workflow)
    permissions.check_create(principal, workflow.team_id)
    with tenant([workflow.team_id]):
        folder = workflow.folder
    return create_from_document(
        principal,
        team_id=workflow.team_id,
        document=drafts.load_draft(workflow),
        name=name or _("%(name)s (copy)") % {"name": workflow.name[:240]},
        folder=folder,
        sample=workflow.sample,
        action="workflow.created",
    )
