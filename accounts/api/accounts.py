"""Routes of ``/api/v1`` for people and teams."""

import datetime as dt
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from ninja import Router
from ninja.pagination import paginate

from accounts import schemas, selectors, services
from accounts.api.audit import list_audit
from accounts.audit import verify
from accounts.http.auth import api_auth
from accounts.models import ApiKey, AuditEntry, Invitation, Membership, ServiceAccount, Team
from accounts.principals import KeyPrincipal, UserPrincipal, get_current_team_id, get_principal
from accounts.services import trail
from config.http.pages import KeysetListing, Listing, Pages, list_rows


router = Router(auth=api_auth(), tags=["accounts"])


@router.get("/me", response=schemas.MeOut)
def read_me(request: HttpRequest) -> dict[str, object]:
    """Return the person or API key that the request authenticates; for a key also its scopes and its expiry."""
    principal = get_principal(request)
    key = principal.key if isinstance(principal, KeyPrincipal) else None
    name = str(principal.user) if isinstance(principal, UserPrincipal) else principal.actor
    return {
        "kind": principal.kind,
        "actor": principal.actor,
        "name": key.name if key else name,
        "key": key,
        "teams": list(selectors.list_teams(principal)),
        "current_team": get_current_team_id(request) if principal.team_ids else None,
    }


@router.get("/teams", response=list[schemas.TeamOut])
@paginate(Pages)
def list_teams(request: HttpRequest) -> QuerySet[Team]:
    """Return the teams that you belong to; an API key belongs to one."""
    return selectors.list_teams(get_principal(request))


@router.get("/teams/{uuid:team_id}", response=schemas.TeamOut)
def read_team(request: HttpRequest, team_id: UUID) -> Team:
    """Return a team's name, and the short name in its URLs."""
    return selectors.find_team(get_principal(request), "team.view", team_id)


@router.patch("/teams/{uuid:team_id}", response=schemas.TeamOut)
def rename_team(request: HttpRequest, team_id: UUID, body: schemas.TeamIn) -> Team:
    """Rename a team. Only an owner may do so."""
    principal = get_principal(request)
    team = selectors.find_team(principal, "team.manage", team_id)
    return services.rename_team(principal, team=team, name=body.name)


@router.get("/teams/{uuid:team_id}/members", response=list[schemas.MemberOut])
@paginate(Pages)
def list_members(request: HttpRequest, team_id: UUID) -> Listing[Membership]:
    """Return the members of the team with their roles."""
    principal = get_principal(request)
    team = selectors.find_team(principal, "team.view", team_id)
    members = selectors.list_members(principal, team)
    return list_rows(members, lambda rows: [_build_member(row) for row in rows])


@router.patch("/members/{uuid:membership_id}", response=schemas.MemberOut)
def change_role(
    request: HttpRequest, membership_id: UUID, body: schemas.RoleIn
) -> dict[str, object]:
    """Change a member's role, as an admin.

    Only owners may grant or remove the owner role, and a team keeps at least one owner.
    """
    principal = get_principal(request)
    membership = services.change_role(principal, membership_id=membership_id, role=body.role)
    return _build_member(membership)


@router.delete("/members/{uuid:membership_id}", response={204: None})
def remove_member(request: HttpRequest, membership_id: UUID) -> None:
    """Remove a member and everything that was shared with them. Any member may remove themselves."""
    services.remove_member(get_principal(request), membership_id=membership_id)


@router.get("/teams/{uuid:team_id}/invitations", response=list[schemas.InvitationOut])
@paginate(Pages)
def list_invitations(request: HttpRequest, team_id: UUID) -> QuerySet[Invitation]:
    """Return the open invitations, without their links. You need the permission to manage members."""
    principal = get_principal(request)
    team = selectors.find_team(principal, "member.manage", team_id)
    return selectors.list_invitations(principal, team)


@router.post("/teams/{uuid:team_id}/invitations", response={201: schemas.NewInvitationOut})
def create_invitation(
    request: HttpRequest, team_id: UUID, body: schemas.InvitationIn
) -> dict[str, object]:
    """Create an invitation. The response contains its link, which is not shown again."""
    principal = get_principal(request)
    team = selectors.find_team(principal, "member.manage", team_id)
    row, token = services.create_invitation(principal, team=team, role=body.role, email=body.email)
    url = request.build_absolute_uri(reverse("accounts:invitation", args=[token]))
    return {**schemas.InvitationOut.from_orm(row).dict(), "url": url}


@router.delete("/invitations/{uuid:invitation_id}", response={204: None})
def revoke_invitation(request: HttpRequest, invitation_id: UUID) -> None:
    """Revoke an invitation; its link stops working."""
    services.revoke_invitation(get_principal(request), invitation_id=invitation_id)


