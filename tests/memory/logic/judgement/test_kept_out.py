"""What a person says and asks not to keep isn't kept, and nothing else is forgotten for it."""

import pytest

from memory.logic.judgement.judge import Judge, judge_turn
from memory.logic.judgement.operations import Action, KnownFact, RelatedFacts


LATEST = RelatedFacts([KnownFact("1", "I moved to Lyon.")], ["1"])


@pytest.mark.parametrize(
    "message",
    [
        "Between us, don't store this: I earn 90k.", "Please don't remember the following. I am HIV positive.",
        "I have diabetes, but don't save that.", "Off the record: I'm gay.", "Don't save this. I earn 90k.",
        "I earn 90k. Please don't remember that.", "I'm pregnant. Don't tell anyone and don't store it.",
        "Ich habe Diabetes, aber speicher das nicht.", "Merk dir das nicht: Ich verdiene 90.000 Euro.",
        "Ich bin schwanger. Merk dir das bitte nicht.", "J'ai le diabète, mais ne le retiens pas.",
        "Ne garde pas ça : je gagne 3000 euros.", "Tengo diabetes, pero no lo guardes.", "No guardes esto: gano 3000 euros.",
        "Tenho diabetes, mas não guardes isso.", "Ho il diabete, ma non salvarlo.",
        "Non memorizzare questo: guadagno 3000 euro.", "Ik heb diabetes, maar sla dat niet op.",
        "Mam cukrzycę, ale nie zapisuj tego.", "У меня диабет, но не запоминай это.",
        "Не сохраняй это: я зарабатываю 3000 евро.", "Şeker hastasıyım ama bunu kaydetme.", "Bunu kaydetme: hamileyim.",
        "لدي السكري، لكن لا تحفظ ذلك.", "لا تحفظ هذا: أنا حامل.", "ฉันเป็นเบาหวาน แต่อย่าบันทึกไว้", "อย่าจำเรื่องนี้: ฉันท้อง",
        "我有糖尿病，但是不要记住。", "不要记录：我怀孕了。", "我怀孕了。别记住这个。", "我有糖尿病，但請不要儲存。",
        "糖尿病ですが、保存しないでください。", "これは覚えないで：妊娠しています。", "이건 기억하지 마: 나 임신했어.",
    ],
)  # fmt: skip
def test_what_a_person_asks_not_to_keep_is_not_stored(judge: Judge, message: str) -> None:
    proposal = judge_turn(judge, message).propose(LATEST)

    assert proposal.operations == ()


@pytest.mark.parametrize(
    ("message", "facts"),
    [
        ("I live in Rome. Don't store anything about my health. I like tea.", ["I live in Rome.", "I like tea."]),
        ("My name is Ana and please don't forget it.", ["My name is Ana and please don't forget it."]),
        ("I like tea. I earn 90k, but don't store that.", ["I like tea."]),
        ("Ich wohne in Bonn. Merk dir das Folgende nicht: Ich bin schwanger.", ["Ich wohne in Bonn."]),
    ],
)  # fmt: skip
def test_what_else_the_message_says_is_stored(judge: Judge, message: str, facts: list[str]) -> None:
    operations = judge.decide(judge.judge_message(message), [], [])

    assert [each.text for each in operations if each.text] == facts


@pytest.mark.parametrize(
    ("message", "readable"),
    [
        ("I like tea. I earn 90k, but don't store that.", "I like tea."),
        ("Please don't remember the following. I am HIV positive.", ""),
        ("I like tea. I live in Lyon.", None),
    ],
)
def test_model_reads_only_what_may_be_kept(
    judge: Judge, message: str, readable: str | None
) -> None:
    assert judge_turn(judge, message).propose().readable == readable
    assert judge_turn(None, message).propose().readable == readable


@pytest.mark.parametrize("message", ["Don't remember that.", "Merk dir das nicht.", "别记住这个。"])
def test_wish_by_itself_means_what_was_stored_last(judge: Judge, message: str) -> None:
    (operation,) = judge_turn(judge, message).propose(LATEST).operations

    assert (operation.action, operation.targets) == (Action.FORGET, ("1",))


@pytest.mark.parametrize(
    "message",
    [
        "Between us, don't store this: I earn 90k.",
        "Please don't remember the following. I am HIV positive.",
        "I am HIV positive. Please don't save that.",
        "我有糖尿病，但是不要记住。",
    ],
)
def test_without_an_encoder_the_words_say_what_is_not_kept(message: str) -> None:
    assert judge_turn(None, message).propose().operations == ()
