"""How many statements each of the most visited pages sends, however much there is to show."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.http import HttpRequest
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memory import services
from tests.factories.workflows import make_message, make_run, make_workflow
from tests.memory.services.conftest import in_run
from tests.support.cast import Person
from workflows.models import Workflow
from workflows.services.samples import first_steps
from workflows.views import navigation


@pytest.fixture
def add_rows(alice: Person, chat: Workflow) -> Callable[[], dict[str, str]]:
    """Add one of each, and return the addresses of the pages that show it."""
    numbers = iter(range(10))

    def add() -> dict[str, str]:
        number = next(numbers)
        workflow = make_workflow(alice, f"Workflow {number}")
        run = make_run(alice, workflow, status="succeeded", finished_at=timezone.now())
        make_message(alice, chat)
        entry = services.remember(in_run(alice), scope="user", key=f"key-{number}", value="tea")
        return {
            "home": reverse("home"),
            "workflows": reverse("workflows:list"),
            "editor": reverse("workflows:detail", args=[workflow.pk]),
            "memories": reverse("memory:list"),
            "memory": reverse("memory:entry", args=[entry.id]),
            "runs": reverse("workflows:runs"),
            "run": reverse("workflows:run", args=[run.pk]),
            "chat": reverse("workflows:chat", args=[chat.pk]),
        }

    return add


def count_statements(client: Client, url: str) -> int:
    client.get(url)  # fills the caches of the process, and counts runs that have ended
    with CaptureQueriesContext(connection) as statements:
        assert client.get(url).status_code == 200
    return len(statements)


@pytest.mark.django_db
def test_pages_send_as_many_statements_for_three_of_each_as_for_one(
    alice: Person, add_rows: Callable[[], dict[str, str]]
) -> None:
    client = alice.client

    urls = add_rows()
    for_one = {page: count_statements(client, url) for page, url in urls.items()}
    add_rows()
    add_rows()
    for_three = {page: count_statements(client, url) for page, url in urls.items()}

    assert for_three == for_one


@pytest.mark.django_db
def test_home_looks_for_no_first_steps_once_they_are_hidden(alice: Person) -> None:
    client, url = alice.client, reverse("home")
    for_shown = count_statements(client, url)

    first_steps.dismiss(alice.principal)
    for_hidden = count_statements(client, url)

    # one for each of these, one for all others, and one for the chatbot that the list leads to
    assert for_hidden == for_shown - len(first_steps.EVIDENCE) - 2


@pytest.mark.django_db
def test_fragment_builds_no_navigation(alice: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[str] = []
    list_items = navigation._list_items

    def note(request: HttpRequest) -> list[navigation.NavigationItem]:
        requests.append(request.path)
        return list_items(request)

    monkeypatch.setattr(navigation, "_list_items", note)
    client, page, fragment = alice.client, reverse("home"), reverse("workflows:waiting_count")

    client.get(page)
    client.get(fragment)

    assert requests == [page]
