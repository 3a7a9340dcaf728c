"""Services for the embedding and reranking models that a team adds to its providers, and for the defaults among them.

The team's default embedding model embeds its memories; the default reranking model ranks where no other is connected.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.errors import NotFound
from accounts.tenancy import reading, tenant
from workflows import memory_app, permissions
from workflows.errors import InvalidValue, NameTaken
from workflows.models import ModelProvider, ProviderModel
from workflows.models.provider import ModelType, ProviderKind
from workflows.services import audit_lines
from workflows.services.models.model_trials import ModelTrial, load_config_of, try_model
from workflows.services.outside_calls import lock_row


MAX_MODELS: Final = 50  # of a provider


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """The settings of an embedding model: the vectors to ask for, and what comes before a question or a text."""

    dimensions: int | None = None
    question_prefix: str = ""
    text_prefix: str = ""


NO_OPTIONS: Final = ModelOptions()


def add_model(
    principal: Principal,
    *,
    provider: ModelProvider,
    model_type: str,
    name: str,
    options: ModelOptions = NO_OPTIONS,
    is_default: bool = False,
    saves_failing: bool = False,
) -> tuple[ProviderModel | None, ModelTrial]:
    """Test a model, and add it to its provider if it answers. With ``is_default`` it is the team's default of its type.

    A model that fails is added only with ``saves_failing``, and isn't made the default.
    """
    permissions.check_manage(principal, provider)
    row = build_model(provider, model_type, name, options)
    _check_room(row)
    trial = try_model(principal, row, load_config_of(row))
    if trial.error and not saves_failing:
        return None, trial
    save_model(principal, row, trial, is_default=is_default)
    return row, trial


def save_model(
    principal: Principal, row: ProviderModel, trial: ModelTrial, *, is_default: bool
) -> None:
    """Save a model that was tested, and make it the default of its type if that is wanted and it answered."""
    permissions.check_manage(principal, row.provider)
    _set_result(row, trial)
    with tenant([row.team_id]):
        lock_row(row.provider)
        try:
            with transaction.atomic():
                row.save(force_insert=True)
        except IntegrityError as error:
            raise NameTaken from error
        if is_default and not trial.error:
            set_default_model(principal, team_id=row.team_id, model_type=row.type, model=row)
        detail = {"provider": row.provider.name, "model": row.name, "type": row.type}
        audit_lines.record(principal, row.provider, "credential.changed", added=True, **detail)


def test_model(principal: Principal, *, model: ProviderModel) -> ModelTrial:
    """Call the model, and store the result."""
    permissions.check_manage(principal, model)
    trial = try_model(principal, model, load_config_of(model))
    with tenant([model.team_id]):
        lock_row(model)
        _set_result(model, trial)
        fields = ["checked_at", "check_error", "dimensions", "unrelated_cosine"]
        model.save(update_fields=fields)
    return trial


def delete_model(principal: Principal, *, model: ProviderModel) -> None:
    """Remove a model. If it is the default of its type, the team has none then."""
    permissions.check_manage(principal, model)
    with tenant([model.team_id]):
        provider = model.provider
        ProviderModel.objects.unscoped().filter(pk=model.pk).delete()
        if model.is_default and model.type == ModelType.EMBEDDING:
            reembed(model.team_id)
        detail = {"provider": provider.name, "model": model.name, "type": model.type}
        audit_lines.record(principal, provider, "credential.changed", removed=True, **detail)


def set_default_model(
    principal: Principal,
    *,
    team_id: UUID,
    model_type: str,
    model: ProviderModel | None,
) -> None:
    """Set the team's default model of a type, or remove it. With another embedding model, memories are embedded again."""
    permissions.check_manage(principal, team_id)
    if model is not None and (model.team_id != team_id or model.type != model_type):
        raise NotFound
    with tenant([team_id]):
        rows = ProviderModel.objects.unscoped().filter(team_id=team_id, type=model_type)
        defaults = rows.filter(is_default=True).select_related("provider")
        former = list(defaults.select_for_update(no_key=True, of=("self",)))
        if [row.pk for row in former] == ([model.pk] if model else []):
            return
        rows.filter(is_default=True).update(is_default=False)
        if model_type == ModelType.EMBEDDING:
            reembed(team_id)
        if model is not None:
            rows.filter(pk=model.pk).update(is_default=True)
            model.is_default = True
        _record_default(principal, model_type, model, former)


def find_first_model(provider: ModelProvider) -> ProviderModel | None:
    """Return the embedding or reranking model that was added to the provider first, if there is one."""
    with reading([provider.team_id]):
        rows = ProviderModel.objects.unscoped().filter(provider_id=provider.pk)
        return rows.select_related("provider__credential").order_by("created_at", "id").first()


