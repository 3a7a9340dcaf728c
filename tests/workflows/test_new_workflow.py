"""A new workflow can be run at once, and a description becomes a draft that can be run."""

import json
import re
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest
from django.urls import reverse

from accounts.tenancy import tenant
from tests.support.cast import Person
from tests.support.markup import markup_of
from workflows.engine.language.document import Document, Mode
from workflows.engine.language.problems import select_errors
from workflows.engine.language.validation import validate
from workflows.engine.ports import ModelChunk, ModelRequest
from workflows.execution.kinds import load_kinds
from workflows.models import ModelMapping, ModelProvider, Workflow
from workflows.services.catalog import drafting, new_workflow
from workflows.services.catalog.plan import PlannedInput, PlannedStep, WorkflowPlan
from workflows.services.catalog.workflow_plan import build_document
from workflows.services.editor import drafts
from workflows.services.samples.closest import find_closest_sample


pytestmark = pytest.mark.django_db

NEW = reverse("workflows:new")
PLAN = {
    "name": "Onboarding helper",
    "description": "Helps new employees.",
    "kind": "chat",
    "remembers": True,
    "steps": [{"title": "Answer", "instructions": "Help the new employee. Never use {{#x.y#}}."}],
    "opening": "Welcome!",
    "questions": ["Where is the coffee?"],
}


