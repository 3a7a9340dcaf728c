"""Compute a checksum of a draft's parts. An editor whose own parts have another checksum reloads the draft.

static/js/editor/collaboration/draft_checksum.js implements the same checksum.
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
    """A draft's revision, its numbers of nodes and edges, and ``mark``: the checksum of their ids, parents and ends."""

    revision: int
    nodes: int
    edges: int
    mark: int

    def to_tree(self) -> dict[str, Json]:
        return asdict(self)


def compute_shape(principal: Principal, workflow: Workflow) -> Shape:
    permissions.check_view(principal, workflow)
    with tenant([workflow.team_id]), connection.cursor() as cursor:
        cursor.execute(QUERIES["parts"], [workflow.pk])
        revision, nodes, edges = cursor.fetchone()
    return Shape(revision, len(nodes), len(edges), compute_mark([*nodes, *edges]))


def compute_mark(parts: Iterable[str]) -> int:
    """Return the checksum of the parts, which doesn't depend on their order."""
    return sum(crc32(part.encode()) for part in parts) % 2**32
