"""The first page and the gallery."""

from django.urls import reverse

from tests.factories.workflows import make_run, make_workflow, within
from tests.support.cast import Cast, Person
from tests.workflows.views.conftest import text_of
from workflows.models import Workflow


HOME = reverse("home")
GALLERY = reverse("workflows:samples")


def copy(slug: str) -> str:
    return reverse("workflows:copy_sample", args=[slug])


def test_home_of_a_new_team_offers_the_first_sample(alice: Person):
    page = text_of(alice.client.get(HOME))

    assert copy("chatbot") in page
    assert "Your runs" not in page


def test_home_shows_the_teams_workflows_and_ones_own_runs(cast: Cast):
    workflow = make_workflow(cast.alice, "Weather")
    make_run(cast.alice, workflow)

    seen = {name: text_of(person.client.get(HOME)) for name, person in cast.people.items()}

    assert {name for name, page in seen.items() if "Weather" in page} == {
        "alice",
        "ada",
        "bob",
        "vic",
    }
    assert {name for name, page in seen.items() if "Your runs" in page} == {"alice"}


def test_home_with_one_and_with_three_of_each_asks_as_often(
    alice: Person, django_assert_num_queries
):
    client = alice.client

    def add() -> None:
        make_run(alice, make_workflow(alice))

    add()
    client.get(HOME)
    with django_assert_num_queries(28):
        client.get(HOME)
    add()
    add()
    with django_assert_num_queries(28):
        client.get(HOME)


def test_gallery_explains_every_sample_and_begins_with_the_chatbot(alice: Person):
    page = text_of(alice.client.get(GALLERY))

    assert [page.count(copy(slug)) for slug in ("chatbot", "exchange", "scopes")] == [1, 1, 1]
    assert page.index(copy("chatbot")) < page.index(copy("exchange"))
    assert page.count("<li>") >= 12


def test_sample_that_is_used_becomes_a_workflow_of_the_team(bob: Person, alice: Person):
    answer = bob.client.post(copy("exchange"), follow=True)

    with within(alice):
        made = Workflow.objects.visible_to(alice.principal).get()
    assert (made.sample, made.team_id) == ("exchange", bob.team.pk)
    assert answer.redirect_chain == [(reverse("workflows:detail", args=[made.pk]), 302)]
    assert "Copy created" in text_of(answer)


def test_sample_there_is_none_of_is_not_found(alice: Person):
    assert alice.client.post(copy("no-such")).status_code == 404
