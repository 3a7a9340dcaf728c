"""The one door to memory, one verb a file. Nodes, API, pages and admin all come through here."""

from memory.services.caller import CallOrigin, MemoryCaller, reach_of
from memory.services.edit import edit
from memory.services.erase import Receipt, erase
from memory.services.forget import Forgotten, clear, forget, forget_many
from memory.services.history import revisions, values
from memory.services.listing import entries, namespaces
from memory.services.look import look
from memory.services.notes import clear_run_notes
from memory.services.recall import recall
from memory.services.remember import remember
from memory.services.restore import restore
from memory.services.share import share, unshare
from memory.services.undo import Undone, undo


__all__ = [
    "CallOrigin",
    "Forgotten",
    "MemoryCaller",
    "Receipt",
    "Undone",
    "clear",
    "clear_run_notes",
    "edit",
    "entries",
    "erase",
    "forget",
    "forget_many",
    "look",
    "namespaces",
    "reach_of",
    "recall",
    "remember",
    "restore",
    "revisions",
    "share",
    "undo",
    "unshare",
    "values",
]
