"""The page where a team connects its models."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from accounts.principals import get_current_team_id, get_principal
from workflows import permissions, selectors
from workflows.engine.errors import EngineFault
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
def delete(request: HttpRequest, provider_id: UUID) -> HttpResponse:
    principal, provider = find_provider(request, provider_id)
    credentials.delete_provider(principal, provider=provider)
    messages.success(request, _("Removed “%(name)s” and its key.") % {"name": provider.name})
    return redirect("workflows:providers")
