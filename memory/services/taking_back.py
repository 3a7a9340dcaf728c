"""Take back one act over entries of a namespace: each as it was before, or nothing at all."""

from uuid import UUID

from memory.core.errors import InvalidInput
from memory.logic.applying import Outdated
from memory.logic.planning import Problem
from memory.models import Entry, Revision
from memory.models.entries import Operation
from memory.providers.postgres import rows
from memory.services.door import Door
from memory.services.restore import put_back


_AWAY = frozenset({Operation.FORGET, Operation.EXPIRE})


def take_back(door: Door, change_id: UUID, reason: str) -> int:
    """How many entries were put back. ``Outdated`` where somebody changed one of them since.

    What would have ended meanwhile stays away.
    """
    if door.elsewhere is not None:
        raise InvalidInput("change: what is kept elsewhere can't be taken back.")
    namespace = door.claim()
    rows.expire(namespace, door.now)
    made = Revision.objects.unscoped().filter(entry__namespace=namespace, change_id=change_id)
    first: dict[UUID, int] = {}
    last: dict[UUID, int] = {}
    for entry_id, number in made.order_by("number").values_list("entry_id", "number"):
        first.setdefault(entry_id, number)
        last[entry_id] = number
    entries = list(Entry.objects.unscoped().filter(pk__in=first).order_by("id"))
    for entry in entries:
        if entry.revision != last[entry.pk]:
            raise Outdated(f"{entry.key}: {Problem.CHANGED}")
    # What came goes first, so that what went finds its key and its room again.
    pairs = [(entry, _before(entry, first[entry.pk])) for entry in entries]
    came = [entry for entry, before in pairs if before is None and not entry.is_forgotten]
    rows.forget(namespace, came, door.act(Operation.FORGET, reason))
    back = [(entry, before) for entry, before in pairs if before is not None]
    for entry, before in back:
        ended = before.expires_at is not None and before.expires_at <= door.now
        if not ended:
            put_back(door, namespace, entry, before, reason)
        elif not entry.is_forgotten:
            rows.forget(namespace, [entry], door.act(Operation.FORGET, reason))
    return len(came) + len(back)


def _before(entry: Entry, number: int) -> Revision | None:
    """What the entry was; nothing where it was not there."""
    found = Revision.objects.unscoped().filter(entry=entry, number=number - 1).first()
    return None if found is None or found.operation in _AWAY else found
