"""The page “What I remember about you”, where a person sees, corrects, forgets and pauses the memory about them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from accounts.principals import get_principal
from config.timestamps import find_midnight
from memory import services
from memory.core.errors import AlreadyExists, InvalidInput
from memory.personal import (
    PersonalEntry,
    find_own_entry,
    find_own_namespace,
    load_personal_memory,
    load_profile_of,
)
from memory.templatetags.memory_emergency_access import load_current_accesses
from memory.views.prompt_use import set_prompt_use
from memory.views.request_context import build_caller
from memory.views.secret_warnings import build_secret_warning


# The fragment to render: a card on this page, or a line below an answer in a chat.
TEMPLATES: Final = {
    "card": "memory/access/_personal_card.html",
    "line": "memory/access/_personal_entry.html",
}

# The choices for the length of a pause; None lasts until it is resumed.
PAUSE_LENGTHS: Final[dict[str, tuple[str | Promise, timedelta | None]]] = {
    "hour": (gettext_lazy("1 hour"), timedelta(hours=1)),
    "day": (gettext_lazy("1 day"), timedelta(days=1)),
    "week": (gettext_lazy("1 week"), timedelta(weeks=1)),
    "good": (gettext_lazy("Until I resume it"), None),
}


@dataclass(frozen=True, slots=True)
class Group:
    """The entries learned in one workflow or in one month."""

    title: str
    entries: Sequence[PersonalEntry]


@login_required
@require_safe
def show_personal_memory(request: HttpRequest) -> HttpResponse:
    return _render_page(request)


@login_required
@require_POST
def correct(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    """Replace the entry's text by the sent one, unless the entry changed after the sent revision."""
    caller = build_caller(request)
    entry = find_own_entry(caller, entry_id=entry_id)
    text, number = request.POST.get("value", "").strip(), request.POST.get("revision", "")
    problem = ""
    if not text:
        problem = _("Enter the correct text, or forget the memory.")
    elif entry.is_text and number.isdecimal() and len(number) < 10:
        try:
            reason = _("corrected by the user")
            services.edit(
                caller, entry_id=entry_id, if_revision=int(number), value=text, reason=reason
            )
        except AlreadyExists:
            problem = _("This memory was changed in the meantime. This is the current version.")
    else:
        problem = _("This memory can't be corrected here.")
    message = "" if problem else " ".join([_("Corrected."), build_secret_warning(text)]).strip()
    return _render_entry(
        request, entry_id, problem=problem, message=message, rejected_text=text if problem else ""
    )


