"""Judge what a person said in one turn, clause by clause, by the probes and without a model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from memory.logic.judgement.clauses import (
    begins_with_verb,
    list_splits,
    names_speaker,
    repeat_subject,
)
from memory.logic.judgement.labels import (
    ASKING,
    STORED,
    TOPICS,
    About,
    AskedTime,
    Attribute,
    Change,
    Concern,
    Kind,
    Wish,
)
from memory.logic.judgement.probes import NAMES, Floats, Probes
from memory.logic.judgement.rules import (
    asks_not_to_forget,
    asks_to_forget,
    is_wish_to_forget,
)
from memory.logic.judgement.wording.reading import is_redacted
from memory.logic.judgement.wording.subjects import limit_share_of_speaker


# Probabilities. They come from the table that `python -m bench.judgement` prints, and favour keeping what was said.
MIN_STORED: Final = 0.37  # that a sentence is worth storing
MIN_CLAUSE: Final = 0.4  # of each part, for a sentence to be split
MIN_OF_SPEAKER: Final = 0.5  # that a clause is about the speaker
MIN_FORGET: Final = 0.5
MIN_FORGET_WORD: Final = 0.2  # … in a clause with a word for it
# Of a question of the assistant: that it is about the person, and about one topic.
MIN_ASKED_SPEAKER: Final = 0.6
MIN_ASKED_TOPIC: Final = 0.75
MIN_POSSIBLE_TOPIC: Final = 0.5
NO_ANSWER: Final = ASKING | {Kind.GREETING, Kind.THANKS, Kind.REACTION, Kind.CONFUSION, Kind.CODE}

_END_MARKS: Final = ".!。！"

Encode = Callable[[Sequence[str]], Floats]


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause with what the probes say of it: labels, and the probabilities behind them.

    ``vector`` is that of the encoder, with the length 1; ``topics`` are the probabilities of the topics, in their order. A
    wish to forget ``means_everything`` that is known about the speaker; it may have several ``parts``, one for each thing.
    """

    text: str
    kind: Kind
    certainty: float  # the probability of the kind or, if stored, of all kinds that are stored
    attribute: Attribute
    topics: Floats
    is_of_speaker: float  # the probability that it is about the speaker
    changed: float  # … that something took the place of an earlier state
    ended: float  # … that something is no longer so
    past: float  # … that something was so once
    concern: float  # … of a question, that it concerns the speaker
    former: float  # … of a question, that it asks for what stopped holding
    latest: float  # … of a wish to forget, that it means what was said last
    vector: Floats
    means_everything: bool = False
    takes_back: bool = False  # it may mean what was said last, and nothing else
    parts: tuple[Sequence["Clause"], ...] = ()  # the ways to divide it

    @property
    def is_stored(self) -> bool:
        return self.kind in STORED

    @property
    def is_forget(self) -> bool:
        return self.kind is Kind.FORGET


JudgeAll = Callable[[Sequence[str]], list[Clause]]  # judges each text as one clause


def judge_texts(texts: Sequence[str], encode: Encode, probes: Probes) -> list[Clause]:
    """Judge each text as one clause."""
    if not texts:
        return []
    vectors = encode(texts)
    shares = {name: getattr(probes, name).predict_labels(vectors) for name in NAMES}
    return [
        _build_clause(text, {name: rows[index] for name, rows in shares.items()}, vectors[index])
        for index, text in enumerate(texts)
    ]


def judge_splits(sentence: str, judge_all: JudgeAll) -> list[Sequence[Clause]]:
    """Return the ways to split the sentence, the finest first, with each part judged as a clause."""
    splits = list_alike_splits(sentence)
    texts = list_texts_of_parts(splits)
    clauses_by_text = dict(zip(texts, judge_all(texts), strict=True))
    return sort_finest_first([judge_parts(split, clauses_by_text) for split in splits])


def list_alike_splits(sentence: str) -> list[list[str]]:
    """Return the ways to split the sentence, with parts that end as it does."""
    return [_end_alike(split, sentence) for split in list_splits(sentence)]


def list_texts_of_parts(splits: Sequence[Sequence[str]]) -> list[str]:
    """Return the texts by which ``judge_parts`` decides: the parts, and those with the subject of the first one, once each."""
    parts = [part for split in splits for part in split]
    repeated = [repeat_subject(split[0], part) for split in splits for part in split[1:]]
    return [*dict.fromkeys([*parts, *filter(None, repeated)])]


def judge_parts(parts: Sequence[str], clauses_by_text: Mapping[str, Clause]) -> list[Clause]:
    """Return the clauses of a split, those that leave out the subject with that of the first one.

    Where words have spaces between them, only what is a clause without it gets one: not the football of "I play tennis and
    football".
    """
    first = clauses_by_text[parts[0]]
    clauses = [first]
    for part in parts[1:]:
        clause = clauses_by_text[part]
        extended_clause = clauses_by_text.get(repeat_subject(parts[0], part))
        is_clause = is_good(clause) or begins_with_verb(part) or " " not in parts[0]
        if (
            extended_clause
            and first.is_of_speaker >= MIN_OF_SPEAKER
            and is_clause
            and is_good(extended_clause)
        ):
            clause = extended_clause
        clauses.append(clause)
    return clauses


