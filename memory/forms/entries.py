"""The form of an entry's page."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from config.http import strict_json
from memory.core.records import Json
from memory.logic.text_diff import to_text
from memory.models import Entry
from memory.models.entries import TierChoice


TEXT, JSON = "text", "json"


class EntryForm(forms.Form):
    """The fields of an entry; a string value is edited as text, any other as JSON."""

    value = forms.CharField(
        label=_("Value"), required=False, strip=False, widget=forms.Textarea(attrs={"rows": 6})
    )
    kind = forms.ChoiceField(label=_("Format"), choices=[(TEXT, _("Text")), (JSON, _("JSON"))])
    metadata = forms.JSONField(
        decoder=strict_json.StrictDecoder,
        label=_("Metadata"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    category = forms.SlugField(label=_("Category"), max_length=40)
    tier = forms.ChoiceField(label=_("Tier"), choices=TierChoice)
    reason = forms.CharField(label=_("Reason (optional)"), required=False, max_length=500)
    revision = forms.IntegerField(min_value=1, widget=forms.HiddenInput)

    @classmethod
    def from_entry(cls, entry: Entry) -> "EntryForm":
        return cls(
            initial={
                "value": to_text(entry.value),
                "kind": TEXT if isinstance(entry.value, str) else JSON,
                "metadata": entry.metadata,
                "category": entry.category,
                "tier": entry.tier,
                "revision": entry.revision,
            }
        )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if data.get("kind") == JSON:
            data["value"] = self._parse_json(data.get("value") or "")
        metadata = data.get("metadata")
        if metadata is not None and not isinstance(metadata, dict):
            self.add_error("metadata", _("Enter a JSON object."))
        return data

    def _parse_json(self, text: str) -> Json:
        try:
            return strict_json.loads(text)
        except strict_json.NotStrictJson:
            self.add_error("value", _("Invalid JSON."))
            return None

    def get_changes(self) -> dict[str, Any]:
        """Return the arguments for the service that edits the entry."""
        data = self.cleaned_data
        return {
            "value": data["value"],
            "metadata": data["metadata"] or {},
            "category": data["category"],
            "tier": data["tier"],
            "reason": data["reason"],
            "if_revision": data["revision"],
        }
