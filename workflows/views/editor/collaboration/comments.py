"""The comments panel: the threads of a node or of the whole workflow, and the actions on them.

Every response is the updated panel.
"""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_http_methods, require_POST

from accounts.errors import InvalidChoice, NotFound
from accounts.principals import Principal
from workflows import permissions
from workflows.errors import InvalidValue
from workflows.models import Comment, Workflow
from workflows.services.editor import comments as service
from workflows.views.request_context import parse_id, read_text, workflow_for


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def comments(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    principal, workflow = workflow_for(request, workflow_id)
    if request.method != "POST":
        return _render_panel(request, principal, workflow)
    answers = read_text(request.POST, "answers")
    try:
        service.write(
            principal,
            workflow=workflow,
            body=request.POST.get("body", ""),
            node=read_text(request.POST, "node"),
            answers=service.get_comment(principal, parse_id(answers)) if answers else None,
        )
    except InvalidValue as error:
        return _render_panel(request, principal, workflow, error=str(error), status=422)
    return _render_panel(request, principal, workflow)


@login_required
@require_POST
def comment(request: HttpRequest, workflow_id: UUID, comment_id: UUID) -> HttpResponse:
    principal, workflow = workflow_for(request, workflow_id)
    row = service.get_comment(principal, comment_id)
    if row.workflow_id != workflow.pk:
        raise NotFound
    try:
        _apply_action(principal, row, request.POST)
    except InvalidValue as error:
        return _render_panel(request, principal, workflow, error=str(error), status=422)
    return _render_panel(request, principal, workflow)


def _apply_action(principal: Principal, row: Comment, data: QueryDict) -> None:
    match data.get("act"):
        case "change":
            service.change(principal, comment=row, body=data.get("body", ""))
        case "delete":
            service.delete(principal, comment=row)
        case "resolve" | "reopen" as action:
            service.resolve(principal, comment=row, resolved=action == "resolve")
        case _:
            raise InvalidChoice(field="act")


def _render_panel(
    request: HttpRequest,
    principal: Principal,
    workflow: Workflow,
    *,
    error: str = "",
    status: int = 200,
) -> HttpResponse:
    node = request.GET.get("node")
    threads = service.list_threads(principal, workflow)
    titles = dict(workflow.nodes.values_list("key", "title")) if threads or node else {}
    visible_threads = [thread for thread in threads if node is None or thread.first.node == node]
    rows = [_serialize_thread(principal, thread, titles) for thread in visible_threads]
    context = {
        "workflow": workflow,
        "node": node,
        "node_title": titles.get(node or "", "") or node,
        "open": [row for row in rows if not row["is_resolved"]],
        "resolved": [row for row in rows if row["is_resolved"]],
        "counts": service.count_open(threads),
        "people": service.list_mentionable_names(principal, workflow),
        "can_comment": permissions.may_comment(principal, workflow),
        "error": error,
    }
    return render(request, "editor/collaboration/_comments.html", context, status=status)


def _serialize_thread(
    principal: Principal, thread: service.Thread, titles: dict[str, str]
) -> dict[str, object]:
    node = thread.first.node
    return {
        "first": thread.first,
        "is_resolved": thread.is_resolved,
        "rows": [
            {
                "comment": row,
                "may_change": permissions.may_change_comment(principal, row),
                "may_delete": permissions.may_delete_comment(principal, row),
            }
            for row in (thread.first, *thread.answers)
        ],
        "node": node,
        "node_title": titles.get(node) or node,
        "node_is_gone": bool(node) and node not in titles,
        "may_resolve": permissions.may_resolve_comment(principal, thread.first),
    }
