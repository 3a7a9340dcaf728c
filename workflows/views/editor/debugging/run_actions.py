"""Runs from the editor: partial runs, continuing after a pause, pins, and the steps' values."""

from functools import partial
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.errors import NotFound
from accounts.principals import Principal
from workflows import memory_app, selectors
from workflows.engine.errors import DocumentInvalid, InputRejected, NodeFailed
from workflows.errors import InvalidValue, RunNotPaused, WorkflowFault
from workflows.forms import read_files, read_inputs
from workflows.models import Run, Workflow
from workflows.services.debugging import pauses, pins, sandbox_memory
from workflows.services.debugging.options import NodeNeedsValues, RunOptions
from workflows.templatetags.problems import describe_problem
from workflows.views.catalog.workflow_page import MAX_RECENT_RUNS, get_document
from workflows.views.editor.debugging.step_page import (
    build_pin_context,
    build_step_context,
    build_value_context,
)
from workflows.views.repeated_forms import send_once
from workflows.views.request_context import (
    choose_status,
    find_run,
    find_workflow,
    parse_id,
    read_text,
)
from workflows.views.runs.memory.context import build_memory_context
from workflows.views.runs.options import read_outputs, start_run_from_form
from workflows.views.runs.refusals import serialize_refusal


@login_required
@require_POST
def try_out(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Start a run of a part of the workflow and return JSON; the editor follows its events."""
    principal, workflow = find_workflow(request, workflow_id, "start")
    return send_once(
        request,
        principal,
        workflow.team_id,
        page_url=reverse("workflows:detail", args=[workflow.pk]),
        send=partial(_try_out, request, principal, workflow),
        show=lambda run_id: _respond_with_run(find_run(request, run_id)[1]),
    )


def _try_out(
    request: HttpRequest, principal: Principal, workflow: Workflow
) -> tuple[HttpResponse, Run | None]:
    try:
        document = get_document(principal, workflow)
        run = start_run_from_form(
            request,
            principal,
            workflow,
            document,
            inputs=read_inputs(document, request.POST),
            query=read_text(request.POST, "query") or None,
            files=read_files(request.POST.get("files", "")),
            default_options=RunOptions(),
        )
    except NodeNeedsValues as error:
        # The editor asks for the values, so this is not a failure.
        return JsonResponse({"error": _serialize_error(error)}), None
    except DocumentInvalid as invalid:
        return JsonResponse({"error": serialize_refusal(request, invalid)}, status=422), None
    except (InputRejected, InvalidValue, NodeFailed) as error:
        return JsonResponse({"error": _serialize_error(error)}, status=422), None
    return _respond_with_run(run), run


def _respond_with_run(run: Run) -> HttpResponse:
    return JsonResponse(build_run_links(run), status=201)


@login_required
@require_safe
def run_list(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Show recent runs; opening one draws its states on the canvas."""
    principal, workflow = find_workflow(request, workflow_id)
    runs = selectors.list_runs(principal, workflow=workflow).select_related("subject_user")
    context = {"workflow": workflow, "runs": runs[:MAX_RECENT_RUNS]}
    return render(request, "editor/debugging/_run_list.html", context)


@login_required
@require_POST
def resume(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Resume a paused run in the requested mode; the response is 409 if the run isn't paused."""
    principal, run = find_run(request, run_id)
    modes: dict[str, pauses.Mode] = {"continue": "continue", "step": "step", "stop": "stop"}
    mode = modes.get(request.POST.get("mode", ""))
    if mode is None:
        return JsonResponse({"error": {"message": _("Choose continue, step or stop.")}}, status=422)
    breakpoints = request.POST.getlist("breakpoint") if "breakpoints" in request.POST else None
    try:
        run = pauses.resume_run(principal, run, mode=mode, breakpoints=breakpoints)
    except RunNotPaused as not_paused:
        return JsonResponse({"error": {"message": str(not_paused)}}, status=409)
    return JsonResponse(build_run_links(run))


@login_required
@require_safe
def last_step(request: HttpRequest, workflow_id: UUID, node_key: str) -> HttpResponse:
    """Show the node's step in the requested run, or in the newest run with such a step.

    ``part``: inputs, outputs, explanation (everything that happened, without the commands), or all (which is the default).
    """
    principal, workflow = find_workflow(request, workflow_id)
    context = build_step_context(principal, workflow, node_key, read_text(request.GET, "run"))
    part = read_text(request.GET, "part") or "all"
    context["part"] = "all" if part == "explanation" else part
    context["has_commands"] = part == "all"
    return render(request, "editor/debugging/_run_step.html", context)


@login_required
@require_http_methods(["POST"])
def pin(request: HttpRequest, workflow_id: UUID, node_key: str) -> HttpResponse:
    """Pin the submitted outputs; ``remove`` deletes the pin."""
    principal, workflow = find_workflow(request, workflow_id, "edit")
    text, error, status = request.POST.get("outputs", ""), "", 200
    run_id = read_text(request.POST, "run")
    try:
        if "remove" in request.POST:
            pins.unpin_node(principal, workflow=workflow, node=node_key)
        else:
            pins.pin_node(
                principal,
                workflow=workflow,
                node=node_key,
                outputs=read_outputs(text),
                handle=read_text(request.POST, "handle") or None,
                run_id=parse_id(run_id) if run_id else None,
            )
    except InvalidValue as invalid:
        error, status = str(invalid), choose_status(invalid)
    context = build_pin_context(
        principal, workflow, node_key, text=text if error else None, error=error
    )
    return render(request, "editor/debugging/_pin_form.html", context, status=status)


@login_required
@require_POST
def edit_step(request: HttpRequest, run_id: UUID, node_key: str) -> HttpResponse:
    """Replace a step's outputs for the rest of a paused run."""
    principal, run = find_run(request, run_id)
    error = ""
    try:
        outputs = read_outputs(request.POST.get("outputs", ""))
        pauses.edit_step(principal, run, node=node_key, outputs=outputs)
    except WorkflowFault as fault:
        error = str(fault)
    context = build_step_context(principal, run.workflow, node_key, str(run.pk))
    context |= {"part": "all", "has_commands": True, "edit_error": error}
    return render(request, "editor/debugging/_run_step.html", context, status=422 if error else 200)


@login_required
@require_safe
def step_value(request: HttpRequest, run_id: UUID, node_key: str) -> HttpResponse:
    """Show the value on an edge, shortened unless the query has ``all``."""
    principal, run = find_run(request, run_id)
    step = selectors.find_step(principal, run, node_key, read_text(request.GET, "rounds"))
    context = build_value_context(
        run, step, read_text(request.GET, "part"), is_complete="all" in request.GET
    )
    return render(request, "editor/debugging/_run_value.html", context)


@login_required
@require_safe
def memory(request: HttpRequest, run_id: UUID) -> HttpResponse:
    principal, run = find_run(request, run_id)
    return render(request, "runs/memory/_panel.html", build_memory_context(principal, run))


@login_required
@require_POST
def decide_memory(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Apply or discard one memory change of a dry run, or all of them."""
    principal, run = find_run(request, run_id)
    if not memory_app.is_on():
        raise NotFound
    number = read_text(request.POST, "number")
    numbers = [int(number)] if number.isascii() and number.isdigit() and len(number) < 9 else None
    operation = (
        sandbox_memory.keep_memories if "keep" in request.POST else sandbox_memory.drop_memories
    )
    result = operation(principal, run, numbers=numbers)
    context = build_memory_context(principal, run) | {"rejections": result.refusals}
    return render(request, "runs/memory/_panel.html", context)


def build_run_links(run: Run) -> dict[str, Any]:
    """Return the state and the URLs that the editor needs to follow a run."""
    return {
        "id": str(run.pk),
        "status": run.status,
        "seen": run.last_seq,
        "events": reverse("workflows:run_events", args=[run.pk]),
        "page": reverse("workflows:run", args=[run.pk]),
        "warnings": (run.debug or {}).get("warnings") or [],
        "pinned": list(run.mocks or {}),
    }


def _serialize_error(error: Exception) -> dict[str, Any]:
    problems = getattr(error, "problems", ())
    return {
        "type": type(error).__name__,
        "message": str(error),
        "needs_values": isinstance(error, NodeNeedsValues),
        "problems": [
            {"node": problem.node, "field": problem.field, "message": describe_problem(problem)}
            for problem in problems
        ],
    }
