"""``/api/v1`` of groups: those of a team, and who is in them."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest
from ninja import Router, Status

from accounts import schemas, selectors, services
from accounts.auth import api_auth
from accounts.principals import principal_of


router = Router(auth=api_auth(), tags=["accounts"])


@router.get("/teams/{uuid:team_id}/groups", response=list[schemas.GroupOut])
def list_groups(request: HttpRequest, team_id: UUID) -> list[schemas.GroupOut]:
    """Each with who is in it."""
    principal = principal_of(request)
    team = selectors.team_for(principal, "team.view", team_id)
    return [schemas.group_out(one) for one in selectors.groups_of(principal, team)]


@router.post("/teams/{uuid:team_id}/groups", response={201: schemas.GroupOut})
def create_group(
    request: HttpRequest, team_id: UUID, body: schemas.GroupIn
) -> Status[schemas.GroupOut]:
    """Empty at first. What is shared with it, everybody in it has."""
    principal = principal_of(request)
    team = selectors.team_for(principal, "member.manage", team_id)
    row = services.create_group(principal, team=team, name=body.name)
    return Status(201, schemas.GroupOut(id=row.pk, name=row.name, members=[]))


@router.delete("/groups/{uuid:group_id}", response={204: None})
def delete_group(request: HttpRequest, group_id: UUID) -> Status[None]:
    """What was shared with it ends."""
    services.delete_group(principal_of(request), group_id=group_id)
    return Status(204, None)


@router.put("/groups/{uuid:group_id}/members/{uuid:user_id}", response={204: None})
def put_in(request: HttpRequest, group_id: UUID, user_id: UUID) -> Status[None]:
    """Somebody of the team; twice is the same as once."""
    services.put_in(principal_of(request), group_id=group_id, user_id=user_id)
    return Status(204, None)


@router.delete("/groups/{uuid:group_id}/members/{uuid:user_id}", response={204: None})
def take_out(request: HttpRequest, group_id: UUID, user_id: UUID) -> Status[None]:
    """What they had through the group alone ends."""
    services.take_out(principal_of(request), group_id=group_id, user_id=user_id)
    return Status(204, None)
