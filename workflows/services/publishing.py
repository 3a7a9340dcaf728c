"""Publish drafts as numbered versions that never change."""

from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import Max, Q

from accounts.access import Principal
from accounts.tenancy import tenant
from workflows import memory_app, permissions
from workflows.engine.errors import DocumentInvalid
from workflows.engine.language.disabled_nodes import remove_disabled
from workflows.engine.language.document import Document
from workflows.engine.language.failure_policy import handles_failure
from workflows.engine.language.memory_usage import list_shared_writers
from workflows.engine.language.plan import list_node_titles
from workflows.engine.language.problems import UNAVAILABLE_CODES, Problem, select_errors
from workflows.engine.language.validation import validate
from workflows.errors import NothingToPublish, PublishingUnconfirmed
from workflows.execution.kinds import load_kinds
from workflows.live.announce import announce_published
from workflows.models import Snapshot, Version, Workflow
from workflows.models.documents import compute_hash, from_json, to_json
from workflows.services import audit_lines
from workflows.services.data_sets.publish_gate import check_gate
from workflows.services.editor import drafts
from workflows.services.editor.code_problems import find_code_problems
from workflows.services.editor.snapshots import take_snapshot
from workflows.services.runs.document_checks import check_finished
from workflows.services.tools.callable_workflows import find_call_problems
from workflows.services.tools.tool_problems import find_tool_problems
from workflows.services.triggers.activation import activate_triggers


_ALL: Final = Q()


def publish(
    principal: Principal,
    *,
    workflow: Workflow,
    note: str = "",
    must_be_finished: bool = False,
    accepts_failing_nodes: bool = True,
) -> Version:
    """Publish the current draft as a new version. Raises NothingToPublish, or DocumentInvalid with every error.

    CasesNotPassed names the cases of the set that the workflow must pass, if some have not passed with this draft.
    With ``must_be_finished``, half-made nodes count as errors, as they do when a person tries the draft. Without
    ``accepts_failing_nodes``, PublishingUnconfirmed names each node at which a run of the version would fail.
    """
    permissions.check_publish(principal, workflow)
    with tenant([workflow.team_id]):
        locked = drafts.lock(workflow)
        snapshot = take_snapshot(locked)
        if locked.published_version and locked.published_version.snapshot_id == snapshot.pk:
            raise NothingToPublish
        if must_be_finished:
            check_finished(locked, from_json(snapshot.document))
        _check_document(snapshot)
        if not accepts_failing_nodes:
            _check_failing_nodes(locked, from_json(snapshot.document))
        check_gate(locked, snapshot)
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
    """Publish an existing version. Raises NothingToPublish if it is published, DocumentInvalid or CasesNotPassed."""
    permissions.check_publish(principal, workflow)
    with tenant([workflow.team_id]):
        locked = drafts.lock(workflow)
        if locked.published_version_id == version.pk:
            raise NothingToPublish
        _check_document(version.snapshot)
        check_gate(locked, version.snapshot)
        _set_published(principal, workflow, version)
    return version


def list_published_workflows(
    principal: Principal,
    team_id: UUID,
    *order: str,
    condition: Q = _ALL,
    with_documents: bool = True,
) -> list[Workflow]:
    """Return the published workflows of the team that the principal may run, in this order of their fields."""
    rows = Workflow.objects.visible_to(principal).filter(
        condition, team_id=team_id, published_version__isnull=False, archived_at=None
    )
    rows = rows.select_related("team", "published_version__snapshot").order_by(*order)
    if not with_documents:
        rows = rows.defer("published_version__snapshot__document")
    return [workflow for workflow in rows if permissions.may_run(principal, workflow)]


def find_failing_nodes(workflow: Workflow, document: Document) -> list[Problem]:
    """Return one problem for each node at which a run of a published version fails: its type, tool or module is not here.

    Published versions ignore pins. Nodes that no run reaches, or whose failures are handled, don't count.
    """
    kinds = load_kinds()
    document, _disabled = remove_disabled(document, kinds)
    problems = [
        *validate(document, kinds),
        *find_tool_problems(workflow.team_id, document),
        *find_code_problems(document),
    ]
    harmless = {problem.node for problem in problems if problem.code == "node.unreachable"}
    harmless |= {node.id for node in document.nodes if handles_failure(node.data)}
    first_problems: dict[str, Problem] = {}
    for problem in problems:
        if problem.node and problem.code in UNAVAILABLE_CODES and problem.node not in harmless:
            first_problems.setdefault(problem.node, problem)
    return [*first_problems.values()]


def list_writers_for_keys(
    principal: Principal, workflow: Workflow, document: Document
) -> list[str]:
    """Return the titles of nodes that write shared memory, which runs for external users may not do here.

    Only a key that may write memory itself lets its runs do so (``memory.services.gateway``).
    """
    kinds = load_kinds()
    writers = list_shared_writers(document, kinds)
    if not writers or not memory_app.is_on():
        return []
    caller = memory_app.MemoryCaller(principal, workflow.team_id)
    limits = memory_app.get_effective_limits(caller, app_id=str(workflow.pk))
    titles = list_node_titles(document, kinds)
    return [] if limits.subjects_write_global else [titles[node.id] for node in writers]


def differs_from_published(workflow: Workflow, draft: Document) -> bool:
    """Return whether there is a published version and the draft differs from it."""
    version = workflow.published_version
    return version is not None and compute_hash(to_json(draft)) != version.snapshot.hash


def _check_document(snapshot: Snapshot) -> None:
    document = from_json(snapshot.document)
    kinds = load_kinds()
    problems = [*validate(document, kinds), *find_call_problems(snapshot.team_id, document)]
    if errors := select_errors(problems):
        raise DocumentInvalid(errors, list_node_titles(document, kinds))


def _check_failing_nodes(workflow: Workflow, document: Document) -> None:
    if problems := find_failing_nodes(workflow, document):
        raise PublishingUnconfirmed(problems, list_node_titles(document, load_kinds()))


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
    activate_triggers(principal, workflow, from_json(version.snapshot.document))
    audit_lines.record(
        principal, workflow, "workflow.published", number=version.number, hash=version.snapshot.hash
    )
    transaction.on_commit(lambda: announce_published(workflow.pk, version.number))
