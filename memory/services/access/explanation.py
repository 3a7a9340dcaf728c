"""Explain who can see a namespace: every member and key of the team with their permissions and the reasons.

The rules themselves are evaluated (``permissions.find_reasons``), so no explanation can contradict them. The facts
that they would read from the database for each person are loaded once for all.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Final, Literal
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from accounts import access as account_access
from accounts import audit
from accounts.models import ApiKey, AuditEntry, Membership, Role, TeamGroup, User
from accounts.principals import KeyPrincipal, Principal, UserPrincipal
from config.retry import retry_on_conflict
from memory.core.errors import NotFound
from memory.core.scope_kinds import SeenBy
from memory.core.scopes import ParsedNamespace, Scope, parse_namespace
from memory.models import EmergencyAccess, Namespace
from memory.permissions import (
    AccessFacts,
    AccessReason,
    NamespaceTarget,
    Verb,
    can_share_with_groups,
    find_reasons,
)
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import open_namespace


RunKind = Literal["person", "conversation", "application", "workflow", "run"]
VERBS: Final[tuple[Verb, ...]] = ("view", "write", "forget", "share")

_RUN_KINDS: Final[Mapping[SeenBy, RunKind]] = {
    SeenBy.PERSON: "person",
    SeenBy.PARTICIPANTS: "conversation",
    SeenBy.TEAM: "application",
    SeenBy.RUN: "run",
}


@dataclass(frozen=True, slots=True)
class GrantDetails:
    """A grant on this namespace: its recipient, and who granted it when, according to the audit log.

    ``has_effect`` is false for a group's grant on private memory, made before these were refused.
    """

    verb: Verb
    user: User | None
    group: TeamGroup | None
    granted_by: str = ""  # an actor, as in the audit log
    granted_at: datetime | None = None
    has_effect: bool = True


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason for access, with the grant or the emergency access if ``kind`` is one of these."""

    kind: AccessReason
    grant: GrantDetails | None = None
    emergency_access: EmergencyAccess | None = None


@dataclass(frozen=True, slots=True)
class PrincipalAccess:
    """A member or key of the team, with the reasons for each verb they have."""

    kind: Literal["user", "key"]
    id: UUID
    name: str
    role: str
    reasons: Mapping[Verb, tuple[Reason, ...]]
    scopes: tuple[str, ...] = ()

    @property
    def can_view(self) -> bool:
        return "view" in self.reasons

    @property
    def all_reasons(self) -> tuple[Reason, ...]:
        return tuple(dict.fromkeys(chain.from_iterable(self.reasons.values())))


@dataclass(frozen=True, slots=True)
class AccessExplanation:
    """The principals and the grants of a namespace, and the kind of runs that can access it."""

    namespace: Namespace
    principals: tuple[PrincipalAccess, ...]
    grants: tuple[GrantDetails, ...]
    runs: RunKind
    external_runs_write: bool  # runs for external users may write

    @property
    def viewers(self) -> tuple[PrincipalAccess, ...]:
        return tuple(principal for principal in self.principals if principal.can_view)

    @property
    def non_viewers(self) -> tuple[PrincipalAccess, ...]:
        return tuple(principal for principal in self.principals if not principal.can_view)


@retry_on_conflict
def explain_access(caller: MemoryCaller, *, namespace: str) -> AccessExplanation:
    """Explain the access to a namespace that the caller may view. A key also needs permission to see the members."""
    if caller.principal.kind != "user":
        account_access.check_key(caller.principal, "team:read")
    with open_namespace(caller, "view", "memory.access_explained", namespace=namespace) as access:
        row = access.target.row
        if row is None:
            raise NotFound(_("Namespace not found."))
        grants = list_grants(row)
        facts = _PreloadedFacts(access.target, grants, _list_open_accesses(row))
        principals = tuple(
            _explain_principal(facts, *principal) for principal in _list_principals(caller.team_id)
        )
        external_runs_write = access.rules.subjects_write_global
        runs = _classify_runs(access.target.parsed)
        return AccessExplanation(row, principals, tuple(grants), runs, external_runs_write)


def list_grants(row: Namespace) -> list[GrantDetails]:
    """Return the grants, each with who granted it and when, as far as the audit log has an entry about it."""
    account_grants = account_access.list_grants(row)
    origins = _find_grant_origins(row) if account_grants else {}
    allows_groups = can_share_with_groups(parse_namespace(row.text))
    grants = []
    for grant in account_grants:
        verb: Verb = grant.verb.removeprefix("memory.")  # type: ignore[assignment]  # only these are granted
        recipient = format_recipient(grant.user, grant.group)
        granted_by, granted_at = origins.get((verb, recipient), ("", None))
        has_effect = grant.group is None or allows_groups
        grants.append(
            GrantDetails(verb, grant.user, grant.group, granted_by, granted_at, has_effect)
        )
    return sorted(grants, key=lambda grant: VERBS.index(grant.verb))


def format_recipient(user: User | None, group: TeamGroup | None) -> str:
    """Return the recipient of a grant as the audit log writes it."""
    return f"group:{group.pk}" if group else str(user.pk if user else "")


