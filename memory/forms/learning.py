"""The filters of the picture of learning."""

from datetime import date, timedelta

from django import forms
from django.db.models import TextChoices
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memory.host import RunFilter


class PeriodChoice(TextChoices):
    """A period up to now. The values are days."""

    DAY = "1", _("Last 24 hours")
    WEEK = "7", _("Last 7 days")
    MONTH = "30", _("Last 30 days")
    YEAR = "365", _("Last year")

    @property
    def since(self) -> date:
        return timezone.localdate() - timedelta(days=int(self.value))


class LearningForm(forms.Form):
    """All fields are optional; empty and invalid ones filter nothing."""

    workflow = forms.UUIDField(required=False)
    person = forms.CharField(required=False, max_length=100)
    account = forms.UUIDField(required=False)  # a service account, whose picture is shown
    period = forms.ChoiceField(required=False, choices=PeriodChoice)
    run = forms.UUIDField(required=False)
    offset = forms.IntegerField(min_value=0, max_value=10_000, required=False)

    def build_filter(self) -> RunFilter:
        self.is_valid()
        values = self.cleaned_data
        period = values.get("period")
        return RunFilter(
            workflow=str(values.get("workflow") or ""),
            person=values.get("person") or "",
            service_account=str(values.get("account") or ""),
            since=PeriodChoice(period).since if period else None,
        )

    @property
    def service_account(self) -> str:
        """Return the id of the service account whose picture is shown, or "" for the reader's own."""
        return self.build_filter().service_account

    @property
    def selected_run(self) -> str:
        """Return the id of the run that is highlighted, or "" if none is."""
        self.is_valid()
        return str(self.cleaned_data.get("run") or "")

    @property
    def start(self) -> int:
        self.is_valid()
        return self.cleaned_data.get("offset") or 0
