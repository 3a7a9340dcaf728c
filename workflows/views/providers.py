"""The page where a team connects its models, tests them, and sets their prices and limits."""

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.principals import Principal, get_current_team_id, get_principal
from workflows import permissions, selectors
from workflows.errors import InvalidValue
from workflows.forms import ProviderForm, ProviderLimitsForm
from workflows.llm.config import CHAT
from workflows.llm.presets import PRESETS, Preset, find_preset
from workflows.models import ModelProvider
from workflows.models.provider import ModelType
from workflows.services import credentials
from workflows.services.models import connecting, local_servers, mappings
from workflows.views.added_models import (
    AddedModelForm,
    announce_trial,
    attach_models,
    build_defaults_context,
)
from workflows.views.model_choices import ModelGroup, ModelOption, build_choice_context
from workflows.views.request_context import find_provider, get_form_data, is_htmx, read_text


NOTHING_OFFERED: Final = connecting.TestResult()


@login_required
@require_http_methods(["GET", "POST"])
def index(request: HttpRequest) -> HttpResponse:
    """List the team's model providers, and connect one after a test."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    preset = find_preset(request.POST.get("preset", "") or request.GET.get("preset", ""))
    page = _build_page(principal, team_id)
    if request.method == "GET" and "preset" not in request.GET and not page["providers"]:
        preset = PRESETS[0]  # a newcomer is asked for a key only
    names = {row.name for row in page["providers"]}
    form = ProviderForm(get_form_data(request), preset=preset, taken_names=names)
    error = ""
    if request.method == "POST" and form.is_valid():
        error = _connect(request, principal, team_id, form.cleaned_data)
        if not error:
            return _go_to_page(request)
        if is_htmx(request):
            # The form stays as it is, with the key, which no page can show again.
            return render(request, "providers/_refused.html", {"error": error})
    is_asked = request.method == "POST" or "preset" in request.GET
    context = page | {
        "form": form,
        "preset": preset,
        "error": error,
        "shows_form": is_asked or not page["providers"],  # else the providers to choose from
        **_build_offer(form, preset),
    }
    return render(
        request, "providers/list.html", context, status=422 if form.errors or error else 200
    )


@login_required
@require_POST
def list_offered(request: HttpRequest) -> HttpResponse:
    """Show the models that the provider in the form lists with the key that was entered; nothing is stored."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    preset = find_preset(read_text(request.POST, "preset"))
    form = ProviderForm(request.POST, preset=preset)
    form.is_valid()  # what is still missing is told when the form is sent
    permissions.check_manage(principal, team_id)
    offered = _ask_for_models(principal, team_id, form)
    context = {"form": form, "preset": preset, **_build_offer(form, preset, offered)}
    return render(request, "providers/_offered_models.html", context)


@login_required
@require_safe
def find_local(request: HttpRequest) -> HttpResponse:
    """Show the model servers on this machine that are not connected yet."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    own_port = int(request.get_port() or 0)
    servers = local_servers.find_local_servers(principal, team_id, own_port=own_port)
    return render(request, "providers/_local_servers.html", {"servers": servers})


@login_required
@require_POST
def test(request: HttpRequest, provider_id: UUID) -> HttpResponse:
    """Test the connection to a provider by listing its models."""
    principal, provider = find_provider(request, provider_id)
    result = connecting.test_provider(principal, provider=provider)
    attach_models(principal, provider.team_id, [provider])
    context = {
        "provider": provider,
        "can_edit": True,
        "tested": result,
        "added_form": AddedModelForm(),
    }
    return render(request, "providers/_provider.html", context)


@login_required
@require_POST
def set_prices(request: HttpRequest, provider_id: UUID) -> HttpResponse:
    """Set the prices of a provider's models; show the page again if they are rejected (status 422)."""
    principal, provider = find_provider(request, provider_id)
    rows = list_price_rows(request.POST)
    try:
        credentials.update_provider(principal, provider=provider, prices=read_prices(rows))
    except InvalidValue as invalid:
        context = {
            "form": ProviderForm(),
            "rejected": provider.pk,
            "rejected_rows": rows,
            "price_error": str(invalid),
        }
        context |= _build_page(principal, provider.team_id)
        return render(request, "providers/list.html", context, status=422)
    messages.success(request, _("Saved the prices of “%(name)s”.") % {"name": provider.name})
    return redirect("workflows:providers")


@login_required
@require_POST
def set_limits(request: HttpRequest, provider_id: UUID) -> HttpResponse:
    """Set the limits of a provider's calls; show the page again if they are rejected (status 422)."""
    principal, provider = find_provider(request, provider_id)
    form = ProviderLimitsForm(request.POST)
    if not form.is_valid():
        context = {"form": ProviderForm(), "rejected_limits": provider.pk, "limits_form": form}
        context |= _build_page(principal, provider.team_id)
        return render(request, "providers/list.html", context, status=422)
    credentials.update_provider(principal, provider=provider, limits=form.cleaned_data)
    messages.success(request, _("Saved the limits of “%(name)s”.") % {"name": provider.name})
    return redirect("workflows:providers")


