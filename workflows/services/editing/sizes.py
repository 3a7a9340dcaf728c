"""How large a draft may grow: what is stored must be readable again, as a snapshot and as an export.

An edit costs what it touches: the workflow knows how large its draft is at most, and what an edit
adds is added to that. Only a draft that may be too large is written out and counted.
"""

from workflows.engine.dsl.strict import MAX_BYTES, size_of
from workflows.engine.editing.errors import EditRefused, refuse
from workflows.models.documents import to_json
from workflows.services import rows
from workflows.services.editing.rows import Rows


def check_size(store: Rows) -> None:
    """After a flush. What doesn't grow is never refused: there must be a way back."""
    known = store.workflow.most_characters
    if not store.growth and known is not None:
        return
    most = None if known is None else max(known + store.growth, 0)
    if store.grown and (most is None or most > MAX_BYTES):
        most = size_of(to_json(rows.read_rows(store.workflow)))
        if most > MAX_BYTES:
            raise too_large(most)
    if most != known:
        store.workflow.most_characters = most
        store.header_dirty.add("most_characters")


def too_large(size: int) -> EditRefused:
    message = (
        f"A workflow may have {MAX_BYTES:,} characters; with this change it would have {size:,}. "
        "Make its texts shorter, or take something out first"
    )
    return refuse("too_large", message)
