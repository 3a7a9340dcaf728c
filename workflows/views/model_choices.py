"""The team's default model, and the models that answer for those that documents name, on the page Models."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.errors import NotFound
from accounts.principals import Principal, get_current_team_id, get_principal
from workflows import permissions, selectors
from workflows.execution.ports.models import read_prices
from workflows.llm.config import ANY_MODEL, DEFAULT, FALLBACK, OFFLINE, Price
from workflows.llm.known_models import find_context_size
from workflows.models import ModelProvider
from workflows.services.models import mappings
from workflows.views.request_context import is_htmx, parse_id, read_text


MAX_OFFERED = 200  # models of one provider


@dataclass(frozen=True, slots=True)
class ModelOption:
    """A model in a list: ``value`` is the beginning of its group and its name. ``hint``: its context size and price.

    In a group it has the mark of the provider as its icon.
    """

    value: str
    name: str
    hint: str = ""
    icon: str = "model"


@dataclass(frozen=True, slots=True)
class ModelGroup:
    """The models of a provider in a list. ``beginning`` is that of the values of its models."""

    provider: str
    beginning: str
    options: tuple[ModelOption, ...]


@dataclass(frozen=True, slots=True)
class MappingRow:
    """A model that documents name, and the value of the one that answers; empty: the team's default model."""

    provider: str
    model: str
    selected: str = ""
    selected_name: str = ""
    count: int = 0

    @property
    def name(self) -> str:
        return mappings.join_name(self.provider, self.model)


@login_required
@require_POST
def set_default(request: HttpRequest) -> HttpResponse:
    """Set the team's default model."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    provider, model = find_choice(principal, read_text(request.POST, "choice"))
    mappings.set_default(principal, team_id=team_id, provider=provider, model=model)
    return _show(request, principal, team_id)


@login_required
@require_POST
def set_fallback(request: HttpRequest) -> HttpResponse:
    """Set the model that is asked if another one can't be reached or refuses, or remove it."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    provider, model = find_choice(principal, read_text(request.POST, "choice"))
    mappings.set_fallback(principal, team_id=team_id, provider=provider, model=model)
    return _show(request, principal, team_id)


@login_required
@require_POST
def set_mapping(request: HttpRequest) -> HttpResponse:
    """Set the model that answers for one that documents name, or remove it."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    name, model = read_text(request.POST, "provider"), read_text(request.POST, "model")
    target, target_model = find_choice(principal, read_text(request.POST, "choice"))
    if target is None:
        mappings.delete_mapping(principal, team_id=team_id, name=name, model=model)
    else:
        mappings.set_mapping(
            principal, name=name, model=model, target=target, target_model=target_model
        )
    return _show(request, principal, team_id)


def build_choice_context(
    principal: Principal, team_id: UUID, providers: Iterable[ModelProvider]
) -> dict[str, Any]:
    """Return the models of the team, the one that is the default, and those that answer for others."""
    providers = [row for row in providers if row.enabled]
    chosen = mappings.read_chosen_models(principal, team_id)
    default, fallback = chosen[DEFAULT], chosen[FALLBACK]
    options = list_groups(providers)
    ids = {row.name: row.pk for row in providers}
    return {
        "options": options,
        "default_value": _build_value(ids, default),
        "fallback_value": _build_value(ids, fallback),
        "default_name": mappings.join_name(default["provider"], default["model"]),
        "mapping_rows": _list_rows(principal, team_id, [*ids]) if options else [],
        "can_edit": permissions.may_manage(principal, team_id),
    }


def list_groups(
    providers: Iterable[ModelProvider],
    build_beginning: Callable[[ModelProvider], str] | None = None,
) -> list[ModelGroup]:
    """Return the models of providers. The values of a group begin with the provider's id, unless told otherwise."""
    return [
        list_group(row, build_beginning(row) if build_beginning else f"{row.pk}:")
        for row in providers
        if row.kind != OFFLINE
    ]


def list_group(row: ModelProvider, beginning: str) -> ModelGroup:
    prices = read_prices(row.prices)
    names = dict.fromkeys([row.default_model, *row.model_names[:MAX_OFFERED]])
    options = (
        ModelOption(
            f"{beginning}{name}",
            name,
            describe_model(name, prices.get(name) or prices.get(ANY_MODEL)),
        )
        for name in names
        if name
    )
    return ModelGroup(row.name, beginning, (*options,))


def describe_model(name: str, price: Price | None) -> str:
    """Return the context size and the price of a model, as far as they are known."""
    size = find_context_size(name)
    parts = [_("%(size)s context") % {"size": _shorten(size)}] if size else []
    if price is not None:
        parts.append(
            _("$%(input)s in, $%(output)s out per 1M tokens")
            % {"input": f"{price.input:g}", "output": f"{price.output:g}"}
        )
    return " · ".join(parts)


def _shorten(tokens: int) -> str:
    """Return a number of tokens as people say it: 131072 are 131K."""
    return f"{tokens / 1_000_000:.2g}M" if tokens >= 1_000_000 else f"{tokens // 1_000}K"


def _build_value(ids: Mapping[str, UUID], choice: Mapping[str, str]) -> str:
    if choice["provider"] not in ids:
        return ""
    return f"{ids[choice['provider']]}:{choice['model']}"


def _list_rows(principal: Principal, team_id: UUID, connected: Collection[str]) -> list[MappingRow]:
    """Return the mappings of the team, then the other models that drafts name and the team lacks."""
    missing = {
        (model.provider, model.model): model
        for model in mappings.list_missing_models(team_id, connected)
    }
    rows = []
    for mapping in mappings.list_mappings(principal, team_id):
        missing_model = missing.pop((mapping.provider, mapping.model), None)
        model = mapping.target_model or mapping.target.default_model
        rows.append(
            MappingRow(
                mapping.provider,
                mapping.model,
                f"{mapping.target_id}:{model}",
                mappings.join_name(mapping.target.name, model),
                missing_model.count if missing_model else 0,
            )
        )
    rows += (
        MappingRow(model.provider, model.model, count=model.count) for model in missing.values()
    )
    return rows


def find_choice(principal: Principal, value: str) -> tuple[ModelProvider | None, str]:
    """Return the provider and the model of an option. Raises NotFound for a provider that the caller may not change."""
    if not value:
        return None, ""
    provider_id, _separator, model = value.partition(":")
    provider = selectors.find_provider(principal, parse_id(provider_id), change=True)
    if not provider.enabled:
        raise NotFound
    return provider, model


def _show(request: HttpRequest, principal: Principal, team_id: UUID) -> HttpResponse:
    if not is_htmx(request):
        return redirect("workflows:providers")
    providers = selectors.list_providers(principal, team_id)
    context = build_choice_context(principal, team_id, providers) | {"is_saved": True}
    return render(request, "providers/_choices.html", context)
