"""The pages of data sets: the list, and one data set with its cases and evaluations."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.principals import Principal, get_current_team_id, get_principal
from accounts.views.pagination import paginate_by_offset
from workflows import permissions, selectors
from workflows.engine.testing.scoring import to_text
from workflows.errors import InvalidValue, NameTaken
from workflows.models import DataCase, DataSet, Evaluation, Version, Workflow
from workflows.models.reports.data_sets import Scorer
from workflows.services.data_sets import data_sets, evaluations, files
from workflows.views.data_sets.scores import build_score_charts
from workflows.views.request_context import choose_status, find_workflow, read_text


MAX_EVALUATIONS: Final = 50
MAX_VERSIONS: Final = 200
PAGE_SIZE: Final = 50


@login_required
@require_http_methods(["GET", "POST"])
def index(request: HttpRequest) -> HttpResponse:
    """List the team's data sets, and create one."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    error = ""
    if request.method == "POST":
        try:
            data_set = data_sets.save_data_set(
                principal,
                team_id=team_id,
                name=read_text(request.POST, "name"),
                description=read_text(request.POST, "description"),
            )
        except (InvalidValue, NameTaken) as invalid:
            error = str(invalid)
        else:
            return redirect("workflows:data_set", data_set.pk)
    context = {
        "data_sets": selectors.list_data_sets(principal, team_id),
        "can_edit": permissions.may_arrange(principal, team_id),
        "error": error,
        "name": read_text(request.POST, "name"),
    }
    return render(request, "data_sets/list.html", context, status=422 if error else 200)


@login_required
@require_safe
def detail(request: HttpRequest, data_set_id: UUID) -> HttpResponse:
    principal = get_principal(request)
    data_set = selectors.find_data_set(principal, data_set_id)
    return render_detail(request, principal, data_set)


def render_detail(
    request: HttpRequest,
    principal: Principal,
    data_set: DataSet,
    *,
    refusal: InvalidValue | NameTaken | None = None,
    **more: Any,  # Any: what a rejected form shows again
) -> HttpResponse:
    """Show a data set; after a refusal, or with a ``start_error``, its form is shown again (status 422 or 413)."""
    cases, page = paginate_by_offset(
        request, selectors.list_data_cases(principal, data_set), PAGE_SIZE
    )
    case_rows = [build_case_row(case) for case in cases]
    team_id = data_set.team_id
    workflows = _list_workflows(principal, data_set)
    rows = list(selectors.list_evaluations(principal, data_set)[:MAX_EVALUATIONS])
    values = _choose_values(request, rows)
    context = {
        "data_set": data_set,
        "cases": case_rows,
        "has_inputs": any(row["inputs"] for row in case_rows),
        "has_expected": any(row["expected"] for row in case_rows),
        "page": page,
        "can_edit": permissions.may_edit(principal, data_set.workflow or team_id),
        "workflows": workflows,
        "versions": _list_versions(principal, workflows, read_text(values, "workflow")),
        "scorers": Scorer.choices,
        "judges": evaluations.list_judges(team_id),
        "evaluations": [build_evaluation_row(row) for row in rows],
        "charts": build_score_charts(rows, lambda row: row.workflow.name),
        "values": values,
        "error": str(refusal or ""),
        **more,
    }
    status = choose_status(refusal) if refusal else 422 if more.get("start_error") else 200
    return render(request, "data_sets/detail.html", context, status=status)


def _choose_values(request: HttpRequest, rows: Sequence[Evaluation]) -> Mapping[str, str]:
    """Return what the forms begin with: what was sent, and the workflow and score of the newest evaluation unless others were."""
    sent = (request.POST if request.method == "POST" else request.GET).dict()
    last = {"workflow": str(rows[0].workflow_id), "scorer": rows[0].scorer} if rows else {}
    return sent if "workflow" in sent else last | sent


def _list_workflows(principal: Principal, data_set: DataSet) -> list[Workflow]:
    """Return the workflows to evaluate: of a workflow's own tests, that one comes first."""
    rows = selectors.list_workflows(principal, team_id=data_set.team_id).order_by("name", "id")
    workflows = list(rows[:500])
    return sorted(workflows, key=lambda workflow: workflow.pk != data_set.workflow_id)


