"""The comments panel with the threads of a node or of the workflow; each action responds with the updated panel."""

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
from workflows.services.editor import comments as comment_service
from workflows.views.request_context import find_workflow, parse_id, read_text


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def comments(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Show the panel, or write a comment."""
    principal, workflow = find_workflow(request, workflow_id)
    if request.method != "POST":
        return _render_panel(request, principal, workflow)
    answers = read_text(request.POST, "answers")
    try:
        comment_service.write(
            principal,
            workflow=workflow,
            body=request.POST.get("body", ""),
            node=read_text(request.POST, "node"),
            answers=comment_service.get_comment(principal, parse_id(answers)) if answers else None,
        )
    except InvalidValue as error:
        return _render_panel(request, principal, workflow, error=str(error))
    return _render_panel(request, principal, workflow)


@login_required
@require_POST
def comment(request: HttpRequest, workflow_id: UUID, comment_id: UUID) -> HttpResponse:
    """Change, delete, resolve or reopen a comment."""
    principal, workflow = find_workflow(request, workflow_id)
    selected = comment_service.get_comment(principal, comment_id)
    if selected.workflow_id != workflow.pk:
        raise NotFound
    try:
        _apply_action(principal, selected, request.POST)
    except InvalidValue as error:
        return _render_panel(request, principal, workflow, error=str(error))
    return _render_panel(request, principal, workflow)


def _apply_action(principal: Principal, selected: Comment, data: QueryDict) -> None:
    match data.get("act"):
        case "change":
            comment_service.change(principal, comment=selected, body=data.get("body", ""))
        case "delete":
            comment_service.delete(principal, comment=selected)
        case "resolve" | "reopen" as action:
            comment_service.resolve(principal, comment=selected, resolved=action == "resolve")
        case _:
            raise InvalidChoice(field="act")


def _render_panel(
    request: HttpRequest, principal: Principal, workflow: Workflow, *, error: str = ""
) -> HttpResponse:
    node = request.GET.get("node")
    threads = comment_service.list_threads(principal, workflow)
    titles = dict(workflow.nodes.values_list("key", "title")) if threads or node else {}
    visible_threads = [thread for thread in threads if node is None or thread.first.node == node]
    rows = [_serialize_thread(principal, thread, titles) for thread in visible_threads]
    context = {
        "workflow": workflow,
        "node": node,
        "node_title": titles.get(node or "", "") or node,
        "open": [row for row in rows if not row["is_resolved"]],
        "resolved": [row for row in rows if row["is_resolved"]],
        "counts": comment_service.count_open(threads),
        "people": comment_service.list_mentionable_names(principal, workflow),
        "can_comment": permissions.may_comment(principal, workflow),
        "error": error,
    }
    template = "editor/collaboration/_comments.html"
    return render(request, template, context, status=422 if error else 200)


def _serialize_thread(
    principal: Principal, thread: comment_service.Thread, titles: dict[str, str]
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
