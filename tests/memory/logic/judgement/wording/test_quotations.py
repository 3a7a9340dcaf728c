"""What somebody else said, or nobody means, is not the person's own word."""

from memory.logic.judgement.clauses import split_sentences
from memory.logic.judgement.wording.quotations import leave_out_played
from tests.support.cases import for_each


@for_each(
    "message, sentences",
    [
        ('"I live in Oslo", said Bob.', []),
        ('Bob said: "I live in Oslo." I live in Bonn.', ["I live in Bonn."]),
        ('I live in Bonn. Bob said "I live in Oslo".', ["I live in Bonn."]),
        ("„Ich wohne in Oslo“, sagte Bob.", []),
        ("«Vivo en Oslo con mi gato», dijo Bob.", []),
        ("Mon ami dit : « Je vis à Oslo ».", []),
        ("小王说：“我住在上海。”", []),
        ("“我住在上海”，小王说。", []),
        ("太郎は「私は東京に住んでいます」と言いました。", []),
        ('민수가 "저는 서울에 살아요"라고 말했어요.', []),
        ('"I live in Oslo."', []),
        ("Bob: I live in Oslo.\nAna: I live in Rome.", []),
        (
            "Here is our chat:\n[10:02] Bob: I live in Oslo.\n[10:03] Ana: me too\nWhat do they say?",
            ["Here is our chat:", "What do they say?"],
        ),
        ("Me: I live in Oslo.\nAna: I live in Rome.", ["I live in Oslo."]),
        ("小王：我住在上海。\n小李：我住在北京。", []),
        ("Pretend I'm a pirate named Jack. My ship is red.", []),
        ("I live in Oslo. Let's pretend I'm a king.", ["I live in Oslo."]),
        ("Tu so, als wäre ich ein Ritter.", []),
        ("假装我是海盗。", []),
        ("私が海賊だというふりをして。", []),
    ],
)
def test_words_of_others_are_left_out(message: str, sentences: list[str]) -> None:
    assert leave_out_played(split_sentences(message)) == sentences


@for_each(
    "message, count",
    [
        ('My favourite book is "I, Robot".', 1),
        ('Call me "Ana".', 1),
        ('My motto is "I never give up".', 1),
        ("我最喜欢的书是“我的名字叫红”。", 1),
        ('I told them "I live in Oslo".', 1),
        ("Name: Ana\nCity: Lyon\nDiet: vegan", 3),
        ("My phone: 0171 22\nMy address: Lane 4", 2),
        ("Imagine that! I moved to Lyon.", 2),
        ("My friend asked me: where do you live? I live in Rome.", 2),
        ('My sister is called "Little Bee of the house" and lives in Rome.', 1),
    ],
)
def test_own_words_beside_a_quotation_stay(message: str, count: int) -> None:
    sentences = leave_out_played(split_sentences(message))

    assert len(sentences) == count
    assert all(sentence in message for sentence in sentences)
