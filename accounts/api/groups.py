"""Routes of ``/api/v1`` for a team's groups and their members."""

from uuid import UUID

from django.http import HttpRequest
from ninja import Router
from ninja.pagination import paginate

from accounts import schemas, selectors, services
from accounts.http.auth import api_auth
from accounts.principals import get_principal
from accounts.selectors import GroupOfPeople
from config.http.pages import Listing, Pages, list_rows


router = Router(auth=api_auth(), tags=["accounts"])


@router.get("/teams/{uuid:team_id}/groups", response=list[schemas.GroupOut])
@paginate(Pages)
def list_groups(request: HttpRequest, team_id: UUID) -> Listing[GroupOfPeople]:
    """Return the team's groups with their members."""
    principal = get_principal(request)
    team = selectors.find_team(principal, "team.view", team_id)
    groups = selectors.list_groups(principal, team)
    return list_rows(groups, lambda rows: [schemas.to_group_out(group) for group in rows])


@router.post("/teams/{uuid:team_id}/groups", response={201: schemas.GroupOut})
def create_group(request: HttpRequest, team_id: UUID, body: schemas.GroupIn) -> schemas.GroupOut:
    """Create an empty group. Whatever is shared with it is shared with all its members."""
    principal = get_principal(request)
    team = selectors.find_team(principal, "member.manage", team_id)
    row = services.create_group(principal, team=team, name=body.name)
    return schemas.GroupOut(id=row.pk, name=row.name, members=[])


@router.delete("/groups/{uuid:group_id}", response={204: None})
def delete_group(request: HttpRequest, group_id: UUID) -> None:
    """Delete a group and end everything that was shared with it."""
    services.delete_group(get_principal(request), group_id=group_id)


@router.put("/groups/{uuid:group_id}/members/{uuid:user_id}", response={204: None})
def add_to_group(request: HttpRequest, group_id: UUID, user_id: UUID) -> None:
    """Add a member of the team to a group. Adding a member twice changes nothing."""
    services.add_to_group(get_principal(request), group_id=group_id, user_id=user_id)


@router.delete("/groups/{uuid:group_id}/members/{uuid:user_id}", response={204: None})
def remove_from_group(request: HttpRequest, group_id: UUID, user_id: UUID) -> None:
    """Remove a member from a group; access that came through the group alone ends."""
    services.remove_from_group(get_principal(request), group_id=group_id, user_id=user_id)
