"""Find and register the memory providers and scopes of plug-ins."""

from collections.abc import Iterable
from typing import Final

from config.plugins import collect_mappings
from memory.core import scopes
from memory.core.errors import InvalidInput
from memory.core.provider import MAX_QUERY_LENGTH, utc_now
from memory.core.records import MemoryQuery, StoreParams
from memory.core.scope_kinds import ScopeKind
from memory.core.scopes import Scope
from memory.embedding.embedders import get_configured_embedder
from memory.embedding.judge import find_judge
from memory.logic.judgement.questions.question_recall import recall_for_question
from memory.logic.judgement.wishes.remaining import build_fact_metadata
from memory.providers import find_provider_factory
from memory.providers.base import MemoryProvider


IN_MEMORY: Final = "in_memory"
_READER: Final = "user:reader"


def make_provider(name: str, **options: object) -> MemoryProvider:
    """Make a memory provider, built in or from a plug-in, by its name and options. It judges as the server does."""
    if name == IN_MEMORY:
        options = {"embedder": get_configured_embedder(), **options}
    provider = find_provider_factory(name, collect_mappings("memory_providers"))(**options)
    provider.judge = find_judge()
    return provider


def make_temporary_memory() -> MemoryProvider:
    """Make a memory that lasts as long as a command or a test, and judges and finds as the server does."""
    return make_provider(IN_MEMORY)


def select_relevant(question: str, texts: Iterable[str]) -> frozenset[str] | None:
    """Return those of the texts that a person's memory would bring into the prompt of the question, or None if it has no floor.

    Nothing leaves the process for it.
    """
    embedder, judge = get_configured_embedder(), find_judge()
    if judge is None or embedder is None or not embedder.is_local or embedder.floors is None:
        return None
    memory = make_temporary_memory()
    for number, text in enumerate(texts):
        metadata = build_fact_metadata({}, text, judge)
        memory.store(StoreParams(_READER, str(number), value=text, metadata=metadata))
    query = MemoryQuery(_READER, query_text=question[:MAX_QUERY_LENGTH])
    hits = recall_for_question(judge, query, Scope.USER.value, memory.recall, utc_now)
    return frozenset(hit.value for hit in hits)


def plug_in_scopes() -> None:
    """Register the scopes of all plug-ins. This replaces those that were registered before."""
    scopes.plug_in(_check_scope(word, kind) for word, kind in collect_mappings("scopes").items())


def _check_scope(word: str, kind: object) -> ScopeKind:
    if not isinstance(kind, ScopeKind) or kind.word != word:
        raise InvalidInput(f"The plug-in's scope {word!r} must be a ScopeKind with that word.")
    return kind
