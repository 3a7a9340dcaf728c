"""The form of a subscription to ended runs."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from workflows.models import RunEnd


class SubscriptionForm(forms.Form):
    url = forms.CharField(
        label=_("Address"),
        max_length=2048,
        help_text=_("Receives a signed POST request. It must be public, or allowed in NET_ALLOW."),
        widget=forms.URLInput(attrs={"placeholder": "https://example.com/hooks/mnemoflow"}),
    )
    events = forms.MultipleChoiceField(
        label=_("When a run of a published version"),
        choices=RunEnd.choices,
        initial=[RunEnd.SUCCEEDED, RunEnd.FAILED],
        widget=forms.CheckboxSelectMultiple,
    )
    is_for_team = forms.BooleanField(label=_("For all workflows of the team"), required=False)

    def __init__(self, *args: Any, may_choose_team: bool, **options: Any) -> None:  # Any: Django's
        super().__init__(*args, **options)
        if not may_choose_team:
            del self.fields["is_for_team"]