def embeds_memories(provider: ModelProvider) -> bool:
    """Return whether the team's default embedding model is one of this provider."""
    with reading([provider.team_id]):
        rows = ProviderModel.objects.unscoped().filter(provider_id=provider.pk, is_default=True)
        return rows.filter(type=ModelType.EMBEDDING).exists()


def reembed(team_id: UUID) -> None:
    """Let a worker embed the team's memories with the model that it has now."""
    if memory_app.is_on():
        memory_app.embed_again(team_id)


def find_default(team_id: UUID, model_type: str) -> ProviderModel | None:
    """Return the team's default model of a type, if its provider is enabled."""
    with reading([team_id]):
        rows = ProviderModel.objects.unscoped().filter(
            team_id=team_id, type=model_type, is_default=True
        )
        enabled = rows.filter(provider__enabled=True)
        return enabled.select_related("provider__credential").first()


def read_default(principal: Principal, team_id: UUID, model_type: str) -> dict[str, str]:
    """Return the names of the team's default model of a type and of its provider; both are empty if it has none."""
    row = list_models(principal, team_id).filter(type=model_type, is_default=True).first()
    return {"provider": row.provider.name if row else "", "model": row.name if row else ""}


def list_models(
    principal: Principal,
    team_id: UUID,
    providers: Iterable[ModelProvider] | None = None,
) -> QuerySet[ProviderModel]:
    """Return the embedding and reranking models of the team, or of some of its providers."""
    permissions.check_view_credentials(principal, team_id)
    rows = ProviderModel.objects.visible_to(principal).filter(team_id=team_id)
    if providers is not None:
        rows = rows.filter(provider__in=[row.pk for row in providers])
    return rows.select_related("provider").order_by("type", "provider__name", "name", "id")


def find_model(
    principal: Principal, provider: ModelProvider, model_id: UUID, *, change: bool = False
) -> ProviderModel:
    """Return a model of a provider that the principal may see, or with ``change`` one that the principal may change."""
    rows = list_models(principal, provider.team_id).filter(provider=provider)
    model = rows.select_related("provider__credential").filter(pk=model_id).first()
    if model is None:
        raise NotFound
    if change:
        permissions.check_manage(principal, model)
    return model


def find_model_by_name(
    principal: Principal,
    team_id: UUID,
    model_type: str,
    provider: str,
    name: str,
) -> ProviderModel:
    """Return the model of this type and name that the team has added to the provider."""
    rows = list_models(principal, team_id).filter(type=model_type, provider__name=provider)
    model = rows.filter(name=name).first()
    if model is None:
        raise NotFound
    return model


def build_model(
    provider: ModelProvider, model_type: str, name: str, options: ModelOptions = NO_OPTIONS
) -> ProviderModel:
    name = name.strip()
    if model_type not in ModelType.values:
        raise InvalidValue(_("Unknown type of model."), field="type")
    if not 0 < len(name) <= 255:
        raise InvalidValue(_("Enter the name of a model."), field="name")
    if provider.kind == ProviderKind.OFFLINE:
        raise InvalidValue(_("This provider has no models of this type."), field="type")
    is_embedding = model_type == ModelType.EMBEDDING
    return ProviderModel(
        team_id=provider.team_id,
        provider=provider,
        type=model_type,
        name=name,
        requested_dimensions=options.dimensions if is_embedding else None,
        question_prefix=options.question_prefix[:100] if is_embedding else "",
        text_prefix=options.text_prefix[:100] if is_embedding else "",
    )


def _record_default(
    principal: Principal,
    model_type: str,
    model: ProviderModel | None,
    former: Sequence[ProviderModel],
) -> None:
    changes = (
        [(model, {"is_default": True})]
        if model
        else [(row, {"no_default": True}) for row in former]
    )
    for row, change in changes:
        detail = {"provider": row.provider.name, "model": row.name, "type": model_type, **change}
        audit_lines.record(principal, row.provider, "credential.changed", **detail)


def _check_room(row: ProviderModel) -> None:
    with tenant([row.team_id]):
        rows = ProviderModel.objects.unscoped().filter(provider_id=row.provider_id)
        if rows.filter(type=row.type, name=row.name).exists():
            raise NameTaken
        if rows.count() >= MAX_MODELS:
            text = _("A provider can have %(n)s models.") % {"n": MAX_MODELS}
            raise InvalidValue(text, field="name")


def _set_result(row: ProviderModel, trial: ModelTrial) -> None:
    row.checked_at = timezone.now()
    row.check_error = trial.error[:1000]
    if not trial.error:
        row.dimensions, row.unrelated_cosine = trial.dimensions, trial.unrelated_cosine
