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
private to a person: an admin finds nothing there either, unless by emergency access (``EmergencyAccess``):
looking, for a while, and its person is told. A plug-in's scope says which of these rows is its own
(``SeenBy``); one that says nothing is open to runs alone.

``reasons`` is the one rule: ``may`` asks whether there is one, "who can see this, and why" says them.

A namespace not made yet is nobody's to fill but of those whose conversation it is: what somebody
else put there would be read in their next prompt. Whose a conversation is, another app knows and
says here (``asks_who_takes_part``).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Literal
from uuid import UUID

from django.utils.translation import gettext as _

from accounts import access, audit
from accounts.models import User
from accounts.personas import find_key_id, find_player
from accounts.principals import Principal, get_key_id
from accounts.roles import VERBS
from memory.core.errors import NotFound
from memory.core.scope_kinds import SeenBy
from memory.core.scopes import ParsedNamespace, parse_namespace
from memory.models import EmergencyAccess, Namespace
from memory.models.emergency_access import find_open_emergency_access


Verb = Literal["view", "write", "forget", "share"]

SCOPE_OF_VERB: dict[Verb, str] = {
    "view": "memory:read",
    "write": "memory:write",
    "forget": "memory:write",
    "share": "memory:write",
}


class Why(StrEnum):
    """What lets somebody in; the first that holds comes first."""

    ROLE = "role"  # their role in the team, or the key's scope
    OWN = "own"  # it is about themselves
    PLAYS = "plays"  # about a test person they play
    TAKES_PART = "takes_part"  # in the conversation
    NAMES = "names"  # a programme that names an outside person
    GRANT = "grant"  # it was shared with them
    GUEST = "guest"  # another installation whose memory this is
    EMERGENCY_ACCESS = "emergency_access"  # for a while; the person is told


# A team and the first id of a namespace → the accounts and keys whose it is.
WhoTakesPart = Callable[[UUID, str], frozenset[UUID]]


@dataclass(frozen=True, slots=True)
class Place:
    """A namespace as somebody named it, and its row if there is one."""

    team_id: UUID
    named: ParsedNamespace
    row: Namespace | None


def place_of(row: Namespace) -> Place:
    return Place(row.team_id, parse_namespace(row.text), row)


class Facts:
    """What the rules ask the tables about one place: each once, and only when it comes to it."""

    def __init__(self, place: Place) -> None:
        self.place = place

    @cached_property
    def account(self) -> UUID | None:
        return account_named(self.place.named)

    @cached_property
    def takers(self) -> frozenset[UUID]:
        return taking_part(self.place)

    def is_granted(self, principal: Principal, verb: Verb) -> bool:
        return is_shared_with(principal, verb, self.place)

    def find_emergency_access(self, principal: Principal) -> EmergencyAccess | None:
        row = self.place.row
        return find_open_emergency_access(principal, row.pk, row.team_id) if row else None


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
    return principal.user_id or get_key_id(principal)


def may(principal: Principal, verb: Verb, place: Place) -> bool:
    return next(reasons(principal, verb, place), None) is not None


def may_take_out(principal: Principal, place: Place) -> bool:
    """Whether they may have it as a file: emergency access lets them look at the page, with who looked in the trail,
    and ends; a file of it would not."""
    first = next(reasons(principal, "view", place), None)
    return first is not None and first is not Why.EMERGENCY_ACCESS


def names_it(principal: Principal, verb: Verb, row: Namespace) -> bool:
    """Whether a programme may by naming it, which no list over many does for it: an outside person's memory."""
    return Why.NAMES in reasons(principal, verb, place_of(row))


def reasons(
    principal: Principal, verb: Verb, place: Place, facts: Facts | None = None
) -> Iterator[Why]:
    """Why the principal may; none: they may not. Each is looked for when it is asked for."""
    known = facts or Facts(place)
    if principal.get_role(place.team_id) is None or not principal.allows(SCOPE_OF_VERB[verb]):
        return
    if place.named.seen_by is SeenBy.TEAM:
        yield from _reasons_of_the_team(principal, verb, known)
        return
    if private := _is_private_to(principal, place, known):
        yield private
    if known.is_granted(principal, verb):
        yield Why.GRANT
    if _is_guests_own(principal, place, known):
        yield Why.GUEST
    if verb == "view" and may_be_looked_into(place) and known.find_emergency_access(principal):
        yield Why.EMERGENCY_ACCESS


def _reasons_of_the_team(principal: Principal, verb: Verb, known: Facts) -> Iterator[Why]:
    if access.can(principal, f"memory.{verb}", known.place.team_id):
        yield Why.ROLE
    for_people_alone = VERBS[f"memory.{verb}"].scope is None
    if (principal.kind == "user" or not for_people_alone) and known.is_granted(principal, verb):
        yield Why.GRANT


