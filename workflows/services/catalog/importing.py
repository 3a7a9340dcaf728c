"""Create workflows from documents. An import only parses: it starts no process, no request and no run."""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.tenancy import tenant
from workflows import permissions
from workflows.engine.errors import DocumentInvalid
from workflows.engine.language import dsl
from workflows.engine.language.document import Document, Json
from workflows.engine.language.dsl.loading import load_tree
from workflows.engine.language.dsl.own_ids import give_own_ids, give_own_names
from workflows.engine.language.problems import Problem, build_warning
from workflows.engine.language.validation import validate
from workflows.errors import NewerDocument
from workflows.execution.kinds import load_kinds
from workflows.models import Folder, Workflow
from workflows.services import audit_lines
from workflows.services.catalog import folders
from workflows.services.catalog.knowledge_mappings import apply_mappings
from workflows.services.editing import log
from workflows.services.editor import draft_rows, drafts


MAX_NOTES: Final = 200  # that are kept of one import

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
    document = apply_mappings(principal, team_id, document)
    workflow = create_from_document(
        principal,
        team_id=team_id,
        document=document,
        name=name,
        folder=folder,
        notes=warnings,
    )
    return ImportedWorkflow(workflow, warnings)


def replace_from_document(
    principal: Principal, *, workflow: Workflow, source: Source, confirm_newer: bool = False
) -> ImportedWorkflow:
    """Replace a workflow's draft, but not its name, with a document. Raises DocumentInvalid or NewerDocument."""
    permissions.check_edit(principal, workflow)
    document, warnings = load_source(source, confirm_newer=confirm_newer)
    document = apply_mappings(principal, workflow.team_id, document)
    replaced = drafts.replace_draft(principal, workflow=workflow, document=document)
    replaced.import_notes = _serialize_notes(warnings)
    with tenant([workflow.team_id]):
        replaced.save(update_fields=["import_notes"])
    return ImportedWorkflow(replaced, warnings)


def list_notes(workflow: Workflow) -> list[Problem]:
    """Return what the import said of the document that the draft was made from."""
    return [build_warning(**note) for note in workflow.import_notes]


def _serialize_notes(warnings: Iterable[Problem]) -> list[dict[str, str | None]]:
    return [
        {"code": each.code, "message": each.message, "node": each.node, "field": each.field}
        for each in itertools.islice(warnings, MAX_NOTES)
    ]


def load_source(source: Source, *, confirm_newer: bool) -> tuple[Document, tuple[Problem, ...]]:
    """Return the document, in which each node has an id and each variable a name of its own, and its warnings.

    Raises DocumentInvalid, or NewerDocument unless ``confirm_newer``.
    """
    loaded = dsl.load_document(source, confirm_newer=confirm_newer)
    if loaded.pending and not confirm_newer:
        raise NewerDocument(loaded.document.version)
    document, id_warnings = give_own_ids(loaded.document, load_kinds())
    document, name_warnings = give_own_names(document)
    return document, (*loaded.warnings, *id_warnings, *name_warnings)


def list_document_problems(source: Source) -> list[Problem]:
    """Return every problem of a document without storing it: its syntax errors, or else its validation problems."""
    try:
        loaded = dsl.load_document(source, confirm_newer=True)
    except DocumentInvalid as invalid:
        return list(invalid.problems)
    return [*loaded.warnings, *validate(loaded.document, load_kinds())]


def read_node_titles(source: Source) -> dict[str, str]:
    """Return the titles of the document's nodes by id, also of a document that can't be imported; none if it is no tree.

    An ID that several nodes have tells none of them.
    """
    try:
        tree = load_tree(source)
    except DocumentInvalid:
        return {}
    titles = [*_iter_titles(tree)]
    counts = Counter(node_id for node_id, _title in titles)
    return {node_id: title for node_id, title in titles if title and counts[node_id] == 1}


def _iter_titles(value: Json) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        data = value.get("data")
        if "id" in value and isinstance(data, Mapping):
            yield str(value["id"]), str(data.get("title") or "")
        value = [*value.values()]
    for item in value if isinstance(value, list) else ():
        yield from _iter_titles(item)


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
    notes: Iterable[Problem] = (),
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
            import_notes=_serialize_notes(notes),
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
