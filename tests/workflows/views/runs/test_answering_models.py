"""Pages name the model that answered in a step, and what the document asked for if that is another."""

from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.factories.workflows import make_conversation, make_run, within
from tests.support.cast import Person
from tests.support.documents import document as make_document
from tests.support.documents import llm
from tests.workflows.views.conftest import text_of
from workflows.models import Run, Step, Workflow
from workflows.views.runs.detail import name_models


pytestmark = pytest.mark.django_db


def make_answer(person: Person, workflow: Workflow, kind: str, model: dict[str, Any]) -> Run:
    run = make_run(
        person,
        workflow,
        conversation=make_conversation(person, workflow),
        status="succeeded",
        finished_at=timezone.now(),
        outputs={"answer": "Hi"},
    )
    with within(person):
        Step.objects.create(
            team_id=run.team_id,
            run=run,
            node_key="node",
            kind=kind,
            status="succeeded",
            inputs={"model": model},
        )
    return run


def page_of(person: Person, run: Run) -> str:
    return text_of(person.client.get(reverse("workflows:run", args=[run.pk])))


ANSWERED = {"provider": "ollama", "name": "llama3.2:3b"}
DEFAULT = {"provider": "default", "name": "default"}


def test_default_model_is_named_as_the_one_of_the_team(alice: Person, chat: Workflow) -> None:
    run = make_answer(alice, chat, "llm", {**ANSWERED, "requested": DEFAULT})

    html = page_of(alice, run)
    pane = text_of(alice.client.get(reverse("workflows:detail", args=[chat.pk])))

    assert "ollama/llama3.2:3b" in html
    assert "(team default)" in html
    assert "instead of" not in html
    assert "default/default" not in html + pane


def test_card_on_the_page_of_a_run_names_the_model_that_answered() -> None:
    document = make_document([llm("node", model=DEFAULT), llm("other", model=DEFAULT)], [])
    answered = Step(node_key="node", kind="llm", inputs={"model": ANSWERED})
    offline = Step(node_key="other", kind="llm", inputs={"model": {"provider": "offline"}})

    named = name_models(document, [answered, offline])

    assert [node.data["model"]["name"] for node in named.nodes] == [
        "ollama/llama3.2:3b",
        "Offline demo model",
    ]


def test_model_that_is_mapped_stands_beside_the_named_one(alice: Person, chat: Workflow) -> None:
    requested = {"provider": "openai", "name": "gpt-4o-mini"}
    run = make_answer(alice, chat, "llm", {**ANSWERED, "requested": requested})

    assert "instead of openai/gpt-4o-mini" in page_of(alice, run)


def test_model_of_a_memory_node_is_named(alice: Person, chat: Workflow) -> None:
    run = make_answer(alice, chat, "memory-store", ANSWERED)

    assert "ollama/llama3.2:3b" in page_of(alice, run)


def test_fallback_model_is_shown_with_the_one_that_failed(alice: Person, chat: Workflow) -> None:
    error = "openai rejected the credential. Check the API key."
    failed = [{"provider": "openai", "name": "gpt-5", "error": error}]
    run = make_answer(alice, chat, "llm", {**ANSWERED, "failed": failed})

    page = page_of(alice, run)
    step = alice.client.get(reverse("workflows:last_step", args=[chat.pk, "node"]))
    shown = alice.client.get(f"/api/v1/runs/{run.pk}/steps/node").json()

    for text in (page, text_of(step)):
        assert "ollama/llama3.2:3b" in text
        assert "Fallback for openai/gpt-5" in text
        assert error in text
    assert shown["model"]["failed"] == [{"name": "openai/gpt-5", "error": error}]


def test_fallback_model_is_neither_the_default_nor_said_twice(
    alice: Person, chat: Workflow
) -> None:
    failed = [{"provider": "openai", "name": "gpt-5", "error": "openai is busy."}]
    asked = {**ANSWERED, "requested": {"provider": "default", "name": ""}, "failed": failed}
    run = make_answer(alice, chat, "llm", asked)

    page = page_of(alice, run)

    assert "Fallback for openai/gpt-5" in page
    assert "team default" not in page
    assert "instead of" not in page


@pytest.mark.parametrize(
    ("uncertainty", "mark"),
    [
        ("no class", "The answer named no class"),
        ("several classes", "The answer named several classes"),
        (None, ""),
    ],
)
def test_step_of_a_classifier_is_marked_if_its_class_was_left_open(
    alice: Person, chat: Workflow, uncertainty: str | None, mark: str
) -> None:
    run = make_answer(alice, chat, "question-classifier", ANSWERED)
    with within(alice):
        outputs = {"class_id": "1", "uncertainty": uncertainty}
        Step.objects.unscoped().filter(run=run).update(outputs=outputs)

    page = page_of(alice, run)
    step = text_of(alice.client.get(reverse("workflows:last_step", args=[chat.pk, "node"])))

    for text in (page, step):
        assert ("The answer named" in text) is bool(mark)
        assert mark in text
