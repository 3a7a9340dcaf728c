"""Two versions drawn as the canvas draws them, and the draft told apart from what is published."""

import re

import pytest
from django.urls import reverse

from tests.factories.workflows import document, make_version, make_workflow
from tests.journeys.canvas_document import document as one_of_everything
from tests.support.cast import Cast, Person
from tests.workflows.views.conftest import text_of
from workflows.engine.language import dsl
from workflows.engine.nodes import build_kinds
from workflows.models import Workflow
from workflows.services.catalog import importing
from workflows.views.canvas.cards import Mark
from workflows.views.canvas.drawing import draw


ADDED = Mark("added", "+", "Added")
DIFFERS = "X-Draft-Differs"


def place(name: str, workflow: Workflow, *more: object) -> str:
    return reverse(f"workflows:{name}", args=[workflow.pk, *more])


def test_marks_are_on_the_canvas_own_cards_and_edges():
    drawn = dsl.load_document(one_of_everything()).document
    edge = drawn.edges[0].id
    html = str(draw(drawn, (), build_kinds(), marks={"begin": ADDED, "each": ADDED, edge: ADDED}))

    assert re.findall(r'<wf-node [^>]*data-id="(\w+)"[^>]*data-mark="added"', html) == [
        "each",
        "begin",
    ]
    assert f'id="edge-{edge}"' in html.partition('data-mark="added" d=')[0]
    assert html.count('title="Added"') == 2  # also on the dot of a container's start
    assert "is-dot" in html.partition('data-id="begin"')[2].partition("</wf-node>")[0]


def test_note_that_differs_is_marked_too():
    drawn = dsl.load_document(one_of_everything()).document
    note = drawn.notes[0].id
    html = str(draw(drawn, (), build_kinds(), marks={note: ADDED}).html)

    assert re.search(rf'<wf-node id="node-{note}"[^>]*data-mark="added"', html)
    assert html.count('class="diff-mark"') == 1


def test_frame_of_a_marked_drawing_is_around_every_card():
    drawn = dsl.load_document(one_of_everything()).document
    drawing = draw(drawn, (), build_kinds(), marks={"each": ADDED})
    left, top, width, height = drawing.frame

    places = [
        [float(one) for one in found]
        for found in re.findall(
            r'data-parent=""[^>]*? data-x="([\d.-]+)" data-y="([\d.-]+)" data-w="([\d.]+)" data-h="([\d.]+)"',
            str(drawing.html),
        )
    ]
    assert places
    assert left == min(x for x, *_ in places)
    assert top == min(y for _, y, *_ in places)
    assert left + width == max(x + w for x, _, w, _ in places)
    assert top + height == max(y + h for _, y, _, h in places)


@pytest.mark.django_db
def test_difference_shows_titles_of_kinds_where_a_node_has_none(alice: Person):
    workflow = make_workflow(alice)
    make_version(alice, workflow)
    importing.replace_from_document(alice.principal, workflow=workflow, source=document("Two"))

    page = text_of(alice.client.get(place("difference", workflow, "1", "draft")))

    assert 'data-id="start" data-kind="start" data-title="Two"' in page
    assert re.search(r'<wf-node id="node-start"[^>]*data-mark="changed"', page)
    assert "<b>End</b><small>" in page


@pytest.mark.django_db
def test_draft_differs_from_what_is_published_until_it_says_the_same_again(alice: Person):
    workflow = make_workflow(alice)
    assert alice.client.get(place("problems", workflow))[DIFFERS] == "no"
    make_version(alice, workflow)
    assert alice.client.get(place("problems", workflow))[DIFFERS] == "no"

    importing.replace_from_document(alice.principal, workflow=workflow, source=document("Two"))
    page = text_of(alice.client.get(place("detail", workflow)))
    assert alice.client.get(place("problems", workflow))[DIFFERS] == "yes"
    assert 'id="published" data-differs' in page
    assert place("difference", workflow, "1", "draft") in page

    importing.replace_from_document(alice.principal, workflow=workflow, source=document("Echo"))
    assert alice.client.get(place("problems", workflow))[DIFFERS] == "no"
    assert "data-differs" not in text_of(alice.client.get(place("detail", workflow)))


@pytest.mark.django_db
def test_viewer_sees_what_is_published_and_nothing_of_the_draft(cast: Cast):
    workflow = make_workflow(cast.alice)
    make_version(cast.alice, workflow)
    importing.replace_from_document(cast.alice.principal, workflow=workflow, source=document("Two"))

    assert cast.vic.client.get(place("problems", workflow))[DIFFERS] == "no"
    page = text_of(cast.vic.client.get(place("detail", workflow)))
    assert "draft has changes" not in page


@pytest.mark.django_db
def test_node_that_was_moved_and_changed_shows_both_by_the_words_of_its_form(alice: Person):
    source = document()
    source["nodes"][-1]["position"] = {"x": 10, "y": 20}
    workflow = make_workflow(alice, source=source)
    make_version(alice, workflow)
    end = source["nodes"][-1]
    end["position"] = {"x": 300, "y": 20}
    end["data"]["outputs"] = [{"variable": "other", "value_selector": ["start", "text"]}]
    importing.replace_from_document(alice.principal, workflow=workflow, source=source)

    page = text_of(alice.client.get(place("difference", workflow, "1", "draft")))

    assert "Modified · Moved" in page
    assert re.search(r">Position</span>.*?10, 20.*?300, 20", page, re.DOTALL)
    assert re.search(r">Output 1( ›[^<]*)?</span>", page)
