"""Checks the program of a code node while it is edited."""

from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_POST

from config.http import strict_json
from workflows.sandbox.checking import check_code as find_problems
from workflows.views.request_context import find_workflow


@login_required
@require_POST
def check_code(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Return the errors in a program by line. The caller must be allowed to edit, because a check starts a process."""
    find_workflow(request, workflow_id, "edit")
    payload = _parse_body(strict_json.read_body(request))
    problems = find_problems(
        str(payload.get("source", "")), str(payload.get("language") or "python3")
    )
    return JsonResponse({"problems": [asdict(problem) for problem in problems]})


def _parse_body(body: bytes) -> dict[str, Any]:  # Any: JSON
    try:
        payload = strict_json.loads(body)
    except strict_json.NotStrictJson:
        return {}
    return payload if isinstance(payload, dict) else {}
