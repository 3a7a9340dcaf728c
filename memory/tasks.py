"""Celery wrappers over upkeep, and when beat asks for them."""

import logging
from typing import Any
from uuid import UUID

from celery import shared_task
from kombu.exceptions import KombuError

from memory.upkeep.curation import curate_soon, sweep_curations
from memory.upkeep.embedding import embed_everybodys, embed_team
from memory.upkeep.erasure import erase_soon, sweep_erasures
from memory.upkeep.expiry import sweep
from memory.upkeep.promotion import settle_all
from memory.upkeep.run_notes import sweep_notes


log = logging.getLogger(__name__)

SWEEP_EVERY_SECONDS = 60.0
SETTLE_EVERY_SECONDS = 15 * 60.0


@shared_task(name="memory.sweep_expired")
def sweep_expired() -> int:
    return sweep()


@shared_task(name="memory.clear_notes")
def clear_notes() -> int:
    return sweep_notes()


@shared_task(name="memory.settle_working")
def settle_working() -> int:
    return settle_all()


@shared_task(name="memory.curate_run")
def curate_run(team_id: str, curation_id: str) -> int:
    """After a run ended. Delivered twice, the second finds it begun."""
    return curate_soon(UUID(team_id), UUID(curation_id))


@shared_task(name="memory.curate_waiting")
def curate_waiting() -> int:
    return sweep_curations()


def wake_curation(team_id: UUID, curation_id: UUID) -> None:
    """Nobody listening is no error: the row is found without it."""
    try:
        curate_run.apply_async((str(team_id), str(curation_id)), retry=False)
    except (KombuError, OSError) as unheard:
        log.warning("wake_up_unheard", extra={"curation": str(curation_id), "why": str(unheard)})


@shared_task(name="memory.erase_person")
def erase_person(team_id: str, erasure_id: str) -> int:
    """Delivered twice, the second finds it begun."""
    return erase_soon(UUID(team_id), UUID(erasure_id))


@shared_task(name="memory.erase_waiting")
def erase_waiting() -> int:
    return sweep_erasures()


def wake_erasure(team_id: UUID, erasure_id: UUID) -> None:
    """Nobody listening is no error: the row is found without it."""
    try:
        erase_person.apply_async((str(team_id), str(erasure_id)), retry=False)
    except (KombuError, OSError) as unheard:
        log.warning("wake_up_unheard", extra={"erasure": str(erasure_id), "why": str(unheard)})


@shared_task(name="memory.embed_team")
def embed_one_team(team_id: str) -> int:
    """Delivered twice, the second finds nothing due."""
    return embed_team(UUID(team_id))


@shared_task(name="memory.embed_waiting")
def embed_waiting() -> int:
    return embed_everybodys()


def wake_embedding(team_id: UUID, after: float) -> None:
    """Nobody listening is no error: the rows are found without it."""
    try:
        embed_one_team.apply_async((str(team_id),), countdown=after, retry=False)
    except (KombuError, OSError) as unheard:
        log.warning("wake_up_unheard", extra={"team": str(team_id), "why": str(unheard)})


# Rows for beat; ``config.celery`` merges what the apps offer.
BEAT_SCHEDULE: dict[str, dict[str, Any]] = {  # Celery's own open form
    "memory-sweep-expired": {"task": "memory.sweep_expired", "schedule": SWEEP_EVERY_SECONDS},
    "memory-clear-notes": {"task": "memory.clear_notes", "schedule": SWEEP_EVERY_SECONDS},
    "memory-settle-working": {"task": "memory.settle_working", "schedule": SETTLE_EVERY_SECONDS},
    "memory-erase-waiting": {"task": "memory.erase_waiting", "schedule": SWEEP_EVERY_SECONDS},
    "memory-embed-waiting": {"task": "memory.embed_waiting", "schedule": SWEEP_EVERY_SECONDS},
    "memory-curate-waiting": {"task": "memory.curate_waiting", "schedule": SWEEP_EVERY_SECONDS},
}
