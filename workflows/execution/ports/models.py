"""The team's models as the engine's port; the providers are looked up on the first request."""

from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

from accounts.tenancy import tenant
from config.encryption.crypto import decrypt
from workflows.engine.ports import ModelPort
from workflows.execution.ports.adapters import LazyModels
from workflows.llm.config import Price, ProviderConfig
from workflows.llm.offline import OfflineModels
from workflows.llm.registry import TeamModels
from workflows.models import ModelProvider


def build_models(team_id: UUID, offline: bool) -> ModelPort:
    """Return the models; with ``offline``, the offline provider answers every call for any model."""
    return OfflineModels() if offline else LazyModels(lambda: TeamModels(load_configs(team_id)))


def load_configs(team_id: UUID) -> list[ProviderConfig]:
    with tenant([team_id]):
        rows = list(
            ModelProvider.objects.unscoped()
            .filter(team_id=team_id, enabled=True)
            .select_related("credential")
            .order_by("name", "id")
        )
    return [load_config(row) for row in rows]


def read_prices(values: Mapping[str, Mapping[str, float]]) -> dict[str, Price]:
    return {model: Price(price["input"], price["output"]) for model, price in values.items()}


def load_config(row: ModelProvider) -> ProviderConfig:
    """Return a provider's configuration, with the secret only if it may be sent to the provider's address.

    Without the secret, the endpoint reports that a key is missing.
    """
    credential = row.credential
    base_url = row.base_url or (credential.base_url if credential else "")
    config = ProviderConfig(
        name=row.name,
        kind=row.kind,
        base_url=base_url,
        default_model=row.default_model,
        prices=read_prices(row.prices),
    )
    if credential and credential.may_be_sent_to(config.address):
        return replace(config, api_key=decrypt(bytes(credential.secret)))
    return config
