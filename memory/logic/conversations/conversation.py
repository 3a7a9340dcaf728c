"""The messages of one conversation, kept small enough for a model and readable for a member.

Each message is an entry, so that forgetting, exporting and provenance work as for any other memory. Writing folds the
history: removed messages are first summarised and then deleted, so that a crash in between loses no message.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from memory.core.provider import Clock, NamespaceStore, utc_now
from memory.core.records import Json, MemoryEntry, MemoryQuery, PromptUse, Source, StoreParams
from memory.core.scopes import Scope, resolve_namespace
from memory.logic.conversations import keys
from memory.logic.conversations.folding import (
    Fold,
    FoldingPolicy,
    FoldReason,
    build_fold,
    build_folds,
    fold_from_json,
    fold_to_json,
    plan_folding,
)
from memory.logic.conversations.messages import (
    Message,
    Role,
    check_message,
    count_tokens,
    estimate_tokens,
    from_json,
    is_orphan,
    to_json,
)
from memory.logic.conversations.summary import ExtractiveSummariser, Summariser
from memory.logic.entries.origins import get_untrusted_origin
from memory.logic.ports import NewId
from memory.logic.profile import keep_prompt_use


KEY_PREFIX = "history:"  # of the keys of messages, summary and folds
_CATEGORIES = {keys.MESSAGE: "message", keys.SUMMARY: "summary", keys.FOLD: "fold"}
MAX_FOLDS = 50
_MAX_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class ConversationView:
    """A history as a page shows it: its messages, the summary of the removed ones, and the folds."""

    messages: tuple[Message, ...]
    history: tuple[Message, ...]  # the messages for a model, with the summary
    summary: str
    folds: tuple[Fold, ...]  # newest first
    tokens: int
    budget: int | None


class ConversationMemory:
    """The history of one conversation, which is folded by the policy whenever messages are added."""

    def __init__(
        self,
        conversation_id: str,
        entries: NamespaceStore,
        *,
        new_id: NewId,
        folding: FoldingPolicy = FoldingPolicy(),  # noqa: B008 - a frozen value
        summariser: Summariser | None = None,
        summary_heading: str = "Summary of the conversation so far:",
        clock: Clock = utc_now,
        source: Source = Source(),  # noqa: B008 - a frozen value
        read_category: Callable[[str], list[MemoryEntry]] | None = None,
    ) -> None:
        """``read_category`` reads all entries of a category where it is faster than the store."""
        self.conversation_id = conversation_id
        self.namespace = resolve_namespace(Scope.CONVERSATION, {"conversation_id": conversation_id})
        self._entries = entries
        self._new_id = new_id
        self._folding = folding
        self._summariser = summariser
        self._heading = summary_heading
        self._clock = clock
        self._source = source
        self._read_category = read_category or self._recall_category
        self._read_entries: dict[str, MemoryEntry] = {}  # by key, as last read
        self._written_entries: dict[str, MemoryEntry] = {}

    def get_entries(self, messages: Iterable[Message]) -> tuple[MemoryEntry, ...]:
        """Return the entries of these messages as they were last read or written here."""
        entries = self._read_entries | self._written_entries
        message_keys = map(keys.build_message_key, messages)
        return tuple(entries[key] for key in message_keys if key in entries)

    def select_usable(self, messages: Iterable[Message]) -> list[Message]:
        """Return the messages without those that may enter no prompt."""
        return [each for each in messages if self._may_enter_prompts(keys.build_message_key(each))]

    def add_message(self, message: Message) -> Message:
        """Add the message, and return it with its id and time. The result of a folded call is folded at once."""
        (added,) = self.add_messages([message])
        return added

    def add_messages(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """Add the messages at once, so that only the last state of the history is folded.

        A message with an id is added once, however often it is sent, even if it was folded.
        """
        for message in messages:
            check_message(message)
        history = self._load_messages()
        added = [self._add_message(message, history) for message in messages]
        self._fold_history(history)
        return tuple(added)

    def get_history(self) -> tuple[Message, ...]:
        """Return the history for a model, oldest first, with the summary after system messages."""
        return self._build_history(self._load_messages(), *self._load_summary())

    def replace_summary(self, text: str, *, expected: str, author: str) -> bool:
        """Replace the summary and return True; return False if another fold has changed the expected summary."""
        summary, origin = self._load_summary()
        if summary != expected:
            return False
        self._store_summary(text, {"by": author, **_build_origin_metadata(origin)})
        return True

    def store_quarantined(self, params: StoreParams) -> MemoryEntry:
        """Store an entry beside the history, where it waits for a review."""
        return self._entries.store(replace(params, source=self._source))

    def clear(self) -> int:
        """Delete the history and return its number of messages; other memory stays."""
        messages = self._load_messages()
        for entry in [entry for prefix in _CATEGORIES for entry in self._load_entries(prefix)]:
            self._delete_entry(entry.key)
        return len(messages)

    def read_view(self) -> ConversationView:
        """Read the whole history with its summary and its folds."""
        compaction = self._folding.compaction
        messages, (summary, origin) = self._load_messages(), self._load_summary()
        history = self._build_history(messages, summary, origin)
        return ConversationView(
            messages=tuple(messages),
            history=history,
            summary=summary,
            folds=self._load_folds(),
            tokens=count_tokens(history),
            budget=compaction.budget if compaction else None,
        )

    def _build_history(
        self, messages: Sequence[Message], summary: str, origin: str
    ) -> tuple[Message, ...]:
        messages = self.select_usable(messages)
        if not summary or not self._may_enter_prompts(keys.SUMMARY):
            return tuple(messages)
        instructions = [message for message in messages if message.role is Role.SYSTEM]
        dialogue = [message for message in messages if message.role is not Role.SYSTEM]
        summary_message = replace(self._build_summary_message(summary), origin=origin)
        return (*instructions, summary_message, *dialogue)

    def _add_message(self, message: Message, history: list[Message]) -> Message:
        """Store the message, and append it to ``history`` if it stays."""
        if message.id and self._was_added(message.id, history):
            return next((existing for existing in history if existing.id == message.id), message)
        added = replace(message, id=message.id or self._new_id(), at=self._get_next_time(history))
        if is_orphan(added, history):
            self._record_folds([build_fold(FoldReason.ORPHAN, "cut", [(added, None)])])
            self._store_message(added)  # and deleted, so that it stays readable as a revision
            self._delete_entry(keys.build_message_key(added))
        else:
            self._store_message(added)
            history.append(added)
        return added

    def _load_folds(self) -> tuple[Fold, ...]:
        entries = self._load_entries(keys.FOLD)
        return tuple(fold_from_json(entry.metadata["fold"]) for entry in reversed(entries))

    def _was_added(self, id_: str, history: Iterable[Message]) -> bool:
        if any(message.id == id_ for message in history):
            return True
        return any(line.id == id_ for fold in self._load_folds() for line in fold.messages)

    def _fold_history(self, messages: Sequence[Message]) -> None:
        """Fold the messages, and again if the longer summary makes the remaining ones too long."""
        for _ in range(_MAX_ROUNDS):
            summary, origin = self._load_summary()
            overhead = count_tokens([self._build_summary_message(summary)]) if summary else 0
            plan = plan_folding(messages, self._folding, overhead=overhead)
            if not plan.dropped and not plan.shortened:
                return
            author = self._summarise(summary, origin, [message for _, message in plan.dropped])
            self._record_folds(build_folds(plan, author))
            for _, after in plan.shortened:
                self._store_message(after)
            for _, dropped in plan.dropped:
                self._delete_entry(keys.build_message_key(dropped))
            messages = plan.remaining

    def _summarise(self, previous_summary: str, origin: str, dropped: Sequence[Message]) -> str:
        """Update the summary and return its author. If a model fails, extracted sentences are the summary."""
        dropped = self.select_usable(dropped)
        if self._summariser is None or not dropped:
            return "cut"
        author = self._summariser.name
        try:
            text = self._summariser.summarise(previous_summary, dropped)
        except Exception as error:  # a model can raise any exception; the chat goes on
            fallback = ExtractiveSummariser()
            text = fallback.summarise(previous_summary, dropped)
            author = f"{fallback.name} ({author}: {type(error).__name__})"
        origins = filter(None, (origin, *(message.origin for message in dropped)))
        self._store_summary(text, _build_origin_metadata(next(origins, "")))
        return author

    def _store_summary(self, summary: str, metadata: dict[str, Json]) -> None:
        """Store the summary, cut if it takes more than a quarter of the budget."""
        if compaction := self._folding.compaction:
            limit = max(1, compaction.budget // 4)
            summary = summary if estimate_tokens(summary) <= limit else summary[:limit]
        self._store_entry(keys.SUMMARY, summary, "summary", metadata)

    def _build_summary_message(self, summary: str) -> Message:
        return Message(Role.SYSTEM, f"{self._heading}\n{summary}")

    def _record_folds(self, folds: Iterable[Fold]) -> None:
        now = self._clock()
        for fold in folds:
            key = keys.build_key(keys.FOLD, now, self._new_id())
            value = f"{len(fold.messages)} messages: {fold.reason}"
            self._store_entry(key, value, "fold", {"fold": fold_to_json(fold, now)})
        for entry in self._load_entries(keys.FOLD)[:-MAX_FOLDS]:
            self._delete_entry(entry.key)

    def _store_message(self, message: Message) -> None:
        metadata = to_json(message)
        content = metadata.pop("content")
        metadata["group"] = self.conversation_id  # recall ranks neighbors of a hit higher
        self._store_entry(keys.build_message_key(message), content, "message", metadata)

    def _store_entry(self, key: str, value: Json, category: str, metadata: dict[str, Json]) -> None:
        params = StoreParams(
            self.namespace,
            key,
            value=value,
            metadata=metadata,
            category=category,
            source=self._source,
        )
        params = keep_prompt_use(params, self._find_entry(key))
        self._written_entries[key] = self._entries.store(params)

    def _find_entry(self, key: str) -> MemoryEntry | None:
        """Return the entry as it was last read or written here."""
        return self._written_entries.get(key) or self._read_entries.get(key)

    def _may_enter_prompts(self, key: str) -> bool:
        entry = self._find_entry(key)
        return entry is None or entry.prompt_use is not PromptUse.NEVER

    def _delete_entry(self, key: str) -> None:
        self._written_entries.pop(key, None)
        self._entries.delete(self.namespace, key)

    def _load_messages(self) -> list[Message]:
        entries = self._load_entries(keys.MESSAGE)
        return [from_json({**entry.metadata, "content": entry.value}) for entry in entries]

    def _load_summary(self) -> tuple[str, str]:
        """Return the summary and its origin; a summary of untrusted messages is untrusted."""
        entries = self._entries.recall(MemoryQuery(self.namespace, key=keys.SUMMARY))
        if not entries:
            return "", ""
        self._read_entries[keys.SUMMARY] = entries[0]
        return str(entries[0].value), get_untrusted_origin(entries[0].metadata)

    def _load_entries(self, prefix: str) -> list[MemoryEntry]:
        """Return the entries in the order of their keys, which begin with the time."""
        entries = self._read_category(_CATEGORIES[prefix])
        matches = {entry.key: entry for entry in entries if entry.key.startswith(prefix)}
        self._read_entries |= matches
        return [matches[key] for key in sorted(matches)]

    def _recall_category(self, category: str) -> list[MemoryEntry]:
        is_category = {"category": category}
        query = MemoryQuery(self.namespace, filter=is_category, include_former=True)
        return self._entries.recall(query)

    def _get_next_time(self, history: Sequence[Message]) -> datetime:
        """Return the present, or a time just after the last message's: keys sort by time, in the order of the chat."""
        last_at = history[-1].at if history else None
        now = self._clock()
        return now if last_at is None or now > last_at else last_at + timedelta(microseconds=1)


def _build_origin_metadata(origin: str) -> dict[str, Json]:
    return {"origin": origin} if origin else {}
