"""Propose and perform the operations of a turn on a store, without permissions and audit log.

The services do the same with both (``memory.services.entries.learn``).
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from memory.core.entry_codec import CONTENT, get_state
from memory.core.errors import NotAdmitted
from memory.core.provider import NamespaceStore, utc_now
from memory.core.records import Json, MemoryEntry, MemoryQuery, Source, StoreParams, Tier
from memory.core.scopes import parse_tier
from memory.logic.entries.ingress import get_origin, screen_params
from memory.logic.entries.known_statements import find_known_entry
from memory.logic.entries.texts import list_texts
from memory.logic.judgement.judge import Judge, Proposal, propose
from memory.logic.judgement.labels import About, Kind
from memory.logic.judgement.operations import Action, LearnedChange, LearnRequest, Operation
from memory.logic.judgement.related_entries import (
    ABOUT,
    ATTRIBUTE,
    KIND,
    FindOfOthers,
    build_queries,
    collect_facts,
    find_latest,
)
from memory.logic.judgement.remainders import find_remainder
from memory.logic.profile import inherit_prompt_use


MIN_OF_SPEAKER: Final = 0.5  # probability
KEY_LENGTH: Final = 12  # of the hash in the key of an entry that nobody chose a key for


def propose_for_store(
    store: NamespaceStore,
    namespace: str,
    message: str,
    judge: Judge | None,
    find_of_others: FindOfOthers,
) -> Proposal:
    """Propose what the message does to the entries of a namespace."""
    clauses = judge.judge_message(message) if judge else []
    queries = build_queries(namespace, message, clauses)
    hits = (hit for query in queries for hit in store.recall(query))
    known_facts = collect_facts(hits, find_of_others)
    latest = find_latest(store, namespace, find_of_others)
    return propose(judge, message, clauses, known_facts, latest)


def build_fact_metadata(
    metadata: dict[str, Json], text: str, judge: Judge | None
) -> dict[str, Json]:
    """Return the metadata with the attribute of the fact, unless the author gave it one.

    It also says what keeps the fact in or out of the profile: that it is an instruction, or about somebody else.
    """
    if judge is None or ATTRIBUTE in metadata:
        return metadata
    (clause,) = judge.judge_texts([text])
    labels = {ATTRIBUTE: str(clause.attribute)}
    if clause.kind is Kind.INSTRUCTION:
        labels[KIND] = str(Kind.INSTRUCTION)
    elif clause.is_of_speaker < MIN_OF_SPEAKER:
        labels[ABOUT] = str(About.OTHER)
    return {**labels, **metadata, ATTRIBUTE: labels[ATTRIBUTE]}


def list_remaining(
    judge: Judge | None, wish: str, targets: Sequence[MemoryEntry], now: datetime
) -> list[StoreParams] | None:
    """Return what entries say beside what is to be forgotten, as new entries, or None if that can't be told apart."""
    remaining: list[StoreParams] = []
    for target in targets:
        remainder = find_remainder(judge, wish, " ".join(list_texts(target.value)))
        is_text = isinstance(target.value, str)
        if remainder.is_unclear or (remainder.texts and not is_text):
            return None
        remaining += (_build_remaining(judge, target, text, now) for text in remainder.texts)
    return remaining


def _build_remaining(
    judge: Judge | None, target: MemoryEntry, text: str, now: datetime
) -> StoreParams:
    """Return the entry that has the text from now on, with all that was chosen for the entry that said more."""
    author_metadata = {
        k: v for k, v in target.metadata.items() if k not in (ATTRIBUTE, KIND, ABOUT)
    }
    content = get_state(target, CONTENT)
    content |= {"value": text, "metadata": build_fact_metadata(author_metadata, text, judge)}
    digest = hashlib.sha256(f"{target.id} {text}".encode()).hexdigest()
    ttl = (target.expires_at - now).total_seconds() if target.expires_at else None
    return StoreParams(
        namespace=target.namespace, key=f"m-{digest[:KEY_LENGTH]}", ttl_seconds=ttl, **content
    )


