"""Remember with facts: what the model decides is done to memory; without a model memory decides itself."""

import itertools
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from memory.core.records import StoreParams
from memory.embedding import encoder
from memory.logic.judgement.judge import Judge, Proposal
from memory.logic.judgement.operations import LearnedChange
from memory.logic.judgement.probes import load_probes
from memory.logic.provider_port import ProviderPort
from memory.providers.in_memory import InMemoryProvider
from tests.support.documents import document, end, node, start
from workflows.engine.errors import ModelFailed
from workflows.engine.language.document import Document
from workflows.engine.nodes.memory.entry_keys import is_built_key
from workflows.engine.ports import (
    FACTS_TASK,
    ModelChunk,
    ModelPort,
    ModelRequest,
    ModelSource,
    Usage,
)
from workflows.engine.runtime.events import MemoryForgetAsked, MemoryForgotten, MemoryWritten
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.llm.offline import OfflineModels


MIA = {"conversation_id": "c1", "user_id": "mia"}
ENTRIES = ["keep", "entries"]


class ScriptedModel(ModelPort):
    """Gives its answers one after the other; an exception is raised."""

    def __init__(self, *answers: Any, source: ModelSource | None = None) -> None:
        self.source = source
        self.requests: list[ModelRequest] = []
        self._answers = [*answers]

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        self.requests.append(request)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        text = answer if isinstance(answer, str) else json.dumps(answer)
        usage = Usage(10, 5, cost=0.25)
        yield ModelChunk(text=text, finish_reason="stop", usage=usage, source=self.source)


def remember(**data: Any) -> Document:
    settings = {"scope": "user", "source": "facts", "value_selector": ["start", "text"], **data}
    nodes = [
        start("text"),
        node("keep", "memory-store", **settings),
        end(entries=ENTRIES, stored=["keep", "stored"], key=["keep", "key"]),
    ]
    return document(nodes, [f"{a.id} -> {b.id}" for a, b in itertools.pairwise(nodes)])


async def run(
    memory: InMemoryProvider, models: ModelPort | None, text: str, **data: Any
) -> tuple[Any, list[MemoryWritten]]:
    runner = WorkflowRunner(remember(**data), memory=memory, models=models)
    handle = runner.start(inputs={"text": text}, system=MIA)
    written = [event async for event in handle.events() if isinstance(event, MemoryWritten)]
    result = await handle.result()
    assert result.error is None
    return result, written


def operations(*all_of_them: dict[str, str]) -> dict[str, Any]:
    return {"operations": [*all_of_them]}


def add(text: str, evidence: str) -> dict[str, str]:
    return {"action": "add", "text": text, "evidence": evidence}


def replace(text: str, evidence: str, **dates: str) -> dict[str, str]:
    return {"action": "replace", "id": "k1", "text": text, "evidence": evidence, **dates}


def values(memory: InMemoryProvider) -> list[Any]:
    """What holds now."""
    return [e.value for e in memory.living("user:mia").values() if e.valid_until is None]


async def test_model_sees_what_is_known_and_replaces_it() -> None:
    memory = InMemoryProvider()
    await run(memory, None, "I live in Berlin.")
    models = ScriptedModel(operations(replace("I live in Lyon.", "moved to Lyon")))

    result, (written,) = await run(memory, models, "We moved to Lyon!")

    (request,) = models.requests
    assert json.loads(request.messages[-1].text)["known"] == [
        {"id": "k1", "text": "I live in Berlin."}
    ]
    former, current = memory.living("user:mia").values()
    assert (former.value, current.value) == ("I live in Berlin.", "I live in Lyon.")
    assert (former.replaced_by, current.replaces) == (current.id, former.id)
    assert former.valid_until is not None
    assert current.valid_from is not None
    assert [entry["value"] for entry in written.replaced] == ["I live in Berlin."]
    (step,) = [step for step in result.steps if step.key.node_id == "keep"]
    assert [entry["value"] for entry in step.outputs["ended"]] == ["I live in Berlin."]


async def test_what_a_model_invents_is_dropped_and_named_in_the_trace() -> None:
    memory = InMemoryProvider()
    await run(memory, None, "I live in Berlin.")
    models = ScriptedModel(
        operations(
            add("I am rich.", "I am rich"),
            {"action": "end", "id": "k9", "evidence": "Hello there"},
            {"action": "forget", "id": "k1", "evidence": "Hello there"},
        )
    )

    result, written = await run(memory, models, "Hello there, how are you?")

    assert (values(memory), written) == (["I live in Berlin."], [])
    (step,) = [step for step in result.steps if step.key.node_id == "keep"]
    assert [each["reason"] for each in step.inputs["dropped"]] == [
        "the evidence is not in the message",
        "the id is not one that was shown",
        "the person did not ask to forget anything",
    ]


