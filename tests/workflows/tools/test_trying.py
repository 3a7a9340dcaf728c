"""Try on the Tools page: a plug-in's tool is called, a workflow that is a tool is run."""

import pytest
from django.urls import reverse

from accounts.models import AuditEntry
from accounts.tenancy import tenant
from workflows.engine.tools.functions import build_function_tool
from workflows.engine.tools.port import build_table
from workflows.models import Run
from workflows.services.samples.samples import copy_sample
from workflows.services.tools import trying as service
from workflows.services.tools.workflow_tools import change_tool_settings
from workflows.views.tools import pages, trying


pytestmark = pytest.mark.django_db


def count_words(text: str) -> str:
    """Count the words of a text."""
    return f"{len(text.split())} words"


@pytest.fixture
def plugin(monkeypatch):
    table = build_table([build_function_tool(count_words)])
    for module in (pages, trying, service):
        monkeypatch.setattr(module, "load_local_tools", lambda: table)


@pytest.fixture
def shipping(bob):
    copy_sample(bob.principal, team_id=bob.team.pk, slug="shop")
    (tool,) = list_tools(bob)
    return tool.workflow


def list_tools(person):
    return pages.list_workflow_tools(person.principal, person.team.pk)


def test_page_lists_plug_ins_and_workflows_each_with_try(client, bob, plugin, shipping):
    client.force_login(bob.user)

    page = client.get(reverse("workflows:tools")).content.decode()

    assert "Count the words of a text." in page
    assert reverse("workflows:try_local_tool", args=["plugin", "count_words"]) in page
    assert reverse("workflows:try_workflow", args=[shipping.pk]) in page


def test_tool_of_a_plug_in_is_called_and_the_call_is_audited(client, bob, plugin):
    client.force_login(bob.user)
    url = reverse("workflows:try_local_tool", args=["plugin", "count_words"])

    page = client.post(url, {"argument-text": "one two"}).content.decode()

    assert "2 words" in page
    with tenant([bob.team.pk]):
        entry = AuditEntry.objects.unscoped().filter(action="tool.tried").get()
    assert (entry.subject, entry.actor) == ("tool:count_words", bob.principal.actor)


@pytest.mark.parametrize(("source", "name"), [("plugin", "nobody"), ("mcp", "count_words")])
def test_tool_that_is_not_there_is_not_found(client, bob, plugin, source, name):
    client.force_login(bob.user)

    assert client.get(reverse("workflows:try_local_tool", args=[source, name])).status_code == 404


def test_workflow_is_run_with_the_arguments_for_the_person_who_tries_it(client, bob, shipping):
    client.force_login(bob.user)
    url = reverse("workflows:try_workflow", args=[shipping.pk])
    arguments = {"argument-weight": "2", "argument-country": "Norway"}

    wrong = client.post(url, {**arguments, "argument-country": "Atlantis"})
    right = client.post(url, arguments)

    with tenant([bob.team.pk]):
        run = Run.objects.unscoped().get(workflow=shipping)
    assert wrong.status_code == 422
    assert right.url == reverse("workflows:run", args=[run.pk])
    assert (run.inputs, run.subject_user_id) == ({"weight": 2.0, "country": "Norway"}, bob.user.pk)


def test_workflow_that_is_no_tool_is_not_found(client, bob, shipping):
    change_tool_settings(bob.principal, workflow=shipping, is_tool=False)
    client.force_login(bob.user)

    url = reverse("workflows:try_workflow", args=[shipping.pk])
    assert client.get(url).status_code == 404


def test_built_in_tools_are_described_in_the_readers_language(client, bob):
    client.force_login(bob.user)
    client.cookies["django_language"] = "zh-hans"

    listed = client.get(reverse("workflows:tools")).content.decode()
    form = client.get(reverse("workflows:try_local_tool", args=["builtin", "time"]))

    assert "精确计算算术表达式" in listed
    assert "要换算到的时区" in form.content.decode()
    assert "Time zone to convert to" not in form.content.decode()
