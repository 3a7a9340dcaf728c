"""Operations on a document: read, expanded, applied, reverted, rebased, compared. Plain Python.

``read_ops`` takes a client's JSON; ``perform`` applies a gesture to a ``Store``; its ``inverse`` reverts it;
``rebase`` fits operations to what others did meanwhile; ``diff`` finds what leads from one document to another.
``InMemoryStore`` is the plain store, and the oracle for the rows.
"""

from workflows.engine.editing.apply import apply, apply_all
from workflows.engine.editing.context import Context
from workflows.engine.editing.decode import read_ops
from workflows.engine.editing.diff import DocumentDiff, compare_documents, diff
from workflows.engine.editing.encode import read_log, write_ops
from workflows.engine.editing.errors import EditRefused
from workflows.engine.editing.ops import Op
from workflows.engine.editing.perform import EditResult, check, perform
from workflows.engine.editing.rebase import Clash, Rebased, rebase
from workflows.engine.editing.store import InMemoryStore, Store


__all__ = [
    "Clash",
    "Context",
    "DocumentDiff",
    "EditRefused",
    "EditResult",
    "InMemoryStore",
    "Op",
    "Rebased",
    "Store",
    "apply",
    "apply_all",
    "check",
    "compare_documents",
    "diff",
    "perform",
    "read_log",
    "read_ops",
    "rebase",
    "write_ops",
]
