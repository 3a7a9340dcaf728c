"""What the judge is trained on is not what it is measured by."""

import json
from itertools import chain

from bench.judgement.conversations import list_turns
from bench.judgement.near_copies import list_near_copies
from bench.judgement.retiring import read_retiring
from bench.judgement.sentences import read_changes, read_questions, read_sentences, read_times
from bench.judgement.together import read_people
from bench.paraphrases import read_paraphrases
from bench.relevance import UNKNOWN, UNRELATED


def test_no_sentence_of_the_training_is_a_near_copy_of_a_question_of_a_benchmark() -> None:
    pairs = [pair for paraphrases in read_paraphrases() for pair in paraphrases.pairs]
    questions = [pair.question for pair in pairs]
    memories = [pair.memory for pair in pairs]
    unrelated = json.loads(UNRELATED.read_text(encoding="utf-8"))
    trained = (*read_sentences(), *read_questions(), *read_times(), *read_changes())
    sentences = [sentence.text for sentence in trained]

    people = json.loads(UNKNOWN.read_text(encoding="utf-8"))
    unknown = chain.from_iterable(person["unknown"] for person in people)
    together = chain.from_iterable(read_people())

    texts = [*questions, *memories, *unrelated, *unknown, *together]
    assert list_near_copies(sentences, texts) == []


def test_no_fact_of_the_changes_is_a_near_copy_of_a_turn_that_is_measured() -> None:
    facts = [fact.text for fact in read_changes()]
    trained = [*facts, *(sentence.text for sentence in read_sentences())]
    cases = read_retiring()
    known = chain.from_iterable(case.known for case in cases)

    assert list_near_copies(facts, [*list_turns(), *known]) == []
    assert list_near_copies(trained, [case.turn for case in cases]) == []


def test_near_copy_differs_in_a_word_or_a_mark_at_most() -> None:
    copies = list_near_copies(
        ["who is my manager", "Where does my manager live?", "我吃素"],
        ["Who is my manager?", "我吃素。"],
    )

    assert copies == [("who is my manager", "Who is my manager?"), ("我吃素", "我吃素。")]
