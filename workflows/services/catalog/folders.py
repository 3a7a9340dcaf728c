"""Folders of a team: made, renamed, moved, filled, and taken away without what is in them."""

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
from workflows.models.folder import DEEPEST, MOST_FOLDERS
from workflows.services import audit_lines
from workflows.services.editor import drafts


def create_folder(
    principal: Principal, *, team_id: UUID, name: str, parent: Folder | None = None
) -> Folder:
    permissions.check_arrange(principal, team_id)
    _check_team(team_id, parent)
    with tenant([team_id]):
        tree = _hold(team_id)
        if len(tree.folders) >= MOST_FOLDERS:
            raise InvalidValue(
                _("The team has reached the limit of %(most)d folders.") % {"most": MOST_FOLDERS}
            )
        _check_depth(tree, parent, levels=1)
        made = Folder(
            team_id=team_id, name=drafts.clean_name(name), created_by_id=principal.user_id
        )
        made.parent_id = _still_there(tree, parent)
        _check_free(made)
        made.save(force_insert=True)
        audit_lines.note(principal, made, "folder.created")
    return made


def rename_folder(principal: Principal, *, folder: Folder, name: str) -> Folder:
    permissions.check_arrange(principal, folder.team_id)
    with tenant([folder.team_id]):
        held = _of(_hold(folder.team_id), folder)
        held.name = drafts.clean_name(name)
        _check_free(held)
        held.save(update_fields=["name", "updated_at"])
        audit_lines.note(principal, held, "folder.renamed")
    return held


def move_folder(principal: Principal, *, folder: Folder, into: Folder | None) -> Folder:
    """With all that is in it; ``None`` is the top."""
    permissions.check_arrange(principal, folder.team_id)
    _check_team(folder.team_id, into)
    with tenant([folder.team_id]):
        tree = _hold(folder.team_id)
        held = _of(tree, folder)
        if into is not None and tree.is_within(into.pk, held.pk):
            raise InvalidValue(_("A folder can't be moved into itself."), field="parent")
        _check_depth(tree, into, levels=tree.height(held.pk))
        held.parent_id = _still_there(tree, into)
        _check_free(held)
        held.save(update_fields=["parent", "updated_at"])
        audit_lines.note(principal, held, "folder.moved", into=_named(into))
    return held


def delete_folder(principal: Principal, *, folder: Folder) -> None:
    """Its folders and workflows, archived ones too, move up to where it stood: nothing is deleted with it.

    Where a folder of the same name stands already, the one that moves up gets a number.
    """
    permissions.check_arrange(principal, folder.team_id)
    with tenant([folder.team_id]):
        tree = _hold(folder.team_id)
        held = _of(tree, folder)
        beside = {one.name.casefold() for one in tree.children(held.parent_id) if one.pk != held.pk}
        # its own name is free from here on, for a folder of that name inside it
        Folder.objects.unscoped().filter(pk=held.pk).update(name=str(held.pk))
        for child in tree.children(held.pk):
            name = _free_name(child.name, beside)
            beside.add(name.casefold())
            Folder.objects.unscoped().filter(pk=child.pk).update(
                name=name, parent_id=held.parent_id
            )
        moved = Workflow.objects.unscoped().filter(folder_id=held.pk)
        count = moved.update(folder_id=held.parent_id)
        Folder.objects.unscoped().filter(pk=held.pk).delete()
        audit_lines.note(principal, held, "folder.deleted", workflows=count)


def move_workflows(
    principal: Principal, *, workflows: Iterable[Workflow], into: Folder | None
) -> list[Workflow]:
    """All or none; those that lie there already stay as they are. Where one lies is no change of its draft."""
    asked = list(workflows)
    for workflow in asked:
        permissions.check_edit(principal, workflow)
        _check_team(workflow.team_id, into)
        if workflow.is_archived:
            raise WorkflowArchived
    teams = {workflow.team_id for workflow in asked}
    if len(teams) > 1:
        raise InvalidValue(_("That belongs to another team."), field="workflows")
    if not asked:
        return []
    (team_id,) = teams
    with tenant([team_id]):
        folder_id = place(team_id, into)
        away = [workflow for workflow in asked if workflow.folder_id != folder_id]
        rows = Workflow.objects.unscoped().filter(pk__in=[workflow.pk for workflow in away])
        rows.update(folder_id=folder_id)
        for workflow in away:
            workflow.folder_id = folder_id
            audit_lines.note(principal, workflow, "workflow.moved", into=_named(into))
    return asked


def place(team_id: UUID, folder: Folder | None) -> UUID | None:
    """The folder's id, and the promise that it stays until the transaction ends; for a new workflow."""
    if folder is None:
        return None
    _check_team(team_id, folder)
    return _still_there(_hold(team_id), folder)


def _hold(team_id: UUID) -> FolderTree:
    """The team's folders, changed by nobody else until the transaction ends: two moves at once could close a ring."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtext('workflow-folders'), hashtext(%s))",
            [str(team_id)],
        )
    return FolderTree.of(Folder.objects.unscoped().filter(team_id=team_id))


def _of(tree: FolderTree, folder: Folder) -> Folder:
    """The folder as it is now; somebody may have deleted it since it was found."""
    found = tree.folders.get(folder.pk)
    if found is None:
        raise NotFound
    return found


def _still_there(tree: FolderTree, folder: Folder | None) -> UUID | None:
    return _of(tree, folder).pk if folder else None


def _check_team(team_id: UUID, folder: Folder | None) -> None:
    if folder is not None and folder.team_id != team_id:
        raise InvalidValue(_("That belongs to another team."), field="folder")


def _check_depth(tree: FolderTree, parent: Folder | None, *, levels: int) -> None:
    if tree.level(parent.pk if parent else None) + levels > DEEPEST:
        raise InvalidValue(
            _("Folders can be nested at most %(levels)d levels deep.") % {"levels": DEEPEST},
            field="parent",
        )


def _check_free(folder: Folder) -> None:
    """As the database compares: whatever the case."""
    same = (
        Folder.objects.unscoped()
        .filter(team_id=folder.team_id, parent_id=folder.parent_id)
        .alias(lower=Lower("name"))
        .filter(lower=Lower(Value(folder.name)))
        .exclude(pk=folder.pk)
    )
    if same.exists():
        raise NameTaken(_("A folder with this name already exists here."), field="name")


def _free_name(name: str, taken: set[str]) -> str:
    number, free = 1, name
    while free.casefold() in taken:
        number += 1
        free = f"{name[:240]} ({number})"
    return free


def _named(folder: Folder | None) -> str | None:
    return str(folder.pk) if folder else None
