"""Where on the Workflows page one is: which folder, and what was searched for. The address says both."""

from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest
from django.urls import reverse

from accounts.errors import NotFound
from accounts.principals import get_current_team_id, get_principal
from workflows import selectors
from workflows.models import Folder, FolderTree
from workflows.views.request_context import typed


@dataclass(frozen=True)
class Tile:
    """A folder as the page shows it; ``path`` is where it stands."""

    folder: Folder
    workflows: int
    folders: int
    path: str


@dataclass(frozen=True)
class Shelf:
    """``here`` is None at the top. Pages that come from it carry ``carried`` in their address to find back."""

    tree: FolderTree
    here: Folder | None
    query: str

    @property
    def crumbs(self) -> tuple[Folder, ...]:
        """The folders around the one that is open, from the top."""
        return self.tree.path(self.here.parent_id) if self.here else ()

    @cached_property
    def tiles(self) -> list[Tile]:
        if self.query:
            words = self.query.casefold()
            found = [one for one, _ in self.tree.beneath(None) if words in one.name.casefold()]
        else:
            found = list(self.tree.children(self.here.pk if self.here else None))
        return [self.tile_of(folder) for folder in found]

    def tile_of(self, folder: Folder) -> Tile:
        held = int(getattr(folder, "workflow_count", 0))  # the selector counts them
        inside = len(self.tree.children(folder.pk))
        return Tile(folder, held, inside, self.tree.path_text(folder.parent_id))

    @property
    def carried(self) -> str:
        said = {"folder": str(self.here.pk) if self.here else "", "q": self.query}
        found = urlencode({name: value for name, value in said.items() if value})
        return f"?{found}" if found else ""

    @property
    def address(self) -> str:
        return reverse("workflows:list") + self.carried

    @property
    def above(self) -> str:
        return address_of(self.here.parent_id if self.here else None)


def shelf_of(request: HttpRequest) -> Shelf:
    """The folder of the address must be one of the team that is looked at."""
    tree = selectors.folder_tree(get_principal(request), get_current_team_id(request))
    return Shelf(tree, folder_of(tree, request.GET.get("folder", "")), typed(request.GET, "q"))


def folder_of(tree: FolderTree, text: str) -> Folder | None:
    """By its id as text; nothing said is the top."""
    if not text:
        return None
    try:
        found = tree.folders.get(UUID(text))
    except ValueError:
        found = None
    if found is None:
        raise NotFound
    return found


def address_of(folder_id: UUID | None) -> str:
    top = reverse("workflows:list")
    return f"{top}?folder={folder_id}" if folder_id else top
