"""The size limit of a draft: what is stored must be readable again, as a snapshot and as an export.

An edit costs what it touches: the workflow stores an upper bound of its draft's size, and an edit
adds its growth to that. Only a draft that may be too large is serialized and counted.
"""

from workflows.engine.editing.errors import EditRefused, build_refusal
from workflows.engine.language.dsl.strict import MAX_BYTES, measure_tree
from workflows.models.documents import to_json
from workflows.services.editing.rows import Rows
from workflows.services.editor import draft_rows


def check_size(store: Rows) -> None:
    """Check the size after a flush. A change that doesn't grow the draft always passes, so that it
    can be shortened.
    """
    previous_bound = store.workflow.most_characters
    if not store.growth and previous_bound is not None:
        return
    most = None if previous_bound is None else max(previous_bound + store.growth, 0)
    if store.grown and (most is None or most > MAX_BYTES):
        most = measure_tree(to_json(draft_rows.read_rows(store.workflow)))
        if most > MAX_BYTES:
            raise refuse_size(most)
    if most != previous_bound:
        store.workflow.most_characters = most
        store.header_dirty.add("most_characters")


def refuse_size(size: int) -> EditRefused:
    message = (
        f"A workflow can have at most {MAX_BYTES:,} characters; with this change it would have {size:,}. "
        "Shorten texts or remove something first"
    )
    return build_refusal("too_large", message)
