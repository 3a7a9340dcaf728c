"""Creates an API key for one workflow, in the dialog that shows how to call the published workflow."""

import datetime as dt
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from accounts.forms import MEMORY_SCOPES, RUN_SCOPES
from accounts.services import issue_key
from workflows.views.request_context import find_workflow


LIFETIME = dt.timedelta(days=90)


@never_cache
@login_required
@require_POST
def create_key(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Create a key that can only run this workflow, and show its secret once.

    With ``memory``, the key may change memories too, as its runs may then.
    """
    principal, workflow = find_workflow(request, workflow_id, "run")
    key, secret = issue_key(
        principal=principal,
        team=workflow.team,
        name=workflow.name,
        scopes=(*RUN_SCOPES, *MEMORY_SCOPES) if "memory" in request.POST else RUN_SCOPES,
        expires_at=timezone.now() + LIFETIME,
        workflow_id=workflow.pk,
    )
    context = {"workflow": workflow, "key": key, "secret": secret}
    return render(request, "editor/publishing/_workflow_key.html", context)
