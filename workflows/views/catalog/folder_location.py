"""The location on the Workflows page: the open folder and the search text, which are in the URL."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest
from django.urls import reverse

from accounts.errors import NotFound
from accounts.principals import get_current_team_id, get_principal
from workflows import selectors
from workflows.models import Folder, FolderTree, Workflow
from workflows.views.request_context import parse_id, read_text


@dataclass(frozen=True)
class FolderTile:
    """A folder on the page, with the numbers of workflows and folders directly in it."""

    folder: Folder
    workflow_count: int
    folder_count: int
    parent_path: str


@dataclass(frozen=True)
class FolderLocation:
    """The open folder, which is None at the top, and the search text.

    The URLs of pages that are opened from here end with ``query_string``, so that they can lead back.
    """

    tree: FolderTree
    folder: Folder | None
    query: str

    @property
    def crumbs(self) -> tuple[Folder, ...]:
        """Return the folders around the open one, from the top."""
        return self.tree.get_path(self.folder.parent_id) if self.folder else ()

    @cached_property
    def tiles(self) -> list[FolderTile]:
        """Return the folders in the open one, or all folders with the search text in their names."""
        if self.query:
            query = self.query.casefold()
            folders = [
                folder for folder, _level in self.tree.walk(None) if query in folder.name.casefold()
            ]
        else:
            folders = list(self.tree.list_children(self.folder.pk if self.folder else None))
        return [self.build_tile(folder) for folder in folders]

    def build_tile(self, folder: Folder) -> FolderTile:
        workflow_count = int(getattr(folder, "workflow_count", 0))  # the selector counts them
        folder_count = len(self.tree.list_children(folder.pk))
        return FolderTile(
            folder, workflow_count, folder_count, self.tree.format_path(folder.parent_id)
        )

    @property
    def query_string(self) -> str:
        parameters = {"folder": str(self.folder.pk) if self.folder else "", "q": self.query}
        encoded = urlencode({name: value for name, value in parameters.items() if value})
        return f"?{encoded}" if encoded else ""

    @property
    def address(self) -> str:
        return reverse("workflows:list") + self.query_string


def get_location(request: HttpRequest) -> FolderLocation:
    """Return the location in the request's URL; raise NotFound if its folder isn't one of the current team."""
    tree = selectors.load_folder_tree(get_principal(request), get_current_team_id(request))
    return FolderLocation(
        tree, find_folder(tree, request.GET.get("folder", "")), read_text(request.GET, "q")
    )


def find_folder(tree: FolderTree, folder_id: str) -> Folder | None:
    """Return the folder with this id, or None for an empty id; raise NotFound if no folder has the id."""
    if not folder_id:
        return None
    folder = tree.folders.get(parse_id(folder_id))
    if folder is None:
        raise NotFound
    return folder


def format_selection(workflows: Sequence[Workflow], single: str, several: str) -> str:
    """Return the sentence for one workflow with its name, or for several with their number."""
    if len(workflows) == 1:
        return single % {"name": workflows[0].name}
    return several % {"count": len(workflows)}


def build_folder_url(folder_id: UUID | None) -> str:
    list_url = reverse("workflows:list")
    return f"{list_url}?folder={folder_id}" if folder_id else list_url
