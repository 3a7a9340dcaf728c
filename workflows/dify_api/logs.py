"""The log of an app's runs."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Final
from uuid import UUID

from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast

from config.ids import normalize_identifier
from config.timestamps import to_utc
from workflows import selectors
from workflows.dify_api.answers import count_steps
from workflows.dify_api.apps import App
from workflows.dify_api.bodies import LogsQuery
from workflows.dify_api.calls import get_end_user_id, get_status, to_seconds
from workflows.dify_api.errors import refuse_parameter
from workflows.engine.language.document import Json
from workflows.models import Run
from workflows.models.run import RunStatus


_STATUSES: Final[Mapping[str, tuple[str, ...]]] = {
    "running": (RunStatus.RUNNING, RunStatus.QUEUED, RunStatus.PAUSED)
}


def build_log(app: App, filters: LogsQuery) -> dict[str, Json]:
    rows = _filter(selectors.list_runs(app.principal, workflow=app.workflow), filters)
    start = (filters.page - 1) * filters.limit
    runs = list(rows.select_related("workflow", "version")[start : start + filters.limit])
    total = rows.count()
    steps = count_steps(app.principal, runs)
    return {
        "page": filters.page,
        "limit": filters.limit,
        "total": total,
        "has_more": start + len(runs) < total,
        "data": [_describe(run, steps.get(run.pk, 0)) for run in runs],
    }


def _filter(rows: QuerySet[Run], filters: LogsQuery) -> QuerySet[Run]:
    rows = rows.filter(parent=None)
    if filters.status:
        rows = rows.filter(status__in=_STATUSES.get(filters.status, (filters.status,)))
    if filters.created_by_end_user_session_id:
        rows = rows.filter(subject=normalize_identifier(filters.created_by_end_user_session_id))
    if filters.created_by_account:
        return rows.none()  # these are the runs of programs
    try:
        if filters.created_at__before:
            rows = rows.filter(created_at__lte=to_utc(filters.created_at__before))
        if filters.created_at__after:
            rows = rows.filter(created_at__gte=to_utc(filters.created_at__after))
    except ValueError as error:
        raise refuse_parameter(str(error), "created_at") from None
    return _search(rows, filters.keyword) if filters.keyword else rows


def _search(rows: QuerySet[Run], keyword: str) -> QuerySet[Run]:
    """Look for the text in inputs and outputs, in the ids of a run and of its person, and take a trace id as a whole."""
    escaped = json.dumps(keyword)[1:-1]
    matches = Q(subject__icontains=keyword) | Q(trace_id=keyword)
    for name in ("inputs", "outputs"):
        text = f"{name}_text"
        rows = rows.alias(**{text: Cast(name, TextField())})
        matches |= Q(**{f"{text}__icontains": keyword}) | Q(**{f"{text}__icontains": escaped})
    with suppress(ValueError):
        matches |= Q(pk=UUID(keyword))
    return rows.filter(matches)


def _describe(run: Run, steps: int) -> dict[str, Json]:
    return {
        "id": str(run.pk),
        "workflow_run": {
            "id": str(run.pk),
            "version": str(run.version.number) if run.version else "draft",
            "status": get_status(run),
            "triggered_from": "app-run",
            "error": run.error or None,
            "elapsed_time": run.elapsed or 0.0,
            "total_tokens": run.total_tokens,
            "total_steps": steps,
            "created_at": to_seconds(run.created_at),
            "finished_at": to_seconds(run.finished_at),
            "exceptions_count": run.exceptions_count,
        },
        "details": None,
        "created_from": "service-api",
        "created_by_role": "end_user",
        "created_by_account": None,
        "created_by_end_user": {
            "id": get_end_user_id(run),
            "type": "service_api",
            "is_anonymous": False,
            "session_id": run.subject,
        },
        "created_at": to_seconds(run.created_at),
    }