@login_required
@require_safe
def scores(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Show the scores of a workflow over time, with every data set."""
    principal, workflow = find_workflow(request, workflow_id)
    rows = list(selectors.list_evaluations_of_workflow(principal, workflow)[:MAX_EVALUATIONS])
    context = {
        "workflow": workflow,
        "evaluations": [build_evaluation_row(row) for row in rows],
        "charts": build_score_charts(rows, lambda row: row.data_set.title),
    }
    return render(request, "data_sets/scores.html", context)


def _list_versions(
    principal: Principal, workflows: Sequence[Workflow], selected: str
) -> list[tuple[str, str]]:
    """Return the draft and the versions of the selected workflow, or else of the first one: values and labels."""
    workflow = next((row for row in workflows if str(row.pk) == selected), None)
    workflow = workflow or next(iter(workflows), None)
    if workflow is None:
        return []
    versions = selectors.list_versions(principal, workflow)[:MAX_VERSIONS]
    return [
        (evaluations.DRAFT, write_label(evaluations.DRAFT)),
        *((str(version.number), _describe_version(workflow, version)) for version in versions),
    ]


def _describe_version(workflow: Workflow, version: Version) -> str:
    """Return the number of the version with its date, the first line of its note, and whether it is published."""
    parts = [write_label(str(version.number)), date_format(version.created_at, "SHORT_DATE_FORMAT")]
    if workflow.published_version_id == version.pk:
        parts.append(_("Published"))
    parts += version.note.strip().splitlines()[:1]
    return " · ".join(part[:60] for part in parts)


def build_case_row(case: DataCase) -> dict[str, Any]:  # Any: what the template shows
    turns = case.spec.get("turns", ())
    inputs = json.dumps(case.inputs, ensure_ascii=False) if case.inputs else ""
    return {
        "case": case,
        "inputs": inputs,
        "expected": "" if case.expected is None else to_text(case.expected),
        "is_named": case.name not in (case.query.strip(), inputs),
        "turn_count": len(turns),
        "memory_count": len(case.spec.get("memories", ())),
        "check_count": sum(len(turn.get("checks", ())) for turn in turns),
    }


def build_evaluation_row(evaluation: Any) -> dict[str, Any]:  # Any: see above
    sides = [
        evaluation.summary.get(str(side), {}) for side in range(2 if evaluation.other_label else 1)
    ]
    labels = (evaluation.label, evaluation.other_label)
    return {
        "evaluation": evaluation,
        "sides": [
            {"label": write_label(label), **side}
            for label, side in zip(labels, sides, strict=False)
        ],
    }


def write_label(label: str) -> str:
    return _("Draft") if label == evaluations.DRAFT else _("Version %(n)s") % {"n": label}


@login_required
@require_POST
def change(request: HttpRequest, data_set_id: UUID) -> HttpResponse:
    """Rename a data set."""
    principal = get_principal(request)
    data_set = selectors.find_data_set(principal, data_set_id, "edit")
    try:
        data_sets.save_data_set(
            principal,
            team_id=data_set.team_id,
            name=read_text(request.POST, "name"),
            description=read_text(request.POST, "description"),
            data_set=data_set,
        )
    except (InvalidValue, NameTaken) as invalid:
        data_set.refresh_from_db()
        return render_detail(request, principal, data_set, refusal=invalid)
    return redirect("workflows:data_set", data_set.pk)


@login_required
@require_POST
def delete(request: HttpRequest, data_set_id: UUID) -> HttpResponse:
    principal = get_principal(request)
    data_set = selectors.find_data_set(principal, data_set_id, "edit")
    try:
        data_sets.delete_data_set(principal, data_set)
    except InvalidValue as refused:
        return render_detail(request, principal, data_set, refusal=refused)
    messages.success(request, _("Dataset deleted: %(name)s") % {"name": data_set.name})
    return redirect("workflows:data_sets")


@login_required
@require_safe
def export_cases(request: HttpRequest, data_set_id: UUID) -> HttpResponse:
    """Return the cases as JSON Lines."""
    principal = get_principal(request)
    data_set = selectors.find_data_set(principal, data_set_id)
    return HttpResponse(
        files.export_cases(principal, data_set, selectors.list_data_cases(principal, data_set)),
        content_type="application/jsonl; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="data-set-{data_set.pk}.jsonl"'},
    )
