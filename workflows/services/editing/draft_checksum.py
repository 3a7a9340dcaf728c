"""What a draft consists of, in three numbers: an editor that shows something else learns of it, and reads the page anew.

Its twin is static/js/editor/collaboration/draft_checksum.js.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Final
from zlib import crc32

from django.db import connection

from accounts.access import Principal
from accounts.tenancy import tenant
from config.sql import read_queries
from workflows import permissions
from workflows.engine.language.document import Json
from workflows.models import Workflow


QUERIES: Final = read_queries("workflows/sql/queries/drafts.sql")


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
        cursor.execute(QUERIES["parts"], [workflow.pk])
        found = cursor.fetchone()
    revision, nodes, edges = found
    return Shape(revision, len(nodes), len(edges), mark_of([*nodes, *edges]))


def mark_of(parts: Iterable[str]) -> int:
    return sum(crc32(part.encode()) for part in parts) % 2**32
