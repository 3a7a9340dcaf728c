"""“What I remember about you”: seen, corrected, forgotten and paused by the one it is about."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import NoReverseMatch, reverse
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
from memory.personal import Remembered, about, own_entry, own_space
from memory.templatetags.memory_emergency_access import load_current_accesses
from memory.views.request_context import caller_of
from memory.views.secret_warnings import secret_said


# Where a fragment stands: a card on this page, or a line under an answer of a chat.
SHAPES: Final = {
    "card": "memory/access/_personal_card.html",
    "line": "memory/access/_personal_entry.html",
}

# How long a pause is, as people choose it; none: until it is resumed.
SPANS: Final[dict[str, tuple[str | Promise, timedelta | None]]] = {
    "hour": (gettext_lazy("1 hour"), timedelta(hours=1)),
    "day": (gettext_lazy("1 day"), timedelta(days=1)),
    "week": (gettext_lazy("1 week"), timedelta(weeks=1)),
    "good": (gettext_lazy("Until I resume it"), None),
}


@dataclass(frozen=True, slots=True)
class Group:
    """What was learnt in one workflow, or in one month."""

    title: str
    remembered: Sequence[Remembered]


@login_required
@require_safe
def page(request: HttpRequest) -> HttpResponse:
    return _show(request)


@login_required
@require_POST
def correct(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    caller = caller_of(request)
    known = own_entry(caller, entry_id=entry_id)
    words, number = request.POST.get("value", "").strip(), request.POST.get("revision", "")
    problem = ""
    if not words:
        problem = _("Enter the correct text, or forget the memory.")
    elif known.is_text and number.isdecimal() and len(number) < 10:
        try:
            services.edit(
                caller,
                entry_id=entry_id,
                if_revision=int(number),
                value=words,
                reason=_("corrected by the user"),
            )
        except AlreadyExists:
            problem = _("This memory was changed in the meantime. This is the current version.")
    else:
        problem = _("This memory can't be corrected here.")
    said = "" if problem else " ".join(filter(None, [_("Corrected."), secret_said(words)]))
    return _answer(request, entry_id, problem=problem, said=said, typed=words if problem else "")


@login_required
@require_POST
def forget(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    caller, change = caller_of(request), None
    if not own_entry(caller, entry_id=entry_id).row.is_forgotten:
        change = services.forget(
            caller, entry_id=entry_id, reason=_("forgotten by the user")
        ).change_id
    if change is not None and not getattr(request, "htmx", False):
        return redirect(_with_undo(change))
    return _answer(request, entry_id, said=_("Forgotten."))


@login_required
@require_POST
def restore(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    caller, problem = caller_of(request), ""
    if own_entry(caller, entry_id=entry_id).row.is_forgotten:
        try:
            services.restore(caller, entry_id=entry_id)
        except AlreadyExists as fault:
            problem = str(fault)
    return _answer(request, entry_id, problem=problem, said=_("Restored."))


@login_required
@require_POST
def forget_all(request: HttpRequest, namespace_id: UUID) -> HttpResponse:
    """Asked first how much that is; done, it can be taken back as one."""
    caller = caller_of(request)
    row = own_space(caller, namespace_id=namespace_id)
    if "sure" not in request.POST:
        page = services.entries(caller, namespace=row.text, limit=1)
        return _show(request, asked=row.pk, asked_count=page.total)
    done = services.clear(caller, namespace=row.text, reason=_("everything forgotten by the user"))
    return redirect(_with_undo(done.change_id, done.count))


@login_required
@require_POST
def undo(request: HttpRequest, change_id: UUID) -> HttpResponse:
    try:
        done = services.undo(caller_of(request), change_id=change_id)
        messages.success(request, _("Restored: %(count)d.") % {"count": done.count})
    except AlreadyExists as fault:
        messages.error(request, str(fault))
    return redirect("memory:about")


@login_required
@require_POST
def pause(request: HttpRequest) -> HttpResponse:
    try:
        services.pause(
            caller_of(request),
            what=request.POST.get("what", "both"),  # type: ignore[arg-type]  # the service looks
            until=_until(request),
        )
    except InvalidInput as wrong:
        return _show(request, wrong=str(wrong), chosen=request.POST, status=422)
    return redirect("memory:about")


@login_required
@require_POST
def resume(request: HttpRequest) -> HttpResponse:
    if services.resume(caller_of(request)):
        messages.success(request, _("Memory resumed."))
    return redirect("memory:about")


def _until(request: HttpRequest) -> datetime | None:
    """A day that was picked ends with it."""
    picked = request.POST.get("day", "")
    span = request.POST.get("span", "good")
    if span == "day_picked":
        day = _day(picked)
        if day is None:
            raise InvalidInput(_("Select the date until which memory is paused."))
        return day
    if span not in SPANS:
        raise InvalidInput(_("Select how long to pause."))
    length = SPANS[span][1]
    return None if length is None else timezone.now() + length


def _day(picked: str) -> datetime | None:
    try:
        day = parse_date(picked)
        return find_midnight(day, later=1) if day else None
    except ValueError:
        return None


def _answer(
    request: HttpRequest, entry_id: UUID, *, problem: str = "", said: str = "", typed: str = ""
) -> HttpResponse:
    """``typed``: what was refused; it stays where it was typed."""
    if not getattr(request, "htmx", False):
        (messages.error if problem else messages.success)(request, problem or said)
        return redirect("memory:about")
    template = SHAPES.get(request.POST.get("shape", ""), SHAPES["card"])
    one = own_entry(caller_of(request), entry_id=entry_id)
    context = {"entry": one, "problem": problem, "typed": typed}
    return render(request, template, context)


def _show(request: HttpRequest, *, status: int = 200, **more: Any) -> HttpResponse:  # Any: context
    text = request.GET.get("q", "")[:200].replace("\x00", "").strip()
    by = "when" if request.GET.get("by") == "when" else "workflow"
    found = about(caller_of(request), text=text)
    context = {
        "about": found,
        "looking": _looking(request),
        "people": [(person, _groups(person.remembered, by)) for person in found.people],
        "text": text,
        "by": by,
        "spans": [(name, label) for name, (label, _span) in SPANS.items()],
        "tomorrow": timezone.localdate() + timedelta(days=1),
        "undoable": _undoable(request),
        "export_url": _url_of("memory:export_me"),
        "has_any": found.total > 0,
        "base_url": request.build_absolute_uri("/").rstrip("/"),
        **more,
    }
    return render(request, "memory/access/personal.html", context, status=status)


def _groups(remembered: Sequence[Remembered], by: str) -> list[Group]:
    made: dict[str, list[Remembered]] = {}
    for one in remembered:
        made.setdefault(_group_of(one, by), []).append(one)
    return [Group(title, rows) for title, rows in made.items()]


def _group_of(one: Remembered, by: str) -> str:
    if by == "when":
        month = timezone.localtime(one.row.updated_at)
        return date_format(month, "YEAR_MONTH_FORMAT")
    if one.told is not None:
        return one.told.workflow
    return _("Added manually") if one.by_hand else _("Other sources")


def _looking(request: HttpRequest) -> list[str]:
    """Those who may look into what is remembered about them at this moment."""
    who = get_principal(request).user_id
    found = [one for one in load_current_accesses(request) if one.is_open() and one.by_id != who]
    return list(dict.fromkeys(str(one.by) for one in found if one.namespace.owner_user_id == who))


def _undoable(request: HttpRequest) -> dict[str, Any] | None:  # Any: an id and a count
    asked = request.GET.get("undo", "")
    try:
        change = UUID(asked)
    except ValueError:
        return None
    count = request.GET.get("count", "")
    return {"change": change, "count": count if count.isdecimal() and len(count) < 7 else ""}


def _with_undo(change: UUID | None, count: int | None = None) -> str:
    """The page with a way back; without a count, of a single memory."""
    counted = "" if count is None else f"&count={count}"
    return f"{reverse('memory:about')}?undo={change or ''}{counted}"


def _url_of(name: str) -> str:
    """Of a page that another part of memory brings; none where it isn't installed."""
    try:
        return reverse(name)
    except NoReverseMatch:
        return ""
