"""Applies edits from the editor page, as the API does; the responses also contain the HTML of the changed parts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, ParamSpec
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from accounts.principals import Principal
from config.http import strict_json
from workflows.engine.editing import EditRefused, Op, read_log, read_ops
from workflows.engine.editing.ops import Paste
from workflows.engine.editing.paste import has_dropped_start
from workflows.engine.editing.records import build_edge, build_node, build_note
from workflows.engine.language.document import NodeSpec
from workflows.engine.language.problems import Problem, mark_unfinished_as_errors
from workflows.errors import (
    EditConflict,
    InvalidValue,
    NothingToUndo,
    WorkflowArchived,
    WorkflowFault,
)
from workflows.execution.kinds import load_kinds
from workflows.models import Workflow
from workflows.services.editing import gestures
from workflows.services.editing import undo as undoing
from workflows.services.editing.catch_up import get_revision_number, list_changes
from workflows.services.editing.changes import Change, build_problem_tree
from workflows.services.editing.deleted_nodes import name_deleted_nodes
from workflows.services.editing.draft_checksum import compute_shape
from workflows.services.editing.parts import MAX_IDS, read_parts
from workflows.services.models.mappings import load_directory_for
from workflows.templatetags.problem_sentences import translate_field_path
from workflows.views.canvas.fragments import Fragments, render_fragments
from workflows.views.request_context import find_workflow


P = ParamSpec("P")

HTTP_STATUS: Mapping[type[Exception], int] = {
    EditRefused: 422,
    InvalidValue: 422,
    NothingToUndo: 409,
    WorkflowArchived: 409,
    strict_json.NotStrictJson: 400,
}


class EditRequest(BaseModel):
    """The body of a request to edit, undo or redo.

    ``base`` is the revision on which the edit was made, ``key`` the idempotency key, ``client`` the browser's tab, and
    ``resolve`` the choice for each conflict by its index.
    """

    model_config = ConfigDict(extra="forbid")

    base: int | None = Field(None, ge=0)
    key: str | None = Field(None, max_length=100)
    client: str = Field("", max_length=100)
    label: str = Field("", max_length=255)
    ops: Any = []  # Any: JSON; ``read_ops`` validates it and names the invalid operation
    resolve: dict[int, gestures.Choice] = {}
    undoes: int | None = Field(None, ge=0)  # the reverted revision that ``resolve`` is about


def render_errors_as_json(view: Callable[P, HttpResponse]) -> Callable[P, HttpResponse]:
    """Make a view respond with JSON, not with a page, to the errors that have a status here."""

    @wraps(view)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        try:
            return view(*args, **kwargs)
        except tuple(HTTP_STATUS) as error:
            return JsonResponse({"error": _build_error(error)}, status=HTTP_STATUS[type(error)])

    return wrapper


@login_required
@require_http_methods(["PATCH", "POST"])
@render_errors_as_json
def edit_draft(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Apply one edit."""
    principal, workflow = find_workflow(request, workflow_id, "edit")
    payload = _read_request(request)
    ops = read_ops(payload.ops)
    try:
        change = gestures.edit(
            principal,
            workflow=workflow,
            ops=ops,
            base_revision=payload.base,
            idempotency_key=payload.key,
            label=payload.label,
            client=payload.client,
            choices=payload.resolve,
        )
    except EditConflict as conflict:
        return _render_conflict(principal, workflow, conflict)
    return JsonResponse({**serialize_change(change), "left_start": _has_dropped_start(ops, change)})


