"""The judge of the curation benchmark sees what it is there to see."""

import json

import pytest

from bench.chatter import FACTS, TOTAL, Script, chat, judged
from memory.logic.curation.parsing import parse_analysis


@pytest.mark.parametrize("seed", range(4))
def test_chat_is_two_hundred_messages_most_of_them_talk(seed: int) -> None:
    said = chat(seed)

    assert (len(said.messages), len(set(said.facts))) == (TOTAL, FACTS)
    assert len(said.talk) > 0.85 * TOTAL
    assert not set(said.facts) & set(said.talk)
    assert chat(seed) == said


def test_judge_counts_facts_junk_and_doubles() -> None:
    said = chat(1)
    first, second = said.facts[:2]

    found = judged(said, [first, f"{first.rstrip('.')}!", second, "Hi Emil!", "hi emil", "made up"])

    assert (found.found, found.junk, found.doubles) == (2, 3, 2)
    assert (found.remembered, found.kept_out) == (2 / FACTS, 1 - 3 / len(said.talk))


def test_script_breaks_its_answers_and_each_can_be_mended() -> None:
    said, script = chat(2), Script()
    script.knows(said)
    prompt = "## Output\n~~~~\n" + "\n\n".join(said.messages) + "\n~~~~"

    answers = [script.answer(prompt) for _ in range(6)]

    whole = json.loads(answers[0])["key_learnings"]
    assert set(said.facts) <= set(whole)
    assert len(whole) > len(said.facts) + 6  # some talk slips through
    for answer in answers[1:]:
        with pytest.raises(json.JSONDecodeError):
            json.loads(answer)
        read = parse_analysis(answer)
        assert read.repairs
        assert read.key_learnings == parse_analysis(answers[0]).key_learnings
