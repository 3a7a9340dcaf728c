"""Knowledge pages from files: tried, and nothing changes; or brought in."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from memory import services
from memory.core.errors import InvalidInput, QuotaExceeded
from memory.services.knowledge.knowledge_bases import shelf_named
from memory.services.transfer.page_archive import MAX_ARCHIVE_BYTES, PageImport
from memory.views.request_context import caller_of, reason_of


Said = tuple[int, str]  # how much it matters, as Django's messages have it, and the words

NAMED: Final = 5  # files


@login_required
@require_POST
def bring_in(request: HttpRequest) -> HttpResponse:
    """Markdown files, or a ZIP of them; a page that is there becomes what its file says. What was only tried is told
    beside the form, where the files stay chosen."""
    place, is_tried = request.POST.get("namespace", ""), "dry_run" in request.GET
    said = _brought(request, place, is_tried)
    if is_tried and getattr(request, "htmx", False):
        kinds = [(_KINDS[level], words) for level, words in said]
        return render(request, "memory/knowledge/_import_preview.html", {"said": kinds})
    for level, words in said:
        messages.add_message(request, level, words)
    return HttpResponseRedirect(_shelf_of(request, place) or reverse("memory:knowledge"))


_KINDS: Final = {messages.SUCCESS: "ok", messages.WARNING: "warn", messages.ERROR: "bad"}

# Of what was tried, and of what was done.
_SKIPPED: Final[dict[bool, Promise]] = {
    True: gettext_lazy("To be skipped (not Markdown): %(names)s."),
    False: gettext_lazy("Skipped (not Markdown): %(names)s."),
}
_HELD: Final[dict[bool, Promise]] = {
    True: gettext_lazy("To be held for review (possible prompt injection): %(names)s."),
    False: gettext_lazy("Held for review (possible prompt injection): %(names)s."),
}
_REDACTED: Final[dict[bool, Promise]] = {
    True: gettext_lazy("Secrets found, which will be removed: %(names)s."),
    False: gettext_lazy("Secrets found and removed: %(names)s."),
}


def _brought(request: HttpRequest, place: str, is_tried: bool) -> list[Said]:
    try:
        archive, single = _read(request.FILES.getlist("files"))
        done = services.import_pages(
            caller_of(request),
            namespace=place,
            archive=archive,
            files=single,
            reason=reason_of(request),
            dry_run=is_tried,
        )
    except (InvalidInput, QuotaExceeded) as fault:
        return [(messages.ERROR, str(fault))]
    said = (
        _tried(done) if is_tried else _("Pages imported: %(number)d.") % {"number": len(done.pages)}
    )
    if done.skipped:
        said += " " + _named(_SKIPPED[is_tried], done.skipped)
    return [(messages.SUCCESS, said), *_caught(done, is_tried)]


def _tried(done: PageImport) -> str:
    new = sum(one.revision == 1 for one in done.pages)
    return _(
        "Preview only, nothing was changed. New pages: %(new)d. Existing pages to be updated: %(known)d."
    ) % {"new": new, "known": len(done.pages) - new}


def _caught(done: PageImport, is_tried: bool) -> Iterator[Said]:
    for words, caught in ((_HELD, done.held_findings), (_REDACTED, done.redacted_findings)):
        if caught:
            yield messages.WARNING, _named(words[is_tried], [one.file for one in caught])


def _named(words: Promise, names: Sequence[str]) -> str:
    return str(words) % {"names": ", ".join(names[:NAMED])}


def _read(
    files: Sequence[Any],  # Any: Django's UploadedFile is generic to the checker alone
) -> tuple[bytes | None, dict[str, bytes]]:
    """One archive at most, and single files by name; too much is refused before it is read."""
    if sum(one.size or 0 for one in files) > MAX_ARCHIVE_BYTES:
        raise InvalidInput(_("The files are larger than 20 MB in total."))
    archives = [one for one in files if (one.name or "").lower().endswith(".zip")]
    if len(archives) > 1:
        raise InvalidInput(_("Only one archive at a time."))
    single = {one.name or "page.md": one.read() for one in files if one not in archives}
    return (archives[0].read() if archives else None), single


def _shelf_of(request: HttpRequest, place: str) -> str:
    row = shelf_named(caller_of(request), place)
    return reverse("memory:knowledge_shelf", args=[row.pk]) if row else ""
