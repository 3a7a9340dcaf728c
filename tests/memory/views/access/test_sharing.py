"""The page that says who can see a namespace, and with whom it is shared."""

import pytest
from django.urls import reverse

from accounts.tenancy import tenant
from memory import services
from memory.models import Namespace
from tests.memory.services.conftest import at_door, in_run
from tests.support.cast import Cast


pytestmark = pytest.mark.django_db


def test_two_lists_turn_their_pages_apart(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory.views.access.sharing.PAGE_SIZE", 2)
    alice = cast.alice
    text = services.remember(in_run(alice), scope="user", key="k", value=1).namespace
    for verb in ("view", "write", "forget"):
        services.share(at_door(alice), namespace=text, verb=verb, recipient=cast.bob.user)
    services.share(at_door(alice), namespace=text, verb="view", recipient=cast.vic.user)
    with tenant([cast.team_a.pk]):
        row = Namespace.objects.unscoped().get(text=text)
    address = reverse("memory:access", args=[row.pk])

    def pages(query: str) -> tuple[int, int]:
        context = alice.client.get(address + query).context
        return context["page"].offset, context["grants_page"].offset

    first = alice.client.get(address).context
    assert (len(first["lines"]), len(first["grants"])) == (2, 2)
    assert pages(first["page"].next_url) == (2, 0)
    assert pages(first["grants_page"].next_url) == (0, 2)
    second = alice.client.get(address + first["page"].next_url).context
    assert pages(second["grants_page"].next_url) == (2, 2)
