"""The page with what the runs of each workflow need on disk, and for how long they are stored."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.principals import get_current_team_id, get_principal
from workflows import permissions
from workflows.errors import InvalidValue
from workflows.services.runs.storage import change_days, count_files, list_storage, sum_sizes
from workflows.views.request_context import find_workflow, read_text


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """List the workflows of the current team whose runs are stored, the largest first."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    rows = list_storage(principal, team_id)
    file_count, file_size = count_files(principal, team_id)
    context = {
        "rows": [(row, permissions.may_edit(principal, row.workflow)) for row in rows],
        "size": sum_sizes(rows),
        "file_count": file_count,
        "file_size": file_size,
        "run_count": sum(row.run_count for row in rows),
        "is_storage": True,
        "sees_team": True,
    }
    return render(request, "runs/storage/page.html", context)


@login_required
@require_POST
def change(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Change for how long the runs of the workflow are stored; an empty field stands for the installation's setting."""
    principal, workflow = find_workflow(request, workflow_id)
    permissions.check_edit(principal, workflow)
    try:
        days, failed_days = (
            _read_days(read_text(request.POST, name), name)
            for name in ("keep_days", "keep_failed_days")
        )
        change_days(principal, workflow, days=days, failed_days=failed_days)
    except InvalidValue as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _("Saved: %(name)s") % {"name": workflow.name})
    return redirect("workflows:storage")


def _read_days(text: str, field: str) -> int | None:
    if not text:
        return None
    if not text.isdecimal() or len(text) > 9:
        raise InvalidValue(_("Enter a whole number."), field=field)
    return int(text)
