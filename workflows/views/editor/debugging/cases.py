"""The panel of test cases: the list with the results, the form of a case, and running cases."""

from functools import partial
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.errors import NotFound
from accounts.principals import Principal
from workflows import permissions, selectors
from workflows.engine.errors import DocumentInvalid
from workflows.errors import WorkflowFault
from workflows.execution.kinds import load_kinds
from workflows.models import DataCase, Evaluation, Run, Workflow
from workflows.services.data_sets.cases import delete_case
from workflows.services.data_sets.publish_gate import change_gate
from workflows.services.debugging import cases
from workflows.services.editor.drafts import load_draft
from workflows.services.runs.runs import resolve_subject
from workflows.views.catalog.workflow_page import find_conversation, read_person
from workflows.views.editor.debugging.case_form import CaseForm, build_form, read_form
from workflows.views.editor.debugging.check_fields import build_subjects_context
from workflows.views.repeated_forms import send_once
from workflows.views.request_context import find_run, find_workflow, parse_id, read_text


MAX_GATES = 200


@login_required
@require_safe
def tests(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    principal, workflow = find_workflow(request, workflow_id)
    return _render_list(request, principal, workflow)


@login_required
@require_POST
def run_tests(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Run all cases, or only the case with the id ``case``."""
    principal, workflow = find_workflow(request, workflow_id, "edit")
    return send_once(
        request,
        principal,
        workflow.team_id,
        page_url=reverse("workflows:tests", args=[workflow.pk]),
        send=partial(_run_tests, request, principal, workflow),
        show=lambda _evaluation_id: _render_list(request, principal, workflow),
    )


def _run_tests(
    request: HttpRequest, principal: Principal, workflow: Workflow
) -> tuple[HttpResponse, Evaluation | None]:
    selected_cases = selectors.list_cases(principal, workflow.pk)
    if case_id := read_text(request.POST, "case"):
        selected_cases = selected_cases.filter(pk=parse_id(case_id))
    try:
        results = cases.run_cases(principal, workflow=workflow, cases=list(selected_cases))
    except DocumentInvalid as invalid:
        return _render_list(request, principal, workflow, invalid), None
    return _render_list(request, principal, workflow), results[0].evaluation if results else None


@login_required
@require_POST
def choose_gate(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Let the workflow be published only if the chosen cases pass."""
    principal, workflow = find_workflow(request, workflow_id, "publish")
    data_set = None
    if data_set_id := read_text(request.POST, "data_set"):
        data_set = selectors.find_data_set(principal, parse_id(data_set_id))
    change_gate(principal, workflow=workflow, data_set=data_set)
    return _render_list(request, principal, workflow)


@login_required
@require_http_methods(["GET", "POST"])
def new_test(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Save the new case, or show its form: empty, or filled from a run (``?run=``) or a conversation (``?last``).

    The conversation is the one that the chat beside the form shows, if it sends it along, and otherwise the last one.
    """
    principal, workflow = find_workflow(request, workflow_id, "edit")
    if request.method == "POST":
        return _save_case(request, principal, workflow, None)
    spec: dict[str, Any] = {"name": "", "turns": [{"checks": []}]}
    run: Run | None = None
    if "last" in request.GET:
        runs = _list_runs_to_save(request, principal, workflow)
        if not runs:
            return _render_list(request, principal, workflow, has_nothing_to_save=True)
        spec, run = cases.dump_case(cases.build_case_from_runs(runs)), runs[-1]
    if run_id := read_text(request.GET, "run"):
        _, run = find_run(request, parse_id(run_id))
        if run.workflow_id != workflow.pk:
            raise NotFound
        spec = cases.dump_case(cases.build_case_from_run(run))
    form = build_form(spec)
    form.run_id = str(run.pk) if run else ""
    return _render_form(request, workflow, None, form)


def _list_runs_to_save(request: HttpRequest, principal: Principal, workflow: Workflow) -> list[Run]:
    if "conversation" not in request.GET:
        return cases.list_last_runs(principal, workflow)
    subject = resolve_subject(principal, read_person(request.GET) or None).id
    key = read_text(request.GET, "conversation")
    conversation = find_conversation(principal, workflow, subject, key)
    return cases.list_conversation_runs(principal, conversation) if conversation else []


@login_required
@require_http_methods(["GET", "POST"])
def test(request: HttpRequest, workflow_id: UUID, case_id: UUID) -> HttpResponse:
    """Show the form of a case, or save it."""
    principal, workflow = find_workflow(request, workflow_id, "edit")
    case = selectors.find_case(principal, workflow.pk, case_id, "edit")
    if request.method == "POST":
        return _save_case(request, principal, workflow, case)
    return _render_form(request, workflow, case, build_form(case.spec))


@login_required
@require_POST
def delete_test(request: HttpRequest, workflow_id: UUID, case_id: UUID) -> HttpResponse:
    principal, workflow = find_workflow(request, workflow_id, "edit")
    case = selectors.find_case(principal, workflow.pk, case_id, "edit")
    delete_case(principal, case)
    return _render_list(request, principal, workflow)


@login_required
@require_safe
def test_result(request: HttpRequest, workflow_id: UUID, result_id: UUID) -> HttpResponse:
    principal, workflow = find_workflow(request, workflow_id)
    result = selectors.find_case_result(principal, workflow.pk, result_id)
    context = {
        "workflow": workflow,
        "case": result.case,
        "result": result,
        "can_edit": permissions.may_edit(principal, workflow),
    }
    return render(request, "editor/debugging/_case_result.html", context)


def _save_case(
    request: HttpRequest, principal: Principal, workflow: Workflow, case: DataCase | None
) -> HttpResponse:
    form = read_form(request.POST)
    if form.is_unfinished:  # "one more turn", "one more check": not saved yet
        return _render_form(request, workflow, case, form)
    try:
        run_id = parse_id(form.run_id) if form.run_id else None
        spec = form.build_spec()
        cases.save_case(principal, workflow=workflow, spec=spec, case=case, run_id=run_id)
    except DocumentInvalid as invalid:
        errors = form.place_errors(invalid.problems)
        return _render_form(request, workflow, case, form, errors, is_refused=True)
    except (ValueError, WorkflowFault) as error:
        return _render_form(request, workflow, case, form, [str(error)])
    return _render_list(request, principal, workflow)


def _render_form(
    request: HttpRequest,
    workflow: Workflow,
    case: DataCase | None,
    form: CaseForm,
    errors: list[str] | None = None,
    *,
    is_refused: bool = False,
) -> HttpResponse:
    context = {
        "workflow": workflow,
        "case": case,
        "form": form,
        "errors": errors or [],
        **build_subjects_context(load_draft(workflow), load_kinds()),
    }
    status = 422 if errors or is_refused else 200
    return render(request, "editor/debugging/_case_form.html", context, status=status)


def _render_list(
    request: HttpRequest,
    principal: Principal,
    workflow: Workflow,
    invalid: DocumentInvalid | None = None,
    *,
    has_nothing_to_save: bool = False,
) -> HttpResponse:
    """Show the list; with ``invalid`` above it the errors of the draft, which keep the cases from running."""
    all_cases = list(selectors.list_cases(principal, workflow.pk))
    results = cases.find_newest_results(all_cases)
    rows = [(case, results.get(case.pk)) for case in all_cases]
    context = {
        "workflow": workflow,
        "rows": rows,
        "is_open": any(result and result.is_open for _case, result in rows),
        "ran": any(result for _case, result in rows),
        "passed": sum(bool(result and result.has_passed) for _case, result in rows),
        "can_edit": permissions.may_edit(principal, workflow),
        **_build_gate_context(principal, workflow),
        "has_scores": bool(rows)
        or selectors.list_evaluations_of_workflow(principal, workflow).exists(),
        "has_nothing_to_save": has_nothing_to_save,
        "problems": invalid.problems if invalid else (),
        "titles": invalid.titles if invalid else {},
    }
    status = 422 if invalid else 200
    return render(request, "editor/debugging/_cases.html", context, status=status)


def _build_gate_context(principal: Principal, workflow: Workflow) -> dict[str, Any]:
    """Return the sets that can be made a condition of publishing: the workflow's own one first."""
    if not permissions.may_publish(principal, workflow):
        return {"can_publish": False}
    rows = selectors.list_data_sets(principal, workflow.team_id)
    choices = rows.filter(Q(workflow=None) | Q(workflow=workflow))
    gates = sorted(choices[:MAX_GATES], key=lambda data_set: data_set.workflow_id is None)
    return {"can_publish": True, "gates": gates}
