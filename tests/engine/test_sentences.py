"""What a message states, in two languages, without its questions, requests and small talk."""

import pytest

from workflows.engine.sentences import MAX_STATEMENTS, list_statements


@pytest.mark.parametrize(
    ("message", "statements"),
    [
        ("Where do I live?", []),
        ("where do i live", []),
        ("Where do I live.", []),
        ("I'm allergic to peanuts. What can I cook?", ["I'm allergic to peanuts."]),
        ("I'm allergic to peanuts, what can I cook?", ["I'm allergic to peanuts"]),
        ("I live in Lyon and work at Acme.\nThanks!", ["I live in Lyon and work at Acme."]),
        ("Hi, I'm Ana.", ["I'm Ana."]),
        ("Please remember that my car is red", ["My car is red"]),
        ("Remember to call my mother.", ["Remember to call my mother."]),
        ("I'm vegan! I'm vegan!", ["I'm vegan!"]),
        ("Tell me a joke", []),
        ("Write a poem about rain.", []),
        ("I wonder where I live", []),
        ("Do you know my name", []),
        ("I like tea, do you?", ["I like tea"]),
        ("ok", []),
        ("Thank you very much!", []),
        ("Good morning!", []),
        ("我对花生过敏。我可以做什么菜？", ["我对花生过敏。"]),
        ("我住在里昂，附近有什么好吃的？", ["我住在里昂"]),
        ("我住在哪里？", []),
        ("你能推荐一家餐厅吗", []),
        ("我是不是住在里昂", []),
        ("我什么都吃。", ["我什么都吃。"]),
        ("你好，我是小明。", ["我是小明。"]),
        ("请记住我对花生过敏", ["我对花生过敏"]),
        ("帮我写一首诗", []),
        ("谢谢", []),
        ("", []),
    ],
)
def test_statements_of_a_message(message: str, statements: list[str]) -> None:
    assert list_statements(message) == statements


def test_long_message_has_limits() -> None:
    statements = list_statements("\n".join(f"I have {n} cats " + "x" * 900 for n in range(50)))

    assert len(statements) == MAX_STATEMENTS
    assert max(map(len, statements)) == 500


@pytest.mark.parametrize(
    ("message", "statements"),
    [
        (
            "My name is Boris, I live in Lyon and shellfish makes me ill.",
            ["My name is Boris.", "I live in Lyon.", "Shellfish makes me ill."],
        ),
        ("I'm Boris, I'm 30 and I'm a nurse", ["I'm Boris", "I'm 30", "I'm a nurse"]),
        (
            "I was born in Rome, Italy, my wife is Ana, and we have two kids.",
            ["I was born in Rome, Italy.", "My wife is Ana.", "We have two kids."],
        ),
        (
            "我叫鲍里斯，我住在里昂，吃海鲜会不舒服。",
            ["我叫鲍里斯。", "我住在里昂。", "吃海鲜会不舒服。"],
        ),
    ],
)
def test_clauses_of_a_sentence_are_statements(message: str, statements: list[str]) -> None:
    assert list_statements(message) == statements


@pytest.mark.parametrize(
    "message",
    [
        "I like tea and coffee",
        "I like tea, coffee and milk.",
        "my sister and her husband live in Rome",
        "My mother, my father and my sister are doctors, and I am a nurse.",
        "My sister is Anna, she lives in Rome and I love her.",
        "I'm Ana, and I'm allergic to peanuts.",
        "If it rains, I stay home, my dog is sad and I read.",
        "我喜欢茶，咖啡，还有牛奶。",
        "我妹妹叫安娜，她住在罗马，我很想她。",
    ],
)
def test_sentence_of_parts_that_need_each_other_stays_whole(message: str) -> None:
    assert list_statements(message) == [message]
