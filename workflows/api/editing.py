"""``/api/v1/workflows/{id}/draft`` and around it: edits by operations, undo, history, versions compared.

On the router of ``workflows``: a path's methods must be on one.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal
from uuid import UUID

from django.http import HttpRequest, JsonResponse
from ninja import Path, Schema, Status
from pydantic import ConfigDict, Field

from accounts.principals import Principal, get_principal
from config.http.openapi import Limit, Number, Offset
from workflows import selectors
from workflows.api.responses import version_out
from workflows.api.workflows import router
from workflows.engine.editing import write_ops
from workflows.engine.editing.decode import MAX_OPS, Asked
from workflows.engine.editing.diff import FieldChange
from workflows.errors import EditClash
from workflows.models import Workflow
from workflows.schemas import workflows
from workflows.services import publishing
from workflows.services.editing import catch_up, compare, gestures, restore
from workflows.services.editing import undo as undoing
from workflows.services.editing.changes import Change, build_revision_tree


__all__ = ["router"]

Which = Annotated[str, Field(pattern=r"^(draft|[1-9][0-9]{0,8})$")]
After = Annotated[int, Field(ge=0, lt=2**31)]
Json = Any  # values of a document are its author's business
Key = Annotated[
    str | None,
    Field(
        max_length=100,
        description="Idempotency key: a repeated request has no effect and returns the same result.",
    ),
]


class StepIn(workflows.In):
    key: Key = None
    client: str = Field("", max_length=100, description="Identifies the editor tab.")


class EditIn(StepIn):
    base: int | None = Field(
        None,
        ge=0,
        description="The revision that the edit is based on; an edit of an older one is rebased.",
    )
    label: str = Field("", max_length=255, description="Label in the history.")
    ops: list[Asked] = Field(max_length=MAX_OPS, description="Applied in order, all or none.")
    resolve: dict[int, Literal["mine", "theirs"]] = Field(
        {}, description="For conflicting operations (by index): which value wins."
    )


class BackIn(StepIn):
    undoes: int | None = Field(None, ge=0, description="For a resolved conflict: its revision.")
    resolve: dict[int, Literal["mine", "theirs"]] = Field(
        {}, description="For conflicts (by their ``op``): which value wins."
    )


class VersionIn(workflows.In):
    note: str = Field("", max_length=2_000, description="Version note.")
    publish: bool = Field(True, description="Publish the version.")


class AuthorOut(Schema):
    id: UUID | None
    name: str


class LabelOut(Schema):
    label: str


class RevisionOut(Schema):
    """One edit: plain operations, as they were done."""

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
    """``problems`` are those of the nodes in ``checked``; the draft's validation has them all."""

    problems: list[workflows.ProblemOut]
    checked: list[str]
    everything: bool = Field(description="The whole draft was replaced; reload it.")
    undo: LabelOut | None
    redo: LabelOut | None


class ChangesOut(Schema):
    revision: int
    reload: bool = Field(description="The operations are incomplete; reload the draft.")
    changes: list[ChangeOut]


class RevisionsOut(Schema):
    items: list[RevisionOut]
    count: int


class ClashOut(Schema):
    """``op`` is the index of your operation."""

    op: int
    node: str | None
    edge: str | None
    field: str
    yours: Json
    theirs: Json
    by: str


class ClashErrorOut(Schema):
    model_config = ConfigDict(extra="allow")

    type: str
    message: str
    clashes: list[ClashOut]
    undoes: int | None = Field(None, description="For an undo or redo: its revision.")


class ClashedOut(Schema):
    error: ClashErrorOut
    revision: int
    reload: bool
    changes: list[ChangeOut]


class FieldOut(Schema):
    path: str
    before: Json
    after: Json


