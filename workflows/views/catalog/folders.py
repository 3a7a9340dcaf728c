"""Folders on the Workflows page: forms that open as a dialog there, and are pages of their own without a script."""

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
from workflows.errors import WorkflowsFault
from workflows.forms import FolderForm
from workflows.models import Folder, Workflow
from workflows.models.folder import MAX_DEPTH
from workflows.services.catalog import folders
from workflows.views.catalog.folder_location import Shelf, address_of, folder_of, shelf_of
from workflows.views.request_context import ids_of, posted, typed


@login_required
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """In the folder that is open."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    permissions.check_arrange(principal, team_id)
    shelf = shelf_of(request)
    return _named(
        request,
        shelf,
        FolderForm(posted(request)),
        lambda name: folders.create_folder(
            principal, team_id=team_id, name=name, parent=shelf.here
        ),
        title=_("New folder"),
        too_deep=shelf.tree.level(shelf.here.pk if shelf.here else None) >= MAX_DEPTH,
    )


@login_required
@require_http_methods(["GET", "POST"])
def rename(request: HttpRequest, folder_id: UUID) -> HttpResponse:
    principal, folder = _folder_for(request, folder_id)
    return _named(
        request,
        shelf_of(request),
        FolderForm(posted(request), initial={"name": folder.name}),
        lambda name: folders.rename_folder(principal, folder=folder, name=name),
        title=_("Rename folder"),
    )


@login_required
@require_http_methods(["GET", "POST"])
def move(request: HttpRequest, folder_id: UUID) -> HttpResponse:
    principal, folder = _folder_for(request, folder_id)
    return _moved(
        request,
        shelf_of(request),
        lambda into: folders.move_folder(principal, folder=folder, into=into),
        title=_("Move “%(name)s”") % {"name": folder.name},
        left_out=folder,
        now_in={folder.parent_id},
    )


@login_required
@require_POST
def delete(request: HttpRequest, folder_id: UUID) -> HttpResponse:
    principal, folder = _folder_for(request, folder_id)
    shelf = shelf_of(request)
    folders.delete_folder(principal, folder=folder)
    messages.success(
        request,
        _("Deleted the folder “%(name)s”. Its contents moved to the parent folder.")
        % {"name": folder.name},
    )
    inside = shelf.here is not None and shelf.tree.is_within(shelf.here.pk, folder.pk)
    return redirect(address_of(folder.parent_id) if inside else shelf.address)


@login_required
@require_http_methods(["GET", "POST"])
def move_workflows(request: HttpRequest) -> HttpResponse:
    """Those that are named ``workflow`` in the request, one or many."""
    principal = get_principal(request)
    asked = request.POST if request.method == "POST" else request.GET
    chosen = selectors.workflows_by_id(principal, ids_of(asked.getlist("workflow")), "edit")
    shelf = shelf_of(request)
    if not chosen:
        messages.info(request, _("Select the workflows to move."))
        return _gone_to(request, shelf.address)
    return _moved(
        request,
        shelf,
        lambda into: folders.move_workflows(principal, workflows=chosen, into=into),
        title=_title(chosen),
        workflows=chosen,
        now_in={workflow.folder_id for workflow in chosen},
    )


def _title(chosen: list[Workflow]) -> str:
    if len(chosen) == 1:
        return _("Move “%(name)s”") % {"name": chosen[0].name}
    return _("Move %(count)d workflows") % {"count": len(chosen)}


def _folder_for(request: HttpRequest, folder_id: UUID) -> tuple[Principal, Folder]:
    principal = get_principal(request)
    folder = selectors.folder_for(principal, folder_id)
    permissions.check_arrange(principal, folder.team_id)
    return principal, folder


def _named(
    request: HttpRequest,
    shelf: Shelf,
    form: FolderForm,
    act: Callable[[str], object],
    **more: Any,  # Any: what the template is told
) -> HttpResponse:
    if form.is_valid():
        try:
            act(form.cleaned_data["name"])
        except WorkflowsFault as refused:
            form.add_error("name", str(refused))
        else:
            return _gone_to(request, shelf.address)
    context = {"form": form, "shelf": shelf, **more}
    return _shown(request, "folder_form", context, wrong=bool(form.errors))


def _moved(
    request: HttpRequest,
    shelf: Shelf,
    act: Callable[[Folder | None], object],
    *,
    left_out: Folder | None = None,
    now_in: set[UUID | None],
    **more: Any,  # Any: what the template is told
) -> HttpResponse:
    refusal = ""
    if request.method == "POST":
        try:
            with transaction.atomic():  # no folder is left where nothing could go
                into = _into(request, shelf)
                act(into)
        except WorkflowsFault as refused:
            refusal = str(refused)
        else:
            messages.success(request, _said(into))
            return _gone_to(request, shelf.address)
    places = [
        (folder, level, folder.pk in now_in)
        for folder, level in shelf.tree.beneath(None)
        if left_out is None or not shelf.tree.is_within(folder.pk, left_out.pk)
    ]
    context = {
        "shelf": shelf,
        "places": places,
        "is_at_top": None in now_in,
        "refusal": refusal,
        "named": request.POST.get("name", ""),
        **more,
    }
    return _shown(request, "move", context, wrong=bool(refusal))


def _into(request: HttpRequest, shelf: Shelf) -> Folder | None:
    """A folder that is there, or one that is made for it at the top."""
    asked = request.POST.get("into", "")
    if asked != "new":
        return folder_of(shelf.tree, asked)
    return folders.create_folder(
        get_principal(request),
        team_id=get_current_team_id(request),
        name=typed(request.POST, "name"),
    )


def _said(into: Folder | None) -> str:
    if into is None:
        return _("Moved to the top level.")
    return _("Moved to “%(name)s”.") % {"name": into.name}


def _shown(
    request: HttpRequest,
    template: str,
    context: dict[str, Any],  # Any: as above
    *,
    wrong: bool,
) -> HttpResponse:
    """The same form in the page's dialog and as a page."""
    is_dialog = "HX-Request" in request.headers
    name = (
        f"workflows/catalog/_{template}.html" if is_dialog else f"workflows/catalog/{template}.html"
    )
    context["is_dialog"] = is_dialog
    return render(request, name, context, status=422 if wrong else 200)


def _gone_to(request: HttpRequest, address: str) -> HttpResponse:
    if "HX-Request" in request.headers:  # a redirect would be followed into the dialog
        return HttpResponse(status=204, headers={"HX-Redirect": address})
    return redirect(address)
