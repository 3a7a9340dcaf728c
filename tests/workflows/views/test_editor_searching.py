"""Find in flow: each hit with the node and the field it is in; and what the palette offers."""

import pytest
from django.urls import reverse

from tests.support.cast import Person
from tests.workflows.views.conftest import text_of
from workflows.engine.language.dsl import load_document
from workflows.execution.kinds import load_kinds
from workflows.models import Workflow
from workflows.services.editor.drafts import load_draft
from workflows.views.editor.palette import list_palette_groups
from workflows.views.editor.search import search_document


def found(workflow: Workflow, query: str) -> list[tuple[str, str, str]]:
    return [
        (hit.node, hit.where, hit.match) for hit in search_document(load_draft(workflow), query)
    ]


def test_names_types_and_values_are_found_whatever_the_case(chat: Workflow):
    assert ("recall", "", "recall") in [
        (node, where, match.lower()) for node, where, match in found(chat, "RECALL")
    ]
    assert ("llm", "type", "LLM") in found(chat, "llm")
    assert ("llm", "model.name", "gpt-4o") in found(chat, "gpt-4o")


def test_value_says_the_field_it_is_in(chat: Workflow):
    hits = [
        hit for hit in search_document(load_draft(chat), "friendly assistant") if hit.node == "llm"
    ]

    assert [hit.field for hit in hits] == ["prompt_template.0.text"]
    assert hits[0].before.endswith("You are a ")


def test_problem_is_found_at_its_node():
    source = {
        "version": "0.1.0",
        "nodes": [
            {"id": "start", "data": {"type": "start", "variables": []}},
            {"id": "lost", "data": {"type": "template-transform", "template": "x"}},
        ],
        "edges": [],
    }

    hits = search_document(load_document(source).document, "not reachable")

    assert [(hit.node, hit.where) for hit in hits] == [("lost", "Problem")]


def test_page_marks_the_match_and_escapes_the_rest(alice: Person, chat: Workflow):
    page = text_of(alice.client.get(reverse("workflows:find", args=[chat.pk]), {"q": "FRIENDLY"}))
    nothing = text_of(alice.client.get(reverse("workflows:find", args=[chat.pk]), {"q": "<b>"}))

    assert "<mark>friendly</mark>" in page
    assert "No results for “&lt;b&gt;”." in nothing


@pytest.mark.parametrize(
    ("mode", "missing"),
    [
        ("advanced-chat", {"end", "trigger-schedule", "trigger-webhook"}),
        ("workflow", {"answer"}),
    ],
)
def test_palette_offers_every_kind_of_the_mode_and_memory_among_them(mode: str, missing: set[str]):
    kinds = [offer.kind for group in list_palette_groups(mode) for offer in group.items]

    entries = {name for name, kind in load_kinds().items() if kind.execution == "entry"}
    assert sorted(kinds) == sorted(set(load_kinds()) - entries - missing)
    assert {"memory-recall", "memory-store"} <= set(kinds)


def test_palette_says_what_fits_where():
    offers = {o.kind: o for group in list_palette_groups("advanced-chat") for o in group.items}

    assert (offers["start"].has_input, offers["start"].has_output) == (False, True)
    assert offers["loop"].is_container is True
    assert offers["loop-end"].containers == "loop"
    assert offers["if-else"].handle == "true"
