"""Folding, which decides the messages that leave a chat's history without changing anything.

The three steps limit the turns, then the messages, then the tokens. The last is compaction: it shortens the results of
tools, then a model's messages, and removes nothing. Only the limits of turns and messages, which the author sets for
whole messages, remove some. What a person said stays word for word. A call and its results are only removed together.
Every step records what it folded and why, so that a member can read it later.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from enum import StrEnum

from memory.core.errors import InvalidInput
from memory.core.records import Json
from memory.logic.conversations.messages import (
    Message,
    Role,
    count_message_tokens,
    count_tokens,
    group_messages,
    split_turns,
)


class Strategy(StrEnum):
    SLIDING_WINDOW = "sliding_window"
    FULL = "full"


class FoldReason(StrEnum):
    WINDOW = "window"  # older than the last max_turns turns
    CAPACITY = "capacity"  # more than max_messages
    TOKENS = "tokens"  # the model's context would overflow
    ORPHAN = "orphan"  # the result of a call that is no longer there


@dataclass(frozen=True, slots=True)
class Compaction:
    """The token budget. To meet it, messages of tools and models are shortened, but not the newest ``keep_recent``.

    No message is dropped and none of a person is shortened, so a long history can be over the budget.
    """

    context_window: int
    reserved_tokens: int = 0
    keep_recent: int = 4
    shortened_length: int = 200  # characters that stay of a shortened message

    @property
    def budget(self) -> int:
        return self.context_window - self.reserved_tokens


@dataclass(frozen=True, slots=True)
class FoldingPolicy:
    """The rules that keep a conversation small; by default it keeps everything."""

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
        if compaction and (compaction.keep_recent < 0 or compaction.shortened_length < 0):
            raise InvalidInput("keep_recent, shortened_length: must be 0 or more.")


@dataclass(frozen=True, slots=True)
class FoldedMessage:
    """One folded message; ``tokens_after`` is 0 if it was removed as a whole."""

    id: str
    role: Role
    excerpt: str
    at: datetime | None
    tokens_before: int
    tokens_after: int = 0


@dataclass(frozen=True, slots=True)
class Fold:
    """The messages of one fold, the reason, and its author: ``cut``, or the summariser's name."""

    reason: FoldReason
    author: str
    messages: tuple[FoldedMessage, ...]
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class FoldingPlan:
    remaining: tuple[Message, ...]
    dropped: tuple[tuple[FoldReason, Message], ...] = ()
    shortened: tuple[tuple[Message, Message], ...] = ()  # before and after


def plan_folding(
    messages: Sequence[Message], policy: FoldingPolicy, *, overhead: int = 0
) -> FoldingPlan:
    """Plan the folding of a history; ``overhead`` is the number of other tokens in each prompt, such as the summary's."""
    state = _FoldingState(list(messages))
    if policy.strategy is Strategy.SLIDING_WINDOW:
        _apply_window(state, policy.max_turns)
    if policy.max_messages is not None:
        _apply_capacity(state, policy.max_messages)
    if policy.compaction is not None:
        _apply_budget(state, policy.compaction, overhead)
    return state.build_plan()


def build_fold(
    reason: FoldReason, author: str, changes: Iterable[tuple[Message, Message | None]]
) -> Fold:
    """Build a fold from pairs of a message and its shortened version, or None if it was removed."""
    lines = tuple(
        FoldedMessage(
            id=before.id,
            role=before.role,
            excerpt=build_excerpt(before.content),
            at=before.at,
            tokens_before=count_message_tokens(before),
            tokens_after=count_message_tokens(after) if after else 0,
        )
        for before, after in changes
    )
    return Fold(reason, author, lines)


def build_folds(plan: FoldingPlan, author: str) -> list[Fold]:
    """Build the folds of a plan: by ``author`` one for each reason to drop messages, and one for shortened messages."""
    dropped: dict[FoldReason, list[tuple[Message, None]]] = {reason: [] for reason in FoldReason}
    for reason, message in plan.dropped:
        dropped[reason].append((message, None))
    folds = [build_fold(reason, author, changes) for reason, changes in dropped.items() if changes]
    if plan.shortened:
        folds.append(build_fold(FoldReason.TOKENS, "cut", plan.shortened))
    return folds


def build_excerpt(text: str, length: int = 120) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


def shorten_message(message: Message, length: int) -> Message:
    """Replace the middle of the content by the number of its characters, unless it is short or was shortened before."""
    text = message.content
    removed = len(text) - length
    if removed <= 0 or message.shortened:
        return message
    head, tail = text[: -(-length * 2 // 3)], text[len(text) - length // 3 :]
    return replace(message, content=f"{head}\n[… {removed} …]\n{tail}", shortened=removed)


def fold_to_json(fold: Fold, now: datetime) -> Json:
    return {
        "reason": str(fold.reason),
        "by": fold.author,
        "at": now.isoformat(),
        "messages": [
            {**asdict(line), "role": str(line.role), "at": line.at.isoformat() if line.at else None}
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
    return Fold(FoldReason(value["reason"]), value["by"], lines, at)


class _FoldingState:
    """The history while it is folded, and the originals of shortened messages."""

    def __init__(self, messages: list[Message]) -> None:
        self.messages = messages
        self.tokens = count_tokens(messages)
        self._dropped: list[tuple[FoldReason, Message]] = []
        self._originals: dict[int, Message] = {}

    def drop(self, messages: Iterable[Message], reason: FoldReason) -> None:
        dropped_ids = {id(message) for message in messages}
        for message in self.messages:
            if id(message) in dropped_ids:
                self._dropped.append((reason, self._get_original(message)))
                self.tokens -= count_message_tokens(message)
        self.messages = [message for message in self.messages if id(message) not in dropped_ids]

    def shorten(self, position: int, length: int) -> None:
        before = self.messages[position]
        after = shorten_message(before, length)
        saved = count_message_tokens(before) - count_message_tokens(after)
        if saved > 0:
            self.messages[position] = after
            self._originals[id(after)] = before
            self.tokens -= saved

    def build_plan(self) -> FoldingPlan:
        pairs = [(self._get_original(message), message) for message in self.messages]
        return FoldingPlan(
            remaining=tuple(self.messages),
            dropped=tuple(self._dropped),
            shortened=tuple((before, after) for before, after in pairs if before is not after),
        )

    def _get_original(self, message: Message) -> Message:
        return self._originals.get(id(message), message)


def _apply_window(state: _FoldingState, max_turns: int) -> None:
    for turn in split_turns(state.messages)[:-max_turns]:
        state.drop((message for group in turn for message in group), FoldReason.WINDOW)


def _apply_capacity(state: _FoldingState, max_messages: int) -> None:
    """Drop the oldest first and system messages last; the newest group always stays."""
    candidates = group_messages(state.messages)[:-1]
    candidates.sort(key=lambda group: group[0].role is Role.SYSTEM)
    for group in candidates:
        if len(state.messages) <= max_messages:
            return
        state.drop(group, FoldReason.CAPACITY)


def _apply_budget(state: _FoldingState, rules: Compaction, overhead: int) -> None:
    def fits() -> bool:
        return state.tokens + overhead <= rules.budget

    for role in (Role.TOOL, Role.ASSISTANT):
        for position in range(len(state.messages) - rules.keep_recent):
            if fits():
                return
            if state.messages[position].role is role:
                state.shorten(position, rules.shortened_length)
