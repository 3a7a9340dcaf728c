"""Documents become rows and come back whole; editing is one revision at a time."""

from dataclasses import replace

import pytest
import yaml

from accounts.errors import NotAllowed, NotFound
from accounts.tenancy import tenant
from tests.factories.workflows import document, make_workflow, within
from workflows import selectors
from workflows.engine.errors import DocumentInvalid
from workflows.engine.language import dsl
from workflows.engine.language.document import Dialect
from workflows.errors import InvalidValue, NewerDocument, WorkflowArchived
from workflows.models import Node, Snapshot, Workflow, WorkflowSecret
from workflows.samples import SAMPLES
from workflows.services.catalog import importing
from workflows.services.editor import drafts
from workflows.services.editor.draft_rows import read_secrets
from workflows.services.editor.snapshots import take_snapshot


pytestmark = pytest.mark.django_db

RICH = {
    "version": "0.6.0",
    "kind": "app",
    "app": {"name": "Rich", "mode": "advanced-chat", "icon": "🧠", "description": "all of it"},
    "dependencies": [{"type": "marketplace", "value": {"x": 1}}],
    "workflow": {
        "graph": {
            "nodes": [
                {
                    "id": "start",
                    "type": "custom",
                    "position": {"x": 1.5, "y": -2},
                    "selected": True,
                    "data": {
                        "type": "start",
                        "title": "Go",
                        "variables": [],
                        "later": {"b": 1, "a": 2},
                    },
                },
                {
                    "id": "note",
                    "type": "custom-note",
                    "position": {"x": 0, "y": 0},
                    "width": 240,
                    "height": 88,
                    "data": {"type": "", "text": "look here", "theme": "blue"},
                },
                {
                    "id": "say",
                    "type": "custom",
                    "position": {"x": 300, "y": 0},
                    "data": {"type": "answer", "title": "Say", "answer": "{{#sys.query#}}"},
                },
            ],
            "edges": [
                {
                    "id": "e",
                    "source": "start",
                    "sourceHandle": "source",
                    "target": "say",
                    "zIndex": 3,
                }
            ],
            "viewport": {"x": 0, "y": 0, "zoom": 0.7},
        },
        "features": {"opening_statement": "Hello"},
        "environment_variables": [
            {
                "id": "v1",
                "name": "PLAIN",
                "value_type": "string",
                "value": "seen",
                "selector": ["env", "PLAIN"],
            },
            {
                "id": "v2",
                "name": "KEY",
                "value_type": "secret",
                "value": "hush-hush",
                "selector": ["env", "KEY"],
            },
        ],
        "conversation_variables": [
            {"id": "v3", "name": "facts", "value_type": "object", "value": {"z": 1, "a": [1.5]}}
        ],
    },
}


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.slug)
def test_sample_imported_and_read_back_is_the_same_document(sample, alice):
    original = dsl.load_document(sample.source).document
    workflow = make_workflow(alice, "x", sample.source)

    assert replace(drafts.load_draft(workflow), name=original.name) == original


def test_rich_document_read_back_loses_nothing(alice):
    original = dsl.load_document(RICH).document
    workflow = importing.import_document(
        alice.principal, team_id=alice.team.pk, source=RICH
    ).workflow

    assert drafts.load_draft(workflow, include_secrets=True) == original


def test_object_value_read_back_keeps_the_order_of_its_keys(alice):
    workflow = make_workflow(alice, source=RICH)

    facts = drafts.load_draft(workflow).conversation[0]

    assert list(facts.value) == ["z", "a"]


def test_export_without_secrets_blanks_them_and_reimport_keeps_them(alice):
    workflow = make_workflow(alice, source=RICH)

    text = drafts.export(alice.principal, workflow=workflow)
    importing.replace_from_document(alice.principal, workflow=workflow, source=text)

    assert "hush-hush" not in text
    with tenant([alice.team.pk]):
        assert read_secrets(workflow) == {("environment", "KEY"): "hush-hush"}


def test_export_with_secrets_is_for_who_manages_credentials(alice, bob):
    workflow = make_workflow(alice, source=RICH)

    assert "hush-hush" in drafts.export(alice.principal, workflow=workflow, include_secrets=True)
    with pytest.raises(NotAllowed):
        drafts.export(bob.principal, workflow=workflow, include_secrets=True)


def test_export_in_the_other_dialect_can_be_read_again(alice):
    workflow = make_workflow(alice)

    text = drafts.export(alice.principal, workflow=workflow, dialect=Dialect.DIFY)

    assert yaml.safe_load(text)["app"]["mode"] == "workflow"
    again = dsl.load_document(text).document
    assert [node.id for node in again.nodes] == ["start", "end"]


def test_replaced_draft_is_one_revision_and_another_snapshot(alice):
    workflow = make_workflow(alice)
    before = take_snapshot(workflow)

    changed = importing.replace_from_document(
        alice.principal, workflow=workflow, source=document("Other")
    ).workflow

    after = take_snapshot(changed)
    assert (changed.revision, before.hash == after.hash) == (2, False)


