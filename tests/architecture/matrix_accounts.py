"""Rows and objects of accounts."""

from __future__ import annotations

from typing import Any

from tests.architecture.matrix_core import Maker, Row
from tests.support.cast import Person


def _team(person: Person, canary: str) -> Any:
    from accounts.services import rename_team

    return rename_team(person.principal, team=person.team, name=canary).id


def _member(person: Person, canary: str) -> Any:
    from accounts.models import Role, User
    from accounts.services import add_member

    user = User.objects.create_user(f"{canary.lower()}@example.org", name=canary)
    return add_member(team=person.team, user=user, role=Role.VIEWER).id


def _invitation(person: Person, canary: str) -> Any:
    from accounts.services import create_invitation

    row, _token = create_invitation(
        person.principal, team=person.team, role="viewer", email=f"{canary.lower()}@example.org"
    )
    return row.id


def _invitation_token(person: Person, canary: str) -> Any:
    from accounts.services import create_invitation

    _row, token = create_invitation(person.principal, team=person.team, role="viewer")
    return token


def _key(person: Person, canary: str) -> Any:
    from accounts.services import issue_key

    row, _secret = issue_key(
        principal=person.principal, team=person.team, name=canary, scopes={"runs:read"}
    )
    return row.id


def _start_token(person: Person, canary: str) -> Any:
    return "no-such-token"


def _group(person: Person, canary: str) -> Any:
    """With the person in it."""
    from accounts.services import add_to_group, create_group
    from accounts.tenancy import tenant

    with tenant([person.team.id]):
        from accounts.models import TeamGroup

        taken = TeamGroup.objects.unscoped().filter(team=person.team).count()
    row = create_group(person.principal, team=person.team, name=f"{canary} {taken}")
    add_to_group(person.principal, group_id=row.id, user_id=person.user.pk)
    return row.id


def _account(person: Person, canary: str) -> Any:
    return person.user.pk


def _person_of_the_trail(person: Person, canary: str) -> Any:
    from accounts import audit
    from accounts.models import AuditPerson
    from accounts.tenancy import tenant

    with tenant([person.team.id]):
        audit.record(
            team_id=person.team.id,
            actor=person.principal.actor,
            action="memory.stored",
            subject=f"user:{canary}",
        )
        audit.read_head(person.team.id)  # writes what was noted
        return AuditPerson.objects.unscoped().get(team_id=person.team.id, person=canary).pk


OBJECTS: dict[str, Maker] = {
    "person of the trail": _person_of_the_trail,
    "team": _team,
    "member": _member,
    "invitation": _invitation,
    "invitation token": _invitation_token,
    "key": _key,
    "group": _group,
    "somebody of the team": _account,
    "start token": _start_token,
}

TEAM = {"team_id": "team"}
MEMBER = {"membership_id": "member"}
INVITATION = {"invitation_id": "invitation"}
KEY = {"key_id": "key"}
GROUP = {"group_id": "group"}
IN_GROUP = {"group_id": "group", "user_id": "somebody of the team"}
MEMBER_OF_GROUP = {"group_id": "group", "member": "somebody of the team"}
NEW_KEY = {"name": "a", "scopes": ["runs:read"]}

