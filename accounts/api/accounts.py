"""``/api/v1`` of people and teams."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from django.http import HttpRequest
from django.urls import reverse
from ninja import Router, Status
from pydantic import Field

from accounts import schemas, selectors, services
from accounts.audit import verify
from accounts.auth import api_auth
from accounts.models import ApiKey, AuditEntry, Invitation, Membership, Team
from accounts.principals import KeyPrincipal, UserPrincipal, current_team_id, principal_of
from config.schema import LongNumber


router = Router(auth=api_auth(), tags=["accounts"])


@router.get("/me", response=schemas.MeOut)
def me(request: HttpRequest) -> dict[str, object]:
    """Who this key or session is; of a key also what it may, and until when."""
    principal = principal_of(request)
    key = principal.key if isinstance(principal, KeyPrincipal) else None
    name = str(principal.user) if isinstance(principal, UserPrincipal) else principal.actor
    return {
        "kind": principal.kind,
        "actor": principal.actor,
        "name": key.name if key else name,
        "key": key,
        "teams": list(selectors.teams_of(principal)),
        "current_team": current_team_id(request) if principal.team_ids else None,
    }


@router.get("/teams", response=list[schemas.TeamOut])
def list_teams(request: HttpRequest) -> list[Team]:
    """Those you are in; a key is in one."""
    return list(selectors.teams_of(principal_of(request)))


@router.get("/teams/{uuid:team_id}", response=schemas.TeamOut)
def read_team(request: HttpRequest, team_id: UUID) -> Team:
    """Its name, and the short one that addresses use."""
    return selectors.team_for(principal_of(request), "team.view", team_id)


@router.patch("/teams/{uuid:team_id}", response=schemas.TeamOut)
def rename_team(request: HttpRequest, team_id: UUID, body: schemas.TeamIn) -> Team:
    """The owner's to do."""
    principal = principal_of(request)
    team = selectors.team_for(principal, "team.manage", team_id)
    return services.rename_team(principal, team=team, name=body.name)


@router.get("/teams/{uuid:team_id}/members", response=list[schemas.MemberOut])
def list_members(request: HttpRequest, team_id: UUID) -> list[dict[str, object]]:
    """Everybody in the team, with their role."""
    principal = principal_of(request)
    team = selectors.team_for(principal, "team.view", team_id)
    return [_member(row) for row in selectors.members_of(principal, team)]


@router.patch("/members/{uuid:membership_id}", response=schemas.MemberOut)
def change_role(
    request: HttpRequest, membership_id: UUID, body: schemas.RoleIn
) -> dict[str, object]:
    """By admins; an owner is made and unmade by owners, and one stays."""
    principal = principal_of(request)
    return _member(services.change_role(principal, membership_id=membership_id, role=body.role))


@router.delete("/members/{uuid:membership_id}", response={204: None})
def remove_member(request: HttpRequest, membership_id: UUID) -> Status[None]:
    """What was shared with them ends. Everybody may remove themselves."""
    services.remove_member(principal_of(request), membership_id=membership_id)
    return Status(204, None)


@router.get("/teams/{uuid:team_id}/invitations", response=list[schemas.InvitationOut])
def list_invitations(request: HttpRequest, team_id: UUID) -> list[Invitation]:
    """Those still open; their links are not shown again."""
    principal = principal_of(request)
    team = selectors.team_for(principal, "member.manage", team_id)
    return list(selectors.invitations_of(principal, team))


@router.post("/teams/{uuid:team_id}/invitations", response={201: schemas.NewInvitationOut})
def create_invitation(
    request: HttpRequest, team_id: UUID, body: schemas.InvitationIn
) -> Status[dict[str, object]]:
    """Make an invitation. The answer holds its link, which is not shown again."""
    principal = principal_of(request)
    team = selectors.team_for(principal, "member.manage", team_id)
    row, token = services.create_invitation(principal, team=team, role=body.role, email=body.email)
    url = request.build_absolute_uri(reverse("accounts:invitation", args=[token]))
    return Status(201, {**schemas.InvitationOut.from_orm(row).dict(), "url": url})


@router.delete("/invitations/{uuid:invitation_id}", response={204: None})
def revoke_invitation(request: HttpRequest, invitation_id: UUID) -> Status[None]:
    """Its link opens nothing any more."""
    services.revoke_invitation(principal_of(request), invitation_id=invitation_id)
    return Status(204, None)


@router.get("/teams/{uuid:team_id}/keys", response=list[schemas.KeyOut])
def list_keys(request: HttpRequest, team_id: UUID) -> list[ApiKey]:
    """Without their secrets, which nobody has."""
    principal = principal_of(request)
    team = selectors.team_for(principal, "key.manage", team_id)
    return list(selectors.keys_of(principal, team))


@router.post("/teams/{uuid:team_id}/keys", response={201: schemas.NewKeyOut})
def issue_key(
    request: HttpRequest, team_id: UUID, body: schemas.KeyIn
) -> Status[dict[str, object]]:
    """Make a key. The answer holds its secret, which is not shown again."""
    principal = principal_of(request)
    team = selectors.team_for(principal, "key.manage", team_id)
    key, secret = services.issue_key(
        principal=principal,
        team=team,
        name=body.name,
        scopes=body.scopes,
        expires_at=body.expires_at,
    )
    return Status(201, {**schemas.KeyOut.from_orm(key).dict(), "secret": secret})


@router.delete("/keys/{uuid:key_id}", response={204: None})
def revoke_key(request: HttpRequest, key_id: UUID) -> Status[None]:
    """It opens nothing from this moment on."""
    services.revoke_key(principal_of(request), key_id=key_id)
    return Status(204, None)


@router.get("/teams/{uuid:team_id}/audit", response=list[schemas.AuditOut])
def read_audit(
    request: HttpRequest,
    team_id: UUID,
    before: LongNumber | None = None,
    limit: Annotated[int, Field(ge=1, le=500)] = 50,
) -> list[AuditEntry]:
    """The newest entries first; ``before`` a sequence number goes on from there."""
    principal = principal_of(request)
    team = selectors.team_for(principal, "audit.view", team_id)
    return list(selectors.trail_of(principal, team, before=before, limit=limit))


@router.get("/teams/{uuid:team_id}/audit/verify", response=schemas.ChainOut)
def verify_audit(request: HttpRequest, team_id: UUID) -> schemas.ChainOut:
    """Recompute the chain and name the first entry that doesn't fit."""
    team = selectors.team_for(principal_of(request), "audit.view", team_id)
    return schemas.chain_out(verify(team.id))


def _member(row: Membership) -> dict[str, object]:
    return {
        "id": row.id,
        "user_id": row.user_id,
        "name": row.user.name,
        "email": row.user.email,
        "role": row.role,
        "joined_at": row.joined_at,
    }