async def test_model_that_can_not_tell_what_to_forget_lets_the_person_choose() -> None:
    memory = InMemoryProvider()
    known = ["My favourite tea is oolong.", "My mobile number is 555-0142."]
    for text in known:
        await run(memory, None, text)
    ask = {"action": "ask", "ids": ["k1", "k2"], "evidence": "forget my number"}
    runner = WorkflowRunner(remember(), memory=memory, models=ScriptedModel({"operations": [ask]}))

    handle = runner.start(inputs={"text": "Please forget my number"}, system=MIA)
    asked = [event async for event in handle.events() if isinstance(event, MemoryForgetAsked)]
    result = await handle.result()

    assert [sorted(entry["value"] for entry in event.entries) for event in asked] == [known]
    (step,) = [step for step in result.steps if step.key.node_id == "keep"]
    assert sorted(entry["value"] for entry in step.outputs["choices"]) == known
    assert sorted(values(memory)) == known


async def test_no_model_says_what_everything_is() -> None:
    memory = InMemoryProvider()
    port = ProviderPort(memory, Judge(encoder.encode, load_probes()))
    for number in range(12):
        memory.store(StoreParams("user:mia", f"k{number}", value=f"I play instrument {number}."))
    models = ScriptedModel(
        operations({"action": "forget", "id": "k1", "evidence": "Forget everything"})
    )
    runner = WorkflowRunner(remember(), memory=port, models=models)

    handle = runner.start(inputs={"text": "Forget everything about me."}, system=MIA)
    questions = [event async for event in handle.events() if isinstance(event, MemoryForgetAsked)]

    assert [len(event.entries) for event in questions] == [12]
    assert (len(values(memory)), models.requests) == (12, [])


async def test_model_reads_and_stores_nothing_of_what_is_not_to_be_kept() -> None:
    memory = InMemoryProvider()
    models = ScriptedModel(
        operations(
            add("I like tea.", "I like tea"),
            add("I am HIV positive.", "I am HIV positive"),
        )
    )

    await run(memory, models, "I like tea. I am HIV positive, but don't save that.")

    (request,) = models.requests
    assert "HIV" not in request.messages[-1].text
    assert values(memory) == ["I like tea."]


async def test_what_an_entry_says_beside_what_is_forgotten_is_reported_as_written() -> None:
    memory = InMemoryProvider()
    both = "I live in Hamburg and I am allergic to peanuts."
    memory.store(StoreParams("user:mia", "both", value=both))
    port = ProviderPort(memory, Judge(encoder.encode, load_probes()))
    runner = WorkflowRunner(remember(), memory=port)

    handle = runner.start(inputs={"text": "Please forget that I live in Hamburg."}, system=MIA)
    events = [event async for event in handle.events()]

    forgotten = [event for event in events if isinstance(event, MemoryForgotten)]
    written = [event.entry["value"] for event in events if isinstance(event, MemoryWritten)]
    assert [[entry["value"] for entry in event.entries] for event in forgotten] == [[both]]
    assert (written, values(memory)) == (["I am allergic to peanuts."],) * 2


async def test_without_an_encoder_an_entry_that_says_more_is_asked_about() -> None:
    memory = InMemoryProvider()
    memory.store(
        StoreParams("user:mia", "both", value="I live in Hamburg and am allergic to peanuts.")
    )
    wish = "Please forget that I live in Hamburg"
    forget = {"action": "forget", "id": "k1", "evidence": wish}
    runner = WorkflowRunner(remember(), memory=memory, models=ScriptedModel(operations(forget)))

    handle = runner.start(inputs={"text": wish}, system=MIA)
    choices = [event async for event in handle.events() if isinstance(event, MemoryForgetAsked)]

    assert [len(event.entries) for event in choices] == [1]
    assert values(memory) == ["I live in Hamburg and am allergic to peanuts."]


@pytest.mark.parametrize(("method", "counts"), [("meaning", [0]), ("rules", [])])
async def test_wish_to_forget_what_is_not_known_is_reported_if_it_surely_is_one(
    method: str, counts: list[int]
) -> None:
    class Asked(ProviderPort):
        async def learn_message(self, **arguments: Any) -> tuple[Proposal, list[LearnedChange]]:
            return Proposal((), (), method, asks_to_forget=True), []

    port = Asked(InMemoryProvider())
    handle = WorkflowRunner(remember(), memory=port).start(
        inputs={"text": "Forget my shoe size."}, system=MIA
    )

    forgotten = [e async for e in handle.events() if isinstance(e, MemoryForgotten)]

    assert [(event.count, event.key, event.filter) for event in forgotten] == [
        (count, None, None) for count in counts
    ]


