"""The page of an evaluation: its progress, the numbers of each version, and the answers side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.errors import NotFound
from accounts.principals import Principal, get_principal
from workflows import permissions, selectors
from workflows.engine.testing.scoring import to_text
from workflows.errors import InvalidValue, WorkflowFault
from workflows.models import DataSet, Evaluation, EvaluationResult, Version, Workflow
from workflows.services.data_sets import evaluations
from workflows.services.debugging.compare import Difference, compare_values
from workflows.views.data_sets.pages import build_case_row, build_evaluation_row, render_detail
from workflows.views.repeated_forms import send_once
from workflows.views.request_context import is_htmx, parse_id, read_text


@dataclass(frozen=True, slots=True)
class ResultCell:
    """The result of a case with one version, and how the answer differs from the expected one."""

    result: EvaluationResult
    answer: str
    differences: Sequence[Difference]


@dataclass(frozen=True, slots=True)
class ResultRow:
    """A case with the results of both versions. ``is_worse``: the second version scored lower than the first."""

    case: dict[str, Any]  # Any: what the template shows
    cells: list[ResultCell]

    @property
    def change(self) -> str:
        """Return "better" or "worse" if both versions have scores and they differ."""
        scores = [cell.result.score for cell in self.cells]
        if len(scores) < 2 or None in scores or scores[0] == scores[1]:
            return ""
        return "better" if (scores[1] or 0) > (scores[0] or 0) else "worse"


@login_required
@require_POST
def start(request: HttpRequest, data_set_id: UUID) -> HttpResponse:
    """Start an evaluation with the submitted options, and show it."""
    principal = get_principal(request)
    data_set = selectors.find_data_set(principal, data_set_id, "edit")
    return send_once(
        request,
        principal,
        data_set.team_id,
        page_url=reverse("workflows:data_set", args=[data_set.pk]),
        send=partial(_start, request, principal, data_set),
    )


def _start(
    request: HttpRequest, principal: Principal, data_set: DataSet
) -> tuple[HttpResponse, Evaluation | None]:
    data = request.POST
    names = [read_text(data, "version") or evaluations.DRAFT, read_text(data, "other_version")]
    workflow = selectors.find_workflow(principal, parse_id(read_text(data, "workflow")), "run")
    try:
        evaluation_request = evaluations.EvaluationRequest(
            versions=_find_versions(principal, workflow, names),
            scorer=read_text(data, "scorer"),
            output=read_text(data, "output"),
            provider=read_text(data, "provider"),
            model=read_text(data, "model"),
            criteria=read_text(data, "criteria"),
            offline=bool(read_text(data, "offline")),
        )
        evaluation = evaluations.start_evaluation(principal, data_set, workflow, evaluation_request)
    except (InvalidValue, WorkflowFault) as invalid:
        return render_detail(request, principal, data_set, start_error=str(invalid)), None
    return redirect("workflows:evaluation", evaluation.pk), evaluation


def _find_versions(
    principal: Principal, workflow: Workflow, names: Sequence[str]
) -> list[Version | None]:
    try:
        return selectors.find_versions(principal, workflow, filter(None, names))
    except NotFound:
        raise InvalidValue(_("The workflow has no such version."), field="versions") from None


@login_required
@require_safe
def detail(request: HttpRequest, evaluation_id: UUID) -> HttpResponse:
    """Show an evaluation; while it runs, htmx requests the results again."""
    principal = get_principal(request)
    evaluation = selectors.find_evaluation(principal, evaluation_id)
    rows = build_rows(evaluation)
    selection = read_text(request.GET, "only")
    context = {
        **build_evaluation_row(evaluation),
        "rows": [row for row in rows if _is_shown(row, selection)],
        "selection": selection,
        "can_edit": permissions.may_arrange(principal, evaluation.team_id),
        "url": request.get_full_path(),
    }
    name = "data_sets/_evaluation.html" if is_htmx(request) else "data_sets/evaluation.html"
    return render(request, name, context)


@login_required
@require_POST
def stop(request: HttpRequest, evaluation_id: UUID) -> HttpResponse:
    principal = get_principal(request)
    evaluation = selectors.find_evaluation(principal, evaluation_id, "edit")
    evaluations.stop_evaluation(principal, evaluation)
    return redirect("workflows:evaluation", evaluation.pk)


def build_rows(evaluation: Evaluation) -> list[ResultRow]:
    rows: dict[UUID, ResultRow] = {}
    for result in evaluations.list_results(evaluation):
        row = rows.setdefault(result.case_id, ResultRow(build_case_row(result.case), []))
        answer = "" if result.answer is None else to_text(result.answer)
        differences: Sequence[Difference] = ()
        if result.score is not None and result.score < 1 and result.case.expected is not None:
            expected = {"answer": result.case.expected}
            differences = compare_values("expected", expected, {"answer": result.answer})
        row.cells.append(ResultCell(result, answer, differences))
    return list(rows.values())


def _is_shown(row: ResultRow, selection: str) -> bool:
    """Return whether a row passes the filter: "failed" for a score below 1, or "changed" between the versions."""
    if selection == "failed":
        return any(cell.result.score != 1 for cell in row.cells)
    return bool(row.change) if selection == "changed" else True
