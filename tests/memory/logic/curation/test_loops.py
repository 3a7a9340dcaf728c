"""Runs that answer from memory, and runs that store: what they leave behind, again and again."""

import pytest

from memory.core.records import MemoryQuery, Source, StoreParams
from memory.logic.curation.curator import Curator, store_drafts
from memory.logic.curation.extractive import ExtractiveCurator
from memory.logic.curation.work import FinishedWork
from memory.logic.entries.texts import list_texts
from tests.memory.logic.curation.test_curator import answer, curated, kept, model
from tests.memory.logic.support import NAMESPACE, provider


TOLD = {
    "en": ["I'm Zoe, and I'm allergic to walnuts.", "My cat is called Mimi.", "Bob lives in Rome."],
    "zh": ["我喜欢在周末爬山。", "我的猫叫咪咪。", "我对花生过敏。"],
}
QUOTED = {
    "en": ["I remember: “{0}” “{1}”", "{0} {2}", "- said_01a2-9: {1}\n- said_01a2-8: {2}",
           "As I noted, {1} And {0}", '{{"learnings": ["{2}"]}}', "Noted: {0}"],
    "zh": ["我记得：“{0}” “{1}”", "{0}{2}", "- said_01a2-9: {1}\n- said_01a2-8: {2}", "根据之前的记忆，“{2}”"],
}  # fmt: skip


@pytest.mark.parametrize("by", ["offline", "model"])
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_hundred_answers_that_quote_several_memories_leave_memory_as_it_was(
    by: str, language: str
):
    """spec §8b: several facts, headings, quotes and an account of the run itself; two languages."""
    entries = provider()
    told = TOLD[language]
    for number, fact in enumerate(told):
        entries.store(StoreParams(NAMESPACE, f"said_{number}", value=fact, category="fact"))
    ways = QUOTED[language]

    for run in range(100):
        hits = entries.recall(MemoryQuery(NAMESPACE, top_k=20))
        recalled = [text for one in hits for text in list_texts(one.value)]
        said = [ways[run % len(ways)].format(*told)]
        scripted, _ = model(answer(key_learnings=said, summary=told[run % 3]))
        question = "What do you know of me?" if language == "en" else "你知道我的什么？"
        work = FinishedWork(
            question,
            outputs=[question, *said],
            recalled_texts=recalled,
            language=language,
            source=Source(run_id=f"r{run}"),
        )
        curator: Curator = scripted if by == "model" else ExtractiveCurator()
        store_drafts(await curated(work, curator), entries)

    found = entries.recall(MemoryQuery(NAMESPACE, top_k=100))
    assert sorted(str(one.value) for one in found) == sorted(told)
    assert {one.revision for one in found} == {1}


async def test_what_the_run_stored_itself_is_neither_learnt_nor_accounted_for():
    entries = provider()
    fact = "I'm Zoe, and I'm allergic to walnuts."
    entries.store(StoreParams(NAMESPACE, "said_1", value=fact, category="fact"))

    done = await curated(FinishedWork(fact, outputs=[fact, f"Noted: {fact}"], stored_texts=[fact]))

    assert done.drafts == ()


@pytest.mark.parametrize("fact", ["My cat is called Mimi.", "我的猫叫咪咪。"])
async def test_what_is_told_again_is_neither_learnt_nor_accounted_for(fact: str):
    """The run stores nothing, because memory has the fact already, and recalls it."""
    language = "en" if fact.isascii() else "zh"
    others = TOLD[language][:1]

    done = await curated(
        FinishedWork(
            fact, outputs=[fact, "Noted."], recalled_texts=[*others, fact], language=language
        )
    )

    assert done.drafts == ()


async def test_run_that_did_something_is_accounted_for_though_it_was_reminded():
    recalled = ["Deploy the shop: succeeded.", "The shop runs on port 8080"]

    done = await curated(
        FinishedWork("Deploy the shop", outputs=["Done."], recalled_texts=recalled)
    )

    assert [one.value for one in done.drafts] == [{"summary": "Deploy the shop: succeeded."}]


async def test_learning_that_somebody_said_before_is_a_proof_of_what_they_said():
    entries = provider()
    fact = "My cat Mimi is allergic to fish"
    entries.store(
        StoreParams(
            NAMESPACE, "pet", value=fact, metadata={"by": "me"}, category="fact", importance=0.3
        )
    )

    store_drafts(await curated(FinishedWork("t", outputs=[f"{fact}."])), entries)

    [kept_one] = [one for one in entries.recall(MemoryQuery(NAMESPACE)) if one.key == "pet"]
    assert kept(entries, "result") == []
    assert (kept_one.value, kept_one.importance) == (fact, 0.3)
    assert (kept_one.metadata["by"], kept_one.metadata["proofs"]) == ("me", 2)


async def test_learning_never_outranks_what_it_was_made_of():
    entries = provider()
    fact = "My cat Mimi is allergic to fish from the lake"
    entries.store(StoreParams(NAMESPACE, "pet", value=fact, category="fact", importance=0.3))

    learnt = "My cat Mimi is allergic to fish and chicken from the lake since May 2024"
    store_drafts(await curated(FinishedWork("t", outputs=[learnt])), entries)

    [made] = kept(entries, "result")
    assert list_texts(made.value) == [learnt]
    assert made.importance == 0.3