@router.get("/teams/{uuid:team_id}/keys", response=list[schemas.KeyOut])
@paginate(Pages)
def list_keys(request: HttpRequest, team_id: UUID) -> QuerySet[ApiKey]:
    """Return the team's API keys, without their secrets. You need the permission to manage keys."""
    principal = get_principal(request)
    team = selectors.find_team(principal, "key.manage", team_id)
    return selectors.list_keys(principal, team)


@router.post("/teams/{uuid:team_id}/keys", response={201: schemas.NewKeyOut})
def issue_key(request: HttpRequest, team_id: UUID, body: schemas.KeyIn) -> dict[str, object]:
    """Create an API key. The response contains its secret, which is not shown again."""
    principal = get_principal(request)
    team = selectors.find_team(principal, "key.manage", team_id)
    key, secret = services.issue_key(
        principal=principal,
        team=team,
        workflow_id=body.workflow,
        service_account_id=body.service_account,
        limits=(body.limits or schemas.KeyLimitsIn()).dict(),
        **body.dict(exclude={"workflow", "service_account", "limits"}),
    )
    return _serialize_new_key(key, secret)


@router.post("/keys/{uuid:key_id}/rotate", response={201: schemas.NewKeyOut})
def rotate_key(
    request: HttpRequest, key_id: UUID, body: schemas.KeyRotationIn
) -> dict[str, object]:
    """Replace an API key by a new one with the same rights, which opens the same conversations, runs and memory.

    The response contains its secret, which is not shown again.
    """
    overlap = dt.timedelta(hours=body.overlap_hours)
    key, secret = services.rotate_key(get_principal(request), key_id=key_id, overlap=overlap)
    return _serialize_new_key(key, secret)


@router.get("/teams/{uuid:team_id}/service-accounts", response=list[schemas.ServiceAccountOut])
@paginate(Pages)
def list_service_accounts(request: HttpRequest, team_id: UUID) -> QuerySet[ServiceAccount]:
    """Return the team's service accounts. You need the permission to manage keys."""
    principal = get_principal(request)
    team = selectors.find_team(principal, "key.manage", team_id)
    return services.list_service_accounts(principal, team)


@router.put("/keys/{uuid:key_id}/limits", response=schemas.KeyOut)
def change_key_limits(request: HttpRequest, key_id: UUID, body: schemas.KeyLimitsIn) -> ApiKey:
    """Set the limits of an API key, from its next request on. A limit that is left out ends."""
    limits = body.dict()
    return services.change_key_limits(get_principal(request), key_id=key_id, limits=limits)


@router.put("/keys/{uuid:key_id}/history", response=schemas.KeyOut)
def change_key_history(request: HttpRequest, key_id: UUID, body: schemas.KeyHistoryIn) -> ApiKey:
    """Set who keeps the conversations of programs for OpenAI's API that use an API key, from its next request on."""
    return services.change_key_history(get_principal(request), key_id=key_id, history=body.history)


@router.delete("/keys/{uuid:key_id}", response={204: None})
def revoke_key(request: HttpRequest, key_id: UUID) -> None:
    """Revoke an API key immediately."""
    services.revoke_key(get_principal(request), key_id=key_id)


@router.get("/teams/{uuid:team_id}/audit", response=list[schemas.AuditOut])
@paginate(Pages)
def read_audit(request: HttpRequest, team_id: UUID) -> KeysetListing[AuditEntry]:
    """Return the entries of the audit trail of a team, newest first."""
    principal = get_principal(request)
    team = selectors.find_team(principal, "audit.view", team_id)
    return list_audit(principal, team, trail.AuditFilter())


@router.get("/teams/{uuid:team_id}/audit/verify", response=schemas.ChainOut)
def verify_audit(request: HttpRequest, team_id: UUID) -> schemas.ChainOut:
    """Verify the audit trail's hash chain and return the first entry that doesn't fit."""
    team = selectors.find_team(get_principal(request), "audit.view", team_id)
    return schemas.to_chain_out(verify(team.id))


def _build_member(row: Membership) -> dict[str, object]:
    return {
        "id": row.id,
        "user_id": row.user_id,
        "name": row.user.name,
        "email": row.user.email,
        "role": row.role,
        "joined_at": row.joined_at,
    }


def _serialize_new_key(key: ApiKey, secret: str) -> dict[str, object]:
    ids = {"workflow_id": key.workflow_id, "service_account_id": key.service_account_id}
    fields = schemas.KeyOut.from_orm(key).dict(exclude={"workflow", "service_account"})
    return {**fields, **ids, "secret": secret}