def screen_content(params: StoreParams) -> StoreParams:
    """Return the parameters without secrets; untrusted instructions are quarantined."""
    return screen_params(params, get_origin(params)).params


@dataclass(frozen=True)
class StoreLearner:
    """Performs operations on a store. Only entries of its namespace can be replaced or forgotten.

    ``screen`` is the content filter. It may raise NotAdmitted, which becomes a result.
    """

    store: NamespaceStore
    namespace: str
    judge: Judge | None
    source: Source
    request: LearnRequest
    now: Callable[[], datetime] = utc_now
    screen: Callable[[StoreParams], StoreParams] = screen_content

    def learn(self) -> list[LearnedChange]:
        return [self._perform(operation) for operation in self.request.operations]

    def _perform(self, operation: Operation) -> LearnedChange:
        targets = [*self._find(operation.targets)]
        match operation.action:
            case Action.FORGET:
                return self._forget(operation, targets)
            case Action.ASK:
                return LearnedChange(operation.action, choices=tuple(targets))
            case Action.END:
                return LearnedChange(operation.action, ended=tuple(self._retire(targets, "")))
            case _:
                return self._add(operation, targets)

    def _forget(self, operation: Operation, targets: list[MemoryEntry]) -> LearnedChange:
        rest = list_remaining(self.judge, operation.evidence, targets, self.now())
        if rest is None:
            return LearnedChange(Action.ASK, choices=tuple(targets))
        forgotten = [t for t in targets if self.store.delete(self.namespace, t.key)]
        remaining = [
            self.store.store(replace(params, namespace=self.namespace, source=self.source))
            for params in rest
        ]
        return LearnedChange(
            operation.action, forgotten=tuple(forgotten), remaining=tuple(remaining)
        )

    def _add(self, operation: Operation, targets: list[MemoryEntry]) -> LearnedChange:
        try:
            params = self.screen(self._build_params(operation, targets))
        except NotAdmitted as fault:
            return LearnedChange(operation.action, reasons=tuple(fault.reasons), message=str(fault))
        if params.tier is Tier.QUARANTINE:
            targets = []  # what nobody has approved takes no one's place
        elif (known_entry := find_known_entry(params, self.store, self.now())) is not None:
            retired = self._retire([t for t in targets if t.id != known_entry.id], known_entry.id)
            return LearnedChange(operation.action, known_entry, ended=tuple(retired))
        entry = self.store.store(params)
        retired = self._retire([t for t in targets if t.id != entry.id], entry.id)
        return LearnedChange(operation.action, entry, is_new=True, ended=tuple(retired))

    def _build_params(self, operation: Operation, targets: list[MemoryEntry]) -> StoreParams:
        request = self.request
        tier = parse_tier(request.tier)
        return StoreParams(
            self.namespace,
            operation.key,
            value=operation.text,
            metadata=build_fact_metadata({**request.metadata}, operation.text, self.judge),
            tier=tier,
            ttl_seconds=request.ttl_seconds,
            source=self.source,
            valid_from=self.now() if targets else None,
            replaces=targets[0].id if targets else "",
            prompt_use=inherit_prompt_use(targets),
        )

    def _retire(self, targets: list[MemoryEntry], successor: str) -> Iterator[MemoryEntry]:
        for target in targets:
            content = get_state(target, CONTENT)
            content |= {"valid_until": self.now(), "replaced_by": successor}
            expires_at = target.expires_at
            seconds = (expires_at - self.now()).total_seconds() if expires_at else None
            yield self.store.store(
                StoreParams(
                    namespace=self.namespace, key=target.key, source=target.source,
                    ttl_seconds=seconds, **content,
                )
            )  # fmt: skip

    def _find(self, ids: tuple[str, ...]) -> Iterator[MemoryEntry]:
        if not ids:
            return
        wanted_ids = set(ids)
        for entry in self.store.recall(MemoryQuery(self.namespace, include_former=True)):
            if entry.id in wanted_ids:
                yield replace(entry, score=None, explain={})
