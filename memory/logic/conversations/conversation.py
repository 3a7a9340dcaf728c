"""The messages of one conversation, kept small enough for a model and readable for a person.

One entry a message, so that forgetting, exporting and provenance work as for any other memory.
Folding happens on writing. What it takes out is summarised first and deleted last: a crash in
between leaves a message too many, never one too few.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from memory.core.provider import Clock, NamespaceStore, utc_now
from memory.core.records import Json, MemoryEntry, MemoryQuery, Source, StoreParams
from memory.core.scopes import Scope, resolve_namespace
from memory.logic.conversations.folding import (
    Fold,
    FoldedMessage,
    Folding,
    Plan,
    Reason,
    fold_from_json,
    fold_to_json,
    folded,
    plan,
)
from memory.logic.conversations.messages import (
    Message,
    Role,
    check,
    estimate,
    from_json,
    is_orphan,
    to_json,
    tokens_in,
)
from memory.logic.conversations.summary import ExtractiveSummariser, Summariser
from memory.logic.entries.origins import get_untrusted_origin
from memory.logic.ports import NewId


@dataclass(frozen=True, slots=True)
class ConversationView:
    """A history as a page shows it: what is there, what stands in for the rest, what was folded."""

    messages: tuple[Message, ...]
    summary: str
    folds: tuple[Fold, ...]  # newest first
    tokens: int
    budget: int | None


class ConversationMemory:
    def __init__(
        self,
        session: str,
        entries: NamespaceStore,
        *,
        new_id: NewId,
        folding: Folding = Folding(),  # noqa: B008 - a frozen value
        summariser: Summariser | None = None,
        summary_heading: str = "Summary of the conversation so far:",
        clock: Clock = utc_now,
        source: Source = Source(),  # noqa: B008 - a frozen value
        read_category: Callable[[str], list[MemoryEntry]] | None = None,
    ) -> None:
        """``read_category`` reads all entries of a category, where there is a quicker way than the store's."""
        self.session = session
        self.namespace = resolve_namespace(Scope.CONVERSATION, {"conversation_id": session})
        self._entries = entries
        self._new_id = new_id
        self._folding = folding
        self._summariser = summariser
        self._heading = summary_heading
        self._clock = clock
        self._source = source
        self._read_category = read_category or self._recall_category
        self._read: dict[str, MemoryEntry] = {}  # by key, as last seen
        self._written: dict[str, MemoryEntry] = {}

    def entries_of(self, messages: Iterable[Message]) -> tuple[MemoryEntry, ...]:
        """Return the entries of these messages as they were last read or written here."""
        known = self._read | self._written
        return tuple(known[key] for one in messages if (key := message_key(one)) in known)

    def add_message(self, message: Message) -> Message:
        """As it was kept, with its id and time. The result of a folded call is folded at once."""
        (kept,) = self.add_messages([message])
        return kept

    def add_messages(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """In one go: nothing leaves for the first of them that would not leave for all.

        A message that brings an id is kept once, however often it is added; folded counts as kept.
        """
        for message in messages:
            check(message)
        there = self._messages()
        kept = [self._add(message, there) for message in messages]
        self._fold(there)
        return tuple(kept)

    def get_history(self) -> tuple[Message, ...]:
        """Oldest first, ready for a model: instructions, the summary, then what was said."""
        return self._history(self._messages(), *self._summarised())

    def _history(
        self, messages: Sequence[Message], summary: str, origin: str
    ) -> tuple[Message, ...]:
        if not summary:
            return tuple(messages)
        instructions = [one for one in messages if one.role is Role.SYSTEM]
        said = [one for one in messages if one.role is not Role.SYSTEM]
        return (*instructions, replace(self._stand_in(summary), origin=origin), *said)

    def resummarise(self, text: str, *, instead_of: str, by: str) -> bool:
        """Only while nobody folded on: the summary that is there by then stands for more."""
        summary, origin = self._summarised()
        if summary != instead_of:
            return False
        metadata: dict[str, Json] = {"by": by, **_whose(origin)}
        self._put(_SUMMARY, self._cut(text), category="summary", metadata=metadata)
        return True

    def clear(self) -> int:
        """How many messages there were. Other memories of the conversation stay."""
        messages = self._messages()
        for key in [key for prefix in _PREFIXES for key in self._keys(prefix)]:
            self._delete(key)
        return len(messages)

    def view(self) -> ConversationView:
        compaction = self._folding.compaction
        messages, (summary, origin) = self._messages(), self._summarised()
        return ConversationView(
            messages=tuple(messages),
            summary=summary,
            folds=self._folds(),
            tokens=tokens_in(self._history(messages, summary, origin)),
            budget=compaction.budget if compaction else None,
        )

    def _add(self, message: Message, there: list[Message]) -> Message:
        """``there`` grows by it, if it stays."""
        if message.id and self._is_known(message.id, there):
            return next((one for one in there if one.id == message.id), message)
        kept = replace(message, id=message.id or self._new_id(), at=self._next_moment(there))
        if is_orphan(kept, there):
            self._note([folded(Reason.ORPHAN, "cut", [(kept, None)])])
            self._store(kept)  # and let go of again: what leaves stays readable as a revision
            self._delete(message_key(kept))
        else:
            self._store(kept)
            there.append(kept)
        return kept

    def _folds(self) -> tuple[Fold, ...]:
        found = self._found(_FOLD)
        return tuple(fold_from_json(entry.metadata["fold"]) for entry in reversed(found))

    def _is_known(self, id_: str, messages: Iterable[Message]) -> bool:
        if any(one.id == id_ for one in messages):
            return True
        return any(line.id == id_ for fold in self._folds() for line in fold.messages)

    def _fold(self, messages: Sequence[Message]) -> None:
        """Again while a summary that grew pushes the rest over the edge."""
        for _ in range(_ROUNDS):
            summary, origin = self._summarised()
            decided = plan(messages, self._folding, overhead=self._cost_of(summary))
            if not decided.dropped and not decided.shortened:
                return
            by = self._summarise(summary, origin, [one for _, one in decided.dropped])
            self._note(_folds_of(decided, by))
            for _, after in decided.shortened:
                self._store(after)
            for _, gone in decided.dropped:
                self._delete(message_key(gone))
            messages = decided.kept

    def _summarise(self, before: str, origin: str, leaving: Sequence[Message]) -> str:
        """The name of who wrote the summary; a model that fails is stood in for, and it shows."""
        if self._summariser is None or not leaving:
            return "cut"
        by = self._summariser.name
        try:
            text = self._summariser.summarise(before, leaving)
        except Exception as error:  # whatever a model raises, the chat goes on
            fallback = ExtractiveSummariser()
            text = fallback.summarise(before, leaving)
            by = f"{fallback.name} ({by}: {type(error).__name__})"
        whose = _whose(next(filter(None, (origin, *(one.origin for one in leaving))), ""))
        self._put(_SUMMARY, self._cut(text), category="summary", metadata=whose)
        return by

    def _cut(self, summary: str) -> str:
        """A summary may take a quarter of the budget; a model that writes more is cut."""
        compaction = self._folding.compaction
        if compaction is None:
            return summary
        room = max(1, compaction.budget // 4)
        return summary if estimate(summary) <= room else summary[:room]

    def _cost_of(self, summary: str) -> int:
        return tokens_in([self._stand_in(summary)]) if summary else 0

    def _stand_in(self, summary: str) -> Message:
        return Message(Role.SYSTEM, f"{self._heading}\n{summary}")

    def _note(self, folds: Iterable[Fold]) -> None:
        now = self._clock()
        for fold in folds:
            key = f"{_FOLD}{_sortable(now)}:{self._new_id()}"
            value = f"{len(fold.messages)} messages: {fold.reason}"
            self._put(key, value, category="fold", metadata={"fold": fold_to_json(fold, now)})
        for key in (self._keys(_FOLD))[:-_FOLDS_KEPT]:
            self._delete(key)

    def _store(self, message: Message) -> None:
        rest = to_json(message)
        content = rest.pop("content")
        rest["group"] = self.session  # neighbours help a search to find each other
        self._put(message_key(message), content, category="message", metadata=rest)

    def _put(
        self, key: str, value: Json, *, category: str, metadata: dict[str, Json] | None = None
    ) -> None:
        params = StoreParams(
            self.namespace,
            key,
            value=value,
            metadata=metadata or {},
            category=category,
            source=self._source,
        )
        self._written[key] = self._entries.store(params)

    def _delete(self, key: str) -> None:
        self._written.pop(key, None)
        self._entries.delete(self.namespace, key)

    def _messages(self) -> list[Message]:
        found = self._found(_MESSAGE)
        return [from_json({**entry.metadata, "content": entry.value}) for entry in found]

    def _summarised(self) -> tuple[str, str]:
        """The summary, and whose words it is: what is made of strangers' is theirs."""
        found = self._entries.recall(MemoryQuery(self.namespace, key=_SUMMARY))
        return (str(found[0].value), get_untrusted_origin(found[0].metadata)) if found else ("", "")

    def _keys(self, prefix: str) -> list[str]:
        return [entry.key for entry in self._found(prefix)]

    def _found(self, prefix: str) -> list[MemoryEntry]:
        """In the order of the keys, which begin with the time."""
        entries = self._read_category(_CATEGORY[prefix])
        found = [one for one in entries if one.key.startswith(prefix)]
        self._read |= {one.key: one for one in found}
        return sorted(found, key=lambda entry: entry.key)

    def _recall_category(self, category: str) -> list[MemoryEntry]:
        return self._entries.recall(MemoryQuery(self.namespace, filter={"category": category}))

    def _next_moment(self, before: Sequence[Message]) -> datetime:
        """Never the same moment twice: the order of the keys is the order of the chat."""
        last = before[-1].at if before else None
        now = self._clock()
        return now if last is None or now > last else last + timedelta(microseconds=1)


def key_of(line: FoldedMessage) -> str:
    """Under which key the whole of a folded message was kept; its revisions have it still."""
    return f"{_MESSAGE}{_sortable(line.at)}:{line.id}"


BEGINNING = "history:"  # of the key of everything a history consists of
_MESSAGE, _SUMMARY, _FOLD = "history:message:", "history:summary", "history:fold:"
_PREFIXES = (_MESSAGE, _SUMMARY, _FOLD)
_CATEGORY = {_MESSAGE: "message", _SUMMARY: "summary", _FOLD: "fold"}
_FOLDS_KEPT = 50
_ROUNDS = 3


def message_key(message: Message) -> str:
    return f"{_MESSAGE}{_sortable(message.at)}:{message.id}"


def _whose(origin: str) -> dict[str, Json]:
    return {"origin": origin} if origin else {}


def _sortable(moment: datetime | None) -> str:
    return moment.astimezone(UTC).strftime("%Y%m%dT%H%M%S.%f") if moment else ""


def _folds_of(decided: Plan, by: str) -> list[Fold]:
    found = []
    for reason in Reason:
        leaving = [(one, None) for why, one in decided.dropped if why is reason]
        if leaving:
            found.append(folded(reason, by, leaving))
    if decided.shortened:
        found.append(folded(Reason.TOKENS, "cut", decided.shortened))
    return found
