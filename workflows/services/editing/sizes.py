"""How large a draft may grow: what is stored must be readable again, as a snapshot and as an export.

An edit costs what it touches: the workflow knows how large its draft is at most, and what an edit
adds is added to that. Only a draft that may be too large is written out and counted.
"""

from workflows.engine.editing.errors import EditRefused, refuse
from workflows.engine.language.dsl.strict import MAX_BYTES, size_of
from workflows.models.documents import to_json
from workflows.services.editing.rows import Rows
from workflows.services.editor import draft_rows


def check_size(store: Rows) -> None:
    """After a flush. What doesn't grow is never refused: there must be a way back."""
    known = store.workflow.most_characters
    if not store.growth and known is not None:
        return
    most = None if known is None else max(known + store.growth, 0)
    if store.grown and (most is None or most > MAX_BYTES):
        most = size_of(to_json(draft_rows.read_rows(store.workflow)))
        if most > MAX_BYTES:
            raise too_large(most)
    if most != known:
        store.workflow.most_characters = most
        store.header_dirty.add("most_characters")


def too_large(size: int) -> EditRefused:
    message = (
        f"A workflow can have at most {MAX_BYTES:,} characters; with this change it would have {size:,}. "
        "Shorten texts or remove something first"
    )
    return refuse("too_large", message)
