"""Folders of the Workflows page and their tree. They only decide where a workflow is listed."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from django.db import models
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _

from accounts.tenancy import TenantModel
from workflows.models.fields import Authored


MAX_DEPTH = 5  # a folder at the top is at level 1
MAX_FOLDERS = 500  # of a team: the whole tree is read at once, and offered in one list
PATH_SEPARATOR = " / "


class Folder(Authored, TenantModel):
    """A folder. ``parent`` is null at the top level. A row that still has subfolders or workflows can't be deleted."""

    workflow_lookup = None

    name = models.CharField(_("name"), max_length=255)
    parent = models.ForeignKey(
        "self",
        verbose_name=_("parent folder"),
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="folders",
    )

    class Meta:
        verbose_name = _("folder")
        verbose_name_plural = _("folders")
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(
                "team", "parent", Lower("name"), nulls_distinct=False, name="folder_name_once"
            ),
            models.CheckConstraint(
                condition=models.Q(parent=None) | ~models.Q(parent=models.F("id")),
                name="folder_not_in_itself",
            ),
        ]

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class FolderTree:
    """A team's folders as a tree. ``by_parent`` has the subfolders of each sorted by name, and for None the top level."""

    folders: Mapping[UUID, Folder]
    by_parent: Mapping[UUID | None, tuple[Folder, ...]] = field(repr=False)

    @classmethod
    def from_folders(cls, rows: Iterable[Folder]) -> "FolderTree":
        by_parent: dict[UUID | None, list[Folder]] = {}
        for row in sorted(rows, key=lambda row: (row.name.casefold(), row.pk)):
            by_parent.setdefault(row.parent_id, []).append(row)
        return cls(
            {row.pk: row for group in by_parent.values() for row in group},
            {parent: tuple(group) for parent, group in by_parent.items()},
        )

    def list_children(self, folder_id: UUID | None) -> tuple[Folder, ...]:
        return self.by_parent.get(folder_id, ())

    def get_path(self, folder_id: UUID | None) -> tuple[Folder, ...]:
        """Return the path of folders from the top level to this folder; empty for the top level or a missing folder."""
        folders: list[Folder] = []
        while (folder := self.folders.get(folder_id) if folder_id else None) is not None:
            folders.append(folder)
            folder_id = folder.parent_id
        return tuple(reversed(folders))

    def format_path(self, folder_id: UUID | None) -> str:
        return PATH_SEPARATOR.join(folder.name for folder in self.get_path(folder_id))

    def get_level(self, folder_id: UUID | None) -> int:
        """Return the depth of the folder; 0 is the top level."""
        return len(self.get_path(folder_id))

    def get_height(self, folder_id: UUID) -> int:
        """Return the number of levels in the folder's subtree, including itself."""
        return 1 + max(
            (self.get_height(child.pk) for child in self.list_children(folder_id)), default=0
        )

    def walk(self, folder_id: UUID | None) -> Iterator[tuple[Folder, int]]:
        """Yield the folders inside this one at any depth, each after its parent and with its level."""
        level = self.get_level(folder_id) + 1
        for folder in self.list_children(folder_id):
            yield folder, level
            yield from self.walk(folder.pk)

    def is_within(self, folder_id: UUID | None, outer_id: UUID) -> bool:
        """Return whether the folder is ``outer_id`` or inside it."""
        return any(folder.pk == outer_id for folder in self.get_path(folder_id))