@login_required
@require_POST
def choose_use(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    """Set whether an entry enters prompts. The profile shows it, and so does the entry's card."""
    caller = build_caller(request)
    entry = find_own_entry(caller, entry_id=entry_id)
    problem = set_prompt_use(caller, entry.row, request.POST.get("use", ""))
    if not getattr(request, "htmx", False):
        (messages.error if problem else messages.success)(request, problem or _("Saved."))
        return redirect("memory:about")
    context = {
        "entry": find_own_entry(caller, entry_id=entry_id),
        "person": load_profile_of(caller, entry_id=entry_id),
        "use_problem": problem,
        "shape": request.POST.get("shape", ""),
    }
    return render(request, "memory/access/_personal_use.html", context)


@login_required
@require_POST
def forget(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    caller, change = build_caller(request), None
    if not find_own_entry(caller, entry_id=entry_id).row.is_forgotten:
        reason = _("forgotten by the user")
        change = services.forget(caller, entry_id=entry_id, reason=reason).change_id
    if change is not None and not getattr(request, "htmx", False):
        return redirect(_build_undo_url(change))
    return _render_entry(request, entry_id, message=_("Forgotten."))


@login_required
@require_POST
def restore(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    caller, problem = build_caller(request), ""
    if find_own_entry(caller, entry_id=entry_id).row.is_forgotten:
        try:
            services.restore(caller, entry_id=entry_id)
        except AlreadyExists as fault:
            problem = str(fault)
    return _render_entry(request, entry_id, problem=problem, message=_("Restored."))


@login_required
@require_POST
def forget_all(request: HttpRequest, namespace_id: UUID) -> HttpResponse:
    """Ask for confirmation with the number of entries first; then forget them as one change that can be undone."""
    caller = build_caller(request)
    row = find_own_namespace(caller, namespace_id=namespace_id)
    if "sure" not in request.POST:
        page = services.list_entries(caller, namespace=row.text, limit=1)
        return _render_page(request, confirm_id=row.pk, confirm_count=page.total)
    reason = _("everything forgotten by the user")
    result = services.clear(caller, namespace=row.text, reason=reason)
    return redirect(_build_undo_url(result.change_id, result.count))


@login_required
@require_POST
def undo(request: HttpRequest, change_id: UUID) -> HttpResponse:
    try:
        result = services.undo(build_caller(request), change_id=change_id)
        messages.success(request, _("Restored: %(count)d.") % {"count": result.count})
    except AlreadyExists as fault:
        messages.error(request, str(fault))
    return redirect("memory:about")


@login_required
@require_POST
def pause(request: HttpRequest) -> HttpResponse:
    try:
        services.pause(
            build_caller(request),
            what=request.POST.get("what", "both"),  # type: ignore[arg-type]  # the service looks
            until=_read_pause_end(request),
        )
    except InvalidInput as error:
        return _render_page(request, pause_error=str(error), pause_form=request.POST, status=422)
    return redirect("memory:about")


@login_required
@require_POST
def resume(request: HttpRequest) -> HttpResponse:
    if services.resume(build_caller(request)):
        messages.success(request, _("Memory resumed."))
    return redirect("memory:about")


def _read_pause_end(request: HttpRequest) -> datetime | None:
    """Return the end of the pause, which includes a selected day, or None for a pause without an end."""
    span = request.POST.get("span", "good")
    if span == "day_picked":
        day = _parse_day(request.POST.get("day", ""))
        if day is None:
            raise InvalidInput(_("Select the date until which memory is paused."))
        return day
    if span not in PAUSE_LENGTHS:
        raise InvalidInput(_("Select how long to pause."))
    length = PAUSE_LENGTHS[span][1]
    return None if length is None else timezone.now() + length


def _parse_day(text: str) -> datetime | None:
    try:
        day = parse_date(text)
        return find_midnight(day, days_later=1) if day else None
    except ValueError:
        return None


def _render_entry(
    request: HttpRequest,
    entry_id: UUID,
    *,
    problem: str = "",
    message: str = "",
    rejected_text: str = "",
) -> HttpResponse:
    """Render the entry again, or show its page without HTMX. ``rejected_text`` stays in the form."""
    if not getattr(request, "htmx", False):
        (messages.error if problem else messages.success)(request, problem or message)
        return redirect("memory:about")
    template = TEMPLATES.get(request.POST.get("shape", ""), TEMPLATES["card"])
    entry = find_own_entry(build_caller(request), entry_id=entry_id)
    context = {"entry": entry, "problem": problem, "typed": rejected_text}
    return render(request, template, context)


def _render_page(
    request: HttpRequest, *, status: int = 200, **extra_context: Any
) -> HttpResponse:  # Any: what a template takes
    text = request.GET.get("q", "")[:200].replace("\x00", "").strip()
    grouping = "when" if request.GET.get("by") == "when" else "workflow"
    memory = load_personal_memory(build_caller(request), text=text)
    context = {
        "about": memory,
        "viewers": _list_viewers(request),
        "people": [(person, _group_entries(person.entries, grouping)) for person in memory.people],
        "text": text,
        "by": grouping,
        "pause_lengths": [(name, label) for name, (label, _span) in PAUSE_LENGTHS.items()],
        "tomorrow": timezone.localdate() + timedelta(days=1),
        "undoable": _read_undoable_change(request),
        "has_any": memory.total > 0,
        **extra_context,
    }
    return render(request, "memory/access/personal.html", context, status=status)


def _group_entries(entries: Sequence[PersonalEntry], grouping: str) -> list[Group]:
    groups: dict[str, list[PersonalEntry]] = {}
    for entry in entries:
        groups.setdefault(_get_group_title(entry, grouping), []).append(entry)
    return [Group(title, rows) for title, rows in groups.items()]


def _get_group_title(entry: PersonalEntry, grouping: str) -> str:
    if grouping == "when":
        return date_format(timezone.localtime(entry.row.updated_at), "YEAR_MONTH_FORMAT")
    if entry.run is not None:
        return entry.run.workflow
    return _("Added manually") if entry.is_manual else _("Other sources")


def _list_viewers(request: HttpRequest) -> list[str]:
    """Return the names of the people who can view the caller's memory by emergency access now."""
    user_id = get_principal(request).user_id
    viewers = [
        str(row.by)
        for row in load_current_accesses(request)
        if row.is_open() and row.by_id != user_id and row.namespace.owner_user_id == user_id
    ]
    return list(dict.fromkeys(viewers))


def _read_undoable_change(request: HttpRequest) -> dict[str, UUID | str] | None:
    """Return the id of the change in the query, with the number of its entries if it is valid."""
    try:
        change_id = UUID(request.GET.get("undo", ""))
    except ValueError:
        return None
    count = request.GET.get("count", "")
    return {"change": change_id, "count": count if count.isdecimal() and len(count) < 7 else ""}


def _build_undo_url(change_id: UUID | None, count: int | None = None) -> str:
    """Return the URL of the page with an undo button; no ``count`` means a single entry."""
    suffix = "" if count is None else f"&count={count}"
    return f"{reverse('memory:about')}?undo={change_id or ''}{suffix}"
