"""The gallery: every sample copies, publishes and does offline what its text says."""

from hashlib import sha256
from itertools import combinations

import pytest

from accounts.errors import NotAllowed, NotFound
from memory.providers.in_memory import InMemoryProvider
from workflows.engine.dsl import load_document
from workflows.engine.nodes import builtin_kinds
from workflows.engine.runner import WorkflowRunner
from workflows.engine.validation import errors_of, validate
from workflows.llm.offline.provider import OfflineModels
from workflows.samples import BY_SLUG, SAMPLES
from workflows.services import publishing, samples


CARD_WIDTH, GAP = 220, 80


def runner_of(slug: str) -> WorkflowRunner:
    return WorkflowRunner(BY_SLUG[slug].source, memory=InMemoryProvider(), models=OfflineModels())


async def said(runner: WorkflowRunner, query: str, *, person: str, talk: str) -> str:
    system = {"query": query, "user_id": person, "conversation_id": talk}
    result = await runner.start(system=system).result()
    assert result.error is None
    return str(result.outputs["answer"])


async def given(runner: WorkflowRunner, *, person: str = "ana", talk: str = "c1", **inputs: str):
    system = {"user_id": person, "conversation_id": talk, "app_id": "app"}
    result = await runner.start(inputs=inputs, system=system).result()
    assert result.error is None
    return result.outputs


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.slug)
def test_sample_has_no_problems_and_four_lines(sample):
    loaded = load_document(sample.source)
    problems = validate(loaded.document, builtin_kinds())

    assert (loaded.warnings, errors_of(problems)) == ((), [])
    # Seed 0's document is kept to the byte, the variable it never declares included.
    assert [p.code for p in problems] == ["reference.unknown_variable"] * (
        sample.slug == "exchange"
    )
    assert len(sample.lines) == 4
    assert (loaded.document.mode == "advanced-chat") == sample.is_chat


@pytest.mark.parametrize("slug", ["chatbot", "scopes"])
def test_cards_do_not_touch_and_wires_run_to_the_right(slug):
    document = load_document(BY_SLUG[slug].source).document
    at = {node.id: node.position for node in document.nodes}

    for one, other in combinations(at.values(), 2):
        apart_x = abs(one.x - other.x) >= CARD_WIDTH + GAP
        assert apart_x or abs(one.y - other.y) >= 100
    for edge in document.edges:
        assert at[edge.target].x - at[edge.source].x >= CARD_WIDTH + GAP


@pytest.mark.parametrize(
    ("fact", "question", "named"),
    [
        ("My cat is called Miso.", "What is my cat called?", "Miso"),
        ("I'm Ana, and I'm allergic to peanuts.", "What should I avoid eating?", "peanuts"),
        ("我的猫叫米索。", "我的猫叫什么？", "米索"),
    ],
)
async def test_chatbot_told_a_fact_knows_it_in_a_new_conversation_of_the_same_person(
    fact, question, named
):
    runner = runner_of("chatbot")

    before = await said(runner, question, person="ana", talk="c0")
    await said(runner, fact, person="ana", talk="c1")
    after = await said(runner, question, person="ana", talk="c2")
    other = await said(runner, question, person="ben", talk="c3")

    assert (named in before, named in after, named in other) == (False, True, False)


async def test_chatbot_keeps_statements_and_not_questions():
    memory = InMemoryProvider()
    runner = WorkflowRunner(BY_SLUG["chatbot"].source, memory=memory, models=OfflineModels())

    for text in ("What is my name?", "我叫什么？", "My name is Ana.", "I live in Bern."):
        await said(runner, text, person="ana", talk="c1")

    from memory.core.records import MemoryQuery

    kept = await memory.recall(MemoryQuery(namespace="user:ana"))
    assert sorted(entry.value for entry in kept) == ["I live in Bern.", "My name is Ana."]


def test_exchange_is_the_seeds_document_to_the_byte():
    digest = sha256(BY_SLUG["exchange"].source.encode()).hexdigest()

    assert digest == "d00ec3f63f5d2f349f56f36b8ae44bac886517a4fe45ca1aa0ef869581c05b0d"


async def test_exchange_is_recalled_in_the_same_conversation_only():
    runner = runner_of("exchange")

    await given(runner, query="My cat is called Miso.")
    same = await given(runner, query="What is my cat called?")
    other = await given(runner, query="What is my cat called?", talk="c2")

    assert ("Miso" in same["answer"], "Miso" in other["answer"]) == (True, False)


@pytest.mark.parametrize(
    ("scope", "asks"),
    [
        ("conversation", {"person": "ben", "talk": "c1"}),
        ("user", {"person": "ana", "talk": "c9"}),
        ("global", {"person": "ben", "talk": "c9"}),
    ],
)
async def test_router_finds_in_a_scope_what_was_kept_there_and_in_no_other(scope, asks):
    runner = runner_of("scopes")
    fact, question = "The meeting room is called Aurora.", "What is the meeting room called?"

    kept = await given(runner, text=fact, scope=scope)
    found = {
        where: await given(runner, text=question, scope=where, **asks)
        for where in ("conversation", "user", "global")
    }

    assert (kept["remembered"], kept["scope"]) == (fact, scope)
    assert [where for where, out in found.items() if "Aurora" in out["answer"]] == [scope]
    assert [where for where, out in found.items() if out["recalled"]] == [scope]


@pytest.mark.django_db
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.slug)
def test_copied_sample_is_the_teams_own_and_can_be_published(sample, bob):
    workflow = samples.copy_sample(bob.principal, team_id=bob.team.pk, slug=sample.slug)

    assert (workflow.sample, workflow.name, workflow.team_id) == (
        sample.slug,
        str(sample.title),
        bob.team.pk,
    )
    assert publishing.publish(bob.principal, workflow=workflow).number == 1


@pytest.mark.django_db
def test_sample_is_copied_by_editors_and_only_if_there_is_one(bob, vic):
    with pytest.raises(NotAllowed):
        samples.copy_sample(vic.principal, team_id=vic.team.pk, slug="chatbot")
    with pytest.raises(NotFound):
        samples.copy_sample(bob.principal, team_id=bob.team.pk, slug="../settings")
