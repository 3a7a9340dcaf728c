"""Pages of the signed-in person: the start link, the welcome form, the profile, and the choice of a team."""

from __future__ import annotations

from typing import cast
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import redirect, render
from django.urls import NoReverseMatch, reverse
from django.utils import translation
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts import selectors, services
from accounts.errors import NotFound, StartTokenUnusable
from accounts.forms import PASSWORD_HINT, ProfileForm, WelcomeForm
from accounts.http.devices import remember_device
from accounts.models import User
from accounts.principals import TEAM_IN_SESSION, get_principal
from config.http.proxies import find_network


SIGN_IN_BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


@never_cache
@require_GET
def start(request: HttpRequest, token: str) -> HttpResponse:
    """Sign in with the link that the server prints at its start. No site can forge this GET: the token is secret."""
    try:
        network = find_network(request.META.get("REMOTE_ADDR", ""))
        user = services.redeem_start_token(token, network=network)
    except StartTokenUnusable:
        # A separate page that explains how to get a new link.
        return render(
            request, "accounts/start_lost.html", {"gallery": _get_gallery_url()}, status=410
        )
    login(request, user, backend=SIGN_IN_BACKEND)
    response = redirect(_get_gallery_url())
    remember_device(request, response, user.email)
    return response


@require_http_methods(["GET", "POST"])
def welcome(request: HttpRequest) -> HttpResponse:
    """Show three optional fields. Without a password, the user can sign in again with the next start link."""
    user = _get_user(request)
    if user.has_usable_password():
        return redirect(_get_gallery_url())
    form = WelcomeForm(_get_post_data(request), user=user)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        services.change_profile(user, name=data["name"], locale=user.locale, email=data["email"])
        services.change_password(user, data["password"])
        update_session_auth_hash(request, user)
        response = redirect(_get_gallery_url())
        remember_device(request, response, user.email)  # with the new address
        return response
    context = {"form": form, "skip": _get_gallery_url()}
    return render(request, "accounts/welcome.html", context, status=_choose_status(form))


@require_http_methods(["GET", "POST"])
def profile(request: HttpRequest) -> HttpResponse:
    user = _get_user(request)
    form = _build_profile_form(user, _get_post_data(request))
    if request.method == "POST" and form.is_valid():
        services.change_profile(user, **form.cleaned_data)
        messages.success(request, _("Saved."))
        return _set_language(redirect("accounts:profile"), user.locale)
    context = {"form": form, "password_form": _build_password_form(user)}
    return render(request, "accounts/profile.html", context, status=_choose_status(form))


@require_POST
def password(request: HttpRequest) -> HttpResponse:
    user = _get_user(request)
    form = _build_password_form(user, request.POST)
    if not form.is_valid():
        context = {"form": _build_profile_form(user), "password_form": form}
        return render(request, "accounts/profile.html", context, status=422)
    services.change_password(user, form.cleaned_data["new_password1"])
    update_session_auth_hash(request, user)
    messages.success(request, _("Password changed. All other sessions were signed out."))
    return redirect("accounts:profile")


@require_POST
def switch_team(request: HttpRequest) -> HttpResponse:
    principal = get_principal(request)
    try:
        team_id = UUID(request.POST.get("team", ""))
    except ValueError:
        raise NotFound from None
    team = selectors.find_team(principal, "team.view", team_id)
    request.session[TEAM_IN_SESSION] = str(team.id)
    target = request.POST.get("next", "/")
    if not url_has_allowed_host_and_scheme(target, allowed_hosts={request.get_host()}):
        target = "/"
    return HttpResponseRedirect(target)


def _get_post_data(request: HttpRequest) -> QueryDict | None:
    return request.POST if request.method == "POST" else None


def _get_user(request: HttpRequest) -> User:
    get_principal(request)  # anonymous users are redirected to sign-in
    return cast(User, request.user)


def _build_profile_form(user: User, data: QueryDict | None = None) -> ProfileForm:
    return ProfileForm(data, initial={"name": user.name, "locale": user.locale})


def _build_password_form(user: User, data: QueryDict | None = None) -> SetPasswordForm[User]:
    form_class = PasswordChangeForm if user.has_usable_password() else SetPasswordForm
    form = form_class(user, data)
    form.fields["new_password1"].help_text = PASSWORD_HINT
    form.fields["new_password2"].label = _("Repeat the new password")
    form.fields["new_password2"].help_text = ""
    return form


def _get_gallery_url() -> str:
    try:
        return reverse("workflows:samples")
    except NoReverseMatch:
        return "/"


def _set_language(response: HttpResponse, locale: str) -> HttpResponse:
    if locale:
        translation.activate(locale)
        response.set_cookie(settings.LANGUAGE_COOKIE_NAME, locale, samesite="Lax")
    else:
        response.delete_cookie(settings.LANGUAGE_COOKIE_NAME, samesite="Lax")
    return response


def _choose_status(form: ProfileForm | WelcomeForm) -> int:
    return 422 if form.is_bound and form.errors else 200
