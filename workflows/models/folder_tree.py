"""A team's folders as a tree: made of the rows of one query, and asked as often as one likes."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from workflows.models.folder import Folder


BETWEEN = " / "  # of the names of a path


@dataclass(frozen=True, slots=True)
class FolderTree:
    """``within`` has the folders of a folder by name; those of None stand at the top."""

    folders: Mapping[UUID, Folder]
    within: Mapping[UUID | None, tuple[Folder, ...]] = field(repr=False)

    @classmethod
    def of(cls, rows: Iterable[Folder]) -> "FolderTree":
        within: dict[UUID | None, list[Folder]] = {}
        for row in sorted(rows, key=lambda row: (row.name.casefold(), row.pk)):
            within.setdefault(row.parent_id, []).append(row)
        return cls(
            {row.pk: row for group in within.values() for row in group},
            {parent: tuple(group) for parent, group in within.items()},
        )

    def children(self, folder_id: UUID | None) -> tuple[Folder, ...]:
        return self.within.get(folder_id, ())

    def path(self, folder_id: UUID | None) -> tuple[Folder, ...]:
        """From the top down to the folder itself; nothing for the top, or for what isn't there."""
        found: list[Folder] = []
        while (folder := self.folders.get(folder_id) if folder_id else None) is not None:
            found.append(folder)
            folder_id = folder.parent_id
        return tuple(reversed(found))

    def path_text(self, folder_id: UUID | None) -> str:
        return BETWEEN.join(folder.name for folder in self.path(folder_id))

    def level(self, folder_id: UUID | None) -> int:
        """How many folders one has opened to be there."""
        return len(self.path(folder_id))

    def height(self, folder_id: UUID) -> int:
        """Levels that a folder takes with it when it is moved, itself among them."""
        return 1 + max((self.height(child.pk) for child in self.children(folder_id)), default=0)

    def beneath(self, folder_id: UUID | None) -> Iterator[tuple[Folder, int]]:
        """Everything inside, each after the folder it is in, with its level."""
        level = self.level(folder_id) + 1
        for folder in self.children(folder_id):
            yield folder, level
            yield from self.beneath(folder.pk)

    def is_within(self, folder_id: UUID | None, outer_id: UUID) -> bool:
        """Whether a place is the outer folder, or somewhere in it."""
        return any(folder.pk == outer_id for folder in self.path(folder_id))
