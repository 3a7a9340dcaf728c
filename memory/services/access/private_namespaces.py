"""Private namespaces of a team, for members who may use emergency access: their existence, never their content."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Count

from accounts import access
from accounts.tenancy import tenant
from memory.core.scope_kinds import SeenBy
from memory.core.scopes import list_scope_kinds
from memory.models import Namespace
from memory.models.emergency_access import VERB
from memory.services.gateway.caller import MemoryCaller, select_visible


MAX_SUGGESTIONS = 500  # people


@dataclass(frozen=True, slots=True)
class HiddenCounts:
    """The numbers of people and conversations whose private memory the caller can't see."""

    people: int
    conversations: int


def count_hidden(caller: MemoryCaller) -> HiddenCounts | None:
    """Return the numbers, or None for a caller without permission for emergency access."""
    principal = caller.principal
    if principal.kind != "user" or not access.can(principal, VERB, caller.team_id):
        return None
    with tenant([caller.team_id]):
        namespaces = _list_hidden_namespaces(caller).filter(entry_count__gt=0).order_by()
        count_by_scope = dict(namespaces.values_list("scope").annotate(Count("id")))
    scopes = _list_private_scopes()
    by_kind = {kind: sum(count_by_scope.get(scope, 0) for scope in scopes[kind]) for kind in scopes}
    return HiddenCounts(by_kind[SeenBy.PERSON], by_kind[SeenBy.PARTICIPANTS])


def list_hidden_people(caller: MemoryCaller) -> list[Namespace]:
    """Return the namespaces of people whose memory is hidden from the caller. Conversations are left
    out because their titles show what they began with.
    """
    access.check(caller.principal, VERB, caller.team_id)
    with tenant([caller.team_id]):
        namespaces = _list_hidden_namespaces(caller).filter(
            scope__in=_list_private_scopes()[SeenBy.PERSON]
        )
        return list(namespaces.order_by("text")[:MAX_SUGGESTIONS])


def _list_hidden_namespaces(caller: MemoryCaller) -> Any:  # Any: the manager's queryset is untyped
    private = [word for words in _list_private_scopes().values() for word in words]
    namespaces = Namespace.objects.unscoped().filter(team_id=caller.team_id, scope__in=private)
    visible = select_visible(caller, Namespace)
    return namespaces.exclude(pk__in=visible.values("pk"))


def _list_private_scopes() -> dict[SeenBy, list[str]]:
    return {
        kind: [scope.word for scope in list_scope_kinds() if scope.seen_by is kind]
        for kind in (SeenBy.PERSON, SeenBy.PARTICIPANTS)
    }
