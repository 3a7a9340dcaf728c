"""Routes of ``/api/v1/usage``, ``/limits`` and ``/storage``: what runs of a period used, what may be used, and what they need on disk."""

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from ninja.pagination import paginate

from accounts.http.auth import api_auth
from accounts.principals import Principal, get_current_team_id, get_principal
from config.http.pages import Pages
from workflows import selectors
from workflows.schemas.budgets import BudgetLimitsIn, BudgetOut, BudgetsOut, serialize_budget
from workflows.schemas.storage import RetentionIn, RetentionOut, StorageOut
from workflows.schemas.usage import UsageOut, UsageQuery, serialize_numbers
from workflows.services.budgets.limits import set_team_limits
from workflows.services.budgets.report import list_key_budgets, load_team_budget
from workflows.services.runs.storage import change_days, get_days, list_storage
from workflows.services.usage import labels
from workflows.services.usage.export import export_usage as export_file
from workflows.services.usage.report import Dimension, Key, Selection, load_report, sees_team


router = Router(auth=api_auth(), tags=["usage"])

CSV_RESPONSE = {"responses": {200: {"content": {"text/csv": {"schema": {"type": "string"}}}}}}


@router.get("/usage", response=UsageOut, summary="Get usage")
def read_usage(request: HttpRequest, filters: Query[UsageQuery]) -> dict[str, object]:
    """Return the usage of a period in total, by day, and by ``by``.

    Admins get that of the whole team, or with ``own`` their own; members get their own, and an API key what it started.
    Runs count on the day, in UTC, on which they were created, once they have ended.
    """
    principal, team_id = get_principal(request), get_current_team_id(request)
    selection = filters.build_selection(team_id)
    report = load_report(principal, selection, (filters.by,))
    return {
        "since": selection.since,
        "until": selection.until,
        "total": serialize_numbers(report.total),
        "days": [{"day": day, **serialize_numbers(row)} for day, row in report.by_day.items()],
        "items": _serialize_rows(principal, selection, filters.by, report.by[filters.by]),
    }


@router.get(
    "/usage.csv", response={200: None}, summary="Export usage as CSV", openapi_extra=CSV_RESPONSE
)
def export_usage(request: HttpRequest, filters: Query[UsageQuery]) -> HttpResponse:
    """Return a row for each day and each value of ``by``."""
    selection = filters.build_selection(get_current_team_id(request))
    text = export_file(get_principal(request), selection, filters.by)
    return HttpResponse(text, content_type="text/csv; charset=utf-8")


def _serialize_rows(
    principal: Principal, selection: Selection, dimension: Dimension, rows: dict[Key, Any]
) -> list[dict[str, object]]:
    names = labels.label_rows(principal, selection.team_id, dimension, rows)
    visible = labels.list_visible_people_of(principal, selection.team_id, dimension)
    items = []
    for key in sorted(rows, key=lambda key: (-rows[key].count, -rows[key].tokens, str(key))):
        id_ = "/".join(str(value) for value in key if value is not None)
        if dimension == "person":
            id_ = labels.hide_person(id_, visible, selection.team_id)
        items.append({"id": id_, "name": names[key], **serialize_numbers(rows[key])})
    return items


@router.get("/limits", response=BudgetsOut, summary="Get limits and today's use")
def read_limits(request: HttpRequest) -> dict[str, Any]:
    """Return limits with what has been used of them. A run beyond one is refused with 429 and ``Retry-After``."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    team = load_team_budget(principal, team_id) if sees_team(principal, team_id) else None
    return {
        "team": serialize_budget(team) if team else None,
        "keys": [serialize_budget(row) for row in list_key_budgets(principal, team_id)],
    }


@router.put("/limits", response=BudgetOut, summary="Set the limits of the team")
def set_limits(request: HttpRequest, body: BudgetLimitsIn) -> dict[str, Any]:
    """Set all limits of the team, as an owner; null is no limit. None can be above that of the installation."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    set_team_limits(principal, team_id, body.to_limits())
    return serialize_budget(load_team_budget(principal, team_id))


@router.get("/storage", response=list[StorageOut], summary="Get the size of stored runs")
@paginate(Pages)
def read_storage(request: HttpRequest) -> list[dict[str, object]]:
    """Return what the runs of each workflow of the team need on disk, for admins. The bytes are an estimate."""
    return [
        {
            "workflow": row.workflow.pk,
            "name": row.workflow.name,
            "runs": row.run_count,
            "bytes": row.size,
            "bytes_per_run": row.bytes_per_run,
            "oldest_at": row.oldest_at,
            "keep_days": row.keep_days,
            "keep_failed_days": row.keep_failed_days,
        }
        for row in list_storage(get_principal(request), get_current_team_id(request))
    ]


@router.put(
    "/workflows/{uuid:workflow_id}/retention",
    response=RetentionOut,
    summary="Change how long runs are stored",
)
def change_retention(request: HttpRequest, workflow_id: UUID, body: RetentionIn) -> dict[str, int]:
    """Decide for how many days after their end the workflow's runs are stored, and its failed ones.

    ``null`` stands for the setting of the installation, 0 for ever. Failed runs are never deleted before the others: a
    smaller number for them is refused, and if the setting for them is smaller than ``keep_days``, that counts.
    """
    principal = get_principal(request)
    workflow = selectors.find_workflow(principal, workflow_id, "edit")
    change_days(principal, workflow, days=body.keep_days, failed_days=body.keep_failed_days)
    days, failed_days = get_days(workflow)
    return {"keep_days": days, "keep_failed_days": failed_days}
