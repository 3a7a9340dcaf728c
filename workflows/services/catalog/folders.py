"""Services for a team's folders: create, rename, move and fill them, and delete a folder without its content."""

from collections.abc import Iterable
from uuid import UUID

from django.db import connection
from django.db.models import Value
from django.db.models.functions import Lower
from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.errors import NotFound
from accounts.tenancy import tenant
from workflows import permissions
from workflows.errors import InvalidValue, NameTaken, WorkflowArchived
from workflows.models import Folder, FolderTree, Workflow
from workflows.models.folder import MAX_DEPTH, MAX_FOLDERS
from workflows.services import audit_lines
from workflows.services.editor import drafts


def create_folder(
    principal: Principal, *, team_id: UUID, name: str, parent: Folder | None = None
) -> Folder:
    """Create a folder. Raises NameTaken, or InvalidValue if the limit of number or depth is reached."""
    permissions.check_arrange(principal, team_id)
    _check_team(team_id, parent)
    with tenant([team_id]):
        tree = _lock_folders(team_id)
        if len(tree.folders) >= MAX_FOLDERS:
            raise InvalidValue(
                _("The team has reached the limit of %(most)d folders.") % {"most": MAX_FOLDERS}
            )
        _check_depth(tree, parent, levels=1)
        folder = Folder(
            team_id=team_id, name=drafts.clean_name(name), created_by_id=principal.user_id
        )
        folder.parent_id = _get_current_id(tree, parent)
        _check_name_free(folder)
        folder.save(force_insert=True)
        audit_lines.record(principal, folder, "folder.created")
    return folder


def rename_folder(principal: Principal, *, folder: Folder, name: str) -> Folder:
    """Rename a folder. Raises NotFound if it has been deleted, and NameTaken."""
    permissions.check_arrange(principal, folder.team_id)
    with tenant([folder.team_id]):
        locked = _get_current(_lock_folders(folder.team_id), folder)
        locked.name = drafts.clean_name(name)
        _check_name_free(locked)
        locked.save(update_fields=["name", "updated_at"])
        audit_lines.record(principal, locked, "folder.renamed")
    return locked


def move_folder(principal: Principal, *, folder: Folder, into: Folder | None) -> Folder:
    """Move a folder with its content; ``into`` None is the top level. Raises InvalidValue and NameTaken."""
    permissions.check_arrange(principal, folder.team_id)
    _check_team(folder.team_id, into)
    with tenant([folder.team_id]):
        tree = _lock_folders(folder.team_id)
        locked = _get_current(tree, folder)
        if into is not None and tree.is_within(into.pk, locked.pk):
            raise InvalidValue(_("A folder can't be moved into itself."), field="parent")
        _check_depth(tree, into, levels=tree.get_height(locked.pk))
        locked.parent_id = _get_current_id(tree, into)
        _check_name_free(locked)
        locked.save(update_fields=["parent", "updated_at"])
        audit_lines.record(principal, locked, "folder.moved", into=_format_id(into))
    return locked


def delete_folder(principal: Principal, *, folder: Folder) -> None:
    """Delete a folder; its folders and workflows, archived ones too, move up to its parent.

    A subfolder whose name exists there already gets a number.
    """
    permissions.check_arrange(principal, folder.team_id)
    with tenant([folder.team_id]):
        tree = _lock_folders(folder.team_id)
        locked = _get_current(tree, folder)
        sibling_names = {
            sibling.name.casefold()
            for sibling in tree.list_children(locked.parent_id)
            if sibling.pk != locked.pk
        }
        # A subfolder may have the same name, so the folder's own name is freed first.
        Folder.objects.unscoped().filter(pk=locked.pk).update(name=str(locked.pk))
        for child in tree.list_children(locked.pk):
            name = _find_free_name(child.name, sibling_names)
            sibling_names.add(name.casefold())
            Folder.objects.unscoped().filter(pk=child.pk).update(
                name=name, parent_id=locked.parent_id
            )
        workflows = Workflow.objects.unscoped().filter(folder_id=locked.pk)
        count = workflows.update(folder_id=locked.parent_id)
        Folder.objects.unscoped().filter(pk=locked.pk).delete()
        audit_lines.record(principal, locked, "folder.deleted", workflows=count)


def move_workflows(
    principal: Principal, *, workflows: Iterable[Workflow], into: Folder | None
) -> list[Workflow]:
    """Move all of these workflows, or none. A workflow that is in the folder already stays unchanged."""
    selected = list(workflows)
    for workflow in selected:
        permissions.check_edit(principal, workflow)
        _check_team(workflow.team_id, into)
        if workflow.is_archived:
            raise WorkflowArchived
    teams = {workflow.team_id for workflow in selected}
    if len(teams) > 1:
        raise InvalidValue(_("That belongs to another team."), field="workflows")
    if not selected:
        return []
    (team_id,) = teams
    with tenant([team_id]):
        folder_id = lock_folder_id(team_id, into)
        moving = [workflow for workflow in selected if workflow.folder_id != folder_id]
        rows = Workflow.objects.unscoped().filter(pk__in=[workflow.pk for workflow in moving])
        rows.update(folder_id=folder_id)
        for workflow in moving:
            workflow.folder_id = folder_id
            audit_lines.record(principal, workflow, "workflow.moved", into=_format_id(into))
    return selected


def lock_folder_id(team_id: UUID, folder: Folder | None) -> UUID | None:
    """Return the folder's id for a new workflow, and lock the team's folders until the transaction ends."""
    if folder is None:
        return None
    _check_team(team_id, folder)
    return _get_current_id(_lock_folders(team_id), folder)


def _lock_folders(team_id: UUID) -> FolderTree:
    """Lock and return the team's folders until the transaction ends: two concurrent moves could create a cycle."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtext('workflow-folders'), hashtext(%s))",
            [str(team_id)],
        )
    return FolderTree.from_folders(Folder.objects.unscoped().filter(team_id=team_id))


def _get_current(tree: FolderTree, folder: Folder) -> Folder:
    """Return the folder as it is under the lock; raises NotFound if it has been deleted since it was read."""
    current = tree.folders.get(folder.pk)
    if current is None:
        raise NotFound
    return current


def _get_current_id(tree: FolderTree, folder: Folder | None) -> UUID | None:
    return _get_current(tree, folder).pk if folder else None


def _check_team(team_id: UUID, folder: Folder | None) -> None:
    if folder is not None and folder.team_id != team_id:
        raise InvalidValue(_("That belongs to another team."), field="folder")


def _check_depth(tree: FolderTree, parent: Folder | None, *, levels: int) -> None:
    if tree.get_level(parent.pk if parent else None) + levels > MAX_DEPTH:
        raise InvalidValue(
            _("Folders can be nested at most %(levels)d levels deep.") % {"levels": MAX_DEPTH},
            field="parent",
        )


def _check_name_free(folder: Folder) -> None:
    """Raise NameTaken if another folder with the same parent has this name, ignoring case as the database does."""
    namesakes = (
        Folder.objects.unscoped()
        .filter(team_id=folder.team_id, parent_id=folder.parent_id)
        .alias(lower=Lower("name"))
        .filter(lower=Lower(Value(folder.name)))
        .exclude(pk=folder.pk)
    )
    if namesakes.exists():
        raise NameTaken(_("A folder with this name already exists here."), field="name")


def _find_free_name(name: str, used_names: set[str]) -> str:
    number, candidate = 1, name
    while candidate.casefold() in used_names:
        number += 1
        candidate = f"{name[:240]} ({number})"
    return candidate


def _format_id(folder: Folder | None) -> str | None:
    return str(folder.pk) if folder else None
