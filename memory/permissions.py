"""The rules for who may do what with a namespace. Entries inherit them; there is never a grant for a single entry.

| scope | who |
|---|---|
| user | that user's account; a test user's the member who added them; an external user's a key that names them |
| conversation | the accounts that take part in it, and the key that leads it |
| run | the run itself, no person and no key |
| application, workflow | as with workflows: viewers view, editors write and forget |

A visitor of a public page has a memory of their own, which no key can name: only the page acts for them, with a key that has
no secret and changes no memory that others share.

What a program remembers in runs for nobody belongs to its service account. Its keys have it, and whoever manages the
team's keys views it and forgets it: no person's memory is in it.

A key with ``memory:serve`` belongs to another installation that keeps its memory in this team. It owns the
conversations and runs in which no member of this team takes part, because it created them or is about to.

Explicit grants (``accounts.access.grant``) are added to these. No role gives access to a person's private memory:
admins need emergency access (``EmergencyAccess``), which allows viewing for a limited time and notifies the person. A
plug-in's scope says which of these rows applies to it (``SeenBy``); one that says nothing is open to runs only.

``find_reasons`` implements all of these rules: ``is_allowed`` asks whether there is a reason, and the page that
explains access lists the reasons.

A namespace that doesn't exist yet may be filled only by the participants of its conversation: what another person
wrote there would be part of their next prompt. The host knows the participants of a conversation.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Literal
from uuid import UUID

from django.utils.translation import gettext as _

from accounts import access, audit
from accounts.models import User
from accounts.personas import (
    find_player,
    find_service_account_id,
    is_service_subject,
    is_visitor_subject,
)
from accounts.principals import Principal, acts_for_page, get_service_account_id, get_visitor
from accounts.roles import VERBS
from memory.core.errors import NotFound
from memory.core.scope_kinds import SeenBy
from memory.core.scopes import ParsedNamespace, parse_namespace
from memory.host import get_host
from memory.models import EmergencyAccess, Namespace
from memory.models.emergency_access import find_open_emergency_access


Verb = Literal["view", "write", "forget", "share"]

SCOPE_OF_VERB: dict[Verb, str] = {
    "view": "memory:read",
    "write": "memory:write",
    "forget": "memory:write",
    "share": "memory:write",
}


class AccessReason(StrEnum):
    """The reasons why a principal has access, in the order in which they are checked."""

    ROLE = "role"  # by their role in the team, or the key's scope
    OWN = "own"  # the memory is about themselves
    PLAYS = "plays"  # the memory is about a test user whom they added
    TAKES_PART = "takes_part"  # participant in the conversation
    NAMES = "names"  # an API key that names an external user
    MANAGES = "manages"  # the memory is a program's, and they manage the team's keys
    GRANT = "grant"  # an explicit grant
    GUEST = "guest"  # a key of another installation that keeps its memory here
    EMERGENCY_ACCESS = "emergency_access"  # for a while, and the person is notified


@dataclass(frozen=True, slots=True)
class NamespaceTarget:
    """The namespace of a request, parsed, with its row if there is one."""

    team_id: UUID
    parsed: ParsedNamespace
    row: Namespace | None


def build_target(row: Namespace) -> NamespaceTarget:
    return NamespaceTarget(row.team_id, parse_namespace(row.text), row)


class AccessFacts:
    """The facts about one namespace that the rules need, each read at most once, when it is needed."""

    def __init__(self, target: NamespaceTarget) -> None:
        self.target = target

    @cached_property
    def account_id(self) -> UUID | None:
        return find_account_id(self.target.parsed)

    @cached_property
    def participants(self) -> frozenset[UUID]:
        return find_participants(self.target)

    def is_granted(self, principal: Principal, verb: Verb) -> bool:
        return is_shared_with(principal, verb, self.target)

    def find_emergency_access(self, principal: Principal) -> EmergencyAccess | None:
        row = self.target.row
        return find_open_emergency_access(principal, row) if row else None


def find_participants(target: NamespaceTarget) -> frozenset[UUID]:
    """Return the participants that the namespace's row has, and those that the host names even before the first run."""
    participants = frozenset(target.row.participants if target.row else ())
    scope, key = target.parsed.scope, target.parsed.ids[0]
    return participants | get_host().list_participants(target.team_id, scope, key)


def get_participant_id(principal: Principal) -> UUID | None:
    """Return the id under which ``participants`` lists the principal: a member's or a service account's."""
    return principal.user_id or get_service_account_id(principal)