@login_required
@require_POST
@render_errors_as_json
def undo(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    return _undo_or_redo(request, workflow_id, undoing.undo)


@login_required
@require_POST
@render_errors_as_json
def redo(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    return _undo_or_redo(request, workflow_id, undoing.redo)


@login_required
@require_safe
@render_errors_as_json
def list_draft_changes(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Return the changes after a revision; ``reload`` is true if operations can't describe them.

    With ``part=<id>``, repeated as needed, also return the HTML of these nodes and edges.
    """
    principal, workflow = find_workflow(request, workflow_id)
    after = request.GET.get("after", "")
    if not after.isdecimal():
        raise InvalidValue(field="after")
    part_ids = request.GET.getlist("part")
    if len(part_ids) > MAX_IDS:
        raise InvalidValue(field="part")
    delta = list_changes(principal, workflow=workflow, after=int(after[:9]))
    return JsonResponse(
        {
            "revision": delta.revision,
            "reload": delta.reload,
            "changes": [serialize_change(change) for change in delta.changes],
            "shape": compute_shape(principal, workflow).to_tree(),
            "parts": _render_parts(principal, workflow, part_ids) if part_ids else None,
        }
    )


def serialize_change(change: Change) -> dict[str, Any]:  # Any: JSON
    """Return a change with the HTML of the nodes and edges that it touched."""
    return {**change.to_tree(), "html": _render_html(change, change.touched_parts.deleted)}


def _has_dropped_start(ops: Iterable[Op], change: Change) -> bool:
    """Return whether a paste left out the start node of its text."""
    log = read_log(change.revision.ops) if change.revision else ()
    return any(isinstance(op, Paste) and has_dropped_start(op, log) for op in ops)


def _render_parts(principal: Principal, workflow: Workflow, ids: Sequence[str]) -> Fragments:
    parts = read_parts(principal, workflow, ids)
    return _render_html(parts.change, parts.missing)


def _render_html(change: Change, removed_ids: Sequence[str]) -> Fragments:
    items = [build_note(item) if item.is_note else build_node(item) for item in change.items]
    nodes = [item for item in items if isinstance(item, NodeSpec)]
    return render_fragments(
        items,
        [build_edge(edge) for edge in change.edges],
        removed_ids=removed_ids,
        problems=name_deleted_nodes(change.workflow, mark_unfinished_as_errors(change.problems)),
        pinned=change.pinned,
        models=load_directory_for(change.workflow.team_id, nodes),
    )


def _undo_or_redo(
    request: HttpRequest, workflow_id: UUID, operation: Callable[..., Change]
) -> HttpResponse:
    principal, workflow = find_workflow(request, workflow_id, "edit")
    payload = _read_request(request)
    resolution = (
        None if payload.undoes is None else undoing.Resolution(payload.undoes, payload.resolve)
    )
    options = {"client": payload.client, "idempotency_key": payload.key, "resolution": resolution}
    try:
        change = operation(principal, workflow=workflow, **options)
    except EditConflict as conflict:
        return _render_conflict(principal, workflow, conflict)
    return JsonResponse(serialize_change(change))


def _read_request(request: HttpRequest) -> EditRequest:
    try:
        body = strict_json.read_body(request)
        return EditRequest.model_validate(strict_json.loads(body) if body else {})
    except ValidationError as invalid:
        raise EditRefused(
            tuple(
                Problem(
                    f"edit.{error['type']}",
                    error["msg"],
                    field=".".join(str(step) for step in error["loc"]),
                )
                for error in invalid.errors(include_url=False, include_context=False)
            )
        ) from None


def _render_conflict(
    principal: Principal, workflow: Workflow, conflict: EditConflict
) -> HttpResponse:
    """Return both values of each conflict and the draft's revision, so that the editor requests the missing changes."""
    own_flags = [
        field_conflict.author.id is not None and field_conflict.author.id == principal.user_id
        for field_conflict in conflict.conflicts
    ]
    kinds, node_kinds = load_kinds(), dict(workflow.nodes.values_list("key", "kind"))
    conflicts = [
        # own: the other change was made in another tab of the same person
        {
            **field_conflict.build_tree(),
            "own": is_own,
            "label": translate_field_path(
                field_conflict.field, kinds.get(node_kinds.get(field_conflict.node or "", ""))
            ),
        }
        for field_conflict, is_own in zip(conflict.conflicts, own_flags, strict=True)
    ]
    error = {**_build_error(conflict), "conflicts": conflicts, "undoes": conflict.undoes}
    if own_flags and all(own_flags):
        error["message"] = _("You changed this in another tab in the meantime.")
    revision = get_revision_number(principal, workflow=workflow)
    return JsonResponse({"error": error, "revision": revision}, status=409)


def _build_error(error: Exception) -> dict[str, Any]:  # Any: JSON
    body: dict[str, Any] = {"type": type(error).__name__, "message": str(error)}
    if isinstance(error, EditRefused):
        body["problems"] = [build_problem_tree(problem) for problem in error.problems]
    elif isinstance(error, WorkflowFault) and error.field:
        body["problems"] = [{"field": error.field, "message": str(error)}]
    return body
