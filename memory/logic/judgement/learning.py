"""Propose and perform the operations of a turn, here on a store, without permissions and audit log.

The services perform them with both (``memory.services.entries.learn``).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from memory.core.entry_codec import CONTENT, get_state
from memory.core.errors import NotAdmitted
from memory.core.provider import NamespaceStore, utc_now
from memory.core.recall.selection import is_former
from memory.core.records import MemoryEntry, MemoryQuery, Source, StoreParams, Tier
from memory.core.scopes import parse_tier
from memory.logic.entries.ingress import get_origin, screen_params
from memory.logic.entries.known_statements import find_known_entry
from memory.logic.entries.origins import get_untrusted_origin
from memory.logic.entries.texts import join_texts
from memory.logic.judgement.forgetting import means_latest
from memory.logic.judgement.judge import Judge, Proposal, Turn
from memory.logic.judgement.operations import Action, LearnedChange, LearnRequest, Operation
from memory.logic.judgement.related_entries import (
    FindOfOthers,
    build_queries,
    find_related,
)
from memory.logic.judgement.wishes.remaining import build_fact_metadata, list_remaining
from memory.logic.judgement.wording.validity import ALWAYS, Validity, read_validity
from memory.logic.profile import inherit_prompt_use


TICK: Final = timedelta(microseconds=1)  # the least time for which an entry holds


def propose_for_store(
    store: NamespaceStore, namespace: str, turn: Turn, find_of_others: FindOfOthers
) -> Proposal:
    """Propose what the turn does to the entries of a namespace."""
    queries = build_queries(namespace, turn.message, turn.clauses)

    def recall_each(queries: Sequence[MemoryQuery]) -> list[list[MemoryEntry]]:
        return [store.recall(query) for query in queries]

    return turn.propose(find_related(recall_each, queries, turn.clauses, find_of_others))


def _has_ended(target: MemoryEntry, successor: str, moment: datetime) -> bool:
    return target.replaced_by == successor and is_former(target, moment)


def _find_end(target: MemoryEntry, moment: datetime) -> datetime:
    return max(moment, target.valid_from + TICK) if target.valid_from else moment


def screen_content(params: StoreParams) -> StoreParams:
    """Return the parameters without secrets; untrusted instructions are quarantined."""
    return screen_params(params, get_origin(params)).params


@dataclass(frozen=True, kw_only=True)
class Learner(ABC):
    """Performs the operations of a turn, all in its order. Subclasses say how entries are found and changed.

    What came from outside ends nothing that is trusted: it stands beside that, or the person is asked.
    """

    judge: Judge | None
    request: LearnRequest
    now: Callable[[], datetime] = utc_now

    def learn(self) -> list[LearnedChange]:
        self._judge_ahead()
        return [self._perform(operation) for operation in self.request.operations]

    def _judge_ahead(self) -> None:
        """Judge what is left of the targets before the first of several operations writes, which may take a lock."""
        if len(self.request.operations) > 1:
            for operation in self.request.operations:
                if operation.action is Action.FORGET and operation.targets:
                    targets = self._find(operation.targets)
                    list_remaining(self.judge, operation.evidence, targets, self.now())

    def _perform(self, operation: Operation) -> LearnedChange:
        targets = self._find(operation.targets) if operation.targets else []
        match operation.action:
            case Action.FORGET:
                return self._forget(operation, targets)
            case Action.ASK:
                return LearnedChange(operation.action, choices=tuple(targets))
            case Action.END:
                return self._end(operation, targets)
            case _:
                return self._add(operation, self._select_replaceable(targets))

    def _forget(self, operation: Operation, targets: list[MemoryEntry]) -> LearnedChange:
        """Forget the targets, and store anew what they say beside what was to be forgotten."""
        rest = list_remaining(self.judge, operation.evidence, targets, self.now())
        if rest is None:
            return LearnedChange(Action.ASK, choices=tuple(targets))
        targets = self._add_former(targets, operation.evidence, is_whole=not rest)
        forgotten = self._delete(targets) if targets else ()
        remaining = tuple(map(self._keep, rest))
        return LearnedChange(operation.action, forgotten=tuple(forgotten), remaining=remaining)

    def _end(self, operation: Operation, targets: list[MemoryEntry]) -> LearnedChange:
        """Let the targets end, or ask whether they are to be forgotten if something from outside says that they ended."""
        if self._select_replaceable(targets) != targets:
            return LearnedChange(Action.ASK, choices=tuple(targets))
        return LearnedChange(operation.action, ended=self._retire_each(targets, "", self.now()))

    def _select_replaceable(self, targets: list[MemoryEntry]) -> list[MemoryEntry]:
        """Return the targets that may end for the turn: those that are trusted don't for what came from outside."""
        if not get_untrusted_origin(self.request.metadata):
            return targets
        return [target for target in targets if get_untrusted_origin(target.metadata)]

    def _add_former(
        self, targets: list[MemoryEntry], wish: str, *, is_whole: bool
    ) -> list[MemoryEntry]:
        """Return the entries with those whose place they took, so that a former phone number isn't found, either.

        Who takes back what was said last says nothing about what was so before. If the wish means a part of the entries,
        it is compared with the former ones.
        """
        if not any(target.replaces for target in targets) or self._means_latest(wish):
            return targets
        ids = {target.id for target in targets}
        replaced = [entry for entry in self._find_replaced(targets) if entry.id not in ids]
        if self.judge is not None and not is_whole:
            texts = [join_texts(entry.value) for entry in replaced]
            meant = self.judge.list_meant(wish, self.judge.judge_texts(texts))
            texts_meant = {clause.text for clause in meant}
            pairs = zip(replaced, texts, strict=True)
            replaced = [entry for entry, text in pairs if text in texts_meant]
        return [*targets, *replaced]

    def _means_latest(self, wish: str) -> bool:
        return self.judge is not None and means_latest(self.judge.judge_texts([wish])[0])

    def _add(self, operation: Operation, targets: list[MemoryEntry]) -> LearnedChange:
        now = self.now()
        validity = operation.validity
        if validity == ALWAYS:
            validity = read_validity(operation.text, now)
        targets = [] if validity.is_over(now) else targets  # what was once takes no one's place
        try:
            content = self._build_content(operation, targets, validity)
            entry, is_new = self._store(operation.key, content)
        except NotAdmitted as fault:
            return LearnedChange(operation.action, reasons=tuple(fault.reasons), message=str(fault))
        if entry.tier is Tier.QUARANTINE:  # what nobody has approved takes no one's place
            return LearnedChange(operation.action, entry, is_new=is_new)
        other_targets = [target for target in targets if target.id != entry.id]
        retired = self._retire_each(other_targets, entry.id, max(now, validity.valid_from or now))
        return LearnedChange(operation.action, entry, is_new=is_new, ended=retired)

    def _build_content(
        self, operation: Operation, targets: Sequence[MemoryEntry], validity: Validity
    ) -> dict[str, Any]:  # fields of EntryContent
        return {
            "value": operation.text,
            "metadata": build_fact_metadata({**self.request.metadata}, operation.text, self.judge),
            "valid_from": validity.valid_from or (self.now() if targets else None),
            "valid_until": validity.valid_until,
            "replaces": targets[0].id if targets else "",
            "prompt_use": inherit_prompt_use(targets),
        }

    def _retire_each(
        self, targets: Iterable[MemoryEntry], successor: str, moment: datetime
    ) -> tuple[MemoryEntry, ...]:
        """Let the targets end at the moment, and return them.

        Those that a step before its repetition let end stay as they are. What has not begun by then ends when it begins.
        """
        return tuple(
            target
            if _has_ended(target, successor, moment)
            else self._retire(target, successor, _find_end(target, moment))
            for target in targets
        )

    @abstractmethod
    def _find(self, ids: Sequence[str]) -> list[MemoryEntry]:
        """Return the entries that are in the namespace and not forgotten."""

    @abstractmethod
    def _find_replaced(self, entries: Sequence[MemoryEntry]) -> list[MemoryEntry]:
        """Return the entries whose place these took, and those before them, as far as they aren't forgotten."""

    @abstractmethod
    def _store(self, key: str, content: Mapping[str, Any]) -> tuple[MemoryEntry, bool]:
        """Store a fact unless it is known, and return its entry, and whether it is new. May raise NotAdmitted."""

    @abstractmethod
    def _keep(self, params: StoreParams) -> MemoryEntry:
        """Store what remains of an entry, which was admitted with it."""

    @abstractmethod
    def _delete(self, targets: Sequence[MemoryEntry]) -> Sequence[MemoryEntry]: ...

    @abstractmethod
    def _retire(self, target: MemoryEntry, successor: str, moment: datetime) -> MemoryEntry:
        """Let the entry hold until the moment. ``successor`` is the id of what takes its place, if anything does."""