@login_required
@require_POST
def delete(request: HttpRequest, provider_id: UUID) -> HttpResponse:
    principal, provider = find_provider(request, provider_id)
    default = mappings.read_default_model(principal, provider.team_id)
    credentials.delete_provider(principal, provider=provider)
    messages.success(request, _("Removed “%(name)s” and its key.") % {"name": provider.name})
    if default["provider"] == provider.name:
        messages.warning(request, _("No default model. Choose one under Models."))
    return redirect("workflows:providers")


def list_price_rows(data: QueryDict) -> list[tuple[str, str, str]]:
    """Return the rows of the form that are not empty: a model with its two prices."""
    columns = (data.getlist(name) for name in ("model", "input", "output"))
    rows = (tuple(value.strip() for value in row) for row in zip(*columns, strict=False))
    return [(model, in_, out) for model, in_, out in rows if model or in_ or out]


def read_prices(rows: Sequence[tuple[str, str, str]]) -> dict[str, dict[str, float]]:
    """Return the prices of the rows. Raises InvalidValue for a price that is no number, or a model that comes twice."""
    prices: dict[str, dict[str, float]] = {}
    for model, *values in rows:
        if model in prices:
            raise InvalidValue(_("Enter each model once, with its name."), field="prices")
        try:
            input_price, output_price = (float(value.replace(",", ".")) for value in values)
        except ValueError:
            text = _("Enter both prices of %(model)s as numbers.") % {"model": model or "—"}
            raise InvalidValue(text, field="prices") from None
        prices[model] = {"input": input_price, "output": output_price}
    return prices


def _connect(
    request: HttpRequest, principal: Principal, team_id: UUID, values: dict[str, Any]
) -> str:
    """Connect a provider, announce it, and return an empty text, or else why it could not be connected."""
    arguments = {
        "team_id": team_id,
        "name": values["name"],
        "base_url": values["base_url"],
        "secret": values["api_key"] or None,
        "saves_unreachable": "save_anyway" in request.POST,
    }
    if values["model_type"] in ModelType.values:
        try:
            provider, trial = connecting.connect_for_model(
                principal,
                model_type=values["model_type"],
                model=values["default_model"],
                **arguments,
            )
        except InvalidValue as invalid:  # it lists no model of the type
            return str(invalid)
        if provider is not None:
            announce_trial(request, provider.name, trial)
        return "" if provider is not None else trial.error
    provider, result = connecting.connect_provider(
        principal, default_model=values["default_model"], **arguments
    )
    if provider is None:
        return result.error
    _announce(request, provider, result)
    return ""


def _ask_for_models(
    principal: Principal, team_id: UUID, form: ProviderForm
) -> connecting.TestResult:
    values = form.cleaned_data
    has_key = values.get("api_key") or not form.fields["api_key"].required
    if not values.get("base_url") or not has_key:
        return NOTHING_OFFERED
    try:
        return connecting.list_offered_models(
            principal,
            team_id=team_id,
            name=values.get("name") or "provider",
            base_url=values["base_url"],
            secret=values.get("api_key", ""),
            model_type=values.get("model_type") or CHAT,
        )
    except InvalidValue as invalid:
        return connecting.TestResult(error=str(invalid))


def _build_offer(
    form: ProviderForm,
    preset: Preset | None,
    offered: connecting.TestResult = NOTHING_OFFERED,
) -> dict[str, Any]:
    """Return the list of models in the form. It also takes the name of one that the provider doesn't list."""
    name = preset.title if preset else form["name"].value() or _("the provider")
    chosen = form["default_model"].value() or ""
    return {
        "offered": offered,
        "offered_groups": [
            ModelGroup(name, "", tuple(ModelOption(each, each) for each in offered.models))
        ],
        "chosen_model": chosen,
        "missing_model": "" if chosen in offered.models else chosen,
    }


def _build_page(principal: Principal, team_id: UUID) -> dict[str, Any]:
    can_edit = permissions.may_manage(principal, team_id)
    providers = list(selectors.list_providers(principal, team_id))
    models = attach_models(principal, team_id, providers)
    return {
        "providers": providers,
        "can_edit": can_edit,
        "presets": PRESETS,
        "finds_local": can_edit and settings.LOCAL_MODELS,
        "added_form": AddedModelForm(),
        **build_choice_context(principal, team_id, providers),
        **build_defaults_context(principal, team_id, models),
    }


def _announce(request: HttpRequest, provider: ModelProvider, result: connecting.TestResult) -> None:
    values = {"name": provider.name, "model": provider.default_model}
    if result.error:
        messages.warning(request, _("Saved “%(name)s”, which could not be reached.") % values)
    else:
        messages.success(request, _("Connected “%(name)s”. Its model is %(model)s.") % values)


def _go_to_page(request: HttpRequest) -> HttpResponse:
    if is_htmx(request):
        return HttpResponse(status=204, headers={"HX-Redirect": reverse("workflows:providers")})
    return redirect("workflows:providers")
