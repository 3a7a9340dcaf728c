"""Groups of members: sharing with one is sharing with whoever is in it at the moment."""

from typing import Any

import pytest

from accounts import access, selectors
from accounts.errors import NameTaken, NotAllowed, NotFound
from accounts.models import AuditEntry, Membership
from accounts.services import (
    add_to_group,
    create_group,
    delete_group,
    remove_from_group,
    remove_member,
)
from accounts.tenancy import tenant
from tests.support.cast import Cast
from tests.support.markup import markup_of


pytestmark = pytest.mark.django_db


@pytest.fixture
def support(cast: Cast) -> Any:
    return create_group(cast.ada.principal, team=cast.team_a, name="Support")


def membership(cast: Cast, name: str) -> Membership:
    with tenant([cast.team_a.pk]):
        return Membership.objects.unscoped().get(user=cast.people[name].user, team=cast.team_a)


def test_group_brings_its_grants_to_who_is_in_it_and_takes_them_along(cast: Cast, support: Any):
    shared = membership(cast, "alice")  # anything of the team
    access.grant(support.group, "workflow.edit", shared)
    asked = ("workflow.edit", shared)
    assert not access.can(cast.vic.principal, *asked)

    add_to_group(cast.ada.principal, group_id=support.pk, user_id=cast.vic.user.pk)
    assert access.can(cast.vic.principal, *asked)
    assert access.list_grants(shared) == [access.Grant("workflow.edit", group=support)]

    remove_from_group(cast.ada.principal, group_id=support.pk, user_id=cast.vic.user.pk)
    assert not access.can(cast.vic.principal, *asked)


def test_member_who_leaves_the_team_leaves_its_groups(cast: Cast, support: Any):
    add_to_group(cast.ada.principal, group_id=support.pk, user_id=cast.vic.user.pk)

    with tenant([cast.team_a.pk]):
        remove_member(cast.ada.principal, membership_id=membership(cast, "vic").pk)

    assert not support.group.user_set.exists()


def test_group_that_is_deleted_ends_what_was_shared_with_it(cast: Cast, support: Any):
    shared = membership(cast, "alice")
    access.grant(support.group, "workflow.edit", shared)
    add_to_group(cast.ada.principal, group_id=support.pk, user_id=cast.vic.user.pk)

    delete_group(cast.ada.principal, group_id=support.pk)

    assert access.list_grants(shared) == []
    assert not access.can(cast.vic.principal, "workflow.edit", shared)
    with tenant([cast.team_a.pk]):
        last = AuditEntry.objects.unscoped().filter(action="group.deleted").get()
    assert (last.subject, last.detail) == (f"group:{support.pk}", {"name": "Support", "grants": 1})


def test_group_of_another_team_is_neither_found_nor_given_anything(cast: Cast, support: Any):
    with tenant([cast.team_b.pk]):
        theirs = Membership.objects.unscoped().get(user=cast.carol.user)
        with pytest.raises(NotFound):
            add_to_group(cast.carol.principal, group_id=support.pk, user_id=cast.carol.user.pk)
    with pytest.raises(NotAllowed):
        access.grant(support.group, "workflow.edit", theirs)
    with pytest.raises(NotFound):  # nor is a stranger put into ours
        add_to_group(cast.ada.principal, group_id=support.pk, user_id=cast.carol.user.pk)


@pytest.mark.parametrize("name", ["support", " SUPPORT "])
def test_name_is_there_once_whatever_its_letters(cast: Cast, support: Any, name: str):
    with pytest.raises(NameTaken):
        create_group(cast.ada.principal, team=cast.team_a, name=name)


@pytest.mark.parametrize("name", ["bob", "vic"])
def test_groups_are_made_by_who_manages_members(cast: Cast, support: Any, name: str):
    person = cast.people[name]

    with pytest.raises(NotAllowed):
        create_group(person.principal, team=cast.team_a, name="Mine")
    with pytest.raises(NotAllowed):
        add_to_group(person.principal, group_id=support.pk, user_id=person.user.pk)
    with tenant([cast.team_a.pk]):
        assert [one.row for one in selectors.list_groups(person.principal, cast.team_a)] == [
            support
        ]


