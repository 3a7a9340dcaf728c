"""Revert a change of entries in a namespace: all of them get their previous state, or none does."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from django.utils.translation import gettext as _

from memory import permissions
from memory.core.errors import AccessDenied, InvalidInput
from memory.core.recall.selection import is_expired
from memory.logic.review.proposal_execution import OutdatedProposal
from memory.logic.review.proposal_plans import PlanProblem
from memory.models import Entry, Namespace, Revision
from memory.models.entries import Operation
from memory.providers.postgres import rows
from memory.providers.postgres.snapshots import REMOVING_OPERATIONS
from memory.services.gateway.namespace_access import NamespaceAccess
from memory.services.history.restore import restore_revisions


UNDONE = "Undone"  # the reason of a change that undoes another one; pages translate it


def revert_change(access: NamespaceAccess, change_id: UUID, reason: str) -> int:
    """Revert the change and return the number of reverted entries.

    Raise OutdatedProposal if one of its entries has been changed since, other than by expiry. An entry whose previous
    state would have expired by now is forgotten, not restored.
    """
    if access.external is not None:
        raise InvalidInput("change: memory of an external provider can't be restored.")
    namespace = access.claim()
    rows.expire(namespace, access.now)
    revisions = Revision.objects.unscoped().filter(entry__namespace=namespace, change_id=change_id)
    first_numbers: dict[UUID, int] = {}
    last_numbers: dict[UUID, int] = {}
    for entry_id, number in revisions.order_by("number").values_list("entry_id", "number"):
        first_numbers.setdefault(entry_id, number)
        last_numbers[entry_id] = number
    entries = list(Entry.objects.unscoped().filter(pk__in=first_numbers).order_by("id"))
    ended_since = _list_ended_since(entries, last_numbers)
    # Removals come first, so that restored entries find their keys free and enough room.
    previous = _load_previous_revisions(first_numbers)
    added = [entry for entry in entries if entry.pk not in previous and not entry.is_forgotten]
    changed = [entry for entry in entries if entry.pk in previous]
    expired = [entry for entry in changed if is_expired(previous[entry.pk], access.now)]
    removals = [*added, *(entry for entry in expired if not entry.is_forgotten)]
    if removals and not can_forget(access):
        raise AccessDenied(
            _("You can write to %(namespace)s but not forget entries in it.")
            % {"namespace": access.text}
        )
    rows.forget(namespace, removals, access.build_context(Operation.FORGET, reason))
    skipped_ids = {entry.pk for entry in expired}
    ended = [entry for entry in ended_since if entry.pk not in skipped_ids]
    skipped_ids |= _find_replaced(namespace, ended)
    pairs = [(entry, previous[entry.pk]) for entry in changed if entry.pk not in skipped_ids]
    restore_revisions(access, namespace, pairs, reason)
    return len(added) + len(expired) + len(pairs)


def can_forget(access: NamespaceAccess) -> bool:
    """Return whether the caller may forget entries of the namespace, which reverting an addition needs."""
    return permissions.is_allowed(access.caller.principal, "forget", access.target)


def _list_ended_since(entries: Sequence[Entry], last_numbers: Mapping[UUID, int]) -> list[Entry]:
    """Return the entries that expired after the change. Raise OutdatedProposal if one has been changed otherwise."""
    changed_since = [entry for entry in entries if entry.revision != last_numbers[entry.pk]]
    if not changed_since:
        return []
    revisions = Revision.objects.unscoped().filter(entry__in=changed_since)
    changes = revisions.exclude(operation=Operation.EXPIRE).order_by("entry_id", "number")
    numbers = changes.values_list("entry_id", "number")
    outdated_ids = {entry_id for entry_id, number in numbers if number > last_numbers[entry_id]}
    for entry in changed_since:
        if entry.pk in outdated_ids:
            raise OutdatedProposal(f"{entry.key}: {PlanProblem.CHANGED}")
    return changed_since


def _find_replaced(namespace: Namespace, ended: Sequence[Entry]) -> set[UUID]:
    """Return the ids of the ended entries that can't be restored because a newer entry has their key."""
    if not ended:
        return set()
    keys = {entry.key for entry in ended}
    living = rows.find_living(namespace).filter(key__in=keys).order_by("key")
    taken_keys = set(living.values_list("key", flat=True))
    return {entry.pk for entry in ended if entry.key in taken_keys}


def _load_previous_revisions(first_numbers: Mapping[UUID, int]) -> dict[UUID, Revision]:
    """Return each entry's revision before the change. Entries that did not exist then are missing."""
    numbers = {number - 1 for number in first_numbers.values()}
    revisions = Revision.objects.unscoped().filter(entry_id__in=first_numbers, number__in=numbers)
    living = revisions.exclude(operation__in=REMOVING_OPERATIONS).order_by("entry_id", "number")
    return {
        revision.entry_id: revision
        for revision in living
        if revision.number == first_numbers[revision.entry_id] - 1
    }
