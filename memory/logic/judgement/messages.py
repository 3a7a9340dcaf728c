"""Read a message: judge its sentences and their parts, and choose what is said in it, and what of it may be kept."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

from memory.logic.judgement.labels import Kind
from memory.logic.judgement.turns import (
    Clause,
    JudgeAll,
    choose_clauses,
    is_good,
    judge_parts,
    list_alike_splits,
    list_texts_of_parts,
)
from memory.logic.judgement.wishes.kept_out import (
    MIN_LATEST,
    MIN_TOPIC,
    MIN_VAGUE,
    Sentence,
    announces_what_not_to_keep,
    asks_not_to_keep,
    find_kept_out,
)
from memory.logic.judgement.wording.reading import PrecedingTurn, is_redacted, read_sentences


@dataclass(frozen=True, slots=True)
class Reading:
    """It has what a message says, and the text that may be kept if the person asked not to keep some of it, or None."""

    clauses: tuple[Clause, ...] = ()
    readable: str | None = None


def read_message(message: str, judge_all: JudgeAll, turns: Sequence[PrecedingTurn] = ()) -> Reading:
    """Read what the message says, in its own words: a clause for each fact, and for each wish to forget something.

    A sentence is split where all parts are facts by themselves. Of a sentence that asks, the clauses beside the question
    that are facts are kept. ``turns`` are those before the message, which say whom "she" means, and what is corrected.
    """
    sentences = [*dict.fromkeys(read_sentences(message, turns))]
    splits_by_sentence = [list_alike_splits(text) for text in sentences]
    texts = [*dict.fromkeys([*sentences, *list_texts_of_parts([*chain(*splits_by_sentence)])])]
    clauses_by_text = dict(zip(texts, judge_all(texts), strict=True))
    judged_splits = [
        [judge_parts(split, clauses_by_text) for split in splits] for splits in splits_by_sentence
    ]
    heads = [clauses_by_text[sentence] for sentence in sentences]
    choices = [*map(choose_clauses, heads, judged_splits)]
    kept_out = find_kept_out([*map(_describe, heads, judged_splits, choices)])
    clauses: dict[str, Clause] = {}
    for number, head in enumerate(heads):
        if number not in kept_out:
            choice = _list_readable(choices[number] or _list_unkept(head))
        else:
            choice = [] if kept_out[number] else _list_named_wishes(judged_splits[number])
        clauses |= {clause.text: clause for clause in choice if clause.text not in clauses}
    readable = [text for number, text in enumerate(sentences) if number not in kept_out]
    return Reading((*clauses.values(),), "\n".join(readable) if kept_out else None)


def _list_readable(clauses: Sequence[Clause]) -> list[Clause]:
    """Return the wishes, and the facts from which no secret was removed."""
    return [c for c in map(_as_wish, clauses) if c.is_forget or not is_redacted(c.text)]


def _describe(
    sentence: Clause, splits: Sequence[Sequence[Clause]], choice: Sequence[Clause]
) -> Sentence:
    """Describe a sentence of which the person may ask not to keep something."""
    is_wish = sentence.is_forget
    topic = int(sentence.topics.argmax())
    return Sentence(
        sentence.text,
        states=not is_wish and any(clause.is_stored for clause in choice),
        is_wish=is_wish,
        has_both=_has_both(sentence, splits),
        vagueness=sentence.latest,
        topic=topic if sentence.topics[topic] >= MIN_TOPIC else None,
    )


def _has_both(sentence: Clause, splits: Sequence[Sequence[Clause]]) -> bool:
    """Return whether the sentence states what it asks not to keep."""
    if announces_what_not_to_keep(sentence.text):
        return True
    if sentence.is_forget and sentence.latest >= MIN_LATEST:
        return False
    is_fact_with_wish = sentence.is_stored and asks_not_to_keep(sentence.text)
    return is_fact_with_wish or any(map(_states_beside_wish, splits))


def _states_beside_wish(split: Sequence[Clause]) -> bool:
    """Return whether a part states something that another one asks not to keep, or to forget after it was said."""
    states = False
    for part in split:
        if asks_not_to_keep(part.text):
            return any(is_good(each) and not asks_not_to_keep(each.text) for each in split)
        if states and part.is_forget and part.latest >= MIN_VAGUE:
            return True
        states |= is_good(part)
    return False


def _list_named_wishes(splits: Sequence[Sequence[Clause]]) -> list[Clause]:
    """Return the wish beside a statement that names what isn't to be kept: "I live in Lyon, don't save my address"."""
    for part in (part for split in splits for part in split):
        is_named = part.latest < MIN_VAGUE and part.topics.max() >= MIN_TOPIC
        if asks_not_to_keep(part.text) and is_named and not is_good(part):
            return [replace(part, kind=Kind.FORGET)]
    return []


def _list_unkept(sentence: Clause) -> list[Clause]:
    return [sentence] if asks_not_to_keep(sentence.text) and sentence.latest >= MIN_VAGUE else []


def _as_wish(clause: Clause) -> Clause:
    """Return the clause as a wish, if it says what isn't to be kept: it is no fact."""
    return replace(clause, kind=Kind.FORGET) if asks_not_to_keep(clause.text) else clause
