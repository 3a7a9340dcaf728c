"""The page of a new workflow: ready to run, from a description, or blank."""

from collections.abc import Mapping
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from accounts.principals import get_current_team_id, get_principal
from workflows import permissions
from workflows.engine.language.document import Mode
from workflows.errors import DraftingFailed, NoModelConnected
from workflows.forms import NewWorkflowForm
from workflows.models import Workflow
from workflows.services.catalog import drafting, new_workflow
from workflows.services.samples.closest import find_closest_sample
from workflows.views.catalog.folder_location import FolderLocation, get_location
from workflows.views.request_context import get_form_data


@login_required
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    principal, team_id = get_principal(request), get_current_team_id(request)
    permissions.check_create(principal, team_id)
    location = get_location(request)
    suggested_names = {mode: new_workflow.suggest_name(team_id, mode) for mode in Mode}
    model = drafting.find_drafting_model(team_id)
    form = NewWorkflowForm(
        get_form_data(request),
        initial={"name": suggested_names[Mode.CHAT]},
        suggested_names=suggested_names,
        can_draft=model is not None,
    )
    if form.is_valid():
        try:
            workflow = _create(request, form, team_id, location, suggested_names)
            return redirect(_build_address(workflow, form))
        except NoModelConnected as error:
            form.add_error("start", str(error))
        except DraftingFailed as error:
            form.add_error("description", str(error))
    description = form.data.get("description", "") if form.is_bound else ""
    context = {
        "form": form,
        "location": location,
        "model": model,
        "closest_sample": find_closest_sample(description) if _wants_draft(form) else None,
    }
    return render(
        request, "workflows/catalog/new.html", context, status=422 if form.errors else 200
    )


def _build_address(workflow: Workflow, form: NewWorkflowForm) -> str:
    """Return where a person goes on: what runs at once is tried at once, so its first field has the focus."""
    address = reverse("workflows:detail", args=[workflow.pk])
    return address if form.cleaned_data["start"] == form.BLANK else f"{address}?created"


def _wants_draft(form: NewWorkflowForm) -> bool:
    """Return whether a draft from a description was asked for, which could not be made."""
    return bool(form.errors) and form.data.get("start") == form.DESCRIPTION


def _create(
    request: HttpRequest,
    form: NewWorkflowForm,
    team_id: UUID,
    location: FolderLocation,
    suggested_names: Mapping[Mode, str],
) -> Workflow:
    principal, data = get_principal(request), form.cleaned_data
    is_suggested, mode = data["name"] in suggested_names.values(), Mode(data["mode"])
    if data["start"] == form.DESCRIPTION:
        # The model names the workflow, unless the person did.
        name = "" if is_suggested else data["name"]
        return new_workflow.create_from_description(
            principal,
            team_id=team_id,
            description=data["description"],
            name=name,
            folder=location.folder,
        )
    create = new_workflow.create_blank if data["start"] == form.BLANK else new_workflow.create_ready
    return create(
        principal,
        team_id=team_id,
        mode=mode,
        name=suggested_names[mode] if is_suggested else data["name"],
        folder=location.folder,
    )
