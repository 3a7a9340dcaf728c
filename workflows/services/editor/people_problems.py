"""Questions of a document that ask people who are not in the team, as in a document of another installation."""

from collections.abc import Iterator
from typing import Final
from uuid import UUID

from pydantic import TypeAdapter, ValidationError

from accounts.models import Membership, TeamGroup
from accounts.tenancy import reading
from workflows.engine.answerers import FIELDS, Answerer
from workflows.engine.language.document import Document, NodeSpec
from workflows.engine.language.problems import Problem, build_warning


_ROWS: Final = TypeAdapter(tuple[Answerer, ...])
_MESSAGES: Final = {
    "member": "This is not a member of this team, so nobody is asked",
    "group": "This is not a group of this team, so nobody is asked",
}


def find_people_problems(team_id: UUID, document: Document) -> Iterator[Problem]:
    """Yield a warning for each row that names nobody of the team."""
    rows = [
        (node.id, f"{field}.{index}.value", row)
        for node in document.nodes
        for field in FIELDS.get(node.kind, ())
        for index, row in enumerate(_list_answerers(node, field))
        if row.type in _MESSAGES and row.value
    ]
    if not rows:
        return
    known = _list_known(team_id)
    for node_id, field, row in rows:
        if row.value not in known[row.type]:
            yield build_warning("answerer.unknown", _MESSAGES[row.type], node_id, field)


def _list_known(team_id: UUID) -> dict[str, set[str]]:
    with reading([team_id]):
        members = Membership.objects.unscoped().filter(team_id=team_id)
        groups = TeamGroup.objects.unscoped().filter(team_id=team_id)
        return {
            "member": {str(pk) for pk in members.values_list("user_id", flat=True)},
            "group": {str(pk) for pk in groups.values_list("pk", flat=True)},
        }


def _list_answerers(node: NodeSpec, field: str) -> tuple[Answerer, ...]:
    try:
        return _ROWS.validate_python(node.data.get(field) or ())
    except ValidationError:
        return ()  # an incomplete draft
