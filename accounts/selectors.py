"""Reads for pages and the API, already cut to what the asker may see: finding and admitting are one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Prefetch, Q, QuerySet

from accounts import audit
from accounts.access import Principal, check
from accounts.errors import NotFound
from accounts.models import ApiKey, AuditEntry, Invitation, Membership, Team, TeamGroup, User


@dataclass(frozen=True, slots=True)
class GroupOfPeople:
    row: TeamGroup
    people: tuple[User, ...]


def teams_of(principal: Principal) -> QuerySet[Team]:
    return Team.objects.filter(pk__in=principal.team_ids).order_by("name", "id")


def team_for(principal: Principal, verb: str, team_id: UUID) -> Team:
    """A team of one's own, for one verb. Others' teams don't exist."""
    team = teams_of(principal).filter(pk=team_id).first()
    if team is None:
        raise NotFound
    check(principal, verb, team)
    return team


def members_of(principal: Principal, team: Team, *, sought: str = "") -> QuerySet[Membership]:
    """``sought``: only those with it in their name or address."""
    check(principal, "team.view", team)
    rows = Membership.objects.visible_to(principal).filter(team=team)
    if sought:
        rows = rows.filter(Q(user__name__icontains=sought) | Q(user__email__icontains=sought))
    return rows.select_related("user").order_by("joined_at", "id")


def invitations_of(principal: Principal, team: Team) -> QuerySet[Invitation]:
    """Open invitations, newest first."""
    check(principal, "member.manage", team)
    rows = Invitation.objects.visible_to(principal).filter(
        team=team, accepted_at=None, revoked_at=None
    )
    return rows.select_related("created_by").order_by("-created_at", "id")


def keys_of(principal: Principal, team: Team) -> QuerySet[ApiKey]:
    check(principal, "key.manage", team)
    rows = ApiKey.objects.visible_to(principal).filter(team=team)
    return rows.select_related("created_by").order_by("-created_at", "id")


def groups_of(principal: Principal, team: Team) -> list[GroupOfPeople]:
    return people_in(principal, groups_named(principal, team))


def people_in(principal: Principal, rows: Sequence[TeamGroup]) -> list[GroupOfPeople]:
    """In the order of the groups; two queries, whatever their number."""
    found = TeamGroup.objects.visible_to(principal).filter(pk__in=[row.pk for row in rows])
    people = User.objects.order_by("name", "email", "id")
    filled = found.select_related("group").prefetch_related(Prefetch("group__user_set", people))
    by_id = {row.pk: tuple(row.group.user_set.all()) for row in filled} if rows else {}
    return [GroupOfPeople(row, by_id[row.pk]) for row in rows]


def groups_named(principal: Principal, team: Team) -> list[TeamGroup]:
    """Without who is in them."""
    check(principal, "team.view", team)
    return list(TeamGroup.objects.visible_to(principal).filter(team=team).order_by("name", "id"))


def group_choices(principal: Principal, team: Team) -> list[tuple[UUID, str]]:
    """Id and name of each, for a list of a thousand to choose from."""
    check(principal, "team.view", team)
    rows = TeamGroup.objects.visible_to(principal).filter(team=team).order_by("name", "id")
    return list(rows.values_list("pk", "name"))


def member_at(principal: Principal, team_id: UUID, email: str) -> UUID:
    """The account of the member with this address."""
    rows = Membership.objects.visible_to(principal).filter(team_id=team_id)
    found = rows.filter(user__email__iexact=email.strip()).values_list("user_id", flat=True).first()
    if found is None:
        raise NotFound
    return found


def group_for(principal: Principal, team_id: UUID, group_id: UUID) -> TeamGroup:
    """With whom something can be shared."""
    rows = TeamGroup.objects.visible_to(principal).filter(team_id=team_id, pk=group_id)
    row = rows.select_related("group").first()
    if row is None:
        raise NotFound
    return row


def trail_of(
    principal: Principal, team: Team, *, before: int | None = None, limit: int = 50
) -> Sequence[AuditEntry]:
    """The newest audit entries, or those before a sequence number."""
    check(principal, "audit.view", team)
    rows = AuditEntry.objects.visible_to(principal).filter(team_id=team.id)
    if before is not None:
        rows = rows.filter(seq__lt=before)
    found = list(rows.order_by("-seq")[:limit])
    audit.reveal(team.id, found)
    return found


def is_first_person() -> bool:
    """Whether nobody has an account yet."""
    return not User.objects.exists()
