"""The gallery: every sample copies, publishes and does offline what its text says."""

import re
from collections.abc import Iterator
from hashlib import sha256
from itertools import combinations
from typing import Any

import pytest
from django.utils import translation

from accounts.errors import NotAllowed, NotFound
from accounts.models import AuditEntry
from accounts.personas import make_persona_id
from accounts.tenancy import tenant
from memory.providers.in_memory import InMemoryProvider
from memory.public import MemoryCaller, MemoryFault, recall, remember
from tests.support.cases import for_each
from tests.support.engine import JinjaHere
from workflows.engine.geometry import compute_note_shape, compute_shape
from workflows.engine.language.dsl import load_document
from workflows.engine.language.memory_usage import list_memory_scopes
from workflows.engine.language.problems import select_unfinished
from workflows.engine.language.validation import select_errors, validate
from workflows.engine.nodes import build_kinds
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.testing.cases import Case, FormAnswer, Turn
from workflows.execution.evaluation.case_runner import CaseRunner
from workflows.execution.ports.adapters import Services
from workflows.execution.ports.models import build_models
from workflows.llm.offline.provider import OfflineModels
from workflows.models import DataCase
from workflows.samples import SAMPLES, SAMPLES_BY_SLUG
from workflows.samples.wording import CONTEXT, FOLDER, list_file_texts
from workflows.services import publishing
from workflows.services.editor.drafts import load_draft
from workflows.services.samples import samples
from workflows.services.tools.workflow_tools import list_workflow_tools


GAP = 40
SUGGESTED = "suggested_questions"
RECALLS = {"memory-recall", "knowledge-retrieval"}
REMEMBERING = [sample for sample in SAMPLES if sample.scopes]


def runner_of(slug: str) -> WorkflowRunner:
    return WorkflowRunner(
        SAMPLES_BY_SLUG[slug].source,
        memory=InMemoryProvider(),
        models=OfflineModels(),
        templates=JinjaHere(),
    )


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


@for_each("sample", SAMPLES, ids=lambda sample: sample.slug)
def test_sample_has_no_problems_and_four_lines(sample):
    loaded = load_document(sample.source)
    problems = list(validate(loaded.document, build_kinds()))

    assert (loaded.warnings, select_errors(problems), select_unfinished(problems)) == ((), [], [])
    # Seed 0's document is kept to the byte, the variable it never declares included.
    assert [p.code for p in problems] == ["reference.undeclared"] * (sample.slug == "exchange")
    assert all(str(line).strip() for line in sample.explanation_lines)
    assert len(sample.cases) >= 3
    assert bool(sample.memories) == (FOLDER / sample.slug / "memories.yml").exists()
    assert set(sample.scopes) == list_memory_scopes(loaded.document, build_kinds())
    assert (loaded.document.mode == "advanced-chat") == sample.is_chat


def test_gallery_begins_with_the_chatbot_and_has_every_folder():
    explained = [sample for sample in SAMPLES if not sample.is_block]

    assert (explained[0].slug, SAMPLES[0].slug) == ("chatbot", "chatbot")
    assert len(explained) >= 17
    assert all(sample.shows for sample in explained)
    assert {path.parent.name for path in FOLDER.glob("*/workflow.yml")} == set(SAMPLES_BY_SLUG)


@pytest.fixture(scope="module")
def services() -> Iterator[Services]:
    made = Services(build_models)
    yield made
    made.close()


LANGUAGES = ("en", "zh-hans")
in_each_language = pytest.mark.parametrize("language", LANGUAGES)


def spoken(sample, language: str):
    """Document, cases and memories as somebody gets them who reads that language."""
    with translation.override(language):
        return load_document(sample.source).document, sample.cases, sample.memories


def build_case_runner(services: Services, sample, language: str) -> CaseRunner:
    """A runner that knows the workflows that the sample runs."""
    with translation.override(language):
        others = {name: load_document(sample.read_other(name)).document for name in sample.others}
    return CaseRunner(services, OfflineModels(), workflows=others)


# Several tests look at the same results.
_RESULTS: dict[tuple[str, str, int], Any] = {}


async def run_case(services: Services, sample, language: str, number: int):
    key = (sample.slug, language, number)
    if key not in _RESULTS:
        document, cases, _memories = spoken(sample, language)
        runner = build_case_runner(services, sample, language)
        _RESULTS[key] = await runner.run(document, cases[number])
    return _RESULTS[key]


