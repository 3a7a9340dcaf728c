"""The people that a member may erase, suggested while a name is typed.

The owner may erase any person; an admin only people without an account here, who can't request it themselves.
``erase`` checks the same.
"""

from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from django.db.models import Q, Value
from django.db.models.functions import StrIndex, Substr
from django.utils.translation import gettext as _

from accounts.models import Membership, Role, User
from accounts.personas import find_service_account_id
from accounts.tenancy import tenant
from memory.core.errors import NotFound
from memory.core.scope_kinds import SeenBy
from memory.core.scopes import list_words_seen_by, parse_namespace
from memory.models import Namespace
from memory.services.gateway.caller import MemoryCaller, select_visible


MAX_SUGGESTIONS: Final = 20
ADMIN_ROLES: Final = (Role.OWNER, Role.ADMIN)


@dataclass(frozen=True, slots=True)
class ErasablePeople:
    """The members that may be erased, and the namespaces of people who have only an id in memory."""

    members: tuple[User, ...]
    namespaces: tuple[Namespace, ...]


def list_erasable_people(caller: MemoryCaller, *, text: str) -> ErasablePeople:
    """Return the people with this text in their name, email or id.

    A person without any memory is not listed, but can be erased by their full id.
    """
    principal = caller.principal
    role = principal.get_role(caller.team_id)
    if principal.kind != "user" or role not in ADMIN_ROLES:
        raise NotFound(_("Page not found."))
    is_owner, text = role == Role.OWNER, text.strip()
    with tenant([caller.team_id]):
        members = _list_members(caller, text) if is_owner else ()
        return ErasablePeople(members, _list_namespaces(caller, text, is_owner=is_owner))


def _list_members(caller: MemoryCaller, text: str) -> tuple[User, ...]:
    rows = select_visible(caller, Membership)
    has_text = Q(user__email__icontains=text) | Q(user__name__icontains=text)
    matches = rows.filter(has_text).exclude(user=caller.principal.user_id)
    ordered = matches.select_related("user").order_by("user__email", "id")[:MAX_SUGGESTIONS]
    return tuple(row.user for row in ordered)


def _list_namespaces(caller: MemoryCaller, text: str, *, is_owner: bool) -> tuple[Namespace, ...]:
    rows: Any = Namespace.objects.unscoped()  # Any: the manager's queryset is untyped
    rows = rows.filter(team_id=caller.team_id, scope__in=list_words_seen_by(SeenBy.PERSON))
    rows = rows.filter(owner_user=None)  # members are listed by their email
    if not is_owner:
        rows = rows.filter(Q(persona_of=None) | Q(persona_of=caller.principal.user_id))
    rows = rows.alias(subject=Substr("text", StrIndex("text", Value(":")) + 1))
    matches = rows.filter(subject__icontains=text).order_by("text", "id")
    erasable = (
        row
        for row in matches.iterator(MAX_SUGGESTIONS)
        if is_owner or find_service_account_id(parse_namespace(row.text).ids[0]) is None
    )
    return tuple(islice(erasable, MAX_SUGGESTIONS))
