"""The page where a team connects its models."""

from collections.abc import Sequence
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from accounts.principals import get_current_team_id, get_principal
from workflows import permissions, selectors
from workflows.engine.errors import EngineFault
from workflows.errors import InvalidValue
from workflows.forms import ProviderForm
from workflows.services import credentials
from workflows.views.request_context import find_provider, get_form_data


@login_required
@require_http_methods(["GET", "POST"])
def index(request: HttpRequest) -> HttpResponse:
    """List the team's model providers and add one."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    providers = selectors.list_providers(principal, team_id)
    form = ProviderForm(get_form_data(request))
    if request.method == "POST" and form.is_valid():
        values = form.cleaned_data
        credentials.create_provider(
            principal,
            team_id=team_id,
            name=values["name"],
            base_url=values["base_url"],
            default_model=values["default_model"],
            secret=values["api_key"] or None,
        )
        messages.success(request, _("Connected. Select Test to check the connection."))
        return redirect("workflows:providers")
    can_edit = permissions.may_manage(principal, team_id)
    context = {"form": form, "providers": providers, "can_edit": can_edit}
    return render(request, "providers/list.html", context, status=422 if form.errors else 200)


@login_required
@require_POST
def test(request: HttpRequest, provider_id: UUID) -> HttpResponse:
    """Test the connection to a provider by listing its models."""
    principal, provider = find_provider(request, provider_id)
    context: dict[str, object] = {}
    try:
        context["models"] = credentials.list_models(principal, provider=provider)
    except EngineFault as fault:
        context["error"] = str(fault)
    return render(request, "providers/_test.html", context)


@login_required
@require_POST
def set_prices(request: HttpRequest, provider_id: UUID) -> HttpResponse:
    """Set the prices of a provider's models; show the page again if they are rejected (status 422)."""
    principal, provider = find_provider(request, provider_id)
    rows = list_price_rows(request.POST)
    try:
        credentials.update_provider(principal, provider=provider, prices=read_prices(rows))
    except InvalidValue as invalid:
        team_id = get_current_team_id(request)
        context = {
            "form": ProviderForm(),
            "providers": selectors.list_providers(principal, team_id),
            "can_edit": permissions.may_manage(principal, team_id),
            "rejected": provider.pk,
            "rejected_rows": rows,
            "price_error": str(invalid),
        }
        return render(request, "providers/list.html", context, status=422)
    messages.success(request, _("Saved the prices of “%(name)s”.") % {"name": provider.name})
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


@login_required
@require_POST
def delete(request: HttpRequest, provider_id: UUID) -> HttpResponse:
    principal, provider = find_provider(request, provider_id)
    credentials.delete_provider(principal, provider=provider)
    messages.success(request, _("Removed “%(name)s” and its key.") % {"name": provider.name})
    return redirect("workflows:providers")
