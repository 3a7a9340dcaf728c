"""Whom somebody could erase, for who types a name: nobody who isn't theirs to erase is among them.

The owner may erase everybody, an admin who has no account here and can't ask for it themselves; as ``erase`` checks.
"""

from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Q, Value
from django.db.models.functions import StrIndex, Substr
from django.utils.translation import gettext as _

from accounts.models import Membership, Role, User
from accounts.personas import find_key_id
from accounts.tenancy import tenant
from memory.core.errors import NotFound
from memory.core.scope_kinds import SeenBy
from memory.core.scopes import parse_namespace, words_seen_by
from memory.models import Namespace
from memory.services.gateway.caller import MemoryCaller


MOST_OFFERED: Final = 20
LEADING: Final = (Role.OWNER, Role.ADMIN)


@dataclass(frozen=True, slots=True)
class Erasable:
    """Members by their names and addresses; then those whom memory knows by an id."""

    members: tuple[User, ...]
    others: tuple[Namespace, ...]


def erasable(caller: MemoryCaller, *, typed: str) -> Erasable:
    """Those with ``typed`` in what they are called; who was never remembered can still be named in full."""
    principal = caller.principal
    role = principal.get_role(caller.team_id)
    if principal.kind != "user" or role not in LEADING:
        raise NotFound(_("Page not found."))
    with tenant([caller.team_id]):
        members = _members(caller, typed.strip()) if role == Role.OWNER else ()
        return Erasable(members, _others(caller, typed.strip(), is_owner=role == Role.OWNER))


def _members(caller: MemoryCaller, typed: str) -> tuple[User, ...]:
    rows = Membership.objects.visible_to(caller.principal).filter(team_id=caller.team_id)
    called = Q(user__email__icontains=typed) | Q(user__name__icontains=typed)
    others = rows.filter(called).exclude(user=caller.principal.user_id)
    ordered = others.select_related("user").order_by("user__email", "id")[:MOST_OFFERED]
    return tuple(row.user for row in ordered)


def _others(caller: MemoryCaller, typed: str, *, is_owner: bool) -> tuple[Namespace, ...]:
    rows: Any = Namespace.objects.unscoped()  # Any: the manager's queryset is untyped
    rows = rows.filter(team_id=caller.team_id, scope__in=words_seen_by(SeenBy.PERSON))
    rows = rows.filter(owner_user=None)  # members are named by their address
    if not is_owner:
        rows = rows.filter(Q(persona_of=None) | Q(persona_of=caller.principal.user_id))
    rows = rows.alias(subject=Substr("text", StrIndex("text", Value(":")) + 1))
    found = rows.filter(subject__icontains=typed).order_by("text", "id")
    may = (row for row in found.iterator(MOST_OFFERED) if is_owner or not _is_a_keys(row))
    return tuple(row for row, _nth in zip(may, range(MOST_OFFERED), strict=False))


def _is_a_keys(row: Namespace) -> bool:
    return find_key_id(parse_namespace(row.text).ids[0]) is not None
