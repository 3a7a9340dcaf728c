"""Rows of folders: a team's editors arrange them, its viewers look."""

from __future__ import annotations

from typing import Any

from tests.architecture.matrix_core import Maker, Row
from tests.support.cast import Person


def _folder(person: Person, canary: str) -> Any:
    """A workflow lies in it, and one folder."""
    from tests.factories.workflows import make_workflow
    from workflows.services.catalog import folders

    team_id = person.team.pk
    name = f"{canary} {len(_names(person))}"  # a name is there once
    made = folders.create_folder(person.principal, team_id=team_id, name=name)
    folders.create_folder(person.principal, team_id=team_id, name=canary, parent=made)
    workflow = make_workflow(person, canary)
    folders.move_workflows(person.principal, workflows=[workflow], into=made)
    return made.pk


def _names(person: Person) -> list[str]:
    from tests.factories.workflows import within
    from workflows.models import Folder

    with within(person):
        return list(Folder.objects.visible_to(person.principal).values_list("name", flat=True))


OBJECTS: dict[str, Maker] = {"folder": _folder}

FOLDER = {"folder_id": "folder"}
INTO = {"workflow": "workflow", "into": "folder"}
INSIDE = {"folder": "folder"}
MODE = {"mode": "workflow"}
NAME = {"name": "x"}
IN_DOCUMENT = {
    "document": {
        "version": "0.1.0",
        "nodes": [{"id": "start", "data": {"type": "start"}}],
        "edges": [],
    }
}

# anonymous, outsider, viewer, editor, admin, other team's key
ROWS: list[Row] = [
    # Over the API; where no folder is named an outsider and a key act in their own team
    Row("GET", "api/v1/folders", "- 200 200 200 200 200"),
    Row("GET", "api/v1/folders", "- 200 200 200 200 200", {"team": "team"}, {}, foreign=200),
    Row("POST", "api/v1/folders", "- 201 403 201 201 201", body=NAME),
    Row("POST", "api/v1/folders", "- 404 403 201 201 404", {"parent": "folder"}, NAME),
    Row("PATCH", "api/v1/folders/<uuid:folder_id>", "- 404 403 200 200 404", FOLDER, NAME),
    Row("PATCH", "api/v1/folders/<uuid:folder_id>", "- 404 403 200 200 404", {**FOLDER, "parent": "folder"}, {}),
    Row("DELETE", "api/v1/folders/<uuid:folder_id>", "- 404 403 204 204 404", FOLDER),
    Row("POST", "api/v1/workflows/move", "- 404 404 404 404 404", INSIDE, {"workflows": ["00000000-0000-0000-0000-000000000000"]}),
    Row("PATCH", "api/v1/workflows/<uuid:workflow_id>", "- 404 403 200 200 404", {"workflow_id": "workflow", **INSIDE}, {}),
    Row("GET", "api/v1/workflows", "- 404 200 200 200 404", INSIDE, {}),
    Row("POST", "api/v1/workflows", "- 404 403 201 201 404", INSIDE, IN_DOCUMENT),
    # Pages
    Row("GET", "workflows/", "- 404 200 200 200 -", INSIDE, {}),
    Row("GET", "samples/", "- 404 200 200 200 -", INSIDE, {}),
    Row("GET", "workflows/new/", "- 404 403 200 200 -", INSIDE, {}),
    Row("GET", "workflows/import/", "- 404 403 200 200 -", INSIDE, {}),
    Row("GET", "workflows/folders/new/", "- 200 403 200 200 -"),
    Row("GET", "workflows/folders/new/", "- 404 403 200 200 -", INSIDE, {}),
    Row("POST", "workflows/folders/new/", "- 302 403 302 302 -", body=NAME),
    Row("GET", "workflows/folders/<uuid:folder_id>/rename/", "- 404 403 200 200 -", FOLDER),
    Row("POST", "workflows/folders/<uuid:folder_id>/rename/", "- 404 403 302 302 -", FOLDER, NAME),
    Row("GET", "workflows/folders/<uuid:folder_id>/move/", "- 404 403 200 200 -", FOLDER),
    Row("POST", "workflows/folders/<uuid:folder_id>/move/", "- 404 403 302 302 -", FOLDER, {"into": ""}),
    Row("POST", "workflows/folders/<uuid:folder_id>/move/", "- 404 403 302 302 -", {**FOLDER, "into": "folder"}, {}),
    Row("POST", "workflows/folders/<uuid:folder_id>/delete/", "- 404 403 302 302 -", FOLDER, {}),
    Row("GET", "workflows/move/", "- 404 403 200 200 -", {"workflow": "workflow"}, {}),
    Row("POST", "workflows/move/", "- 404 403 302 302 -", INTO, {}),
    Row("POST", "workflows/archive/", "- 404 403 302 302 -", {"workflow": "workflow"}, {}),
    Row("POST", "workflows/restore/", "- 404 403 302 302 -", {"workflow": "workflow"}, {}),
]  # fmt: skip
