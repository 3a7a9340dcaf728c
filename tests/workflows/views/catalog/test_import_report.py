"""The report of what an imported document lacks: after the import, in the menu, over the API; and its replacements."""

import json
from typing import Any

import pytest
from django.urls import reverse

from tests.engine.import_report.documents import FORECAST
from tests.factories.workflows import document, make_workflow, within
from tests.support.cast import Cast, Person
from tests.workflows.views.conftest import HTMX, text_of
from workflows.engine.language.validation.features import NOT_OFFERED
from workflows.models import Workflow
from workflows.services import tools
from workflows.services.catalog.import_reports import report_workflow
from workflows.services.debugging.pins import list_branches, load_pins
from workflows.services.editing.undo import undo
from workflows.services.editor.drafts import load_draft
from workflows.views.catalog.report_words import WORDS


pytestmark = pytest.mark.django_db

LLM = {
    "type": "llm",
    "title": "Writer",
    "model": {"provider": "langgenius/acme/acme", "name": "big", "mode": "chat"},
    "prompt_template": [{"role": "user", "text": "Hello"}],
}
AGENT = {
    "type": "agent",
    "title": "Helper",
    "agent_strategy_name": "function_calling",
    "agent_parameters": {
        "model": {"value": {"provider": "openai", "model": "gpt"}},
        "query": {"value": "{{#start.text#}}"},
        "tools": {
            "value": [
                {
                    "type": "builtin",
                    "provider_name": "acme/weather/weather",
                    "tool_name": "forecast",
                },
                {"type": "builtin", "provider_name": "time", "tool_name": "current_time"},
            ]
        },
    },
}


def build_source(**nodes: Any) -> dict[str, Any]:
    source = document()
    source["nodes"] += [{"id": name, "data": dict(data)} for name, data in nodes.items()]
    source["edges"] += [{"id": f"e-{name}", "source": "start", "target": name} for name in nodes]
    return source


def url(name: str, workflow: Workflow) -> str:
    return reverse(f"workflows:{name}", args=[workflow.pk])


def import_by_page(person: Person, source: Any) -> tuple[Any, Workflow]:
    answer = person.client.post(reverse("workflows:import"), {"document": json.dumps(source)})
    with within(person):
        return answer, Workflow.objects.visible_to(person.principal).get()


def test_import_of_what_lacks_something_leads_to_its_report(alice: Person) -> None:
    answer, workflow = import_by_page(alice, build_source(m=LLM, t=FORECAST))

    assert answer["Location"] == url("import_report", workflow)
    page = text_of(alice.client.get(answer["Location"]))
    assert "All 4 nodes open · 1 needs a model · 1 can't run yet" in page
    assert "1 node fails when a run reaches it" in page
    assert "1 node has only the demo model" in page
    for text in ("acme/big", "forecast", "acme/weather/weather", "Writer", "Connect a model"):
        assert text in page


@pytest.mark.parametrize("feature", NOT_OFFERED)
def test_feature_that_is_not_offered_is_explained_in_a_sentence(
    alice: Person, feature: str
) -> None:
    source = {
        "version": "0.6.0",
        "kind": "app",
        "app": {"name": "A", "mode": "advanced-chat"},
        "workflow": {
            "graph": {"nodes": [{"id": "start", "data": {"type": "start"}}], "edges": []},
            "features": {feature: {"enabled": True}},
        },
    }
    workflow = make_workflow(alice, source=source)

    page = text_of(alice.client.get(url("import_report", workflow)))

    assert str(WORDS[feature].name) in page
    assert str(WORDS[feature].sentence) in page


def test_import_of_what_lacks_nothing_leads_to_the_editor(alice: Person) -> None:
    answer, workflow = import_by_page(alice, document())

    assert answer["Location"] == url("detail", workflow)
    assert "Nothing is missing" in text_of(alice.client.get(url("import_report", workflow)))


def test_tool_is_replaced_in_every_node_and_undone(alice: Person) -> None:
    workflow = make_workflow(alice, source=build_source(a=FORECAST, b=FORECAST, c=AGENT))
    before = load_draft(workflow)
    choice = json.dumps(["builtin", "ddgo_search", ""])
    names = {"provider": "acme/weather/weather", "name": "forecast"}

    answer = alice.client.post(url("use_tool", workflow), {**names, "choice": choice}, headers=HTMX)

    assert answer.status_code == 200
    data = {node.id: node.data for node in load_draft(workflow).nodes}
    for name in ("a", "b"):
        assert (data[name]["provider_id"], data[name]["tool_name"]) == ("mnemoflow", "ddgo_search")
        # What the new tool has under the same name stays.
        assert data[name]["tool_parameters"] == {"query": {"type": "mixed", "value": "x"}}
    assert [tool["name"] for tool in data["c"]["tools"]] == ["ddgo_search", "current_time"]
    assert not [each for each in report_workflow(alice.principal, workflow).findings
                if each.need == "tool"]  # fmt: skip
    undo(alice.principal, workflow=workflow, client="", idempotency_key=None)
    assert load_draft(workflow) == before


