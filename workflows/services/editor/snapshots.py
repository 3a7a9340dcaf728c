"""Store documents as snapshots, which are found by the hash of their content, so that each is stored once."""

from django.db.models import F

from accounts.tenancy import tenant
from workflows.engine.language.document import Document
from workflows.models import Snapshot, Workflow
from workflows.models.documents import compute_hash, to_json
from workflows.services.editor import draft_rows


def take_snapshot(workflow: Workflow) -> Snapshot:
    """Return the snapshot of the current draft, which is stored if there is none yet."""
    with tenant([workflow.team_id]):
        current = Workflow.objects.unscoped().select_related("draft_snapshot").get(pk=workflow.pk)
        if current.draft_snapshot and current.draft_snapshot_revision == current.revision:
            return current.draft_snapshot
        # Locked, because the rows must belong to the stored revision number.
        current = (
            Workflow.objects.unscoped()
            .select_for_update(of=("self",), no_key=True)
            .get(pk=workflow.pk)
        )
        snapshot = store_snapshot(current, draft_rows.read_rows(current))
        Workflow.objects.unscoped().filter(pk=current.pk).update(
            draft_snapshot=snapshot, draft_snapshot_revision=F("revision")
        )
    return snapshot


def store_snapshot(workflow: Workflow, document: Document) -> Snapshot:
    """Store a document without its secrets and return its snapshot; an equal one is reused."""
    stored = to_json(document)
    digest = compute_hash(stored)
    Snapshot.objects.bulk_create(
        [Snapshot(team_id=workflow.team_id, hash=digest, document=stored)], ignore_conflicts=True
    )
    return Snapshot.objects.unscoped().get(team_id=workflow.team_id, hash=digest)
