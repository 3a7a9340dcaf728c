"""Services to test a model provider, and to connect one that answered its test."""

from dataclasses import dataclass
from uuid import UUID

from asgiref.sync import async_to_sync
from django.utils import timezone

from accounts.access import Principal
from accounts.tenancy import tenant
from workflows import permissions
from workflows.engine.errors import EngineFault
from workflows.errors import NameTaken
from workflows.execution.ports.models import load_config
from workflows.llm import presets
from workflows.llm.config import OFFLINE, ProviderConfig, normalize_name
from workflows.models import ModelProvider
from workflows.models.provider import ProviderKind
from workflows.services import credentials
from workflows.services.models import mappings
from workflows.services.samples import first_steps


MAX_STORED_MODELS = 500


@dataclass(frozen=True, slots=True)
class TestResult:
    """The models that a provider lists, or why it could not be reached."""

    models: tuple[str, ...] = ()
    error: str = ""


def connect_provider(
    principal: Principal,
    *,
    team_id: UUID,
    name: str,
    base_url: str,
    secret: str | None = None,
    default_model: str = "",
    saves_unreachable: bool = False,
) -> tuple[ModelProvider | None, TestResult]:
    """Test a provider, and create it if it answers; its model becomes the team's default if there is none yet.

    A provider that can't be reached is created only with ``saves_unreachable``, and counts as not connected.
    """
    permissions.check_manage(principal, team_id)
    base_url = credentials.clean_url(base_url)
    if _is_name_taken(team_id, name):
        raise NameTaken
    result = run_test(ProviderConfig(name, base_url=base_url, api_key=secret or ""))
    if result.error and not saves_unreachable:
        return None, result
    preset = presets.find_preset(normalize_name(name))
    preferred = preset.models if preset else ()
    with tenant([team_id]):
        provider = credentials.create_provider(
            principal,
            team_id=team_id,
            name=name,
            base_url=base_url,
            secret=secret,
            default_model=default_model or presets.select_model(result.models, preferred),
        )
        _store_result(provider, result)
        if not result.error:
            mappings.set_first_default(principal, provider)
    if not result.error:
        first_steps.mark_done(principal, first_steps.Step.MODEL)
    return provider, result


def test_provider(principal: Principal, *, provider: ModelProvider) -> TestResult:
    """Test a provider by listing its models, and store the result."""
    permissions.check_manage(principal, provider)
    if provider.kind == ProviderKind.OFFLINE:
        return TestResult((OFFLINE,))
    result = run_test(load_config(provider))
    with tenant([provider.team_id]):
        if not result.error and not provider.default_model:
            preset = presets.find_preset(normalize_name(provider.name))
            preferred = preset.models if preset else ()
            provider.default_model = presets.select_model(result.models, preferred)
        _store_result(provider, result)
        if not result.error:
            mappings.set_first_default(principal, provider)
    if not result.error:
        first_steps.mark_done(principal, first_steps.Step.MODEL)
    return result


def run_test(config: ProviderConfig) -> TestResult:
    """List the models of a provider; nothing else is sent."""
    # Inline import: see workflows.llm.registry.
    from workflows.llm.openai_compatible import OpenAICompatible  # noqa: PLC0415

    try:
        models = async_to_sync(OpenAICompatible(config).list_models)()
    except EngineFault as fault:
        return TestResult(error=fault.message)
    return TestResult(tuple(models))


def _is_name_taken(team_id: UUID, name: str) -> bool:
    """Return whether the team has a provider of this name, so that the test isn't made for nothing."""
    with tenant([team_id]):
        return ModelProvider.objects.unscoped().filter(team_id=team_id, name=name).exists()


def _store_result(provider: ModelProvider, result: TestResult) -> None:
    provider.checked_at = timezone.now()
    provider.check_error = result.error[:1000]
    if not result.error:
        provider.model_names = list(result.models[:MAX_STORED_MODELS])
    provider.save(
        update_fields=["checked_at", "check_error", "model_names", "default_model", "updated_at"]
    )
