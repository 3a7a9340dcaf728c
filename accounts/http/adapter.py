"""Rules for allauth: who may sign up, and which team a new account joins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django import forms
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from accounts.errors import InvitationUnusable, SignInDelayed
from accounts.http.devices import find_device, remember_device
from accounts.models import Invitation, User
from accounts.models.users import normalise_email
from accounts.request_transaction import without_connection
from accounts.selectors import has_owner
from accounts.services import assign_first_team, find_invitation
from accounts.services.sign_in import SignInAttempt, forgive_attempt, reserve_attempt
from config.http.proxies import find_network


INVITATION_IN_SESSION = "invitation"


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth ships no types
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Return whether the person may sign up: with an invitation, or if SIGNUP_OPEN is set and the site has an owner.

        The owner's account is made by a link that only whoever runs the server can get (``services.firstrun``).
        """
        if settings.SIGNUP_OPEN and has_owner():
            return True
        return bool(find_pending_invitation(request))

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Delay the attempt after failures. This replaces allauth's limit, by which anybody could lock out anybody."""
        try:
            reserve_attempt(_build_attempt(request, credentials))
        except SignInDelayed as error:
            raise forms.ValidationError(
                str(error), code="sign_in_delayed", params={"seconds": error.seconds}
            ) from None

    def authenticate(self, request: HttpRequest, **credentials: Any) -> Any:  # Any: as allauth's
        user = super().authenticate(request, **credentials)
        if user:
            forgive_attempt(_build_attempt(request, credentials))
        return user

    def clean_email(self, email: str) -> str:
        email = normalise_email(super().clean_email(email))
        invitation = find_pending_invitation(self.request)
        if invitation is not None and invitation.email and invitation.email != email:
            raise forms.ValidationError(_("This invitation is for a different email address."))
        return email

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send a mail, such as that for a new password, without holding a connection while the mail server is slow."""
        with without_connection(is_required=False):
            super().send_mail(template_prefix, email, context)

    @transaction.atomic
    def save_user(
        self, request: HttpRequest, user: User, form: Any, commit: bool = True
    ) -> User:  # Any: an allauth form
        user.name = form.cleaned_data.get("name", "").strip()
        user.email = normalise_email(form.cleaned_data["email"])
        saved: User = super().save_user(request, user, form, commit)
        if commit:
            invitation = find_pending_invitation(request)
            token = request.session.pop(INVITATION_IN_SESSION, None) if invitation else None
            assign_first_team(user=saved, invitation_token=token)
        return saved

    def post_login(self, request: HttpRequest, user: User, **kwargs: Any) -> HttpResponse:
        response: HttpResponse = super().post_login(request, user, **kwargs)
        if user.locale:
            response.set_cookie(settings.LANGUAGE_COOKIE_NAME, user.locale, samesite="Lax")
        remember_device(request, response, user.email)
        return response


def _build_attempt(request: HttpRequest, credentials: Mapping[str, Any]) -> SignInAttempt:
    email = normalise_email(str(credentials.get("email") or credentials.get("username") or ""))
    network = find_network(request.META.get("REMOTE_ADDR", ""))
    return SignInAttempt(email, network, find_device(request, email))


def find_pending_invitation(request: HttpRequest) -> Invitation | None:
    """Return the invitation whose link this browser opened, or None if there is none or it can't be used."""
    token = request.session.get(INVITATION_IN_SESSION)
    if not token:
        return None
    try:
        return find_invitation(token)
    except InvitationUnusable:
        return None
