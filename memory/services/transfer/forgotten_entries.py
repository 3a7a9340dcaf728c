"""What an import must not bring back: entries that were forgotten here, and the memory of people who were erased."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import F, Q
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from memory.core.scopes import parse_namespace
from memory.models import Change, Entry, Erasure, Namespace, Revision
from memory.models.entries import Operation
from memory.models.jobs import JobStatus
from memory.providers.postgres.importing import derive_id
from memory.services.transfer.file_format import EntryLine
from memory.services.transfer.import_gate import ImportUnit


class ForgottenEntries:
    """The forgotten entries that some units of a file would bring back, in a locked namespace.

    A unit's entry is known by its id, and in this case stays forgotten whatever the file says. An entry with the same
    key is another one if the file's was changed after the forgetting.
    """

    def __init__(self, namespace: Namespace, units: Sequence[ImportUnit]) -> None:
        self._namespace = namespace
        self._erased_at = find_erasure(namespace)
        self._times_by_id: dict[UUID, datetime] = {}
        self._times_by_key: dict[str, datetime] = {}
        lines = [unit.line for unit in units if unit.line.forgotten_at is None]
        for entry in self._load(lines):
            if entry.deleted_at is not None:
                self._times_by_id[entry.pk] = entry.deleted_at
                latest = self._times_by_key.get(entry.key, entry.deleted_at)
                self._times_by_key[entry.key] = max(latest, entry.deleted_at)

    def explain(self, line: EntryLine) -> str:
        """Return why the line isn't imported, or an empty text if nothing here was forgotten that it would bring back."""
        if self._erased_at is not None and line.updated_at <= self._erased_at:
            return _("The person was erased here on %(date)s.") % {"date": _format(self._erased_at)}
        forgotten_at = self._find_time(line)
        if forgotten_at is None:
            return ""
        return _("Forgotten here on %(date)s.") % {"date": _format(forgotten_at)}

    def _find_time(self, line: EntryLine) -> datetime | None:
        for entry_id in (line.id, derive_id(self._namespace, line.id)):
            if entry_id in self._times_by_id:
                return self._times_by_id[entry_id]
        forgotten_at = self._times_by_key.get(line.key)
        return forgotten_at if forgotten_at and line.updated_at <= forgotten_at else None

    def _load(self, lines: Sequence[EntryLine]) -> list[Entry]:
        """Return the entries that somebody forgot, without expired ones and those that left with an undone import."""
        derived_ids = {derive_id(self._namespace, line.id) for line in lines}
        condition = Q(pk__in={line.id for line in lines} | derived_ids)
        condition |= Q(key__in={line.key for line in lines})
        rows = Entry.objects.unscoped().filter(condition, namespace=self._namespace)
        entries = list(rows.exclude(deleted_at=None).order_by("id"))
        if not entries:
            return []
        revisions = Revision.objects.unscoped().filter(entry__in=entries)
        last = revisions.filter(number=F("entry__revision"), operation=Operation.FORGET)
        forgotten_ids = set(last.values_list("entry_id", flat=True))
        before = revisions.filter(number=F("entry__revision") - 1)
        change_ids = dict(before.values_list("entry_id", "change_id"))
        undone_ids = _find_undone(set(change_ids.values()))
        return [
            entry
            for entry in entries
            if entry.pk in forgotten_ids
            and not (entry.pk in derived_ids and change_ids.get(entry.pk) in undone_ids)
        ]


def find_erasure(namespace: Namespace) -> datetime | None:
    """Return when the person whose memory this is was erased last, or None."""
    parsed = parse_namespace(namespace.text)
    if parsed.scope != "user":
        return None
    erasures = Erasure.objects.unscoped().filter(
        team_id=namespace.team_id, subject=parsed.ids[0], status=JobStatus.DONE
    )
    return erasures.order_by("-finished_at").values_list("finished_at", flat=True).first()


def _find_undone(change_ids: set[UUID]) -> set[UUID]:
    changes = Change.objects.unscoped().filter(pk__in=change_ids).exclude(undone_at=None)
    return set(changes.values_list("pk", flat=True))


def _format(moment: datetime) -> str:
    return date_format(timezone.localtime(moment), "DATE_FORMAT")
