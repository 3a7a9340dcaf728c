"""What is private in a team, for those who could look in an emergency: that it is there, never what it is."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Count

from accounts import access
from accounts.tenancy import tenant
from memory.core.scope_kinds import SeenBy
from memory.core.scopes import scope_kinds
from memory.models import Namespace
from memory.models.emergency_access import VERB
from memory.services.gateway.caller import MemoryCaller


MOST_OFFERED = 500  # people to look for by name


@dataclass(frozen=True, slots=True)
class Hidden:
    """What is private in the team and not the asker's: of how many people, and how many conversations."""

    people: int
    conversations: int


def hidden_from(caller: MemoryCaller) -> Hidden | None:
    """None for who could not look in an emergency: how many there are is nothing to them."""
    principal = caller.principal
    if principal.kind != "user" or not access.can(principal, VERB, caller.team_id):
        return None
    with tenant([caller.team_id]):
        found = _others_own(caller).filter(entry_count__gt=0).order_by()
        counted = dict(found.values_list("scope").annotate(Count("id")))
    scopes = _private_scopes()
    by_kind = {kind: sum(counted.get(one, 0) for one in scopes[kind]) for kind in scopes}
    return Hidden(by_kind[SeenBy.PERSON], by_kind[SeenBy.PARTICIPANTS])


def people_remembered(caller: MemoryCaller) -> list[Namespace]:
    """Whom one can look for by name; what conversations began with is nobody's to offer."""
    access.check(caller.principal, VERB, caller.team_id)
    with tenant([caller.team_id]):
        found = _others_own(caller).filter(scope__in=_private_scopes()[SeenBy.PERSON])
        return list(found.order_by("text")[:MOST_OFFERED])


def _others_own(caller: MemoryCaller) -> Any:  # Any: the manager's queryset is untyped
    private = [word for words in _private_scopes().values() for word in words]
    rows_ = Namespace.objects.unscoped().filter(team_id=caller.team_id, scope__in=private)
    seen = Namespace.objects.visible_to(caller.principal).filter(team_id=caller.team_id)
    return rows_.exclude(pk__in=seen.values("pk"))


def _private_scopes() -> dict[SeenBy, list[str]]:
    return {
        kind: [one.word for one in scope_kinds() if one.seen_by is kind]
        for kind in (SeenBy.PERSON, SeenBy.PARTICIPANTS)
    }
