"""The page of the import report: what it says, in which words, and the choices for the whole document."""

import re
from html import unescape
from typing import Any

import pytest
from django.utils import translation

from tests.engine.import_report.documents import FORECAST
from tests.factories.workflows import make_provider, make_workflow
from tests.support.cast import Cast, Person
from tests.workflows.views.catalog.test_import_report import AGENT, LLM, build_source, url
from tests.workflows.views.conftest import HTMX, text_of
from workflows.engine.import_report.report import Effect, Finding, Need
from workflows.models import ModelProvider, Workflow
from workflows.services import credentials
from workflows.services.catalog.import_reports import report_workflow
from workflows.services.catalog.importing import list_notes
from workflows.services.editor.drafts import load_draft
from workflows.templatetags.problems import describe_problem
from workflows.views.catalog.report_words import WORDS, describe_setting


pytestmark = pytest.mark.django_db

RETRIEVAL = {
    "type": "knowledge-retrieval",
    "title": "Handbook search",
    "query_variable_selector": ["sys", "query"],
    "retrieval_mode": "single",
    "single_retrieval_config": {"model": {"provider": "acme", "name": "small"}},
    "multiple_retrieval_config": {
        "weights": {
            "vector_setting": {
                "vector_weight": 0.5,
                "embedding_provider_name": "acme",
                "embedding_model_name": "bge-m3",
            },
            "keyword_setting": {"keyword_weight": 0.5},
        }
    },
}


def words_of(answer: Any) -> str:
    """Return what the report says, without its markup."""
    report = text_of(answer).split('id="import-report"')[1].split("</main>")[0]
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", report)))


def read_report(person: Person, workflow: Workflow) -> str:
    return words_of(person.client.get(url("import_report", workflow)))


def make_house(person: Person) -> ModelProvider:
    """Return a provider that offers a model to choose."""
    return credentials.create_provider(
        person.principal,
        team_id=person.team.pk,
        name="house",
        base_url="https://models.example.org/v1",
        default_model="gpt-x",
    )


def read_models(workflow: Workflow) -> dict[str, Any]:
    """Return the provider and the name of each node's model."""
    nodes = load_draft(workflow).nodes
    models = {node.id: node.data.get("model") for node in nodes}
    return {id_: (model["provider"], model["name"]) for id_, model in models.items() if model}


def test_page_says_what_the_demo_model_can_do_and_leads_to_a_model(alice: Person) -> None:
    workflow = make_workflow(alice, source=build_source(m=LLM))

    page = read_report(alice, workflow)

    assert "All 3 nodes open · 1 needs a model" in page
    assert "answer a question with sentences that the node gives it" in page
    assert "is to summarize, translate or draft fails or only repeats what it was given" in page
    assert "Connect a model" in page
    assert "The offline demo model answers" not in page
    assert "Nothing is missing" not in page


def test_features_and_settings_have_names_and_sentences(alice: Person) -> None:
    llm = {**LLM, "vision": {"enabled": True}, "reranker": "cross"}
    workflow = make_workflow(alice, source=build_source(m=llm, r=RETRIEVAL))

    html = text_of(alice.client.get(url("import_report", workflow)))
    page = words_of(alice.client.get(url("import_report", workflow)))

    assert "Images in prompts" in page
    assert "can't see images" in page
    assert "Images in prompts offline" not in page
    # Both settings of the embedding model are one line.
    assert page.count("Embedding model") == 1
    assert "bge-m3, acme" in page
    assert "embedding_model_name" not in page
    assert '<code class="break">reranker</code>' in html


def test_every_known_setting_has_words_in_both_languages() -> None:
    for name in WORDS:
        finding = Finding(Need.FEATURE, name.replace("*", "some"), Effect.IGNORED)
        english = describe_setting(finding)
        with translation.override("zh-hans"):
            chinese = describe_setting(finding)

        assert english.sentence.endswith(".")
        assert chinese.sentence.endswith("。")
        assert chinese.name != english.name


