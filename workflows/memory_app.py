"""The memory app as workflows know it: the only module of this app that imports it.

It may be switched off (``MEMORY_ENABLED=0``), and then can't be imported: so each name is looked up
when it is used, not when this module is. Whoever uses one has asked ``is_on`` before.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from django.conf import settings


if TYPE_CHECKING:
    from memory.core import errors as errors
    from memory.core.errors import AlreadyExists as AlreadyExists
    from memory.core.errors import MemoryFault as MemoryFault
    from memory.core.records import MemoryEntry as MemoryEntry
    from memory.core.records import Source as Source
    from memory.core.scopes import list_plugged_scopes as list_plugged_scopes
    from memory.core.scopes import resolve_namespace as resolve_namespace
    from memory.core.scopes import stream_of as stream_of
    from memory.logic.curation.work import FinishedWork as FinishedWork
    from memory.logic.curation.work import WorkStatus as WorkStatus
    from memory.logic.ports import AskModel as AskModel
    from memory.models import Change as Change
    from memory.personal import PersonalEntry as PersonalEntry
    from memory.personal import format_value as format_value
    from memory.personal import load_personal_entries as load_personal_entries
    from memory.plugins import make_provider as make_provider
    from memory.providers.base import MemoryProvider as MemoryProvider
    from memory.providers.in_memory import InMemoryProvider as InMemoryProvider
    from memory.services.access.pause import get_own_pause as get_own_pause
    from memory.services.curation.curate import Finished as Finished
    from memory.services.curation.curate import curate as curate
    from memory.services.curation.curate import curation_of as curation_of
    from memory.services.curation.curate import curations_of as curations_of
    from memory.services.curation.curate import plan_curation as plan_curation
    from memory.services.curation.curate import retry_curation as retry_curation
    from memory.services.curation.learning_rules import Learning as Learning
    from memory.services.curation.learning_rules import learning_of as learning_of
    from memory.services.curation.learning_rules import set_rule as set_rule
    from memory.services.curation.run_lessons import learnt_from as learnt_from
    from memory.services.curation.run_texts import recalled_in as recalled_in
    from memory.services.entries.forget import forget as forget
    from memory.services.entries.listing import entries as entries
    from memory.services.entries.remember import remember as remember
    from memory.services.entries.run_notes import clear_run_notes as clear_run_notes
    from memory.services.entries.run_notes import write_run_down as write_run_down
    from memory.services.gateway.caller import CallOrigin as CallOrigin
    from memory.services.gateway.caller import MemoryCaller as MemoryCaller
    from memory.services.gateway.caller import reach_of as reach_of
    from memory.services.gateway.engine_port import RunMemory as RunMemory
    from memory.services.gateway.namespace_locks import hold as hold
    from memory.services.history.undo import undo as undo
    from memory.services.history.undo_run import undo_run as undo_run
    from memory.services.knowledge.pages import write_pages as write_pages
    from memory.services.recall.recall import recall as recall
    from memory.services.sandbox.sandbox import SandboxMemory as SandboxMemory
    from memory.services.sandbox.sandbox import WouldChange as WouldChange


# The same names again: the types above are for readers, this is where they are found.
_WHERE = {
    "AlreadyExists": "memory.core.errors",
    "AskModel": "memory.logic.ports",
    "CallOrigin": "memory.services.gateway.caller",
    "Change": "memory.models",
    "Finished": "memory.services.curation.curate",
    "FinishedWork": "memory.logic.curation.work",
    "InMemoryProvider": "memory.providers.in_memory",
    "Learning": "memory.services.curation.learning_rules",
    "MemoryCaller": "memory.services.gateway.caller",
    "MemoryEntry": "memory.core.records",
    "MemoryFault": "memory.core.errors",
    "MemoryProvider": "memory.providers.base",
    "PersonalEntry": "memory.personal",
    "RunMemory": "memory.services.gateway.engine_port",
    "SandboxMemory": "memory.services.sandbox.sandbox",
    "Source": "memory.core.records",
    "WorkStatus": "memory.logic.curation.work",
    "WouldChange": "memory.services.sandbox.sandbox",
    "clear_run_notes": "memory.services.entries.run_notes",
    "curate": "memory.services.curation.curate",
    "curation_of": "memory.services.curation.curate",
    "curations_of": "memory.services.curation.curate",
    "entries": "memory.services.entries.listing",
    "forget": "memory.services.entries.forget",
    "hold": "memory.services.gateway.namespace_locks",
    "learning_of": "memory.services.curation.learning_rules",
    "learnt_from": "memory.services.curation.run_lessons",
    "make_provider": "memory.plugins",
    "get_own_pause": "memory.services.access.pause",
    "plan_curation": "memory.services.curation.curate",
    "list_plugged_scopes": "memory.core.scopes",
    "reach_of": "memory.services.gateway.caller",
    "recall": "memory.services.recall.recall",
    "recalled_in": "memory.services.curation.run_texts",
    "remember": "memory.services.entries.remember",
    "load_personal_entries": "memory.personal",
    "resolve_namespace": "memory.core.scopes",
    "retry_curation": "memory.services.curation.curate",
    "set_rule": "memory.services.curation.learning_rules",
    "stream_of": "memory.core.scopes",
    "undo": "memory.services.history.undo",
    "undo_run": "memory.services.history.undo_run",
    "format_value": "memory.personal",
    "write_pages": "memory.services.knowledge.pages",
    "write_run_down": "memory.services.entries.run_notes",
}


class MemoryIsOff(RuntimeError):
    """The memory app is switched off, and something asked for it all the same."""


def is_on() -> bool:
    return bool(settings.MEMORY_ENABLED)


def offers_nodes() -> bool:
    """Memory's node kinds; it can be on without them."""
    return bool(settings.MEMORY_NODES_ENABLED)


def __getattr__(name: str) -> Any:  # what the types above say
    if name == "errors":
        return import_module("memory.core.errors") if is_on() else _off(name)
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name) if is_on() else _off(name)


def _off(name: str) -> Any:
    raise MemoryIsOff(f"{name} was asked for, but MEMORY_ENABLED is off")