def choose_clauses(sentence: Clause, splits: Sequence[Sequence[Clause]]) -> list[Clause]:
    if sentence.is_forget:
        return [sentence]
    # "Translate: my name is Tom" tells nothing about the speaker.
    if any(split[0].kind is Kind.REQUEST for split in splits):
        return []
    if is_redacted(sentence.text):
        finest_split = next(iter(sort_finest_first(splits)), ())
        return [part for part in map(capitalize, finest_split) if is_good(part)]
    if sentence.is_stored:
        good_split = next(filter(can_stand_apart, sort_finest_first(splits)), None)
        return [*map(capitalize, good_split)] if good_split else [sentence]
    return [part for part in _list_before_question(splits) if is_good(part)]


def asks_for_value(question: Clause, answer: Clause) -> bool:
    """Return whether the question asks the person for something of theirs, to which the other clause may be the answer.

    The answer states nothing by itself. Its attribute tells what the question means where the question isn't clear.
    """
    is_asked = question.kind is Kind.QUESTION and question.is_of_speaker >= MIN_ASKED_SPEAKER
    topic = float(question.topics.max())
    is_clear = topic >= MIN_ASKED_TOPIC or (
        topic >= MIN_POSSIBLE_TOPIC and answer.attribute is question.attribute
    )
    return is_asked and is_clear and answer.kind not in NO_ANSWER


def sort_finest_first(splits: Sequence[Sequence[Clause]]) -> list[Sequence[Clause]]:
    """Return the splits with most parts first; of those that are cut at the same places, the one without the words for *and*."""
    return sorted(splits, key=lambda split: (-len(split), sum(len(part.text) for part in split)))


def can_stand_apart(split: Sequence[Clause]) -> bool:
    """Return whether each part is a fact by itself."""
    return all(map(is_good, split)) and len(_list_with_subject(split)) == len(split)


def select_independent(split: Sequence[Clause]) -> list[Clause]:
    """Return the parts that are facts by themselves beside the others: they say whom they are about."""
    return [part for part in _list_with_subject(split) if is_good(part)]


def is_good(part: Clause) -> bool:
    return part.is_stored and part.certainty >= MIN_CLAUSE


def _list_with_subject(split: Sequence[Clause]) -> Sequence[Clause]:
    """Return the parts up to one that leaves out whom it is about, if that isn't the speaker.

    The second half of "My sister is called Anna and lives in Oslo" would be about the speaker by itself.
    """
    subject = split[0]
    for number, part in enumerate(split):
        if names_speaker(part.text):
            subject = part
        elif number and subject.is_of_speaker < MIN_OF_SPEAKER:
            return split[:number]
    return split


def _list_before_question(splits: Sequence[Sequence[Clause]]) -> Sequence[Clause]:
    """Return the parts of a sentence before that which asks: of "I live in Lyon, where can I eat?", the first one."""
    for split in splits:
        for number, part in enumerate(split):
            if part.kind in ASKING:
                return _list_with_subject(split[:number]) if number else ()
    return ()


def _end_alike(parts: Sequence[str], sentence: str) -> list[str]:
    """Return the parts with the mark at the end that the whole has."""
    end = sentence[-1] if sentence[-1] in _END_MARKS else ""
    return [part.rstrip(_END_MARKS) + end for part in parts]


def capitalize(part: Clause) -> Clause:
    return replace(part, text=part.text[:1].upper() + part.text[1:])


def _build_clause(text: str, shares: Mapping[str, Mapping[str, float]], vector: Floats) -> Clause:
    kinds, attributes, changes = shares["kind"], shares["attribute"], shares["change"]
    if asks_not_to_forget(text):
        kinds = {**kinds, Kind.FORGET: 0.0}
    elif is_wish_to_forget(text):
        kinds = {**kinds, Kind.FORGET: 1.0}
    stored = sum(kinds[kind] for kind in STORED)
    kind, certainty = _choose_kind(kinds, stored, has_forget_word=asks_to_forget(text))
    topics = [sum(attributes[a] for a in topic if a in attributes) for topic in TOPICS]
    return Clause(
        text, kind, certainty, Attribute(_get_best(attributes)),
        np.array(topics, dtype=np.float32),
        limit_share_of_speaker(text, shares["about"][About.SELF]), changes[Change.CHANGED], changes[Change.ENDED], changes[Change.PAST],
        shares["concern"][Concern.PERSON], shares["time"][AskedTime.FORMER], shares["wish"][Wish.LATEST],
        (vector / max(float(np.linalg.norm(vector)), 1e-6)).astype(np.float32),
    )  # fmt: skip


def _choose_kind(
    kinds: Mapping[str, float], stored: float, *, has_forget_word: bool
) -> tuple[Kind, float]:
    best = Kind(_get_best(kinds))
    if has_forget_word and kinds[Kind.FORGET] >= MIN_FORGET_WORD:
        return Kind.FORGET, kinds[Kind.FORGET]
    if stored >= MIN_STORED:
        return (best if best in STORED else Kind.FACT), stored
    if best in STORED or (best is Kind.FORGET and kinds[best] < MIN_FORGET):
        return Kind.OTHER, 1 - stored
    return best, kinds[best]


def _get_best(shares: Mapping[str, float]) -> str:
    return max(shares, key=lambda label: shares[label])