class DiffOut(Schema):
    """The operations that lead from the one to the other, and what to mark in a drawing."""

    ops: list[dict[str, Json]]
    nodes: dict[str, Literal["added", "removed", "changed", "moved"]]
    edges: dict[str, Literal["added", "removed", "changed"]]
    fields: dict[str, list[FieldOut]]
    features: list[FieldOut]
    variables: list[FieldOut]


WRITTEN = {200: ChangeOut, 409: ClashedOut}


@router.patch(
    "/workflows/{uuid:workflow_id}/draft", response=WRITTEN, summary="Edit the draft by operations"
)
def edit_draft(request: HttpRequest, workflow_id: UUID, body: EditIn) -> Any:
    """One gesture: all of it or nothing, one revision, one step to undo.

    An edit made on an older revision is rebased over what came after. Where somebody else set the same
    field to another value the answer is 409 with both; ask again with ``resolve``.
    """
    principal = get_principal(request)
    workflow = selectors.workflow_for(principal, workflow_id, "edit")
    try:
        change = gestures.edit(
            principal,
            workflow=workflow,
            ops=tuple(op.read() for op in body.ops),
            base=body.base,
            key=body.key,
            label=body.label,
            client=body.client,
            resolve=body.resolve,
        )
    except EditClash as clash:
        return _clashed(principal, workflow, clash, body.base)
    return change.tree()


@router.post("/workflows/{uuid:workflow_id}/undo", response=WRITTEN, summary="Undo")
def undo(request: HttpRequest, workflow_id: UUID, body: BackIn) -> Any:
    """Takes back your own last edit, over what others did since.

    409 where that clashes; ask again with ``resolve``, and with the answer's ``undoes``.
    """
    return _walk(request, workflow_id, body, undoing.undo)


@router.post("/workflows/{uuid:workflow_id}/redo", response=WRITTEN, summary="Redo")
def redo(request: HttpRequest, workflow_id: UUID, body: BackIn) -> Any:
    """Does again what you last took back. An edit of your own in between empties this.

    A clash is decided as one of an undo.
    """
    return _walk(request, workflow_id, body, undoing.redo)


@router.get(
    "/workflows/{uuid:workflow_id}/changes", response=ChangesOut, summary="Changes since a revision"
)
def list_changes(request: HttpRequest, workflow_id: UUID, after: After) -> dict[str, Json]:
    principal = get_principal(request)
    workflow = selectors.workflow_for(principal, workflow_id)
    return _since(principal, workflow, after)


@router.get("/workflows/{uuid:workflow_id}/revisions", response=RevisionsOut, summary="List edits")
def list_revisions(
    request: HttpRequest, workflow_id: UUID, offset: Offset = 0, limit: Limit = 50
) -> dict[str, Json]:
    """The draft's history, newest first."""
    principal = get_principal(request)
    workflow = selectors.workflow_for(principal, workflow_id)
    found = selectors.revisions_of(principal, workflow)
    items = [build_revision_tree(row) for row in found[offset : offset + limit]]
    return {"items": items, "count": found.count()}


@router.post(
    "/workflows/{uuid:workflow_id}/revisions/{int:number}/restore",
    response=ChangeOut,
    summary="Restore a revision",
)
def go_back(
    request: HttpRequest, workflow_id: UUID, number: Path[Number], body: StepIn
) -> dict[str, Json]:
    """Takes back everything after it, whoever did it, as one edit that can be undone."""
    principal = get_principal(request)
    workflow = selectors.workflow_for(principal, workflow_id, "edit")
    return restore.restore_revision(
        principal, workflow=workflow, number=number, client=body.client, key=body.key
    ).tree()


@router.post(
    "/workflows/{uuid:workflow_id}/versions",
    response={201: workflows.VersionOut},
    summary="Create a version from the draft",
)
def add_version(
    request: HttpRequest, workflow_id: UUID, body: VersionIn
) -> Status[dict[str, object]]:
    """A version is the draft as it is, for good. ``publish: false``: a place to come back to."""
    principal = get_principal(request)
    workflow = selectors.workflow_for(principal, workflow_id, "publish")
    make = publishing.publish if body.publish else publishing.add_version
    return Status(201, version_out(make(principal, workflow=workflow, note=body.note), workflow))


