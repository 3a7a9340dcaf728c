"""Stores whether a provider can be reached as its calls tell it, where its tests store it, too.

So there is one answer to this question, which every page reads: ``ModelProvider.status``.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from uuid import UUID

from django.db import DatabaseError
from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.tenancy import tenant
from config.postgres.outages import is_outage
from workflows.engine.errors import ModelFailed
from workflows.execution.threads import run_once_in_thread
from workflows.llm.config import ProviderConfig
from workflows.llm.failure_messages import is_about_provider
from workflows.models import ModelProvider, ProviderModel


log = logging.getLogger(__name__)


async def report_call(
    team_id: UUID, config: ProviderConfig, failure: ModelFailed | None, added_model: str = ""
) -> None:
    """Store in a thread what ``store_result`` stores."""
    if note := _find_note(team_id, config, failure, added_model):
        with _log_outage(config):
            # Once only: the answer of the model is worth more than this note about it, and waits for no database.
            await run_once_in_thread(note)


def store_result(
    team_id: UUID, config: ProviderConfig, failure: ModelFailed | None, added_model: str = ""
) -> None:
    """Store that a provider answered a call, or that it can't be used and since when.

    A failure that tells nothing about the provider, such as a prompt that is too long, changes nothing. The same is
    stored of an ``added_model``.
    """
    if note := _find_note(team_id, config, failure, added_model):
        with _log_outage(config):
            note()


def _find_note(
    team_id: UUID, config: ProviderConfig, failure: ModelFailed | None, added_model: str
) -> Callable[[], None] | None:
    """Return the function that stores the result of a call, or None if it tells nothing about the provider."""
    if not config.id:
        return None
    provider_id = UUID(config.id)
    if failure is None:
        return partial(mark_reachable, team_id, provider_id, added_model)
    if is_about_provider(failure.message, failure.status):
        return partial(mark_unreachable, team_id, provider_id, failure.message, added_model)
    return None


@contextmanager
def _log_outage(config: ProviderConfig) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if not isinstance(error, DatabaseError) and not is_outage(error):
            raise
        log.warning("model_health_not_stored", extra={"provider": config.name}, exc_info=True)


def mark_reachable(team_id: UUID, provider_id: UUID, added_model: str = "") -> None:
    """Store that the provider answered. Nothing is written if that is known."""
    is_news = ~Q(check_error="") | Q(checked_at=None)
    with tenant([team_id]):
        for rows in _list_rows(team_id, provider_id, added_model):
            rows.filter(is_news).update(checked_at=timezone.now(), check_error="")


def mark_unreachable(team_id: UUID, provider_id: UUID, error: str, added_model: str = "") -> None:
    """Store that the provider can't be used, since now."""
    with tenant([team_id]):
        for rows in _list_rows(team_id, provider_id, added_model):
            rows.update(checked_at=timezone.now(), check_error=error[:1000])


def _list_rows(
    team_id: UUID, provider_id: UUID, added_model: str
) -> Iterator[QuerySet[ModelProvider] | QuerySet[ProviderModel]]:
    yield ModelProvider.objects.unscoped().filter(pk=provider_id, team_id=team_id)
    if added_model:
        models = ProviderModel.objects.unscoped().filter(provider_id=provider_id, team_id=team_id)
        yield models.filter(name=added_model)
