"""The offline provider quotes what memory knows now, and nothing that was replaced or forgotten."""

from typing import Any

import pytest

from tests.workflows.llm.offline_requests import Hit, ask
from workflows.engine.errors import ModelNeeded
from workflows.engine.ports import Role
from workflows.engine.sentences import is_chinese
from workflows.llm.offline import LABELS
from workflows.llm.offline.phrases import PHRASES
from workflows.llm.offline.provider import build_answer


MOVED: tuple[tuple[Role, str], ...] = (
    ("user", "I live in Berlin."),
    ("assistant", "Noted: I live in Berlin. (offline demo provider)"),
    ("user", "I moved to Lyon last week."),
    ("assistant", "Noted: I moved to Lyon last week. (offline demo provider)"),
)
CONTEXT = '[Profile]\n- "My name is Ana."\n\n[Memory Context]\n- 29 Nov 2026: "I moved to Lyon last week."'


@pytest.mark.parametrize("embedder", ["none", "local"])
def test_memory_goes_before_the_sentence_of_the_conversation_that_it_replaced(
    settings: Any, embedder: str
) -> None:
    settings.MEMORY_EMBEDDER = None if embedder == "none" else embedder

    answer = build_answer(ask("Where do I live?", system=CONTEXT, history=MOVED))

    assert answer == "I remember: “I moved to Lyon last week.”" + LABELS["en"]


def test_replaced_sentence_is_not_quoted_in_other_languages_either(settings: Any) -> None:
    settings.MEMORY_EMBEDDER = "local"
    history: tuple[tuple[Role, str], ...] = (
        ("user", "J'habite à Brest."),
        ("assistant", "Noted: J'habite à Brest. (offline demo provider)"),
        ("user", "J'ai déménagé à Lille."),
    )

    answer = build_answer(ask("Dans quelle ville est-ce que j'habite ?", history=history))

    assert "Brest" not in answer


def test_sentence_of_the_conversation_that_nothing_replaced_is_quoted(settings: Any) -> None:
    settings.MEMORY_EMBEDDER = "local"
    history: tuple[tuple[Role, str], ...] = (("user", "The code word for the door is banana."),)
    context = '[Memory Context]\n- 29 Nov 2026: "My garage door is blue."'

    answer = build_answer(
        ask("What is the code word for the door?", system=context, history=history)
    )

    assert "banana" in answer


def test_former_memory_answers_the_question_for_which_it_was_recalled() -> None:
    context = '[Memory Context]\n- until 29 Nov 2026: "I live in Berlin."\n- 29 Nov 2026: "I moved to Lyon, where I live now."'

    answer = build_answer(ask("Where did I live before?", system=context))

    assert answer.startswith("I remember: “I live in Berlin.”")


def test_profile_is_no_answer_to_a_question_that_it_has_nothing_to_do_with() -> None:
    context = '[Profile]\n- "My name is Ana."'

    assert PHRASES["en"]["unknown"] in build_answer(ask("Would a cruise suit me?", system=context))
    assert "Ana" in build_answer(ask("What is my name?", system=context))


@pytest.mark.parametrize("said", ["Vergiss, wo ich arbeite.", "Oublie où j'habite."])
def test_wish_to_forget_in_another_language_is_neither_noted_nor_quoted(
    settings: Any, said: str
) -> None:
    settings.MEMORY_EMBEDDER = "local"
    history: tuple[tuple[Role, str], ...] = (("user", said),)

    answer = build_answer(ask(said))
    later = build_answer(ask("Wo arbeite ich? Où est-ce que j'habite ?", history=history))

    assert answer == PHRASES["en"]["forget"] + LABELS["en"]
    assert said not in later


@pytest.mark.parametrize(
    ("said", "language"),
    [
        ("Don't store this: I earn 90k.", "en"),
        ("Je gagne 90k, mais ne l'enregistre pas.", "en"),
        ("不要记住这个：我月薪三万。", "zh"),
    ],
)
def test_what_is_not_to_be_kept_is_heard_because_nothing_is_forgotten_for_it(
    settings: Any, said: str, language: str
) -> None:
    settings.MEMORY_EMBEDDER = "local"

    assert build_answer(ask(said)) == PHRASES[language]["heard"] + LABELS[language]


def test_question_without_a_question_mark_is_answered_in_another_language(settings: Any) -> None:
    settings.MEMORY_EMBEDDER = "local"

    answer = build_answer(ask("ฉันแพ้อะไรบ้าง", Hit("ฉันแพ้กุ้ง")))

    assert "ฉันแพ้กุ้ง" in answer


def test_earlier_answer_from_memory_is_not_quoted_because_it_may_have_been_forgotten() -> None:
    history: tuple[tuple[Role, str], ...] = (
        ("user", "Where do I work?"),
        ("assistant", "I remember: “I work at Bosch.” (offline demo provider)"),
    )

    answer = build_answer(ask("Where do I work?", history=history))

    assert answer == PHRASES["en"]["unknown"] + LABELS["en"]


HITS = (
    Hit("I live in Lyon.", score=0.6),
    Hit("My name is Ana.", score=0.4),
    Hit("I have a dog called Rollo.", score=0.3),
    Hit("I like green tea.", score=0.2),
)
CHINESE_HITS = (Hit("我住在里昂。"), Hit("我叫安娜。"), Hit("我喜欢绿茶。"))
LYON, ANA, ROLLO = "“I live in Lyon.”", "“My name is Ana.”", "“I have a dog called Rollo.”"


