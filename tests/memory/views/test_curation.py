"""How memory learns, on a page: the team's rule, an application's own, and what became of the last runs."""

from uuid import uuid4

import pytest
from django.db import connection
from django.http import HttpResponseBase
from django.test.utils import CaptureQueriesContext

from accounts.tenancy import tenant
from memory.logic.curation.work import FinishedWork
from memory.logic.review.review_rules import ReviewMode
from memory.models import Curation
from memory.services.curation.learning_rules import (
    LearningRule,
    get_learning_rule,
    list_learning_applications,
)
from tests.memory.services.conftest import at_door
from tests.memory.services.curating import APP, answer, curated, learns, scripted
from tests.support.cast import Cast, Person
from tests.support.markup import markup_of


pytestmark = pytest.mark.django_db

PAGE = "/memory/review/settings/"
RULE = {
    "auto_memory": "on",
    "review": "sample",
    "share": "25",
    "scope": "conversation",
    "provider": "house",
    "model": "small",
    "token_budget": "4000",
    "seconds": "30",
}


def words_of(answer: HttpResponseBase) -> str:
    return markup_of(answer)


def test_rule_of_the_team_holds_until_an_application_has_its_own(alice: Person) -> None:
    assert alice.client.post(PAGE, RULE).status_code == 302
    team = LearningRule(True, "conversation", ReviewMode.SAMPLE, 0.25, "house", "small", 4000, 30)
    assert get_learning_rule(alice.team.pk, APP) == team

    saved = alice.client.post(f"{PAGE}?app={APP}", {**RULE, "review": "all"}, follow=True)

    assert "Saved." in words_of(saved)
    assert get_learning_rule(alice.team.pk, APP).review is ReviewMode.ALL
    assert get_learning_rule(alice.team.pk, "another") == team


def test_wrong_numbers_are_named_and_change_nothing(alice: Person) -> None:
    answer = alice.client.post(PAGE, {**RULE, "share": "101", "token_budget": "3"})

    assert answer.status_code == 422
    assert words_of(answer).count('class="errorlist"') == 2
    assert get_learning_rule(alice.team.pk, APP) == LearningRule()


def test_application_is_asked_for_once_however_often_it_learnt(alice: Person) -> None:
    with tenant([alice.team.pk]):
        Curation.objects.unscoped().bulk_create(
            Curation(team_id=alice.team.pk, run_id=uuid4(), app_id=APP) for _ in range(30)
        )

    with CaptureQueriesContext(connection) as asked:
        listed = list_learning_applications(at_door(alice))

    assert [one.app_id for one in listed] == ["", APP]
    (of_curations,) = [one["sql"] for one in asked if 'FROM "memory_curation"' in one["sql"]]
    with connection.cursor() as cursor, tenant([alice.team.pk]):
        cursor.execute(of_curations)
        assert cursor.fetchall() == [(APP,)]


def test_applications_that_learn_are_listed_with_whose_rule_they_follow(alice: Person) -> None:
    learns(alice)
    alice.client.post(PAGE, RULE)

    page = words_of(alice.client.get(PAGE))

    assert "Whole team" in page
    assert f"?app={APP}" in page
    assert page.count("On</span>") == 2


def test_viewer_reads_the_rule_and_does_not_change_it(cast: Cast) -> None:
    page = words_of(cast.vic.client.get(PAGE))

    assert "Only editors can change this." in page
    assert cast.vic.client.post(PAGE, RULE).status_code == 403
    assert get_learning_rule(cast.team_a.pk, "") == LearningRule()


def test_run_that_taught_nothing_is_shown_with_that(cast: Cast) -> None:
    alice = cast.alice
    learns(alice)
    ask, _ = scripted(answer(key_learnings=["Green tea wants eighty degrees of heat."]))
    row = curated(alice, FinishedWork("Tea"), ask=ask)
    taught = words_of(alice.client.get(PAGE))
    with tenant([cast.team_a.pk]):
        Curation.objects.unscoped().filter(pk=row.pk).update(counts={"proposed": 0})

    nothing = words_of(alice.client.get(PAGE))

    assert ("nothing to store" in taught, "nothing to store" in nothing) == (False, True)


def test_failed_curation_is_shown_with_its_reason_and_tried_again(cast: Cast) -> None:
    alice = cast.alice
    learns(alice)
    ask, _ = scripted("no JSON at all")
    row = curated(alice, FinishedWork("t"), ask=ask)

    page = words_of(alice.client.get(PAGE))

    assert row.problem in page.replace("&#x27;", "'").replace("&quot;", '"')
    assert "Failed" in page
    address = f"/memory/curations/{row.pk}/retry/"
    assert cast.bob.client.post(address).status_code == 404
    assert "Retrying in the background" in words_of(alice.client.post(address, follow=True))
    assert "Only failed curations" in words_of(alice.client.post(address, follow=True))
