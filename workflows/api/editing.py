"""Routes of drafts: editing by operations, undo, history and comparison of versions.

They are on the router of ``workflows``, because a path's methods must be on one router.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal
from uuid import UUID

from django.http import HttpRequest, JsonResponse
from ninja import Path, Schema, Status
from ninja.pagination import paginate
from pydantic import ConfigDict, Field

from accounts.principals import Principal
from config.http.openapi import Body, Number, with_example
from config.http.pages import Listing, Pages, list_rows
from workflows import selectors
from workflows.api.request_context import find_workflow
from workflows.api.workflows import router, serialize_version
from workflows.engine.editing import write_ops
from workflows.engine.editing.decode import MAX_OPS, ClientOp
from workflows.errors import EditConflict
from workflows.models import Revision, Workflow
from workflows.schemas import workflows
from workflows.services import publishing
from workflows.services.editing import catch_up, compare, gestures, restore
from workflows.services.editing import undo as undoing
from workflows.services.editing.changes import Change, build_revision_tree


__all__ = ["router"]

VersionOrDraft = Annotated[str, Field(pattern=r"^(draft|[1-9][0-9]{0,8})$")]
After = Annotated[int, Field(ge=0, lt=2**31)]
Json = Any  # any value of a document
Key = Annotated[
    str | None,
    Field(
        max_length=100,
        description="Idempotency key: a repeated request has no effect and returns the same result.",
    ),
]


class StepIn(Body):
    """The fields of every request that changes the draft."""

    model_config = with_example(key="restore-1")

    key: Key = None
    client: str = Field("", max_length=100, description="Identifies the editor tab.")


class EditIn(StepIn):
    model_config = with_example(
        key="rename-1", label="Shorter", ops=[{"op": "rename", "id": "answer", "title": "Reply"}]
    )

    base: int | None = Field(
        None,
        ge=0,
        description="The revision that the edit is based on; an edit of an older one is rebased.",
    )
    label: str = Field("", max_length=255, description="Label in the history.")
    ops: list[ClientOp] = Field(max_length=MAX_OPS, description="Applied in order, all or none.")
    resolve: dict[int, Literal["mine", "theirs"]] = Field(
        {}, description="For conflicting operations (by index): which value wins."
    )


class BackIn(StepIn):
    model_config = with_example(key="undo-1")

    undoes: int | None = Field(None, ge=0, description="For a resolved conflict: its revision.")
    resolve: dict[int, Literal["mine", "theirs"]] = Field(
        {}, description="For conflicts (by their ``op``): which value wins."
    )


class VersionIn(Body):
    model_config = with_example(note="Shorter answers", publish=True)

    note: str = Field("", max_length=2_000, description="Version note.")
    publish: bool = Field(True, description="Publish the version.")


class AuthorOut(Schema):
    id: UUID | None
    name: str


class LabelOut(Schema):
    label: str


class RevisionOut(Schema):
    """One edit with its operations."""

    revision: int
    base: int
    author: AuthorOut | None
    client: str
    label: str
    kind: Literal["edit", "undo", "redo"]
    ops: list[dict[str, Json]]
    undoes: int | None
    at: str | None


class ChangeOut(RevisionOut):
    """An edit and the current state. ``problems`` are those of the nodes in ``checked``; validate the draft for all."""

    problems: list[workflows.ProblemOut]
    checked: list[str]
    everything: bool = Field(description="The whole draft was replaced; reload it.")
    undo: LabelOut | None
    redo: LabelOut | None


class ChangesOut(Schema):
    revision: int
    reload: bool = Field(description="The operations are incomplete; reload the draft.")
    changes: list[ChangeOut]


class ConflictOut(Schema):
    """A conflict; ``op`` is the index of your operation."""

    op: int
    node: str | None
    edge: str | None
    field: str
    yours: Json
    theirs: Json
    by: str


class ConflictErrorOut(Schema):
    model_config = ConfigDict(extra="allow")

    type: str
    message: str
    conflicts: list[ConflictOut]
    undoes: int | None = Field(None, description="For an undo or redo: its revision.")


class ConflictResponseOut(Schema):
    error: ConflictErrorOut
    revision: int
    reload: bool
    changes: list[ChangeOut]


class FieldOut(Schema):
    path: str
    before: Json
    after: Json


class DiffOut(Schema):
    """The operations that turn the first document into the second, and the marks for drawing the difference."""

    ops: list[dict[str, Json]]
    nodes: dict[str, Literal["added", "removed", "changed", "moved"]]
    edges: dict[str, Literal["added", "removed", "changed"]]
    fields: dict[str, list[FieldOut]]
    features: list[FieldOut]
    variables: list[FieldOut]


EDIT_RESPONSES = {200: ChangeOut, 409: ConflictResponseOut}


@router.patch(
    "/workflows/{uuid:workflow_id}/draft",
    response=EDIT_RESPONSES,
    summary="Edit the draft by operations",
)
def edit_draft(request: HttpRequest, workflow_id: UUID, body: EditIn) -> Any:
    """Apply operations to the draft: all of them or none, as one revision and one undo step.

    An edit of an older revision is rebased over later edits. If another member set the same field
    to another value, the response is 409 with both values; repeat the request with ``resolve``.
    """
    principal, workflow = find_workflow(request, workflow_id, "edit")
    try:
        change = gestures.edit(
            principal,
            workflow=workflow,
            ops=tuple(op.read() for op in body.ops),
            base_revision=body.base,
            idempotency_key=body.key,
            label=body.label,
            client=body.client,
            choices=body.resolve,
        )
    except EditConflict as conflict:
        return _build_conflict_response(principal, workflow, conflict, body.base)
    return change.to_tree()


@router.post("/workflows/{uuid:workflow_id}/undo", response=EDIT_RESPONSES, summary="Undo an edit")
def undo_edit(request: HttpRequest, workflow_id: UUID, body: BackIn) -> Any:
    """Undo your own last edit, keeping later edits of others.

    The response is 409 if they conflict; repeat the request with ``resolve`` and the response's ``undoes``.
    """
    return _undo_or_redo(request, workflow_id, body, undoing.undo)


@router.post("/workflows/{uuid:workflow_id}/redo", response=EDIT_RESPONSES, summary="Redo an edit")
def redo_edit(request: HttpRequest, workflow_id: UUID, body: BackIn) -> Any:
    """Redo the edit that you undid last; an edit of your own in between clears the redo stack.

    A conflict is resolved as for undo.
    """
    return _undo_or_redo(request, workflow_id, body, undoing.redo)


@router.get(
    "/workflows/{uuid:workflow_id}/changes", response=ChangesOut, summary="Changes since a revision"
)
def list_changes(request: HttpRequest, workflow_id: UUID, after: After) -> dict[str, Json]:
    """Return the draft's changes after a revision, or ``reload`` if they are too many."""
    principal, workflow = find_workflow(request, workflow_id)
    return _build_changes(principal, workflow, after)


