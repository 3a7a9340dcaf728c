"""A question about the past finds what no longer holds, and no other question does. None of them was used for training."""

from datetime import UTC, datetime
from typing import Any

import pytest

from bench.judgement.sentences import read_questions, read_sentences, read_times
from memory.core.recall.floor import ATTRIBUTE
from memory.core.records import MemoryEntry, MemoryQuery, StoreParams
from memory.embedding.embedders import Options
from memory.embedding.local import LocalModel
from memory.logic.judgement.asked_facts import MIN_FORMER, TOPIC_PART
from memory.logic.judgement.judge import Judge
from memory.logic.judgement.questions.question_recall import OTHER_TOPIC_SHARE, recall_for_question
from memory.logic.judgement.wishes.remaining import build_fact_metadata
from memory.providers.in_memory import InMemoryProvider
from workflows.engine.ports import Origin


# Language: what held, what holds now, the question about the past, and the one about the present.
HOMES = {
    "ar": ("أسكن في القاهرة.", "انتقلت إلى دبي.", "أين كنت أسكن من قبل؟", "أين أسكن؟"),
    "de": ("Ich wohne in Kiel.", "Ich bin nach Graz gezogen.", "Wo habe ich früher gewohnt?", "Wo wohne ich?"),
    "en": ("I live in Berlin.", "I moved to Lyon.", "Where did I live before?", "Where do I live?"),
    "es": ("Vivo en Madrid.", "Me mudé a Valencia.", "¿Dónde vivía antes?", "¿Dónde vivo?"),
    "fr": ("J'habite à Nantes.", "J'ai déménagé à Lille.", "Où est-ce que j'habitais avant ?", "Où est-ce que j'habite ?"),
    "it": ("Abito a Torino.", "Mi sono trasferita a Bari.", "Dove abitavo prima?", "Dove abito?"),
    "ja": ("大阪に住んでいます。", "福岡に引っ越しました。", "前はどこに住んでいましたか？", "どこに住んでいますか？"),
    "ko": ("저는 부산에 살아요.", "대전으로 이사했어요.", "나는 전에 어디에 살았어?", "나는 어디에 살아?"),
    "nl": ("Ik woon in Utrecht.", "Ik ben naar Gent verhuisd.", "Waar woonde ik vroeger?", "Waar woon ik?"),
    "pl": ("Mieszkam w Gdyni.", "Mieszkam teraz w Łodzi.", "Gdzie wcześniej mieszkałem?", "Gdzie mieszkam?"),
    "pt": ("Moro em Lisboa.", "Mudei-me para o Porto.", "Onde eu morava antes?", "Onde eu moro?"),
    "ru": ("Я живу в Омске.", "Я переехал в Казань.", "Где я жил раньше?", "Где я живу?"),
    "th": ("ฉันอยู่เชียงใหม่", "ฉันย้ายไปขอนแก่นแล้ว", "ก่อนหน้านี้ฉันอยู่ที่ไหน", "ฉันอยู่ที่ไหน"),
    "tr": ("İzmir'de yaşıyorum.", "Bursa'ya taşındım.", "Daha önce nerede yaşıyordum?", "Nerede yaşıyorum?"),
    "zh": ("我住在北京。", "我搬到上海了。", "我以前住在哪里？", "我住在哪里？"),
    "zh-hant": ("我住在臺北。", "我搬到高雄了。", "我之前住在哪裡？", "我住在哪裡？"),
}  # fmt: skip
OTHER_PAST = (
    "What did I work as before I became a teacher?",
    "What was my favourite colour before?",
    "Quel était mon travail avant ?",
)
OTHER_PRESENT = (
    "What is my work?",
    "When is my flight?",
    "In which hospital was I born?",
    "How did I like my coffee?",
    "What did I say my job was?",
    "What is the capital of Peru?",
    "How old is the universe?",
    "Wie heißt mein Zahnarzt?",
    "我的摩托车停在哪儿了？",
)
ENDED = datetime(2026, 3, 3, tzinfo=UTC)


def store(judge: Judge, former: str, current: str) -> InMemoryProvider:
    memory = InMemoryProvider(embedder=LocalModel(Options()))
    memory.judge = judge
    for key, text, until in (("former", former, ENDED), ("current", current, None)):
        metadata = build_fact_metadata({}, text, judge)
        memory.store(StoreParams("user:mia", key, value=text, metadata=metadata, valid_until=until))
    return memory


