"""Memory for a run that leaves out some scopes: nothing of them is read, and what nodes write there is discarded.

A program that names no person must neither read nor write the memory of one, and a program that keeps its conversations
itself sends the history along. The nodes of the workflow still work: in the scopes that are left out, each namespace is an
empty copy, as in a dry run, whose changes are shown with the run.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from config.ids import uuid7
from memory.core.records import Json
from memory.core.scopes import Scope, get_scope, list_words_seen_by
from memory.logic.conversations.conversation_requests import (
    parse_request,
    perform_request,
)
from memory.logic.knowledge.named_bases import NamedKnowledgeBase
from memory.logic.knowledge.page_queries import PageHit, PageQuery
from memory.logic.steps import Redact, Step, keep_unchanged
from memory.providers.in_memory import InMemoryProvider
from memory.services.gateway.engine_port import LoadCaller, RunMemory
from memory.services.gateway.namespace_access import NamespaceAccess
from memory.services.sandbox.dry_run import DryRunChanges, DryRunStore, Ledger
from memory.services.sandbox.sandbox import SandboxMemory


_SENT_MESSAGES: Final = "messages of the client"  # the step that adds them to the history


@dataclass(frozen=True, slots=True)
class SentHistory:
    """The earlier messages that a client sent, and when: before all that the run itself adds, in any attempt."""

    messages: Sequence[Json]
    at: datetime


NO_HISTORY: Final = SentHistory((), datetime(1970, 1, 1, tzinfo=UTC))


def list_scopes_like(words: Collection[str]) -> frozenset[str]:
    """Return the scopes that are seen by the same people as these: with ``user`` also a plug-in's scopes of a person."""
    seen_by = {get_scope(word).seen_by for word in words}
    return frozenset(scope for people in seen_by for scope in list_words_seen_by(people))


class PartialMemory(RunMemory):
    """The engine's memory port for a run that leaves out some scopes; ``memory`` serves all others.

    ``history`` is what the client sent of its conversation, if the scope of conversations is left out.
    """

    def __init__(
        self,
        memory: RunMemory,
        ledger: Ledger,
        left_out: Collection[str],
        history: SentHistory = NO_HISTORY,
        redact: Redact = keep_unchanged,
    ) -> None:
        super().__init__(lambda: memory.caller, redact)
        self._memory = memory
        self._scopes = list_scopes_like(left_out)
        self._empty_copies = _EmptyCopies(lambda: self.caller, ledger, history, redact)

    def _find_pages(
        self, step: Step, search: PageQuery, namespaces: Sequence[str]
    ) -> Sequence[PageHit]:
        # Named knowledge bases are the team's, whatever the scope of the node.
        memory = self._memory if namespaces else self._select(step)
        return memory._find_pages(step, search, namespaces)

    def _list_knowledge_bases(
        self, step: Step, namespaces: Sequence[str]
    ) -> Sequence[NamedKnowledgeBase]:
        return self._memory._list_knowledge_bases(step, namespaces)

    def _select(self, step: Step) -> RunMemory:
        return self._empty_copies if step.scope in self._scopes else self._memory


class _EmptyCopies(SandboxMemory):
    """Dry-run memory whose copies are empty, but for the messages of the client in the conversation."""

    def __init__(
        self,
        caller: LoadCaller,
        ledger: Ledger,
        history: SentHistory,
        redact: Redact,
    ) -> None:
        super().__init__(caller, ledger, redact)
        self._history = history

    def _make_copy(self, access: NamespaceAccess, scope: str) -> DryRunStore:
        history = self._history if scope == Scope.CONVERSATION else NO_HISTORY
        return _EmptyCopy(access, scope, self._changes, history)


class _EmptyCopy(DryRunStore):
    """A copy that contains no real entries."""

    def __init__(
        self,
        access: NamespaceAccess,
        scope: str,
        changes: DryRunChanges,
        history: SentHistory,
    ) -> None:
        self._history = history
        super().__init__(access, scope, changes)

    def _copy_entries(self) -> None:
        """Add the messages of the client, as if the conversation had them. They are no changes of the run."""
        sent, access = self._history, self._access
        if not sent.messages:
            return
        history = InMemoryProvider()
        perform_request(
            parse_request("append", sent.messages, {}, step=_SENT_MESSAGES),
            access.target.parsed.ids[0],
            history,
            new_id=lambda: str(uuid7()),
            clock=lambda: sent.at,
            source=access.caller.source,
        )
        self.adopt(history.living(access.text).values())