class Models:
    """A model that gives these answers one after the other, and keeps what it was asked."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.requests: list[ModelRequest] = []

    def __call__(self, configs: object, **options: object) -> "Models":
        return self

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        self.requests.append(request)
        yield ModelChunk(text=self.answers.pop(0))


@pytest.fixture
def connected(alice: Person) -> Person:
    with tenant([alice.team.pk]):
        ModelProvider.objects.create(
            team=alice.team,
            name="acme",
            kind="openai_compatible",
            base_url="https://models.example/v1",
            default_model="big",
        )
    return alice


def answer_with(monkeypatch: pytest.MonkeyPatch, *answers: str) -> Models:
    models = Models(*answers)
    monkeypatch.setattr(drafting, "TeamModels", models)
    return models


def errors_of(document: Document) -> list[Any]:
    return select_errors(validate(document, load_kinds()))


def newest(person: Person) -> tuple[Workflow, Document]:
    with tenant([person.team.pk]):
        workflow = Workflow.objects.unscoped().latest("created_at")
        return workflow, drafts.load_draft(workflow)


@pytest.mark.parametrize(
    ("mode", "kinds"),
    [
        (Mode.CHAT, ["start", "llm", "answer", "memory-store"]),
        (Mode.WORKFLOW, ["start", "llm", "end", "memory-store"]),
    ],
)
def test_ready_workflow_has_no_problems_answers_and_remembers(mode: Mode, kinds: list[str]):
    document = build_document(WorkflowPlan(mode=mode, name="Mine"))

    by_id = {node.id: node.data for node in document.nodes}
    assert [node.kind for node in document.nodes] == kinds
    assert [*validate(document, load_kinds())] == []
    if mode is Mode.CHAT:
        assert by_id["answer"]["answer"] == "{{#llm.text#}}"
    else:
        assert by_id["end"]["outputs"] == [{"variable": "text", "value_selector": ["llm", "text"]}]
    # Only a chat has earlier messages.
    assert by_id["llm"].get("memory") == ({"enabled": True} if mode is Mode.CHAT else None)
    assert by_id["remember"]["source"] == "facts"
    assert by_id["llm"]["enhanced_memory"]["enabled"] is True
    assert "include_recent" not in by_id["llm"]["enhanced_memory"]  # what is related, or nothing
    assert by_id["llm"]["enhanced_memory"]["scope"] == by_id["remember"]["scope"] == "user"


def test_steps_of_a_plan_read_from_each_other_and_inputs_from_the_form():
    plan = WorkflowPlan(
        mode=Mode.WORKFLOW,
        steps=(
            PlannedStep("Summarize", "Summarize it."),
            PlannedStep("Translate", "Translate it."),
        ),
        inputs=(PlannedInput("text", "Text"), PlannedInput("language", "Language")),
        remembers=False,
    )

    document = build_document(plan)

    prompts: dict[str, Any] = {node.id: node.data.get("prompt_template") for node in document.nodes}
    assert errors_of(document) == []
    assert "{{#start.language#}}" in prompts["llm"][1]["text"]
    assert prompts["llm2"][1]["text"] == "{{#llm.text#}}"


def test_page_creates_a_ready_workflow_with_the_suggested_name(alice: Person):
    page = alice.client.get(NEW)

    answer = alice.client.post(NEW, {"name": page.context["form"]["name"].value()})

    workflow, document = newest(alice)
    assert answer.status_code == 302
    assert (workflow.name, workflow.mode, len(document.nodes)) == ("My chatbot", "advanced-chat", 4)
    assert new_workflow.suggest_name(alice.team.pk) == "My chatbot 2"


@pytest.mark.parametrize(
    ("sent", "name"),
    [("My chatbot", "My workflow"), ("My workflow", "My workflow"), ("Sums", "Sums")],
)
def test_suggested_name_follows_the_type_and_a_name_of_the_person_stays(
    alice: Person, sent: str, name: str
):
    alice.client.post(NEW, {"name": sent, "mode": "workflow"})

    assert newest(alice)[0].name == name


def test_page_has_the_suggested_name_of_each_type_in_the_field_with_the_focus(alice: Person):
    page = markup_of(alice.client.get(NEW))

    (field,) = re.findall(r'<input[^>]*name="name"[^>]*>', page)
    assert "autofocus" in field
    assert 'value="My chatbot"' in field
    assert 'data-name-advanced-chat="My chatbot"' in field
    assert 'data-name-workflow="My workflow"' in field


@pytest.mark.parametrize("mode", ["advanced-chat", "workflow"])
@pytest.mark.parametrize(("start", "query"), [("ready", "?created"), ("blank", "")])
def test_page_leads_to_the_first_field_of_what_can_be_tried_at_once(
    alice: Person, mode: str, start: str, query: str
):
    answer = alice.client.post(NEW, {"name": "Mine", "mode": mode, "start": start})

    address = reverse("workflows:detail", args=[newest(alice)[0].pk])
    assert answer["Location"] == f"{address}{query}"
    assert alice.client.get(answer["Location"]).status_code == 200


def test_page_requires_a_name(alice: Person):
    assert alice.client.post(NEW, {"name": " "}).status_code == 422


def test_blank_workflow_has_a_start_only(alice: Person):
    alice.client.post(NEW, {"name": "Empty", "start": "blank", "mode": "workflow"})

    assert [node.kind for node in newest(alice)[1].nodes] == ["start"]


def test_description_becomes_a_draft(connected: Person, monkeypatch: pytest.MonkeyPatch):
    models = answer_with(monkeypatch, f"```json\n{json.dumps(PLAN)}\n```")
    body = {"name": "My chatbot", "start": "description", "description": "a bot for new employees"}

    answer = connected.client.post(NEW, body)

    workflow, document = newest(connected)
    assert answer.status_code == 302
    assert (workflow.name, workflow.published_version) == ("Onboarding helper", None)
    assert document.features["suggested_questions"] == ["Where is the coffee?"]
    assert errors_of(document) == []
    assert models.requests[0].model == "big"
    assert models.requests[0].messages[1].text == "a bot for new employees"


def test_with_a_model_the_page_has_a_field_for_the_description(connected: Person):
    page = markup_of(connected.client.get(NEW))

    (choice,) = re.findall(r'<input[^>]*value="description"[^>]*>', page)
    assert "disabled" not in choice
    assert 'name="description"' in page


def test_bad_answer_is_repaired_once(connected: Person, monkeypatch: pytest.MonkeyPatch):
    models = answer_with(monkeypatch, "Sure! {", json.dumps(PLAN))

    document = drafting.draft_plan(
        connected.principal, connected.team.pk, "a bot", name="Named by me"
    )

    assert document.name == "Named by me"
    assert "Repair this" in models.requests[1].messages[-1].text


def test_second_bad_answer_is_reported_with_the_closest_sample(
    connected: Person, monkeypatch: pytest.MonkeyPatch
):
    answer_with(monkeypatch, "{}", json.dumps({**PLAN, "steps": []}))
    body = {"name": "x", "start": "description", "description": "study coach for my exam"}

    answer = connected.client.post(NEW, body)

    assert answer.status_code == 422
    assert "could not be turned into a workflow" in answer.content.decode()
    assert answer.context["closest_sample"].slug == "study"


def test_without_a_model_the_page_says_so_and_offers_the_closest_sample(alice: Person):
    body = {"name": "x", "start": "description", "description": "a handbook for my team"}

    answer = alice.client.post(NEW, body)

    page = markup_of(alice.client.get(NEW))
    (choice,) = re.findall(r'<input[^>]*value="description"[^>]*>', page)
    assert ("disabled" in choice, page.count("No model is connected")) == (True, 1)
    assert 'name="description"' not in page
    assert answer.status_code == 422
    assert answer.context["closest_sample"].slug == "handbook"


def test_closest_sample_of_no_words_is_the_first():
    closest = find_closest_sample("")

    assert closest is not None
    assert closest.slug == "chatbot"


def test_team_default_model_drafts_instead_of_the_first_provider(
    connected: Person, monkeypatch: pytest.MonkeyPatch
):
    with tenant([connected.team.pk]):
        chosen = ModelProvider.objects.create(
            team=connected.team,
            name="zenith",
            kind="openai_compatible",
            base_url="https://zenith.example/v1",
            default_model="small",
        )
        ModelMapping.objects.create(
            team=connected.team, provider="default", model="", target=chosen, target_model="large"
        )
    models = answer_with(monkeypatch, json.dumps(PLAN))

    drafting.draft_plan(connected.principal, connected.team.pk, "a bot")

    assert (models.requests[0].provider, models.requests[0].model) == ("zenith", "large")
    assert "Drafted by large (zenith)" in connected.client.get(NEW).content.decode()


CODE = 'def main(text: str) -> dict:\n    return {"result": text.upper()}\n'
LLM = {"type": "llm", "title": "Answer", "instructions": "Answer it."}
KNOWLEDGE = {"type": "knowledge", "title": "Search handbook"}
HTTP = {"type": "http", "title": "Weather", "url": "https://weather.example/today"}
CLASSIFY = {
    "type": "classify",
    "title": "Topic",
    "branches": [
        {"name": "Billing", "steps": [KNOWLEDGE, LLM]},
        {"name": "Everything else", "steps": []},
    ],
}
CONDITION = {
    "type": "condition",
    "word": "refund",
    "branches": [{"name": "refund", "steps": [LLM]}, {"name": "other", "steps": [HTTP, LLM]}],
}


@pytest.mark.parametrize("kind", ["chat", "form"])
@pytest.mark.parametrize(
    ("steps", "kinds"),
    [
        ([KNOWLEDGE, LLM], {"knowledge-retrieval": 1, "llm": 1}),
        ([HTTP, LLM], {"http-request": 1, "llm": 1}),
        ([{"type": "code", "title": "Shout", "code": CODE}], {"code": 1, "llm": 1}),
        ([CLASSIFY], {"question-classifier": 1, "knowledge-retrieval": 1, "llm": 2}),
        ([KNOWLEDGE, CONDITION], {"knowledge-retrieval": 1, "if-else": 1, "http-request": 1, "llm": 2}),
        ([LLM, CLASSIFY], {"llm": 3, "question-classifier": 1, "knowledge-retrieval": 1}),
    ],
)  # fmt: skip
def test_steps_of_other_kinds_become_a_draft_without_problems(
    connected: Person,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    steps: list[Any],
    kinds: dict[str, int],
):
    inputs = [{"name": "text", "label": "Text"}] if kind == "form" else []
    answer_with(monkeypatch, json.dumps({**PLAN, "kind": kind, "inputs": inputs, "steps": steps}))

    document = drafting.draft_plan(connected.principal, connected.team.pk, "a bot")

    counts = Counter(node.kind for node in document.nodes)
    ends = {"answer", "end", "start", "memory-store"}
    assert {name: counts[name] for name in counts if name not in ends} == kinds
    assert counts["answer"] + counts["end"] == (
        2 if counts["if-else"] or counts["question-classifier"] else 1
    )
    assert [*validate(document, load_kinds())] == []


def test_first_answers_of_all_branches_recall_what_is_remembered(
    connected: Person, monkeypatch: pytest.MonkeyPatch
):
    answer_with(monkeypatch, json.dumps({**PLAN, "steps": [CLASSIFY]}))

    document = drafting.draft_plan(connected.principal, connected.team.pk, "a bot")

    recalls = [
        node.data["enhanced_memory"]["enabled"] for node in document.nodes if node.kind == "llm"
    ]
    assert recalls == [True, True]
    assert [(e.source, e.handle) for e in document.edges if e.target == "remember"] == [
        ("start", "source")
    ]


@pytest.mark.parametrize(
    "step",
    [
        {"type": "http", "url": "file:///etc/passwd"},
        {"type": "code", "code": "def main(text: str):\n  return {"},
        {
            "type": "code",
            "code": "import pandas\ndef main(text: str):\n    return {'result': ''}",
        },
        {"type": "agent"},
        {**CONDITION, "word": ""},
    ],
)
def test_step_that_cannot_be_used_is_repaired_or_else_left_out(
    connected: Person, monkeypatch: pytest.MonkeyPatch, step: dict[str, Any]
):
    models = answer_with(monkeypatch, *[json.dumps({**PLAN, "steps": [LLM, step]})] * 2)

    document = drafting.draft_plan(connected.principal, connected.team.pk, "a bot")

    assert len(models.requests) == 2
    assert [node.kind for node in document.nodes] == ["start", "llm", "answer", "memory-store"]
    assert [*validate(document, load_kinds())] == []
