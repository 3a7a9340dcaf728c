"""What the product notes about the folded messages of a conversation: it counts against no limit of its namespace.

Otherwise a conversation with a narrow limit would be full of notes, and refuse the next message. There are at most fifty
folds and a summary, so that nobody stores much more than the limit under these names.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from django.db.models import Count, Q, Sum

from memory.core.policy import MemorySecurityPolicy
from memory.core.records import StoreParams
from memory.core.scopes import Scope, parse_namespace
from memory.core.values import MAX_STORED_BYTES
from memory.logic.conversations.conversation import KEY_PREFIX, MAX_FOLDS
from memory.models import Entry, Namespace


CATEGORIES: Final = ("fold", "summary")
MAX_NOTES: Final = (
    MAX_FOLDS + 1
)  # while one is added before the oldest goes, the summary has the other place
MAX_BYTES: Final = 1024 * 1024

_IS_NOTE: Final = Q(category__in=CATEGORIES, key__startswith=KEY_PREFIX, deleted_at=None)


def is_note(entry: StoreParams | Entry) -> bool:
    return entry.category in CATEGORIES and entry.key.startswith(KEY_PREFIX)


def exempt_notes(policy: MemorySecurityPolicy, params: StoreParams) -> MemorySecurityPolicy:
    """Return the policy for an entry that the product stores: for a note, one without limits on entries and bytes."""
    if not is_note(params) or parse_namespace(params.namespace).scope != Scope.CONVERSATION:
        return policy
    prefixes = policy.allowed_namespace_prefixes
    return MemorySecurityPolicy(prefixes, max_value_bytes=MAX_STORED_BYTES)


def make_room_for_notes(
    namespace: Namespace, policy: MemorySecurityPolicy, incoming: Iterable[Entry] = ()
) -> MemorySecurityPolicy:
    """Return the policy with as much more room as the notes take that are in the namespace or are about to come back."""
    if namespace.scope != Scope.CONVERSATION:
        return policy
    stored = Entry.objects.unscoped().filter(_IS_NOTE, namespace=namespace)
    totals = stored.aggregate(count=Count("id"), size=Sum("size", default=0))
    notes = [entry for entry in incoming if is_note(entry)]
    count = min(MAX_NOTES, totals["count"] + len(notes))
    size = min(MAX_BYTES, totals["size"] + sum(entry.size for entry in notes))
    max_entries, max_bytes = policy.max_entries_per_namespace, policy.max_namespace_bytes
    return replace(
        policy,
        max_entries_per_namespace=None if max_entries is None else max_entries + count,
        max_namespace_bytes=None if max_bytes is None else max_bytes + size,
    )