@pytest.mark.parametrize("choice", ['["builtin", "no_such", ""]', "[1]", "{", '["mcp", "a", "b"]'])
def test_tool_that_the_team_lacks_replaces_nothing(alice: Person, choice: str) -> None:
    workflow = make_workflow(alice, source=build_source(t=FORECAST))

    answer = alice.client.post(
        url("use_tool", workflow), {"name": "forecast", "provider": "x", "choice": choice}
    )

    assert answer.status_code == 404


def test_viewer_reads_the_report_and_changes_nothing(cast: Cast) -> None:
    workflow = make_workflow(cast.alice, source=build_source(m=LLM, t=FORECAST))

    page = text_of(cast.vic.client.get(url("import_report", workflow)))

    assert "forecast" in page
    assert "<select" not in page.split('id="import-report"')[1].split("</main>")[0]


def test_api_returns_the_report_with_the_import_and_later(cast: Cast, api_key: Any) -> None:
    api = api_key(cast.alice)
    body = {"document": build_source(m=LLM, t=FORECAST)}

    created = api.post("/api/v1/workflows", body, content_type="application/json").json()
    later = api.get(f"/api/v1/workflows/{created['workflow']['id']}/report").json()

    assert created["report"] == later
    assert (later["node_count"], later["working_count"]) == (4, 3)
    assert [(each["need"], each["name"], each["effect"]) for each in later["missing"]] == [
        ("model", "big", "replaced"),
        ("tool", "forecast", "fails"),
    ]


def test_tools_of_a_web_service_are_missing_until_it_is_connected(alice: Person) -> None:
    search = {**FORECAST, "provider_id": "langgenius/tavily/tavily",
              "provider_name": "langgenius/tavily/tavily", "tool_name": "tavily_search"}  # fmt: skip
    workflow = make_workflow(alice, source=build_source(t=search))
    assert [each.name for each in report_workflow(alice.principal, workflow).findings] == [
        "tavily_search"
    ]
    assert "Tavily needs an API key; enter it on the page Tools" in text_of(
        alice.client.get(url("import_report", workflow))
    )

    page = alice.client.get(reverse("workflows:connect_tools", args=["web"]) + "?service=tavily")
    assert '<option value="tavily" selected>' in text_of(page)
    answer = alice.client.post(
        reverse("workflows:connect_tools", args=["web"]), {"service": "tavily", "secret": "k" * 20}
    )

    assert answer.status_code == 302
    assert "tavily_search" in text_of(alice.client.get(answer["Location"]))
    assert report_workflow(alice.principal, workflow).findings == ()
    assert "Connected" in text_of(alice.client.get(reverse("workflows:tools")))


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"service": "tavily"}, "secret"),
        ({"service": "searxng"}, "url"),
        ({"service": "x"}, "service"),
    ],
)
def test_service_is_connected_with_what_it_needs(
    alice: Person, cast: Cast, fields: dict[str, str], field: str
) -> None:
    with pytest.raises(tools.connecting.InvalidValue) as refused:
        tools.connect_service(alice.principal, team_id=cast.team_a.pk, **fields)

    assert refused.value.field == field


def test_pin_of_a_missing_node_chooses_one_of_its_branches(alice: Person) -> None:
    source = build_source(sort={"type": "mail-sorter"}, left=LLM, right=LLM)
    source["edges"] += [
        {"id": "l", "source": "sort", "sourceHandle": "spam", "target": "left"},
        {"id": "r", "source": "sort", "sourceHandle": "inbox", "target": "right"},
    ]
    workflow = make_workflow(alice, source=source)

    page = text_of(alice.client.get(reverse("workflows:last_step", args=[workflow.pk, "sort"])))
    assert ["spam" in page, "inbox" in page, 'id="pin-handle"' in page] == [True] * 3
    alice.client.post(
        reverse("workflows:pin", args=[workflow.pk, "sort"]),
        {"outputs": '{"text": "x"}', "handle": "inbox"},
        headers=HTMX,
    )

    assert load_pins(workflow) == {"sort": {"outputs": {"text": "x"}, "handle": "inbox"}}
    assert list_branches(workflow, "left") == []


def test_panel_of_a_missing_node_says_what_it_was(alice: Person) -> None:
    data = {"type": "mail-sorter", "provider_name": "acme/mail", "rules": [{"to": "a\nb"}]}
    workflow = make_workflow(alice, source=build_source(sort=data))

    page = text_of(alice.client.get(reverse("workflows:node", args=[workflow.pk, "sort"])))

    for text in ("mail-sorter", "acme/mail", "rules › 1 › to", "<pre", "Replace with"):
        assert text in page
