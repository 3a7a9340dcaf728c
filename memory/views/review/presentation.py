"""The cards of the review: what an item is, why it is proposed, and each change before and after."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Final

from django.http import HttpRequest
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.principals import get_principal
from memory.core.records import Json, MemoryEntry, Tier
from memory.forms.review import KINDS
from memory.host import RunDescription
from memory.logic.entries.ingress import QUARANTINE_REASONS
from memory.logic.entries.origins import ContentOrigin, get_untrusted_origin
from memory.logic.review.proposal_plans import EntryChange, PlanProblem
from memory.logic.text_diff import (
    ABSENT,
    SideBySide,
    compare_sides,
    get_editable_text,
    render_value,
)
from memory.models import Entry, Proposal
from memory.models.entries import TierChoice
from memory.provenance import Provenance, load_provenance
from memory.services.review.review_queue import CONTRADICTION, HELD, QueueItem
from memory.views.request_context import load_titles
from memory.views.review.quarantine_reasons import describe_reason


_QUESTIONS: Final[dict[str, str | Promise]] = {
    "add": gettext_lazy("Remember this?"),
    CONTRADICTION: gettext_lazy("Which of these holds?"),
    "merge": gettext_lazy("Merge these memories?"),
    "edit": gettext_lazy("Change this memory?"),
    "link": gettext_lazy("Link these memories?"),
    "promote": gettext_lazy("Move this to long-term?"),
    "forget": gettext_lazy("Forget this?"),
    HELD: gettext_lazy("Approve this quarantined memory?"),
}

_PROBLEMS: Final[dict[PlanProblem, str | Promise]] = {
    PlanProblem.GONE: gettext_lazy("%(key)s no longer exists."),
    PlanProblem.CHANGED: gettext_lazy("%(key)s was changed after this was proposed."),
    PlanProblem.EXISTS: gettext_lazy("%(key)s already exists."),
    PlanProblem.NOTHING_TO_DO: gettext_lazy("There is nothing left to change."),
}

_REMOVAL_NOTES: Final[dict[str, str | Promise]] = {
    "merge": gettext_lazy("will be merged into %(key)s"),
}

# Proposers that are not people.
_PROPOSERS: Final[dict[str, str | Promise]] = {
    "curation": gettext_lazy("Curation"),
    "extractive": gettext_lazy("Curation without a model"),
    "sample": gettext_lazy("Sample"),
}


# Where a text is from that no member has approved.
_ORIGINS: Final[dict[str, str | Promise]] = {
    ContentOrigin.WEB: gettext_lazy("from the web"),
    ContentOrigin.TOOL: gettext_lazy("from a tool"),
}


@dataclass(frozen=True, slots=True)
class EntryComparison:
    """One entry before and after, with notes on changes besides its value."""

    key: str
    texts: SideBySide
    notes: tuple[str, ...] = ()
    url: str = ""
    removal_note: str = ""  # what happens to a removed entry that is not just forgotten
    left_title: str = ""  # the headings, by default "Now" and "After"
    right_title: str = ""


@dataclass(frozen=True, slots=True)
class ItemCard:
    """An item as the page shows it. ``text`` is the value to edit, in JSON if ``as_json`` is set."""

    item: QueueItem
    label: str
    question: str
    explanation: str
    author: str
    confidence: int | None
    namespace_title: str
    run: RunDescription | None
    is_run_deleted: bool
    node: str
    comparisons: Sequence[EntryComparison]
    problems: Sequence[str]
    text: str
    as_json: bool
    can_merge: bool
    summary: str

    @property
    def can_accept(self) -> bool:
        return self.item.can_decide and not self.problems


def build_cards(request: HttpRequest, items: Sequence[QueueItem]) -> list[ItemCard]:
    """Build the cards of the items. The number of queries doesn't depend on the number of items."""
    titles = load_titles(request, [item.namespace for item in items])
    sources = [item.source for item in items]
    origins = load_provenance(
        get_principal(request), [row.actor for row in sources], [row.run_id for row in sources]
    )
    return [_build_card(item, titles[item.namespace.text], origins) for item in items]


