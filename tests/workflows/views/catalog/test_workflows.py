"""The list of workflows, the page of one, and what is done with it as a whole."""

import re
from dataclasses import replace

import pytest
from django.urls import reverse

from tests.factories.workflows import document, make_run, make_version, make_workflow, within
from tests.support.cast import Cast, Person
from tests.workflows.views.conftest import text_of
from workflows.models import Run, Workflow
from workflows.services import publishing
from workflows.services.editor import drafts
from workflows.services.editor.drafts import load_draft


LIST = reverse("workflows:list")


def place(name: str, workflow: Workflow) -> str:
    return reverse(f"workflows:{name}", args=[workflow.pk])


def fresh(person: Person, workflow: Workflow) -> Workflow:
    with within(person):
        return Workflow.objects.visible_to(person.principal).get(pk=workflow.pk)


@pytest.mark.django_db
def test_list_with_one_and_with_three_workflows_asks_as_often(
    alice: Person, django_assert_num_queries
):
    client = alice.client
    make_workflow(alice, "one")
    client.get(LIST)

    with django_assert_num_queries(14):
        client.get(LIST)
    make_version(alice, make_workflow(alice, "two"))
    make_version(alice, make_workflow(alice, "three"))
    with django_assert_num_queries(14):
        page = text_of(client.get(LIST))

    assert all(f">{name}</a>" in page for name in ("one", "two", "three"))


def test_search_finds_by_part_of_the_name_whatever_the_case(alice: Person):
    make_workflow(alice, "Weather report")
    make_workflow(alice, "Invoices")

    page = text_of(alice.client.get(LIST, {"q": " WEATHER "}))
    nothing = text_of(alice.client.get(LIST, {"q": "<b>"}))

    assert ("Weather report" in page, "Invoices" in page) == (True, False)
    assert "No workflows match “&lt;b&gt;”." in nothing


def test_list_of_a_new_team_says_what_to_do(carol: Person):
    page = text_of(carol.client.get(LIST))

    assert "No workflows yet" in page
    assert "http://testserver/api/v1/workflows" in page


@pytest.mark.parametrize(
    ("who", "may"), [("alice", True), ("ada", True), ("bob", True), ("vic", False)]
)
def test_page_of_a_workflow_offers_changes_to_those_who_may_make_them(
    cast: Cast, who: str, may: bool
):
    workflow = make_workflow(cast.alice, "Weather")
    unpublished = text_of(cast.people[who].client.get(place("detail", workflow)))
    publishing.publish(cast.alice.principal, workflow=workflow)

    page = text_of(cast.people[who].client.get(place("detail", workflow)))

    tag = "button" if may else "span"  # the name is edited where it stands
    name_pattern = rf'<h1 [^>]*>\s*<{tag} [^>]*id="workflow-name"[^>]*>\s*Weather\s*</{tag}>'
    assert re.search(name_pattern, page)
    assert {
        name: f'="{place(name, workflow)}"' in page
        for name in ("publish", "rename", "replace", "duplicate", "archive")
    } == dict.fromkeys(("publish", "rename", "replace", "duplicate", "archive"), may)
    assert place("start", workflow) in page  # viewers may run what is published
    assert (place("start", workflow) in unpublished) == may
    assert page.count("<wf-node ") == 2


def test_page_of_a_workflow_asks_for_what_its_start_node_wants(alice: Person):
    workflow = make_workflow(alice, source=document(label="Your text", max_length=80))

    page = text_of(alice.client.get(place("detail", workflow)))

    assert '<label for="input-text">Your text' in page
    assert 'maxlength="80"' in page


def test_page_of_a_workflow_lists_ones_own_runs_of_it_alone(cast: Cast):
    workflow, other = make_workflow(cast.alice), make_workflow(cast.alice)
    make_run(cast.alice, workflow, inputs={"text": "by alice"})
    make_run(cast.bob, workflow, inputs={"text": "by bob"})
    make_run(cast.alice, other, inputs={"text": "elsewhere"})

    page = text_of(cast.alice.client.get(place("detail", workflow)))

    assert [words in page for words in ("by alice", "by bob", "elsewhere")] == [True, False, False]


