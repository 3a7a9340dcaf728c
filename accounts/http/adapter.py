"""Rules for allauth: who may sign up, and which team a new account joins."""

from __future__ import annotations

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django import forms
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from accounts.errors import InvitationUnusable
from accounts.models import Invitation, User
from accounts.models.users import normalise_email
from accounts.selectors import is_first_person
from accounts.services import assign_first_team, find_invitation


INVITATION_IN_SESSION = "invitation"


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth ships no types
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Return whether the person may sign up: with an invitation, as the very first person, or if SIGNUP_OPEN is set."""
        return settings.SIGNUP_OPEN or is_first_person() or bool(find_pending_invitation(request))

    def clean_email(self, email: str) -> str:
        email = normalise_email(super().clean_email(email))
        invitation = find_pending_invitation(self.request)
        if invitation is not None and invitation.email and invitation.email != email:
            raise forms.ValidationError(_("This invitation is for a different email address."))
        return email

    @transaction.atomic
    def save_user(
        self, request: HttpRequest, user: User, form: Any, commit: bool = True
    ) -> User:  # Any: an allauth form
        user.name = form.cleaned_data.get("name", "").strip()
        user.email = normalise_email(form.cleaned_data["email"])
        if is_first_person():
            user.is_staff = user.is_superuser = True
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
        return response


def find_pending_invitation(request: HttpRequest) -> Invitation | None:
    """Return the invitation whose link this browser opened, or None if there is none or it can't be used."""
    token = request.session.get(INVITATION_IN_SESSION)
    if not token:
        return None
    try:
        return find_invitation(token)
    except InvitationUnusable:
        return None