def _build_card(item: QueueItem, namespace_title: str, origins: Provenance) -> ItemCard:
    source, text = item.source, get_editable_text(item.new) if item.has_new else ""
    return ItemCard(
        item=item,
        label=str(KINDS[item.kind]),
        question=str(_QUESTIONS[item.kind]),
        explanation=_explain_item(item),
        author=_describe_author(item, origins),
        confidence=None if isinstance(item.row, Entry) else round(item.row.score * 100),
        namespace_title=namespace_title,
        run=origins.runs.get(source.run_id),
        is_run_deleted=source.run_id in origins.deleted_runs,
        node=origins.get_node_title(source.run_id, source.node_id),
        comparisons=_build_comparisons(item),
        problems=[str(_PROBLEMS[problem]) % {"key": key} for key, problem in item.diff.problems],
        text=json.dumps(item.new, ensure_ascii=False, indent=2) if text is None else text,
        as_json=text is None,
        can_merge=item.kind in ("add", HELD),
        summary=_summarize_item(item),
    )


def _summarize_item(item: QueueItem) -> str:
    """Return the item's text on one line, to tell it from others."""
    if item.has_new:
        return " ".join(render_value(item.new).split())[:120]
    texts = [render_value(target["value"]) for target in _get_targets(item)]
    return " · ".join(" ".join(text.split())[:60] for text in texts)


def _describe_author(item: QueueItem, origins: Provenance) -> str:
    if isinstance(item.row, Entry):
        return origins.actors.get(item.row.source_actor, item.row.source_actor)
    return str(_PROPOSERS.get(item.row.by, item.row.by))


def _explain_item(item: QueueItem) -> str:
    if isinstance(item.row, Entry):
        return explain_quarantine(item.row)
    match item.kind:
        case "contradiction":
            return _("Both can't be true. The one that you don't choose stays as a former memory.")
        case "merge":
            return _(
                "They say almost the same. The evidence of both counts for the one that remains."
            )
        case "link":
            return _("Both mention %(words)s, which few other memories do.") % {
                "words": ", ".join(_list_shared_words(item.row))
            }
        case "add":
            return _("Found in finished runs; not confirmed yet.")
        case _:
            return item.row.reason


def _list_shared_words(row: Proposal) -> list[str]:
    """Return the words of the reason as the entries write them, because the reason has words without endings."""
    text = " ".join(render_value(target["value"]) for target in row.targets)
    terms = [term for term in row.reason.split(", ") if term]
    matches = [re.search(rf"(?<!\w){re.escape(term)}\w*", text, re.IGNORECASE) for term in terms]
    return [match[0] if match else term for match, term in zip(matches, terms, strict=True)]


def explain_quarantine(row: Entry) -> str:
    """Return why the entry is in quarantine, as one or more sentences."""
    findings = row.metadata.get(QUARANTINE_REASONS)
    rows = findings if isinstance(findings, list) else ()
    if reasons := [describe_reason(finding) for finding in rows if isinstance(finding, dict)]:
        return " ".join(reasons)
    default = _("It was quarantined when it was written, or later by a member.")
    return str(row.metadata.get("review_reason") or default)


def _build_comparisons(item: QueueItem) -> list[EntryComparison]:
    if item.kind == "link":
        return list(_compare_linked(item))
    if item.kind == CONTRADICTION:
        return [_compare_contradicting(item)]
    if item.diff.changes:
        return [_compare_change(change, item) for change in item.diff.changes]
    return list(_compare_recorded(item))


def _compare_change(change: EntryChange, item: QueueItem) -> EntryComparison:
    before, after = change.before, change.after
    texts = compare_sides(before.value if before else ABSENT, after.value if after else ABSENT)
    url = reverse("memory:entry", args=[before.id]) if before and before.id else ""
    comparison = EntryComparison(change.key, texts, tuple(_list_notes(change, item)), url)
    if item.kind in _REMOVAL_NOTES and before and after is None:
        return _compare_with_survivor(comparison, before, item)
    return comparison


