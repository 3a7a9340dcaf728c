"""Pages of memory: parse, one domain call, render. The same view serves page and fragment."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from accounts.principals import current_team_id, principal_of
from memory import naming, permissions, selectors, services
from memory.core.errors import AlreadyExists, MemoryFault
from memory.core.scopes import parse_namespace
from memory.forms import EditForm, SearchForm
from memory.models import Change, Entry, Namespace
from memory.models.entries import TierChoice
from memory.models.namespaces import ScopeChoice
from memory.permissions import Place, Verb
from memory.services import MemoryCaller


PAGE_SIZE = 25


@dataclass(frozen=True, slots=True)
class OffsetPage:
    """What ``components/_pager.html`` shows."""

    total: int
    offset: int
    query: QueryDict

    @property
    def has_previous_page(self) -> bool:
        return self.offset > 0

    @property
    def has_next_page(self) -> bool:
        return self.offset + PAGE_SIZE < self.total

    @property
    def has_other_pages(self) -> bool:
        return self.has_previous_page or self.has_next_page

    @property
    def previous_url(self) -> str:
        return self._url(max(0, self.offset - PAGE_SIZE))

    @property
    def next_url(self) -> str:
        return self._url(self.offset + PAGE_SIZE)

    @property
    def label(self) -> str:
        last = min(self.offset + PAGE_SIZE, self.total)
        return _("%(first)d to %(last)d of %(total)d") % {
            "first": self.offset + 1,
            "last": last,
            "total": self.total,
        }

    def _url(self, offset: int) -> str:
        query = self.query.copy()
        query["offset"] = str(offset)
        return f"?{query.urlencode()}"


@login_required
@require_safe
def overview(request: HttpRequest) -> HttpResponse:
    """Namespaces by scope, with counts and bytes."""
    principal = principal_of(request)
    found = selectors.namespaces_for(principal, current_team_id(request))
    everything = naming.named(found, reader_id=principal.user_id)
    words = sorted({row.scope for row in found}, key=_place_of_scope)
    groups = [
        {
            "label": next(
                one.row for one in everything if one.row.scope == word
            ).get_scope_display(),
            "hint": SCOPE_HINTS.get(word, ""),
            "rows": sorted(
                (one for one in everything if one.row.scope == word), key=lambda one: not one.is_own
            ),
        }
        for word in words
    ]
    return render(
        request,
        "memory/list.html",
        {
            "groups": groups,
            "base_url": request.build_absolute_uri("/").rstrip("/"),
        },
    )


@login_required
@require_safe
def namespace(request: HttpRequest, namespace_id: UUID) -> HttpResponse:
    row = selectors.namespace_for(principal_of(request), current_team_id(request), namespace_id)
    undoable = _undoable(request, request.GET.get("undo", ""))
    return _show_namespace(request, row, undoable)


@login_required
@require_safe
def entry(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    row = _entry(request, entry_id)
    return _show_entry(request, row, EditForm.of(row))


@login_required
@require_POST
def edit(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    row = _entry(request, entry_id)
    form = EditForm(request.POST)
    if not form.is_valid():
        return _show_entry(request, row, form, status=422)
    try:
        services.edit(_caller(request), entry_id=entry_id, **form.changes())
    except (
        AlreadyExists
    ) as fault:  # somebody was quicker: their version and what was typed, side by side
        newest = _entry(request, entry_id)
        form.add_error(None, str(fault))
        form.data = {**request.POST.dict(), "revision": str(newest.revision)}  # now a choice
        return _show_entry(request, newest, form, status=409)
    messages.success(request, _("Saved."))
    return redirect("memory:entry", entry_id=entry_id)


@login_required
@require_POST
def forget(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    row = _entry(request, entry_id)
    done = services.forget(_caller(request), entry_id=entry_id, reason=_reason(request))
    return _after_forgetting(request, row.namespace, done.change_id)


@login_required
@require_POST
def forget_many(request: HttpRequest, namespace_id: UUID) -> HttpResponse:
    row = selectors.namespace_for(principal_of(request), current_team_id(request), namespace_id)
    chosen = request.POST.getlist("entry")
    if not chosen:
        messages.info(request, _("Nothing was chosen."))
        return redirect("memory:namespace", namespace_id=row.pk)
    if "sure" not in request.POST:
        return _show_namespace(request, row, None, asked=selectors.living_among(row, chosen))
    done = services.forget_many(_caller(request), entry_ids=chosen, reason=_reason(request))
    return _after_forgetting(request, row, done.change_id)


@login_required
@require_POST
def restore(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    _entry(request, entry_id)
    number = request.POST.get("revision", "")
    try:
        services.restore(
            _caller(request),
            entry_id=entry_id,
            revision=int(number) if number.isdecimal() and len(number) < 10 else None,
            reason=_reason(request),
        )
        messages.success(request, _("Restored."))
    except AlreadyExists as fault:
        messages.error(request, str(fault))
    return redirect("memory:entry", entry_id=entry_id)


@login_required
@require_POST
def undo(request: HttpRequest, change_id: UUID) -> HttpResponse:
    change = selectors.change_for(principal_of(request), current_team_id(request), change_id)
    try:
        services.undo(_caller(request), change_id=change_id)
    except AlreadyExists as fault:
        messages.error(request, str(fault))
        return redirect("memory:namespace", namespace_id=change.namespace_id)
    if getattr(request, "htmx", False):
        return _show_namespace(request, _again(change.namespace), None)
    messages.success(request, _("Back again."))
    return redirect("memory:namespace", namespace_id=change.namespace_id)


SCOPE_HINTS: dict[str, Promise] = {
    ScopeChoice.USER: gettext_lazy(
        "What is remembered about a person, across their conversations."
    ),
    ScopeChoice.CONVERSATION: gettext_lazy("What belongs to one conversation."),
    ScopeChoice.GLOBAL: gettext_lazy("What an application knows, whoever asks."),
    ScopeChoice.WORKFLOW: gettext_lazy("What one workflow keeps for itself."),
    ScopeChoice.RUN: gettext_lazy("Notes of a run, cleared when it ends."),
}


# People first; what plug-ins brought comes last.
_ORDER = (*SCOPE_HINTS,)


def _place_of_scope(word: str) -> tuple[int, str]:
    return (_ORDER.index(ScopeChoice(word)) if word in ScopeChoice.values else len(_ORDER), word)


def _show_namespace(
    request: HttpRequest,
    row: Namespace,
    undoable: Change | None,
    *,
    asked: Sequence[Entry] = (),
) -> HttpResponse:
    """``asked`` are entries about to be forgotten, shown before it is done."""
    search = SearchForm(request.GET)
    chosen = search.chosen()
    page = services.entries(_caller(request), namespace=row.text, limit=PAGE_SIZE, **chosen)
    context = {
        "namespace": row,
        "entries": page.entries,
        "total": page.total,
        "page": OffsetPage(page.total, page.offset, request.GET),
        "chosen": chosen,
        "search": search,
        "filtered": any(chosen[name] for name in ("text", "category", "tier", "filter")),
        "title": _title(request, row),
        "asked": asked,
        "asked_bytes": sum(entry.size for entry in asked),
        "categories": selectors.categories_in(row),
        "tiers": TierChoice.choices,
        "undoable": undoable,
        "may_forget": _may(request, "forget", row),
        "base_url": request.build_absolute_uri("/").rstrip("/"),
    }
    fragment = getattr(request, "htmx", False)
    return render(request, "memory/_entries.html" if fragment else "memory/namespace.html", context)


def _show_entry(
    request: HttpRequest, row: Entry, form: EditForm, status: int = 200
) -> HttpResponse:
    context = {
        "entry": row,
        "own_actor": principal_of(request).actor,
        "namespace_title": _title(request, row.namespace),
        "form": form,
        "revisions": selectors.revisions_of(row),
        "reads": selectors.reads_of(row),
        "may_write": _may(request, "write", row.namespace),
        "may_forget": _may(request, "forget", row.namespace),
    }
    return render(request, "memory/entry.html", context, status=status)


def _after_forgetting(request: HttpRequest, row: Namespace, change_id: UUID | None) -> HttpResponse:
    if getattr(request, "htmx", False):
        return _show_namespace(request, _again(row), _undoable(request, str(change_id)))
    address = reverse("memory:namespace", args=[row.pk])
    return HttpResponseRedirect(f"{address}?undo={change_id}")


def _undoable(request: HttpRequest, change_id: str) -> Change | None:
    """The change a page offers to undo; a stale or foreign address offers nothing."""
    try:
        change = selectors.change_for(
            principal_of(request), current_team_id(request), UUID(change_id)
        )
    except (ValueError, MemoryFault):
        return None
    return change if change.undone_at is None else None


def _title(request: HttpRequest, row: Namespace) -> str:
    return naming.named([row], reader_id=principal_of(request).user_id)[0].title


def _entry(request: HttpRequest, entry_id: UUID) -> Entry:
    return selectors.entry_for(principal_of(request), current_team_id(request), entry_id)


def _again(row: Namespace) -> Namespace:
    row.refresh_from_db()
    return row


def _caller(request: HttpRequest) -> MemoryCaller:
    return MemoryCaller(principal=principal_of(request), team_id=current_team_id(request))


def _may(request: HttpRequest, verb: Verb, row: Namespace) -> bool:
    place = Place(row.team_id, parse_namespace(row.text), row)
    return permissions.may(principal_of(request), verb, place)


def _reason(request: HttpRequest) -> str:
    return request.POST.get("reason", "")[:500]
