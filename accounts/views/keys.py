"""API keys of the team."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from accounts import selectors, services
from accounts.forms import KeyForm
from accounts.principals import current_team_id, principal_of
from accounts.roles import SCOPES, SERVICE_SCOPES


@never_cache
@require_http_methods(["GET", "POST"])
def keys(request: HttpRequest) -> HttpResponse:
    """The list; a POST makes a key and answers with its secret, which is not shown again."""
    principal = principal_of(request)
    team = selectors.team_for(principal, "key.manage", current_team_id(request))
    form, secret, status = KeyForm(request.POST if request.method == "POST" else None), "", 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            _key, secret = services.issue_key(
                principal=principal,
                team=team,
                name=form.cleaned_data["name"],
                scopes=form.cleaned_data["scopes"],
                expires_at=form.expires_at(),
            )
            form, status = KeyForm(), 200
    context = {
        "team": team,
        "keys": selectors.keys_of(principal, team),
        "form": form,
        "secret": secret,
        "scopes": {**SCOPES, **SERVICE_SCOPES},
    }
    return render(request, "accounts/keys.html", context, status=status)


@require_POST
def revoke(request: HttpRequest, key_id: UUID) -> HttpResponse:
    services.revoke_key(principal_of(request), key_id=key_id)
    messages.success(request, _("The key was revoked."))
    return redirect("accounts:keys")
