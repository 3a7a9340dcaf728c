"""Documents by their content: what a draft says at a moment, stored once however often it is asked for."""

from django.db.models import F

from accounts.tenancy import tenant
from workflows.engine.language.document import Document
from workflows.models import Snapshot, Workflow
from workflows.models.documents import content_hash, to_json
from workflows.services.editor import draft_rows


def of_draft(workflow: Workflow) -> Snapshot:
    """What the draft says now."""
    with tenant([workflow.team_id]):
        current = Workflow.objects.unscoped().select_related("draft_snapshot").get(pk=workflow.pk)
        if current.draft_snapshot and current.draft_snapshot_revision == current.revision:
            return current.draft_snapshot
        # Locked: the rows read and the revision noted must belong together.
        current = (
            Workflow.objects.unscoped()
            .select_for_update(of=("self",), no_key=True)
            .get(pk=workflow.pk)
        )
        snapshot = store(current, draft_rows.read_rows(current))
        Workflow.objects.unscoped().filter(pk=current.pk).update(
            draft_snapshot=snapshot, draft_snapshot_revision=F("revision")
        )
    return snapshot


def store(workflow: Workflow, document: Document) -> Snapshot:
    """The snapshot of a document without its secrets; the one there is, if there is one."""
    stored = to_json(document)
    digest = content_hash(stored)
    Snapshot.objects.bulk_create(
        [Snapshot(team_id=workflow.team_id, hash=digest, document=stored)], ignore_conflicts=True
    )
    return Snapshot.objects.unscoped().get(team_id=workflow.team_id, hash=digest)
