"""A dry run of erasing leaves nothing behind, not even that somebody was asked for."""

from typing import Any

import pytest

from accounts.models.persons import AuditPerson
from accounts.tenancy import tenant
from tests.support.cast import Cast


pytestmark = pytest.mark.django_db


def known(cast: Cast) -> list[str]:
    with tenant([cast.team_a.pk]):
        found = AuditPerson.objects.unscoped().filter(team_id=cast.team_a.pk)
        return list(found.values_list("person", flat=True))


def test_dry_run_of_somebody_never_heard_of_counts_nothing_and_notes_nobody(
    cast: Cast, api_key: Any
) -> None:
    key = api_key(cast.alice)
    address, asked = "/api/v1/memory/subjects/nobody-ever/erase", {"dry_run": True}

    for _ in range(2):
        answer = key.post(address, asked, content_type="application/json")
        assert answer.status_code == 200, answer.content
        assert {*answer.json()["tables"].values()} == {0}, answer.json()
    refused = [
        who.client.post(address, asked, content_type="application/json").status_code
        for who in (cast.alice, cast.ada, cast.bob)
    ]

    assert refused == [404, 404, 404]
    assert known(cast) == []


def test_page_of_somebody_never_heard_of_notes_nobody(cast: Cast) -> None:
    answer = cast.alice.client.post("/memory/erase/", {"whose": "other", "person": "nobody-ever"})

    assert answer.status_code == 404
    assert known(cast) == []
