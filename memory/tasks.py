"""Celery tasks that call upkeep, and their schedule."""

import logging
from typing import Any
from uuid import UUID

from celery import Task, shared_task
from django.conf import settings
from django.utils.translation import get_language, override
from kombu.exceptions import KombuError

from memory.upkeep.curation import curate_queued, sweep_curations
from memory.upkeep.documents import run_document, sweep_documents, tidy_originals
from memory.upkeep.embedding import embed_all_teams, embed_team, embed_team_again
from memory.upkeep.erasure import run_erasure, sweep_erasures
from memory.upkeep.expiry import expire_all_teams
from memory.upkeep.folding import fold_all_teams
from memory.upkeep.promotion import promote_all_teams
from memory.upkeep.run_notes import sweep_notes
from memory.upkeep.run_people import note_all_teams
from memory.upkeep.wiki_jobs import run_wiki_job, sweep_wiki_jobs


log = logging.getLogger(__name__)

SWEEP_EVERY_SECONDS = 60.0
SETTLE_EVERY_SECONDS = 15 * 60.0
TIDY_EVERY_SECONDS = 60 * 60.0

# Rows for beat; ``config.celery`` merges what the apps offer.
BEAT_SCHEDULE: dict[str, dict[str, Any]] = {  # Celery's own open form
    "memory-sweep-expired": {"task": "memory.sweep_expired", "schedule": SWEEP_EVERY_SECONDS},
    "memory-clear-notes": {"task": "memory.clear_notes", "schedule": SWEEP_EVERY_SECONDS},
    "memory-settle-working": {"task": "memory.settle_working", "schedule": SETTLE_EVERY_SECONDS},
    "memory-erase-waiting": {"task": "memory.erase_waiting", "schedule": SWEEP_EVERY_SECONDS},
    "memory-embed-waiting": {"task": "memory.embed_waiting", "schedule": SWEEP_EVERY_SECONDS},
    "memory-curate-waiting": {"task": "memory.curate_waiting", "schedule": SWEEP_EVERY_SECONDS},
    "memory-documents-waiting": {
        "task": "memory.documents_waiting",
        "schedule": SWEEP_EVERY_SECONDS,
    },
    "memory-note-people": {"task": "memory.note_people", "schedule": TIDY_EVERY_SECONDS},
    "memory-tidy-originals": {"task": "memory.tidy_originals", "schedule": TIDY_EVERY_SECONDS},
    "memory-wiki-waiting": {"task": "memory.wiki_waiting", "schedule": SWEEP_EVERY_SECONDS},
}


@shared_task(name="memory.sweep_expired")
def sweep_expired() -> int:
    return expire_all_teams()


@shared_task(name="memory.clear_notes")
def clear_notes() -> int:
    return sweep_notes()


@shared_task(name="memory.settle_working")
def settle_working() -> int:
    """Fold repetitions first: an entry that was said twice is promoted."""
    return fold_all_teams() + promote_all_teams()


@shared_task(name="memory.note_people")
def note_people() -> int:
    return note_all_teams()


@shared_task(name="memory.curate_run")
def curate_run(team_id: str, curation_id: str) -> int:
    """Curate a run that has ended. If the task is delivered twice, the second finds the curation claimed."""
    return curate_queued(UUID(team_id), UUID(curation_id))


@shared_task(name="memory.curate_waiting")
def curate_waiting() -> int:
    return sweep_curations()


def wake_curation(team_id: UUID, curation_id: UUID) -> None:
    _send(curate_run, str(team_id), str(curation_id), subject={"curation": str(curation_id)})


@shared_task(name="memory.erase_person")
def erase_person(team_id: str, erasure_id: str) -> int:
    """Carry out an erasure. If the task is delivered twice, the second finds the erasure claimed."""
    return run_erasure(UUID(team_id), UUID(erasure_id))


@shared_task(name="memory.erase_waiting")
def erase_waiting() -> int:
    return sweep_erasures()


def wake_erasure(team_id: UUID, erasure_id: UUID) -> None:
    _send(erase_person, str(team_id), str(erasure_id), subject={"erasure": str(erasure_id)})


@shared_task(name="memory.wiki_job")
def carry_out_wiki_job(team_id: str, job_id: str, language: str = "") -> int:
    """Carry out a wiki job, and note problems in this language. If the task is delivered twice, the second finds the job claimed."""
    with override(language or settings.LANGUAGE_CODE):
        return run_wiki_job(UUID(team_id), UUID(job_id))


@shared_task(name="memory.wiki_waiting")
def carry_out_waiting_wiki_jobs() -> int:
    return sweep_wiki_jobs()


def wake_wiki_job(team_id: UUID, job_id: UUID) -> None:
    args = (str(team_id), str(job_id), get_language() or "")
    _send(carry_out_wiki_job, *args, subject={"wiki_job": str(job_id)})


@shared_task(name="memory.read_document")
def read_document(team_id: str, upload_id: str, language: str = "") -> int:
    """Make pages of an uploaded document, and note problems in the language of whoever uploaded it.

    If the task is delivered twice, the second finds the upload claimed.
    """
    with override(language or settings.LANGUAGE_CODE):
        return run_document(UUID(team_id), UUID(upload_id))


@shared_task(name="memory.documents_waiting")
def read_waiting_documents() -> int:
    return sweep_documents()


@shared_task(name="memory.tidy_originals")
def delete_unused_originals() -> int:
    return tidy_originals()


def wake_document(team_id: UUID, upload_id: UUID) -> None:
    args = (str(team_id), str(upload_id), get_language() or "")
    _send(read_document, *args, subject={"document": str(upload_id)})


@shared_task(name="memory.embed_team")
def embed_one_team(team_id: str) -> int:
    """Embed a team's entries. If the task is delivered twice, the second finds nothing to embed."""
    return embed_team(UUID(team_id))


@shared_task(name="memory.embed_team_again")
def embed_one_team_again(team_id: str) -> int:
    """Embed a team's entries with the model that it has chosen now. Safe to deliver twice."""
    return embed_team_again(UUID(team_id))


@shared_task(name="memory.embed_waiting")
def embed_waiting() -> int:
    return embed_all_teams()


def wake_embedding(team_id: UUID, after: float) -> None:
    """Embed the team's entries in the background, ``after`` seconds from now."""
    _send(embed_one_team, str(team_id), subject={"team": str(team_id)}, countdown=after)


def wake_embedding_again(team_id: UUID) -> None:
    """Embed the team's entries with another model, in the background."""
    _send(embed_one_team_again, str(team_id), subject={"team": str(team_id)})


def _send(
    task: "Task[..., Any]", *args: str, subject: dict[str, str], **options: Any
) -> None:  # Any: as Celery takes them
    """Send the task to a worker. A failure is only logged, with ``subject``: a sweep finds the waiting rows later."""
    try:
        task.apply_async(args, retry=False, **options)
    except (KombuError, OSError) as error:
        log.warning("wake_up_unheard", extra={**subject, "why": str(error)})