@router.post(
    "/workflows/{uuid:workflow_id}/versions/{int:number}/publish",
    response=workflows.VersionOut,
    summary="Publish an existing version",
)
def publish_version(
    request: HttpRequest, workflow_id: UUID, number: Path[Number]
) -> dict[str, object]:
    principal = get_principal(request)
    workflow = selectors.workflow_for(principal, workflow_id, "publish")
    version = selectors.version_for(principal, workflow, number)
    publishing.publish_version(principal, workflow=workflow, version=version)
    return version_out(version, workflow)


@router.post(
    "/workflows/{uuid:workflow_id}/versions/{int:number}/restore",
    response=ChangeOut,
    summary="Restore a version to the draft",
)
def restore_version(
    request: HttpRequest, workflow_id: UUID, number: Path[Number], body: StepIn
) -> dict[str, Json]:
    """The draft becomes what the version says, as one edit that can be undone."""
    principal = get_principal(request)
    workflow = selectors.workflow_for(principal, workflow_id, "edit")
    version = selectors.version_for(principal, workflow, number)
    return restore.restore_version(
        principal, workflow=workflow, version=version, client=body.client, key=body.key
    ).tree()


@router.get(
    "/workflows/{uuid:workflow_id}/versions/{before}/diff/{after}",
    response=DiffOut,
    summary="Compare two versions, or a version with the draft",
)
def compare_versions(
    request: HttpRequest, workflow_id: UUID, before: Path[Which], after: Path[Which]
) -> dict[str, Json]:
    """Each is a version's number, or ``draft``."""
    principal = get_principal(request)
    workflow = selectors.workflow_for(principal, workflow_id)
    one = selectors.version_or_draft(principal, workflow, before)
    other = selectors.version_or_draft(principal, workflow, after)
    found = compare.compare(workflow, one, other)
    marks = found.drawn
    return {
        "ops": write_ops(found.ops),
        "nodes": marks.nodes,
        "edges": marks.edges,
        "fields": {node: _fields(changes) for node, changes in marks.fields.items()},
        "features": _fields(marks.features),
        "variables": _fields(marks.variables),
    }


def _fields(changes: tuple[FieldChange, ...]) -> list[dict[str, Json]]:
    return [{"path": c.path, "before": c.before, "after": c.after} for c in changes]


def _since(principal: Principal, workflow: Workflow, after: int) -> dict[str, Json]:
    since = catch_up.list_changes(principal, workflow=workflow, after=after)
    changes = [_told(change) for change in since.changes]
    return {"revision": since.revision, "reload": since.reload, "changes": changes}


def _walk(request: HttpRequest, workflow_id: UUID, body: BackIn, way: Callable[..., Change]) -> Any:
    principal = get_principal(request)
    workflow = selectors.workflow_for(principal, workflow_id, "edit")
    decided = None if body.undoes is None else undoing.Resolution(body.undoes, body.resolve)
    try:
        change = way(
            principal, workflow=workflow, client=body.client, key=body.key, resolution=decided
        )
    except EditClash as clash:
        return _clashed(principal, workflow, clash, None)
    return change.tree()


def _told(change: Change) -> dict[str, Json]:
    return change.tree()


def _clashed(
    principal: Principal, workflow: Workflow, clash: EditClash, base: int | None
) -> JsonResponse:
    """Both values, and everything that came after the base."""
    error = {
        "type": type(clash).__name__,
        "message": str(clash),
        "retryable": False,
        "clashes": [each.tree() for each in clash.clashes],
        "undoes": clash.undoes,
    }
    since = _since(principal, workflow, workflow.revision if base is None else base)
    return JsonResponse({"error": error, **since}, status=409)
