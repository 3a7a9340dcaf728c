"""Checks a program while it is written: the runner's own parser says what is wrong, line by line."""

from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_POST

from config.http import strict_json
from workflows.sandbox.checking import check_code as problems_of
from workflows.views.request_context import workflow_for


@login_required
@require_POST
def check_code(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Only for who may edit: it costs a process's time."""
    workflow_for(request, workflow_id, "edit")
    asked = _read(strict_json.read_body(request))
    found = problems_of(str(asked.get("source", "")), str(asked.get("language") or "python3"))
    return JsonResponse({"problems": [asdict(problem) for problem in found]})


def _read(body: bytes) -> dict[str, Any]:  # Any: JSON
    try:
        read = strict_json.loads(body)
    except strict_json.NotStrictJson:
        return {}
    return read if isinstance(read, dict) else {}
