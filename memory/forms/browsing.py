"""Forms of the memory browser: filters, views, and actions on many entries."""

from contextlib import suppress
from datetime import date, datetime
from typing import Any

from django import forms
from django.db.models import TextChoices
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext_lazy as _

from config.timestamps import find_midnight, to_utc
from memory.core.errors import InvalidInput
from memory.core.records import Json
from memory.core.scopes import list_scope_kinds
from memory.logic.entries.filter_syntax import parse_filter_text
from memory.models.entries import TierChoice
from memory.services.entries.bulk import BulkAction
from memory.services.entries.bulk_edit import Amendment
from memory.services.recall.search import EntrySearch, Sort


_REQUIRED_FIELDS = {
    BulkAction.CATEGORY: "category",
    BulkAction.IMPORTANCE: "importance",
    BulkAction.EXPIRY: "lives",
}


class ViewChoice(TextChoices):
    LIST = "list", _("List")
    TIERS = "tiers", _("Tiers")
    TIMELINE = "timeline", _("Timeline")
    LINKS = "links", _("Links")


class SortChoice(TextChoices):
    """The labels of ``memory.services.recall.search.Sort``."""

    BEST = "best", _("Relevance")
    NEWEST = "newest", _("Newest first")
    OLDEST = "oldest", _("Oldest first")
    KEY = "key", _("Key")
    IMPORTANCE = "importance", _("Importance")
    ENDING = "ending", _("Expires soonest")


class BulkActionChoice(TextChoices):
    """The labels of ``memory.services.entries.bulk.BulkAction``."""

    FORGET = "forget", _("Forget")
    APPROVE = "approve", _("Approve")
    REJECT = "reject", _("Reject")
    PROMOTE = "promote", _("Move to long-term")
    QUARANTINE = "quarantine", _("Move to quarantine")
    CATEGORY = "category", _("Set category")
    IMPORTANCE = "importance", _("Set importance")
    EXPIRY = "expiry", _("Set expiry")


class ExpiryChoice(TextChoices):
    """The time from now until an entry expires."""

    DAY = "1", _("In 1 day")
    WEEK = "7", _("In 1 week")
    MONTH = "30", _("In 30 days")
    YEAR = "365", _("In 1 year")
    NEVER = "never", _("Never")

    @property
    def seconds(self) -> float | None:
        return None if self is ExpiryChoice.NEVER else int(self.value) * 86_400


class FilterForm(forms.Form):
    """The filters of a list and the offset of its page; empty and invalid fields filter nothing."""

    offset = forms.IntegerField(min_value=0, max_value=1_000_000, required=False)

    def get_value(self, name: str) -> Any:  # a field's cleaned value, or None
        self.is_valid()
        return self.cleaned_data.get(name)

    def get_text(self, name: str) -> str:
        return self.get_value(name) or ""

    @property
    def start(self) -> int:
        return self.get_value("offset") or 0


