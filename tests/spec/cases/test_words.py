"""Cases 06 and 07: what others wrote, and what a person asks, is no fact about the person, with and without an encoder."""

from memory.embedding import encoder
from memory.logic.judgement.judge import Judge
from memory.logic.judgement.probes import load_probes
from memory.logic.judgement.rules import list_statements
from tests.support.cases import for_each


MESSAGES = [
    ("Ben wrote me this:\n\n> I prefer the night train.\n> I am allergic to nuts.\n\nWhat should I answer?", []),
    ("Why does this fail?\n\n```\nuser = load()\nI live in a string\n```\n", []),
    ("From: ben@example.com\nSubject: Move\n\nI moved to Turin.\n\nPlease summarize this mail.", []),
    ("I work in Graz.\n\n> I work in Lima.", ["I work in Graz."]),
    ("لا أشرب الشاي", ["لا أشرب الشاي"]),
    ("هل أشرب الشاي؟", []),
    ("من در شیراز زندگی نمی‌کنم", ["من در شیراز زندگی نمی‌کنم"]),
    ("آیا من در شیراز زندگی می‌کنم؟", []),
]  # fmt: skip


@for_each("message, facts", MESSAGES)
def test_06_07_rules_keep_only_what_a_person_states(message: str, facts: list[str]) -> None:
    assert list_statements(message) == facts


@for_each("message, facts", MESSAGES)
def test_06_07_encoder_keeps_only_what_a_person_states(message: str, facts: list[str]) -> None:
    judge = Judge(encoder.encode, load_probes())

    operations = judge.decide(judge.judge_message(message), [], [])

    assert [operation.text for operation in operations] == facts
