"""The pages of the review queue, with filters. Each view renders a page, or its fragment for HTMX."""

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

from accounts.views.ignored_filters import list_form_errors
from accounts.views.pagination import PAGE_SIZE, OffsetPage
from memory.forms.review import KINDS, ProposalEditForm, QueueForm
from memory.logic.review.review_rules import Precision
from memory.models import Change, Namespace
from memory.services.review.agreement import measure_agreement
from memory.services.review.review_decisions import list_similar
from memory.services.review.review_queue import QueueFilters, QueueItem, get_queue_item, list_queue
from memory.services.review.review_sample import find_demo_memory, find_demo_namespace
from memory.views.request_context import (
    build_caller,
    find_undoable_change,
    load_titles,
    render_page_or_fragment,
)
from memory.views.review.presentation import build_cards
from memory.views.tabs import list_tabs


# The messages of decisions, by their names in the query.
ACTION_MESSAGES: Final[dict[str, str | Promise]] = {
    "accepted": gettext_lazy("Accepted."),
    "merged": gettext_lazy("Merged."),
    "rejected": gettext_lazy("Rejected."),
    "newer": gettext_lazy("The newer one holds. The older one stays as a former memory."),
    "older": gettext_lazy("The older one holds. The newer one stays as a former memory."),
    "both": gettext_lazy("Both are kept. They will not be proposed again."),
    "always": gettext_lazy(
        "Rejected permanently. Nothing with the same meaning will be proposed or stored here again."
    ),
    "back": gettext_lazy("Undone. The item is back in the queue."),
    "sample": gettext_lazy(
        "Sample items were added to a demo memory that only you see. No workflow reads it."
    ),
}
MAX_IDS: Final = 50  # in a query
PANELS: Final = {
    "edit": "memory/review/_edit.html",
    "merge": "memory/review/_merge.html",
    "try": "memory/review/_preview.html",
}


@dataclass(frozen=True, slots=True)
class DecisionNotice:
    """The outcome of the last decision, with the ids to revert it. ``skipped`` counts the undecided items."""

    action: str
    ids: tuple[UUID, ...] = ()
    skipped: int = 0

    @property
    def message(self) -> str:
        message = str(ACTION_MESSAGES[self.action])
        if len(self.ids) > 1:
            message += " " + _("%(number)s items.") % {"number": len(self.ids)}
        if self.skipped:
            message += " " + _(
                "Not processed: %(number)s. The memories changed in the meantime; these items are still in the queue."
            ) % {"number": self.skipped}
        return message

    @property
    def can_undo(self) -> bool:
        return bool(self.ids) and self.action not in ("back", "sample")

    @property
    def is_rule(self) -> bool:
        return self.action == "always"


@dataclass(frozen=True, slots=True)
class DecisionPreview:
    """The changes that deciding on the selected items would make."""

    action: str
    ids: Sequence[UUID] = ()
    new: int = 0
    changed: int = 0
    forgotten: int = 0
    blocked: int = 0

    @classmethod
    def build(cls, action: str, items: Sequence[QueueItem]) -> "DecisionPreview":
        accepts = action == "accept"
        decidable = [
            item for item in items if item.can_decide and (not accepts or item.diff.is_applicable)
        ]
        changes = [row for item in decidable for row in item.diff.changes] if accepts else []
        return cls(
            action,
            [item.id for item in decidable],
            new=sum(row.before is None for row in changes),
            changed=sum(row.before is not None and row.after is not None for row in changes),
            forgotten=sum(row.after is None for row in changes),
            blocked=len(items) - len(decidable),
        )


@dataclass(frozen=True, slots=True)
class Choice:
    """One option of a filter."""

    value: str
    label: str
    is_selected: bool


@dataclass(frozen=True, slots=True)
class AgreementRow:
    """The decisions about proposals of one kind."""

    label: str
    precision: Precision

    @property
    def percent(self) -> int:
        return round((self.precision.share or 0) * 100)


@dataclass(frozen=True, slots=True)
class QueueMessages:
    """The messages and the status of a queue page."""

    notice: DecisionNotice | None = None
    preview: DecisionPreview | None = None
    problem: str = ""
    status: int = 200


@login_required
@require_safe
def review(request: HttpRequest) -> HttpResponse:
    return show_review(request, QueueMessages(notice=_parse_notice(request.GET)))


@login_required
@require_safe
def item_page(request: HttpRequest, item_id: UUID) -> HttpResponse:
    """Show one item on a page of its own, or one of its panels in the queue."""
    return show_item(request, get_queue_item(build_caller(request), item_id=item_id))


