"""Signing in with the start link, welcome, profile, switching teams."""

from __future__ import annotations

from typing import cast
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import NoReverseMatch, reverse
from django.utils import translation
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts import selectors, services
from accounts.errors import NotFound, StartTokenUnusable
from accounts.forms import ProfileForm, WelcomeForm
from accounts.models import User
from accounts.principals import TEAM_IN_SESSION, principal_of


BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


@never_cache
@require_GET
def start(request: HttpRequest, token: str) -> HttpResponse:
    """The link that starting the server prints. The token can't be guessed, so no page can make a browser use it."""
    try:
        user = services.redeem_start_token(token)
    except StartTokenUnusable:
        # A page of its own: whoever has lost the link can't get in otherwise.
        return render(request, "accounts/start_lost.html", {"gallery": _gallery()}, status=410)
    login(request, user, backend=BACKEND)
    return redirect(_gallery())


@require_http_methods(["GET", "POST"])
def welcome(request: HttpRequest) -> HttpResponse:
    """Three fields, which may be skipped: without them, the next start link signs in as well."""
    user = _person(request)
    if user.has_usable_password():
        return redirect(_gallery())
    form = WelcomeForm(_posted(request), user=user)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        services.change_profile(user, name=data["name"], locale=user.locale, email=data["email"])
        services.change_password(user, data["password"])
        update_session_auth_hash(request, user)
        return redirect(_gallery())
    return render(
        request, "accounts/welcome.html", {"form": form, "skip": _gallery()}, status=_status(form)
    )


@require_http_methods(["GET", "POST"])
def profile(request: HttpRequest) -> HttpResponse:
    user = _person(request)
    form = ProfileForm(_posted(request), initial={"name": user.name, "locale": user.locale})
    if request.method == "POST" and form.is_valid():
        services.change_profile(user, **form.cleaned_data)
        messages.success(request, _("Saved."))
        return _in_language(redirect("accounts:profile"), user.locale)
    context = {"form": form, "password_form": _password_form(user)(user)}
    return render(request, "accounts/profile.html", context, status=_status(form))


@require_POST
def password(request: HttpRequest) -> HttpResponse:
    user = _person(request)
    form = _password_form(user)(user, request.POST)
    if not form.is_valid():
        context = {
            "form": ProfileForm(initial={"name": user.name, "locale": user.locale}),
            "password_form": form,
        }
        return render(request, "accounts/profile.html", context, status=422)
    services.change_password(user, form.cleaned_data["new_password1"])
    update_session_auth_hash(request, user)
    messages.success(request, _("The password was changed. Other sessions have ended."))
    return redirect("accounts:profile")


@require_POST
def switch_team(request: HttpRequest) -> HttpResponse:
    principal = principal_of(request)
    try:
        team_id = UUID(request.POST.get("team", ""))
    except ValueError:
        raise NotFound from None
    team = selectors.team_for(principal, "team.view", team_id)
    request.session[TEAM_IN_SESSION] = str(team.id)
    target = request.POST.get("next", "/")
    if not url_has_allowed_host_and_scheme(target, allowed_hosts={request.get_host()}):
        target = "/"
    return redirect(target)


def _posted(request: HttpRequest) -> QueryDict | None:
    return request.POST if request.method == "POST" else None


def _person(request: HttpRequest) -> User:
    principal_of(request)  # a stranger is sent to sign in
    return cast(User, request.user)


def _password_form(user: User) -> type[SetPasswordForm]:  # type: ignore[type-arg]
    return PasswordChangeForm if user.has_usable_password() else SetPasswordForm


def _gallery() -> str:
    try:
        return reverse("workflows:samples")
    except NoReverseMatch:
        return "/"


def _in_language(response: HttpResponse, locale: str) -> HttpResponse:
    if locale:
        translation.activate(locale)
        response.set_cookie(settings.LANGUAGE_COOKIE_NAME, locale, samesite="Lax")
    else:
        response.delete_cookie(settings.LANGUAGE_COOKIE_NAME, samesite="Lax")
    return response


def _status(form: ProfileForm | WelcomeForm) -> int:
    return 422 if form.is_bound and form.errors else 200
