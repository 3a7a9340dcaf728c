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
