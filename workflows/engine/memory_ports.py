"""The interfaces of a memory that supports conversation history and pages besides entries.

A memory port implements them in addition to its own; ``workflows.engine.ports`` describes ``identity`` and
``origin``.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from workflows.engine.language.document import Json
from workflows.engine.ports import MemoryHit, MemoryPort, Origin


class ConversationResult(Protocol):
    """``memory.logic.conversations.conversation_requests.ConversationResult`` has this shape."""

    @property
    def messages(self) -> Sequence[Mapping[str, Json]]: ...
    @property
    def summary(self) -> str: ...
    @property
    def tokens(self) -> int: ...
    @property
    def count(self) -> int: ...
    @property
    def removed_count(self) -> int: ...
    @property
    def entries(self) -> Sequence[MemoryHit]: ...
    @property
    def held_entries(self) -> Sequence[MemoryHit]:
        """Return the entries in quarantine, each of which has a placeholder."""
        ...

    @property
    def removed(self) -> Sequence[Mapping[str, Json]]:
        """Return the messages that were removed; ``previous_summary`` is the summary before."""
        ...

    @property
    def previous_summary(self) -> str: ...


class PageHit(Protocol):
    """A page that was found. ``page``: id, title, summary, content, tags, references…"""

    @property
    def page(self) -> Mapping[str, Json]: ...
    @property
    def score(self) -> float: ...
    @property
    def parts(self) -> Mapping[str, float]: ...
    @property
    def entry(self) -> MemoryHit: ...


class StoredPage(Protocol):
    """A page that was written.

    ``merged_for`` is the reason why it was merged into an existing page (title, alias, content), or empty. ``held``
    is the reason why it waits in quarantine instead, as ``entry``.
    """

    @property
    def page(self) -> Mapping[str, Json]: ...
    @property
    def merged_for(self) -> str: ...
    @property
    def held(self) -> Sequence[str]: ...
    @property
    def entry(self) -> MemoryHit: ...


@runtime_checkable
class ConversationPort(Protocol):
    """A memory that keeps the history of conversations."""

    async def converse(
        self,
        *,
        identity: Mapping[str, Json],
        origin: Origin,
        action: str,
        messages: Sequence[Json] = (),
        rules: Mapping[str, Json] | None = None,
    ) -> ConversationResult:
        """Append to, read or clear the history; a repeated step appends nothing a second time.

        The action is ``append``, ``read``, ``clear``, or ``summarise``, which replaces the summary ``instead_of`` by
        the ``text`` of ``rules``. A message may name its ``origin``: person, model, tool, web or rule. ``rules``:
        strategy, max_turns, max_messages, context_window, reserved_tokens, keep_recent, summary; a missing rule
        removes nothing.
        """
        ...


@runtime_checkable
class KnowledgePort(Protocol):
    """A memory that keeps the pages of knowledge bases."""

    async def find_pages(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: Origin,
        query: str,
        top_k: int = 20,
        min_score: float = 0.1,
        tags: Sequence[str] = (),
    ) -> Sequence[PageHit]: ...

    async def write_pages(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: Origin,
        pages: Sequence[Mapping[str, Json]],
        mode: str = "merge",
    ) -> Sequence[StoredPage]:
        """Write all pages or none: ``merge`` into the page on the same subject, or ``replace`` the page of that name.

        A page may contain ``origin``, as a message may. If ``hold`` is true, the page is quarantined until it is
        approved.
        """
        ...


class FullMemoryPort(MemoryPort, ConversationPort, KnowledgePort, Protocol):
    """The memory port of a server, with all its abilities."""
