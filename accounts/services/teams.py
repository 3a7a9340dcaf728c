"""Operations on teams and their members."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from django.db import IntegrityError
from django.utils.text import slugify

from accounts import audit
from accounts.access import Principal, check, revoke_all
from accounts.errors import AlreadyMember, InvalidChoice, LastOwner, NotFound
from accounts.models import Membership, Role, Team, User
from accounts.tenancy import tenant
from config.ids import uuid7


def create_team(*, owner: User, name: str) -> Team:
    """Create a team with its first owner."""
    name = name.strip()
    if not name:
        raise InvalidChoice
    team_id = uuid7()
    with tenant([team_id]):
        team = Team.objects.create(id=team_id, name=name[:120], slug=_build_slug(name, team_id))
        Membership.objects.create(team=team, user=owner, role=Role.OWNER)
        actor, subject = f"user:{owner.pk}", f"team:{team.id}"
        audit.record(team_id=team.id, actor=actor, action="team.created", subject=subject)
    return team


def rename_team(principal: Principal, *, team: Team, name: str) -> Team:
    check(principal, "team.manage", team)
    if not name.strip():
        raise InvalidChoice
    with tenant([team.id]):
        team.name = name.strip()[:120]
        team.save(update_fields=["name"])
        audit.record_action(principal, team.id, "team.renamed", f"team:{team.id}")
    return team


def add_member(*, team: Team, user: User, role: Role) -> Membership:
    """Add a member without checking a permission: the caller has checked an invitation or sets up the first team."""
    try:
        with tenant([team.id]):
            membership = Membership.objects.create(team=team, user=user, role=Role(role))
            actor, detail = f"user:{user.pk}", {"role": str(role)}
            audit.record(
                team_id=team.id, actor=actor, action="member.added", subject=actor, detail=detail
            )
    except IntegrityError as error:
        if "accounts_membership_once" in str(error):
            raise AlreadyMember from None
        raise
    return membership


def change_role(principal: Principal, *, membership_id: UUID, role: str) -> Membership:
    """Change a member's role; the last owner stays an owner."""
    if role not in Role.values:
        raise InvalidChoice
    with _check_owner_remains(), tenant(principal.team_ids):
        membership = _lock_membership(principal, membership_id)
        _check_rank(principal, membership.team_id, Role(membership.role), Role(role))
        old_role, membership.role = membership.role, role
        membership.save(update_fields=["role"])
        detail = {"from": old_role, "to": role}
        _record(principal, membership, "member.role_changed", **detail)
    return membership


def remove_member(principal: Principal, *, membership_id: UUID) -> None:
    """Remove a member, or leave the team. All grants to the member are removed."""
    with _check_owner_remains(), tenant(principal.team_ids):
        membership = _lock_membership(principal, membership_id)
        is_leaving = membership.user_id == principal.user_id
        if not is_leaving:
            _check_rank(principal, membership.team_id, Role(membership.role))
        revoke_all(membership.user, membership.team_id)
        membership.delete()
        _record(principal, membership, "member.left" if is_leaving else "member.removed")


def _lock_membership(principal: Principal, membership_id: UUID) -> Membership:
    rows = Membership.objects.visible_to(principal).select_related("user")
    membership = rows.select_for_update(of=("self",)).filter(pk=membership_id).first()
    if membership is None:
        raise NotFound
    return membership


def _check_rank(principal: Principal, team_id: UUID, *roles: Role) -> None:
    """Check that only owners grant or remove the owner role; otherwise any admin could become an owner."""
    check(principal, "member.manage", team_id)
    if Role.OWNER in roles:
        check(principal, "member.manage_owners", team_id)


@contextmanager
def _check_owner_remains() -> Iterator[None]:
    """Raise ``LastOwner`` if the database refuses to remove the last owner (accounts/sql/memberships.sql)."""
    try:
        yield
    except IntegrityError as error:
        if "keeps at least one owner" not in str(error):
            raise
        raise LastOwner from None


def _build_slug(name: str, team_id: UUID) -> str:
    slug = slugify(name)[:40] or "team"
    return f"{slug}-{team_id.hex[-6:]}" if Team.objects.filter(slug=slug).exists() else slug


def _record(principal: Principal, membership: Membership, action: str, **detail: str) -> None:
    subject = f"user:{membership.user_id}"
    audit.record_action(principal, membership.team_id, action, subject, **detail)
