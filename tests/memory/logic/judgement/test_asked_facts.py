"""A question for something that a person has one of is answered by that fact first, whatever its words are."""

import pytest

from memory.core.recall.floor import ATTRIBUTE
from memory.core.records import MemoryEntry, MemoryQuery, StoreParams
from memory.logic.judgement.asked_facts import add_facts, find_asked_facts
from memory.logic.judgement.judge import Judge
from memory.logic.judgement.wishes.remaining import build_fact_metadata
from memory.providers.in_memory import InMemoryProvider
from workflows.engine.ports import Origin


HITS = [MemoryEntry(f"hit{number}", "user:mia", "k", value="") for number in range(3)]
FACT = MemoryEntry("fact", "user:mia", "k", value="")


def list_ids(entries: list[MemoryEntry]) -> list[str]:
    return [entry.id for entry in entries]


@pytest.mark.parametrize(
    ("facts", "come_first", "ids"),
    [
        ([FACT], False, ["hit0", "hit1", "hit2", "fact"]),
        ([FACT], True, ["fact", "hit0", "hit1", "hit2"]),
        ([FACT, HITS[2]], True, ["hit2", "fact", "hit0", "hit1"]),
        ([HITS[1]], False, ["hit0", "hit1", "hit2"]),
    ],
)
def test_facts_take_no_place_of_a_hit_unless_they_come_first(
    facts: list[MemoryEntry], come_first: bool, ids: list[str]
) -> None:
    assert list_ids(add_facts(HITS, facts, come_first=come_first)) == ids


@pytest.mark.parametrize(
    ("question", "is_sure"),
    [
        ("Where do I live?", True),
        ("我的家在什么城市？", True),
        ("Which language did I grow up speaking?", False),
        ("Why do cats always land on their feet?", None),
        ("What does my sibling do for a living?", None),
    ],
)
def test_question_asks_for_facts_of_the_person_only(
    judge: Judge, question: str, is_sure: bool | None
) -> None:
    asked = find_asked_facts(judge, MemoryQuery("user:mia", query_text=question))

    assert (None if asked is None else asked.is_sure) == is_sure


@pytest.mark.parametrize(
    "question",
    ["What do you know about me?", "Was hast du dir über mich gemerkt?", "¿Qué sabes de mí?",
     "关于我你都记得什么", "Что ты обо мне знаешь?", "나에 대해 뭘 알아?"],
)  # fmt: skip
def test_who_asks_what_is_known_about_them_asks_for_all_facts(judge: Judge, question: str) -> None:
    asked = find_asked_facts(judge, MemoryQuery("user:mia", query_text=question, top_k=5))

    assert asked is not None
    assert (asked.query.filter, asked.query.top_k) == ({ATTRIBUTE: {"$exists": True}}, 5)


@pytest.mark.parametrize(
    "question",
    ["What do you know about Peru?", "What do you know about my sister?", "What should I wear?",
     "What can you do?", "What do you think of me?", "你知道北京吗？"],
)  # fmt: skip
def test_other_questions_do_not_ask_for_everything(judge: Judge, question: str) -> None:
    asked = find_asked_facts(judge, MemoryQuery("user:mia", query_text=question))

    assert asked is None or asked.query.filter != {ATTRIBUTE: {"$exists": True}}


async def test_what_is_known_about_a_person_is_their_newest_facts(judge: Judge) -> None:
    memory = InMemoryProvider()
    memory.judge = judge
    facts = ["I live in Leeds.", "My wife's name is Lena.", "I play chess.", "I'm a baker."]
    for fact in facts:
        memory.store(
            StoreParams("user:mia", fact, value=fact, metadata=build_fact_metadata({}, fact, judge))
        )

    hits = await memory.port().recall(
        scope="user",
        identity={"user_id": "mia"},
        origin=Origin("run", "node", "1"),
        query_text="What do you know about me?",
        top_k=3,
    )

    assert [hit.value for hit in hits] == facts[:0:-1]


async def test_home_comes_before_what_has_the_words_of_the_question(judge: Judge) -> None:
    memory = InMemoryProvider()
    memory.judge = judge
    for key, value in {
        "sister": "My sister lives in Oslo.",
        "home": "I moved to Lyon in March.",
        "music": "I like where Nina Simone plays live.",
    }.items():
        metadata = build_fact_metadata({}, value, judge)
        memory.store(StoreParams("user:mia", key, value=value, metadata=metadata))

    hits = await memory.port().recall(
        scope="user",
        identity={"user_id": "mia"},
        origin=Origin("run", "node", "1"),
        query_text="Where do I live?",
        top_k=2,
    )

    assert [hit.key for hit in hits][:1] == ["home"]
