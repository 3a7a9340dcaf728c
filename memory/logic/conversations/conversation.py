"""The messages of one conversation, kept small enough for a model and readable for a person.

One entry a message, so that forgetting, exporting and provenance work as for any other memory.
Folding happens on writing. What it takes out is summarised first and deleted last: a crash in
between leaves a message too many, never one too few.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from memory.core.provider import Clock, utc_now
from memory.core.records import Json, MemoryEntry, MemoryQuery, Source, StoreParams
from memory.core.scoped import ProviderLike
from memory.core.scopes import Scope, resolve_namespace
from memory.logic.folding import (
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
from memory.logic.messages import (
    Message,
    Role,
    check,
    estimate,
    from_json,
    is_orphan,
    to_json,
    tokens_in,
)
from memory.logic.origins import strangers_origin
from memory.logic.ports import NewId
from memory.logic.summary import ExtractiveSummariser, Summariser


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
        entries: ProviderLike,
        *,
        new_id: NewId,
        folding: Folding = Folding(),  # noqa: B008 - a frozen value
        summariser: Summariser | None = None,
        summary_heading: str = "Summary of the conversation so far:",
        clock: Clock = utc_now,
        source: Source = Source(),  # noqa: B008 - a frozen value
    ) -> None:
        self.session = session
        self.namespace = resolve_namespace(Scope.CONVERSATION, {"conversation_id": session})
        self._entries = entries
        self._new_id = new_id
        self._folding = folding
        self._summariser = summariser
        self._heading = summary_heading
        self._clock = clock
        self._source = source

    async def add_message(self, message: Message) -> Message:
        """As it was kept, with its id and time. The result of a folded call is folded at once."""
        (kept,) = await self.add_messages([message])
        return kept

    async def add_messages(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """In one go: nothing leaves for the first of them that would not leave for all.

        A message that brings an id is kept once, however often it is added; folded counts as kept.
        """
        for message in messages:
            check(message)
        there = await self._messages()
        kept = [await self._add(message, there) for message in messages]
        await self._fold(there)
        return tuple(kept)

    async def get_history(self) -> tuple[Message, ...]:
        """Oldest first, ready for a model: instructions, the summary, then what was said."""
        return self._history(await self._messages(), *await self._summarised())

    def _history(
        self, messages: Sequence[Message], summary: str, origin: str
    ) -> tuple[Message, ...]:
        if not summary:
            return tuple(messages)
        instructions = [one for one in messages if one.role is Role.SYSTEM]
        said = [one for one in messages if one.role is not Role.SYSTEM]
        return (*instructions, replace(self._stand_in(summary), origin=origin), *said)

    async def resummarise(self, text: str, *, instead_of: str, by: str) -> bool:
        """Only while nobody folded on: the summary that is there by then stands for more."""
        summary, origin = await self._summarised()
        if summary != instead_of:
            return False
        metadata: dict[str, Json] = {"by": by, **_whose(origin)}
        await self._put(_SUMMARY, self._cut(text), category="summary", metadata=metadata)
        return True

    async def clear(self) -> int:
        """How many messages there were. Other memories of the conversation stay."""
        messages = await self._messages()
        for key in [key for prefix in _PREFIXES for key in await self._keys(prefix)]:
            await self._entries.delete(self.namespace, key)
        return len(messages)

    async def view(self) -> ConversationView:
        compaction = self._folding.compaction
        messages, (summary, origin) = await self._messages(), await self._summarised()
        return ConversationView(
            messages=tuple(messages),
            summary=summary,
            folds=await self._folds(),
            tokens=tokens_in(self._history(messages, summary, origin)),
            budget=compaction.budget if compaction else None,
        )

    async def _add(self, message: Message, there: list[Message]) -> Message:
        """``there`` grows by it, if it stays."""
        if message.id and await self._is_known(message.id, there):
            return next((one for one in there if one.id == message.id), message)
        kept = replace(message, id=message.id or self._new_id(), at=self._next_moment(there))
        if is_orphan(kept, there):
            await self._note([folded(Reason.ORPHAN, "cut", [(kept, None)])])
            await self._store(kept)  # and let go of again: what leaves stays readable as a revision
            await self._entries.delete(self.namespace, message_key(kept))
        else:
            await self._store(kept)
            there.append(kept)
        return kept

    async def _folds(self) -> tuple[Fold, ...]:
        found = await self._found(_FOLD)
        return tuple(fold_from_json(entry.metadata["fold"]) for entry in reversed(found))

    async def _is_known(self, id_: str, messages: Iterable[Message]) -> bool:
        if any(one.id == id_ for one in messages):
            return True
        return any(line.id == id_ for fold in await self._folds() for line in fold.messages)

    async def _fold(self, messages: Sequence[Message]) -> None:
        """Again while a summary that grew pushes the rest over the edge."""
        for _ in range(_ROUNDS):
            summary, origin = await self._summarised()
            decided = plan(messages, self._folding, overhead=self._cost_of(summary))
            if not decided.dropped and not decided.shortened:
                return
            by = await self._summarise(summary, origin, [one for _, one in decided.dropped])
            await self._note(_folds_of(decided, by))
            for _, after in decided.shortened:
                await self._store(after)
            for _, gone in decided.dropped:
                await self._entries.delete(self.namespace, message_key(gone))
            messages = decided.kept

    async def _summarise(self, before: str, origin: str, leaving: Sequence[Message]) -> str:
        """The name of who wrote the summary; a model that fails is stood in for, and it shows."""
        if self._summariser is None or not leaving:
            return "cut"
        by = self._summariser.name
        try:
            text = await self._summariser.summarise(before, leaving)
        except Exception as error:  # whatever a model raises, the chat goes on
            fallback = ExtractiveSummariser()
            text = await fallback.summarise(before, leaving)
            by = f"{fallback.name} ({by}: {type(error).__name__})"
        whose = _whose(next(filter(None, (origin, *(one.origin for one in leaving))), ""))
        await self._put(_SUMMARY, self._cut(text), category="summary", metadata=whose)
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

    async def _note(self, folds: Iterable[Fold]) -> None:
        now = self._clock()
        for fold in folds:
            key = f"{_FOLD}{_sortable(now)}:{self._new_id()}"
            value = f"{len(fold.messages)} messages: {fold.reason}"
            await self._put(key, value, category="fold", metadata={"fold": fold_to_json(fold, now)})
        for key in (await self._keys(_FOLD))[:-_FOLDS_KEPT]:
            await self._entries.delete(self.namespace, key)

    async def _store(self, message: Message) -> None:
        rest = to_json(message)
        content = rest.pop("content")
        rest["group"] = self.session  # neighbours help a search to find each other
        await self._put(message_key(message), content, category="message", metadata=rest)

    async def _put(
        self, key: str, value: Json, *, category: str, metadata: dict[str, Json] | None = None
    ) -> None:
        params = StoreParams(
            self.namespace, key, value, metadata or {}, category, source=self._source
        )
        await self._entries.store(params)

    async def _messages(self) -> list[Message]:
        found = await self._found(_MESSAGE)
        return [from_json({**entry.metadata, "content": entry.value}) for entry in found]

    async def _summarised(self) -> tuple[str, str]:
        """The summary, and whose words it is: what is made of strangers' is theirs."""
        found = await self._entries.recall(MemoryQuery(self.namespace, key=_SUMMARY))
        return (str(found[0].value), strangers_origin(found[0].metadata)) if found else ("", "")

    async def _keys(self, prefix: str) -> list[str]:
        return [entry.key for entry in await self._found(prefix)]

    async def _found(self, prefix: str) -> list[MemoryEntry]:
        """In the order of the keys, which begin with the time."""
        query = MemoryQuery(self.namespace, filter={"category": _CATEGORY[prefix]})
        found = [one for one in await self._entries.recall(query) if one.key.startswith(prefix)]
        return sorted(found, key=lambda entry: entry.key)

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
