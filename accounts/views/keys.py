"""The page of the team's API keys."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from accounts import selectors, services
from accounts.errors import InvalidChoice
from accounts.forms import (
    KeyForm,
    KeyHistoryForm,
    KeyLimitsForm,
    KeyRotationForm,
    is_local_path,
)
from accounts.models.limits import KEY_LIMITS
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
        "workflow": request.GET.get("workflow", ""),
        "back": back if is_local_path(back) else "",
    }
    choices: dict[str, Any] = {  # the arguments of the form
        "workflows": services.list_key_workflows(principal, team),
        "service_accounts": list(services.list_service_accounts(principal, team)),
    }
    data = request.POST if request.method == "POST" else None
    form = KeyForm(data, initial=offered, **choices)
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
                workflow_id=form.get_workflow_id(),
                service_account_id=form.get_service_account_id(),
                limits=form.get_limits(),
                history=form.get_history(),
            )
            offered = {"back": form.cleaned_data["back"]}
            form, status = KeyForm(initial=offered, **choices), 200
    context = {
        "team": team,
        "keys": selectors.list_keys(principal, team),
        "form": form,
        "secret": secret,
        "back": offered["back"],
        "scopes": {**SCOPES, **SERVICE_SCOPES},
    }
    return render(request, "accounts/keys.html", context, status=status)


@never_cache
@require_http_methods(["GET", "POST"])
def rotate(request: HttpRequest, key_id: UUID) -> HttpResponse:
    """Replace a key; a POST shows the secret of the new one once."""
    principal = get_principal(request)
    key = services.find_key(principal, key_id)
    form = KeyRotationForm(request.POST if request.method == "POST" else None)
    secret = ""
    if form.is_valid():
        try:
            _key, secret = services.rotate_key(principal, key_id=key_id, overlap=form.get_overlap())
        except InvalidChoice as error:
            form.add_error(None, str(error))
    status = 422 if form.is_bound and not secret else 200
    context = {"key": key, "form": form, "secret": secret}
    return render(request, "accounts/key_rotation.html", context, status=status)


@require_http_methods(["GET", "POST"])
def limits(request: HttpRequest, key_id: UUID) -> HttpResponse:
    """Show the limits of a key and change them."""
    principal = get_principal(request)
    key = services.find_key(principal, key_id)
    initial = {name: getattr(key, name) for name in KEY_LIMITS}
    form = KeyLimitsForm(request.POST if request.method == "POST" else None, initial=initial)
    if form.is_valid():
        try:
            services.change_key_limits(principal, key_id=key_id, limits=form.get_limits())
        except InvalidChoice as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, _("Limits saved."))
            return redirect("accounts:keys")
    status = 422 if form.is_bound else 200
    return render(request, "accounts/key_limits.html", {"key": key, "form": form}, status=status)


@require_http_methods(["GET", "POST"])
def history(request: HttpRequest, key_id: UUID) -> HttpResponse:
    """Show who keeps the conversations of a key, and change it."""
    principal = get_principal(request)
    key = services.find_key(principal, key_id)
    data = request.POST if request.method == "POST" else None
    form = KeyHistoryForm(data, initial={"history": key.history})
    if form.is_valid():
        try:
            services.change_key_history(principal, key_id=key_id, history=form.get_history())
        except InvalidChoice as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, _("Saved."))
            return redirect("accounts:keys")
    status = 422 if form.is_bound else 200
    return render(request, "accounts/key_history.html", {"key": key, "form": form}, status=status)


@require_POST
def revoke(request: HttpRequest, key_id: UUID) -> HttpResponse:
    services.revoke_key(get_principal(request), key_id=key_id)
    messages.success(request, _("API key revoked."))
    return redirect("accounts:keys")
