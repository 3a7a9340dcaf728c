"""Decide what a wish to forget means: what was stored last, facts that are known, all of them, or nothing."""

from collections.abc import Sequence
from typing import Final

from memory.logic.judgement.likeness import JudgedFact, compare, compute_cosine
from memory.logic.judgement.operations import Action, Operation
from memory.logic.judgement.probes import Floats
from memory.logic.judgement.turns import Clause
from memory.logic.judgement.wishes.candidates import (
    ALL,
    MIN_POSSIBLE,
    Candidate,
    is_clear,
    list_candidates,
    list_evidence,
    select_meant,
)
from memory.logic.judgement.wishes.parts import is_verb


# Probabilities and cosines; `python -m bench.judgement` prints what they decide.
MIN_KIND_OF_ALL: Final = 0.25  # of a topic that "everything about my health" and a fact share
MIN_LATEST: Final = 0.7  # that a wish means what was stored last: "Forget that"
MAX_TOPIC: Final = 0.5  # … of whose topics none is more probable, unless it is sure
MIN_SURELY_LATEST: Final = 0.9
MIN_PERHAPS_LATEST: Final = 0.3  # … so that the person is asked
MAX_VAGUE_TOPIC: Final = 0.6
MIN_FORMER: Final = 0.55  # that a wish means what stopped holding: "my old phone number"
# Who asks one of these means whatever is known about them, and so does who asks something that near, in any language.
EVERYTHING: Final = (
    "Forget everything about me.",
    "Erase everything you know about me.",
    "Delete all my data.",
    "Forget everything.",
    "Oublie tout ce que tu sais de moi.",
    "Tüm verilerimi sil.",
    "刪除我的所有資料。",
    "忘記你知道的關於我的一切。",
    "나에 대해 아는 거 전부 잊어 줘.",
)
MIN_EVERYTHING: Final = 0.6
MAX_TOPIC_OF_EVERYTHING: Final = 0.45  # "everything about my work" has a topic


def means_everything(clause: Clause, examples: Sequence[Clause]) -> bool:
    """Return whether a wish to forget means all that is known about the person. ``examples`` are the judged EVERYTHING."""
    if clause.topics.max() > MAX_TOPIC_OF_EVERYTHING:
        return False
    if clause.latest >= MIN_LATEST and not ALL.search(clause.text):
        return False
    nearest = max(compute_cosine(clause.vector, example.vector) for example in examples)
    return nearest >= MIN_EVERYTHING


def decide_to_forget(
    clause: Clause,
    known_facts: Sequence[JudgedFact],
    center: Floats,
    latest: Sequence[str],
    everything: Sequence[str] = (),
) -> list[Operation]:
    """Forget what is meant. If two things could be meant, or everything is, the person is asked and nothing forgotten."""
    operation: Operation | None
    if clause.means_everything:
        operation = _ask(clause, everything or [judgement.fact.id for judgement in known_facts])
    elif clause.takes_back:
        operation = _ask(clause, latest)
    elif latest and means_latest(clause):
        operation = Operation(Action.FORGET, targets=tuple(latest), evidence=clause.text)
    elif operations := _decide_each_part(clause, known_facts, center):
        return operations
    else:
        operation = (
            _decide_by_candidates(clause, known_facts, center)
            or _ask_about_possible(clause, known_facts, center)
            or _ask_about_latest(clause, latest)
        )
    return [operation] if operation else []


def _ask(clause: Clause, ids: Sequence[str]) -> Operation | None:
    """Ask which of the entries is to be forgotten, if there is one."""
    return Operation(Action.ASK, targets=tuple(ids), evidence=clause.text) if ids else None


def means_latest(clause: Clause) -> bool:
    is_vague = clause.topics.max() <= MAX_TOPIC
    return clause.latest >= (MIN_LATEST if is_vague else MIN_SURELY_LATEST)


