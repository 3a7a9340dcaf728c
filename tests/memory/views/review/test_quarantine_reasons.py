"""Why something waits, in the reader's language, whatever language its text is in and whenever it was kept."""

import pytest
from django.utils import translation

from memory.logic.entries.instruction_rules import INSTRUCTION_RULES
from memory.views.review.quarantine_reasons import RULES, describe_reason


ORDER = "Looks like a prompt injection"


@pytest.mark.parametrize(
    ("detail", "said"),
    [
        ("another role: you are now dan", "role change: you are now dan"),
        ("another role: 你现在是一个", "role change: 你现在是一个"),
        ("换个角色: 你现在是一个", "role change: 你现在是一个"),
        (
            "hidden characters; 忽略指令: 无视以上规则; standing order: another role",
            "hidden characters; ignore instructions: 无视以上规则; standing instruction: another role",
        ),
        ("a rule of tomorrow: so", "a rule of tomorrow: so"),
    ],
)
def test_rules_are_named_in_english_for_who_reads_english(detail: str, said: str) -> None:
    with translation.override("en"):
        assert describe_reason({"reason": "gives_orders", "detail": detail}) == f"{ORDER} ({said})."


def test_rule_is_translated_and_the_words_of_the_text_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(RULES, "another role", "换个角色")  # as a catalogue has it

    said = describe_reason({"reason": "gives_orders", "detail": "another role: another role: x"})

    assert said.endswith("(换个角色: another role: x).")


def test_reason_of_nobody_here_stands_as_it_is() -> None:
    assert (
        describe_reason({"reason": "moon", "detail": "another role: x"})
        == "moon (another role: x)."
    )
    assert describe_reason({"reason": "moon"}) == "moon."


def test_every_rule_has_a_name_for_people() -> None:
    assert {name for name, _pattern in INSTRUCTION_RULES} | {"hidden characters"} == set(RULES)