def test_page_makes_fills_and_deletes_a_group(cast: Cast):
    client = cast.ada.client
    assert "No groups yet" in markup_of(client.get("/team/groups/"))

    client.post("/team/groups/", {"name": "Support"})
    with tenant([cast.team_a.pk]):
        (one,) = selectors.list_groups(cast.ada.principal, cast.team_a)
    client.post(f"/team/groups/{one.row.pk}/add/", {"member": str(cast.vic.user.pk)})
    shown = markup_of(client.get("/team/groups/"))
    assert ("Support" in shown, "Remove" in shown) == (True, True)
    again = client.post("/team/groups/", {"name": "support"})
    assert (again.status_code, "is already taken" in markup_of(again)) == (422, True)
    assert client.post(f"/team/groups/{one.row.pk}/add/", {"member": "x"}).status_code == 404
    seen = markup_of(cast.vic.client.get("/team/groups/"))
    assert ("Support" in seen, "Remove" in seen) == (True, False)

    client.post(f"/team/groups/{one.row.pk}/delete/")
    assert "No groups yet" in markup_of(client.get("/team/groups/"))


def test_page_of_groups_asks_as_often_for_many_as_for_one_and_shows_twenty(
    cast: Cast, support: Any, django_assert_num_queries: Any
):
    client = cast.ada.client
    add_to_group(cast.ada.principal, group_id=support.pk, user_id=cast.vic.user.pk)
    client.get("/team/groups/")
    with django_assert_num_queries(QUERIES):
        client.get("/team/groups/")
    for number in range(21):
        create_group(cast.ada.principal, team=cast.team_a, name=f"G{number:02}")

    with django_assert_num_queries(QUERIES):
        first = markup_of(client.get("/team/groups/"))
    last = markup_of(client.get("/team/groups/?page=2"))

    shown = [page.count('aria-labelledby="group-') for page in (first, last)]
    assert (shown, "Page 1 of 2" in first, "Support" in last) == ([20, 2], True, True)


QUERIES = 17


def test_in_a_large_team_a_member_is_typed_instead_of_chosen(
    cast: Cast, support: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("accounts.views.groups.MAX_CHOICES", 3)
    client, address = cast.ada.client, f"/team/groups/{support.pk}/add/"

    page = markup_of(client.get("/team/groups/"))
    assert ("<select" in page.partition("<main")[2], page.count("<option value=")) == (False, 4)
    assert client.post(address, {"member": "VIC@example.org "}).status_code == 302
    stranger = client.post(address, {"member": cast.carol.user.email}, follow=True)

    assert f"has this email address: {cast.carol.user.email}" in markup_of(stranger)
    with tenant([cast.team_a.pk]):
        (one,) = selectors.list_groups(cast.ada.principal, cast.team_a)
    assert one.people == (cast.vic.user,)


@pytest.mark.parametrize(("who", "status"), [("ada", 302), ("bob", 403), ("carol", 404)])
def test_slip_in_an_address_is_told_to_who_may_fill_the_group_alone(
    cast: Cast, support: Any, who: str, status: int
):
    person = cast.carol if who == "carol" else cast.people[who]

    sent = person.client.post(f"/team/groups/{support.pk}/add/", {"member": "nobody@example.org"})

    assert sent.status_code == status


def test_api_makes_fills_and_deletes_a_group(cast: Cast):
    client, team = cast.ada.client, cast.team_a.pk
    made = client.post(f"/api/v1/teams/{team}/groups", {"name": "S"}, "application/json").json()
    inside = f"/api/v1/groups/{made['id']}/members/{cast.vic.user.pk}"

    assert client.put(inside).status_code == 204
    listed = cast.vic.client.get(f"/api/v1/teams/{team}/groups").json()["items"]
    assert listed == [{"id": made["id"], "name": "S", "members": [str(cast.vic.user.pk)]}]
    assert client.delete(inside).status_code == 204
    assert client.delete(f"/api/v1/groups/{made['id']}").status_code == 204
    assert client.get(f"/api/v1/teams/{team}/groups").json()["items"] == []
