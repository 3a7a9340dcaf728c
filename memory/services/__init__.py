"""The services of memory, the only access for nodes, the API, pages and the admin. Each module has one kind of
operation.
"""

from memory.services.access.pause import get_subject_pause, pause, resume
from memory.services.access.sharing import share, unshare
from memory.services.conversations.conversation import HistoryView, converse, load_history
from memory.services.entries.edit import edit
from memory.services.entries.forget import clear, forget, forget_many
from memory.services.entries.get_entry import get_entry
from memory.services.entries.listing import list_entries, list_namespace_page
from memory.services.entries.preview_forget import plan_clearing, plan_forgetting
from memory.services.entries.remember import remember
from memory.services.entries.tiers import (
    MovedEntries,
    PlannedMove,
    list_quarantined,
    move,
    plan_moves,
)
from memory.services.erasure.erase import erase
from memory.services.gateway.caller import CallOrigin, MemoryCaller, list_reachable
from memory.services.history.reads import list_entry_reads
from memory.services.history.restore import restore
from memory.services.history.revisions import list_revisions, list_values
from memory.services.history.undo import undo
from memory.services.history.undo_run import check_run_known, undo_run
from memory.services.knowledge.bulk_pages import KnowledgeBase
from memory.services.knowledge.naming import create_knowledge_base, rename_knowledge_base
from memory.services.knowledge.page_finding import find_pages
from memory.services.knowledge.page_search import PageSearchResults, search_all_pages
from memory.services.knowledge.pages import (
    PageView,
    confirm_page,
    delete_page,
    get_knowledge_base,
    list_page_revisions,
    open_page,
    rewrite_page,
    write_pages,
)
from memory.services.recall.recall import recall
from memory.services.recall.search_all import search_all_namespaces
from memory.services.transfer.exporting import export_namespace, export_person, export_team
from memory.services.transfer.importing import import_file, undo_import
from memory.services.transfer.page_archive import export_pages, import_pages
from memory.services.wiki.compiling import Compilation, compile_page, compile_stale_pages
from memory.services.wiki.inspect import LintReport, WikiOverview, get_overview, lint_wiki
from memory.services.wiki.jobs import (
    find_newest_jobs,
    get_problem,
    get_wiki_job,
    order_compilation,
    order_lint,
    order_page_compilation,
    retry_wiki_job,
)
from memory.services.wiki.log import read_log
from memory.services.wiki.maintain import ingest_source, link_pages, merge_twins


__all__ = [
    "CallOrigin",
    "Compilation",
    "HistoryView",
    "KnowledgeBase",
    "LintReport",
    "MemoryCaller",
    "MovedEntries",
    "PageSearchResults",
    "PageView",
    "PlannedMove",
    "WikiOverview",
    "check_run_known",
    "clear",
    "compile_page",
    "compile_stale_pages",
    "confirm_page",
    "converse",
    "create_knowledge_base",
    "delete_page",
    "edit",
    "erase",
    "export_namespace",
    "export_pages",
    "export_person",
    "export_team",
    "find_newest_jobs",
    "find_pages",
    "forget",
    "forget_many",
    "get_entry",
    "get_knowledge_base",
    "get_overview",
    "get_problem",
    "get_subject_pause",
    "get_wiki_job",
    "import_file",
    "import_pages",
    "ingest_source",
    "link_pages",
    "lint_wiki",
    "list_entries",
    "list_entry_reads",
    "list_namespace_page",
    "list_page_revisions",
    "list_quarantined",
    "list_reachable",
    "list_revisions",
    "list_values",
    "load_history",
    "merge_twins",
    "move",
    "open_page",
    "order_compilation",
    "order_lint",
    "order_page_compilation",
    "pause",
    "plan_clearing",
    "plan_forgetting",
    "plan_moves",
    "read_log",
    "recall",
    "remember",
    "rename_knowledge_base",
    "restore",
    "resume",
    "retry_wiki_job",
    "rewrite_page",
    "search_all_namespaces",
    "search_all_pages",
    "share",
    "undo",
    "undo_import",
    "undo_run",
    "unshare",
    "write_pages",
]