def show_review(request: HttpRequest, page_messages: QueueMessages) -> HttpResponse:
    caller, form = build_caller(request), QueueForm(request.GET)
    filters = form.build_filters()
    page = list_queue(caller, filters=filters, limit=PAGE_SIZE, offset=form.start)
    query, address = build_filter_query(request), reverse("memory:review")
    context = {
        "memory_tabs": list_tabs(request, review=page.queue_total),
        "cards": build_cards(request, page.items),
        "total": page.total,
        "queue_total": page.queue_total,
        "page": OffsetPage(page.total, page.offset, query, address=address),
        "kinds": _list_kinds(filters),
        "namespaces": _list_namespaces(request, page.namespaces, filters),
        "run_id": filters.run_id,
        "is_filtered": bool(filters),
        "ignored": list_form_errors(request.GET, form, address=address),
        "agreement": _list_agreement(request),
        "demo": find_demo_memory(caller),
        "undoable": _find_removal(request),
        "notice": page_messages.notice,
        "preview": page_messages.preview,
        "problem": page_messages.problem,
        "query": query.urlencode(),
    }
    template, fragment = "memory/review/queue.html", "memory/review/_queue.html"
    return render_page_or_fragment(request, template, fragment, context, page_messages.status)


def show_item(
    request: HttpRequest, item: QueueItem, *, form: ProposalEditForm | None = None, panel: str = ""
) -> HttpResponse:
    """Show the item on its page or in a panel; ``form`` is a sent form with errors for this panel."""
    [card] = build_cards(request, [item])
    panel = panel or request.GET.get("panel", "")
    panel_name = panel if panel in PANELS else ""
    is_fragment = bool(getattr(request, "htmx", False)) and panel_name != ""
    can_merge = card.can_merge and item.can_decide and panel_name in ("", "merge")
    forms = {
        name: ProposalEditForm(item, panel=name, as_json=card.as_json, initial={"value": card.text})
        for name in ("edit", "merge")
    }
    if form is not None:
        forms[panel_name] = form
    context = {
        "card": card,
        "forms": forms,
        "changes": item.diff.changes,
        "similar": list_similar(build_caller(request), item_id=item.id) if can_merge else (),
        "query": build_filter_query(request).urlencode(),
        "panel": panel_name,
    }
    name = PANELS[panel_name] if is_fragment else "memory/review/item.html"
    response = render(request, name, context, status=200 if form is None else 422)
    if is_fragment:  # a sent form targets the queue; one with errors stays in its panel
        response["HX-Retarget"], response["HX-Reswap"] = f"#panel-{item.id}", "innerHTML"
    return response


def build_filter_query(request: HttpRequest) -> QueryDict:
    """Return the request's query with its filters, but without the parameters of the last decision."""
    query = request.GET.copy()
    for name in ("act", "of", "left", "panel", "undo"):
        query.pop(name, None)
    return query


def parse_ids(texts: Sequence[str]) -> list[UUID]:
    """Parse the ids and skip invalid ones."""
    ids = []
    for text in texts[:MAX_IDS]:
        try:
            ids.append(UUID(text))
        except ValueError:
            continue
    return ids


def _parse_notice(query: QueryDict) -> DecisionNotice | None:
    action, skipped = query.get("act", ""), query.get("left", "")
    if action not in ACTION_MESSAGES:
        return None
    ids = parse_ids(query.get("of", "").split(","))
    skipped_count = int(skipped) if skipped.isdecimal() and len(skipped) < 5 else 0
    return DecisionNotice(action, tuple(ids), skipped_count)


def _find_removal(request: HttpRequest) -> Change | None:
    """Return the removal of the demo memory that the query names, if it can be undone."""
    change = find_undoable_change(request)
    is_demo = change and change.namespace.text == find_demo_namespace(build_caller(request))
    return change if is_demo else None


def _list_kinds(filters: QueueFilters) -> list[Choice]:
    return [Choice(word, str(label), word == filters.kind) for word, label in KINDS.items()]


def _list_namespaces(
    request: HttpRequest, namespaces: Sequence[tuple[Namespace, int]], filters: QueueFilters
) -> list[Choice]:
    titles = load_titles(request, [row for row, _count in namespaces])
    return [
        Choice(str(row.pk), f"{titles[row.text]} ({count})", row.pk == filters.namespace_id)
        for row, count in namespaces
    ]


def _list_agreement(request: HttpRequest) -> list[AgreementRow]:
    agreement = measure_agreement(build_caller(request))
    return [AgreementRow(str(KINDS[kind]), precision) for kind, precision in agreement.items()]
