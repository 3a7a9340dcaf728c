"""The cast is who it says it is: every permission test leans on that."""

from collections.abc import Callable
from typing import Any

from accounts.models import Role
from tests.support.cast import Cast


def test_cast_roles_are_as_told(cast: Cast):
    roles = {
        name: person.principal.get_role(cast.team_a.id) for name, person in cast.people.items()
    }

    assert roles == {
        "alice": Role.OWNER,
        "ada": Role.ADMIN,
        "bob": Role.EDITOR,
        "vic": Role.VIEWER,
        "carol": None,
    }
    assert cast.carol.principal.get_role(cast.team_b.id) == Role.OWNER


def test_cast_client_is_signed_in(cast: Cast):
    assert cast.bob.client.session["_auth_user_id"] == str(cast.bob.user.pk)


def test_api_key_client_carries_a_key_of_the_persons_team(cast: Cast, api_key: Callable[..., Any]):
    client = api_key(cast.carol, scopes={"runs:read"})

    assert (client.key.team_id, client.key.scopes) == (cast.team_b.id, ["runs:read"])
