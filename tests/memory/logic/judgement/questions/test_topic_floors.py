"""Who asks about themselves what nobody told gets no other fact about them. None of these texts was used for training."""

from typing import Any

import pytest

from bench.judgement.sentences import read_questions, read_sentences
from memory.core.records import MemoryQuery, StoreParams
from memory.embedding.embedders import Options
from memory.embedding.local import LocalModel
from memory.logic.judgement.judge import Judge
from memory.logic.judgement.labels import About, Attribute
from memory.logic.judgement.questions.concern import set_floors
from memory.logic.judgement.questions.topic_floors import FAR_FLOOR, find_topic_floors
from memory.logic.judgement.wishes.remaining import build_fact_metadata
from memory.providers.in_memory import InMemoryProvider
from workflows.engine.ports import Origin


# Language: facts, what the person never told, and a question with the fact that answers it.
PEOPLE = {
    "en": (
        ["My name is Odile.", "I live in Ghent.", "My birthday is on 9 April.", "My number is 020 555 0143."],
        ["Do I have a husband?", "What is my e-mail?", "Which university did I attend?"],
        ("In which town do I live?", "I live in Ghent."),
    ),
    "de": (
        ["Ich heiße Ruth.", "Ich wohne in Jena.", "Ich bin 52 Jahre alt.", "Ich habe im März Geburtstag."],
        ["Bin ich verheiratet?", "Wie lautet meine E-Mail-Adresse?", "Habe ich ein Haustier?"],
        ("In welchem Ort wohne ich?", "Ich wohne in Jena."),
    ),
    "fr": (
        ["Je m'appelle Denis.", "J'habite à Pau.", "Mon anniversaire est le 2 mai.", "J'ai 27 ans."],
        ["Est-ce que je suis marié ?", "Quel est mon numéro de téléphone ?", "Où est-ce que je travaille ?"],
        ("Dans quelle ville j'habite ?", "J'habite à Pau."),
    ),
    "zh": (
        ["我叫陈洁。", "我住在厦门。", "我今年三十岁。"],
        ["我的手机号是多少？", "我养什么宠物？", "我有没有孩子？"],
        ("我住在哪座城市？", "我住在厦门。"),
    ),
}  # fmt: skip


def store(judge: Judge, facts: list[str], **metadata: str) -> InMemoryProvider:
    memory = InMemoryProvider(embedder=LocalModel(Options()))
    memory.judge = judge
    for number, text in enumerate(facts):
        labels = build_fact_metadata({**metadata}, text, judge)
        memory.store(StoreParams("user:mia", f"m-{number}", value=text, metadata=labels))
    return memory


async def ask(memory: InMemoryProvider, text: str, **more: Any) -> list[str]:
    hits = await memory.port().recall(
        scope="user",
        identity={"user_id": "mia"},
        origin=Origin("run", "node", "1"),
        query_text=text,
        top_k=5,
        **more,
    )
    return [hit.value for hit in hits]


@pytest.mark.parametrize(
    ("language", "question"),
    [(language, question) for language, (_, unknown, _) in PEOPLE.items() for question in unknown],
)
async def test_question_about_what_nobody_told_brings_no_other_fact(
    judge: Judge, language: str, question: str
) -> None:
    memory = store(judge, PEOPLE[language][0])

    assert await ask(memory, question) == []
    assert await ask(memory, question, min_score=0.0) != []  # the floor is what keeps them out


@pytest.mark.parametrize("language", PEOPLE)
async def test_question_about_what_somebody_told_brings_it_first(
    judge: Judge, language: str
) -> None:
    facts, _, (question, fact) = PEOPLE[language]

    assert (await ask(store(judge, facts), question))[:1] == [fact]


@pytest.mark.parametrize(
    ("statement", "result"),
    [
        ("I don't eat meat any more.", ["I am allergic to sesame."]),
        ("Mein Mann und ich sind seit Mai geschieden.", []),
        ("J'ai déménagé à Metz.", ["I live in Ghent."]),
    ],
)
async def test_statement_brings_only_what_is_known_about_the_same(
    judge: Judge, statement: str, result: list[str]
) -> None:
    facts = ["I am allergic to sesame.", "I live in Ghent.", "I am 44 years old.", "I own a canoe."]

    assert await ask(store(judge, facts), statement) == result


def test_fact_of_which_a_person_has_one_is_far_from_other_questions(judge: Judge) -> None:
    (clause,) = judge.judge_texts(["Do I have a husband?"])

    floors = find_topic_floors(clause)

    assert floors is not None
    assert floors.by_attribute[Attribute.PARTNER] == 0.0
    assert floors.by_attribute[Attribute.PHONE] == FAR_FLOOR
    assert 0.0 < floors.by_attribute[Attribute.PETS] < FAR_FLOOR


def test_question_about_somebody_else_is_not_answered_by_the_persons_own(judge: Judge) -> None:
    (mine,) = judge.judge_texts(["Where do I live?"])
    (hers,) = judge.judge_texts(["Where does my grandmother live?"])

    floors = [find_topic_floors(clause) for clause in (mine, hers)]

    assert [each and each.by_attribute[Attribute.HOME] for each in floors] == [0.0, FAR_FLOOR]


async def test_fact_about_somebody_of_theirs_has_the_floor_of_no_topic(judge: Judge) -> None:
    fact = "My sister Ines lives in Faro."

    assert build_fact_metadata({}, fact, judge)["about"] == About.OTHER
    assert await ask(store(judge, [fact]), "Where does my sister Ines live?") == [fact]


def test_words_that_only_name_the_speaker_find_nothing(judge: Judge) -> None:
    (clause,) = judge.judge_texts(["私の身長は何センチですか？"])

    floors = find_topic_floors(clause)

    assert floors is not None
    assert "私" not in floors.words
    assert "身長" in floors.words


@pytest.mark.parametrize("text", ["Write a sonnet about rain.", "Thank you!", "cello"])
def test_request_talk_and_single_words_have_no_floors_of_topics(judge: Judge, text: str) -> None:
    (clause,) = judge.judge_texts([text])

    assert find_topic_floors(clause) is None


@pytest.mark.parametrize("scope", ["workflow", "global", "conversation", "run"])
def test_memory_that_is_not_a_persons_has_no_floors_of_topics(judge: Judge, scope: str) -> None:
    query = MemoryQuery("", query_text="Do I have a husband?")

    assert set_floors(judge, query, scope).topic_floors is None
    assert set_floors(judge, query, "user").topic_floors is not None


def test_texts_were_not_used_for_training() -> None:
    trained = {sentence.text for sentence in (*read_sentences(), *read_questions())}
    questions = {
        text for _, unknown, (question, _) in PEOPLE.values() for text in (*unknown, question)
    }

    assert trained.isdisjoint(questions)
