"""Reads for pages and the API, limited to the rows that the principal may see. Each function also checks access."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Prefetch, Q, QuerySet

from accounts.access import Principal, check
from accounts.errors import NotFound
from accounts.models import ApiKey, Invitation, Membership, Team, TeamGroup, User
from accounts.models.secrets import PAGE_PREFIX


@dataclass(frozen=True, slots=True)
class GroupOfPeople:
    """A team's group with its members."""

    row: TeamGroup
    people: tuple[User, ...]


def list_teams(principal: Principal) -> QuerySet[Team]:
    return Team.objects.filter(pk__in=principal.team_ids).order_by("name", "id")


def find_team(principal: Principal, verb: str, team_id: UUID) -> Team:
    """Return one of the principal's teams after checking one verb; raise ``NotFound`` for other teams."""
    team = list_teams(principal).filter(pk=team_id).first()
    if team is None:
        raise NotFound
    check(principal, verb, team)
    return team


def list_members(principal: Principal, team: Team, *, search: str = "") -> QuerySet[Membership]:
    """Return the members whose name or email address contains ``search``."""
    check(principal, "team.view", team)
    members = Membership.objects.visible_to(principal).filter(team=team)
    if search:
        has_search = Q(user__name__icontains=search) | Q(user__email__icontains=search)
        members = members.filter(has_search)
    return members.select_related("user").order_by("joined_at", "id")


def list_invitations(principal: Principal, team: Team) -> QuerySet[Invitation]:
    """Return the invitations that were neither accepted nor revoked, newest first."""
    check(principal, "member.manage", team)
    invitations = Invitation.objects.visible_to(principal).filter(team=team)
    open_invitations = invitations.filter(accepted_at=None, revoked_at=None)
    return open_invitations.select_related("created_by").order_by("-created_at", "id")


def list_keys(principal: Principal, team: Team, *, with_pages: bool = False) -> QuerySet[ApiKey]:
    """Return the team's keys, the newest first. Those of public pages, which nobody can use, are left out by default."""
    check(principal, "key.manage", team)
    keys = ApiKey.objects.visible_to(principal).filter(team=team)
    if not with_pages:
        keys = keys.exclude(prefix=PAGE_PREFIX)
    return keys.select_related("created_by", "workflow", "service_account").order_by(
        "-created_at", "id"
    )


def list_groups(principal: Principal, team: Team) -> list[GroupOfPeople]:
    return load_group_members(principal, list_group_rows(principal, team))


def load_group_members(principal: Principal, rows: Sequence[TeamGroup]) -> list[GroupOfPeople]:
    """Return the groups in the same order with their members. This takes two queries for any number of groups."""
    people = Prefetch("group__user_set", User.objects.order_by("name", "email", "id"))
    groups = TeamGroup.objects.visible_to(principal).filter(pk__in=[row.pk for row in rows])
    groups = groups.select_related("group").prefetch_related(people)
    members_by_id = {row.pk: tuple(row.group.user_set.all()) for row in groups} if rows else {}
    return [GroupOfPeople(row, members_by_id[row.pk]) for row in rows]


def list_group_rows(principal: Principal, team: Team) -> list[TeamGroup]:
    """Return the groups without loading their members."""
    check(principal, "team.view", team)
    return list(TeamGroup.objects.visible_to(principal).filter(team=team).order_by("name", "id"))


def list_group_choices(principal: Principal, team: Team) -> list[tuple[UUID, str]]:
    """Return the id and the name of each group, for a select box."""
    return [(row.pk, row.name) for row in list_group_rows(principal, team)]


def find_member_by_email(principal: Principal, team_id: UUID, email: str) -> UUID:
    """Return the account id of the member with this email address; raise ``NotFound`` if there is none."""
    members = Membership.objects.visible_to(principal).filter(team_id=team_id)
    members = members.filter(user__email__iexact=email.strip())
    user_id = members.values_list("user_id", flat=True).first()
    if user_id is None:
        raise NotFound
    return user_id


def find_group(principal: Principal, team_id: UUID, group_id: UUID) -> TeamGroup:
    """Return a group of the team, to share something with it; raise ``NotFound`` for any other id."""
    groups = TeamGroup.objects.visible_to(principal).filter(team_id=team_id, pk=group_id)
    group = groups.select_related("group").first()
    if group is None:
        raise NotFound
    return group


def has_owner() -> bool:
    """Return whether somebody operates this site: an active administrator."""
    return User.objects.filter(is_superuser=True, is_active=True).exists()
