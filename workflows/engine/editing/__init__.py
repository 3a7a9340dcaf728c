"""Reads, expands, applies, reverts, rebases and compares operations on a document.

``read_ops`` takes a client's JSON; ``perform`` applies a gesture to a ``Store``; its ``inverse`` reverts it;
``rebase`` adapts operations to concurrent ones; ``diff`` computes the operations from one document to another.
``InMemoryStore`` is the simple store, and the reference for the rows.
"""

from workflows.engine.editing.apply import apply, apply_all
from workflows.engine.editing.context import Context
from workflows.engine.editing.decode import read_ops
from workflows.engine.editing.diff import DocumentDiff, compare_documents, diff
from workflows.engine.editing.encode import read_log, write_ops
from workflows.engine.editing.errors import EditRefused
from workflows.engine.editing.ops import Op
from workflows.engine.editing.perform import EditResult, perform
from workflows.engine.editing.rebase import Conflict, Rebased, rebase
from workflows.engine.editing.store import InMemoryStore, Store


__all__ = [
    "Conflict",
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
    "compare_documents",
    "diff",
    "perform",
    "read_log",
    "read_ops",
    "rebase",
    "write_ops",
]
