"""What people choose and type where they browse memory: filters, views, acts over many."""

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
from memory.core.scopes import scope_kinds
from memory.logic.entries.filter_syntax import read_filter
from memory.models.entries import TierChoice
from memory.services.entries.bulk import Act
from memory.services.entries.bulk_edit import Amendment
from memory.services.recall.search import EntrySearch, Sort


class ViewChoice(TextChoices):
    LIST = "list", _("List")
    TIERS = "tiers", _("Tiers")
    TIMELINE = "timeline", _("Timeline")
    LINKS = "links", _("Links")


class SortChoice(TextChoices):
    """``memory.services.recall.search.Sort`` in people's words."""

    BEST = "best", _("Relevance")
    NEWEST = "newest", _("Newest first")
    OLDEST = "oldest", _("Oldest first")
    KEY = "key", _("Key")
    IMPORTANCE = "importance", _("Importance")
    ENDING = "ending", _("Expires soonest")


class ActChoice(TextChoices):
    """``memory.services.entries.bulk.Act`` in people's words."""

    FORGET = "forget", _("Forget")
    APPROVE = "approve", _("Approve")
    REJECT = "reject", _("Reject")
    PROMOTE = "promote", _("Move to long-term")
    QUARANTINE = "quarantine", _("Move to quarantine")
    CATEGORY = "category", _("Set category")
    IMPORTANCE = "importance", _("Set importance")
    EXPIRY = "expiry", _("Set expiry")


class Lives(TextChoices):
    """How long from now."""

    DAY = "1", _("In 1 day")
    WEEK = "7", _("In 1 week")
    MONTH = "30", _("In 30 days")
    YEAR = "365", _("In 1 year")
    EVER = "never", _("Never")

    @property
    def seconds(self) -> float | None:
        return None if self is Lives.EVER else int(self.value) * 86_400


class SearchForm(forms.Form):
    """Nothing chosen is no filter; nonsense in the address is nothing chosen, and the page says so."""

    q = forms.CharField(max_length=500, required=False, label=_("Search"))
    by = forms.ChoiceField(choices=[("text", _("Query")), ("key", _("Key"))], required=False)
    category = forms.CharField(max_length=40, required=False, label=_("Category"))
    tier = forms.ChoiceField(choices=TierChoice, required=False, label=_("Tier"))
    actor = forms.CharField(max_length=120, required=False, label=_("Written by"))
    m = forms.CharField(max_length=1000, required=False, label=_("Metadata"))
    since = forms.DateField(required=False, label=_("Changed since"))
    until = forms.DateField(required=False, label=_("Changed until"))
    sort = forms.ChoiceField(choices=SortChoice, required=False, label=_("Sort by"))
    view = forms.ChoiceField(choices=ViewChoice, required=False)
    at = forms.CharField(max_length=40, required=False, label=_("As of"))
    offset = forms.IntegerField(min_value=0, max_value=1_000_000, required=False)

    def clean_m(self) -> dict[str, Json]:
        try:
            return read_filter(self.cleaned_data["m"])
        except InvalidInput as fault:
            raise forms.ValidationError(
                _("Use name=value, separated by spaces. (%(why)s)"),
                params={"why": str(fault)},
            ) from None

    def clean_at(self) -> datetime | None:
        """A moment with its zone, or as a clock here shows it; of what is to come there is no memory."""
        said = self.cleaned_data["at"]
        try:
            found = parse_datetime(said)
            if found is not None:
                return min(to_utc(found), timezone.now())
        except ValueError:
            found = None
        if said:
            raise forms.ValidationError(_("Enter a valid date and time."))
        return None

    def clean_since(self) -> date | None:
        return _known(self.cleaned_data["since"])

    def clean_until(self) -> date | None:
        return _known(self.cleaned_data["until"])

    def found(self, name: str) -> Any:  # a field's cleaned value, or nothing
        self.is_valid()
        return self.cleaned_data.get(name)

    @property
    def shown(self) -> ViewChoice:
        return ViewChoice(self.found("view") or ViewChoice.LIST)

    @property
    def at_moment(self) -> datetime | None:
        """Only a list has a past: of the other views one is history already."""
        at: datetime | None = self.found("at")
        return at if self.shown is ViewChoice.LIST else None

    @property
    def start(self) -> int:
        return self.found("offset") or 0

    def sought(self) -> EntrySearch:
        words, is_key = self.found("q") or "", self.found("by") == "key"
        since, until = self.found("since"), self.found("until")
        return EntrySearch(
            text="" if is_key else words,
            key=words if is_key else "",
            category=self.found("category") or "",
            tier=self.found("tier") or "",
            actor=self.found("actor") or "",
            filter=self.found("m") or None,
            since=find_midnight(since) if since else None,
            until=find_midnight(until, later=1) if until else None,
            sort=Sort(self.found("sort") or Sort.BEST),
        )


