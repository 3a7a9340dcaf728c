"""Who can see a namespace, and why: every member and key of the team, with what they may and the reason.

It asks the rules themselves (``permissions.reasons``), so it can't say anything else than they do; what
they would ask the tables once for each person is read once for all.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts import access as account_access
from accounts import audit
from accounts.access import KeyPrincipal, Principal, UserPrincipal
from accounts.models import ApiKey, AuditEntry, Membership, TeamGroup, User
from accounts.roles import Role
from config.retry import retry_on_conflict
from memory.core.errors import NotFound
from memory.core.scope_kinds import SeenBy
from memory.core.scopes import Scope, parse_namespace
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
from memory.services.gateway.gateway import MemoryGateway
from memory.services.gateway.namespace_access import NamespaceAccess


Runs = Literal["person", "conversation", "application", "workflow", "run"]
VERBS: Final[tuple[Verb, ...]] = ("view", "write", "forget", "share")


@dataclass(frozen=True, slots=True)
class Given:
    """A grant on this namespace: to whom, and who gave it when, as the trail has it.

    One that doesn't hold is a group's on something private, from before that was refused: it lets nobody in.
    """

    verb: Verb
    user: User | None
    group: TeamGroup | None
    by: str = ""  # an actor as the trail calls it
    at: datetime | None = None
    holds: bool = True


@dataclass(frozen=True, slots=True)
class Reason:
    """``given`` tells a grant further, ``emergency_access`` an emergency access."""

    why: AccessReason
    given: Given | None = None
    emergency_access: EmergencyAccess | None = None


@dataclass(frozen=True, slots=True)
class Seer:
    """Somebody of the team, member or key; ``may`` has a row for each verb they have."""

    kind: Literal["user", "key"]
    id: UUID
    name: str
    role: str
    may: Mapping[Verb, tuple[Reason, ...]]
    scopes: tuple[str, ...] = ()

    @property
    def sees(self) -> bool:
        return "view" in self.may

    @property
    def why(self) -> tuple[Reason, ...]:
        """All reasons there are, each once."""
        found = [reason for every in self.may.values() for reason in every]
        return tuple(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class Explained:
    """``runs`` says in a word which runs reach it, and how far."""

    namespace: Namespace
    seers: tuple[Seer, ...]
    grants: tuple[Given, ...]
    runs: Runs
    outside_runs_write: bool

    @property
    def who_see(self) -> tuple[Seer, ...]:
        return tuple(one for one in self.seers if one.sees)

    @property
    def who_dont(self) -> tuple[Seer, ...]:
        return tuple(one for one in self.seers if not one.sees)


@retry_on_conflict
def explain(caller: MemoryCaller, *, namespace: str) -> Explained:
    """For all who may look into it themselves; a key needs to be let see the team's members as well."""
    if caller.principal.kind != "user":
        account_access.check_key(caller.principal, "team:read")
    with MemoryGateway(caller).open_namespace(
        "view", "memory.access_explained", namespace=namespace
    ) as access:
        row = access.target.row
        if row is None:
            raise NotFound(_("Namespace not found."))
        place = access.target
        grants = given_on(row)
        facts = _Known(place, grants, _members_of(grants), _list_open_accesses(row))
        seers = tuple(_seen_by(place, facts, one) for one in _everybody(caller.team_id))
        return Explained(
            row, seers, tuple(grants), _runs(access), access.rules.subjects_write_global
        )


def given_on(row: Namespace) -> list[Given]:
    """The trail is asked for all of them at once; what an old trail doesn't know stays unsaid."""
    shared = account_access.list_grants(row)
    told = _told(row) if shared else {}
    for_groups = can_share_with_groups(parse_namespace(row.text))
    found = []
    for one in shared:
        verb: Verb = one.verb.removeprefix("memory.")  # type: ignore[assignment]  # only these are granted
        by, at = told.get((verb, recipient(one.user, one.group)), ("", None))
        holds = one.group is None or for_groups
        found.append(Given(verb, one.user, one.group, by, at, holds))
    return sorted(found, key=lambda one: VERBS.index(one.verb))


def recipient(user: User | None, group: TeamGroup | None) -> str:
    """As the trail names whom something was shared with."""
    return f"group:{group.pk}" if group else str(user.pk if user else "")


