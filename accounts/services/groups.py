"""Operations on groups of a team's members. An object that is shared with a group is shared with all its members."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.models import Group
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from accounts import audit
from accounts.access import Principal, check, end_sharing_with
from accounts.errors import InvalidChoice, NameTaken, NotFound
from accounts.models import Membership, Team, TeamGroup
from accounts.tenancy import tenant


def create_group(principal: Principal, *, team: Team, name: str) -> TeamGroup:
    check(principal, "member.manage", team)
    name = name.strip()[:80]
    if not name:
        raise InvalidChoice(_("A group needs a name."))
    with tenant([team.pk]):
        row = TeamGroup(team=team, name=name)
        try:
            with transaction.atomic():
                row.group = Group.objects.create(name=f"team-group:{row.pk}")
                row.save(force_insert=True)
        except IntegrityError as error:
            if "accounts_teamgroup_once" not in str(error):
                raise
            raise NameTaken from None
        _record(principal, row, "group.created", name=name)
    return row


def delete_group(principal: Principal, *, group_id: UUID) -> None:
    """Delete a group and all its grants."""
    with tenant(principal.team_ids):
        row = _lock_group(principal, group_id)
        grant_count = end_sharing_with(row.group)
        _record(principal, row, "group.deleted", name=row.name, grants=grant_count)
        # The grants are deleted already, so no other row of the team refers to the group.
        row.delete()
        row.group.delete()


def add_to_group(principal: Principal, *, group_id: UUID, user_id: UUID) -> TeamGroup:
    with tenant(principal.team_ids):
        row = _lock_group(principal, group_id)
        members = Membership.objects.unscoped().filter(team_id=row.team_id, user_id=user_id)
        member = members.select_related("user").first()
        if member is None:
            raise NotFound
        member.user.groups.add(row.group)
        _record(principal, row, "group.member_added", member=str(user_id))
    return row


def remove_from_group(principal: Principal, *, group_id: UUID, user_id: UUID) -> TeamGroup:
    with tenant(principal.team_ids):
        row = _lock_group(principal, group_id)
        member = row.group.user_set.filter(pk=user_id).first()
        if member is None:
            raise NotFound
        member.groups.remove(row.group)
        _record(principal, row, "group.member_removed", member=str(user_id))
    return row


def _lock_group(principal: Principal, group_id: UUID) -> TeamGroup:
    """Lock and return a group whose members the principal may change. Raise ``NotFound`` or ``NotAllowed`` otherwise."""
    rows = TeamGroup.objects.visible_to(principal).select_related("group")
    row = rows.select_for_update(of=("self",)).filter(pk=group_id).first()
    if row is None:
        raise NotFound
    check(principal, "member.manage", row.team_id)
    return row


def _record(principal: Principal, row: TeamGroup, action: str, **detail: str | int) -> None:
    audit.record_action(principal, row.team_id, action, f"group:{row.pk}", **detail)
