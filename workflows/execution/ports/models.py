"""The team's models as the engine's port; the providers are looked up on the first request."""

from dataclasses import replace
from uuid import UUID

from accounts.tenancy import tenant
from config.encryption.crypto import decrypt
from workflows.engine.ports import ModelPort
from workflows.execution.ports.adapters import LazyModels
from workflows.llm.config import ProviderConfig
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


def load_config(row: ModelProvider) -> ProviderConfig:
    """Return a provider's configuration, with the secret only if it may be sent to the provider's address.

    Without the secret, the endpoint reports that a key is missing.
    """
    credential = row.credential
    base_url = row.base_url or (credential.base_url if credential else "")
    config = ProviderConfig(
        name=row.name, kind=row.kind, base_url=base_url, default_model=row.default_model
    )
    if credential and credential.may_be_sent_to(config.address):
        return replace(config, api_key=decrypt(bytes(credential.secret)))
    return config