def test_problems_are_listed_by_node_with_links_to_their_fields(alice: Person) -> None:
    broken = {**LLM, "prompt_template": [{"role": "user", "text": "{{#ghost.text#}}"}]}
    each = {"type": "iteration", "title": "Each"}
    workflow = make_workflow(alice, source=build_source(m=broken, each=each))

    html = text_of(alice.client.get(url("import_report", workflow)))

    problems = html.split('id="report-problems"')[1]
    assert "?node=each&amp;field=iterator_selector" in problems
    assert problems.index("Each") < problems.index("Writer")  # errors first
    assert "?node=m&amp;field=prompt_template" in problems
    assert re.search("problems? keeps? the workflow from starting", html)


def test_warnings_alone_keep_nothing_from_starting(alice: Person) -> None:
    source = build_source(m=LLM)
    lonely = {"id": "lonely", "data": {**LLM, "title": "Lonely"}}
    workflow = make_workflow(alice, source={**source, "nodes": [*source["nodes"], lonely]})

    page = read_report(alice, workflow)

    assert "Each leads to its place in the editor." in page
    assert "Errors keep the workflow from starting." not in page


def test_one_model_is_chosen_for_all_that_are_missing_and_undone(cast: Cast) -> None:
    provider = make_house(cast.alice)
    other = {**LLM, "model": {"provider": "zeta", "name": "tiny", "mode": "chat"}}
    workflow = make_workflow(
        cast.alice, source=build_source(m=LLM, n=LLM, o=other, a=AGENT, r=RETRIEVAL)
    )
    before = load_draft(workflow)
    choice = {"choice": f"{provider.pk}:gpt-x", "all": "yes"}
    assert "Use one model for all that are missing" in read_report(cast.bob, workflow)

    answer = cast.bob.client.post(url("use_model", workflow), choice, headers=HTMX)

    assert read_models(workflow) == dict.fromkeys("mnoa", ("house", "gpt-x"))
    said = words_of(answer)
    assert "Use the model house/gpt-x" in said
    assert "Writer" in said.split("Changed in:")[1].split("Undo")[0]
    findings = report_workflow(cast.bob.principal, workflow).findings
    assert [each.name for each in findings if each.need is Need.MODEL] == []

    number = re.search(r'name="revision" value="(\d+)"', text_of(answer))
    assert number is not None
    undone = cast.bob.client.post(
        url("undo_replacement", workflow), {"revision": number[1]}, headers=HTMX
    )
    assert "Undone: Use the model house/gpt-x" in words_of(undone)
    assert load_draft(workflow) == before


def test_one_of_several_models_is_replaced_in_its_nodes_only(alice: Person) -> None:
    provider = make_provider(alice)
    other = {**LLM, "model": {"provider": "zeta", "name": "tiny", "mode": "chat"}}
    workflow = make_workflow(alice, source=build_source(m=LLM, n=LLM, o=other))
    names = {"provider": "langgenius/acme/acme", "model": "big"}

    alice.client.post(
        url("use_model", workflow), {**names, "choice": f"{provider.pk}:gpt"}, headers=HTMX
    )

    new = ("openai", "gpt")
    assert read_models(workflow) == {"m": new, "n": new, "o": ("zeta", "tiny")}


def test_models_and_tools_that_were_chosen_can_be_changed_in_the_report(alice: Person) -> None:
    provider = make_house(alice)
    workflow = make_workflow(alice, source=build_source(m=LLM, t=FORECAST))
    missing = {"provider": "langgenius/acme/acme", "model": "big"}
    weather = {"provider": "acme/weather/weather", "name": "forecast"}
    models = url("use_model", workflow), {**missing, "choice": f"{provider.pk}:one"}
    tools = url("use_tool", workflow), {**weather, "choice": '["builtin", "ddgo_search", ""]'}

    alice.client.post(*models, headers=HTMX)
    answer = alice.client.post(*tools, headers=HTMX)

    for name, action, new in (
        ("Model for house/one", "use_model", f"{provider.pk}:two"),
        ("Tool for ddgo_search", "use_tool", '["builtin", "calculator", ""]'),
    ):
        form = text_of(answer).split(f'aria-label="{name}"')[0].rpartition("<form")[2]
        fields = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))
        alice.client.post(url(action, workflow), {**fields, "choice": new}, headers=HTMX)
    data = {node.id: node.data for node in load_draft(workflow).nodes}
    assert read_models(workflow) == {"m": ("house", "two")}
    assert data["t"]["tool_name"] == "calculator"