class _PreloadedFacts(AccessFacts):
    """The facts that the rules need for each person, loaded for all people at once."""

    def __init__(
        self,
        target: NamespaceTarget,
        grants: Sequence[GrantDetails],
        emergency_accesses: Mapping[UUID, EmergencyAccess],
    ) -> None:
        super().__init__(target)
        self._emergency_accesses = emergency_accesses
        self._grants: dict[tuple[UUID, Verb], GrantDetails] = {}
        members = _map_group_members(grants)
        for grant in grants:
            for user_id in _list_grantees(grant, members):
                self._grants.setdefault((user_id, grant.verb), grant)

    def is_granted(self, principal: Principal, verb: Verb) -> bool:
        return self.find_grant(principal.user_id, verb) is not None

    def find_emergency_access(self, principal: Principal) -> EmergencyAccess | None:
        if not account_access.can(principal, "memory.use_emergency_access", self.target.team_id):
            return None
        return self._emergency_accesses.get(principal.user_id) if principal.user_id else None

    def find_grant(self, user_id: UUID | None, verb: Verb) -> GrantDetails | None:
        return self._grants.get((user_id, verb)) if user_id else None


def _list_grantees(grant: GrantDetails, members: Mapping[UUID, frozenset[UUID]]) -> Iterable[UUID]:
    if not grant.has_effect:
        return ()
    if grant.user is not None:
        return (grant.user.pk,)
    return members.get(grant.group.pk, ()) if grant.group else ()


def _explain_principal(
    facts: _PreloadedFacts, principal: Principal, name: str, role: str
) -> PrincipalAccess:
    reasons: dict[Verb, tuple[Reason, ...]] = {}
    for verb in VERBS:
        kinds = find_reasons(principal, verb, facts.target, facts)
        if verb_reasons := tuple(_build_reason(kind, facts, principal, verb) for kind in kinds):
            reasons[verb] = verb_reasons
    if isinstance(principal, KeyPrincipal):
        key = principal.key
        return PrincipalAccess("key", key.pk, name, role, reasons, tuple(key.scopes))
    assert principal.user_id is not None  # noqa: S101  # the others are members
    return PrincipalAccess("user", principal.user_id, name, role, reasons)


def _build_reason(
    kind: AccessReason, facts: _PreloadedFacts, principal: Principal, verb: Verb
) -> Reason:
    match kind:
        case AccessReason.GRANT:
            return Reason(kind, grant=facts.find_grant(principal.user_id, verb))
        case AccessReason.EMERGENCY_ACCESS:
            return Reason(kind, emergency_access=facts.find_emergency_access(principal))
        case _:
            return Reason(kind)


def _list_principals(team_id: UUID) -> list[tuple[Principal, str, str]]:
    """Return the team's members and usable keys, each with its name and its role; a key's role is empty."""
    members = Membership.objects.unscoped().filter(team_id=team_id).select_related("user")
    keys = ApiKey.objects.unscoped().filter(team_id=team_id, revoked_at=None)
    people: list[tuple[Principal, str, str]] = [
        (UserPrincipal(row.user, {team_id: Role(row.role)}), str(row.user), row.role)
        for row in members.order_by("joined_at", "id")
    ]
    usable = [key for key in keys.order_by("name", "id") if key.is_usable()]
    return people + [(KeyPrincipal(key), key.name, "") for key in usable]


def _map_group_members(grants: Iterable[GrantDetails]) -> dict[UUID, frozenset[UUID]]:
    groups = [grant.group for grant in grants if grant.group]
    if not groups:
        return {}
    memberships = User.groups.through.objects.filter(group__in=[group.group_id for group in groups])
    user_ids: dict[int, set[UUID]] = {}
    for group_id, user_id in memberships.values_list("group_id", "user_id"):
        user_ids.setdefault(group_id, set()).add(user_id)
    return {group.pk: frozenset(user_ids.get(group.group_id, ())) for group in groups}


def _list_open_accesses(row: Namespace) -> dict[UUID, EmergencyAccess]:
    """Return the open emergency accesses by person. If a person has several, the one that ends last counts."""
    accesses = EmergencyAccess.objects.unscoped().filter(
        namespace=row, ended_at=None, expires_at__gt=timezone.now()
    )
    return {access.by_id: access for access in accesses.order_by("expires_at", "id")}


def _find_grant_origins(row: Namespace) -> dict[tuple[str, str], tuple[str, datetime]]:
    """Return who made the latest grant and when, by verb and recipient."""
    forms = audit.list_written_forms(row.team_id, [row.text])[row.text]
    log = AuditEntry.objects.unscoped().filter(
        team_id=row.team_id, action="memory.shared", subject__in=forms, success=True
    )
    return {
        (str(detail.get("verb")), str(detail.get("with"))): (actor, at)
        for detail, actor, at in log.order_by("seq").values_list("detail", "actor", "at")
    }


def _classify_runs(parsed: ParsedNamespace) -> RunKind:
    """Return the kind of runs that can access the namespace. A plug-in's scope counts as the built-in one like it."""
    return "workflow" if parsed.scope == Scope.WORKFLOW else _RUN_KINDS[parsed.seen_by]
