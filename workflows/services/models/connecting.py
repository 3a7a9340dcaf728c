"""Services to test a model provider, and to connect one that answered its test.

A provider is tested by listing its models. One that is connected for an embedding or a reranking model is tested by
calling that model, because many of these list none.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from asgiref.sync import async_to_sync
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.tenancy import tenant
from workflows import permissions
from workflows.engine.errors import EngineFault
from workflows.errors import InvalidValue, NameTaken
from workflows.execution.ports.models import load_config
from workflows.llm import presets
from workflows.llm.config import CHAT, OFFLINE, ProviderConfig, normalize_name
from workflows.models import ModelProvider
from workflows.models.provider import ModelType, ProviderKind
from workflows.services import credentials
from workflows.services.models import added_models, mappings
from workflows.services.models.model_trials import ModelTrial, try_model
from workflows.services.outside_calls import call_outside, lock_row
from workflows.services.samples import first_steps


MAX_STORED_MODELS = 500

_Select = Callable[[Iterable[str]], list[str]]
_SELECTIONS: Final[Mapping[str, tuple[_Select, Callable[[presets.Preset], tuple[str, ...]]]]] = {
    CHAT: (list, lambda preset: preset.models),
    ModelType.EMBEDDING: (presets.list_embedding_models, lambda preset: preset.embedding_models),
    ModelType.RERANK: (presets.list_rerank_models, lambda preset: preset.rerank_models),
}


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
    with call_outside(principal, team_id):
        result = run_test(ProviderConfig(name, base_url=base_url, api_key=secret or ""))
    if result.error and not saves_unreachable:
        return None, result
    preferred = _list_preferred(name, CHAT)
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


def connect_for_model(
    principal: Principal,
    *,
    team_id: UUID,
    name: str,
    base_url: str,
    model_type: str,
    secret: str | None = None,
    model: str = "",
    saves_unreachable: bool = False,
) -> tuple[ModelProvider | None, ModelTrial]:
    """Call an embedding or a reranking model, and connect its provider if it answers, with the model as the team's default.

    Without a name, the model is chosen from those that the provider lists, or that are usual with it.
    """
    permissions.check_manage(principal, team_id)
    base_url = credentials.clean_url(base_url)
    if _is_name_taken(team_id, name):
        raise NameTaken
    config = ProviderConfig(name, base_url=base_url, api_key=secret or "")
    listed: tuple[str, ...] = ()
    if not model:
        with call_outside(principal, team_id):
            listed = run_test(config).models
    model = model.strip() or select_added_model(name, listed, model_type)
    if not model:
        text = _("The provider lists no model of this type. Enter its name.")
        raise InvalidValue(text, field="default_model")
    unsaved = ModelProvider(team_id=team_id, name=name, kind=ProviderKind.OPENAI_COMPATIBLE)
    row = added_models.build_model(unsaved, model_type, model)
    trial = try_model(principal, row, config)
    if trial.error and not saves_unreachable:
        return None, trial
    with tenant([team_id]):
        provider = credentials.create_provider(
            principal, team_id=team_id, name=name, base_url=base_url, secret=secret
        )
        _store_result(provider, TestResult(listed, trial.error))
        row.provider = provider
        added_models.save_model(principal, row, trial, is_default=True)
    return provider, trial


def list_offered_models(
    principal: Principal,
    *,
    team_id: UUID,
    name: str,
    base_url: str,
    secret: str = "",
    model_type: str = CHAT,
) -> TestResult:
    """Return the models of a type that a provider lists before it is connected, or why it could not be reached."""
    permissions.check_manage(principal, team_id)
    config = ProviderConfig(name, base_url=credentials.clean_url(base_url), api_key=secret)
    with call_outside(principal, team_id):
        result = run_test(config)
    select, _beginnings = _SELECTIONS[model_type]
    return TestResult(tuple(select(result.models)), result.error)


def select_added_model(provider: str, listed: Sequence[str], model_type: str) -> str:
    """Return the embedding or reranking model to use at first; empty without a list and a usual one."""
    select, _beginnings = _SELECTIONS[model_type]
    preferred = _list_preferred(provider, model_type)
    return presets.select_by_beginning(select(listed) or preferred, preferred)


def test_provider(principal: Principal, *, provider: ModelProvider) -> TestResult:
    """Test a provider by listing its models, and store the result.

    One that was connected for an embedding or a reranking model, and lists none, is tested by calling that model.
    """
    permissions.check_manage(principal, provider)
    if provider.kind == ProviderKind.OFFLINE:
        return TestResult((OFFLINE,))
    config = load_config(provider)
    with call_outside(principal, provider.team_id):
        result = run_test(config)
    added = None if provider.default_model else added_models.find_first_model(provider)
    if added is not None and result.error:
        result = TestResult(error=added_models.test_model(principal, model=added).error)
    with tenant([provider.team_id]):
        lock_row(provider)
        if not result.error and not provider.default_model and added is None:
            preferred = _list_preferred(provider.name, CHAT)
            provider.default_model = presets.select_model(result.models, preferred)
        _store_result(provider, result)
        if not result.error and added is None:
            mappings.set_first_default(principal, provider)
    if not result.error and added is None:
        first_steps.mark_done(principal, first_steps.Step.MODEL)
    return result


def _list_preferred(provider: str, model_type: str) -> tuple[str, ...]:
    preset = presets.find_preset(normalize_name(provider))
    return _SELECTIONS[model_type][1](preset) if preset else ()


def run_test(config: ProviderConfig) -> TestResult:
    """List the models of a provider; nothing else is sent. The caller holds no connection meanwhile."""
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
