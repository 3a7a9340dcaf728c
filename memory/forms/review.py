"""Forms of the review pages."""

from typing import Any, Final

from django import forms
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from config.http import strict_json
from memory.core.records import Json
from memory.forms.browsing import FilterForm
from memory.logic.review.review_rules import ReviewMode
from memory.logic.text_diff import replace_text
from memory.models.curation import ReviewChoice
from memory.services.curation.learning_rules import LearningRule
from memory.services.review.review_queue import CONTRADICTION, HELD, QueueFilters, QueueItem


# The kinds to filter the queue by, in the order of the menu.
KINDS: Final[dict[str, str | Promise]] = {
    "add": _("New memory"),
    CONTRADICTION: _("Contradiction"),
    "merge": _("Merge"),
    "edit": _("Change"),
    "link": _("Link"),
    "promote": _("Move to long-term"),
    "forget": _("Forget"),
    HELD: _("Quarantine"),
}


class QueueForm(FilterForm):
    """The filters of the review queue."""

    kind = forms.ChoiceField(choices=KINDS.items(), required=False, label=_("Kind"))
    place = forms.UUIDField(required=False, label=_("Namespace"))
    run = forms.CharField(max_length=80, required=False, label=_("Run ID"))

    def build_filters(self) -> QueueFilters:
        return QueueFilters(self.get_text("kind"), self.get_value("place"), self.get_text("run"))


class ProposalEditForm(forms.Form):
    """The form for another value of a proposal, edited as text or as JSON."""

    value = forms.CharField(
        label=_("New value"),
        strip=False,
        max_length=200_000,
        widget=forms.Textarea(attrs={"rows": 5}),
    )
    reason = forms.CharField(label=_("Reason (optional)"), required=False, max_length=500)

    def __init__(self, item: QueueItem, *, panel: str, as_json: bool, **options: Any) -> None:
        """``panel`` makes the ids of the fields unique, because one page can show two of these forms."""
        super().__init__(auto_id=f"{panel}-{item.id}-%s", **options)
        self._item, self._as_json = item, as_json

    def clean_value(self) -> Json:
        text: str = self.cleaned_data["value"]
        if not text.strip():
            raise forms.ValidationError(_("Enter some text."))
        if not self._as_json:
            return replace_text(self._item.new, text)
        try:
            return strict_json.loads(text)
        except strict_json.NotStrictJson:
            raise forms.ValidationError(_("Invalid JSON.")) from None


SCOPES = (
    ("user", _("User")),
    ("conversation", _("Conversation")),
    ("workflow", _("Workflow, per group")),
    ("global", _("Global")),
)


class LearningRuleForm(forms.Form):
    """The form of a learning rule, with the size of the sample in percent."""

    auto_memory = forms.BooleanField(
        label=_("Learn from finished runs"),
        required=False,
        help_text=_(
            "After a run, what it learned is stored as memory and added to the prompts of similar tasks and of agents, but not to those of chats."
        ),
    )
    review = forms.ChoiceField(
        label=_("Require review for"),
        choices=[
            (ReviewMode.OFF.value, _("Risky changes only")),
            (ReviewMode.SAMPLE.value, _("A sample")),
            (ReviewMode.ALL.value, _("Everything")),
        ],
        widget=forms.RadioSelect,
        help_text=_("Merging, contradictions, and forgetting always require review."),
    )
    share = forms.IntegerField(
        label=_("Sample size (%)"),
        min_value=0,
        max_value=100,
        help_text=_("The share of harmless changes that wait for review."),
    )
    scope = forms.ChoiceField(label=_("Scope"), choices=SCOPES)
    provider = forms.CharField(
        label=_("Model provider"),
        required=False,
        max_length=120,
        help_text=_(
            "Provider name from the Models page. Empty: sentences are picked by rules, without a model."
        ),
    )
    model = forms.CharField(label=_("Model"), required=False, max_length=200)
    token_budget = forms.IntegerField(
        label=_("Max tokens per prompt"), min_value=200, max_value=1_000_000
    )
    seconds = forms.IntegerField(label=_("Max seconds per run"), min_value=1, max_value=600)

    @classmethod
    def from_rule(cls, rule: LearningRule) -> "LearningRuleForm":
        return cls(
            initial={
                "auto_memory": rule.auto_memory,
                "review": ReviewChoice(rule.review.value).value,
                "share": round(rule.sampled * 100),
                "scope": rule.scope,
                "provider": rule.provider,
                "model": rule.model,
                "token_budget": rule.token_budget,
                "seconds": rule.seconds,
            }
        )

    def build_rule(self) -> LearningRule:
        data = self.cleaned_data
        return LearningRule(
            auto_memory=data["auto_memory"],
            scope=data["scope"],
            review=ReviewMode(data["review"]),
            sampled=data["share"] / 100,
            provider=data["provider"],
            model=data["model"],
            token_budget=data["token_budget"],
            seconds=data["seconds"],
        )
