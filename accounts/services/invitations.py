"""Invitations: single-use links that make the user who opens them a member."""

from __future__ import annotations

import datetime as dt
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from accounts import audit, tokens
from accounts.access import Principal, check
from accounts.errors import InvalidChoice, InvitationUnusable, NotAllowed, NotFound
from accounts.models import Invitation, Membership, Role, Team, User
from accounts.models.users import normalise_email
from accounts.services.teams import add_member
from accounts.tenancy import lookup, tenant


LIFETIME = dt.timedelta(days=7)


def create_invitation(
    principal: Principal,
    *,
    team: Team,
    role: str,
    email: str = "",
    expires_at: dt.datetime | None = None,
) -> tuple[Invitation, str]:
    """Create an invitation; return its row and the token of the link, which is shown once and stored as a hash."""
    check(principal, "member.manage", team)
    if role not in Role.values:
        raise InvalidChoice
    if role == Role.OWNER:
        check(principal, "member.manage_owners", team)
    token = tokens.make_secret("invitation")
    with tenant([team.id]):
        invitation = Invitation.objects.create(
            team=team,
            token_hash=tokens.hash_secret("invitation", token),
            role=role,
            email=normalise_email(email),
            created_by_id=principal.user_id,
            expires_at=expires_at or timezone.now() + LIFETIME,
        )
        subject = f"invitation:{invitation.id}"
        audit.record_action(principal, team.id, "invitation.created", subject, role=role)
    return invitation, token


def find_invitation(token: str) -> Invitation:
    """Return the usable invitation of a link, with its team."""
    token_hash = tokens.hash_secret("invitation", token)
    with lookup(token_hash):
        query = Invitation.objects.unscoped().select_related("team", "created_by")
        invitation = query.filter(token_hash=token_hash).first()
    if invitation is None or not tokens.is_match("invitation", token, invitation.token_hash):
        raise InvitationUnusable
    return _check_usable(invitation)


def accept_invitation(*, user: User, token: str) -> Membership:
    """Make the user a member. If two users open the link at the same time, only the first becomes a member."""
    team_id = find_invitation(token).team_id
    with tenant([team_id]):
        rows = Invitation.objects.unscoped().select_for_update(of=("self",)).select_related("team")
        invitation = _check_usable(rows.get(token_hash=tokens.hash_secret("invitation", token)))
        if invitation.email and invitation.email != user.email:
            raise NotAllowed(_("This invitation is for a different email address."))
        membership = add_member(team=invitation.team, user=user, role=Role(invitation.role))
        invitation.accepted_at, invitation.accepted_by = timezone.now(), user
        invitation.save(update_fields=["accepted_at", "accepted_by"])
        actor, subject = f"user:{user.pk}", f"invitation:{invitation.id}"
        audit.record(team_id=team_id, actor=actor, action="invitation.accepted", subject=subject)
    return membership


def revoke_invitation(principal: Principal, *, invitation_id: UUID) -> Invitation:
    """Revoke an open invitation; revoking it twice changes nothing."""
    with tenant(principal.team_ids):
        rows = Invitation.objects.visible_to(principal).select_for_update()
        invitation = rows.filter(pk=invitation_id).first()
        if invitation is None:
            raise NotFound
        check(principal, "member.manage", invitation)
        if invitation.revoked_at is None and invitation.accepted_at is None:
            invitation.revoked_at = timezone.now()
            invitation.save(update_fields=["revoked_at"])
            subject = f"invitation:{invitation.id}"
            audit.record_action(principal, invitation.team_id, "invitation.revoked", subject)
    return invitation


def _check_usable(invitation: Invitation) -> Invitation:
    if not invitation.is_usable():
        raise InvitationUnusable
    return invitation