def test_draft_with_problems_names_all_of_them(alice: Person):
    source = document()
    source["nodes"][1]["data"]["outputs"][0]["value_selector"] = ["nowhere", "text"]
    workflow = make_workflow(alice, source=source)

    page = text_of(alice.client.get(place("detail", workflow)))
    problems = text_of(alice.client.get(place("problems", workflow)))

    assert "data-problem-words>1 problem<" in page
    assert "Reads text of a node that doesn&#x27;t exist" in problems


def test_rename_changes_name_and_description(bob: Person):
    workflow = make_workflow(bob, "Before")
    form = text_of(bob.client.get(place("rename", workflow)))

    answer = bob.client.post(
        place("rename", workflow), {"name": "After", "description": "Tells the weather."}
    )

    assert 'value="Before"' in form
    assert (answer.status_code, answer["Location"]) == (302, place("detail", workflow))
    after = fresh(bob, workflow)
    assert (after.name, after.description) == ("After", "Tells the weather.")


@pytest.mark.parametrize(("name", "status"), [("", 422), ("x" * 256, 422), ("   ", 422)])
def test_rename_to_what_is_no_name_keeps_the_old_one(bob: Person, name: str, status: int):
    workflow = make_workflow(bob, "Before")

    answer = bob.client.post(place("rename", workflow), {"name": name})

    assert (answer.status_code, fresh(bob, workflow).name) == (status, "Before")
    assert "errorlist" in text_of(answer)


def test_publish_makes_numbered_versions_with_their_notes(bob: Person):
    workflow = make_workflow(bob)

    first = bob.client.post(place("publish", workflow), {"note": "It begins"}, follow=True)

    assert "Published as version 1." in text_of(first)
    assert "Published v1" in text_of(first)
    with within(bob):
        version = fresh(bob, workflow).published_version
        assert version is not None
        assert version.note == "It begins"


def test_publish_of_an_unchanged_draft_says_so(bob: Person):
    workflow = make_workflow(bob)
    make_version(bob, workflow)

    answer = bob.client.post(place("publish", workflow), follow=True)

    assert answer.redirect_chain == [(place("detail", workflow), 302)]
    assert "No changes since the last version." in text_of(answer)


def test_duplicate_is_a_second_workflow_with_the_same_draft(bob: Person):
    workflow = make_workflow(bob, "Weather")

    answer = bob.client.post(place("duplicate", workflow), follow=True)

    with within(bob):
        (copy,) = Workflow.objects.visible_to(bob.principal).exclude(pk=workflow.pk)
    assert copy.name == "Weather (copy)"
    assert answer.redirect_chain == [(place("detail", copy), 302)]
    texts = [bob.client.get(place("export", w)).content for w in (workflow, copy)]
    assert texts[0] == texts[1].replace(b"Weather (copy)", b"Weather")


def test_page_runs_what_it_shows_the_draft_for_editors_the_published_for_viewers(cast: Cast):
    workflow = make_workflow(cast.alice)
    version = publishing.publish(cast.alice.principal, workflow=workflow)
    changed = replace(load_draft(workflow), description="changed since")
    drafts.replace_draft(cast.alice.principal, workflow=workflow, document=changed)

    for person in (cast.bob, cast.vic):
        address = reverse("workflows:start", args=[workflow.pk])
        assert person.client.post(address, {"text": "x"}).status_code == 302

    with within(cast.alice):
        rows = Run.objects.unscoped().filter(workflow=workflow).order_by("created_at", "id")
        assert [row.version_id for row in rows] == [None, version.pk]


def test_publishing_a_draft_with_problems_leads_back_to_them(alice: Person):
    workflow = make_workflow(alice)
    document = load_draft(workflow)
    broken = replace(document, nodes=document.nodes[1:])
    drafts.replace_draft(alice.principal, workflow=workflow, document=broken)

    answer = alice.client.post(reverse("workflows:publish", args=[workflow.pk]), follow=True)

    assert answer.redirect_chain == [(reverse("workflows:detail", args=[workflow.pk]), 302)]
    assert "Not published" in text_of(answer)