@dataclass(frozen=True, kw_only=True)
class StoreLearner(Learner):
    """Performs operations on a store. ``screen`` is the content filter."""

    store: NamespaceStore
    namespace: str
    source: Source
    screen: Callable[[StoreParams], StoreParams] = screen_content

    def _find(self, ids: Sequence[str]) -> list[MemoryEntry]:
        entries = self.store.recall(MemoryQuery(self.namespace, include_former=True))
        return [replace(entry, score=None, explain={}) for entry in entries if entry.id in ids]

    def _find_replaced(self, entries: Sequence[MemoryEntry]) -> list[MemoryEntry]:
        all_entries = self.store.recall(MemoryQuery(self.namespace, include_former=True))
        replaced: dict[str, MemoryEntry] = {}
        ids = {entry.id for entry in entries}
        while ids:
            level = {e.id: e for e in all_entries if e.replaced_by in ids and e.id not in replaced}
            replaced |= level
            ids = {*level}
        return [replace(entry, score=None, explain={}) for entry in replaced.values()]

    def _store(self, key: str, content: Mapping[str, Any]) -> tuple[MemoryEntry, bool]:
        tier, ttl = parse_tier(self.request.tier), self.request.ttl_seconds
        params = self.screen(
            StoreParams(self.namespace, key, ttl, self.source, tier=tier, **content)
        )
        is_held = params.tier is Tier.QUARANTINE
        known_entry = None if is_held else find_known_entry(params, self.store, self.now())
        return (known_entry, False) if known_entry else (self.store.store(params), True)

    def _keep(self, params: StoreParams) -> MemoryEntry:
        return self.store.store(replace(params, namespace=self.namespace, source=self.source))

    def _delete(self, targets: Sequence[MemoryEntry]) -> list[MemoryEntry]:
        return [target for target in targets if self.store.delete(self.namespace, target.key)]

    def _retire(self, target: MemoryEntry, successor: str, moment: datetime) -> MemoryEntry:
        content = get_state(target, CONTENT)
        content |= {"valid_until": moment, "replaced_by": successor}
        expires_at = target.expires_at
        ttl = (expires_at - self.now()).total_seconds() if expires_at else None
        return self.store.store(
            StoreParams(self.namespace, target.key, ttl, target.source, **content)
        )