async def test_what_is_quarantined_replaces_and_forgets_nothing() -> None:
    memory = InMemoryProvider()
    await run(memory, None, "I live in Berlin.")
    models = ScriptedModel(operations(replace("I live in Lyon.", "to Lyon")))

    await run(memory, models, "I moved to Lyon", tier="quarantine")

    former, quarantined = memory.living("user:mia").values()
    assert (former.valid_until, str(quarantined.tier)) == (None, "quarantine")


@pytest.mark.parametrize("models", [None, OfflineModels()], ids=["no model", "offline"])
async def test_without_a_model_statements_are_stored_and_questions_are_not(models) -> None:
    memory = InMemoryProvider()

    asked, nothing = await run(memory, models, "Where do I live?")
    told, written = await run(memory, models, "I'm allergic to peanuts. What can I cook?")

    assert asked.outputs == {"entries": [], "stored": False, "key": ""}
    assert values(memory) == ["I'm allergic to peanuts."]
    (entry,) = told.outputs["entries"]
    assert (told.outputs["stored"], told.outputs["key"]) == (True, entry["key"])
    assert is_built_key(entry["key"])
    assert ([], [entry["value"]]) == (nothing, [each.entry["value"] for each in written])


async def test_offline_provider_is_not_asked_for_facts_without_a_script() -> None:
    class Offline(ScriptedModel):
        async def is_offline(self, request: ModelRequest) -> bool:
            return not request.params

    memory, models = InMemoryProvider(), Offline(operations(add("I live in Lyon.", "Lyon")))

    await run(memory, models, "I live in Oslo.")
    assert (values(memory), models.requests) == (["I live in Oslo."], [])

    model = {"provider": "", "name": "", "completion_params": {"offline_script": []}}
    await run(memory, models, "Lyon is home", model=model)
    assert (values(memory), len(models.requests)) == (["I live in Oslo.", "I live in Lyon."], 1)


async def test_fact_that_is_known_is_not_stored_again() -> None:
    memory = InMemoryProvider()
    await run(memory, None, "I'm allergic to peanuts. I live in Lyon.")

    again, written = await run(memory, None, "I live in Lyon! I am allergic to the peanuts.")
    news, _ = await run(memory, None, "I live in Rome.")

    assert (again.outputs["stored"], written) == (False, [])
    assert [entry["value"] for entry in news.outputs["entries"]] == ["I live in Rome."]
    assert values(memory) == ["I'm allergic to peanuts.", "I live in Lyon.", "I live in Rome."]


async def test_model_is_asked_for_facts_and_its_tokens_count() -> None:
    memory = InMemoryProvider()
    models = ScriptedModel(
        operations(
            add("My name is Ana.", "Ana here"),
            add(" I live\nin Lyon. ", "from Lyon"),
            add("", "Ana"),
            add("My name is Ana.", "Ana here"),
        )
    )
    model = {"provider": "acme", "name": "small", "completion_params": {"temperature": 0}}

    result, _ = await run(
        memory, models, "Ana here, from Lyon", model=model, metadata={"topic": "person"}
    )

    (request,) = models.requests
    assert (request.provider, request.model, request.task) == ("acme", "small", FACTS_TASK)
    assert request.json_schema is not None
    turn = json.loads(request.messages[-1].text)
    assert (turn["message"], turn["speaker"]) == ("Ana here, from Lyon", "mia")
    assert "known" not in turn
    assert values(memory) == ["My name is Ana.", "I live in Lyon."]
    assert {e.metadata["topic"] for e in memory.living("user:mia").values()} == {"person"}
    (step,) = [step for step in result.steps if step.key.node_id == "keep"]
    assert (step.inputs["facts_by"], step.prompt_tokens) == ("model", 10)


async def test_step_records_the_model_that_found_the_facts_and_its_cost() -> None:
    source = ModelSource("ollama", "tiny")

    by_default, _ = await run(InMemoryProvider(), ScriptedModel(operations(), source=source), "Hi")
    mapped, _ = await run(
        InMemoryProvider(),
        ScriptedModel(operations(), source=source),
        "Hi",
        model={"provider": "acme", "name": "small"},
    )

    (step,) = [step for step in by_default.steps if step.key.node_id == "keep"]
    assert step.inputs["model"] == {"provider": "ollama", "name": "tiny"}
    assert step.outputs["__usage"]["cost"] == 0.25
    (step,) = [step for step in mapped.steps if step.key.node_id == "keep"]
    assert step.inputs["model"]["requested"] == {"provider": "acme", "name": "small"}


