"""Routes of ``/api/v1/usage``: tokens, cost, latency and errors of a period."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from accounts.http.auth import api_auth
from accounts.principals import Principal, get_current_team_id, get_principal
from workflows.schemas.usage import UsageOut, UsageQuery, serialize_numbers
from workflows.services.usage import labels
from workflows.services.usage.export import write_csv
from workflows.services.usage.report import Dimension, Key, Selection, load_report


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
    text = write_csv(get_principal(request), selection, filters.by)
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
