"""The protocols of a memory port that keeps conversation histories and knowledge pages in addition to entries.

``workflows.engine.ports`` explains ``identity`` and ``origin``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from workflows.engine.earlier_turns import EarlierTurn
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
        """Return the quarantined entries, whose messages are replaced by a placeholder."""
        ...

    @property
    def removed(self) -> Sequence[Mapping[str, Json]]:
        """Return the messages that were removed. ``previous_summary`` is the summary before their removal."""
        ...

    @property
    def previous_summary(self) -> str: ...


class PageHit(Protocol):
    """A page that was found. ``page`` has its id, title, summary, content, tags, references and so on."""

    @property
    def page(self) -> Mapping[str, Json]: ...
    @property
    def score(self) -> float: ...
    @property
    def parts(self) -> Mapping[str, float]: ...
    @property
    def entry(self) -> MemoryHit: ...
    @property
    def source(self) -> Mapping[str, Json] | None:
        """Return the document or text from which the page was written: title, kind, url and so on."""
        ...


class NamedKnowledgeBase(Protocol):
    """A knowledge base that a node names. ``titles`` are those of some of its pages."""

    @property
    def namespace(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def titles(self) -> Sequence[str]: ...
    @property
    def exists(self) -> bool: ...
    @property
    def description(self) -> str: ...


class StoredPage(Protocol):
    """A page that was written.

    ``merged_for`` is the reason why the page was merged into an existing one (title, alias or content), or empty.
    ``held_for`` are the reasons why the page was quarantined instead; then ``entry`` is the quarantined entry.
    """

    @property
    def page(self) -> Mapping[str, Json]: ...
    @property
    def merged_for(self) -> str: ...
    @property
    def held_for(self) -> Sequence[str]: ...
    @property
    def entry(self) -> MemoryHit: ...


@dataclass(frozen=True, slots=True)
class FactOperation:
    """One thing that a turn does to memory: add, replace, end, forget, or ask which of the targets is to be forgotten.

    ``targets`` are ids of known entries, ``evidence`` is what the person wrote, and ``key`` that of a new entry, which holds
    from ``valid_from`` until before ``valid_until``: ISO dates or times, or empty where memory reads it from the text.
    """

    action: str
    text: str = ""
    targets: tuple[str, ...] = ()
    evidence: str = ""
    key: str = ""
    valid_from: str = ""
    valid_until: str = ""


class Profile(Protocol):
    """Every prompt gets these entries about the person of the run. There was no room for what is ``left_out``."""

    @property
    def entries(self) -> Sequence[MemoryHit]: ...
    @property
    def left_out(self) -> Sequence[MemoryHit]: ...
    @property
    def withheld(self) -> str | None:
        """Return why memory withholds the profile, if it does."""
        ...


@runtime_checkable
class ProfilePort(Protocol):
    """A memory that keeps a profile of each person."""

    async def recall_profile(
        self, *, identity: Mapping[str, Json], origin: Origin, injected: bool = False
    ) -> Profile: ...


@runtime_checkable
class TurnsPort(Protocol):
    """A memory that knows what became of the entries of earlier turns."""

    async def reread_turns(
        self, *, identity: Mapping[str, Json], origin: Origin, turns: Sequence[EarlierTurn]
    ) -> Sequence[tuple[str, str]]:
        """Return the messages of the turns without what was forgotten since, and with the end of what ended."""
        ...


class KnownFact(Protocol):
    """A known entry that a turn may speak of."""

    @property
    def id(self) -> str: ...
    @property
    def text(self) -> str: ...


class OperationShape(Protocol):
    """``FactOperation`` has this shape, and so have the operations that memory proposes."""

    @property
    def action(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def targets(self) -> tuple[str, ...]: ...
    @property
    def evidence(self) -> str: ...


class FactProposal(Protocol):
    """It says what memory would do without a model. ``method`` says how it was decided: meaning or rules.

    A wish ``is_about_everything`` that is known: the person is asked, and no model. ``readable`` is the message without
    what the person asked not to keep, or None if it is all of it.
    """

    @property
    def operations(self) -> Sequence[OperationShape]: ...
    @property
    def known_facts(self) -> Sequence[KnownFact]: ...
    @property
    def method(self) -> str: ...
    @property
    def asks_to_forget(self) -> bool: ...
    @property
    def is_about_everything(self) -> bool: ...
    @property
    def readable(self) -> str | None: ...

    def find_fault(self, operation: Mapping[str, Json], earlier: Sequence[str] = ()) -> str:
        """Return why the person's own words don't say what an operation of a model does, or an empty text.

        The operation has the fields of ``FactOperation``. ``earlier`` is what else the model was told and may take from: the
        time, and the messages before, the last one at the end.
        """
        ...


class LearnedFact(Protocol):
    """It says what became of an operation. ``entry`` has the text now; ``ended`` stopped holding; ``reasons`` kept it out."""

    @property
    def action(self) -> str: ...
    @property
    def entry(self) -> MemoryHit | None: ...
    @property
    def is_new(self) -> bool: ...
    @property
    def ended(self) -> Sequence[MemoryHit]: ...
    @property
    def forgotten(self) -> Sequence[MemoryHit]: ...
    @property
    def remaining(self) -> Sequence[MemoryHit]:
        """Return the new entries with what the forgotten ones said beside what was to be forgotten."""
        ...

    @property
    def choices(self) -> Sequence[MemoryHit]:
        """Return the entries of which the person is to say which one to forget."""
        ...

    @property
    def reasons(self) -> Sequence[str]: ...
    @property
    def message(self) -> str: ...


@runtime_checkable
class LearningPort(Protocol):
    """A memory that knows what a person's message changes in it."""

    async def propose_facts(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: Origin,
        message: str,
        turns: Sequence[Mapping[str, Json]] = (),
    ) -> FactProposal:
        """Propose what the message does to memory, for a model that decides instead.

        ``turns`` are the latest ones before the message, the oldest first: what the ``person`` wrote and, unless it is
        untrusted, what the ``assistant`` answered.
        """
        ...

    async def learn(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: Origin,
        operations: Sequence[Mapping[str, Json]],
        metadata: Mapping[str, Json] | None = None,
        tier: str = "long_term",
        ttl_seconds: float | None = None,
    ) -> Sequence[LearnedFact]:
        """Perform the operations, which have the fields of ``FactOperation``, all or none.

        A repeated step changes nothing a second time.
        """
        ...

    async def learn_message(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: Origin,
        message: str,
        decide: Callable[[FactProposal], Sequence[Mapping[str, Json]]],
        turns: Sequence[Mapping[str, Json]] = (),
        metadata: Mapping[str, Json] | None = None,
        tier: str = "long_term",
        ttl_seconds: float | None = None,
    ) -> tuple[FactProposal, Sequence[LearnedFact]]:
        """Propose what the message does to memory, and perform the operations that ``decide`` makes of it, as ``learn`` does.

        ``decide`` may be called again, and must not wait. The proposal names only the known facts that were compared.
        """
        ...


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
        """Append to, read, clear or summarise the history. A repeated step appends nothing a second time.

        The action is ``append``, ``read``, ``clear`` or ``summarise``; the last one replaces the summary that
        ``rules["instead_of"]`` holds by ``rules["text"]``. For the other actions ``rules`` may have strategy,
        max_turns, max_messages, context_window, reserved_tokens, keep_recent and summary; a missing rule removes
        nothing. A message may name its ``origin``: person, model, tool, web or rule.
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
        namespaces: Sequence[str] = (),
        accepts: Callable[[Mapping[str, Json]], bool] | None = None,
    ) -> Sequence[PageHit]:
        """Search the pages of the scope or, with ``namespaces``, those of these knowledge bases together.

        A server allows only the knowledge bases that the run's document names and its starter may view. ``accepts`` is
        given the metadata of a page.
        """
        ...

    async def list_knowledge_bases(
        self, *, identity: Mapping[str, Json], origin: Origin, namespaces: Sequence[str]
    ) -> Sequence[NamedKnowledgeBase]:
        """Return these knowledge bases in this order, those that don't exist included."""
        ...

    async def write_pages(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: Origin,
        pages: Sequence[Mapping[str, Json]],
        mode: str = "merge",
    ) -> Sequence[StoredPage]:
        """Write all pages or none. The mode is ``merge`` into the page on the same subject, or ``replace`` by name.

        A page may name its ``origin``, as a message may. A page in which ``hold`` is true is quarantined until it is
        approved.
        """
        ...


