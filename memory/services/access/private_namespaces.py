"""Private namespaces of a team, for members who may use emergency access: their existence, never their content."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, OuterRef, Subquery

from accounts import access
from accounts.tenancy import reading, tenant
from memory.core.scope_kinds import SeenBy
from memory.core.scopes import list_words_seen_by
from memory.models import Entry, Namespace
from memory.models.emergency_access import EMERGENCY_VERB
from memory.services.gateway.caller import MemoryCaller, select_visible


MAX_SUGGESTIONS = 500  # people
PRIVATE_KINDS = (SeenBy.PERSON, SeenBy.PARTICIPANTS)


@dataclass(frozen=True, slots=True)
class HiddenCounts:
    """The numbers of people and conversations whose private memory the caller can't see."""

    people: int
    conversations: int


def count_hidden(caller: MemoryCaller) -> HiddenCounts | None:
    """Return the numbers of hidden namespaces, or None for a caller without permission for emergency access."""
    principal = caller.principal
    if principal.kind != "user" or not access.can(principal, EMERGENCY_VERB, caller.team_id):
        return None
    with reading([caller.team_id]):
        namespaces = _list_hidden_namespaces(caller).filter(entry_count__gt=0).order_by()
        counts = dict(namespaces.values_list("scope").annotate(Count("id")))
    return HiddenCounts(
        *(sum(counts.get(scope, 0) for scope in list_words_seen_by(kind)) for kind in PRIVATE_KINDS)
    )


def list_hidden_people(caller: MemoryCaller) -> list[Namespace]:
    """Return the personal namespaces that are hidden from the caller, without conversations: titles show their text.

    Those written last come first; ``written_at`` is the time of the last write.
    """
    access.check(caller.principal, EMERGENCY_VERB, caller.team_id)
    with tenant([caller.team_id]):
        entries = Entry.objects.unscoped().filter(namespace_id=OuterRef("pk"))
        newest = entries.order_by("-updated_at").values("updated_at")[:1]
        personal = (
            _list_hidden_namespaces(caller)
            .filter(scope__in=list_words_seen_by(SeenBy.PERSON))
            .annotate(written_at=Subquery(newest))
        )
        return list(
            personal.order_by(F("written_at").desc(nulls_last=True), "text")[:MAX_SUGGESTIONS]
        )


def _list_hidden_namespaces(caller: MemoryCaller) -> Any:  # Any: the manager's queryset is untyped
    private = [word for kind in PRIVATE_KINDS for word in list_words_seen_by(kind)]
    namespaces = Namespace.objects.unscoped().filter(team_id=caller.team_id, scope__in=private)
    visible = select_visible(caller, Namespace)
    return namespaces.exclude(pk__in=visible.values("pk"))