def _known(day: date | None) -> date | None:
    try:
        if day is not None:
            find_midnight(day), find_midnight(day, later=1)
    except ValueError:
        raise forms.ValidationError(_("This date is out of range.")) from None
    return day


class ActForm(forms.Form):
    """An act over many; first tried, then, with ``sure``, done."""

    act = forms.ChoiceField(choices=ActChoice, required=False)
    all = forms.BooleanField(required=False)
    expected = forms.IntegerField(min_value=0, required=False)
    category = forms.SlugField(label=_("Category"), max_length=40, required=False)
    importance = forms.FloatField(label=_("Importance"), min_value=0, max_value=1, required=False)
    lives = forms.ChoiceField(label=_("Expires"), choices=Lives, required=False)
    reason = forms.CharField(label=_("Reason"), required=False, max_length=500)

    def clean(self) -> dict[str, Any]:
        found = super().clean() or self.cleaned_data
        needed = _NEEDED.get(Act(found.get("act") or Act.FORGET))
        if needed and "sure" in self.data and found.get(needed) in (None, ""):
            self.add_error(needed, _("This field is required."))
        return found

    @property
    def wanted(self) -> Act:
        self.is_valid()
        return Act(self.cleaned_data.get("act") or Act.FORGET)

    @property
    def asks_for(self) -> forms.BoundField | None:
        """What has to be said for this act."""
        needed = _NEEDED.get(self.wanted)
        return self[needed] if needed else None

    def amendment(self) -> Amendment:
        found = self.cleaned_data
        return {
            Act.CATEGORY: Amendment(category=found.get("category")),
            Act.IMPORTANCE: Amendment(importance=found.get("importance")),
            Act.EXPIRY: Amendment(ends=True, lives_seconds=Lives(found["lives"]).seconds)
            if found.get("lives")
            else Amendment(),
        }.get(self.wanted, Amendment())


_NEEDED = {Act.CATEGORY: "category", Act.IMPORTANCE: "importance", Act.EXPIRY: "lives"}


def _scopes() -> list[tuple[str, str]]:
    """Those of plug-ins, too, which are only known by now."""
    return [(str(kind.word), str(kind.word)) for kind in scope_kinds()]


class PlacesForm(forms.Form):
    """The overview's: by scope, and by words in names and in what is remembered, those of a tier or category."""

    q = forms.CharField(max_length=200, required=False, label=_("Search"))
    scope = forms.ChoiceField(choices=_scopes, required=False, label=_("Scope"))
    tier = forms.ChoiceField(choices=TierChoice, required=False, label=_("Tier"))
    category = forms.CharField(max_length=40, required=False, label=_("Category"))
    offset = forms.IntegerField(min_value=0, max_value=1_000_000, required=False)

    def found(self, name: str) -> Any:  # a field's cleaned value, or nothing
        self.is_valid()
        return self.cleaned_data.get(name)

    @property
    def known_scope(self) -> str | None:
        """The chosen one; a word that is no scope is none."""
        return self.found("scope") or None
