"""Take back one act over entries of a namespace: each as it was before, or nothing at all."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.utils.translation import gettext as _

from memory import permissions
from memory.core.errors import AccessDenied, InvalidInput
from memory.logic.review.proposal_execution import Outdated
from memory.logic.review.proposal_plans import Problem
from memory.models import Entry, Namespace, Revision
from memory.models.entries import Operation
from memory.providers.postgres import rows
from memory.services.gateway.namespace_access import NamespaceAccess
from memory.services.history.restore import put_back_all


AWAY = frozenset({Operation.FORGET, Operation.EXPIRE})


def take_back(access: NamespaceAccess, change_id: UUID, reason: str) -> int:
    """How many entries were put back. ``Outdated`` where somebody changed one of them since.

    What would have ended meanwhile stays away; what came to its end since wasn't changed by anybody.
    """
    if access.external is not None:
        raise InvalidInput("change: memory of an external provider can't be restored.")
    namespace = access.claim()
    rows.expire(namespace, access.now)
    made = Revision.objects.unscoped().filter(entry__namespace=namespace, change_id=change_id)
    first: dict[UUID, int] = {}
    last: dict[UUID, int] = {}
    for entry_id, number in made.order_by("number").values_list("entry_id", "number"):
        first.setdefault(entry_id, number)
        last[entry_id] = number
    entries = list(Entry.objects.unscoped().filter(pk__in=first).order_by("id"))
    ended_since = _ended_since(entries, last)
    # What came goes first, so that what went finds its key and its room again.
    before = _before(first)
    came = [one for one in entries if one.pk not in before and not one.is_forgotten]
    ended = [one for one in entries if one.pk in before and is_over(before[one.pk], access.now)]
    gone = [one for one in ended if not one.is_forgotten]
    if (came or gone) and not may_take_away(access):
        raise AccessDenied(
            _("You can write to %(namespace)s but not forget entries in it.")
            % {"namespace": access.text}
        )
    rows.forget(namespace, [*came, *gone], access.act(Operation.FORGET, reason))
    over = {one.pk for one in ended}
    over |= _replaced(namespace, [one for one in ended_since if one.pk not in over])
    back = [(one, before[one.pk]) for one in entries if one.pk in before and one.pk not in over]
    put_back_all(access, namespace, back, reason)
    return len(came) + len(ended) + len(back)


def may_take_away(access: NamespaceAccess) -> bool:
    """To undo is to write, but what wasn't there before is forgotten by it."""
    return permissions.may(access.caller.principal, "forget", access.place)


def _ended_since(entries: Sequence[Entry], last: Mapping[UUID, int]) -> list[Entry]:
    """Those that only came to their end after the act."""
    later = [one for one in entries if one.revision != last[one.pk]]
    if not later:
        return []
    past = Revision.objects.unscoped().filter(entry__in=later).exclude(operation=Operation.EXPIRE)
    numbers = past.order_by("entry_id", "number").values_list("entry_id", "number")
    changed = {entry_id for entry_id, number in numbers if number > last[entry_id]}
    for entry in later:
        if entry.pk in changed:
            raise Outdated(f"{entry.key}: {Problem.CHANGED}")
    return later


def _replaced(namespace: Namespace, ended: Sequence[Entry]) -> set[UUID]:
    """Whose key somebody gave to another memory since: they stay away."""
    if not ended:
        return set()
    keys = {one.key for one in ended}
    living = rows.living(namespace).filter(key__in=keys).order_by("key")
    taken = set(living.values_list("key", flat=True))
    return {one.pk for one in ended if one.key in taken}


def _before(first: Mapping[UUID, int]) -> dict[UUID, Revision]:
    """What each entry was; those that were not there are left out."""
    numbers = {number - 1 for number in first.values()}
    found = Revision.objects.unscoped().filter(entry_id__in=first, number__in=numbers)
    return {
        one.entry_id: one
        for one in found.exclude(operation__in=AWAY).order_by("entry_id", "number")
        if one.number == first[one.entry_id] - 1
    }


def is_over(revision: Revision, now: datetime) -> bool:
    return revision.expires_at is not None and revision.expires_at <= now
