"""What has to leave a chat's history, decided without touching anything.

Three steps, in this order: the window (whole turns), the capacity (whole messages), the tokens
(shorten, tool results first; then drop). A call and its results leave together or not at all.
Every step says what it folded and why, so that a person can read it later.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from memory.core.errors import InvalidInput
from memory.core.records import Json
from memory.logic.conversations.messages import Message, Role, groups, tokens_in, tokens_of, turns


class Strategy(StrEnum):
    SLIDING_WINDOW = "sliding_window"
    FULL = "full"


class Reason(StrEnum):
    WINDOW = "window"  # older than the last max_turns turns
    CAPACITY = "capacity"  # more than max_messages
    TOKENS = "tokens"  # the model's context would overflow
    ORPHAN = "orphan"  # the result of a call that is no longer there


@dataclass(frozen=True, slots=True)
class Compaction:
    """``keep_recent`` messages are never shortened nor dropped, whatever the estimate says."""

    context_window: int
    reserved_tokens: int = 0
    keep_recent: int = 4
    shortened_to: int = 200  # characters that stay of a message that is shortened

    @property
    def budget(self) -> int:
        return self.context_window - self.reserved_tokens


@dataclass(frozen=True, slots=True)
class Folding:
    """How a conversation keeps itself small; by default it keeps everything."""

    strategy: Strategy = Strategy.FULL
    max_turns: int = 20
    max_messages: int | None = None
    compaction: Compaction | None = None

    def __post_init__(self) -> None:
        if self.max_turns < 1:
            raise InvalidInput("max_turns: must be at least 1.")
        if self.max_messages is not None and self.max_messages < 1:
            raise InvalidInput("max_messages: must be at least 1.")
        compaction = self.compaction
        if compaction and compaction.budget <= 0:
            raise InvalidInput("reserved_tokens: must be less than context_window.")
        if compaction and (compaction.keep_recent < 0 or compaction.shortened_to < 0):
            raise InvalidInput("keep_recent, shortened_to: must be 0 or more.")


@dataclass(frozen=True, slots=True)
class FoldedMessage:
    """One line of what was folded; ``tokens_after`` is 0 where the whole message left."""

    id: str
    role: Role
    excerpt: str
    at: datetime | None
    tokens_before: int
    tokens_after: int = 0


@dataclass(frozen=True, slots=True)
class Fold:
    """Which messages, why, and by what: ``cut`` shortens or drops, else the summariser's name."""

    reason: Reason
    by: str
    messages: tuple[FoldedMessage, ...]
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    kept: tuple[Message, ...]
    dropped: tuple[tuple[Reason, Message], ...] = ()
    shortened: tuple[tuple[Message, Message], ...] = ()  # before and after


def plan(messages: Sequence[Message], folding: Folding, *, overhead: int = 0) -> Plan:
    """``overhead``: tokens that go along whatever is folded, as the summary does."""
    work = _Work(list(messages))
    if folding.strategy is Strategy.SLIDING_WINDOW:
        _slide(work, folding.max_turns)
    if folding.max_messages is not None:
        _evict(work, folding.max_messages)
    if folding.compaction is not None:
        _compact(work, folding.compaction, overhead)
    return work.done()


def folded(reason: Reason, by: str, changes: Iterable[tuple[Message, Message | None]]) -> Fold:
    """From (before, after) pairs; after is None where the message left."""
    lines = tuple(
        FoldedMessage(
            id=before.id,
            role=before.role,
            excerpt=excerpt(before.content),
            at=before.at,
            tokens_before=tokens_of(before),
            tokens_after=tokens_of(after) if after else 0,
        )
        for before, after in changes
    )
    return Fold(reason, by, lines)


def excerpt(text: str, length: int = 120) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


