"""Publishing from the editor's script: what of the page changes is answered, and the page stays."""

import re
from dataclasses import replace

import pytest
from django.urls import reverse

from accounts.models import ApiKey
from memory.models import Policy
from tests.factories.workflows import document, make_version, make_workflow, within
from tests.support.cast import Person
from tests.support.markup import markup_of
from workflows.models import Workflow
from workflows.services import publishing
from workflows.services.editor import drafts
from workflows.services.editor.drafts import load_draft


pytestmark = pytest.mark.django_db

CHAT = {
    "version": "0.6.0",
    "kind": "app",
    "app": {"name": "Chat", "mode": "advanced-chat"},
    "workflow": {
        "features": {},
        "graph": {
            "nodes": [
                {"id": "start", "data": {"type": "start", "title": "Start", "variables": []}},
                {"id": "answer", "data": {"type": "answer", "title": "Answer", "answer": "Yes."}},
            ],
            "edges": [{"id": "e", "source": "start", "target": "answer"}],
        },
    },
}


def place(name: str, workflow: Workflow) -> str:
    return reverse(f"workflows:{name}", args=[workflow.pk])


def test_publishing_in_place_answers_what_changes_of_the_page(alice: Person):
    workflow = make_workflow(alice)
    version = make_version(alice, workflow)
    client = alice.client
    here = {"HX-Request": "true"}

    again = client.post(place("publish", workflow), headers=here)
    drafts.rename(alice.principal, workflow=workflow, name="Other", description="")
    with within(alice):
        Workflow.objects.visible_to(alice.principal).update(published_version=None)
    published = client.post(place("publish", workflow), {"note": "Better"}, headers=here)

    assert (again.status_code, again.json()["problems"]) == (409, False)
    told = published.json()
    assert (published.status_code, told["said"]) == (200, "Published as version 2.")
    assert "Published v2" in told["chip"]
    assert "data-differs" not in told["chip"]
    assert "Version 2 is published" in told["dialog"]
    assert "<html" not in told["dialog"]
    older = client.post(
        reverse("workflows:publish_version", args=[workflow.pk, version.number]), headers=here
    )
    assert "Published v1" in older.json()["chip"]


def test_publishing_a_draft_with_problems_in_place_says_so_without_a_page(alice: Person):
    workflow = make_workflow(alice)
    whole = load_draft(workflow)
    broken = replace(whole, nodes=whole.nodes[1:])
    drafts.replace_draft(alice.principal, workflow=workflow, document=broken)

    answer = alice.client.post(place("publish", workflow), headers={"HX-Request": "true"})

    assert answer.status_code == 409
    assert (answer.json()["problems"], "Not published" in answer.json()["refused"]) == (True, True)


def test_half_made_draft_is_refused_with_links_but_programs_may_publish_it(alice: Person):
    source = document()
    end = next(node for node in source["nodes"] if node["id"] == "end")
    end["data"]["outputs"] = [{"variable": "text", "value_selector": ["gone", "text"]}]
    workflow = make_workflow(alice, "Half-made", source)

    answer = alice.client.post(place("publish", workflow), headers={"HX-Request": "true"})
    version = publishing.publish(alice.principal, workflow=workflow)

    assert answer.status_code == 409
    html = answer.json()["html"]
    assert "publish: fix these problems first." in html
    assert 'data-jump="end"' in html
    assert version.number == 1


def test_dialog_names_what_writes_shared_memory_and_offers_a_key_that_may(alice: Person):
    source = document()
    store = {
        "id": "store",
        "data": {
            "type": "memory-store",
            "title": "Keep it",
            "scope": "global",
            "value_selector": ["start", "text"],
        },
    }
    source["nodes"].append(store)
    source["edges"] = [
        {"id": "e1", "source": "start", "target": "store"},
        {"id": "e2", "source": "store", "target": "end"},
    ]
    workflow = make_workflow(alice, "Shared", source)
    make_version(alice, workflow)
    page, here = place("detail", workflow), {"published": "1"}

    warned = markup_of(alice.client.get(page, here))
    with within(alice):
        Policy.objects.unscoped().create(team=alice.team, subjects_write_global=True)
    allowed = markup_of(alice.client.get(page, here))
    alice.client.post(place("create_key", workflow), {"memory": "1"})

    assert "write memory that all users share: Keep it" in warned
    assert 'name="memory"' in warned
    assert "write memory that all users share" not in allowed
    with within(alice):
        key = ApiKey.objects.unscoped().latest("created_at")
    assert {"memory:read", "memory:write"} <= set(key.scopes)


def test_menu_to_publish_leads_to_the_chat_page_once_there_is_a_version(alice: Person):
    workflow = make_workflow(alice, source=CHAT)

    def find_link() -> str:
        page = markup_of(alice.client.get(place("detail", workflow)))
        link = re.search(
            rf'<a [^>]*href="{place("chat", workflow)}"[^>]*data-needs-version[^>]*>', page
        )
        assert link is not None
        return link[0]

    before = find_link()
    make_version(alice, workflow)

    assert ("hidden" in before, "hidden" in find_link()) == (True, False)
