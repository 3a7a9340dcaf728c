"""Trying out a model provider: one request for its list of models, through the guarded client."""

from asgiref.sync import async_to_sync

from accounts.access import Principal
from workflows import permissions
from workflows.execution.ports.models import load_config
from workflows.models import ModelProvider
from workflows.models.provider import ProviderKind
from workflows.services.samples import first_steps


def models_of(principal: Principal, *, provider: ModelProvider) -> list[str]:
    """The models it offers. Raises ModelFailed, whose sentence says what to mend."""
    permissions.check_manage(principal, provider)
    if provider.kind == ProviderKind.OFFLINE:
        return ["offline"]
    # Inline import: see workflows.llm.registry.
    from workflows.llm.openai_compatible import OpenAICompatible  # noqa: PLC0415

    found = async_to_sync(OpenAICompatible(load_config(provider)).list_models)()
    first_steps.mark(principal, first_steps.Step.MODEL)
    return found
