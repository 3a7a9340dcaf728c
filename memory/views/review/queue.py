"""The review: everything that waits for a person, narrowed and looked at. The same view serves page and fragment."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from accounts.principals import get_principal
from accounts.views.ignored_filters import list_form_errors
from memory import naming
from memory.forms.review import KINDS, ChangedForm, QueueForm
from memory.models import Namespace
from memory.services.review.agreement import measure_agreement
from memory.services.review.review_decisions import list_similar
from memory.services.review.review_queue import QueueFilters, QueueItem, get_queue_item, list_queue
from memory.views.pagination import PAGE_SIZE, OffsetPage
from memory.views.request_context import caller_of
from memory.views.review.presentation import shown
from memory.views.tabs import tabs_of


# What was just done, as the address says it, and in words.
ACTS: Final[dict[str, str | Promise]] = {
    "accepted": gettext_lazy("Accepted."),
    "merged": gettext_lazy("Merged."),
    "rejected": gettext_lazy("Rejected."),
    "always": gettext_lazy(
        "Rejected permanently. Nothing with the same meaning will be proposed or stored here again."
    ),
    "back": gettext_lazy("Undone. The item is back in the queue."),
    "sample": gettext_lazy(
        "Sample items were added to your own memory. Reject what you don't want to keep."
    ),
}
MOST_NAMED: Final = 50  # ids in an address


@dataclass(frozen=True, slots=True)
class Said:
    """What was just decided, and the way back. ``left``: how many couldn't be."""

    act: str
    ids: tuple[UUID, ...] = ()
    left: int = 0

    @property
    def words(self) -> str:
        words = str(ACTS[self.act])
        if len(self.ids) > 1:
            words = f"{words} " + _("%(number)s items.") % {"number": len(self.ids)}
        if self.left:
            words = f"{words} " + _(
                "Not processed: %(number)s. The memories changed in the meantime; these items are still in the queue."
            ) % {"number": self.left}
        return words

    @property
    def can_undo(self) -> bool:
        return bool(self.ids) and self.act not in ("back", "sample")

    @property
    def is_rule(self) -> bool:
        return self.act == "always"


@dataclass(frozen=True, slots=True)
class Tried:
    """What deciding about the chosen would do: a dry run of many."""

    act: str
    ids: Sequence[UUID] = ()
    new: int = 0
    changed: int = 0
    forgotten: int = 0
    blocked: int = 0

    @classmethod
    def of(cls, act: str, found: Sequence[QueueItem]) -> "Tried":
        able = [one for one in found if one.can_decide and (act != "accept" or one.diff.applicable)]
        changes = [change for one in able for change in one.diff.changes] if act == "accept" else []
        return cls(
            act,
            [one.id for one in able],
            new=sum(one.before is None for one in changes),
            changed=sum(one.before is not None and one.after is not None for one in changes),
            forgotten=sum(one.after is None for one in changes),
            blocked=len(found) - len(able),
        )


@dataclass(frozen=True, slots=True)
class Choice:
    """One option of a filter."""

    value: str
    label: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Agreed:
    """How often people agreed with proposals of one kind."""

    label: str
    decided: int
    percent: int
    accepted: int
    edited: int
    rejected: int


@dataclass(frozen=True, slots=True)
class Extra:
    """What a page of the queue says besides it."""

    said: Said | None = None
    tried: Tried | None = None
    problem: str = ""
    status: int = 200


@login_required
@require_safe
def review(request: HttpRequest) -> HttpResponse:
    return show_review(request, Extra(said=_said_in(request.GET)))


@login_required
@require_safe
def item(request: HttpRequest, item_id: UUID) -> HttpResponse:
    """One of them on a page of its own, or one of its panels for the queue."""
    return show_item(request, get_queue_item(caller_of(request), item_id=item_id))