class _Work:
    """The history while it is being cut; ``origin`` finds a shortened message as it was."""

    def __init__(self, messages: list[Message]) -> None:
        self.messages = messages
        self.tokens = tokens_in(messages)
        self._dropped: list[tuple[Reason, Message]] = []
        self._origin: dict[int, Message] = {}

    def drop(self, leaving: Iterable[Message], reason: Reason) -> None:
        gone = {id(message) for message in leaving}
        for one in self.messages:
            if id(one) in gone:
                self._dropped.append((reason, self._as_it_was(one)))
                self.tokens -= tokens_of(one)
        self.messages = [one for one in self.messages if id(one) not in gone]

    def shorten(self, position: int, length: int) -> None:
        before = self.messages[position]
        after = shorten(before, length)
        saved = tokens_of(before) - tokens_of(after)
        if saved > 0:
            self.messages[position] = after
            self._origin[id(after)] = before
            self.tokens -= saved

    def done(self) -> Plan:
        shortened = [(self._as_it_was(one), one) for one in self.messages]
        return Plan(
            kept=tuple(self.messages),
            dropped=tuple(self._dropped),
            shortened=tuple((a, b) for a, b in shortened if a is not b),
        )

    def _as_it_was(self, message: Message) -> Message:
        return self._origin.get(id(message), message)


def _slide(work: _Work, max_turns: int) -> None:
    for turn in turns(work.messages)[:-max_turns]:
        work.drop((message for group in turn for message in group), Reason.WINDOW)


def _evict(work: _Work, most: int) -> None:
    """Oldest first, and instructions last; the newest group stays even if it alone is too many."""
    leaving = groups(work.messages)[:-1]
    leaving.sort(key=lambda group: group[0].role is Role.SYSTEM)
    for group in leaving:
        if len(work.messages) <= most:
            return
        work.drop(group, Reason.CAPACITY)


def _compact(work: _Work, rules: Compaction, overhead: int) -> None:
    def fits() -> bool:
        return work.tokens + overhead <= rules.budget

    for may_shorten in _SHORTENED_IN_ORDER:
        for position in range(len(work.messages) - rules.keep_recent):
            if fits():
                return
            if may_shorten(work.messages[position]):
                work.shorten(position, rules.shortened_to)
    for group in _may_leave(work.messages, rules.keep_recent):
        if fits():
            return
        work.drop(group, Reason.TOKENS)


_SHORTENED_IN_ORDER: tuple[Callable[[Message], bool], ...] = (
    lambda message: message.role is Role.TOOL,
    lambda message: message.role is Role.ASSISTANT,
    lambda message: message.role is Role.USER,
)


def _may_leave(messages: Sequence[Message], keep_recent: int) -> list[tuple[Message, ...]]:
    recent = {id(message) for message in messages[len(messages) - keep_recent :]}
    if keep_recent >= len(messages):
        return []
    return [
        group
        for group in groups(messages)
        if group[0].role is not Role.SYSTEM and recent.isdisjoint(map(id, group))
    ]


def shorten(message: Message, length: int) -> Message:
    """Head and tail stay, and the number of characters between them is said. Once is enough."""
    text = message.content
    folded_away = len(text) - length
    if folded_away <= 0 or message.shortened:
        return message
    head, tail = text[: -(-length * 2 // 3)], text[len(text) - length // 3 :]
    return replace(message, content=f"{head}\n[… {folded_away} …]\n{tail}", shortened=folded_away)


def fold_to_json(fold: Fold, now: datetime) -> Json:
    return {
        "reason": str(fold.reason),
        "by": fold.by,
        "at": now.isoformat(),
        "messages": [
            {
                "id": line.id,
                "role": str(line.role),
                "excerpt": line.excerpt,
                "at": line.at.isoformat() if line.at else None,
                "tokens_before": line.tokens_before,
                "tokens_after": line.tokens_after,
            }
            for line in fold.messages
        ],
    }


def fold_from_json(value: Json) -> Fold:
    lines = tuple(
        FoldedMessage(
            id=line["id"],
            role=Role(line["role"]),
            excerpt=line["excerpt"],
            at=datetime.fromisoformat(line["at"]) if line["at"] else None,
            tokens_before=line["tokens_before"],
            tokens_after=line["tokens_after"],
        )
        for line in value["messages"]
    )
    at = datetime.fromisoformat(value["at"])
    return Fold(Reason(value["reason"]), value["by"], lines, at)
