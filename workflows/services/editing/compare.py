"""Compare two versions, or a version and the draft."""

from dataclasses import dataclass

from workflows.engine.editing import DocumentDiff, Op, compare_documents, diff
from workflows.engine.language.document import Document
from workflows.models import Version, Workflow
from workflows.models.documents import blank_secrets, from_json
from workflows.services.editor import drafts


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two documents, the operations that turn the first into the second, and the marks for drawing the difference."""

    before: Document
    after: Document
    ops: tuple[Op, ...]
    marks: DocumentDiff


def compare(workflow: Workflow, before: Version | None, after: Version | None) -> Comparison:
    """Compare two versions; None is the draft. The caller has found both and may therefore see them."""
    old, new = load_document(workflow, before), load_document(workflow, after)
    return Comparison(old, new, diff(old, new), compare_documents(old, new))


def load_document(workflow: Workflow, version: Version | None) -> Document:
    """Return the document of the version, or that of the draft for None, without secrets."""
    if version is None:
        return blank_secrets(drafts.load_draft(workflow))
    return from_json(version.snapshot.document)