# anonymous, outsider, viewer, editor, admin, other team's key
ROWS = [
    # Whoever holds the link may come: the token is the right, and each is tested where it is made.
    Row("GET", "start/<str:token>/", "410 410 410 410 410 410", {"token": "start token"}, foreign=410),
    Row("GET", "invitations/<str:token>/", "200 200 200 200 200 200", {"token": "invitation token"}, foreign=200),
    Row("POST", "invitations/<str:token>/", "- 302 409 409 409 -", {"token": "invitation token"}, {}, foreign=302),
    # One's own account
    Row("GET", "welcome/", "- 200 200 200 200 -"),
    Row("POST", "welcome/", "- 422 422 422 422 -", body={}),
    Row("GET", "profile/", "- 200 200 200 200 -"),
    Row("POST", "profile/", "- 302 302 302 302 -", body={"name": "x"}),
    Row("POST", "profile/password/", "- 422 422 422 422 -", body={}),
    Row("POST", "team/switch/", "- 404 302 302 302 -", {"team": "team"}, {}),
    # Pages of the current team: an outsider sees their own
    Row("GET", "team/", "- 200 200 200 200 -"),
    Row("POST", "team/rename/", "- 302 403 403 403 -", body={"name": "x"}),
    Row("POST", "team/members/<uuid:membership_id>/role/", "- 404 403 403 302 -", MEMBER, {"role": "editor"}),
    Row("POST", "team/members/<uuid:membership_id>/remove/", "- 404 403 403 302 -", MEMBER, {}),
    Row("POST", "team/invitations/", "- 200 403 403 200 -", body={"role": "viewer"}),
    Row("POST", "team/invitations/<uuid:invitation_id>/revoke/", "- 404 403 403 302 -", INVITATION, {}),
    Row("GET", "team/groups/", "- 200 200 200 200 -"),
    Row("POST", "team/groups/", "- 302 403 403 302 -", body={"name": "x"}),
    Row("POST", "team/groups/<uuid:group_id>/add/", "- 404 403 403 302 -", MEMBER_OF_GROUP, {}),
    Row("POST", "team/groups/<uuid:group_id>/remove/", "- 404 403 403 302 -", MEMBER_OF_GROUP, {}),
    Row("POST", "team/groups/<uuid:group_id>/delete/", "- 404 403 403 302 -", GROUP, {}),
    Row("GET", "team/audit/", "- 200 403 403 200 -"),
    Row("POST", "team/audit/verify/", "- 200 403 403 200 -", body={}),
    Row("GET", "team/audit/head/", "- 200 403 403 200 -"),
    Row("POST", "team/audit/export/", "- 200 403 403 200 -", body={"format": "csv"}),
    Row("GET", "team/keys/", "- 200 403 403 200 -"),
    Row("POST", "team/keys/", "- 200 403 403 200 -", body={**NEW_KEY, "days": "30"}),
    Row("GET", "team/keys/<uuid:key_id>/history/", "- 404 403 403 200 -", KEY),
    Row("POST", "team/keys/<uuid:key_id>/history/", "- 404 403 403 302 -", KEY, {"history": "server"}),
    Row("GET", "team/keys/<uuid:key_id>/limits/", "- 404 403 403 200 -", KEY),
    Row("POST", "team/keys/<uuid:key_id>/limits/", "- 404 403 403 302 -", KEY, {"runs_per_day": "5"}),
    Row("GET", "team/keys/<uuid:key_id>/rotate/", "- 404 403 403 200 -", KEY),
    Row("POST", "team/keys/<uuid:key_id>/rotate/", "- 404 403 403 200 -", KEY, {"hours": "24"}),
    Row("POST", "team/keys/<uuid:key_id>/revoke/", "- 404 403 403 302 -", KEY, {}),
    # The API
    Row("GET", "api/v1/me", "- 200 200 200 200 200"),
    Row("GET", "api/v1/teams", "- 200 200 200 200 200"),
    Row("GET", "api/v1/teams/<uuid:team_id>", "- 404 200 200 200 404", TEAM),
    Row("PATCH", "api/v1/teams/<uuid:team_id>", "- 404 403 403 403 404", TEAM, {"name": "x"}),
    Row("GET", "api/v1/teams/<uuid:team_id>/members", "- 404 200 200 200 404", TEAM),
    Row("PATCH", "api/v1/members/<uuid:membership_id>", "- 404 403 403 200 404", MEMBER, {"role": "editor"}),
    Row("DELETE", "api/v1/members/<uuid:membership_id>", "- 404 403 403 204 404", MEMBER),
    Row("GET", "api/v1/teams/<uuid:team_id>/invitations", "- 404 403 403 200 404", TEAM),
    Row("POST", "api/v1/teams/<uuid:team_id>/invitations", "- 404 403 403 201 404", TEAM, {"role": "viewer"}),
    Row("DELETE", "api/v1/invitations/<uuid:invitation_id>", "- 404 403 403 204 404", INVITATION),
    Row("GET", "api/v1/teams/<uuid:team_id>/keys", "- 404 403 403 200 404", TEAM),
    Row("POST", "api/v1/teams/<uuid:team_id>/keys", "- 404 403 403 201 404", TEAM, NEW_KEY),
    Row("GET", "api/v1/teams/<uuid:team_id>/groups", "- 404 200 200 200 404", TEAM),
    Row("POST", "api/v1/teams/<uuid:team_id>/groups", "- 404 403 403 201 404", TEAM, {"name": "x"}),
    Row("DELETE", "api/v1/groups/<uuid:group_id>", "- 404 403 403 204 404", GROUP),
    Row("PUT", "api/v1/groups/<uuid:group_id>/members/<uuid:user_id>", "- 404 403 403 204 404", IN_GROUP),
    Row("DELETE", "api/v1/groups/<uuid:group_id>/members/<uuid:user_id>", "- 404 403 403 204 404", IN_GROUP),
    Row("PUT", "api/v1/keys/<uuid:key_id>/history", "- 404 403 403 200 404", KEY, {"history": "server"}),
    Row("PUT", "api/v1/keys/<uuid:key_id>/limits", "- 404 403 403 200 404", KEY, {"runs_per_day": 5}),
    Row("POST", "api/v1/keys/<uuid:key_id>/rotate", "- 404 403 403 201 404", KEY, {"overlap_hours": 1}),
    Row("GET", "api/v1/teams/<uuid:team_id>/service-accounts", "- 404 403 403 200 404", TEAM),
    Row("DELETE", "api/v1/keys/<uuid:key_id>", "- 404 403 403 204 404", KEY),
    Row("GET", "api/v1/audit", "- 200 403 403 200 403"),
    Row("GET", "api/v1/audit/verify", "- 200 403 403 200 403"),
    Row("GET", "api/v1/audit/head", "- 200 403 403 200 403"),
    Row("GET", "api/v1/audit/export", "- 200 403 403 200 403"),
    Row("GET", "api/v1/teams/<uuid:team_id>/audit", "- 404 403 403 200 404", TEAM),
    Row("GET", "api/v1/teams/<uuid:team_id>/audit/verify", "- 404 403 403 200 404", TEAM),
]  # fmt: skip
