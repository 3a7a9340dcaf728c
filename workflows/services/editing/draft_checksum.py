"""What a draft consists of, in three numbers: an editor that shows something else learns of it, and reads the page anew.

Its twin is static/js/editor/shape.js.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from zlib import crc32

from django.db import connection

from accounts.access import Principal
from accounts.tenancy import tenant
from workflows import permissions
from workflows.engine.document import Json
from workflows.models import Workflow


# One statement sees one moment: the ids are those of this very revision.
PARTS = """
SELECT revision,
    ARRAY(SELECT concat_ws(' ', key, parent) FROM workflows_node WHERE workflow_id = draft.id),
    ARRAY(SELECT concat_ws(' ', key, source, target) FROM workflows_edge WHERE workflow_id = draft.id)
FROM workflows_workflow draft WHERE id = %s
"""


@dataclass(frozen=True, slots=True)
class Shape:
    """``mark`` is the same whatever the order, and another one where an id, a parent or an end is."""

    revision: int
    nodes: int
    edges: int
    mark: int

    def tree(self) -> dict[str, Json]:
        return asdict(self)


def shape_of(principal: Principal, workflow: Workflow) -> Shape:
    permissions.check_view(principal, workflow)
    with tenant([workflow.team_id]), connection.cursor() as cursor:
        cursor.execute(PARTS, [workflow.pk])
        found = cursor.fetchone()
    revision, nodes, edges = found
    return Shape(revision, len(nodes), len(edges), mark_of([*nodes, *edges]))


def mark_of(parts: Iterable[str]) -> int:
    return sum(crc32(part.encode()) for part in parts) % 2**32
