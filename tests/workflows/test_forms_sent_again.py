"""Forms that start something: sent again, and at the same moment, each starts it once; its page can start it again."""

import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import AuditEntry
from accounts.tenancy import tenant
from tests.factories.workflows import make_run, make_version, make_workflow
from tests.support.cast import Cast, Person
from tests.workflows.test_requests_at_once import SENDERS, send_at_once
from tests.workflows.views.conftest import HTMX
from workflows.errors import KeyInUse
from workflows.models import Run
from workflows.services import publishing, tasks
from workflows.services.data_sets import data_sets
from workflows.services.data_sets.cases import add_cases, make_case
from workflows.services.debugging.cases import save_case
from workflows.services.idempotency import ClaimedKey, StoredAnswer, claim_key
from workflows.services.public_pages.settings import change_page
from workflows.services.samples.samples import copy_sample
from workflows.services.tools.workflow_tools import list_workflow_tools


pytestmark = pytest.mark.django_db(transaction=True)

FORM_ID = re.compile(r'sys\.form_id"(?: value="|: ")([^"]+)"')


class Form(NamedTuple):
    """A form: the page that draws it, its address and fields, and what the audit trail says of what it starts."""

    page: str
    path: str
    fields: Mapping[str, str]
    action: str = "run.started"
    has_script: bool = False  # a script sends it, with an id for each command


def start_form(person: Person) -> Form:
    workflow = make_workflow(person)
    page = reverse("workflows:detail", args=[workflow.pk])
    return Form(page, reverse("workflows:start", args=[workflow.pk]), {"text": "a"})


def pane_message(person: Person) -> Form:
    workflow = copy_sample(person.principal, team_id=person.team.pk, slug="chatbot")
    page = reverse("workflows:detail", args=[workflow.pk])
    return Form(page, reverse("workflows:say", args=[workflow.pk]), {"query": "Hello"})


def chat_message(person: Person) -> Form:
    workflow = copy_sample(person.principal, team_id=person.team.pk, slug="chatbot")
    publishing.publish(person.principal, workflow=workflow, note="")
    page = reverse("workflows:chat", args=[workflow.pk])
    return Form(page, reverse("workflows:chat_say", args=[workflow.pk]), {"query": "Hello"})


def public_form(person: Person) -> Form:
    workflow = make_workflow(person)
    make_version(person, workflow)
    page = change_page(person.principal, workflow=workflow, access="link")
    return Form(f"/p/{page.token}/", f"/p/{page.token}/start/", {"text": "a"})


def public_message(person: Person) -> Form:
    workflow = copy_sample(person.principal, team_id=person.team.pk, slug="chatbot")
    publishing.publish(person.principal, workflow=workflow, note="")
    page = change_page(person.principal, workflow=workflow, access="link")
    return Form(f"/p/{page.token}/", f"/p/{page.token}/say/", {"query": "Hello"})


def run_again(person: Person) -> Form:
    ended = {"status": "succeeded", "finished_at": timezone.now()}
    run = make_run(person, make_workflow(person), inputs={"text": "a"}, **ended)
    page = reverse("workflows:run", args=[run.pk])
    return Form(page, reverse("workflows:run_again", args=[run.pk]), {})


def part_of_workflow(person: Person) -> Form:
    workflow = make_workflow(person)
    page = reverse("workflows:detail", args=[workflow.pk])
    path = reverse("workflows:try", args=[workflow.pk])
    return Form(page, path, {"text": "a"}, has_script=True)


def workflow_tool(person: Person) -> Form:
    copy_sample(person.principal, team_id=person.team.pk, slug="shop")
    (tool,) = list_workflow_tools(person.principal, person.team.pk)
    path = reverse("workflows:try_workflow", args=[tool.workflow.pk])
    return Form(path, path, {"argument-weight": "2", "argument-country": "Norway"})


def new_task(person: Person) -> Form:
    path = reverse("workflows:tasks")
    return Form(path, path, {"title": "Tidy up", "then": "execute"}, "task.created")


def task(person: Person) -> Form:
    workflow = make_workflow(person)
    make_version(person, workflow)
    principal, team_id = person.principal, person.team.pk
    row = tasks.create_task(principal, team_id=team_id, title="Tidy up", workflow=workflow)
    page = reverse("workflows:task", args=[row.pk])
    return Form(page, reverse("workflows:execute_task", args=[row.pk]), {}, "task.executed")


def cases(person: Person) -> Form:
    workflow = make_workflow(person)
    save_case(person.principal, workflow=workflow, spec={"name": "one", "inputs": {"text": "x"}})
    page = reverse("workflows:tests", args=[workflow.pk])
    return Form(page, reverse("workflows:run_tests", args=[workflow.pk]), {}, "case.run")