@router.get(
    "/workflows/{uuid:workflow_id}/revisions", response=list[RevisionOut], summary="List edits"
)
@paginate(Pages)
def list_edits(request: HttpRequest, workflow_id: UUID) -> Listing[Revision]:
    """Return the draft's history, newest first."""
    principal, workflow = find_workflow(request, workflow_id)
    revisions = selectors.list_revisions(principal, workflow)
    return list_rows(revisions, lambda rows: list(map(build_revision_tree, rows)))


@router.post(
    "/workflows/{uuid:workflow_id}/revisions/{int:number}/restore",
    response=ChangeOut,
    summary="Restore a revision",
)
def restore_revision(
    request: HttpRequest, workflow_id: UUID, number: Path[Number], body: StepIn
) -> dict[str, Json]:
    """Undo every edit after this revision, whoever made it, as one edit that can be undone."""
    principal, workflow = find_workflow(request, workflow_id, "edit")
    return restore.restore_revision(
        principal, workflow=workflow, number=number, client=body.client, idempotency_key=body.key
    ).to_tree()


@router.post(
    "/workflows/{uuid:workflow_id}/versions",
    response={201: workflows.VersionOut},
    summary="Create a version from the draft",
)
def add_version(
    request: HttpRequest, workflow_id: UUID, body: VersionIn
) -> Status[dict[str, object]]:
    """Create a permanent version from the draft. ``publish: false`` creates it without publishing."""
    principal, workflow = find_workflow(request, workflow_id, "publish")
    create_version = publishing.publish if body.publish else publishing.add_version
    version = create_version(principal, workflow=workflow, note=body.note)
    return Status(201, serialize_version(version, workflow))