def show_review(request: HttpRequest, extra: Extra) -> HttpResponse:
    caller, form = caller_of(request), QueueForm(request.GET)
    filters = form.filters()
    page = list_queue(caller, filters=filters, limit=PAGE_SIZE, offset=form.offset_asked())
    context = {
        "memory_tabs": tabs_of(request, review=page.queue_total),
        "items": shown(request, page.items),
        "total": page.total,
        "in_all": page.queue_total,
        "page": OffsetPage(
            page.total, page.offset, kept_query(request), address=reverse("memory:review")
        ),
        "kinds": _kinds(filters),
        "places": _places(request, page.namespaces, filters),
        "run": filters.run_id,
        "filtered": bool(filters),
        "ignored": list_form_errors(request.GET, form, address=reverse("memory:review")),
        "agreed": _agreed(request),
        "said": extra.said,
        "tried": extra.tried,
        "problem": extra.problem,
        "query": kept_query(request).urlencode(),
        "base_url": request.build_absolute_uri("/").rstrip("/"),
    }
    fragment = getattr(request, "htmx", False)
    name = "memory/review/_queue.html" if fragment else "memory/review/queue.html"
    return render(request, name, context, status=extra.status)


def show_item(
    request: HttpRequest, found: QueueItem, *, form: ChangedForm | None = None, panel: str = ""
) -> HttpResponse:
    """``form`` is one that was sent and isn't right yet."""
    [one] = shown(request, [found])
    panel = panel or request.GET.get("panel", "")
    wanted = panel if panel in PANELS else ""
    is_fragment = bool(getattr(request, "htmx", False)) and wanted != ""
    merging = one.can_merge and one.can_decide and wanted in ("", "merge")
    forms = {
        name: ChangedForm(found, panel=name, as_json=one.as_json, initial={"value": one.text})
        for name in ("edit", "merge")
    }
    if form is not None:
        forms[wanted] = form
    context = {
        "one": one,
        "forms": forms,
        "changes": found.diff.changes,
        "alike": list_similar(caller_of(request), item_id=found.id) if merging else (),
        "query": kept_query(request).urlencode(),
        "panel": wanted,
    }
    name = PANELS[wanted] if is_fragment else "memory/review/item.html"
    answer = render(request, name, context, status=200 if form is None else 422)
    if (
        is_fragment
    ):  # a form that is sent asks for the queue; one that isn't right stays where it is
        answer["HX-Retarget"], answer["HX-Reswap"] = f"#panel-{one.id}", "innerHTML"
    return answer


PANELS: Final = {
    "edit": "memory/review/_edit.html",
    "merge": "memory/review/_merge.html",
    "try": "memory/review/_preview.html",
}


def kept_query(request: HttpRequest) -> QueryDict:
    """The filters of an address, without what was just done."""
    query = request.GET.copy()
    for name in ("act", "of", "left", "panel"):
        query.pop(name, None)
    return query


def ids_in(texts: Sequence[str]) -> list[UUID]:
    """Nonsense names nothing."""
    found = []
    for one in texts[:MOST_NAMED]:
        try:
            found.append(UUID(one))
        except ValueError:
            continue
    return found


def _said_in(query: QueryDict) -> Said | None:
    act, left = query.get("act", ""), query.get("left", "")
    if act not in ACTS:
        return None
    ids = ids_in(query.get("of", "").split(","))
    return Said(act, tuple(ids), int(left) if left.isdecimal() and len(left) < 5 else 0)


def _kinds(filters: QueueFilters) -> list[Choice]:
    return [Choice(word, str(label), word == filters.kind) for word, label in KINDS.items()]


def _places(
    request: HttpRequest, places: Sequence[tuple[Namespace, int]], filters: QueueFilters
) -> list[Choice]:
    counts = {row.pk: count for row, count in places}
    reader = get_principal(request).user_id
    return [
        Choice(
            str(one.row.pk),
            f"{one.title} ({counts[one.row.pk]})",
            one.row.pk == filters.namespace_id,
        )
        for one in naming.name_namespaces([row for row, _count in places], reader_id=reader)
    ]


def _agreed(request: HttpRequest) -> list[Agreed]:
    found = measure_agreement(caller_of(request))
    return [
        Agreed(
            str(KINDS[kind]),
            one.decided,
            round((one.share or 0) * 100),
            one.accepted,
            one.edited,
            one.rejected,
        )
        for kind, one in found.items()
    ]
