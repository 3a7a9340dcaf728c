"""Versions are numbered, pinned to a content, and never change."""

from dataclasses import replace

import pytest
from django.db import DatabaseError, connection, transaction
from django.test.utils import CaptureQueriesContext

from accounts.errors import NotAllowed
from accounts.tenancy import tenant
from tests.factories.workflows import (
    document,
    make_journal,
    make_run,
    make_version,
    make_workflow,
    within,
)
from workflows import selectors
from workflows.engine.errors import DocumentInvalid
from workflows.errors import NothingToPublish
from workflows.models import Snapshot
from workflows.services import publishing
from workflows.services.catalog import importing
from workflows.services.editor import drafts


pytestmark = pytest.mark.django_db


def test_published_versions_are_numbered_from_one(alice):
    workflow = make_workflow(alice)

    first = make_version(alice, workflow, note=" first ")
    importing.replace_from_document(alice.principal, workflow=workflow, source=document("Two"))
    second = make_version(alice, workflow)

    assert [(first.number, first.note), (second.number, second.note)] == [(1, "first"), (2, "")]
    assert first.content_hash != second.content_hash
    with within(alice):
        found = selectors.find_workflow(alice.principal, workflow.pk)
        assert found.published_version == second
        assert [row.number for row in selectors.list_versions(alice.principal, found)] == [2, 1]


def test_unchanged_draft_is_not_published_twice(alice):
    workflow = make_workflow(alice)
    make_version(alice, workflow)

    with pytest.raises(NothingToPublish):
        make_version(alice, workflow)


def test_draft_brought_back_to_an_older_content_reuses_its_snapshot(alice):
    workflow = make_workflow(alice)
    first = make_version(alice, workflow)
    importing.replace_from_document(alice.principal, workflow=workflow, source=document("Two"))
    make_version(alice, workflow)

    importing.replace_from_document(alice.principal, workflow=workflow, source=document("Echo"))
    third = make_version(alice, workflow)

    assert (third.number, third.snapshot_id) == (3, first.snapshot_id)


def test_draft_with_an_error_is_not_published_and_every_error_is_named(alice):
    broken = document()
    broken["nodes"].append({"id": "x", "data": {"type": "llm", "model": "none"}})
    broken["edges"].append({"id": "e2", "source": "start", "target": "x"})
    broken["edges"].append({"id": "e3", "source": "start", "target": "nowhere"})
    workflow = make_workflow(alice, source=broken)

    with pytest.raises(DocumentInvalid) as refused:
        publishing.publish(alice.principal, workflow=workflow)

    places = {(problem.node, problem.edge) for problem in refused.value.problems}
    assert {("x", None), (None, "e3")} <= places


def test_draft_with_a_missing_node_type_is_published(alice):
    source = document()
    source["nodes"].append({"id": "x", "data": {"type": "no-such-kind"}})
    source["edges"].append({"id": "e2", "source": "start", "target": "x"})
    workflow = make_workflow(alice, source=source)

    version = publishing.publish(alice.principal, workflow=workflow)

    assert version.number == 1


def build_source_with_missing_type(**data):
    source = document()
    node = {"type": "mail-sorter", "title": "Sort", "plugin_id": "acme/mail", **data}
    source["nodes"].append({"id": "x", "data": node})
    source["edges"].append({"id": "e2", "source": "start", "target": "x"})
    return source


def post_publish(person, workflow, language="en", **form):
    headers = {"HX-Request": "1", "Accept-Language": language}
    return person.client.post(f"/workflows/{workflow.pk}/publish/", form, headers=headers)


def test_person_is_asked_once_more_before_a_run_of_the_version_would_fail_at_a_node(alice):
    workflow = make_workflow(alice, source=build_source_with_missing_type())

    asked = post_publish(alice, workflow)
    confirmed = post_publish(alice, workflow, confirmed="1").json()

    question = asked.json()["html"]
    assert asked.status_code == 200
    assert 'data-jump="x"' in question
    assert (
        "<b>Sort</b>: This installation has no node type mail-sorter of the plug-in acme/mail"
        in (question)
    )
    assert 'name="confirmed"' in question
    assert confirmed["said"] == "Published as version 1."
    assert f"/workflows/{workflow.pk}/?node=x" in confirmed["dialog"]


def test_question_before_publishing_is_in_the_readers_language(alice):
    workflow = make_workflow(alice, source=build_source_with_missing_type())

    question = post_publish(alice, workflow, language="zh-CN").json()["html"]

    assert "仍然发布" in question
    assert "此安装没有插件 acme/mail 的节点类型 mail-sorter" in question


def test_nodes_that_no_run_fails_at_are_not_asked_about(alice):
    source = build_source_with_missing_type(error_strategy="fail-branch")
    source["nodes"].append({"id": "far", "data": {"type": "mail-sorter"}})
    source["nodes"].append({"id": "off", "data": {"type": "mail-sorter", "disabled": True}})
    source["edges"].append({"id": "e3", "source": "start", "target": "off"})
    workflow = make_workflow(alice, source=source)

    assert post_publish(alice, workflow).json()["said"] == "Published as version 1."


def test_viewer_may_not_publish(alice, vic):
    with pytest.raises(NotAllowed):
        publishing.publish(vic.principal, workflow=make_workflow(alice))


FIXED = {
    "workflows_snapshot": "hash = 'other'",
    "workflows_version": "note = 'other'",
    "workflows_runcommit": "attempt = 2",
}


@pytest.mark.parametrize(("table", "change"), FIXED.items())
def test_fixed_row_updated_by_the_app_is_refused(table, change, alice):
    workflow = make_workflow(alice)
    make_version(alice, workflow)
    make_journal(make_run(alice, workflow))

    with (
        pytest.raises(DatabaseError, match="permission denied"),
        transaction.atomic(),
        tenant([alice.team.pk]),
        connection.cursor() as cursor,
    ):
        cursor.execute(f"UPDATE {table} SET {change}")


@pytest.mark.parametrize(("table", "change"), FIXED.items())
def test_fixed_row_updated_by_the_owner_is_refused_by_the_trigger(table, change, owner_db, cast):
    workflow = make_workflow(cast.alice)
    make_version(cast.alice, workflow)
    make_journal(make_run(cast.alice, workflow))

    with pytest.raises(Exception, match="never changed"):
        owner_db.execute(f"UPDATE {table} SET {change}")


def test_stored_document_changed_afterwards_would_no_longer_fit_its_hash(alice):
    from workflows.models.documents import compute_hash

    version = make_version(alice, make_workflow(alice))

    with tenant([alice.team.pk]):
        stored = Snapshot.objects.unscoped().get(pk=version.snapshot_id)
    assert compute_hash(stored.document) == stored.hash == version.content_hash
    assert compute_hash({**stored.document, "x": 1}) != stored.hash


def test_draft_is_compared_with_what_is_published_by_its_hash_alone(alice):
    workflow = make_workflow(alice)
    make_version(alice, workflow)

    with within(alice), CaptureQueriesContext(connection) as asked:
        found = selectors.find_workflow(alice.principal, workflow.pk)
        same = drafts.load_draft(found)
        assert not publishing.differs_from_published(found, same)
        assert publishing.differs_from_published(found, replace(same, name="Other"))

    assert [each["sql"] for each in asked if '"workflows_snapshot"."hash"' in each["sql"]] != []
    assert [each["sql"] for each in asked if '"workflows_snapshot"."document"' in each["sql"]] == []