CASES = [(sample, number) for sample in SAMPLES for number in range(len(sample.cases))]


@in_each_language
@pytest.mark.parametrize(
    ("sample", "number"), CASES, ids=[f"{sample.slug}: {number}" for sample, number in CASES]
)
async def test_case_of_a_sample_passes_offline(sample, number, language, services):
    result = await run_case(services, sample, language, number)

    findings = [finding for turn in result.turns for finding in turn.findings]
    assert (result.problem, [finding for finding in findings if not finding.ok]) == ("", [])
    assert len(findings) >= 1
    assert result.has_passed


def found_by_recall_nodes(document, facts) -> int | None:
    """How many memories this run's recall nodes and agents found; None where none of them looked."""
    nodes = {node.id for node in document.nodes if node.kind in RECALLS}
    counts = [step.outputs["count"] for step in facts.steps if step.key.node_id in nodes]
    rounds = [each for step in facts.steps for each in step.outputs.get("rounds") or ()]
    called = {call["name"] for each in rounds for call in each["calls"]}
    if "recall" in called or any(map(has_todo_memory, document.nodes)):
        counts.append(len(facts.recalled))
    return sum(counts) if counts else None


def has_todo_memory(node) -> bool:
    """Whether the node is an agent whose to-dos recall from the memory of its workflow."""
    return node.data.get("strategy") == "todo" and bool(node.data.get("enhanced_memory"))


SUGGESTING = [s for s in REMEMBERING if load_document(s.source).document.features.get(SUGGESTED)]


@in_each_language
@pytest.mark.parametrize("sample", SUGGESTING, ids=lambda sample: sample.slug)
async def test_suggested_question_of_a_sample_finds_a_memory(sample, language, services):
    document, _cases, memories = spoken(sample, language)
    person = next((seed.person for seed in memories if seed.scope == "user"), "ana")
    asks = any(map(has_todo_memory, document.nodes))
    approve = FormAnswer(values={"answer": "Ada 36"}) if asks else FormAnswer(action="approve")
    turn = Turn(person=person, group="kitchen", answers=(approve,))
    said = [turn.model_copy(update={"say": text}) for text in document.features[SUGGESTED]]
    case = Case(name="as suggested", turns=tuple(said), memories=tuple(memories))

    result = await build_case_runner(services, sample, language).run(document, case)

    found = {
        turn.say: found_by_recall_nodes(document, done.facts)
        for turn, done in zip(said, result.turns, strict=True)
    }
    # What ends with a full stop tells something: before the first of them there is nothing to find.
    asked = {say: count for say, count in found.items() if not str(say).endswith((".", "。"))}
    assert result.problem == ""
    assert sum(count is not None for count in asked.values()) >= 1
    assert [say for say, count in asked.items() if count == 0] == []


@in_each_language
@pytest.mark.parametrize("sample", REMEMBERING, ids=lambda sample: sample.slug)
async def test_case_that_claims_a_recall_has_one_by_its_recall_node(sample, language, services):
    document, cases, _memories = spoken(sample, language)
    found, claimed = [], []

    for number, case in enumerate(cases):
        result = await run_case(services, sample, language, number)
        for turn, done in zip(case.turns, result.turns, strict=True):
            count = found_by_recall_nodes(document, done.facts)
            found.append(count or 0)
            if any(check.of == "recalled" for check in turn.checks):
                claimed.append((case.name, turn.say or turn.inputs, count))

    assert max(found) >= 1, "no case shows a memory that is found"
    assert [claim for claim in claimed if not claim[2]] == []


@for_each("sample", [s for s in SAMPLES if s.slug != "exchange"], ids=lambda sample: sample.slug)
def test_cards_do_not_touch_and_wires_run_to_the_right(sample):
    document = load_document(sample.source).document
    boxes = {node.parent for node in document.nodes if node.parent}
    shapes = {
        node.id: compute_shape(node, build_kinds(), is_box=node.id in boxes)
        for node in document.nodes
    }
    nodes = {node.id: node for node in document.nodes}

    for one, other in combinations(document.nodes, 2):
        if one.parent == other.parent:
            assert _apart(one, shapes[one.id], other, shapes[other.id]), (one.id, other.id)
    for edge in document.edges:
        left, right = nodes[edge.source], nodes[edge.target]
        assert right.position.x - left.position.x >= shapes[left.id].width + GAP
    for note in document.notes:
        for node in document.nodes:
            assert node.parent or _apart(note, compute_note_shape(note), node, shapes[node.id]), (
                node.id
            )


