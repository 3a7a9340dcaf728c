"""Publish drafts as numbered versions that never change."""

from django.db import transaction
from django.db.models import Max

from accounts.access import Principal
from accounts.tenancy import tenant
from workflows import permissions
from workflows.engine.errors import DocumentInvalid
from workflows.engine.language.document import Document
from workflows.engine.language.problems import select_errors
from workflows.engine.language.validation import validate
from workflows.errors import NothingToPublish
from workflows.execution.kinds import load_kinds
from workflows.live.announce import announce_published
from workflows.models import Snapshot, Version, Workflow
from workflows.models.documents import compute_hash, from_json, to_json
from workflows.services import audit_lines
from workflows.services.editor import drafts
from workflows.services.editor.snapshots import take_snapshot
from workflows.services.tools.callable_workflows import find_call_problems


def publish(principal: Principal, *, workflow: Workflow, note: str = "") -> Version:
    """Publish the current draft as a new version. Raises NothingToPublish, or DocumentInvalid with every error."""
    permissions.check_publish(principal, workflow)
    with tenant([workflow.team_id]):
        locked = drafts.lock(workflow)
        snapshot = take_snapshot(locked)
        if locked.published_version and locked.published_version.snapshot_id == snapshot.pk:
            raise NothingToPublish
        _check_document(snapshot)
        version = _create_version(principal, locked, snapshot, note)
        _set_published(principal, workflow, version)
    return version


def add_version(principal: Principal, *, workflow: Workflow, note: str = "") -> Version:
    """Store the current draft as a version without publishing it, even with errors. Raises NothingToPublish."""
    permissions.check_publish(principal, workflow)
    with tenant([workflow.team_id]):
        locked = drafts.lock(workflow)
        snapshot = take_snapshot(locked)
        newest = Version.objects.unscoped().filter(workflow=locked).order_by("-number").first()
        if newest is not None and newest.snapshot_id == snapshot.pk:
            raise NothingToPublish
        version = _create_version(principal, locked, snapshot, note)
        audit_lines.record(
            principal, locked, "workflow.numbered", number=version.number, hash=snapshot.hash
        )
    return version


def publish_version(principal: Principal, *, workflow: Workflow, version: Version) -> Version:
    """Publish an existing version. Raises NothingToPublish if it is published, or DocumentInvalid."""
    permissions.check_publish(principal, workflow)
    with tenant([workflow.team_id]):
        locked = drafts.lock(workflow)
        if locked.published_version_id == version.pk:
            raise NothingToPublish
        _check_document(version.snapshot)
        _set_published(principal, workflow, version)
    return version


def differs_from_published(workflow: Workflow, draft: Document) -> bool:
    """Return whether there is a published version and the draft differs from it."""
    version = workflow.published_version
    return version is not None and compute_hash(to_json(draft)) != version.snapshot.hash


def _check_document(snapshot: Snapshot) -> None:
    document = from_json(snapshot.document)
    problems = [*validate(document, load_kinds()), *find_call_problems(snapshot.team_id, document)]
    if errors := select_errors(problems):
        raise DocumentInvalid(errors)


def _create_version(
    principal: Principal, workflow: Workflow, snapshot: Snapshot, note: str
) -> Version:
    """Create the next version. The caller has locked the workflow, so its number stays free."""
    newest = Version.objects.unscoped().filter(workflow=workflow).aggregate(number=Max("number"))
    return Version.objects.create(
        team_id=workflow.team_id,
        workflow=workflow,
        number=(newest["number"] or 0) + 1,
        snapshot=snapshot,
        note=note.strip(),
        created_by_id=principal.user_id,
    )


def _set_published(principal: Principal, workflow: Workflow, version: Version) -> None:
    Workflow.objects.unscoped().filter(pk=workflow.pk).update(published_version=version)
    workflow.published_version = version
    audit_lines.record(
        principal, workflow, "workflow.published", number=version.number, hash=version.snapshot.hash
    )
    transaction.on_commit(lambda: announce_published(workflow.pk, version.number))
