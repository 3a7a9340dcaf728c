"""The public interface of memory: everything that other apps import from it. The rest of memory is private.

The application that runs workflows also implements ``memory.host``.
"""

from memory.core import errors
from memory.core.entry_codec import CONTENT
from memory.core.errors import AlreadyExists, MemoryFault
from memory.core.records import MemoryEntry, Source
from memory.core.scopes import list_plugged_scopes, resolve_namespace
from memory.logic.curation.work import FinishedWork, WorkStatus
from memory.logic.ports import AskModel
from memory.models import Change
from memory.personal import PersonalEntry, format_value, load_personal_entries
from memory.plugins import make_provider
from memory.providers.base import MemoryProvider
from memory.providers.in_memory import InMemoryProvider
from memory.services.access.pause import get_own_pause
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
    LearningRule,
    get_learning_rule,
    set_learning_rule,
)
from memory.services.curation.run_texts import list_recalled_texts
from memory.services.entries.forget import forget
from memory.services.entries.listing import list_entries
from memory.services.entries.remember import remember
from memory.services.entries.run_notes import clear_run_notes, get_run_metadata, save_run_metadata
from memory.services.gateway.caller import CallOrigin, MemoryCaller, list_reachable
from memory.services.gateway.engine_port import RunMemory
from memory.services.gateway.gateway import lock_namespaces
from memory.services.history.undo import undo
from memory.services.history.undo_run import undo_run
from memory.services.knowledge.pages import write_pages
from memory.services.recall.embedding_status import explain_words_only
from memory.services.recall.recall import recall
from memory.services.review.review_queue import count_queue
from memory.services.sandbox.dry_run import SandboxChange
from memory.services.sandbox.sandbox import SandboxMemory
from memory.services.wiki.maintain import ingest_source
from memory.short_rows import ShortRow, list_newest_rows, search_rows


__all__ = [
    "CONTENT",
    "AlreadyExists",
    "AskModel",
    "CallOrigin",
    "Change",
    "FinishedRun",
    "FinishedWork",
    "InMemoryProvider",
    "LearningRule",
    "MemoryCaller",
    "MemoryEntry",
    "MemoryFault",
    "MemoryProvider",
    "PersonalEntry",
    "RunMemory",
    "SandboxChange",
    "SandboxMemory",
    "ShortRow",
    "Source",
    "WorkStatus",
    "clear_run_notes",
    "count_queue",
    "curate",
    "errors",
    "explain_words_only",
    "find_curation",
    "find_curations",
    "forget",
    "format_value",
    "get_learning_rule",
    "get_own_pause",
    "get_run_metadata",
    "ingest_source",
    "list_entries",
    "list_newest_rows",
    "list_plugged_scopes",
    "list_reachable",
    "list_recalled_texts",
    "load_personal_entries",
    "lock_namespaces",
    "make_provider",
    "plan_curation",
    "recall",
    "remember",
    "resolve_namespace",
    "retry_curation",
    "save_run_metadata",
    "search_rows",
    "set_learning_rule",
    "summarize_curation",
    "undo",
    "undo_run",
    "write_pages",
]
