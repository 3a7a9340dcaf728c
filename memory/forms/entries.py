"""What people type on the pages of memory."""

import json
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from memory.core.records import Json
from memory.models import Entry
from memory.models.entries import TierChoice


TEXT, JSON = "text", "json"


class EditForm(forms.Form):
    """A value is shown as people read it: text as text, anything else as JSON."""

    value = forms.CharField(
        label=_("Value"), required=False, strip=False, widget=forms.Textarea(attrs={"rows": 6})
    )
    kind = forms.ChoiceField(label=_("Format"), choices=[(TEXT, _("Text")), (JSON, _("JSON"))])
    metadata = forms.JSONField(
        label=_("Metadata"), required=False, widget=forms.Textarea(attrs={"rows": 3})
    )
    category = forms.SlugField(label=_("Category"), max_length=40)
    tier = forms.ChoiceField(label=_("Tier"), choices=TierChoice)
    reason = forms.CharField(label=_("Reason (optional)"), required=False, max_length=500)
    revision = forms.IntegerField(min_value=1, widget=forms.HiddenInput)

    @classmethod
    def of(cls, entry: Entry) -> "EditForm":
        is_text = isinstance(entry.value, str)
        shown = entry.value if is_text else json.dumps(entry.value, ensure_ascii=False, indent=2)
        return cls(
            initial={
                "value": shown,
                "kind": TEXT if is_text else JSON,
                "metadata": entry.metadata,
                "category": entry.category,
                "tier": entry.tier,
                "revision": entry.revision,
            }
        )

    def clean(self) -> dict[str, Any]:
        found = super().clean() or self.cleaned_data
        if found.get("kind") == JSON:
            found["value"] = self._parsed(found.get("value") or "")
        metadata = found.get("metadata")
        if metadata is not None and not isinstance(metadata, dict):
            self.add_error("metadata", _("Enter a JSON object."))
        return found

    def _parsed(self, text: str) -> Json:
        try:
            return json.loads(text)
        except ValueError:
            self.add_error("value", _("Invalid JSON."))
            return None

    def changes(self) -> dict[str, Any]:
        found = self.cleaned_data
        return {
            "value": found["value"],
            "metadata": found["metadata"] or {},
            "category": found["category"],
            "tier": found["tier"],
            "reason": found["reason"],
            "if_revision": found["revision"],
        }
