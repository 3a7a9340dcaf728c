"""The draft as a nested list, and the page whose forms edit it without JavaScript."""

import re
from html import unescape
from typing import Any

import pytest
from django.urls import reverse

from tests.factories.workflows import make_workflow
from tests.support.cast import Person
from tests.workflows.views.conftest import text_of
from workflows.engine.language.dsl import load_document
from workflows.models import Workflow
from workflows.services.editor.drafts import load_draft
from workflows.views.editor.outline import OutlineLink, build_rows


BRANCHES: dict[str, Any] = {
    "version": "0.1.0",
    "nodes": [
        {"id": "zero", "data": {"type": "template-transform", "title": "Alone", "template": "x"}},
        {"id": "start", "data": {"type": "start", "title": "Begin", "variables": []}},
        {
            "id": "which",
            "data": {
                "type": "if-else",
                "title": "Which?",
                "cases": [{"case_id": "true", "conditions": []}],
            },
        },
        {"id": "yes", "data": {"type": "template-transform", "title": "Yes", "template": "y"}},
        {"id": "no", "data": {"type": "template-transform", "title": "No", "template": "n"}},
        {"id": "end", "data": {"type": "end", "title": "Done", "outputs": []}},
    ],
    "edges": [
        {"id": "a", "source": "start", "target": "which"},
        {"id": "c", "source": "which", "target": "no", "sourceHandle": "false"},
        {"id": "d", "source": "no", "target": "end"},
        {"id": "e", "source": "yes", "target": "end"},
    ],
}


def outline(workflow: Workflow) -> str:
    return reverse("workflows:outline", args=[workflow.pk])


def post(person: Person, workflow: Workflow, do: str, **given: str) -> Any:
    return person.client.post(outline(workflow), {"do": do, **given})


def kinds_by_id(workflow: Workflow) -> dict[str, str]:
    return {node.id: node.kind for node in load_draft(workflow).nodes}


def ends(workflow: Workflow) -> set[tuple[str, str, str]]:
    return {(e.source, e.handle, e.target) for e in load_draft(workflow).edges}


def test_rows_read_from_the_start_along_the_edges_and_loose_ones_last():
    rows = build_rows(load_document(BRANCHES).document)

    assert [row.title for row in rows] == ["Begin", "Which?", "No", "Yes", "Done", "Alone"]


def test_row_names_the_branch_that_leads_on():
    rows = {row.id: row for row in build_rows(load_document(BRANCHES).document)}

    assert [(link.label, link.title) for link in rows["which"].links] == [("Else", "No")]
    assert [(link.label, link.title) for link in rows["start"].links] == [("", "Which?")]


def test_rows_of_a_circle_are_all_there():
    turned = {**BRANCHES, "edges": [*BRANCHES["edges"], {"source": "end", "target": "which"}]}

    rows = build_rows(load_document(turned).document)

    assert {row.id for row in rows} == {node["id"] for node in BRANCHES["nodes"]}


def test_add_after_a_node_connects_it_and_stands_to_its_right(alice: Person):
    workflow = make_workflow(alice, source=BRANCHES)

    answer = post(alice, workflow, "add", node="which", handle="false", kind="llm")

    document = load_draft(workflow)
    added = next(node for node in document.nodes if node.kind == "llm")
    before = next(node for node in document.nodes if node.id == "which")
    assert answer.status_code == 302
    assert f"node={added.id}" in answer["Location"]
    assert ("which", "false", added.id) in ends(workflow)
    assert added.position.x > before.position.x


@pytest.mark.parametrize(
    ("kinds", "selected", "offered"),
    [
        ((), "", {"start", "trigger-schedule"}),
        (("llm",), "", {"start", "trigger-schedule"}),
        (("start", "llm"), "", set()),
        (("trigger-schedule", "llm"), "", {"trigger-schedule"}),
        (("llm",), "llm", set()),
    ],
)
def test_no_type_is_chosen_beforehand_and_none_is_offered_that_can_not_be_added(
    alice: Person, kinds: tuple[str, ...], selected: str, offered: set[str]
):
    nodes = [{"id": kind, "data": {"type": kind, "title": kind}} for kind in kinds]
    workflow = make_workflow(alice, source={"version": "0.1.0", "nodes": nodes, "edges": []})

    page = alice.client.get(f"{outline(workflow)}?node={selected}").content.decode()

    [menu] = re.findall(r'<select id="add-kind"[^>]*required[^>]*>(.*?)</select>', page, re.S)
    values = re.findall(r'<option value="([^"]*)"', menu)
    assert values[0] == ""
    assert "llm" in values
    assert {"start", "trigger-schedule"} & {*values} == offered


def test_connect_and_disconnect_change_the_edges(alice: Person):
    workflow = make_workflow(alice, source=BRANCHES)

    post(alice, workflow, "connect", node="which", handle="true", target="yes")
    connected = ends(workflow)
    post(alice, workflow, "disconnect", node="which", edge="c")

    assert connected - ends(workflow) == {("which", "false", "no")}
    assert ("which", "true", "yes") in ends(workflow)


def test_edge_that_has_lost_an_end_is_deleted_on_the_page(alice: Person, vic: Person):
    loose = {"id": "loose", "source": "start"}
    source = {**BRANCHES, "edges": [*BRANCHES["edges"], loose]}
    workflow = make_workflow(alice, source=source)

    before = text_of(alice.client.get(outline(workflow)))
    seen_by_viewer = text_of(vic.client.get(outline(workflow)))
    answer = alice.client.post(outline(workflow), {"do": "disconnect", "edge": "loose"})

    sentence = "The edge from “Begin” has no target"
    assert sentence in before
    assert 'name="edge" value="loose"' in before
    assert sentence in seen_by_viewer
    assert 'name="edge"' not in seen_by_viewer
    assert answer.status_code == 302
    assert sentence not in text_of(alice.client.get(outline(workflow)))
    assert "loose" not in {edge.id for edge in load_draft(workflow).edges}


