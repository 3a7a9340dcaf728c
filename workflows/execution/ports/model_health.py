"""Stores whether a provider can be reached as its calls tell it, where its tests store it, too.

So there is one answer to this question, which every page reads: ``ModelProvider.status``.
"""

import logging
from uuid import UUID

from django.db import DatabaseError
from django.db.models import Q
from django.utils import timezone

from accounts.tenancy import tenant
from workflows.engine.errors import ModelFailed
from workflows.execution.threads import run_in_thread
from workflows.llm.config import ProviderConfig
from workflows.llm.failure_messages import is_about_provider
from workflows.models import ModelProvider


log = logging.getLogger(__name__)


async def report_call(team_id: UUID, config: ProviderConfig, failure: ModelFailed | None) -> None:
    """Store that a provider answered a call, or that it can't be used and since when.

    A failure that tells nothing about the provider, such as a prompt that is too long, changes nothing.
    """
    if not config.id:
        return
    if failure is not None and not is_about_provider(failure.message, failure.status):
        return
    try:
        if failure is None:
            await run_in_thread(mark_reachable, team_id, UUID(config.id))
        else:
            await run_in_thread(mark_unreachable, team_id, UUID(config.id), failure.message)
    except DatabaseError:  # the answer of the model is worth more than this note about it
        log.exception("model_health_not_stored", extra={"provider": config.name})


def mark_reachable(team_id: UUID, provider_id: UUID) -> None:
    """Store that the provider answered. Nothing is written if that is known."""
    with tenant([team_id]):
        rows = ModelProvider.objects.unscoped().filter(pk=provider_id, team_id=team_id)
        rows.filter(~Q(check_error="") | Q(checked_at=None)).update(
            checked_at=timezone.now(), check_error=""
        )


def mark_unreachable(team_id: UUID, provider_id: UUID, error: str) -> None:
    with tenant([team_id]):
        rows = ModelProvider.objects.unscoped().filter(pk=provider_id, team_id=team_id)
        rows.update(checked_at=timezone.now(), check_error=error[:1000])