def _compare_with_survivor(
    comparison: EntryComparison, entry: MemoryEntry, item: QueueItem
) -> EntryComparison:
    """Compare the removed entry with the one that remains, so that lost parts are visible."""
    survivor = item.diff.changes[0]
    texts = compare_sides(entry.value, survivor.after.value if survivor.after else ABSENT)
    note = str(_REMOVAL_NOTES[item.kind]) % {"key": survivor.key}
    return replace(comparison, texts=SideBySide(texts.before, None), removal_note=note)


def _compare_linked(item: QueueItem) -> Iterator[EntryComparison]:
    """Yield the linked entries side by side, since a link doesn't change their values."""
    origins = _list_origins(item)
    for first, second in pairwise(_get_targets(item)):
        sides = [compare_sides(ABSENT, target["value"]).after for target in (first, second)]
        titles = [
            ", ".join(filter(None, (target["key"], origins.get(target["key"]))))
            for target in (first, second)
        ]
        yield EntryComparison("", SideBySide(*sides), left_title=titles[0], right_title=titles[1])


def _compare_contradicting(item: QueueItem) -> EntryComparison:
    """Show both memories side by side with their dates and where they are from, the older one first."""
    newer, older = _get_targets(item)
    origins = _list_origins(item)
    dates = {change.key: change.before.created_at for change in item.diff.changes if change.before}
    sides = [compare_sides(ABSENT, target["value"]).after for target in (older, newer)]
    titles = [
        _describe_age(label, dates.get(target["key"]), origins.get(target["key"], ""))
        for label, target in ((_("Older"), older), (_("Newer"), newer))
    ]
    return EntryComparison("", SideBySide(*sides), left_title=titles[0], right_title=titles[1])


def _describe_age(label: str, created_at: datetime | None, origin: str) -> str:
    date = date_format(localtime(created_at), "DATETIME_FORMAT") if created_at else ""
    return ", ".join(filter(None, (label, date, origin)))


def _list_origins(item: QueueItem) -> dict[str, str]:
    """Return where the memories of the item are from, by key, without those that nothing marks."""
    marks: dict[str, Mapping[str, Json]] = {
        change.key: change.before.metadata for change in item.diff.changes if change.before
    }
    if isinstance(item.row, Proposal) and item.row.new and item.row.targets:
        marks.setdefault(item.row.targets[0]["key"], item.row.new["metadata"])
    origins = {key: _describe_origin(metadata) for key, metadata in marks.items()}
    return {key: origin for key, origin in origins.items() if origin}


def _describe_origin(metadata: Mapping[str, Json]) -> str:
    """Return where a text is from that no member has approved, or "" for other texts."""
    origin = get_untrusted_origin(metadata)
    return str(_ORIGINS[origin]) if origin else ""


def _compare_recorded(item: QueueItem) -> Iterator[EntryComparison]:
    """Yield the values that the proposal recorded, when it can no longer be applied."""
    new: Json = item.new if item.has_new else ABSENT
    for number, target in enumerate(_get_targets(item)):
        after = new if number == 0 else ABSENT
        yield EntryComparison(target["key"], compare_sides(target["value"], after))
    if not _get_targets(item):
        yield EntryComparison("", compare_sides(ABSENT, new))


def _get_targets(item: QueueItem) -> Sequence[dict[str, Json]]:
    return item.row.targets if isinstance(item.row, Proposal) else ()


def _list_notes(change: EntryChange, item: QueueItem) -> Iterable[str]:
    before, after = change.before, change.after
    states = [state.metadata for state in (after, before) if state is not None]
    if isinstance(item.row, Entry):  # in quarantine, and approved only by this decision
        states.append(item.row.metadata)
    if origin := next(filter(None, map(_describe_origin, states)), ""):
        yield origin
    if before is None or after is None:
        return
    if before.tier != after.tier:
        labels = {"before": _label_tier(before.tier), "after": _label_tier(after.tier)}
        yield _("%(before)s, then %(after)s") % labels
    if before.category != after.category:
        categories = {"before": before.category, "after": after.category}
        yield _("Category %(before)s, then %(after)s") % categories
    proofs = after.metadata.get("proofs")
    if proofs and proofs != before.metadata.get("proofs"):
        yield _("Mentioned %(number)s times") % {"number": proofs}


def _label_tier(tier: Tier) -> str:
    return str(TierChoice(tier.value).label)