def test_rename_is_undone_and_redone_from_the_page(alice: Person):
    workflow = make_workflow(alice, source=BRANCHES)

    def title() -> str:
        return next(n.title for n in load_draft(workflow).nodes if n.id == "yes")

    post(alice, workflow, "rename", node="yes", title="Certainly")
    renamed = title()
    post(alice, workflow, "undo", node="yes")
    undone = title()
    post(alice, workflow, "redo", node="yes")

    assert (renamed, undone, title()) == ("Certainly", "Yes", "Certainly")


def test_node_moves_into_a_container_and_out_again(alice: Person):
    workflow = make_workflow(alice, source=BRANCHES)
    post(alice, workflow, "add", kind="loop")
    loop = next(id_ for id_, kind in kinds_by_id(workflow).items() if kind == "loop")

    def parent() -> str | None:
        return next(n.parent for n in load_draft(workflow).nodes if n.id == "zero")

    post(alice, workflow, "move", node="zero", parent=loop)
    inside = parent()
    rows = {row.id: row for row in build_rows(load_draft(workflow))}
    post(alice, workflow, "move", node="zero", parent="")

    assert (inside, parent()) == (loop, None)
    assert "zero" in [row.id for row in rows[loop].rows]


def test_add_inside_a_container_makes_a_child_without_an_edge(alice: Person):
    workflow = make_workflow(alice, source=BRANCHES)
    post(alice, workflow, "add", kind="iteration")
    box = next(id_ for id_, kind in kinds_by_id(workflow).items() if kind == "iteration")
    before = ends(workflow)

    post(alice, workflow, "add", node=box, parent=box, kind="llm")

    added = next(node for node in load_draft(workflow).nodes if node.kind == "llm")
    assert added.parent == box
    assert ends(workflow) == before


def test_delete_joins_the_neighbours_when_asked_to(alice: Person):
    workflow = make_workflow(alice, source=BRANCHES)

    post(alice, workflow, "delete", node="no", heal="on")

    assert "no" not in kinds_by_id(workflow)
    assert ("which", "false", "end") in ends(workflow)


def test_switching_off_and_on_leaves_no_trace(alice: Person):
    workflow = make_workflow(alice, source=BRANCHES)

    def data() -> dict[str, Any]:
        return dict(next(n.data for n in load_draft(workflow).nodes if n.id == "yes"))

    before = data()
    post(alice, workflow, "switch", node="yes")
    off = data()
    post(alice, workflow, "switch", node="yes")

    assert off["disabled"] is True
    assert data() == before


@pytest.mark.parametrize(
    ("do", "given"),
    [
        ("connect", {"node": "start", "handle": "source", "target": "start"}),
        ("connect", {"node": "start", "handle": "source", "target": "nowhere"}),
        ("disconnect", {"node": "start", "edge": "nothing"}),
        ("rename", {"node": "gone", "title": "x"}),
        ("dance", {"node": "start"}),
    ],
)
def test_what_cannot_be_is_said_and_changes_nothing(alice: Person, do: str, given: dict[str, str]):
    workflow = make_workflow(alice, source=BRANCHES)
    before = load_draft(workflow)

    client = alice.client
    answer = client.post(outline(workflow), {"do": do, **given}, follow=True)

    assert load_draft(workflow) == before
    assert answer.status_code == 200
    assert re.search(r'class="toast\b', text_of(answer))


def test_viewer_sees_the_list_and_no_form_that_changes_it(alice: Person, vic: Person):
    workflow = make_workflow(alice, source=BRANCHES)

    page = text_of(vic.client.get(outline(workflow), {"node": "which"}))

    assert "Which?" in page
    assert 'name="do"' not in page
    assert post(vic, workflow, "delete", node="which").status_code == 403


def test_page_of_a_node_offers_every_operation(alice: Person):
    workflow = make_workflow(alice, source=BRANCHES)

    page = unescape(text_of(alice.client.get(outline(workflow), {"node": "no"})))

    offered = set(re.findall(r'name="do" value="(\w+)"', page))
    assert offered >= {"add", "rename", "connect", "disconnect", "delete", "switch", "undo", "redo"}


def test_fragment_is_the_list_alone(alice: Person):
    workflow = make_workflow(alice, source=BRANCHES)

    fragment = text_of(alice.client.get(outline(workflow), {"fragment": "1"}))

    assert "<html" not in fragment
    assert fragment.count("data-row=") == 6


def test_editor_of_a_viewer_has_everything_to_look_at_and_no_palette(alice: Person, vic: Person):
    workflow = make_workflow(alice, source=BRANCHES)
    place = reverse("workflows:detail", args=[workflow.pk])

    mine, theirs = text_of(alice.client.get(place)), text_of(vic.client.get(place))

    assert ('data-can-edit="yes"' in mine, 'data-can-edit="no"' in theirs) == (True, True)
    assert ('id="palette"' in mine, 'id="palette"' in theirs) == (True, False)
    assert theirs.count("data-row=") == 6


@pytest.mark.parametrize(
    ("label", "parts"),
    [
        ("Else if dialogue_count = 1", ("Else if dialogue_count", "= 1")),
        ("If name is empty", ("If name", "is empty")),
        ("Else", ("Else", "")),
        ("", ("", "")),
    ],
)
def test_end_of_a_condition_is_a_part_of_its_own(label: str, parts: tuple[str, str]):
    link = OutlineLink(edge="e", handle="h", label=label, target="t", title="T")

    assert link.label_parts == parts