def test_undo_after_another_edit_changes_nothing_and_says_so(alice: Person) -> None:
    provider = make_provider(alice)
    workflow = make_workflow(alice, source=build_source(m=LLM, t=FORECAST))
    names = {"provider": "langgenius/acme/acme", "model": "big"}
    for model in ("one", "two"):
        alice.client.post(
            url("use_model", workflow), {**names, "choice": f"{provider.pk}:{model}"}, headers=HTMX
        )
        names = {"provider": "openai", "model": "one"}
    before = load_draft(workflow)

    for number in ("2", "99", "x", ""):
        answer = alice.client.post(
            url("undo_replacement", workflow), {"revision": number}, headers=HTMX
        )

        assert answer.status_code == 200
        assert load_draft(workflow) == before
    assert "edited this since" in words_of(
        alice.client.post(url("undo_replacement", workflow), {"revision": "2"}, headers=HTMX)
    )


def test_model_of_another_team_is_not_found(cast: Cast) -> None:
    provider = make_provider(cast.carol)
    workflow = make_workflow(cast.alice, source=build_source(m=LLM))

    answer = cast.alice.client.post(
        url("use_model", workflow), {"all": "yes", "choice": f"{provider.pk}:gpt"}
    )

    assert answer.status_code == 404


PLUGINS = [
    {"type": "package", "value": {"plugin_unique_identifier": "acme/weather:1.2@f0"}},
    {"type": "package", "value": {"plugin_unique_identifier": "langgenius/agent:0.1@11"}},
    {"type": "package", "value": {"plugin_unique_identifier": "acme/unused:3@22"}},
]


def test_plugins_are_named_at_their_tools_and_those_without_a_node_are_folded(
    alice: Person,
) -> None:
    nodes = [
        {"id": "start", "data": {"type": "start", "variables": []}},
        {"id": "t", "data": dict(FORECAST)},
        {"id": "a", "data": {**AGENT, "agent_strategy_provider_name": "langgenius/agent/agent"}},
    ]
    source = {
        "version": "0.6.0",
        "kind": "app",
        "app": {"name": "A", "mode": "workflow"},
        "dependencies": PLUGINS,
        "workflow": {"graph": {"nodes": nodes, "edges": []}},
    }
    workflow = make_workflow(alice, source=source)

    page = read_report(alice, workflow)

    tools, others = page.split("Other plug-ins")
    assert "from the plug-in acme/weather 1.2" in tools
    assert "acme/weather" not in others
    assert "langgenius/agent 0.1 Available" in others
    assert "1 that no node uses acme/unused 3" in others
    report = report_workflow(alice.principal, workflow)
    assert [each.name for each in report.unused] == ["acme/unused"]


def test_notes_of_the_import_stay_on_the_page(alice: Person) -> None:
    source = {
        "version": "0.3.0",
        "kind": "app",
        "app": {"name": "Old bot", "mode": "chat"},
        "model_config": {
            "pre_prompt": "Be kind to {{name}}.",
            "model": {"provider": "openai", "name": "gpt", "completion_params": {}},
            "user_input_form": [{"text-input": {"variable": "name", "label": "Name"}}],
            "external_data_tools": [{"variable": "weather"}],
        },
    }
    workflow = make_workflow(alice, source=source)

    for _reading in range(2):
        page = read_report(alice, workflow)
        assert "The app of mode chat was turned into a graph" in page
        assert "The fields of the form are inputs of the node Start: name" in page
        assert "The setting external_data_tools became no node" in page

    with translation.override("zh-hans"):
        notes = [describe_problem(note) for note in list_notes(workflow)]
    assert notes
    assert not [note for note in notes if re.search(r"[a-z]+ [a-z]+ [a-z]+", note)]


def test_numbers_and_nouns_agree(alice: Person) -> None:
    workflow = make_workflow(alice, source=build_source(m=LLM, t=FORECAST))

    page = read_report(alice, workflow)

    assert re.findall(r"\b1 (?:nodes|problems|tools|models|settings)\b", page) == []
