"""Edits from the page: the same as over the API, and the HTML of what they touched with the answer."""

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
from workflows.engine.editing.paste import leaves_start
from workflows.engine.editing.records import edge_of, node_of, note_of
from workflows.engine.language.config_errors import label_of
from workflows.engine.language.problems import Problem
from workflows.errors import (
    EditClash,
    InvalidValue,
    NothingToUndo,
    WorkflowArchived,
    WorkflowsFault,
)
from workflows.models import Workflow
from workflows.services.editing import gestures
from workflows.services.editing import undo as undoing
from workflows.services.editing.catch_up import get_revision, list_changes
from workflows.services.editing.changes import Change, build_problem_tree
from workflows.services.editing.draft_checksum import compute_shape
from workflows.services.editing.parts import MOST, read_parts
from workflows.services.kinds import installed_kinds
from workflows.templatetags.problem_sentences import label
from workflows.views.canvas.fragments import Fragments, render_fragments
from workflows.views.request_context import workflow_for


P = ParamSpec("P")

STATUS: Mapping[type[Exception], int] = {
    EditRefused: 422,
    InvalidValue: 422,
    NothingToUndo: 409,
    WorkflowArchived: 409,
    strict_json.NotStrictJson: 400,
}


class GestureIn(BaseModel):
    """What comes with every write. Operations are read by the engine, which addresses each problem."""

    model_config = ConfigDict(extra="forbid")

    base: int | None = Field(None, ge=0)
    key: str | None = Field(None, max_length=100)
    client: str = Field("", max_length=100)
    label: str = Field("", max_length=255)
    ops: Any = []  # Any: see ``read_ops``
    resolve: dict[int, gestures.Choice] = {}
    undoes: int | None = Field(None, ge=0)  # of a clash of an undo or redo that was decided: which


def told_as_json(view: Callable[P, HttpResponse]) -> Callable[P, HttpResponse]:
    """Refusals as the scripts read them, not as a page."""

    @wraps(view)
    def answered(*args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        try:
            return view(*args, **kwargs)
        except tuple(STATUS) as error:
            return JsonResponse({"error": _error(error)}, status=STATUS[type(error)])

    return answered


@login_required
@require_http_methods(["PATCH", "POST"])
@told_as_json
def draft(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """One gesture."""
    principal, workflow = workflow_for(request, workflow_id, "edit")
    asked = _asked(request)
    ops = read_ops(asked.ops)
    try:
        change = gestures.edit(
            principal,
            workflow=workflow,
            ops=ops,
            base=asked.base,
            key=asked.key,
            label=asked.label,
            client=asked.client,
            resolve=asked.resolve,
        )
    except EditClash as clash:
        return _clashed(principal, workflow, clash)
    return JsonResponse({**told(change), "left_start": _left_start(ops, change)})


def _left_start(ops: Iterable[Op], change: Change) -> bool:
    done = read_log(change.revision.ops) if change.revision else ()
    return any(isinstance(op, Paste) and leaves_start(op, done) for op in ops)


@login_required
@require_POST
@told_as_json
def undo(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    return _walk(request, workflow_id, undoing.undo)


@login_required
@require_POST
@told_as_json
def redo(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    return _walk(request, workflow_id, undoing.redo)


@login_required
@require_safe
@told_as_json
def changes(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """What happened after a revision; ``reload`` when that takes more than operations to tell.

    With ``part=<id>``, as often as wanted, also how these nodes and edges look now.
    """
    principal, workflow = workflow_for(request, workflow_id)
    after = request.GET.get("after", "")
    if not after.isdecimal():
        raise InvalidValue(field="after")
    asked = request.GET.getlist("part")
    if len(asked) > MOST:
        raise InvalidValue(field="part")
    since = list_changes(principal, workflow=workflow, after=int(after[:9]))
    return JsonResponse(
        {
            "revision": since.revision,
            "reload": since.reload,
            "changes": [told(change) for change in since.changes],
            "shape": compute_shape(principal, workflow).tree(),
            "parts": _parts(principal, workflow, asked) if asked else None,
        }
    )


def told(change: Change) -> dict[str, Any]:  # Any: JSON
    """A change with the HTML of what it touched."""
    return {**change.tree(), "html": _html(change, change.touched_parts.deleted)}


def _parts(principal: Principal, workflow: Workflow, ids: Sequence[str]) -> Fragments:
    parts = read_parts(principal, workflow, ids)
    return _html(parts.now, parts.missing)


def _html(change: Change, gone: Sequence[str]) -> Fragments:
    return render_fragments(
        [note_of(item) if item.is_note else node_of(item) for item in change.items],
        [edge_of(wire) for wire in change.wires],
        gone=gone,
        problems=change.problems,
        pinned=change.pinned,
    )


def _walk(request: HttpRequest, workflow_id: UUID, way: Callable[..., Change]) -> HttpResponse:
    principal, workflow = workflow_for(request, workflow_id, "edit")
    asked = _asked(request)
    decided = None if asked.undoes is None else undoing.Resolution(asked.undoes, asked.resolve)
    about = {"client": asked.client, "key": asked.key, "resolution": decided}
    try:
        change = way(principal, workflow=workflow, **about)
    except EditClash as clash:
        return _clashed(principal, workflow, clash)
    return JsonResponse(told(change))


def _asked(request: HttpRequest) -> GestureIn:
    try:
        body = strict_json.read_body(request)
        return GestureIn.model_validate(strict_json.loads(body) if body else {})
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


def _clashed(principal: Principal, workflow: Workflow, clash: EditClash) -> HttpResponse:
    """Both values. What else the tab hasn't seen yet it asks for itself."""
    own = [each.by.id is not None and each.by.id == principal.user_id for each in clash.clashes]
    kinds = dict(workflow.nodes.values_list("key", "kind"))
    clashes = [
        # own: it came from another tab, not from another person
        {**each.tree(), "own": is_own, "label": _label(each.field, kinds.get(each.node or ""))}
        for each, is_own in zip(clash.clashes, own, strict=True)
    ]
    error = {**_error(clash), "clashes": clashes, "undoes": clash.undoes}
    if own and all(own):
        error["message"] = _("You changed this in another tab in the meantime.")
    revision = get_revision(principal, workflow=workflow)
    return JsonResponse({"error": error, "revision": revision}, status=409)


def _label(field: str, kind: str | None) -> str:
    """As the form calls it; what no form shows keeps its name."""
    known = installed_kinds().get(kind) if kind else None
    steps = [int(step) if step.isdecimal() else step for step in field.split(".")]
    return label(label_of(steps, known.fields)) if known else field


def _error(error: Exception) -> dict[str, Any]:  # Any: JSON
    body: dict[str, Any] = {"type": type(error).__name__, "message": str(error)}
    if isinstance(error, EditRefused):
        body["problems"] = [build_problem_tree(problem) for problem in error.problems]
    elif isinstance(error, WorkflowsFault) and error.field:
        body["problems"] = [{"field": error.field, "message": str(error)}]
    return body
