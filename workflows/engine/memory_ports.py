"""What the engine asks of a memory that can do more than keep entries: a talk's history, and pages.

A memory port offers these beside its own; ``workflows.engine.ports`` says what ``identity`` and ``origin`` are.
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
    def folded(self) -> int: ...
    @property
    def entries(self) -> Sequence[MemoryHit]: ...
    @property
    def held(self) -> Sequence[MemoryHit]:
        """What waits in quarantine, while something stands in for it."""
        ...

    @property
    def removed(self) -> Sequence[Mapping[str, Json]]:
        """The messages that were folded; ``previous_summary`` is the summary before."""
        ...

    @property
    def previous_summary(self) -> str: ...


class FoundPage(Protocol):
    """``page``: id, title, summary, content, tags, references…"""

    @property
    def page(self) -> Mapping[str, Json]: ...
    @property
    def score(self) -> float: ...
    @property
    def parts(self) -> Mapping[str, float]: ...
    @property
    def entry(self) -> MemoryHit: ...


class KeptPage(Protocol):
    """``merged_for``: why it went into a page that was there (title, alias, content), or nothing.

    ``held``: why it waits in quarantine instead, as ``entry``.
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
    async def converse(
        self,
        *,
        identity: Mapping[str, Json],
        origin: Origin,
        action: str,
        messages: Sequence[Json] = (),
        rules: Mapping[str, Json] | None = None,
    ) -> ConversationResult:
        """``append``, ``read`` or ``clear``. The same step again appends nothing a second time.
        ``summarise`` puts the ``text`` of ``rules`` in the place of the summary ``instead_of``.

        A message may say whose words it is: ``origin`` is person, model, tool, web or rule.

        ``rules``: strategy, max_turns, max_messages, context_window, reserved_tokens, keep_recent,
        summary; what isn't said folds nothing.
        """
        ...


@runtime_checkable
class KnowledgePort(Protocol):
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
    ) -> Sequence[FoundPage]: ...

    async def write_pages(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: Origin,
        pages: Sequence[Mapping[str, Json]],
        mode: str = "merge",
    ) -> Sequence[KeptPage]:
        """All or none. ``merge`` into the page about the same, or ``replace`` the one of that name.

        A page may say whose words it is, as a message does, and ``hold`` that it has to wait for a person.
        """
        ...


class WholeMemory(MemoryPort, ConversationPort, KnowledgePort, Protocol):
    """What a server's memory can do."""
