"""Carries out uploads of documents with the function that the services register. The rows are the queue."""

from collections.abc import Callable
from datetime import timedelta
from typing import Final
from uuid import UUID

from django.utils import timezone

from memory.models import DocumentUpload
from memory.upkeep.isolation import list_abandoned, run_each


# Takes the ids of a team and an upload. It claims the upload, stores the outcome in the row and raises nothing.
DocumentWorker = Callable[[UUID, UUID], object]
DocumentTidier = Callable[[], int]

OVERDUE_AFTER: Final = timedelta(seconds=60)
MAX_PER_SWEEP: Final = 50

_WORKERS: dict[str, DocumentWorker] = {}
_TIDIERS: dict[str, DocumentTidier] = {}


def register_document_worker(worker: DocumentWorker, tidier: DocumentTidier) -> None:
    """Set the functions that carry out an upload, and that delete the originals which no document has any more."""
    _WORKERS["documents"], _TIDIERS["documents"] = worker, tidier


def run_document(team_id: UUID, upload_id: UUID) -> int:
    _WORKERS["documents"](team_id, upload_id)
    return 1


def sweep_documents() -> int:
    """Carry out the abandoned uploads of every team, and return their number. Safe to run twice, or at the same time."""
    abandoned = list_abandoned(DocumentUpload, timezone.now(), OVERDUE_AFTER, MAX_PER_SWEEP)
    return run_each(abandoned, lambda pair: run_document(*pair), "document_not_carried_out")


def tidy_originals() -> int:
    return _TIDIERS["documents"]()
