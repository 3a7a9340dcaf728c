"""What the memory API refuses, and how it says so; sharing over HTTP."""

from typing import Any

import pytest

from accounts.tenancy import tenant
from memory import services
from memory.models import Namespace, Policy
from tests.memory.services.conftest import at_door
from tests.support.cast import Cast


pytestmark = pytest.mark.django_db

API = "/api/v1/memory"
PLACE = {"namespace": "user:customer-7"}


def post(client: Any, path: str, body: Any) -> Any:
    return client.post(API + path, body, content_type="application/json")


def test_key_without_the_scope_is_told_which(cast: Cast, api_key: Any) -> None:
    reader = api_key(cast.alice, scopes={"memory:read"})
    writer = api_key(cast.alice, scopes={"memory:write"})

    stored = post(reader, "/entries", {**PLACE, "key": "k", "value": 1})
    listed = writer.get(f"{API}/entries", PLACE)

    assert [(one.status_code, one.json()["error"]["message"]) for one in (stored, listed)] == [
        (403, "This API key doesn't have the permission memory:write."),
        (403, "This API key doesn't have the permission memory:read."),
    ]


def test_language_nobody_knows_is_named(cast: Cast, api_key: Any) -> None:
    answer = post(api_key(cast.alice), "/recall", {**PLACE, "language": "klingon"})

    assert answer.status_code == 422
    assert answer.json()["error"]["message"].startswith("language: unknown language 'klingon'")


def test_value_that_is_too_large_is_413(cast: Cast, api_key: Any) -> None:
    with tenant([cast.team_a.pk]):
        Policy.objects.unscoped().create(team=cast.team_a, max_value_bytes=10)

    answer = post(api_key(cast.alice), "/entries", {**PLACE, "key": "k", "value": "x" * 11})

    assert (answer.status_code, answer.json()["error"]["type"]) == (413, "ValueTooLarge")


def test_namespace_is_shared_and_taken_back_by_whose_it_is_alone(cast: Cast) -> None:
    own = f"user:{cast.bob.user.pk}"
    services.remember(at_door(cast.bob), namespace=own, key="k", value="Miso")
    with tenant([cast.team_a.pk]):
        row = Namespace.objects.unscoped().get(text=own)
    grants = f"{API}/namespaces/{row.pk}/grants"
    grant = {"verb": "view", "member": str(cast.vic.user.pk)}

    def seen() -> int:
        return int(cast.vic.client.get(f"{API}/entries", {"namespace": own}).status_code)

    def ask(client: Any, method: str, **other: Any) -> int:
        body = {**grant, **other}
        answer = getattr(client, method)(grants, body, content_type="application/json")
        return int(answer.status_code)

    assert (ask(cast.ada.client, "post"), seen()) == (404, 404)
    assert (ask(cast.bob.client, "post"), seen()) == (204, 200)
    assert ask(cast.vic.client, "post", member=str(cast.ada.user.pk)) == 403
    assert (ask(cast.bob.client, "delete"), seen()) == (204, 404)
    assert ask(cast.bob.client, "post", member=str(cast.carol.user.pk)) == 404
    assert ask(cast.bob.client, "post", verb="own") == 422
