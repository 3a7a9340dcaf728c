"""Routes of ``/api/v1/folders``, and the route that moves workflows."""

import datetime as dt
from typing import Annotated
from uuid import UUID

from django.db import transaction
from django.http import HttpRequest
from ninja import Router, Schema, Status
from ninja.pagination import paginate
from pydantic import Field

from accounts.http.auth import api_auth
from accounts.principals import Principal, get_current_team_id, get_principal
from config.http.openapi import Body, with_example
from config.http.pages import Pages
from workflows import selectors
from workflows.models import Folder, FolderTree, Workflow
from workflows.schemas import workflows as schemas
from workflows.services.catalog import folders


router = Router(auth=api_auth(), tags=["workflows"])

Name = Annotated[str, Field(min_length=1, max_length=255)]
Parent = Annotated[UUID | None, Field(description="The parent folder; null for the top level.")]


class FolderIn(Body):
    model_config = with_example(name="Support")

    name: Name
    parent: Parent = None


class FolderPatch(Body):
    """Fields that are left out keep their value; ``parent`` null moves the folder to the top level."""

    model_config = with_example(name="Customer support")

    name: Name = ""
    parent: Parent = None


class FolderOut(Schema):
    id: UUID
    team_id: UUID
    name: str
    parent: UUID | None
    path: list[str] = Field(description="The folder names from the top level down.")
    workflows: int = Field(description="Number of workflows directly in the folder.")
    created_at: dt.datetime
    updated_at: dt.datetime


@router.get("/folders", response=list[FolderOut], summary="List folders")
@paginate(Pages)
def list_folders(request: HttpRequest, team: UUID | None = None) -> list[dict[str, object]]:
    """Return every folder that you may see, each after its parent. ``team`` limits the list to one team."""
    tree = FolderTree.from_folders(selectors.list_folders(get_principal(request), team_id=team))
    return [_serialize_folder(folder, tree) for folder, _level in tree.walk(None)]


@router.post("/folders", response={201: FolderOut}, summary="Create a folder")
def create_folder(request: HttpRequest, body: FolderIn) -> Status[dict[str, object]]:
    """Create a folder in your current team.

    A name may occur once in a parent folder, ignoring case, and folders nest at most five levels deep.
    """
    principal, team_id = get_principal(request), get_current_team_id(request)
    parent = find_folder(principal, body.parent)
    folder = folders.create_folder(principal, team_id=team_id, name=body.name, parent=parent)
    return Status(201, _load_and_serialize(principal, folder))


@router.patch("/folders/{uuid:folder_id}", response=FolderOut, summary="Rename or move a folder")
def change_folder(request: HttpRequest, folder_id: UUID, body: FolderPatch) -> dict[str, object]:
    """Rename a folder, move it with its content, or both."""
    principal = get_principal(request)
    folder = selectors.find_folder(principal, folder_id)
    with transaction.atomic():  # both or neither
        if "parent" in body.model_fields_set:
            parent = find_folder(principal, body.parent)
            folder = folders.move_folder(principal, folder=folder, into=parent)
        if "name" in body.model_fields_set:
            folder = folders.rename_folder(principal, folder=folder, name=body.name)
    return _load_and_serialize(principal, folder)


@router.delete("/folders/{uuid:folder_id}", response={204: None}, summary="Delete a folder")
def delete_folder(request: HttpRequest, folder_id: UUID) -> Status[None]:
    """Delete a folder. Its folders and workflows move to its parent; nothing else is deleted."""
    principal = get_principal(request)
    folders.delete_folder(principal, folder=selectors.find_folder(principal, folder_id))
    return Status(204, None)


@router.post(
    "/workflows/move", response=list[schemas.WorkflowOut], summary="Move workflows to a folder"
)
def move_workflows(request: HttpRequest, body: schemas.MoveIn) -> list[Workflow]:
    """Move all of these workflows to a folder, or none. You need the permission to edit each of them."""
    principal = get_principal(request)
    workflows = selectors.find_workflows(principal, body.workflows, "edit")
    target = find_folder(principal, body.folder)
    return folders.move_workflows(principal, workflows=workflows, into=target)


def find_folder(principal: Principal, folder_id: UUID | None) -> Folder | None:
    """Return the folder, or None without an id, which stands for the top level."""
    return selectors.find_folder(principal, folder_id) if folder_id else None


def _load_and_serialize(principal: Principal, folder: Folder) -> dict[str, object]:
    tree = selectors.load_folder_tree(principal, folder.team_id)
    return _serialize_folder(tree.folders[folder.pk], tree)


def _serialize_folder(folder: Folder, tree: FolderTree) -> dict[str, object]:
    return {
        "id": folder.pk,
        "team_id": folder.team_id,
        "name": folder.name,
        "parent": folder.parent_id,
        "path": [ancestor.name for ancestor in tree.get_path(folder.pk)],
        "workflows": getattr(folder, "workflow_count", 0),  # the selector counts them
        "created_at": folder.created_at,
        "updated_at": folder.updated_at,
    }