class SearchForm(FilterForm):
    """The filters of a namespace. The page shows the errors of invalid fields."""

    q = forms.CharField(max_length=500, required=False, label=_("Search"))
    by = forms.ChoiceField(choices=[("text", _("Query")), ("key", _("Key"))], required=False)
    category = forms.CharField(max_length=40, required=False, label=_("Category"))
    tier = forms.ChoiceField(choices=TierChoice, required=False, label=_("Tier"))
    actor = forms.CharField(max_length=120, required=False, label=_("Written by"))
    m = forms.CharField(max_length=1000, required=False, label=_("Metadata"))
    since = forms.DateField(required=False, label=_("Changed since"))
    until = forms.DateField(required=False, label=_("Changed until"))
    match = forms.IntegerField(
        min_value=0, max_value=100, required=False, label=_("Minimum match (%)")
    )
    sort = forms.ChoiceField(choices=SortChoice, required=False, label=_("Sort by"))
    view = forms.ChoiceField(choices=ViewChoice, required=False)
    at = forms.CharField(max_length=40, required=False, label=_("As of"))

    def clean_m(self) -> dict[str, Json]:
        try:
            return parse_filter_text(self.cleaned_data["m"])
        except InvalidInput as fault:
            message = _("Use name=value, separated by spaces. (%(why)s)")
            raise forms.ValidationError(message, params={"why": str(fault)}) from None

    def clean_at(self) -> datetime | None:
        """Parse a time with a zone, or in the reader's zone; a future time becomes the present."""
        if not (time_text := self.cleaned_data["at"]):
            return None
        with suppress(ValueError):
            if moment := parse_datetime(time_text):
                return min(to_utc(moment), timezone.now())
        raise forms.ValidationError(_("Enter a valid date and time."))

    def clean_since(self) -> date | None:
        return _check_date(self.cleaned_data["since"])

    def clean_until(self) -> date | None:
        return _check_date(self.cleaned_data["until"])

    @property
    def selected_view(self) -> ViewChoice:
        return ViewChoice(self.get_value("view") or ViewChoice.LIST)

    @property
    def snapshot_at(self) -> datetime | None:
        """The past moment to show, or None; only the list can show a past state."""
        moment: datetime | None = self.get_value("at")
        return moment if self.selected_view is ViewChoice.LIST else None

    def build_search(self) -> EntrySearch:
        query, is_key = self.get_text("q"), self.get_value("by") == "key"
        since, until = self.get_value("since"), self.get_value("until")
        return EntrySearch(
            text="" if is_key else query,
            key=query if is_key else "",
            category=self.get_text("category"),
            tier=self.get_text("tier"),
            actor=self.get_text("actor"),
            filter=self.get_value("m") or None,
            since=find_midnight(since) if since else None,
            until=find_midnight(until, days_later=1) if until else None,
            sort=Sort(self.get_value("sort") or Sort.BEST),
            min_score=(self.get_value("match") or 0) / 100,
        )


def _check_date(day: date | None) -> date | None:
    """Raise a validation error if the day's limits are outside the years that Python knows."""
    try:
        if day is not None:
            find_midnight(day), find_midnight(day, days_later=1)
    except ValueError:
        raise forms.ValidationError(_("This date is out of range.")) from None
    return day


class BulkActionForm(forms.Form):
    """An action on many entries: first previewed, then performed if ``sure`` is set."""

    act = forms.ChoiceField(choices=BulkActionChoice, required=False)
    all = forms.BooleanField(required=False)
    expected = forms.IntegerField(min_value=0, required=False)
    category = forms.SlugField(label=_("Category"), max_length=40, required=False)
    importance = forms.FloatField(label=_("Importance"), min_value=0, max_value=1, required=False)
    lives = forms.ChoiceField(label=_("Expires"), choices=ExpiryChoice, required=False)
    reason = forms.CharField(label=_("Reason"), required=False, max_length=500)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        required = _REQUIRED_FIELDS.get(BulkAction(data.get("act") or BulkAction.FORGET))
        if required and "sure" in self.data and data.get(required) in (None, ""):
            self.add_error(required, _("This field is required."))
        return data

    @property
    def selected_action(self) -> BulkAction:
        self.is_valid()
        return BulkAction(self.cleaned_data.get("act") or BulkAction.FORGET)

    @property
    def required_field(self) -> forms.BoundField | None:
        """The field that this action requires."""
        required = _REQUIRED_FIELDS.get(self.selected_action)
        return self[required] if required else None

    def build_amendment(self) -> Amendment:
        data = self.cleaned_data
        match self.selected_action:
            case BulkAction.CATEGORY:
                return Amendment(category=data.get("category"))
            case BulkAction.IMPORTANCE:
                return Amendment(importance=data.get("importance"))
            case BulkAction.EXPIRY if data.get("lives"):
                seconds = ExpiryChoice(data["lives"]).seconds
                return Amendment(sets_expiry=True, lives_seconds=seconds)
            case _:
                return Amendment()


def _list_scopes() -> list[tuple[str, str]]:
    """List all scopes, at the time of the request: plug-ins add theirs after this module is loaded."""
    return [(str(kind.word), str(kind.word)) for kind in list_scope_kinds()]


class OverviewForm(FilterForm):
    """The filters of the overview, whose query is searched in names and entries."""

    q = forms.CharField(max_length=200, required=False, label=_("Search"))
    scope = forms.ChoiceField(choices=_list_scopes, required=False, label=_("Scope"))
    tier = forms.ChoiceField(choices=TierChoice, required=False, label=_("Tier"))
    category = forms.CharField(max_length=40, required=False, label=_("Category"))