def _decide_each_part(
    clause: Clause, known_facts: Sequence[JudgedFact], center: Floats
) -> list[Operation]:
    """Decide about each thing that the wish names, if each is known: "my phone number and my address".

    What is to be forgotten is one operation, so that what an entry says beside all of it is kept.
    """
    for parts in clause.parts:
        wishes = parts[1:] if is_verb(parts[0].text) else parts
        operations = [_decide_by_candidates(part, known_facts, center) for part in wishes]
        if all(operations):
            return _join([operation for operation in operations if operation], clause.text)
    return []


def _join(operations: Sequence[Operation], evidence: str) -> list[Operation]:
    """Return one operation that forgets, and one that asks about the rest."""
    to_forget = _list_targets(operations, Action.FORGET)
    to_ask = [id_ for id_ in _list_targets(operations, Action.ASK) if id_ not in to_forget]
    targets_by_action = {Action.FORGET: to_forget, Action.ASK: to_ask}
    return [
        Operation(action, targets=tuple(targets), evidence=evidence)
        for action, targets in targets_by_action.items()
        if targets
    ]


def _list_targets(operations: Sequence[Operation], action: Action) -> list[str]:
    """Return the targets of the operations of this action, each once."""
    targets = (target for each in operations if each.action is action for target in each.targets)
    return [*dict.fromkeys(targets)]


def _decide_by_candidates(
    clause: Clause, known_facts: Sequence[JudgedFact], center: Floats
) -> Operation | None:
    """Forget the facts that are likely, with what they were before, or ask about them."""
    current = [judgement for judgement in known_facts if not judgement.fact.is_former]
    former_facts = [judgement for judgement in known_facts if judgement.fact.is_former]
    former_candidates = list_candidates(clause, former_facts, center)
    is_about_former = clause.former >= MIN_FORMER and bool(former_candidates)
    candidates = [] if is_about_former else list_candidates(clause, current, center)
    selection = [*select_meant(clause, candidates or former_candidates)]
    if not selection:
        return None
    if not is_clear(clause, selection):
        return _ask(clause, [fact.id for fact in selection])
    if candidates:
        selection += _select_history(selection, former_candidates)
    facts = [judgement.fact for judgement in (former_facts if is_about_former else known_facts)]
    evidence = list_evidence(selection, facts)
    targets = (*(fact.id for fact in selection), *(fact.id for fact in evidence))
    return Operation(Action.FORGET, targets=targets, evidence=clause.text)


def _select_history(
    selection: Sequence[Candidate], former_candidates: Sequence[Candidate]
) -> list[Candidate]:
    """Return the former facts that say what the selected ones were before."""
    histories = {fact.history for fact in selection if fact.history}
    return [fact for fact in former_candidates if fact.history in histories]


def _ask_about_latest(clause: Clause, latest: Sequence[str]) -> Operation | None:
    """Ask if what was stored last is meant, unless the wish names something: that isn't known, so there is nothing to forget."""
    is_vague = clause.latest >= MIN_PERHAPS_LATEST and clause.topics.max() <= MAX_VAGUE_TOPIC
    return _ask(clause, latest) if is_vague else None


def _ask_about_possible(
    clause: Clause, known_facts: Sequence[JudgedFact], center: Floats
) -> Operation | None:
    """Ask about what the wish may mean if nothing is likely: facts with a word of it, or all of its kind if it says "all"."""
    is_about_all = ALL.search(clause.text) is not None
    targets = []
    for judgement in known_facts:
        likeness = compare(clause, judgement.clause, center)
        names_it = likeness.has_word and likeness.nearness >= MIN_POSSIBLE
        is_of_kind = judgement.clause.attribute is clause.attribute
        is_meant = is_of_kind and likeness.topic_share >= MIN_KIND_OF_ALL
        if names_it or (is_about_all and is_meant):
            targets.append(judgement.fact.id)
    return _ask(clause, targets)
