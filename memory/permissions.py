"""Who may do what with a namespace. Entries inherit; there is never a grant per entry.

| scope | who |
|---|---|
| person | that person's account; a test person's the member who plays them; an outside person's a key that names them |
| conversation | who takes part in it: accounts, and the key that leads it |
| run | the run itself, nobody at a door |
| application, workflow | as with workflows: viewers look, editors write and forget |

A key with ``memory:serve`` is another installation whose memory this team is: conversations and runs
nobody here takes part in are its own, because it made them or is about to.

Whatever was shared explicitly (``accounts.access.grant``) comes on top. No role opens what is
private to a person: an admin finds nothing there either. A plug-in's scope says which of these rows
is its own (``SeenBy``); one that says nothing is open to runs alone.

A namespace not made yet is nobody's to fill but of those whose conversation it is: what somebody
else put there would be read in their next prompt. Whose a conversation is, another app knows and
says here (``asks_who_takes_part``).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from accounts import access
from accounts.models import User
from accounts.personas import key_of, played_by
from accounts.principals import Principal, key_id_of
from memory.core.scope_kinds import SeenBy
from memory.core.scopes import ParsedNamespace
from memory.models import Namespace


Verb = Literal["view", "write", "forget", "share"]

SCOPE_OF_VERB: dict[Verb, str] = {
    "view": "memory:read",
    "write": "memory:write",
    "forget": "memory:write",
    "share": "memory:write",
}


# A team and the first id of a namespace → the accounts and keys whose it is.
WhoTakesPart = Callable[[UUID, str], frozenset[UUID]]


@dataclass(frozen=True, slots=True)
class Place:
    """A namespace as somebody named it, and its row if there is one."""

    team_id: UUID
    named: ParsedNamespace
    row: Namespace | None


def asks_who_takes_part(scope: str, resolver: WhoTakesPart) -> None:
    """``resolver`` knows the conversations a scope's namespaces are of; none: an empty set."""
    _RESOLVERS[scope] = resolver


def taking_part(place: Place) -> frozenset[UUID]:
    """Those whose runs reached it, and those whose conversation it is before any did."""
    known = frozenset(place.row.participants if place.row else ())
    resolver = _RESOLVERS.get(place.named.scope)
    return known | resolver(place.team_id, place.named.ids[0]) if resolver else known


def taker_of(principal: Principal) -> UUID | None:
    """Who acts, as ``participants`` says it: an account, or a key."""
    return principal.user_id or key_id_of(principal)


def may(principal: Principal, verb: Verb, place: Place) -> bool:
    if principal.role_in(place.team_id) is None or not principal.allows(SCOPE_OF_VERB[verb]):
        return False
    if place.named.seen_by is SeenBy.TEAM:
        return access.can(principal, f"memory.{verb}", place.row or place.team_id)
    return (
        _is_private_to(principal, place)
        or is_shared_with(principal, verb, place)
        or _is_guests_own(principal, place)
    )


def is_their_own(principal: Principal, place: Place) -> bool:
    """Whether this is the very one whose it is; what was shared with them is not theirs."""
    if principal.role_in(place.team_id) is None or not principal.allows("memory:write"):
        return False
    return place.named.seen_by is not SeenBy.TEAM and _is_private_to(principal, place)


def guest_of(principal: Principal) -> UUID | None:
    """The key of another installation whose memory is kept here; never a run it started."""
    if principal.kind != "key" or not principal.allows("memory:serve"):
        return None
    return key_id_of(principal)


def is_shared_with(principal: Principal, verb: Verb, place: Place) -> bool:
    """An explicit grant on this very namespace."""
    if place.row is None:
        return False
    return place.row.pk in access.granted_ids(principal, f"memory.{verb}", Namespace)


def is_somebody_elses(principal: Principal, place: Place) -> bool:
    """A person's namespace that belongs to an account or a member other than the one who acts.

    Asked even of runs, which say themselves whom they are for: an outside id that happens to be a
    member's account must not open that member's memory.
    """
    if place.named.seen_by is not SeenBy.PERSON:
        return False
    if principal.user_id is not None and place.named.ids[0] == str(principal.user_id):
        return False  # their own, which needs no look at the accounts
    key = key_of(place.named.ids[0])
    if key is not None:
        return key != key_id_of(principal)
    owner = played_by(place.named.ids[0]) or account_named(place.named)
    if owner is not None:
        return principal.user_id != owner
    persona_of = place.row.persona_of_id if place.row else None
    return persona_of is not None and principal.user_id != persona_of


def account_named(named: ParsedNamespace) -> UUID | None:
    """The account a person's namespace means, if it is one's id rather than an outside id."""
    if named.seen_by is not SeenBy.PERSON:
        return None
    try:
        account = UUID(named.ids[0])
    except ValueError:
        return None
    return account if User.objects.filter(pk=account).exists() else None


_RESOLVERS: dict[str, WhoTakesPart] = {}


def _is_private_to(principal: Principal, place: Place) -> bool:
    if place.named.seen_by is SeenBy.RUN:
        return False
    if place.named.seen_by is SeenBy.PERSON:
        return _is_person_of(principal, place)
    return taker_of(principal) in taking_part(place)


def _is_guests_own(principal: Principal, place: Place) -> bool:
    guest = guest_of(principal)
    if guest is None or place.named.seen_by not in (SeenBy.PARTICIPANTS, SeenBy.RUN):
        return False
    if place.row is not None:
        return guest in place.row.participants
    return not taking_part(place)


def _is_person_of(principal: Principal, place: Place) -> bool:
    if is_somebody_elses(principal, place):
        return False
    if principal.user_id is None:
        return True
    plays = played_by(place.named.ids[0]) == principal.user_id
    return plays or account_named(place.named) == principal.user_id
