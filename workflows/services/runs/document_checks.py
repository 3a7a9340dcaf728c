"""Check before a run starts that its document can run, so that a refused run leaves no trace."""

from collections import OrderedDict
from uuid import UUID

from workflows.engine.errors import DocumentInvalid
from workflows.engine.language.document import Document
from workflows.engine.language.plan import list_node_titles
from workflows.engine.language.problems import select_errors, select_unfinished
from workflows.engine.language.validation import validate
from workflows.engine.runtime.partial_runs import Part
from workflows.execution.debugging.run_options import prepare_part
from workflows.execution.kinds import load_kinds
from workflows.models import Snapshot, Workflow
from workflows.services.editing.deleted_nodes import name_deleted_nodes
from workflows.services.tools.callable_workflows import find_call_problems


CACHE_SIZE = 1024
# The ids of snapshots without errors, the most recently checked last. Snapshots never change.
_valid_snapshots: OrderedDict[UUID, None] = OrderedDict()


def check_document(workflow: Workflow, snapshot: Snapshot, document: Document) -> None:
    """Raise DocumentInvalid with every error that the page lists, unless the document can run.

    A published version was checked with the workflows that it calls; what they lack now fails at the node.
    """
    kinds = load_kinds()
    errors = []
    if snapshot.pk not in _valid_snapshots:
        errors = select_errors(validate(document, kinds))
    if not errors:
        _note_valid(snapshot.pk)
        if (
            workflow.published_version is None
            or workflow.published_version.snapshot_id != snapshot.pk
        ):
            errors = select_errors(find_call_problems(workflow.team_id, document, workflow.pk))
    if errors:
        raise DocumentInvalid(errors, list_node_titles(document, kinds))


def check_finished(workflow: Workflow, document: Document) -> None:
    """Raise DocumentInvalid with the errors and half-made nodes of a draft that a person wants to try in the editor.

    Programs may run such a draft, because an empty text can be meant.
    """
    kinds = load_kinds()
    if problems := name_deleted_nodes(workflow, select_unfinished(validate(document, kinds))):
        raise DocumentInvalid(problems, list_node_titles(document, kinds))


def check_part(document: Document, part: Part) -> None:
    """Raise DocumentInvalid unless the part can run; errors elsewhere in the document don't matter."""
    prepare_part(document, part)


def _note_valid(snapshot_id: UUID) -> None:
    _valid_snapshots[snapshot_id] = None
    _valid_snapshots.move_to_end(snapshot_id)
    while len(_valid_snapshots) > CACHE_SIZE:
        _valid_snapshots.popitem(last=False)