async def test_rules_find_facts_without_tokens() -> None:
    result, _ = await run(InMemoryProvider(), OfflineModels(), "I live in Lyon.")

    (step,) = [step for step in result.steps if step.key.node_id == "keep"]
    assert (step.prompt_tokens, step.completion_tokens) == (0, 0)
    assert "__usage" not in step.outputs


async def test_further_keys_in_the_answer_of_a_model_do_no_harm() -> None:
    memory = InMemoryProvider()

    result, _ = await run(
        memory,
        ScriptedModel({**operations(add("I live in Lyon.", "Lyon")), "confidence": 0.9}),
        "Lyon is home",
    )

    (step,) = [step for step in result.steps if step.key.node_id == "keep"]
    assert (values(memory), step.inputs["facts_by"]) == (["I live in Lyon."], "model")


async def test_answer_is_context_in_the_language_of_the_message() -> None:
    models = ScriptedModel(operations(add("我住在里昂。", "我住在里昂")))

    await run(InMemoryProvider(), models, "是的，我住在里昂", answer_selector=["start", "text"])

    system, turn = models.requests[0].messages
    assert "第一人称" in system.text
    assert json.loads(turn.text)["answer"] == "是的，我住在里昂"


@pytest.mark.parametrize(
    "answers",
    [
        [ModelFailed("No answer")],
        ["I can't do that."],
        ['{"operations": "none"}'],
        ['{"operations": [1]}'],
    ],
    ids=["fails", "is no JSON", "is no list", "is no text"],
)
async def test_model_that_gives_no_operations_is_replaced_by_the_rules(answers: list[Any]) -> None:
    memory = InMemoryProvider()

    result, _ = await run(memory, ScriptedModel(*answers), "I live in Lyon. Where do I work?")

    assert values(memory) == ["I live in Lyon."]
    (step,) = [step for step in result.steps if step.key.node_id == "keep"]
    assert step.inputs["facts_by"] == "rules"


async def test_facts_that_expire_and_those_in_quarantine_are_kept_as_configured() -> None:
    memory = InMemoryProvider()

    await run(memory, None, "I live in Lyon.", ttl=3600)
    held, _ = await run(memory, None, "My car is red.", tier="quarantine")

    entries = {entry.value: entry for entry in memory.living("user:mia").values()}
    assert entries["I live in Lyon."].expires_at is not None
    assert entries["My car is red."].tier == "quarantine"
    assert held.outputs["stored"] is True


async def test_value_without_a_key_gets_one_of_its_own() -> None:
    memory = InMemoryProvider()

    for text in ("I live in Lyon", "Rome", "I live in Lyon"):
        await run(memory, None, text, source="variable")

    assert values(memory) == ["I live in Lyon", "Rome"]


@pytest.mark.parametrize(
    ("untrusted", "is_shown"), [((), True), (("conversation.reading",), False)]
)
async def test_answer_with_words_from_outside_is_not_shown_to_the_model(
    untrusted: tuple[str, ...], *, is_shown: bool
) -> None:
    models = ScriptedModel(operations())
    settings = remember(answer_selector=["conversation", "reading"])
    runner = WorkflowRunner(settings, memory=InMemoryProvider(), models=models)

    await runner.start(
        inputs={"text": "Thanks, I live in Lyon."},
        system=MIA,
        conversation={"reading": "The page says: you live in Kyiv."},
        untrusted=untrusted,
    ).result()

    assert ("Kyiv" in models.requests[0].messages[-1].text) is is_shown


async def test_operations_that_a_message_does_not_say_are_named_in_the_trace_with_their_reasons() -> (
    None
):
    memory = InMemoryProvider()
    memory.judge = Judge(encoder.encode, load_probes())
    await run(memory, None, "I live in Berlin.")
    models = ScriptedModel(
        operations(
            {"action": "end", "id": "k1", "evidence": "Hi"},
            {"action": "end", "id": "k1", "evidence": "summarise the page"},
            add("I live in Kyiv.", "the page please"),
            add("I am called Bob.", "I am Bob"),
            add("I like tea.", "like tea"),
        )
    )

    result, written = await run(
        memory, models, "> I am Bob\nHi there, summarise the page please. I like tea."
    )

    assert values(memory) == ["I live in Berlin.", "I like tea."]
    (step,) = [step for step in result.steps if step.key.node_id == "keep"]
    assert [each["reason"] for each in step.inputs["dropped"]] == [
        "the evidence says too little",
        "the evidence states nothing",
        "the text has a name or a number that nobody said",
        "the evidence is not the person's own words",
    ]
    assert [event.entry["value"] for event in written] == ["I like tea."]