def is_allowed(
    principal: Principal, verb: Verb, target: NamespaceTarget, facts: AccessFacts | None = None
) -> bool:
    """Return whether the principal may do this. Emergency access counts for viewing."""
    return next(find_reasons(principal, verb, target, facts), None) is not None


def can_export(principal: Principal, target: NamespaceTarget) -> bool:
    """Return whether the principal may download the namespace as a file.

    Emergency access isn't enough: it ends and every read under it is in the audit log, while a file would stay.
    """
    reason = next(find_reasons(principal, "view", target), None)
    return reason is not None and reason is not AccessReason.EMERGENCY_ACCESS


def is_allowed_by_name(principal: Principal, verb: Verb, row: Namespace) -> bool:
    """Return whether a key has access because it names the external user. Lists don't contain such namespaces."""
    return AccessReason.NAMES in find_reasons(principal, verb, build_target(row))


def find_reasons(
    principal: Principal, verb: Verb, target: NamespaceTarget, facts: AccessFacts | None = None
) -> Iterator[AccessReason]:
    """Yield the reasons why the principal may do this, or nothing. A reason is checked when the iterator reaches it."""
    facts = facts or AccessFacts(target)
    if principal.get_role(target.team_id) is None or not principal.allows(SCOPE_OF_VERB[verb]):
        return
    if target.parsed.seen_by is SeenBy.TEAM:
        yield from _find_team_reasons(principal, verb, facts)
        return
    if private_reason := _find_private_reason(principal, target, facts):
        yield private_reason
    if verb in ("view", "forget") and _manages_program(principal, target):
        yield AccessReason.MANAGES
    if facts.is_granted(principal, verb):
        yield AccessReason.GRANT
    if _is_guest_memory(principal, target, facts):
        yield AccessReason.GUEST
    can_be_opened = verb == "view" and allows_emergency_access(target)
    if can_be_opened and facts.find_emergency_access(principal):
        yield AccessReason.EMERGENCY_ACCESS


def _find_team_reasons(
    principal: Principal, verb: Verb, facts: AccessFacts
) -> Iterator[AccessReason]:
    if verb != "view" and acts_for_page(principal):
        return  # visitors change no memory that others share
    if access.can(principal, f"memory.{verb}", facts.target.team_id):
        yield AccessReason.ROLE
    is_for_keys = VERBS[f"memory.{verb}"].scope is not None
    if (principal.kind == "user" or is_for_keys) and facts.is_granted(principal, verb):
        yield AccessReason.GRANT


def record_emergency_read(principal: Principal, target: NamespaceTarget, **detail: str) -> bool:
    """Record a read in the audit log if only emergency access allows it, and return whether it was recorded.

    Raise ``NotFound`` if the access has ended since the row was found.
    """
    if target.row is None or _is_owner_by_row(principal, target):
        return False
    facts = AccessFacts(target)
    reason = next(find_reasons(principal, "view", target, facts), None)
    if reason not in (None, AccessReason.EMERGENCY_ACCESS):
        return False
    emergency_access = facts.find_emergency_access(principal) if reason else None
    if emergency_access is None:
        raise NotFound(_("Memory not found."))
    details = {"emergency_access": str(emergency_access.pk), **detail}
    text = target.parsed.text
    audit.record_action(principal, target.team_id, "memory.looked_into", text, **details)
    return True


def find_sole_emergency_access(principal: Principal, row: Namespace) -> EmergencyAccess | None:
    """Return the open emergency access if nothing else allows the principal to view the namespace, or None."""
    target = build_target(row)
    if not allows_emergency_access(target) or _is_owner_by_row(principal, target):
        return None
    facts = AccessFacts(target)
    reason = next(find_reasons(principal, "view", target, facts), None)
    is_only_way = reason is AccessReason.EMERGENCY_ACCESS
    return facts.find_emergency_access(principal) if is_only_way else None


def allows_emergency_access(target: NamespaceTarget) -> bool:
    """Return whether the namespace belongs to people, who can be notified. A run's notes belong to nobody."""
    return target.parsed.seen_by in (SeenBy.PERSON, SeenBy.PARTICIPANTS)


def is_owner(principal: Principal, target: NamespaceTarget) -> bool:
    """Return whether the namespace is the principal's own. A namespace that is only shared with them is not."""
    if principal.get_role(target.team_id) is None or not principal.allows("memory:write"):
        return False
    if target.parsed.seen_by is SeenBy.TEAM:
        return False
    return _find_private_reason(principal, target, AccessFacts(target)) is not None


