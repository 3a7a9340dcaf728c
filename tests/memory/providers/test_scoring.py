"""The search over postings gives each turn of a conversation, and each text alone, the very rank that the texts give."""

import random
from collections import defaultdict

import numpy as np
import pytest

from memory.core.recall.literal_match import parse_question
from memory.core.recall.ranking import Text, rank_texts
from memory.core.recall.similarity import Nearness
from memory.providers.postgres.postings import REGISTER, PostingChanges
from memory.providers.postgres.scoring import (
    Block,
    SlotScores,
    compute_ranks,
    read_register,
    score_slots,
)


SPEAKERS = ["Mia: ", "Rex Miller: ", "小明：", "assistant: ", "user: ", "tool: ", ""]
WORDS = ["boat", "Mia", "miller", "blue", "上海", "why?", "so.", "assistant"]
QUESTIONS = ["Which boat has Mia?", "boat", "小明 boat", "Rex Miller and Mia", "assistant blue"]


def draw_turn(draw: random.Random) -> str:
    words = draw.choices(WORDS, k=draw.choice([1, 4, 20, 80]))
    return f"k{draw.randrange(9)}\n{draw.choice(SPEAKERS)}{' '.join(words)}"


def score(
    question: str, texts: list[str], nearness: dict[int, Nearness], in_group: bool
) -> SlotScores:
    changes = PostingChanges()
    for number, text in enumerate(texts):
        changes.add_number(number, number - 1 if number and in_group else None)
        changes.add(number, text)
    postings: dict[str, list[Block]] = defaultdict(list)
    for term, block, packed in changes.list_rows(lambda keys: {}):
        postings[term].append((block, packed))
    register = read_register(postings.pop(REGISTER), included=None, excluded=())
    return score_slots(parse_question(question, "english"), postings, register, nearness)


@pytest.mark.parametrize("in_group", [True, False])
@pytest.mark.parametrize("by_meaning", [False, True])
@pytest.mark.parametrize("question", QUESTIONS)
def test_postings_rank_turns_as_their_texts_do(
    question: str, by_meaning: bool, in_group: bool
) -> None:
    draw, found = random.Random(question), 0
    for _ in range(5):
        drawn = [draw_turn(draw) for _ in range(draw.choice([2, 12, 300]))]
        near = {n: Nearness(draw.random(), draw.random()) for n in range(0, len(drawn), 2)}
        far = Nearness(0.0, 0.0)
        texts = [
            Text(
                text,
                ("s", n + 1) if in_group else None,
                None,
                near.get(n, far) if by_meaning else None,
            )
            for n, text in enumerate(drawn)
        ]

        hits = rank_texts(question, texts)
        scores = score(question, drawn, near if by_meaning else {}, in_group)

        slots = np.array([hit.position for hit in hits], dtype=np.int64)
        literal = np.array([hit.parts["literal"] > 0 for hit in hits], dtype=bool)
        literal |= np.array([hit.parts.get("rank_literal", 0) > 0 for hit in hits], dtype=bool)
        assert compute_ranks(scores, slots, literal, None).tolist() == [hit.rank for hit in hits]
        found += len(hits)
    assert found