class _Known(AccessFacts):
    """What would be asked for each person, known for all."""

    def __init__(
        self,
        place: NamespaceTarget,
        grants: Iterable[Given],
        members: Mapping[UUID, frozenset[UUID]],
        emergency_accesses: Mapping[UUID, EmergencyAccess],
    ) -> None:
        super().__init__(place)
        self._emergency_accesses = emergency_accesses
        self._grants: dict[tuple[UUID, Verb], Given] = {}
        for one in grants:
            for user_id in _whom(one, members):
                self._grants.setdefault((user_id, one.verb), one)

    def is_granted(self, principal: Principal, verb: Verb) -> bool:
        return self.grant_of(principal.user_id, verb) is not None

    def find_emergency_access(self, principal: Principal) -> EmergencyAccess | None:
        may = account_access.can(principal, "memory.use_emergency_access", self.target.team_id)
        return (
            self._emergency_accesses.get(principal.user_id) if may and principal.user_id else None
        )

    def grant_of(self, user_id: UUID | None, verb: Verb) -> Given | None:
        return self._grants.get((user_id, verb)) if user_id else None


def _whom(one: Given, members: Mapping[UUID, frozenset[UUID]]) -> Iterable[UUID]:
    if not one.holds:
        return ()
    if one.user is not None:
        return (one.user.pk,)
    return members.get(one.group.pk, ()) if one.group else ()


def _seen_by(place: NamespaceTarget, facts: _Known, who: tuple[Principal, str, str]) -> Seer:
    principal, name, role = who
    may: dict[Verb, tuple[Reason, ...]] = {}
    for verb in VERBS:
        if found := tuple(
            _told_further(why, facts, principal, verb)
            for why in find_reasons(principal, verb, place, facts)
        ):
            may[verb] = found
    if isinstance(principal, KeyPrincipal):
        return Seer("key", principal.key.pk, name, role, may, tuple(principal.key.scopes))
    assert principal.user_id is not None  # noqa: S101  # the others are members
    return Seer("user", principal.user_id, name, role, may)


def _told_further(why: AccessReason, facts: _Known, principal: Principal, verb: Verb) -> Reason:
    if why is AccessReason.GRANT:
        return Reason(why, given=facts.grant_of(principal.user_id, verb))
    return Reason(
        why,
        emergency_access=facts.find_emergency_access(principal)
        if why is AccessReason.EMERGENCY_ACCESS
        else None,
    )


def _everybody(team_id: UUID) -> list[tuple[Principal, str, str]]:
    members = Membership.objects.unscoped().filter(team_id=team_id).select_related("user")
    keys = ApiKey.objects.unscoped().filter(team_id=team_id, revoked_at=None)
    people: list[tuple[Principal, str, str]] = [
        (UserPrincipal(row.user, {team_id: Role(row.role)}), str(row.user), row.role)
        for row in members.order_by("joined_at", "id")
    ]
    usable = [key for key in keys.order_by("name", "id") if key.is_usable()]
    return people + [(KeyPrincipal(key), key.name, "") for key in usable]


def _members_of(grants: Iterable[Given]) -> dict[UUID, frozenset[UUID]]:
    groups = [one.group for one in grants if one.group]
    if not groups:
        return {}
    inside = User.groups.through.objects.filter(group__in=[one.group_id for one in groups])
    found: dict[int, set[UUID]] = {}
    for group_id, user_id in inside.values_list("group_id", "user_id"):
        found.setdefault(group_id, set()).add(user_id)
    return {one.pk: frozenset(found.get(one.group_id, ())) for one in groups}


def _list_open_accesses(row: Namespace) -> dict[UUID, EmergencyAccess]:
    """Of several of one person the one that lasts longest."""
    now = timezone.now()
    found = EmergencyAccess.objects.unscoped().filter(
        Q(namespace=row), ended_at=None, expires_at__gt=now
    )
    return {one.by_id: one for one in found.order_by("expires_at", "id")}


def _told(row: Namespace) -> dict[tuple[str, str], tuple[str, datetime]]:
    """(verb, with whom) → by whom and when, of the last time each was shared."""
    written = audit.list_written_forms(row.team_id, [row.text])[row.text]
    trail = AuditEntry.objects.unscoped().filter(
        team_id=row.team_id, action="memory.shared", subject__in=written, success=True
    )
    found = {}
    for detail, actor, at in trail.order_by("seq").values_list("detail", "actor", "at"):
        found[str(detail.get("verb")), str(detail.get("with"))] = (actor, at)
    return found


_RUNS: Final[Mapping[SeenBy, Runs]] = {
    SeenBy.PERSON: "person",
    SeenBy.PARTICIPANTS: "conversation",
    SeenBy.TEAM: "application",
    SeenBy.RUN: "run",
}


def _runs(access: NamespaceAccess) -> Runs:
    """Which runs reach it; a plug-in's scope as one of the built-in ones of its kind."""
    named = access.target.parsed
    return "workflow" if named.scope == Scope.WORKFLOW else _RUNS[named.seen_by]
