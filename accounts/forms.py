"""Forms of the account and team pages."""

from __future__ import annotations

import datetime as dt
from typing import Any

from allauth.account.forms import SignupForm
from django import forms
from django.conf import settings
from django.contrib.auth import password_validation
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.models import Role, User
from accounts.models.users import normalise_email
from accounts.roles import SCOPES, SERVICE_SCOPES


class SignUpForm(SignupForm):  # type: ignore[misc]  # allauth ships no types
    """The sign-up form, which also asks for a name."""

    name = forms.CharField(
        label=_("Name"), max_length=120, widget=forms.TextInput(attrs={"autocomplete": "name"})
    )
    field_order = ("name", "email", "password1", "password2")


class ProfileForm(forms.Form):
    name = forms.CharField(label=_("Name"), max_length=120)
    locale = forms.ChoiceField(label=_("Language"), required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        browser = ("", _("Browser default"))
        self.fields["locale"].choices = [browser, *settings.LANGUAGES]  # type: ignore[attr-defined]


class WelcomeForm(forms.Form):
    """The form for the name, email address and password of the person who started the demo."""

    name = forms.CharField(
        label=_("Name"), max_length=120, widget=forms.TextInput(attrs={"autocomplete": "name"})
    )
    email = forms.EmailField(
        label=_("Email"), widget=forms.EmailInput(attrs={"autocomplete": "username"})
    )
    password = forms.CharField(
        label=_("Password"), widget=forms.PasswordInput(attrs={"autocomplete": "new-password"})
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user

    def clean_email(self) -> str:
        email = normalise_email(self.cleaned_data["email"])
        if User.objects.filter(email=email).exclude(pk=self.user.pk).exists():
            raise forms.ValidationError(_("This email address is already in use."))
        return email

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        password_validation.validate_password(password, self.user)
        return password


class TeamForm(forms.Form):
    name = forms.CharField(label=_("Name"), max_length=120)


class RoleForm(forms.Form):
    role = forms.ChoiceField(label=_("Role"), choices=Role.choices)


class InvitationForm(RoleForm):
    email = forms.EmailField(label=_("Only for this email (optional)"), required=False)


class KeyForm(forms.Form):
    name = forms.CharField(label=_("Name"), max_length=120)
    scopes = forms.MultipleChoiceField(
        label=pgettext_lazy("a key", "Permissions"),
        choices=[*SCOPES.items(), *SERVICE_SCOPES.items()],
        widget=forms.CheckboxSelectMultiple,
    )
    days = forms.TypedChoiceField(
        label=_("Expires"),
        coerce=int,
        empty_value="",
        required=False,
        choices=[
            (30, _("In 30 days")),
            (90, _("In 90 days")),
            (365, _("In 1 year")),
            (0, _("Never")),
        ],
        initial=90,
    )

    def get_expires_at(self) -> dt.datetime | None:
        days = self.cleaned_data["days"]
        return timezone.now() + dt.timedelta(days=days) if days else None