@pytest.mark.parametrize(
    ("question", "quotes"),
    [
        ("Where do I live and what is my name?", f"{LYON} {ANA}"),
        ("What is my name and where do I live?", f"{ANA} {LYON}"),
        ("Where do I live? What is my name?", f"{LYON} {ANA}"),
        ("What's my name, where do I live, and what's my dog called?", f"{ANA} {LYON} {ROLLO}"),
        ("What are my name and address?", f"{ANA} {LYON}"),
        ("Where do I live, and what's the name of my dog?", f"{LYON} {ROLLO}"),
        ("Where do I live and how old am I?", LYON),  # nobody has told the age
    ],
)
def test_each_part_of_a_question_is_answered_from_its_own_memory(
    question: str, quotes: str
) -> None:
    answer = build_answer(ask(question, *HITS))

    assert answer == "I remember: " + quotes + LABELS["en"]


@pytest.mark.parametrize("question", ["我住在哪里，我叫什么名字？", "我住在哪里？我叫什么名字？"])
def test_each_part_of_a_chinese_question_is_answered(question: str) -> None:
    answer = build_answer(ask(question, *CHINESE_HITS))

    assert answer == PHRASES["zh"]["remember"] + "“我住在里昂。” “我叫安娜。”" + LABELS["zh"]


def test_name_that_was_told_without_the_word_is_found() -> None:
    answer = build_answer(
        ask(
            "Where do I live and what is my name?", Hit("I live in Lyon."), Hit("I'm Ana."), HITS[2]
        )
    )

    assert answer == f"I remember: {LYON} “I'm Ana.”" + LABELS["en"]


def test_words_that_and_joins_are_no_two_questions() -> None:
    answer = build_answer(ask("How do bread and butter taste?", *HITS))

    assert answer.startswith(PHRASES["en"]["closest"])


@pytest.mark.parametrize(
    ("question", "said", "language"),
    [
        ("¿Cuál es la capital de Francia?", "Toby murió la semana pasada.", "en"),
        ("How do I delete a file in Linux?", "Delete the second line of this text: hello", "en"),
        ("Wie hoch ist der Mont Blanc?", "Mein Onkel Rolf ist der Chef der Firma.", "en"),
        ("法国的首都是哪里？", "我家的狗是上个月死的。", "zh"),
    ],
)
def test_sentence_of_the_conversation_that_has_nothing_to_do_with_the_question_is_no_answer(
    settings: Any, question: str, said: str, language: str
) -> None:
    settings.MEMORY_EMBEDDER = "local"

    answer = build_answer(ask(question, history=(("user", said), ("assistant", "OK."))))

    assert answer == PHRASES[language]["unknown"] + LABELS[language]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("¿Cómo se llamaba mi perro?", "Mi perro Toby murió la semana pasada."),
        ("Wo arbeitet mein Onkel Rolf?", "Mein Onkel Rolf arbeitet bei der Post."),
        ("What was the second item on my list?", "The second item on my list is rope."),
        ("我的狗叫什么？", "我家的狗叫豆豆。"),
    ],
)
def test_sentence_of_the_conversation_that_a_recall_would_find_is_quoted(
    settings: Any, question: str, said: str
) -> None:
    settings.MEMORY_EMBEDDER = "local"

    answer = build_answer(ask(question, history=(("user", said), ("assistant", "OK."))))

    assert said in answer


@pytest.mark.parametrize(
    ("message", "beginning"),
    [
        ("I live in Lyon.", "Noted: I live in Lyon."),
        ("Ich habe eine Katze.", "Noted: "),
        ("我住在成都。", "记下了：我住在成都。"),
        ("私の名前は健太です。", "Noted: "),
        ("Answer in English from now on.", "Noted: "),
        ("Thank you so much!", "All right."),
        ("Merci beaucoup", "All right."),
        ("ありがとう！", "All right."),
        ("谢谢你", "好的。"),
        ("haha good one", "All right."),
        ('"I live in Oslo", said Bob.', "All right."),
        ("Suggest a snack for me.", "This needs a real model."),
    ],
)
def test_only_what_memory_keeps_is_noted(settings: Any, message: str, beginning: str) -> None:
    settings.MEMORY_EMBEDDER = "local"

    assert build_answer(ask(message)).startswith(beginning)


@pytest.mark.parametrize("message", ["Write a haiku about my cat.", "写一首关于猫的诗。"])
def test_task_needs_a_model_also_where_memory_judges_it(settings: Any, message: str) -> None:
    settings.MEMORY_EMBEDDER = "local"

    with pytest.raises(ModelNeeded):
        build_answer(ask(message))


@pytest.mark.parametrize(
    ("text", "is_in_chinese"),
    [
        ("我住在成都。", True), ("你好 world", True), ("私の名前は健太です。", False), ("名前はポチ", False),
        ("ありがとう！", False), ("I live in 北京 now, near the lake", False), ("제 이름", False),
    ],
)  # fmt: skip
def test_japanese_is_not_chinese(text: str, is_in_chinese: bool) -> None:
    assert is_chinese(text) == is_in_chinese