_LATIN = re.compile(r"[A-Za-z]{3,}")
# What stays as it is in any language: names of people, formats and things, and words of code.
_KEPT = {
    "LLM",
    "API",
    "JSON",
    "ATP",
    "Menzel",
    "Lehrer",
    "Kaiser",
    "sam",
    "cron",
    "terms",
    "shipping",
    # of tools and merged functions
    *("recall", "remember", "forget", "page", "desktop", "create", "excel", "document"),
    *("calculator", "run"),
}


@for_each("sample", SAMPLES, ids=lambda sample: sample.slug)
def test_copy_in_chinese_is_chinese_throughout(sample):
    english, _cases, _memories = spoken(sample, "en")
    document, cases, memories = spoken(sample, "zh-hans")

    said = [
        text for node in document.nodes for text in (node.title, str(node.data.get("desc", "")))
    ]
    said += [str(note.data.get("text", "")) for note in document.notes]
    said += [str(document.features.get("opening_statement", ""))]
    said += [str(text) for text in document.features.get(SUGGESTED, [])]
    said += [case.name for case in cases] + [
        turn.say or "" for case in cases for turn in case.turns
    ]
    said += [seed.value for seed in memories if isinstance(seed.value, str)]

    words = {word for text in said for word in _LATIN.findall(re.sub(r"`.*?`|“\w+”", "", text))}
    assert words <= _KEPT
    assert [(node.id, node.kind) for node in document.nodes] == [
        (node.id, node.kind) for node in english.nodes
    ]
    assert document.edges == english.edges


def test_texts_for_programmes_are_the_same_in_every_language():
    places = re.compile(r"\{\{#.*?#\}\}|\{\{.*?\}\}|\{%.*?%\}")

    for file, text in list_file_texts():
        with translation.override("zh-hans"):
            other = translation.pgettext(CONTEXT, text)
        assert sorted(places.findall(other)) == sorted(places.findall(text)), (file, text)


def _apart(one, size, other, other_size) -> bool:
    a, b = one.position, other.position
    beside = a.x + size.width + 16 <= b.x or b.x + other_size.width + 16 <= a.x
    below = a.y + size.height + 16 <= b.y or b.y + other_size.height + 16 <= a.y
    return beside or below


