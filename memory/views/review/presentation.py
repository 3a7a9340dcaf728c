"""What waits, as a person reads it: what it is, why it is proposed, and both sides of what would change."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Final
from uuid import UUID

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.principals import get_principal
from memory import naming, provenance
from memory.core.records import Json, MemoryEntry, StoreParams, Tier
from memory.forms.review import KINDS
from memory.host import RunDescription
from memory.logic.review.proposal_plans import Change, Problem
from memory.logic.text_diff import (
    ABSENT,
    SideBySide,
    compare_sides,
    format_value,
    get_editable_text,
)
from memory.models import Entry, Proposal
from memory.models.entries import TierChoice
from memory.provenance import Provenance
from memory.services.review.review_queue import CONTRADICTION, HELD, QueueItem
from memory.views.review.quarantine_reasons import reason_said


_ASKS: Final[dict[str, str | Promise]] = {
    "add": gettext_lazy("Remember this?"),
    CONTRADICTION: gettext_lazy("Replace the older memory with the newer one?"),
    "merge": gettext_lazy("Merge these memories?"),
    "edit": gettext_lazy("Change this memory?"),
    "link": gettext_lazy("Link these memories?"),
    "promote": gettext_lazy("Move this to long-term?"),
    "forget": gettext_lazy("Forget this?"),
    HELD: gettext_lazy("Approve this quarantined memory?"),
}

_PROBLEMS: Final[dict[Problem, str | Promise]] = {
    Problem.GONE: gettext_lazy("%(key)s no longer exists."),
    Problem.CHANGED: gettext_lazy("%(key)s was changed after this was proposed."),
    Problem.EXISTS: gettext_lazy("%(key)s already exists."),
    Problem.NOTHING_TO_DO: gettext_lazy("There is nothing left to change."),
}

# Who proposes without being anybody.
_PROPOSERS: Final[dict[str, str | Promise]] = {
    "curation": gettext_lazy("Curation"),
    "extractive": gettext_lazy("Curation without a model"),
    "sample": gettext_lazy("Sample"),
}


@dataclass(frozen=True, slots=True)
class Side:
    """One memory before and after, and what else of it changes than its words."""

    key: str
    texts: SideBySide
    notes: tuple[str, ...] = ()
    url: str = ""
    gone: str = ""  # what becomes of it, where it isn't just forgotten
    left: str = ""  # the heads, where they aren't "now" and "after"
    right: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """``text``: what a person may change, as plain text unless ``as_json``."""

    id: UUID
    kind: str
    label: str
    ask: str
    why: str
    by: str
    sure: int | None
    place: str
    place_id: UUID
    run: RunDescription | None
    run_id: str
    node: str
    at: datetime
    sides: Sequence[Side]
    problems: Sequence[str]
    can_decide: bool
    has_new: bool
    text: str
    as_json: bool
    can_merge: bool
    gist: str

    @property
    def may_accept(self) -> bool:
        return self.can_decide and not self.problems


def shown(request: HttpRequest, found: Sequence[QueueItem]) -> list[Shown]:
    """As many queries as there are kinds of names, whatever the number of rows."""
    principal = get_principal(request)
    places = {one.namespace.pk: one.namespace for one in found}
    named = naming.name_namespaces(list(places.values()), reader_id=principal.user_id)
    titles = {one.row.pk: one.title for one in named}
    behind = provenance.load_provenance(
        principal, [one.source.actor for one in found], [one.source.run_id for one in found]
    )
    return [_shown(one, titles[one.namespace.pk], behind) for one in found]


def _shown(one: QueueItem, place: str, behind: Provenance) -> Shown:
    source, text = one.source, get_editable_text(one.new) if one.has_new else ""
    return Shown(
        id=one.id,
        kind=one.kind,
        label=str(KINDS[one.kind]),
        ask=str(_ASKS[one.kind]),
        why=_why(one),
        by=_by(one, behind),
        sure=None if isinstance(one.row, Entry) else round(one.row.score * 100),
        place=place,
        place_id=one.namespace.pk,
        run=behind.runs.get(source.run_id),
        run_id=source.run_id,
        node=behind.node(source.run_id, source.node_id),
        at=one.created_at,
        sides=_sides(one),
        problems=[str(_PROBLEMS[problem]) % {"key": key} for key, problem in one.diff.problems],
        can_decide=one.can_decide,
        has_new=one.has_new,
        text=as_json(one.new) if text is None else text,
        as_json=text is None,
        can_merge=one.kind in ("add", HELD),
        gist=_gist(one),
    )


def as_json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _gist(one: QueueItem) -> str:
    """Its words on one line, by which people tell it from others."""
    if one.has_new:
        return " ".join(format_value(one.new).split())[:120]
    return " · ".join(" ".join(format_value(two["value"]).split())[:60] for two in _targets(one))


def _by(one: QueueItem, behind: Provenance) -> str:
    if isinstance(one.row, Entry):
        return behind.actors.get(one.row.source_actor, one.row.source_actor)
    return str(_PROPOSERS.get(one.row.by, one.row.by))


def _why(one: QueueItem) -> str:
    if isinstance(one.row, Entry):
        return held_why(one.row)
    match one.kind:
        case "contradiction":
            return _("Both can't be true. The older one stays in the history of the newer one.")
        case "merge":
            return _(
                "They say almost the same. The evidence of both counts for the one that remains."
            )
        case "link":
            return _("Both mention %(words)s, which few other memories do.") % {
                "words": ", ".join(_shared(one.row))
            }
        case "add":
            return _("Found in finished runs; not confirmed yet.")
        case _:
            return one.row.reason


def _shared(row: Proposal) -> list[str]:
    """The words of the reason as they are written: rules compare them without their endings."""
    said = " ".join(format_value(target["value"]) for target in row.targets)
    terms = [term for term in row.reason.split(", ") if term]
    found = [re.search(rf"(?<!\w){re.escape(term)}\w*", said, re.IGNORECASE) for term in terms]
    return [word[0] if word else term for word, term in zip(found, terms, strict=True)]


def held_why(row: Entry) -> str:
    """Why it is in quarantine."""
    found = row.metadata.get("quarantined_for")
    reasons = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    if not reasons:
        return str(
            row.metadata.get("review_reason")
            or _("It was quarantined when it was written, or later by a member.")
        )
    return " ".join(map(reason_said, reasons))


def _sides(one: QueueItem) -> list[Side]:
    if one.kind == "link":
        return list(_linked(one))
    if one.diff.changes:
        return [_side(change, one) for change in one.diff.changes]
    return list(_as_seen(one))


def _side(change: Change, one: QueueItem) -> Side:
    before, after = change.before, change.after
    texts = compare_sides(before.value if before else ABSENT, after.value if after else ABSENT)
    url = reverse("memory:entry", args=[before.id]) if before and before.id else ""
    side = Side(change.key, texts, tuple(_notes(before, after)), url)
    if one.kind in _BECOMES and before and after is None:
        return _taken_in(side, before, one)
    return side


_BECOMES: Final[dict[str, str | Promise]] = {
    "merge": gettext_lazy("will be merged into %(key)s"),
    CONTRADICTION: gettext_lazy("will be replaced by %(key)s and stays in its history"),
}


def _taken_in(side: Side, gone: MemoryEntry, one: QueueItem) -> Side:
    """What goes is compared with what remains, so that what is lost can be seen."""
    remains = one.diff.changes[0]
    lost = compare_sides(gone.value, remains.after.value if remains.after else ABSENT)
    words = str(_BECOMES[one.kind]) % {"key": remains.key}
    return replace(side, texts=SideBySide(lost.before, None), gone=words)


def _linked(one: QueueItem) -> Iterator[Side]:
    """Not before and after, which say the same, but the one and the other."""
    targets = _targets(one)
    for left, right in pairwise(targets):
        texts = SideBySide(
            compare_sides(ABSENT, left["value"]).after, compare_sides(ABSENT, right["value"]).after
        )
        yield Side("", texts, left=left["key"], right=right["key"])


def _as_seen(one: QueueItem) -> Iterator[Side]:
    """What can't be done any more, as it was proposed."""
    new: Json = one.new if one.has_new else ABSENT
    for number, target in enumerate(_targets(one)):
        after = new if number == 0 else ABSENT
        yield Side(target["key"], compare_sides(target["value"], after))
    if not _targets(one):
        yield Side("", compare_sides(ABSENT, new))


def _targets(one: QueueItem) -> Sequence[dict[str, Json]]:
    return one.row.targets if isinstance(one.row, Proposal) else ()


def _notes(before: MemoryEntry | None, after: StoreParams | None) -> Iterable[str]:
    if before is None or after is None:
        return
    if before.tier != after.tier:
        yield _("%(before)s, then %(after)s") % {
            "before": _tier(before.tier),
            "after": _tier(after.tier),
        }
    if before.category != after.category:
        yield _("Category %(before)s, then %(after)s") % {
            "before": before.category,
            "after": after.category,
        }
    proofs = after.metadata.get("proofs")
    if proofs and proofs != before.metadata.get("proofs"):
        yield _("Mentioned %(number)s times") % {"number": proofs}


def _tier(tier: Tier) -> str:
    return str(TierChoice(tier.value).label)
