"""Putting workflows away and getting them back: what is said, where they are then, and what one still sees."""

import re

from django.test import Client
from django.urls import reverse

from accounts.models import AuditEntry
from tests.factories.workflows import make_run, make_workflow, within
from tests.support.cast import Cast, Person
from tests.workflows.views.conftest import text_of
from workflows.models import Workflow
from workflows.services.catalog import folders
from workflows.services.editor import drafts


LIST = reverse("workflows:list")
ARCHIVED = reverse("workflows:archived")
ARCHIVE = reverse("workflows:archive_chosen")
RESTORE = reverse("workflows:restore_chosen")


def place(name: str, workflow: Workflow) -> str:
    return reverse(f"workflows:{name}", args=[workflow.pk])


def names_at(client: Client, address: str) -> list[str]:
    page = text_of(client.get(address))
    return re.findall(r'<td><a href="/workflows/[0-9a-f-]{36}/"[^>]*>([^<]*)</a>', page)


def put_away(person: Person, *names: str) -> list[Workflow]:
    made = [make_workflow(person, name) for name in names]
    return drafts.archive_all(person.principal, workflows=made)


def test_archived_from_its_page_it_is_gone_from_the_list_and_what_is_said_brings_it_back(
    bob: Person,
):
    sales = folders.create_folder(bob.principal, team_id=bob.team.pk, name="Sales")
    workflow = make_workflow(bob, "Weather")
    folders.move_workflows(bob.principal, workflows=[workflow], into=sales)

    gone = bob.client.post(place("archive", workflow), follow=True)
    undo = re.search(
        rf'<form class="toast-back" method="post" action="{RESTORE}">(.*?)</form>',
        text_of(gone),
        re.S,
    )
    assert undo
    fields = dict(re.findall(r'name="(undo|workflow)" value="([^"]*)"', undo[1]))
    home = f"{LIST}?folder={sales.pk}"
    before = names_at(bob.client, home)
    back = bob.client.post(RESTORE, fields, follow=True)

    assert "“Weather” is archived." in text_of(gone)
    assert (before, names_at(bob.client, home)) == ([], ["Weather"])
    assert back.redirect_chain == [(home, 302)]
    assert "Restored “Weather”." in text_of(back)


def test_archived_workflow_is_shown_at_its_address_and_does_nothing(bob: Person):
    (workflow,) = put_away(bob, "Weather")
    run = make_run(bob, workflow)

    page = text_of(bob.client.get(place("detail", workflow)))
    posts = {
        name: bob.client.post(place(name, workflow), {"query": "x", "name": "x"}).status_code
        for name in ("say", "start", "publish", "duplicate", "archive", "rename")
    }

    assert "This workflow is archived." in page
    assert f'action="{place("restore", workflow)}"' in page
    assert page.count("<wf-node ") == 2
    assert 'id="editor"' not in page
    assert set(posts.values()) == {404}
    shown = [bob.client.get(place(name, workflow)) for name in ("export", "picture")]
    assert [answer.status_code for answer in shown] == [200, 200]
    assert bob.client.get(reverse("workflows:run", args=[run.pk])).status_code == 200


def test_restored_from_its_page_it_is_the_editor_again(bob: Person):
    (workflow,) = put_away(bob, "Weather")

    answer = bob.client.post(place("restore", workflow), follow=True)

    assert answer.redirect_chain == [(place("detail", workflow), 302)]
    assert 'id="editor"' in text_of(answer)


def test_viewer_sees_what_is_archived_and_is_offered_no_way_back(cast: Cast):
    (workflow,) = put_away(cast.alice, "Weather")

    pages = [text_of(cast.vic.client.get(at)) for at in (ARCHIVED, place("detail", workflow))]
    answers = [
        cast.vic.client.post(place("restore", workflow)),
        cast.vic.client.post(RESTORE, {"workflow": str(workflow.pk)}),
    ]

    assert all("Weather" in page for page in pages)
    assert not any("/restore/" in page for page in pages)
    assert [answer.status_code for answer in answers] == [403, 403]


def test_list_of_archived_ones_is_the_teams_newest_first_and_searched_by_name(cast: Cast):
    put_away(cast.alice, "Weather", "Invoices")
    put_away(cast.carol, "Theirs")
    make_workflow(cast.alice, "In use")

    listed = names_at(cast.bob.client, ARCHIVED)
    found = names_at(cast.bob.client, f"{ARCHIVED}?q=WEATH")

    assert (listed, found) == (["Invoices", "Weather"], ["Weather"])
    assert f'href="{ARCHIVED}"' in text_of(cast.bob.client.get(LIST))


def test_list_of_archived_ones_asks_as_often_however_many_there_are(
    bob: Person, django_assert_num_queries
):
    client = bob.client
    put_away(bob, "one")
    client.get(ARCHIVED)

    with django_assert_num_queries(13):
        client.get(ARCHIVED)
    put_away(bob, "two", "three")
    with django_assert_num_queries(13):
        client.get(ARCHIVED)


def test_chosen_ones_are_archived_together_and_come_back_together(bob: Person):
    chosen = [make_workflow(bob, name) for name in ("one", "two")]
    make_workflow(bob, "three")
    ids = [str(workflow.pk) for workflow in chosen]

    gone = bob.client.post(f"{ARCHIVE}?q=o", {"workflow": ids}, follow=True)
    left = names_at(bob.client, LIST)
    back = bob.client.post(RESTORE, {"workflow": ids}, follow=True)

    assert gone.redirect_chain == [(f"{LIST}?q=o", 302)]
    assert "Archived 2 workflows." in text_of(gone)
    assert left == ["three"]
    assert back.redirect_chain == [(ARCHIVED, 302)]
    assert "Restored 2 workflows." in text_of(back)
    assert sorted(names_at(bob.client, LIST)) == ["one", "three", "two"]


def test_one_that_may_not_be_archived_keeps_the_others_where_they_are(cast: Cast):
    mine, theirs = make_workflow(cast.bob, "mine"), make_workflow(cast.carol, "theirs")

    answer = cast.bob.client.post(ARCHIVE, {"workflow": [str(mine.pk), str(theirs.pk)]})
    nonsense = cast.bob.client.post(ARCHIVE, {"workflow": ["x"]})
    none = cast.bob.client.post(ARCHIVE, follow=True)

    assert (answer.status_code, nonsense.status_code) == (404, 404)
    assert "Select the workflows to archive." in text_of(none)
    assert names_at(cast.bob.client, LIST) == ["mine"]


def test_restored_twice_is_noted_once(bob: Person):
    (workflow,) = put_away(bob, "Weather")

    for _ in range(2):
        bob.client.post(place("restore", workflow))

    with within(bob):
        noted = AuditEntry.objects.unscoped().filter(action="workflow.restored")
        assert [entry.subject for entry in noted] == [f"workflow:{workflow.pk}"]