async def ask(memory: InMemoryProvider, question: str, **more: Any) -> list[MemoryEntry]:
    hits = await memory.port().recall(
        scope="user",
        identity={"user_id": "mia"},
        origin=Origin("run", "node", "1"),
        query_text=question,
        **more,
    )
    return [*hits]


@pytest.mark.parametrize("language", HOMES)
async def test_only_the_question_about_the_past_finds_the_former_home_and_finds_it_first(
    judge: Judge, language: str
) -> None:
    former, current, past_question, present_question = HOMES[language]
    memory = store(judge, former, current)

    past = [hit.key for hit in await ask(memory, past_question)]
    present = [hit.key for hit in await ask(memory, present_question)]

    assert past[:1] == ["former"]
    assert present == ["current"]


@pytest.mark.parametrize("question", [pair[2] for pair in HOMES.values()])
async def test_node_that_wants_no_former_memories_gets_none(judge: Judge, question: str) -> None:
    memory = store(judge, *HOMES["en"][:2])

    hits = await ask(memory, question, include_former=False)

    assert "former" not in [hit.key for hit in hits]


@pytest.mark.parametrize("question", OTHER_PAST)
def test_past_of_other_things_is_asked_for(judge: Judge, question: str) -> None:
    (clause,) = judge.judge_texts([question])

    assert clause.former >= MIN_FORMER


@pytest.mark.parametrize("question", OTHER_PRESENT)
def test_past_tense_alone_asks_for_nothing_former(judge: Judge, question: str) -> None:
    (clause,) = judge.judge_texts([question])

    assert clause.former < 0.5


async def test_hit_that_was_found_by_its_topic_says_so(judge: Judge) -> None:
    memory = store(judge, "I own a canoe.", "I moved to Lyon.")

    (hit,) = await ask(memory, "Where do I live?")

    assert (hit.key, hit.explain[TOPIC_PART]) == ("current", 1.0)


def test_questions_were_not_used_for_training() -> None:
    trained = {sentence.text for sentence in (*read_sentences(), *read_questions(), *read_times())}
    asked = {question for pair in HOMES.values() for question in pair[2:]}

    assert trained.isdisjoint((*asked, *OTHER_PAST, *OTHER_PRESENT))


def build_hit(id_: str, rank: float, attribute: Any = None) -> MemoryEntry:
    metadata = {} if attribute is None else {ATTRIBUTE: attribute}
    parts = {"words": 0.2, "rank": rank, "rank_vector": rank}
    return MemoryEntry(
        value=id_,
        metadata=metadata,
        id=id_,
        namespace="user:mia",
        key=id_,
        score=0.4,
        explain=parts,
    )


@pytest.mark.parametrize(
    ("question", "order"),
    [
        ("Which languages do I speak?", ["language", "list", "employer", "note"]),
        ("Welche Sprachen kann ich?", ["language", "list", "employer", "note"]),
        ("我会说哪些语言？", ["language", "list", "employer", "note"]),
        ("How many languages are spoken on Earth?", ["employer", "language", "list", "note"]),
        ("Please translate it into French.", ["employer", "language", "list", "note"]),
    ],
)
def test_fact_on_another_topic_than_the_question_loses_a_part_of_its_rank(
    judge: Judge, question: str, order: list[str]
) -> None:
    hits = [
        build_hit("employer", 0.5, "employer"),
        build_hit("language", 0.45, "language"),
        build_hit("list", 0.4, ["employer"]),  # an author's own metadata
        build_hit("note", 0.3),
    ]

    entries = recall_for_question(
        judge,
        MemoryQuery("", query_text=question, top_k=4),
        "user",
        lambda query: [] if query.by_topic else [*hits],
        lambda: ENDED,
    )

    assert [entry.id for entry in entries] == order
    employer = next(entry for entry in entries if entry.id == "employer")
    share = OTHER_TOPIC_SHARE if order[0] == "language" else 1.0
    assert employer.explain == {
        "words": 0.2,
        "rank": 0.5 * share,
        "rank_vector": 0.5 * share,
    }
    assert employer.score == 0.4