@pytest.mark.parametrize(
    ("fact", "question", "named"),
    [
        ("My cat is called Miso.", "What is my cat called?", "Miso"),
        ("I'm Ana, and I'm allergic to peanuts.", "What am I allergic to?", "peanuts"),
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
    runner = WorkflowRunner(
        SAMPLES_BY_SLUG["chatbot"].source,
        memory=memory,
        models=OfflineModels(),
        templates=JinjaHere(),
    )

    for text in ("What is my name?", "我叫什么？", "My name is Ana.", "I live in Bern."):
        await said(runner, text, person="ana", talk="c1")

    from memory.core.records import MemoryQuery

    kept = memory.recall(MemoryQuery(namespace="user:ana"))
    assert sorted(entry.value for entry in kept) == ["I live in Bern.", "My name is Ana."]


def test_exchange_is_the_seeds_document_to_the_byte():
    digest = sha256(SAMPLES_BY_SLUG["exchange"].source.encode()).hexdigest()

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
def test_copy_brings_the_workflows_that_the_sample_runs_published_and_as_tools(bob):
    first = samples.copy_sample(bob.principal, team_id=bob.team.pk, slug="shop")
    second = samples.copy_sample(bob.principal, team_id=bob.team.pk, slug="shop")

    tools = {tool.spec.name for tool in list_workflow_tools(bob.principal, bob.team.pk)}
    assert tools == {"shipping-price", "shipping-price-2"}
    for workflow, name in ((first, "shipping-price"), (second, "shipping-price-2")):
        agent = next(node for node in load_draft(workflow).nodes if node.kind == "agent")
        script = agent.data["model"]["completion_params"]["offline_script"]
        assert agent.data["tools"][0]["provider"] == agent.data["tools"][0]["name"] == name
        assert script[0]["tool_calls"][0]["name"] == name
        assert f"the tool {name};" in agent.data["instruction"]


@pytest.mark.django_db
def test_sample_is_copied_by_editors_and_only_if_there_is_one(bob, vic):
    with pytest.raises(NotAllowed):
        samples.copy_sample(vic.principal, team_id=vic.team.pk, slug="chatbot")
    with pytest.raises(NotFound):
        samples.copy_sample(bob.principal, team_id=bob.team.pk, slug="../settings")


def entries_of(person, *, scope: str, user: str = "", workflow=None) -> dict[str, object]:
    """What the person themselves finds there."""
    caller = MemoryCaller(
        person.principal,
        person.team.pk,
        identity={"user_id": user or str(person.user.pk), "app_id": str(workflow and workflow.pk)},
    )
    return {entry.key: entry for entry in recall(caller, scope=scope)}


@pytest.mark.django_db
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.slug)
def test_copy_brings_its_cases_and_its_memories_in_the_scope_they_name(sample, bob):
    workflow = samples.copy_sample(bob.principal, team_id=bob.team.pk, slug=sample.slug)

    with tenant([bob.team.pk]):
        kept = list(
            DataCase.objects.unscoped().filter(data_set__workflow=workflow).order_by("rank")
        )
    assert [case.name for case in kept] == [case.name for case in sample.cases]
    for seed in sample.memories:
        user = make_persona_id(seed.person, bob.user.pk) if seed.person != "somebody" else ""
        entry = entries_of(bob, scope=seed.scope, user=user, workflow=workflow)[seed.key]
        if seed.is_page:
            assert {name: entry.value[name] for name in seed.value} == seed.value
            continue
        assert (entry.value, entry.metadata["sample"]) == (seed.value, sample.slug)


@pytest.mark.django_db
def test_copied_memories_are_the_copiers_and_the_copys_alone(alice, bob, carol):
    workflow = samples.copy_sample(bob.principal, team_id=bob.team.pk, slug="sales")
    other = samples.copy_sample(bob.principal, team_id=bob.team.pk, slug="handbook")

    ana = make_persona_id("Ana", bob.user.pk)
    assert "note_northwind" in entries_of(bob, scope="user", user=ana)
    assert "note_northwind" not in entries_of(alice, scope="user")
    assert "account_northwind_size" in entries_of(alice, scope="global", workflow=workflow)
    assert "account_northwind_size" not in entries_of(alice, scope="global", workflow=other)
    assert entries_of(carol, scope="global", workflow=workflow) == {}
    asked = MemoryCaller(carol.principal, bob.team.pk, identity={"app_id": str(workflow.pk)})
    with pytest.raises(MemoryFault):
        recall(asked, scope="global")


@pytest.mark.django_db
def test_second_copy_leaves_what_was_changed_since_the_first(bob):
    samples.copy_sample(bob.principal, team_id=bob.team.pk, slug="profile")
    ana = make_persona_id("Ana", bob.user.pk)
    caller = MemoryCaller(bob.principal, bob.team.pk, identity={"user_id": ana})
    remember(caller, scope="user", key="profile_language", value="Spanish")

    samples.copy_sample(bob.principal, team_id=bob.team.pk, slug="profile")

    assert entries_of(bob, scope="user", user=ana)["profile_language"].value == "Spanish"


@pytest.mark.django_db
def test_copy_writes_what_it_planted_into_the_trail(bob):
    samples.copy_sample(bob.principal, team_id=bob.team.pk, slug="handbook")

    with tenant([bob.team.pk]):
        stored = AuditEntry.objects.unscoped().filter(
            action="memory.stored", actor=bob.principal.actor
        )
        assert stored.count() == len(SAMPLES_BY_SLUG["handbook"].memories)


@pytest.mark.django_db
def test_sample_that_needs_memory_is_not_offered_without_it(bob, settings):
    settings.MEMORY_ENABLED = False

    offered = samples.list_offered()

    assert [sample.slug for sample in offered if sample.scopes] == []
    with pytest.raises(NotFound):
        samples.copy_sample(bob.principal, team_id=bob.team.pk, slug="profile")
    assert "profile_language" not in entries_of(bob, scope="user")


def test_sample_is_offered_where_all_its_kinds_are(monkeypatch):
    assert samples.list_offered() == SAMPLES
    known = build_kinds(memory=False, has_recall=True)
    monkeypatch.setattr(samples, "load_kinds", lambda: known)

    left = {sample.slug for sample in samples.list_offered()}

    needing = {
        sample.slug for sample in SAMPLES if {"memory-recall", "memory-store"} & {*sample.kinds}
    }
    assert needing
    assert not left & needing
