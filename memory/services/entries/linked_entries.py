"""Read the entries that an entry is linked with, and its revisions. The caller has checked the permission."""

from collections.abc import Sequence

from django.db.models import F, Q

from memory.core.identifiers import is_uuid
from memory.models import Entry, Revision


MAX_SUPERSEDING = 20


def list_linked_entries(entry: Entry, keys: Sequence[str], ids: Sequence[str]) -> Sequence[Entry]:
    """Return the namespace's entries with these keys or ids, to which ``entry`` links: forgotten ones last."""
    valid_ids = [entry_id for entry_id in ids if is_uuid(entry_id)]
    siblings = Entry.objects.unscoped().filter(namespace_id=entry.namespace_id)
    linked = siblings.filter(Q(key__in=list(keys)) | Q(pk__in=valid_ids))
    return list(linked.order_by(F("deleted_at").desc(nulls_first=True), "-updated_at", "-id"))


def list_superseding_entries(entry: Entry) -> Sequence[Entry]:
    """Return the entries that replaced the entry or were merged from it, according to their metadata."""
    siblings = Entry.objects.unscoped().filter(namespace_id=entry.namespace_id, deleted_at=None)
    is_replacement = Q(metadata__contains={"supersedes": entry.key})
    is_merged = Q(metadata__contains={"merged_from": [{"id": str(entry.pk)}]})
    # This condition uses the partial index of superseding entries: a namespace may have a hundred thousand others.
    superseding = siblings.filter(metadata__has_any_keys=["merged_from", "supersedes"])
    query = superseding.filter(is_replacement | is_merged).exclude(pk=entry.pk)
    return list(query.order_by("-updated_at", "-id")[:MAX_SUPERSEDING])


def list_revisions_before(entry: Entry, number: int | None, limit: int) -> Sequence[Revision]:
    """Return the newest revisions, before ``number`` if it is set: ``limit`` of them, and one more if there is one."""
    revisions = Revision.objects.unscoped().filter(entry=entry)
    if number is not None:
        revisions = revisions.filter(number__lt=number)
    return list(revisions.order_by("-number")[: limit + 1])
