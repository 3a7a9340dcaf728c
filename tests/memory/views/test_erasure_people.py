"""Whom the page of erasing offers while a name is typed."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.personas import make_persona_id
from memory import services
from memory.core.errors import MemoryFault
from memory.services.erasure.erasure_jobs import find_subject, plan_erasure
from tests.memory.services.conftest import at_door, in_run
from tests.support.cast import Person
from tests.support.markup import markup_of


pytestmark = pytest.mark.django_db

PEOPLE = "/memory/erase/people/"


def told(person: Person, who: str, **more: Any) -> None:
    run = in_run(person, user_id=who, **more)
    services.remember(run, scope="user", key="k", value="green tea")


def offered(person: Person, typed: str = "") -> dict[str, str]:
    """What would be put into the field, and what people read beside it."""
    answer = person.client.get(PEOPLE, {"person": typed})
    assert answer.status_code == 200
    return dict(re.findall(r'<option value="([^"]*)">([^<]*)</option>', markup_of(answer)))


@pytest.fixture
def world(alice: Person, bob: Person, ada: Person, carol: Person) -> dict[str, str]:
    """Everybody of whom something is remembered, by who they are."""
    ids = {
        "outside": "customer-7",
        "other": "mia@shop.example",
        "bobs": make_persona_id("ben", bob.user.pk),
        "adas": make_persona_id("eve", ada.user.pk),
    }
    told(ada, ids["outside"], outside=True)
    told(ada, ids["other"], outside=True)
    told(bob, ids["bobs"], outside=True)
    told(ada, ids["adas"], outside=True)
    told(bob, str(bob.user.pk))
    told(carol, "customer-of-carol", outside=True)
    return ids


def test_owner_is_offered_members_by_address_and_everybody_remembered(
    alice: Person, bob: Person, ada: Person, world: dict[str, str]
) -> None:
    found = offered(alice)

    assert set(found) >= {bob.user.email, ada.user.email, *world.values()}
    assert alice.user.email not in found  # who has "Mine" for themselves
    assert str(bob.user.pk) not in found
    assert "customer-of-carol" not in found
    assert found["customer-7"] == "customer-7 (external user)"
    assert set(offered(alice, "SHOP.ex")) == {"mia@shop.example"}
    assert set(offered(alice, bob.user.email[:4])) >= {bob.user.email}
    assert offered(alice, "zebra") == offered(alice, "%") == {}
    assert offered(alice, "user:") == {}  # of the id is looked for, not of how it is kept


def test_admin_is_offered_who_has_no_account_and_their_own_test_persons(
    ada: Person, world: dict[str, str]
) -> None:
    assert set(offered(ada)) == {world["outside"], world["other"], world["adas"]}


@pytest.mark.parametrize("who", ["alice", "ada"])
def test_offered_is_who_may_be_erased_and_nobody_else(
    who: str, request: pytest.FixtureRequest, bob: Person, world: dict[str, str]
) -> None:
    person: Person = request.getfixturevalue(who)
    found, door = offered(person), at_door(person)

    for said in (*world.values(), bob.user.email, "customer-of-carol"):
        try:
            plan_erasure(door, subject=find_subject(door, said))
        except MemoryFault:
            assert said not in found
        else:
            assert said in found


def test_who_leads_nothing_is_offered_nobody(
    bob: Person, vic: Person, carol: Person, world: dict[str, str]
) -> None:
    for person in (bob, vic):
        assert person.client.get(PEOPLE).status_code == 404
        assert "erase-people" not in markup_of(person.client.get("/memory/erase/"))
    assert set(offered(carol)) == {"customer-of-carol"}


def test_field_asks_for_them_as_one_types_and_many_are_cut(alice: Person) -> None:
    page = markup_of(alice.client.get("/memory/erase/"))
    assert f'hx-get="{PEOPLE}"' in page
    assert 'list="erase-people"' in page
    assert '<datalist id="erase-people">' in page
    for number in range(23):
        told(alice, f"person-{number:02}", outside=True)

    assert [*offered(alice, "person-")] == [f"person-{number:02}" for number in range(20)]
    assert [*offered(alice, "person-22")] == ["person-22"]


def test_offering_asks_as_often_for_many_as_for_one(alice: Person) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as questions:
            offered(alice)
        return len(questions)

    told(alice, "person-1", outside=True)
    asked()
    once = asked()
    for number in range(2, 9):
        told(alice, f"person-{number}", outside=True)

    assert asked() == once
