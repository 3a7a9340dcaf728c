"""The page of the team's API keys."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from accounts import selectors, services
from accounts.forms import KeyForm, is_local_path
from accounts.principals import get_current_team_id, get_principal
from accounts.roles import SCOPES, SERVICE_SCOPES


@never_cache
@require_http_methods(["GET", "POST"])
def keys(request: HttpRequest) -> HttpResponse:
    """List the keys; a POST creates a key and shows its secret once."""
    principal = get_principal(request)
    team = selectors.find_team(principal, "key.manage", get_current_team_id(request))
    back = request.GET.get("back", "")
    offered = {
        "name": request.GET.get("name", "")[:120],
        "back": back if is_local_path(back) else "",
    }
    form = KeyForm(request.POST if request.method == "POST" else None, initial=offered)
    secret, status = "", 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            _key, secret = services.issue_key(
                principal=principal,
                team=team,
                name=form.cleaned_data["name"],
                scopes=form.cleaned_data["scopes"],
                expires_at=form.get_expires_at(),
            )
            offered = {"back": form.cleaned_data["back"]}
            form, status = KeyForm(initial=offered), 200
    context = {
        "team": team,
        "keys": selectors.list_keys(principal, team),
        "form": form,
        "secret": secret,
        "back": offered["back"],
        "scopes": {**SCOPES, **SERVICE_SCOPES},
    }
    return render(request, "accounts/keys.html", context, status=status)


@require_POST
def revoke(request: HttpRequest, key_id: UUID) -> HttpResponse:
    services.revoke_key(get_principal(request), key_id=key_id)
    messages.success(request, _("API key revoked."))
    return redirect("accounts:keys")
