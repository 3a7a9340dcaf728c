"""The list of what a workflow knows: of the scopes that it uses, for one person, with forgetting and its undo."""

import re
from typing import Any

import pytest
from django.urls import reverse

from memory.public import MemoryCaller, remember
from tests.factories.workflows import document, make_workflow
from tests.support.cast import Person
from tests.workflows.views.conftest import text_of
from workflows.models import Workflow


pytestmark = pytest.mark.django_db


def build_source(*scopes: str) -> dict[str, Any]:
    source = document()
    for number, scope in enumerate(scopes):
        data = {"type": "memory-recall", "scope": scope, "query_selector": ["start", "text"]}
        source["nodes"].append({"id": f"recall{number}", "data": data})
        source["edges"].append({"id": f"r{number}", "source": "start", "target": f"recall{number}"})
    return source


@pytest.fixture
def workflow(alice: Person) -> Workflow:
    return make_workflow(alice, "Knows", build_source("user", "conversation"))


def know(person: Person, value: str) -> None:
    identity = {"user_id": str(person.user.pk)}
    caller = MemoryCaller(person.principal, person.team.pk, identity=identity)
    remember(caller, scope="user", key=value, value=value)


def look(who: Person, workflow: Workflow, data: dict[str, str] | None = None) -> str:
    url = reverse("workflows:known_memory", args=[workflow.pk])
    answer = who.client.post(url, data) if data else who.client.get(url)
    assert answer.status_code == 200
    return text_of(answer)


def test_list_has_the_scopes_of_the_workflow_and_the_memories_of_the_person(
    alice: Person, bob: Person, workflow: Workflow
):
    know(alice, "canary-of-alice")

    own, others = look(alice, workflow), look(bob, workflow)

    assert "canary-of-alice" in own
    assert "Open a conversation to see its memory." in own
    assert 'aria-label="Global"' not in own
    assert "canary-of-alice" not in others


def test_memory_is_forgotten_and_restored(alice: Person, workflow: Workflow):
    know(alice, "peanuts")
    [entry] = re.findall(r'name="entry" value="([^"]+)"', look(alice, workflow))

    forgotten = look(alice, workflow, {"act": "forget", "entry": entry})
    [change] = re.findall(r'name="change" value="([^"]+)"', forgotten)
    restored = look(alice, workflow, {"act": "undo", "change": change})

    assert "peanuts" not in forgotten
    assert "peanuts" in restored


def test_memory_of_somebody_else_is_not_forgotten(alice: Person, bob: Person, workflow: Workflow):
    know(alice, "peanuts")
    [entry] = re.findall(r'name="entry" value="([^"]+)"', look(alice, workflow))

    url = reverse("workflows:known_memory", args=[workflow.pk])
    answer = bob.client.post(url, {"act": "forget", "entry": entry})

    assert answer.status_code == 404
    assert "peanuts" in look(alice, workflow)