def test_snapshot_of_an_unchanged_draft_is_the_same_row(alice):
    workflow, twin = make_workflow(alice), make_workflow(alice)

    first = take_snapshot(workflow)

    assert take_snapshot(workflow) == first
    assert take_snapshot(twin) == first  # addressed by content, not by workflow
    with tenant([alice.team.pk]):
        assert Snapshot.objects.unscoped().count() == 1


def test_snapshot_taken_again_reads_no_nodes(alice, django_assert_num_queries):
    workflow = make_workflow(alice)
    take_snapshot(workflow)

    with tenant([alice.team.pk]), django_assert_num_queries(3) as seen:
        take_snapshot(workflow)

    assert not [query for query in seen.captured_queries if "workflows_node" in query["sql"]]


def test_snapshot_holds_no_secret(alice):
    snapshot = take_snapshot(make_workflow(alice, source=RICH))

    assert "hush-hush" not in str(snapshot.document)


def test_documents_of_two_teams_share_no_snapshot(alice, carol):
    mine = take_snapshot(make_workflow(alice))
    theirs = take_snapshot(make_workflow(carol))

    assert (mine.hash, mine.pk == theirs.pk) == (theirs.hash, False)


def test_draft_with_an_id_twice_is_refused_whole(alice):
    workflow = make_workflow(alice)
    draft = drafts.load_draft(workflow)
    twice = replace(draft, nodes=(*draft.nodes, draft.nodes[0]))

    with pytest.raises(DocumentInvalid) as refused:
        drafts.replace_draft(alice.principal, workflow=workflow, document=twice)

    assert [(p.code, p.node) for p in refused.value.problems] == [("node.id_twice", "start")]
    assert drafts.load_draft(workflow) == draft


def test_imported_nodes_with_one_id_get_ids_of_their_own(alice):
    twice = document()
    twice["nodes"].append(twice["nodes"][0])

    workflow = make_workflow(alice, source=twice)

    assert [node.id for node in drafts.load_draft(workflow).nodes] == ["start", "end", "start_2"]
    (note,) = [note for note in importing.list_notes(workflow) if note.code == "node.id_given"]
    assert (note.node, note.message.startswith("2 nodes had the ID start")) == ("start", True)


def test_imported_variables_with_one_name_get_names_of_their_own(alice):
    same = [{"name": "KEY", "value": value} for value in ("old", "new")]

    workflow = make_workflow(alice, source={**document(), "environment_variables": same})

    variables = drafts.load_draft(workflow).environment
    assert {each.name: each.value for each in variables} == {"KEY_2": "old", "KEY": "new"}
    assert "variable.name_given" in [note.code for note in importing.list_notes(workflow)]


def test_newer_document_needs_a_yes(alice):
    newer = {**RICH, "version": "0.99.0"}

    with pytest.raises(NewerDocument):
        make_workflow(alice, source=newer)
    made = importing.import_document(
        alice.principal, team_id=alice.team.pk, source=newer, confirm_newer=True
    )
    assert made.workflow.dialect_version == "0.99.0"


def test_duplicate_has_the_draft_but_not_the_secrets(alice):
    workflow = make_workflow(alice, source=RICH)

    copy = importing.duplicate_workflow(alice.principal, workflow=workflow)

    assert replace(drafts.load_draft(copy), name="") == replace(
        drafts.load_draft(workflow), name=""
    )
    with tenant([alice.team.pk]):
        assert not WorkflowSecret.objects.unscoped().filter(workflow=copy).exists()


def test_archived_workflow_leaves_the_list_and_takes_no_edits(alice):
    workflow = make_workflow(alice)

    drafts.archive(alice.principal, workflow=workflow)

    with within(alice):
        assert not selectors.list_workflows(alice.principal).exists()
        assert selectors.list_workflows(alice.principal, archived=True).get() == workflow
    with pytest.raises(WorkflowArchived):
        drafts.rename(alice.principal, workflow=workflow, name="New")
    drafts.unarchive(alice.principal, workflow=workflow)
    assert drafts.rename(alice.principal, workflow=workflow, name=" New  name ").name == "New name"


def test_empty_name_is_refused(alice):
    workflow = make_workflow(alice)

    with pytest.raises(InvalidValue):
        drafts.rename(alice.principal, workflow=workflow, name="  ")


def test_workflow_of_a_team_is_changed_by_its_editor_seen_by_its_viewer_unknown_to_strangers(
    alice, bob, vic, carol
):
    workflow = make_workflow(alice)

    with within(bob):
        assert selectors.find_workflow(bob.principal, workflow.pk, "edit") == workflow
        assert selectors.find_workflow(vic.principal, workflow.pk) == workflow
    with pytest.raises(NotAllowed), within(vic):
        selectors.find_workflow(vic.principal, workflow.pk, "edit")
    with pytest.raises(NotAllowed):
        drafts.rename(vic.principal, workflow=workflow, name="Mine")
    with pytest.raises(NotFound), within(alice):  # the first wall alone
        selectors.find_workflow(carol.principal, workflow.pk)


def test_draft_can_be_asked_questions(alice):
    make_workflow(alice, source=RICH)

    with tenant([alice.team.pk]):
        found = Node.objects.unscoped().filter(data__later__b=1)

        assert [node.key for node in found] == ["start"]
        assert Workflow.objects.unscoped().filter(nodes__kind="answer").count() == 1