def evaluation(person: Person) -> Form:
    data_set = data_sets.save_data_set(person.principal, team_id=person.team.pk, name="Set")
    add_cases(person.principal, data_set, [make_case("a", {"text": "a"}, "a")])
    fields = {"workflow": str(make_workflow(person).pk), "scorer": "exact"}
    page = reverse("workflows:data_set", args=[data_set.pk])
    path = reverse("workflows:start_evaluation", args=[data_set.pk])
    return Form(page, path, fields, "data_set.evaluated")


FORMS: tuple[Callable[[Person], Form], ...] = (
    *(start_form, pane_message, chat_message, public_form, public_message, run_again),
    *(part_of_workflow, workflow_tool, new_task, task, cases, evaluation),
)
QUEUED: frozenset[Callable[[Person], Form]] = frozenset(
    {cases, evaluation}
)  # a worker starts the runs


def read_id(client: Client, form: Form) -> str:
    """Return the id of the form, as its page was drawn now."""
    html = client.get(form.page).content.decode()
    return str(uuid4()) if form.has_script else FORM_ID.findall(html)[0]


def send(client: Client, form: Form, form_id: str, *, htmx: bool = False) -> Any:
    headers = HTMX if htmx else None
    return client.post(form.path, {**form.fields, "sys.form_id": form_id}, headers=headers)


def count(cast: Cast, form: Form) -> tuple[int, int]:
    """Return how often the form started something, and how many runs there are."""
    with tenant([cast.team_a.pk]):
        started = AuditEntry.objects.unscoped().filter(action=form.action).count()
        return started, Run.objects.unscoped().count()


def add(before: tuple[int, int], make: Callable[[Person], Form], times: int) -> tuple[int, int]:
    return before[0] + times, before[1] + (0 if make in QUEUED else times)


@pytest.mark.parametrize("make", FORMS)
def test_form_that_is_sent_again_starts_nothing_more_and_leads_to_the_first(
    make: Callable[[Person], Form], cast: Cast
) -> None:
    form, client = make(cast.alice), cast.alice.client
    form_id = read_id(client, form)
    before = count(cast, form)

    first, again = (send(client, form, form_id) for _ in range(2))
    by_script = send(client, form, form_id, htmx=True)

    assert first.status_code in (200, 201, 302), first.content
    assert count(cast, form) == add(before, make, 1)
    assert (again.status_code, again.get("Location")) == (first.status_code, first.get("Location"))
    assert by_script.status_code in (200, 201, 204, 302)


@pytest.mark.parametrize("make", FORMS)
def test_form_that_is_sent_several_times_at_once_starts_once_and_all_lead_there(
    make: Callable[[Person], Form], cast: Cast
) -> None:
    form, client = make(cast.alice), cast.alice.client
    form_id = read_id(client, form)
    before = count(cast, form)

    responses = send_at_once(*[(client, lambda each: send(each, form, form_id))] * SENDERS)

    assert {response.status_code for response in responses} <= {200, 201, 302}
    assert count(cast, form) == add(before, make, 1)
    assert len({response.get("Location") for response in responses}) == 1


def test_repetition_gives_up_when_the_first_form_takes_too_long(cast: Cast) -> None:
    team_id, principal = cast.team_a.pk, cast.alice.principal

    def claim(patience: int) -> ClaimedKey | StoredAnswer:
        return claim_key(principal, team_id, key="k", digest="d", patience=patience)

    def repeat() -> str:
        try:
            with transaction.atomic():
                with pytest.raises(KeyInUse):
                    claim(patience=1)
                with connection.cursor() as cursor:
                    cursor.execute("SHOW lock_timeout")
                    return str(cursor.fetchone()[0])
        finally:
            connection.close()

    with transaction.atomic(), ThreadPoolExecutor(1) as pool:
        assert isinstance(claim(patience=1), ClaimedKey)
        assert pool.submit(repeat).result() == "0"


@pytest.mark.parametrize("make", FORMS)
def test_page_of_a_form_that_was_sent_can_start_another_one(
    make: Callable[[Person], Form], cast: Cast
) -> None:
    form, client = make(cast.alice), cast.alice.client
    before = count(cast, form)
    send(client, form, read_id(client, form))
    with tenant([cast.team_a.pk]):  # a task runs once at a time
        Run.objects.unscoped().update(status="succeeded", finished_at=timezone.now())

    send(client, form, read_id(client, form))

    assert count(cast, form) == add(before, make, 2)


@pytest.mark.parametrize("make", [start_form, public_form, cases])
def test_form_that_stays_on_the_page_gets_another_id(
    make: Callable[[Person], Form], cast: Cast
) -> None:
    form, client = make(cast.alice), cast.alice.client
    form_id = read_id(client, form)

    response = send(client, form, form_id, htmx=True)

    (next_id, *_others) = FORM_ID.findall(response.content.decode())
    assert next_id != form_id