class WikiResult(Protocol):
    """The result of an action on a wiki. ``data`` is what the author or the model is told.

    ``entries`` are the pages that were read or written; ``held`` is what waits in quarantine.
    """

    @property
    def data(self) -> Mapping[str, Json]: ...
    @property
    def entries(self) -> Sequence[MemoryHit]: ...
    @property
    def held(self) -> Sequence[MemoryHit]: ...
    @property
    def is_untrusted(self) -> bool: ...


@runtime_checkable
class WikiPort(Protocol):
    """A memory that keeps the sources of its pages and what became of them."""

    async def maintain_wiki(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: Origin,
        action: str,
        arguments: Mapping[str, Json],
    ) -> WikiResult:
        """Carry out an action: ingest, read, link, compile, list_stale, lint, sources or log.

        ``ingest`` takes a ``source`` {text, title, kind, url, id} and the ``pages`` written from it; ``read`` a ``page``;
        ``link`` a ``page`` and an ``other``; ``compile`` a ``page``, or nothing for all stale ones. A source or page in
        which ``hold`` is true is quarantined until it is approved.
        """
        ...


@runtime_checkable
class RunMetadataPort(Protocol):
    """A memory that keeps the goal and the todos of a run for three days, readable on the page of the run."""

    async def save_todos(
        self,
        *,
        identity: Mapping[str, Json],
        origin: Origin,
        goal: str,
        todos: Sequence[Mapping[str, Json]],
    ) -> None:
        """Replace the todos, each with ``id``, ``content`` and ``status``. The stream of the run stays the same."""
        ...


class FullMemoryPort(
    MemoryPort,
    ProfilePort,
    TurnsPort,
    LearningPort,
    ConversationPort,
    KnowledgePort,
    WikiPort,
    Protocol,
):
    """The memory port of a server, with all its abilities."""
