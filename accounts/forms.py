"""Forms of the account and team pages."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from allauth.account.forms import LoginForm, ResetPasswordForm, SignupForm
from django import forms
from django.conf import settings
from django.contrib.auth import password_validation
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.models import HistoryKeeper, Role, ServiceAccount, User
from accounts.models.limits import KEY_LIMITS
from accounts.models.users import normalise_email
from accounts.roles import SCOPES, SERVICE_SCOPES, TEAM_WIDE_SCOPES


def is_local_path(path: str) -> bool:
    """Return whether the text is a path of this site, to which a page may link."""
    return path.startswith("/") and url_has_allowed_host_and_scheme(path, allowed_hosts=None)


PASSWORD_HINT = _("At least 8 characters, and not a common password.")


def remove_placeholders(form: forms.Form) -> None:
    """Remove the placeholders of allauth's forms, which only repeat the labels above the fields."""
    for field in form.fields.values():
        field.widget.attrs.pop("placeholder", None)


class SignInForm(LoginForm):  # type: ignore[misc]  # allauth ships no types
    def __init__(self, *args: Any, **kwargs: Any) -> None:  # Any: allauth's signature
        super().__init__(*args, **kwargs)
        remove_placeholders(self)
        self.fields["login"].widget.attrs["autofocus"] = True


class PasswordResetForm(ResetPasswordForm):  # type: ignore[misc]  # allauth ships no types
    def __init__(self, *args: Any, **kwargs: Any) -> None:  # Any: allauth's signature
        super().__init__(*args, **kwargs)
        remove_placeholders(self)


class SignUpForm(SignupForm):  # type: ignore[misc]  # allauth ships no types
    """The sign-up form, which also asks for a name."""

    name = forms.CharField(
        label=_("Name"), max_length=120, widget=forms.TextInput(attrs={"autocomplete": "name"})
    )
    field_order = ("name", "email", "password1")

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # Any: allauth's signature
        super().__init__(*args, **kwargs)
        self.fields["password1"].help_text = PASSWORD_HINT
        remove_placeholders(self)


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
RUN_SCOPES = ("workflows:read", "runs:read", "runs:write")
MEMORY_SCOPES = ("memory:read", "memory:write")
KEY_PRESETS: dict[str, tuple[Promise, tuple[str, ...]]] = {
    "run": (
        _("Run workflows: start and stop runs, and read their results"),
        RUN_SCOPES,
    ),
    "memory": (
        _("Run workflows and use memory: also recall, store and forget memories"),
        (*RUN_SCOPES, *MEMORY_SCOPES),
    ),
    CUSTOM_PRESET: (_("Custom permissions"), ()),
}


class KeyLimitsForm(forms.Form):
    """The limits of a key. Empty is no limit."""

    requests_per_minute = forms.IntegerField(
        label=_("Requests per minute"), required=False, min_value=1, max_value=10_000_000
    )
    runs_per_day = forms.IntegerField(
        label=_("Runs started per day"), required=False, min_value=1, max_value=10**12
    )
    concurrent_runs = forms.IntegerField(
        label=_("Runs at the same time"), required=False, min_value=1, max_value=10**6
    )
    tokens_per_day = forms.IntegerField(
        label=_("Tokens per day"), required=False, min_value=1, max_value=10**15
    )
    code_seconds_per_day = forms.IntegerField(
        label=_("Seconds of code per day"), required=False, min_value=1, max_value=10**9
    )

    def list_limits(self) -> list[forms.BoundField]:
        return [self[name] for name in KEY_LIMITS]

    def has_limit_errors(self) -> bool:
        return any(name in self.errors for name in KEY_LIMITS)

    def get_limits(self) -> dict[str, int | None]:
        return {name: self.cleaned_data[name] for name in KEY_LIMITS}


class KeyHistoryForm(forms.Form):
    """Chooses who keeps the conversations of programs for OpenAI's API that use a key."""

    history = forms.ChoiceField(
        label=_("Who keeps conversations"),
        choices=HistoryKeeper.choices,
        initial=HistoryKeeper.REQUEST,
        required=False,
        help_text=_("Of programs for OpenAI's API."),
    )

    def get_history(self) -> str:
        return self.cleaned_data["history"] or HistoryKeeper.REQUEST


class KeyForm(KeyLimitsForm, KeyHistoryForm):
    """A new key: its name, its workflow if it is for one, and a preset of permissions or permissions one by one."""

    name = forms.CharField(label=_("Name"), max_length=120)
    workflow = forms.ChoiceField(
        label=_("Workflows"),
        required=False,
        help_text=_("A key for one workflow can't see or run any other."),
    )
    service_account = forms.ChoiceField(
        label=_("Service account"),
        required=False,
        help_text=_(
            "It owns the conversations, runs and memory that the key opens. Automatic: that of the workflow, or a new one."
        ),
    )
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

    def __init__(
        self,
        *args: Any,
        workflows: Iterable[tuple[str, str]] = (),
        service_accounts: Iterable[ServiceAccount] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        choices = [("", _("All workflows of the team")), *workflows]
        self.fields["workflow"].choices = choices  # type: ignore[attr-defined]
        self._workflows_of = {str(account.pk): account.workflow_id for account in service_accounts}
        names = [(str(account.pk), _name_account(account)) for account in service_accounts]
        automatic = ("", pgettext_lazy("service account of a key", "Automatic"))
        self.fields["service_account"].choices = [automatic, *names]  # type: ignore[attr-defined]

    def clean_back(self) -> str:
        back: str = self.cleaned_data["back"]
        return back if is_local_path(back) else ""

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        _label, scopes = KEY_PRESETS[cleaned.get("preset") or CUSTOM_PRESET]
        cleaned["scopes"] = list(scopes) or cleaned.get("scopes", [])
        if not cleaned["scopes"] and "scopes" not in self.errors:
            self.add_error("scopes", _("Select at least one permission."))
        account = cleaned.get("service_account")
        if account and self._workflows_of[account] != self.get_workflow_id():
            self.add_error(
                "service_account",
                _("This service account is for other workflows than the key. Choose the same."),
            )
        if cleaned.get("workflow") and TEAM_WIDE_SCOPES & set(cleaned["scopes"]):
            self.add_error(
                "scopes", _("A key for one workflow can't have permissions for the whole team.")
            )
        return cleaned

    def get_workflow_id(self) -> UUID | None:
        workflow_id: str = self.cleaned_data.get("workflow", "")
        return UUID(workflow_id) if workflow_id else None

    def get_service_account_id(self) -> UUID | None:
        account_id: str = self.cleaned_data["service_account"]
        return UUID(account_id) if account_id else None

    def get_expires_at(self) -> dt.datetime | None:
        days = self.cleaned_data["days"]
        return timezone.now() + dt.timedelta(days=days) if days else None


class KeyRotationForm(forms.Form):
    """How long a key that is replaced goes on working."""

    hours = forms.TypedChoiceField(
        label=_("The old key works"),
        coerce=int,
        choices=[
            (0, _("no longer")),
            (24, _("for 1 day")),
            (168, _("for 7 days")),
            (720, _("for 30 days")),
        ],
        initial=24,
    )

    def get_overlap(self) -> dt.timedelta:
        return dt.timedelta(hours=self.cleaned_data["hours"])


def _name_account(account: ServiceAccount) -> str:
    """Return the account's name, with its workflow if its keys may use no other."""
    if account.workflow is None or account.workflow.name == account.name:
        return account.name
    return f"{account.name} · {account.workflow.name}"
