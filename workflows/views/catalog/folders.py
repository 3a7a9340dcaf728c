"""Folders on the Workflows page: their forms are dialogs, or separate pages without scripts."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from accounts.principals import Principal, get_current_team_id, get_principal
from workflows import permissions, selectors
from workflows.errors import WorkflowFault
from workflows.forms import FolderForm
from workflows.models import Folder
from workflows.models.folder import MAX_DEPTH
from workflows.services.catalog import folders
from workflows.views.catalog.folder_location import (
    FolderLocation,
    build_folder_url,
    find_folder,
    format_selection,
    get_location,
)
from workflows.views.request_context import get_form_data, is_htmx, parse_ids, read_text


@login_required
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """Create a folder in the open folder."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    permissions.check_arrange(principal, team_id)
    location = get_location(request)
    return _render_name_form(
        request,
        location,
        FolderForm(get_form_data(request)),
        lambda name: folders.create_folder(
            principal, team_id=team_id, name=name, parent=location.folder
        ),
        title=_("New folder"),
        too_deep=location.tree.get_level(location.folder.pk if location.folder else None)
        >= MAX_DEPTH,
    )


@login_required
@require_http_methods(["GET", "POST"])
def rename(request: HttpRequest, folder_id: UUID) -> HttpResponse:
    principal, folder = _find_folder(request, folder_id)
    return _render_name_form(
        request,
        get_location(request),
        FolderForm(get_form_data(request), initial={"name": folder.name}),
        lambda name: folders.rename_folder(principal, folder=folder, name=name),
        title=_("Rename folder"),
    )


@login_required
@require_http_methods(["GET", "POST"])
def move(request: HttpRequest, folder_id: UUID) -> HttpResponse:
    principal, folder = _find_folder(request, folder_id)
    return _render_move_form(
        request,
        get_location(request),
        lambda target: folders.move_folder(principal, folder=folder, into=target),
        title=_("Move “%(name)s”") % {"name": folder.name},
        excluded=folder,
        parent_ids={folder.parent_id},
    )


@login_required
@require_POST
def delete(request: HttpRequest, folder_id: UUID) -> HttpResponse:
    principal, folder = _find_folder(request, folder_id)
    location = get_location(request)
    folders.delete_folder(principal, folder=folder)
    messages.success(
        request,
        _("Deleted the folder “%(name)s”. Its contents moved to the parent folder.")
        % {"name": folder.name},
    )
    is_inside = location.folder is not None and location.tree.is_within(
        location.folder.pk, folder.pk
    )
    return redirect(build_folder_url(folder.parent_id) if is_inside else location.address)


@login_required
@require_http_methods(["GET", "POST"])
def move_workflows(request: HttpRequest) -> HttpResponse:
    """Move the workflows that are the values of ``workflow`` in the request."""
    principal = get_principal(request)
    data = request.POST if request.method == "POST" else request.GET
    selected = selectors.find_workflows(principal, parse_ids(data.getlist("workflow")), "edit")
    location = get_location(request)
    if not selected:
        messages.info(request, _("Select the workflows to move."))
        return _redirect(request, location.address)
    return _render_move_form(
        request,
        location,
        lambda target: folders.move_workflows(principal, workflows=selected, into=target),
        title=format_selection(selected, _("Move “%(name)s”"), _("Move %(count)d workflows")),
        workflows=selected,
        parent_ids={workflow.folder_id for workflow in selected},
    )


def _find_folder(request: HttpRequest, folder_id: UUID) -> tuple[Principal, Folder]:
    principal = get_principal(request)
    folder = selectors.find_folder(principal, folder_id)
    permissions.check_arrange(principal, folder.team_id)
    return principal, folder


def _render_name_form(
    request: HttpRequest,
    location: FolderLocation,
    form: FolderForm,
    operation: Callable[[str], object],
    **extra_context: Any,
) -> HttpResponse:
    """Show the form of a folder's name; if it was submitted and is valid, call the operation with the name."""
    if form.is_valid():
        try:
            operation(form.cleaned_data["name"])
        except WorkflowFault as error:
            form.add_error("name", str(error))
        else:
            return _redirect(request, location.address)
    context = {"form": form, "location": location, "cancel_url": location.address, **extra_context}
    return _render_form(request, "name_form", context, has_errors=bool(form.errors))


def _render_move_form(
    request: HttpRequest,
    location: FolderLocation,
    operation: Callable[[Folder | None], object],
    *,
    excluded: Folder | None = None,
    parent_ids: set[UUID | None],
    **extra_context: Any,
) -> HttpResponse:
    """Show the form that selects a folder; if it was submitted, call the operation with the folder.

    ``parent_ids`` are the current folders of the moved items. ``excluded`` can't be selected, nor its subfolders.
    """
    error_message = ""
    if request.method == "POST":
        try:
            with transaction.atomic():  # a failed move creates no folder
                target = _resolve_target(request, location)
                operation(target)
        except WorkflowFault as error:
            error_message = str(error)
        else:
            messages.success(request, _format_moved_message(target))
            return _redirect(request, location.address)
    targets = [
        (folder, level, folder.pk in parent_ids)
        for folder, level in location.tree.walk(None)
        if excluded is None or not location.tree.is_within(folder.pk, excluded.pk)
    ]
    context = {
        "location": location,
        "targets": targets,
        "is_at_top": None in parent_ids,
        "refusal": error_message,
        "new_name": request.POST.get("name", ""),
        **extra_context,
    }
    return _render_form(request, "move", context, has_errors=bool(error_message))


def _resolve_target(request: HttpRequest, location: FolderLocation) -> Folder | None:
    """Return the selected folder, or create the new one at the top."""
    choice = request.POST.get("into", "")
    if choice != "new":
        return find_folder(location.tree, choice)
    return folders.create_folder(
        get_principal(request),
        team_id=get_current_team_id(request),
        name=read_text(request.POST, "name"),
    )


def _format_moved_message(target: Folder | None) -> str:
    if target is None:
        return _("Moved to the top level.")
    return _("Moved to “%(name)s”.") % {"name": target.name}


def _render_form(
    request: HttpRequest, form_name: str, context: dict[str, Any], *, has_errors: bool
) -> HttpResponse:
    """Render the form in the page's dialog or as a page."""
    is_dialog = is_htmx(request)
    template = f"workflows/catalog/{'_' if is_dialog else ''}{form_name}.html"
    context |= {"is_dialog": is_dialog}
    return render(request, template, context, status=422 if has_errors else 200)


def _redirect(request: HttpRequest, address: str) -> HttpResponse:
    if is_htmx(request):  # a redirect would load into the dialog
        return HttpResponse(status=204, headers={"HX-Redirect": address})
    return redirect(address)
