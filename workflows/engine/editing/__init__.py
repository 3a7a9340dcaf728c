"""Operations on a document: read, expanded, done, undone, rebased, compared. Plain Python.

``read_ops`` takes a client's JSON; ``perform`` does a gesture on a ``Store``; its ``inverse`` takes it
back; ``rebase`` fits operations to what others did meanwhile; ``diff`` finds what leads from one
document to another. ``Memory`` is the plain store, and the oracle for the rows.
"""

from workflows.engine.editing.apply import apply, apply_all
from workflows.engine.editing.context import Context
from workflows.engine.editing.decode import read_ops
from workflows.engine.editing.diff import Drawn, diff, drawn
from workflows.engine.editing.encode import read_log, write_ops
from workflows.engine.editing.errors import EditRefused
from workflows.engine.editing.ops import Op
from workflows.engine.editing.perform import Performed, check, perform
from workflows.engine.editing.rebase import Clash, Rebased, rebase
from workflows.engine.editing.store import Memory, Store


__all__ = [
    "Clash",
    "Context",
    "Drawn",
    "EditRefused",
    "Memory",
    "Op",
    "Performed",
    "Rebased",
    "Store",
    "apply",
    "apply_all",
    "check",
    "diff",
    "drawn",
    "perform",
    "read_log",
    "read_ops",
    "rebase",
    "write_ops",
]
