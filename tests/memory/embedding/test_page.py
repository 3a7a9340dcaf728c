"""The page of limits says how far memory can be found by meaning, to those who look after it."""

import pytest
from django.test import Client
from django.urls import reverse

from memory import services
from memory.upkeep.embedding import embed_team
from tests.memory.services.conftest import at_door
from tests.support.cast import Cast, signed_in
from tests.support.embedding import Tiny


pytestmark = pytest.mark.django_db


def shown(client: Client) -> str:
    return " ".join(client.get(reverse("memory:policy")).content.decode().split())


def test_admins_see_how_far_it_is_and_what_fails(cast: Cast, tiny: Tiny) -> None:
    for key in "ab":
        services.remember(at_door(cast.alice), namespace="global:page", key=key, value="a boat")
    embed_team(cast.team_a.pk)
    tiny.answers = lambda texts: []
    services.remember(at_door(cast.alice), namespace="global:page", key="c", value="a boat")
    embed_team(cast.team_a.pk)

    page = shown(signed_in(cast.alice.user))

    assert "Found by meaning" in page
    assert "2 / 3" in page
    assert "tiny/1" in page
    assert "Not prepared yet: 1." in page
    assert "It gave 0 vectors for 1 texts." in page


def test_members_who_change_no_limits_see_nothing_of_it(cast: Cast, tiny: Tiny) -> None:
    assert "Found by meaning" not in shown(signed_in(cast.bob.user))
    assert "Found by meaning" in shown(signed_in(cast.alice.user))


def test_without_an_embedder_there_is_nothing_to_say(cast: Cast) -> None:
    assert "Found by meaning" not in shown(signed_in(cast.alice.user))
