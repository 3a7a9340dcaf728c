"""The page with the runs of a whole team, for its admins."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.principals import get_current_team_id, get_principal
from workflows import selectors
from workflows.services.runs.team_runs import describe_runs, open_team_list
from workflows.views.runs.filters import build_filter_context, read_filter
from workflows.views.runs.pages import list_columns, paginate_runs, read_sort


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """List the runs of all members of the current team, with what is private hidden."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    run_filter, sort = read_filter(request.GET).without_private(), read_sort(request.GET)
    rows = run_filter.apply(selectors.list_team_runs(principal, team_id))
    open_team_list(
        principal, team_id, status=run_filter.status, workflow_name=run_filter.workflow_name
    )
    page = paginate_runs(request, rows, sort)
    ids = [run.pk for run in page.items]
    own_ids = set(selectors.list_runs(principal).filter(pk__in=ids).values_list("pk", flat=True))
    context = {
        "rows": [
            {
                **row,
                "tokens": run.total_tokens,
                "label": run.get_status_display(),
                "is_own": run.pk in own_ids,
            }
            for run, row in zip(page.items, describe_runs(page.items), strict=True)
        ],
        "page": page,
        **build_filter_context(request, run_filter, search="named"),
        "columns": list_columns(request, sort),
        "sort": sort,
        "is_team": True,
        "sees_team": True,
    }
    return render(request, "runs/team.html", context)
