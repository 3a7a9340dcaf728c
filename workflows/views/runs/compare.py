"""The page that compares two runs side by side."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from workflows import selectors
from workflows.services.debugging.compare import Verdict, compare_steps, compare_values
from workflows.views.request_context import find_run


MAX_CHOICES = 20


@login_required
@require_safe
def compare(request: HttpRequest, run_id: UUID, other_id: UUID) -> HttpResponse:
    """Compare two runs that the caller may see, even of different workflows, versions or people."""
    principal, first = find_run(request, run_id)
    _principal, second = find_run(request, other_id)
    first_steps, second_steps = (selectors.list_steps(principal, run) for run in (first, second))
    pairs = compare_steps(first_steps, second_steps)
    context = {
        "first": first,
        "second": second,
        "pairs": pairs,
        "differing": sum(pair.verdict is not Verdict.SAME for pair in pairs),
        "outputs": compare_values("outputs", first.outputs or {}, second.outputs or {}),
        "inputs": compare_values(
            "inputs",
            first.inputs | _extract_query(first.system),
            second.inputs | _extract_query(second.system),
        ),
        "is_same_draft": first.snapshot_id == second.snapshot_id,
        "other_runs": selectors.list_runs(principal, workflow=first.workflow).exclude(pk=first.pk)[
            :MAX_CHOICES
        ],
    }
    return render(request, "runs/comparison/compare.html", context)


def _extract_query(system: dict[str, object]) -> dict[str, object]:
    return {"query": system["query"]} if system.get("query") else {}
