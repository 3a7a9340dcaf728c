"""Test a model provider with one request for its list of models, through the guarded client."""

from asgiref.sync import async_to_sync

from accounts.access import Principal
from workflows import permissions
from workflows.execution.ports.models import load_config
from workflows.models import ModelProvider
from workflows.models.provider import ProviderKind
from workflows.services.samples import first_steps


def list_models(principal: Principal, *, provider: ModelProvider) -> list[str]:
    """Return the models that the provider offers. Raises ModelFailed with a sentence that says what to correct."""
    permissions.check_manage(principal, provider)
    if provider.kind == ProviderKind.OFFLINE:
        return ["offline"]
    # Inline import: see workflows.llm.registry.
    from workflows.llm.openai_compatible import OpenAICompatible  # noqa: PLC0415

    models = async_to_sync(OpenAICompatible(load_config(provider)).list_models)()
    first_steps.mark_done(principal, first_steps.Step.MODEL)
    return models