def get_guest_id(principal: Principal) -> UUID | None:
    """Return the service account's id if it is another installation's that keeps its memory here, or None."""
    is_guest = principal.kind == "key" and principal.allows("memory:serve")
    return get_service_account_id(principal) if is_guest else None


def is_shared_with(principal: Principal, verb: Verb, target: NamespaceTarget) -> bool:
    """Return whether the principal has an explicit grant on the namespace."""
    if target.row is None:
        return False
    in_person = not can_share_with_groups(target.parsed)
    return access.is_granted(principal, f"memory.{verb}", target.row, in_person=in_person)


def can_share_with_groups(parsed: ParsedNamespace) -> bool:
    """Return whether a grant to a group has an effect on the namespace, which is false for private memory.

    A member who manages groups could otherwise add themselves to one and so read it without emergency access.
    """
    return parsed.seen_by is SeenBy.TEAM


def is_owned_by_another(
    principal: Principal, target: NamespaceTarget, facts: AccessFacts | None = None
) -> bool:
    """Return whether a person's namespace belongs to an account other than the principal.

    Runs are checked, too, because they state themselves whom they are for: an external user's id that is also a
    member's account id must not open that member's memory.
    """
    if target.parsed.seen_by is not SeenBy.PERSON:
        return False
    if principal.user_id is not None and target.parsed.ids[0] == str(principal.user_id):
        return False  # the principal's own namespace, found without a query for the account
    service_account_id = find_service_account_id(target.parsed.ids[0])
    if service_account_id is not None:
        return service_account_id != get_service_account_id(principal)
    if is_visitor_subject(target.parsed.ids[0]) or get_visitor(principal):
        return not _acts_for_visitor(principal, target.parsed.ids[0])
    owner_id = find_player(target.parsed.ids[0]) or (facts or AccessFacts(target)).account_id
    if owner_id is not None:
        return principal.user_id != owner_id
    persona_of = target.row.persona_of_id if target.row else None
    return persona_of is not None and principal.user_id != persona_of


def _acts_for_visitor(principal: Principal, subject: str) -> bool:
    """Return whether a public page acts for this visitor, or started the acting run, whose reach is the visitor's."""
    visitor = get_visitor(principal)
    return visitor == subject if visitor else acts_for_page(principal)


def find_account_id(parsed: ParsedNamespace) -> UUID | None:
    """Return the id of the account to which a person's namespace belongs, or None if the person has no account."""
    if parsed.seen_by is not SeenBy.PERSON:
        return None
    try:
        account_id = UUID(parsed.ids[0])
    except ValueError:
        return None
    return account_id if User.objects.filter(pk=account_id).exists() else None


def _find_private_reason(
    principal: Principal, target: NamespaceTarget, facts: AccessFacts
) -> AccessReason | None:
    if target.parsed.seen_by is SeenBy.RUN:
        return None
    if target.parsed.seen_by is SeenBy.PERSON:
        return _find_person_reason(principal, target, facts)
    return AccessReason.TAKES_PART if get_participant_id(principal) in facts.participants else None


def _manages_program(principal: Principal, target: NamespaceTarget) -> bool:
    parsed = target.parsed
    is_program = parsed.seen_by is SeenBy.PERSON and is_service_subject(parsed.ids[0])
    return (
        is_program
        and principal.kind == "user"
        and access.can(principal, "key.manage", target.team_id)
    )


def _is_guest_memory(principal: Principal, target: NamespaceTarget, facts: AccessFacts) -> bool:
    guest_id = get_guest_id(principal)
    if guest_id is None or target.parsed.seen_by not in (SeenBy.PARTICIPANTS, SeenBy.RUN):
        return False
    if target.row is not None:
        return guest_id in target.row.participants
    return not facts.participants


def _find_person_reason(
    principal: Principal, target: NamespaceTarget, facts: AccessFacts
) -> AccessReason | None:
    if is_owned_by_another(principal, target, facts):
        return None
    if principal.user_id is None:
        return (
            AccessReason.OWN
            if find_service_account_id(target.parsed.ids[0])
            else AccessReason.NAMES
        )
    if find_player(target.parsed.ids[0]) == principal.user_id:
        return AccessReason.PLAYS
    return AccessReason.OWN if facts.account_id == principal.user_id else None


def _is_owner_by_row(principal: Principal, target: NamespaceTarget) -> bool:
    """Return whether the row alone shows that the principal needs no emergency access, which saves further queries."""
    row, user_id = target.row, principal.user_id
    if row is None or user_id is None or not allows_emergency_access(target):
        return True
    return user_id in (row.owner_user_id, row.persona_of_id, *row.participants)
