"""The team's models as the engine's port; the providers are looked up on the first request."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from uuid import UUID

from accounts.tenancy import reading, tenant
from config.encryption.crypto import decrypt
from workflows import models
from workflows.engine.ports import ModelPort
from workflows.execution.ports.adapters import LazyModels
from workflows.execution.ports.model_calls import open_slot
from workflows.execution.ports.model_health import report_call
from workflows.llm.config import IDLE_SECONDS, TOTAL_SECONDS, Price, ProviderConfig
from workflows.llm.directory import Mapping as ModelMapping
from workflows.llm.directory import ModelDirectory
from workflows.llm.offline import OfflineModels
from workflows.llm.registry import Fallback, TeamModels
from workflows.models import ModelProvider
from workflows.models.provider import ModelType, ProviderStatus


def build_models(team_id: UUID, offline: bool) -> ModelPort:
    """Return the models; with ``offline``, the offline provider answers every call for any model."""
    return OfflineModels() if offline else LazyModels(partial(load_team_models, team_id))


def load_team_models(team_id: UUID, *, fallback: Fallback = "offline") -> TeamModels:
    with tenant([team_id]):
        configs, mappings = load_configs(team_id), load_mappings(team_id)
        reranker = load_reranker(team_id)
    return TeamModels(
        configs,
        mappings=mappings,
        reranker=reranker,
        fallback=fallback,
        open_slot=partial(open_slot, team_id),
        report=partial(report_call, team_id),
    )


def load_directory(team_id: UUID) -> ModelDirectory:
    """Return which model answers for which name, without the keys of the providers."""
    with reading([team_id]):
        rows = ModelProvider.objects.unscoped().filter(team_id=team_id, enabled=True)
        configs = [build_config(row) for row in rows.order_by("name", "id")]
        return ModelDirectory(configs, load_mappings(team_id), load_reranker(team_id))


def load_configs(team_id: UUID) -> list[ProviderConfig]:
    with reading([team_id]):
        rows = list(
            ModelProvider.objects.unscoped()
            .filter(team_id=team_id, enabled=True)
            .select_related("credential")
            .order_by("name", "id")
        )
    return [load_config(row) for row in rows]


def load_mappings(team_id: UUID) -> list[ModelMapping]:
    """Return the mappings of a team, whose tenant the caller has opened."""
    rows = models.ModelMapping.objects.unscoped().filter(team_id=team_id)
    values = rows.values_list("provider", "model", "target__name", "target_model")
    return [ModelMapping(*row) for row in values]


def load_reranker(team_id: UUID) -> tuple[str, str] | None:
    """Return provider and name of the team's default reranking model. The caller has opened the tenant."""
    rows = models.ProviderModel.objects.unscoped().filter(team_id=team_id, type=ModelType.RERANK)
    return rows.filter(is_default=True).values_list("provider__name", "name").first()


def read_prices(values: Mapping[str, Mapping[str, float]]) -> dict[str, Price]:
    return {model: Price(price["input"], price["output"]) for model, price in values.items()}


def load_config(row: ModelProvider) -> ProviderConfig:
    """Return a provider's configuration, with the secret only if it may be sent to the provider's address.

    Without the secret, the endpoint reports that a key is missing.
    """
    credential = row.credential
    config = build_config(row, base_url=credential.base_url if credential else "")
    if credential and credential.may_be_sent_to(config.address):
        return replace(config, api_key=decrypt(bytes(credential.secret)))
    return config


def build_config(row: ModelProvider, *, base_url: str = "") -> ProviderConfig:
    """Return a provider's configuration without its secret. ``base_url`` is for a provider that has none."""
    return ProviderConfig(
        id=str(row.pk),
        name=row.name,
        kind=row.kind,
        base_url=row.base_url or base_url,
        default_model=row.default_model,
        prices=read_prices(row.prices),
        is_unreachable=row.status is ProviderStatus.UNREACHABLE,
        checked_at=row.checked_at,
        total_seconds=row.timeout_seconds or TOTAL_SECONDS,
        idle_seconds=row.idle_seconds or IDLE_SECONDS,
        max_retries=row.max_retries,
        max_concurrency=row.max_concurrency,
        max_tokens=row.max_tokens,
    )
