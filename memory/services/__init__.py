"""The one door to memory, one verb a file. Nodes, API, pages and admin all come through here."""

from memory.services.caller import CallOrigin, MemoryCaller, reach_of
from memory.services.conversation import HistoryView, converse, look_back
from memory.services.edit import edit
from memory.services.erase import Receipt, erase
from memory.services.everywhere import FoundEntries, search_everywhere
from memory.services.exporting import Exported, export_namespace, export_person, export_team
from memory.services.forget import Forgotten, clear, forget, forget_many
from memory.services.history import revisions, values
from memory.services.importing import import_file, undo_import
from memory.services.knowledge import (
    Opened,
    confirm_page,
    delete_page,
    find_pages,
    open_page,
    page_revisions,
    rewrite_page,
    shelf,
    write_pages,
)
from memory.services.listing import entries, namespace_page, namespaces
from memory.services.look import look
from memory.services.notes import clear_run_notes
from memory.services.page_exchange import Imported, export_pages, import_pages
from memory.services.page_search import FoundPages, find_everywhere
from memory.services.pause import own_pause, pause, pause_for, resume
from memory.services.pausing import Pause
from memory.services.recall import recall
from memory.services.remember import remember
from memory.services.restore import restore
from memory.services.share import share, unshare
from memory.services.tiers import (
    MovedEntries,
    PlannedMove,
    approve,
    move,
    plan_moves,
    promote,
    quarantine,
    quarantined,
    reject,
)
from memory.services.undo import Undone, undo
from memory.services.undo_run import RunUndone, undo_run
from memory.services.whole_shelf import Shelf
from memory.services.would_forget import WouldGo, plan_clearing, plan_forgetting


__all__ = [
    "CallOrigin",
    "Exported",
    "Forgotten",
    "FoundEntries",
    "FoundPages",
    "HistoryView",
    "Imported",
    "MemoryCaller",
    "MovedEntries",
    "Opened",
    "Pause",
    "PlannedMove",
    "Receipt",
    "RunUndone",
    "Shelf",
    "Undone",
    "WouldGo",
    "approve",
    "clear",
    "clear_run_notes",
    "confirm_page",
    "converse",
    "delete_page",
    "edit",
    "entries",
    "erase",
    "export_namespace",
    "export_pages",
    "export_person",
    "export_team",
    "find_everywhere",
    "find_pages",
    "forget",
    "forget_many",
    "import_file",
    "import_pages",
    "look",
    "look_back",
    "move",
    "namespace_page",
    "namespaces",
    "open_page",
    "own_pause",
    "page_revisions",
    "pause",
    "pause_for",
    "plan_clearing",
    "plan_forgetting",
    "plan_moves",
    "promote",
    "quarantine",
    "quarantined",
    "reach_of",
    "recall",
    "reject",
    "remember",
    "restore",
    "resume",
    "revisions",
    "rewrite_page",
    "search_everywhere",
    "share",
    "shelf",
    "undo",
    "undo_import",
    "undo_run",
    "unshare",
    "values",
    "write_pages",
]
