"""How large a draft may grow: what is stored must be readable again, as a snapshot and as an export.

An edit costs what it touches, so the database guesses first, from what it knows without reading
anything: never too little. Only a draft that may be too large is written out and counted.
"""

from typing import TYPE_CHECKING

from django.db import connection

from workflows.engine.dsl.strict import MAX_BYTES, size_of
from workflows.engine.editing.errors import EditRefused, refuse
from workflows.models import Workflow
from workflows.models.documents import to_json
from workflows.services import rows


if TYPE_CHECKING:
    from workflows.services.editing.rows import Rows

# ``jsonb`` takes more room than its text, unless it was compressed. The numbers are the names of
# a part's other fields.
GUESS = """
SELECT coalesce(sum(80 + length(key) + length(kind) + length(title) + length(parent)
    + CASE WHEN pg_column_compression(data) IS NULL THEN pg_column_size(data) ELSE length(data::text) END
    + CASE WHEN pg_column_compression(extra) IS NULL THEN pg_column_size(extra) ELSE length(extra::text) END
    ), 0)
  + (SELECT coalesce(sum(80 + length(key) + length(source) + length(target) + length(handle)
        + length(target_handle) + length(extra::text)), 0)
     FROM workflows_edge WHERE workflow_id = %(workflow)s)
  + (SELECT coalesce(sum(80 + length(name) + length(key) + length(description)
        + length(coalesce(value::text, '')) + length(extra::text)), 0)
     FROM workflows_variable WHERE workflow_id = %(workflow)s)
FROM workflows_node WHERE workflow_id = %(workflow)s
"""


def check_size(store: "Rows") -> None:
    """After a flush. What doesn't grow is never refused: there must be a way back."""
    if not store.grown or _guess(store.workflow) <= MAX_BYTES:
        return
    size = size_of(to_json(rows.read_rows(store.workflow)))
    if size > MAX_BYTES:
        raise too_large(size)


def too_large(size: int) -> EditRefused:
    message = (
        f"A workflow may have {MAX_BYTES:,} characters; with this change it would have {size:,}. "
        "Make its texts shorter, or take something out first"
    )
    return refuse("too_large", message)


def _guess(workflow: Workflow) -> int:
    with connection.cursor() as cursor:
        cursor.execute(GUESS, {"workflow": workflow.pk})
        found = cursor.fetchone()
    header = size_of([workflow.features, workflow.extra, workflow.description])
    return int(found[0]) + header + 1_000
