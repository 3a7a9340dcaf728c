"""The public interface of memory: everything that other apps import from it. The rest of memory is private.

The application that runs workflows also implements ``memory.host``.
"""

from memory.cited_pages import CitedPage, load_cited_pages
from memory.core import errors
from memory.core.entry_codec import read_content
from memory.core.errors import AlreadyExists, MemoryFault
from memory.core.records import MemoryEntry, Source
from memory.core.scopes import list_plugged_scopes, resolve_namespace
from memory.embedding.callers import name_request
from memory.embedding.judge import find_holding, find_kind, is_kept_out
from memory.host import EmbeddingModel
from memory.logic.curation.work import FinishedWork, WorkStatus
from memory.logic.ports import AskModel
from memory.models import Change
from memory.naming import ChoosableKnowledgeBase, list_choosable_knowledge_bases
from memory.personal import PersonalEntry, format_value, load_personal_entries
from memory.plugins import make_provider, make_temporary_memory, select_relevant
from memory.provenance import Provenance, load_provenance
from memory.providers.base import MemoryProvider
from memory.selectors import has_undone_forgetting
from memory.services.access.pause import get_own_pause
from memory.services.access.quotas import get_effective_limits
from memory.services.curation.curate import (
    FinishedRun,
    curate,
    find_curation,
    find_curations,
    plan_curation,
    retry_curation,
)
from memory.services.curation.curation_summary import summarize_curation
from memory.services.curation.learning_rules import (
    LEARNS_FROM_RUNS,
    LearningRule,
    get_learning_rule,
    set_learning_rule,
)
from memory.services.curation.run_texts import list_recalled_texts
from memory.services.entries.forget import clear, forget
from memory.services.entries.forgotten import ForgettableEntry, load_forgettable
from memory.services.entries.hold_again import hold_again
from memory.services.entries.listing import list_entries
from memory.services.entries.remember import remember
from memory.services.entries.run_notes import clear_run_notes, get_run_metadata, save_run_metadata
from memory.services.entries.with_former import forget_with_former, restore_with_former
from memory.services.gateway.caller import CallOrigin, MemoryCaller, list_reachable
from memory.services.gateway.engine_port import RunMemory
from memory.services.gateway.gateway import lock_namespaces
from memory.services.history.restore import restore
from memory.services.history.revisions import list_values
from memory.services.history.undo import undo
from memory.services.history.undo_run import undo_run
from memory.services.knowledge.named_bases import list_missing_bases
from memory.services.knowledge.page_search import search_all_pages
from memory.services.knowledge.pages import get_knowledge_base, open_page, write_pages
from memory.services.recall.embedding_status import explain_words_only
from memory.services.recall.profile import recall_profile
from memory.services.recall.recall import recall, recall_for_node
from memory.services.recall.team_embedding import embed_again, try_embedding_model
from memory.services.review.contradicting import propose_contradictions
from memory.services.review.review_queue import count_queue
from memory.services.sandbox.dry_run import SandboxChange
from memory.services.sandbox.partial_memory import PartialMemory, SentHistory, list_scopes_like
from memory.services.sandbox.sandbox import SandboxMemory
from memory.services.wiki.maintain import ingest_source
from memory.short_rows import ShortRow, list_newest_rows, search_rows


__all__ = [
    "LEARNS_FROM_RUNS",
    "AlreadyExists",
    "AskModel",
    "CallOrigin",
    "Change",
    "ChoosableKnowledgeBase",
    "CitedPage",
    "EmbeddingModel",
    "FinishedRun",
    "FinishedWork",
    "ForgettableEntry",
    "LearningRule",
    "MemoryCaller",
    "MemoryEntry",
    "MemoryFault",
    "MemoryProvider",
    "PartialMemory",
    "PersonalEntry",
    "Provenance",
    "RunMemory",
    "SandboxChange",
    "SandboxMemory",
    "SentHistory",
    "ShortRow",
    "Source",
    "WorkStatus",
    "clear",
    "clear_run_notes",
    "count_queue",
    "curate",
    "embed_again",
    "errors",
    "explain_words_only",
    "find_curation",
    "find_curations",
    "find_holding",
    "find_kind",
    "forget",
    "forget_with_former",
    "format_value",
    "get_effective_limits",
    "get_knowledge_base",
    "get_learning_rule",
    "get_own_pause",
    "get_run_metadata",
    "has_undone_forgetting",
    "hold_again",
    "ingest_source",
    "is_kept_out",
    "list_choosable_knowledge_bases",
    "list_entries",
    "list_missing_bases",
    "list_newest_rows",
    "list_plugged_scopes",
    "list_reachable",
    "list_recalled_texts",
    "list_scopes_like",
    "list_values",
    "load_cited_pages",
    "load_forgettable",
    "load_personal_entries",
    "load_provenance",
    "lock_namespaces",
    "make_provider",
    "make_temporary_memory",
    "name_request",
    "open_page",
    "plan_curation",
    "propose_contradictions",
    "read_content",
    "recall",
    "recall_for_node",
    "recall_profile",
    "remember",
    "resolve_namespace",
    "restore",
    "restore_with_former",
    "retry_curation",
    "save_run_metadata",
    "search_all_pages",
    "search_rows",
    "select_relevant",
    "set_learning_rule",
    "summarize_curation",
    "try_embedding_model",
    "undo",
    "undo_run",
    "write_pages",
]
