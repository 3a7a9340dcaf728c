"""The team page of many members: page by page, and by a word of a name or an address."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Membership, Role, User
from accounts.tenancy import tenant
from tests.support.cast import Cast
from tests.support.markup import markup_of


pytestmark = pytest.mark.django_db

MANY = 60


@pytest.fixture
def crowd(cast: Cast) -> Cast:
    people = [User(email=f"m{n:02}@example.org", name=f"Member {n:02}") for n in range(MANY)]
    User.objects.bulk_create(people)
    with tenant([cast.team_a.pk]):
        Membership.objects.bulk_create(
            Membership(team=cast.team_a, user=one, role=Role.VIEWER) for one in people
        )
    return cast


def shown(cast: Cast, query: str = "") -> tuple[str, list[str]]:
    page = markup_of(cast.alice.client.get(f"/team/{query}"))
    return page, re.findall(r"Member \d\d(?=</div>|\s*</div>)", page)


def test_members_are_shown_page_by_page(crowd: Cast) -> None:
    first, on_first = shown(crowd)
    last, on_last = shown(crowd, "?page=2")

    assert sorted({*on_first, *on_last}) == [f"Member {n:02}" for n in range(MANY)]
    assert len(on_first) + len(on_last) == MANY
    assert ("Page 1 of 2" in first, "Page 2 of 2" in last) == (True, True)


def test_member_is_found_by_name_and_by_address(crowd: Cast) -> None:
    assert shown(crowd, "?q=member+07")[1] == ["Member 07"]
    assert shown(crowd, "?q=M08%40EXAMPLE")[1] == ["Member 08"]
    assert "No members found." in shown(crowd, "?q=nobody")[0]


def test_stranger_is_found_by_no_word(crowd: Cast) -> None:
    assert crowd.carol.user.email not in shown(crowd, f"?q={crowd.carol.user.name}")[0]


def test_change_leads_back_to_where_in_the_list_one_was(crowd: Cast) -> None:
    with tenant([crowd.team_a.pk]):
        one = Membership.objects.unscoped().get(user__email="m07@example.org")
    page, _found = shown(crowd, "?q=member+0&page=1")
    assert '<input type="hidden" name="at" value="q=member+0&amp;page=1">' in page

    sent = {"role": "editor", "at": "q=member+0&page=1&next=//elsewhere"}
    answer = crowd.alice.client.post(f"/team/members/{one.pk}/role/", sent)

    assert (answer.status_code, answer["Location"]) == (302, "/team/?q=member+0&page=1")


def test_team_of_many_costs_the_questions_of_a_team_of_few(cast: Cast, request: Any) -> None:
    cast.alice.client.get("/team/")
    with CaptureQueriesContext(connection) as few:
        cast.alice.client.get("/team/")
    request.getfixturevalue("crowd")
    with CaptureQueriesContext(connection) as many:
        cast.alice.client.get("/team/")

    assert len(many) == len(few)


def test_what_owners_do_stands_in_two_columns(cast: Cast) -> None:
    page, _people = shown(cast)

    columns = page.split('class="split-even split"')[1]
    parts = re.findall(r'<div class="stack">|id="(team-[a-z]+)"', columns)
    assert parts == ["team-invite", "", "team-open", "team-name"]
