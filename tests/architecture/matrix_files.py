"""Rows and objects of files: each is its person's alone, also for the team's owner."""

from __future__ import annotations

from typing import Any

from tests.architecture.matrix_core import Maker, Row
from tests.support.cast import Person


def _store(person: Person, user: Any, canary: str) -> Any:
    from accounts.tenancy import tenant
    from workflows.files.records import Owner, create_file

    with tenant([person.team.pk]):
        owner = Owner(person.team.pk, str(user.pk), user.pk, user.pk)
        return create_file(owner, f"{canary} is in here.".encode(), f"{canary}.txt").pk


def _file(person: Person, canary: str) -> Any:
    return _store(person, person.user, canary)


def _file_for_ada(person: Person, canary: str) -> Any:
    from accounts.models import User

    ada = User.objects.filter(email="ada@example.org").first()
    is_her_team = person.user.email == "alice@example.org"
    return _store(person, ada if is_her_team and ada else person.user, canary)


OBJECTS: dict[str, Maker] = {"file": _file, "file for ada": _file_for_ada}

FILE, FOR_ADA = {"file_id": "file"}, {"file_id": "file for ada"}
WORKFLOW = {"workflow_id": "workflow"}

# fmt: off
ROWS = [
    Row("POST", "api/v1/files", "- 422 422 422 422 422"),  # without a file
    Row("POST", "api/v1/files/upload", "- 422 422 422 422 422"),  # without a file
    Row("GET", "api/v1/files/<uuid:file_id>", "- 404 404 404 404 404", FILE),
    Row("GET", "api/v1/files/<uuid:file_id>", "- 404 404 404 200 404", FOR_ADA),
    Row("DELETE", "api/v1/files/<uuid:file_id>", "- 404 404 404 404 404", FILE),
    Row("DELETE", "api/v1/files/<uuid:file_id>", "- 404 404 404 204 404", FOR_ADA),
    Row("GET", "files/<uuid:file_id>/", "- 404 404 404 404 -", FILE),
    Row("GET", "files/<uuid:file_id>/", "- 404 404 404 200 -", FOR_ADA),
    Row("POST", "workflows/<uuid:workflow_id>/files/", "- 404 422 422 422 -", WORKFLOW, {}),
]