@router.post(
    "/workflows/{uuid:workflow_id}/versions/{int:number}/publish",
    response=workflows.VersionOut,
    summary="Publish an existing version",
)
def publish_version(
    request: HttpRequest, workflow_id: UUID, number: Path[Number]
) -> dict[str, object]:
    """Publish an existing version, which may be an older one. Fails with NothingToPublish if it is published."""
    principal, workflow = find_workflow(request, workflow_id, "publish")
    version = selectors.find_version(principal, workflow, number)
    publishing.publish_version(principal, workflow=workflow, version=version)
    return serialize_version(version, workflow)


@router.post(
    "/workflows/{uuid:workflow_id}/versions/{int:number}/restore",
    response=ChangeOut,
    summary="Restore a version to the draft",
)
def restore_version(
    request: HttpRequest, workflow_id: UUID, number: Path[Number], body: StepIn
) -> dict[str, Json]:
    """Replace the draft with a version's document, as one edit that can be undone."""
    principal, workflow = find_workflow(request, workflow_id, "edit")
    version = selectors.find_version(principal, workflow, number)
    return restore.restore_version(
        principal, workflow=workflow, version=version, client=body.client, idempotency_key=body.key
    ).to_tree()


@router.get(
    "/workflows/{uuid:workflow_id}/versions/{before}/diff/{after}",
    response=DiffOut,
    summary="Compare two versions, or a version with the draft",
)
def compare_versions(
    request: HttpRequest,
    workflow_id: UUID,
    before: Path[VersionOrDraft],
    after: Path[VersionOrDraft],
) -> dict[str, Json]:
    """Compare two versions by number, or a version with ``draft``."""
    principal, workflow = find_workflow(request, workflow_id)
    old = selectors.find_version_or_draft(principal, workflow, before)
    new = selectors.find_version_or_draft(principal, workflow, after)
    comparison = compare.compare(workflow, old, new)
    marks = comparison.marks
    return {
        "ops": write_ops(comparison.ops),
        "nodes": marks.nodes,
        "edges": marks.edges,
        "fields": marks.fields,
        "features": marks.features,
        "variables": marks.variables,
    }


def _build_changes(principal: Principal, workflow: Workflow, after: int) -> dict[str, Json]:
    delta = catch_up.list_changes(principal, workflow=workflow, after=after)
    changes = [change.to_tree() for change in delta.changes]
    return {"revision": delta.revision, "reload": delta.reload, "changes": changes}


def _undo_or_redo(
    request: HttpRequest, workflow_id: UUID, body: BackIn, operation: Callable[..., Change]
) -> Any:
    principal, workflow = find_workflow(request, workflow_id, "edit")
    resolution = None if body.undoes is None else undoing.Resolution(body.undoes, body.resolve)
    try:
        change = operation(
            principal,
            workflow=workflow,
            client=body.client,
            idempotency_key=body.key,
            resolution=resolution,
        )
    except EditConflict as conflict:
        return _build_conflict_response(principal, workflow, conflict, None)
    return change.to_tree()


def _build_conflict_response(
    principal: Principal, workflow: Workflow, conflict: EditConflict, base_revision: int | None
) -> JsonResponse:
    """Return both values of each conflict, and every change after the base revision, by default the newest."""
    error = {
        "type": type(conflict).__name__,
        "message": str(conflict),
        "retryable": False,
        "conflicts": [item.build_tree() for item in conflict.conflicts],
        "undoes": conflict.undoes,
    }
    after = workflow.revision if base_revision is None else base_revision
    return JsonResponse({"error": error, **_build_changes(principal, workflow, after)}, status=409)