def note_look(principal: Principal, place: Place, **detail: str) -> bool:
    """Write down that something was shown which only emergency access opens; whether it was.

    It may have ended since the thing was found: then it isn't shown.
    """
    row, known = place.row, Facts(place)
    if row is None or _is_plainly_theirs(principal, place):
        return False
    reason = next(reasons(principal, "view", place, known), None)
    emergency_access = (
        known.find_emergency_access(principal) if reason is Why.EMERGENCY_ACCESS else None
    )
    if reason is None or (reason is Why.EMERGENCY_ACCESS and emergency_access is None):
        raise NotFound(_("Memory not found."))
    if emergency_access is None:
        return False
    audit.record(
        team_id=place.team_id,
        actor=principal.actor,
        actor_kind=principal.kind,
        action="memory.looked_into",
        subject=place.named.text,
        detail={"emergency_access": str(emergency_access.pk), **detail},
    )
    return True


def looks_in_by(principal: Principal, row: Namespace) -> EmergencyAccess | None:
    """The emergency access through which alone they see it at this moment."""
    place = place_of(row)
    if not may_be_looked_into(place) or _is_plainly_theirs(principal, place):
        return None
    known = Facts(place)
    reason = next(reasons(principal, "view", place, known), None)
    return known.find_emergency_access(principal) if reason is Why.EMERGENCY_ACCESS else None


def may_be_looked_into(place: Place) -> bool:
    """What is private to people, who can be told. A run's notes are nobody's."""
    return place.named.seen_by in (SeenBy.PERSON, SeenBy.PARTICIPANTS)


def is_their_own(principal: Principal, place: Place) -> bool:
    """Whether this is the very one whose it is; what was shared with them is not theirs."""
    if principal.get_role(place.team_id) is None or not principal.allows("memory:write"):
        return False
    if place.named.seen_by is SeenBy.TEAM:
        return False
    return _is_private_to(principal, place, Facts(place)) is not None


def guest_of(principal: Principal) -> UUID | None:
    """The key of another installation whose memory is kept here; never a run it started."""
    if principal.kind != "key" or not principal.allows("memory:serve"):
        return None
    return get_key_id(principal)


def is_shared_with(principal: Principal, verb: Verb, place: Place) -> bool:
    """An explicit grant on this very namespace."""
    if place.row is None:
        return False
    in_person = not is_for_groups(place.named)
    return access.is_granted(principal, f"memory.{verb}", place.row, in_person=in_person)


def is_for_groups(named: ParsedNamespace) -> bool:
    """Whether what was shared with a group holds there.

    Whoever manages members could put themselves into a group, and so look into what is private without emergency
    access: nobody shares that with one any more, and what was shared so before lets nobody in.
    """
    return named.seen_by is SeenBy.TEAM


def is_somebody_elses(principal: Principal, place: Place, facts: Facts | None = None) -> bool:
    """A person's namespace that belongs to an account or a member other than the one who acts.

    Asked even of runs, which say themselves whom they are for: an outside id that happens to be a
    member's account must not open that member's memory.
    """
    if place.named.seen_by is not SeenBy.PERSON:
        return False
    if principal.user_id is not None and place.named.ids[0] == str(principal.user_id):
        return False  # their own, which needs no look at the accounts
    key = find_key_id(place.named.ids[0])
    if key is not None:
        return key != get_key_id(principal)
    owner = find_player(place.named.ids[0]) or (facts or Facts(place)).account
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


def _is_private_to(principal: Principal, place: Place, known: Facts) -> Why | None:
    if place.named.seen_by is SeenBy.RUN:
        return None
    if place.named.seen_by is SeenBy.PERSON:
        return _is_person_of(principal, place, known)
    return Why.TAKES_PART if taker_of(principal) in known.takers else None


def _is_guests_own(principal: Principal, place: Place, known: Facts) -> bool:
    guest = guest_of(principal)
    if guest is None or place.named.seen_by not in (SeenBy.PARTICIPANTS, SeenBy.RUN):
        return False
    if place.row is not None:
        return guest in place.row.participants
    return not known.takers


def _is_person_of(principal: Principal, place: Place, known: Facts) -> Why | None:
    if is_somebody_elses(principal, place, known):
        return None
    if principal.user_id is None:
        return Why.OWN if find_key_id(place.named.ids[0]) else Why.NAMES
    if find_player(place.named.ids[0]) == principal.user_id:
        return Why.PLAYS
    return Why.OWN if known.account == principal.user_id else None


def _is_plainly_theirs(principal: Principal, place: Place) -> bool:
    """Told by the row alone: most pages are opened by whose they are, and pay nothing for this."""
    row, who = place.row, principal.user_id
    if row is None or who is None or not may_be_looked_into(place):
        return True
    return who in (row.owner_user_id, row.persona_of_id, *row.participants)
