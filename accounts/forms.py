"""Forms of the account and team pages."""

from __future__ import annotations

import datetime as dt
from typing import Any

from allauth.account.forms import SignupForm
from django import forms
from django.conf import settings
from django.contrib.auth import password_validation
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.models import Role, User
from accounts.models.users import normalise_email
from accounts.roles import SCOPES, SERVICE_SCOPES


def is_local_path(path: str) -> bool:
    """Return whether the text is a path of this site, to which a page may link."""
    return path.startswith("/") and url_has_allowed_host_and_scheme(path, allowed_hosts=None)


class SignUpForm(SignupForm):  # type: ignore[misc]  # allauth ships no types
    """The sign-up form, which also asks for a name."""

    name = forms.CharField(
        label=_("Name"), max_length=120, widget=forms.TextInput(attrs={"autocomplete": "name"})
    )
    field_order = ("name", "email", "password1")

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # Any: allauth's signature
        super().__init__(*args, **kwargs)
        self.fields["password1"].help_text = _("At least 8 characters, and not a common password.")


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


# What keys are mostly for. The last one leaves the choice of permissions to the form.
CUSTOM_PRESET = "custom"
KEY_PRESETS: dict[str, tuple[Promise, tuple[str, ...]]] = {
    "run": (
        _("Run workflows: start and stop runs, and read their results"),
        ("workflows:read", "runs:read", "runs:write"),
    ),
    "memory": (
        _("Run workflows and use memory: also recall, store and forget memories"),
        ("workflows:read", "runs:read", "runs:write", "memory:read", "memory:write"),
    ),
    CUSTOM_PRESET: (_("Custom permissions"), ()),
}


class KeyForm(forms.Form):
    """A new key: its name, and a preset of permissions or permissions one by one."""

    name = forms.CharField(label=_("Name"), max_length=120)
    preset = forms.ChoiceField(
        label=_("What is it for?"),
        choices=[(name, label) for name, (label, _scopes) in KEY_PRESETS.items()],
        widget=forms.RadioSelect,
        initial="run",
        required=False,
    )
    scopes = forms.MultipleChoiceField(
        label=pgettext_lazy("a key", "Permissions"),
        choices=[*SCOPES.items(), *SERVICE_SCOPES.items()],
        widget=forms.CheckboxSelectMultiple,
        required=False,
        initial=KEY_PRESETS["run"][1],
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

    # The page to return to, such as the workflow that was just published.
    back = forms.CharField(required=False, max_length=300, widget=forms.HiddenInput)

    def clean_back(self) -> str:
        back: str = self.cleaned_data["back"]
        return back if is_local_path(back) else ""

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        _label, scopes = KEY_PRESETS[cleaned.get("preset") or CUSTOM_PRESET]
        cleaned["scopes"] = list(scopes) or cleaned.get("scopes", [])
        if not cleaned["scopes"] and "scopes" not in self.errors:
            self.add_error("scopes", _("Select at least one permission."))
        return cleaned

    def get_expires_at(self) -> dt.datetime | None:
        days = self.cleaned_data["days"]
        return timezone.now() + dt.timedelta(days=days) if days else None
