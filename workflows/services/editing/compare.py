"""What is different between two versions, or a version and the draft: as operations, and to be drawn."""

from dataclasses import dataclass

from workflows.engine.editing import Drawn, Op, diff, drawn
from workflows.engine.language.document import Document
from workflows.models import Version, Workflow
from workflows.models.documents import from_json, without_secrets
from workflows.services.editor import drafts


@dataclass(frozen=True, slots=True)
class Comparison:
    before: Document
    after: Document
    ops: tuple[Op, ...]
    drawn: Drawn


def compare(workflow: Workflow, before: Version | None, after: Version | None) -> Comparison:
    """None is the draft. The caller has found both, so may see them."""
    one, other = document_of(workflow, before), document_of(workflow, after)
    return Comparison(one, other, diff(one, other), drawn(one, other))


def document_of(workflow: Workflow, version: Version | None) -> Document:
    if version is None:
        return without_secrets(drafts.draft_document(workflow))
    return from_json(version.snapshot.document)
