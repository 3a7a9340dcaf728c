"""The score of the curation benchmark counts what it should."""

import json

import pytest

from bench.chatter import FACT_COUNT, MESSAGE_COUNT, ScriptedModel, make_chat, score_memories
from memory.logic.curation.parsing import parse_analysis


@pytest.mark.parametrize("seed", range(4))
def test_chat_is_two_hundred_messages_most_of_them_talk(seed: int) -> None:
    chat = make_chat(seed)

    assert (len(chat.messages), len(set(chat.facts))) == (MESSAGE_COUNT, FACT_COUNT)
    assert len(chat.small_talk) > 0.85 * MESSAGE_COUNT
    assert not set(chat.facts) & set(chat.small_talk)
    assert make_chat(seed) == chat


def test_score_counts_facts_junk_and_duplicates() -> None:
    chat = make_chat(1)
    first, second = chat.facts[:2]

    result = score_memories(
        chat, [first, f"{first.rstrip('.')}!", second, "Hi Emil!", "hi emil", "made up"]
    )

    assert (result.stored_facts, result.junk, result.duplicates) == (2, 3, 2)
    assert (result.fact_share, result.rejected_share) == (
        2 / FACT_COUNT,
        1 - 3 / len(chat.small_talk),
    )


def test_script_breaks_its_answers_and_each_can_be_mended() -> None:
    chat, script = make_chat(2), ScriptedModel()
    script.learn(chat)
    prompt = "## Output\n~~~~\n" + "\n\n".join(chat.messages) + "\n~~~~"

    answers = [script.answer(prompt) for _ in range(6)]

    whole = json.loads(answers[0])["key_learnings"]
    assert set(chat.facts) <= set(whole)
    assert len(whole) > len(chat.facts) + 6  # some talk slips through
    for answer in answers[1:]:
        with pytest.raises(json.JSONDecodeError):
            json.loads(answer)
        read = parse_analysis(answer)
        assert read.repairs
        assert read.key_learnings == parse_analysis(answers[0]).key_learnings
