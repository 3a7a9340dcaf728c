"""The inspector's forms, as the server draws them from the kinds' descriptions."""

import json
import re
from typing import Any

import pytest
from django.urls import reverse

from memory.public import LearningRule, set_learning_rule
from tests.factories.workflows import make_run, make_workflow, within
from tests.memory.services.conftest import at_door
from tests.support.markup import markup_of
from workflows.engine.kinds import Field, Kinds, NodeKind, Output, Widget
from workflows.engine.nodes.data.code import OUTPUT_TYPES
from workflows.execution.kinds import load_kinds
from workflows.models import Step
from workflows.views.editor.inspector import panel


def document(kind: str, **data: Any) -> dict[str, Any]:
    variables = [
        {"variable": "text", "type": "string"},
        {"variable": "tags", "type": "array[string]"},
    ]
    return {
        "version": "0.1.0",
        "nodes": [
            {"id": "start", "data": {"type": "start", "title": "Begin", "variables": variables}},
            {"id": "n1", "data": {"type": kind, "title": "It", **data}},
        ],
        "edges": [{"id": "e1", "source": "start", "target": "n1"}],
        "environment_variables": [{"name": "KEY", "value_type": "secret", "value": "s3cr3t"}],
        "conversation_variables": [{"name": "seen", "type": "string", "default": "no"}],
    }


def fragment(person: Any, workflow: Any, node: str = "n1") -> str:
    answer = person.client.get(reverse("workflows:node", args=[workflow.pk, node]))
    assert answer.status_code == 200
    return markup_of(answer)


def held(html: str) -> dict[str, Any]:
    found = re.search(r'<script id="insp-data" type="application/json">(.*?)</script>', html, re.S)
    assert found
    return json.loads(found[1])


def test_picker_of_a_variable_accepts_the_types_of_its_field(alice):
    html = fragment(alice, make_workflow(alice, "Pick", document("list-operator")))

    [variable] = re.findall(r'<button[^>]*id="f-variable"[^>]*>', html)
    assert 'data-wants="array[' in variable


@pytest.mark.parametrize(("kind", "retries"), [("http-request", True), ("if-else", False)])
def test_docs_say_whether_a_kind_can_be_retried(alice, kind, retries):
    html = fragment(alice, make_workflow(alice, "Docs", document(kind)))

    assert ("<li>Supports retry</li>" in html) is retries


@pytest.mark.parametrize(
    ("kind", "asks"),
    [("http-request", True), ("llm", True), ("question-classifier", True), ("code", False)],
)
def test_kinds_that_call_outside_ask_what_a_lost_call_means(alice, kind, asks):
    html = fragment(alice, make_workflow(alice, "Safety", document(kind)))

    assert ("If the server is lost during the call" in html) is asks


def test_settings_end_with_the_output_variables_and_the_head_runs_the_node(alice):
    model, prompt = {"provider": "p", "name": "m"}, [{"role": "user", "text": "Hello"}]
    source = document("llm", model=model, prompt_template=prompt)
    html = fragment(alice, make_workflow(alice, "Outputs", source))
    settings = html[html.index('id="insp-settings"') : html.index('id="insp-last"')]

    assert re.search(r'data-run-node="run-node" data-node="n1"', html[: html.index("insp-tabs")])
    assert settings.rindex("Output variables") > settings.index("insp-outputs")
    assert '<code>text</code><span class="insp-type">string</span>' in settings


def test_start_lists_its_inputs_and_the_variables_of_every_run(alice):
    html = fragment(alice, make_workflow(alice, "Begin", document("llm")), "start")
    outputs = html[html.index("insp-outputs") : html.index('id="insp-last"')]

    names = re.findall(r"<code>([^<]+)</code>", outputs)
    assert names[:2] == ["text", "tags"]
    assert {"sys.files", "sys.user_id"} <= {*names}


@pytest.mark.parametrize("edition", ["basic", "jinja2"])
def test_variables_for_jinja_are_shown_with_a_jinja_message_only(alice, edition):
    prompt = [{"role": "user", "text": "Hi", "jinja2_text": "Hi", "edition_type": edition}]
    html = fragment(alice, make_workflow(alice, "Jinja", document("llm", prompt_template=prompt)))

    [block] = re.findall(r'<div[^>]*data-field="prompt_config"[^>]*>', html)
    assert ("hidden" in block) is (edition == "basic")


def test_choices_of_an_http_request_are_labels_only(alice):
    html = fragment(alice, make_workflow(alice, "Web", document("http-request")))

    values = re.findall(r'<option value="([^"]*)"', html)
    assert "no-auth" in values
    assert [value for value in values if "{" in value] == []


def test_list_has_a_blank_row_and_what_is_said_below_it(alice):
    html = fragment(alice, make_workflow(alice, "Branch", document("if-else")))

    [cases] = re.findall(r'<div[^>]*class="insp-list insp-cases[^>]*>', html)
    for attribute in ('id="f-cases"', "data-list", 'data-key="cases"', 'data-fresh="case_id"'):
        assert attribute in cases
    assert html.count("insp-else") == 1


@pytest.mark.parametrize("kind", sorted(load_kinds()))
def test_node_of_every_kind_has_a_control_for_every_field(alice, kind):
    workflow = make_workflow(alice, kind, document(kind))

    html = fragment(alice, workflow)

    for field in load_kinds()[kind].fields:
        assert f'data-field="{field.name}"' in html
        for part in field.fields if field.widget is Widget.SECTION else ():
            assert f'data-key="{part.name}"' in html


# Kind, a setting that few change, what is always shown of its form, and what is folded.
FOLDED: list[tuple[str, dict[str, Any], set[str], set[str]]] = [
    (
        "knowledge-write",
        {"source_kind": "run"},
        {"page_title", "page_content", "tags", "source_text"},
        {"source_title", "source_url", "source_kind", "references", "page_id"},
    ),
    (
        "conversation-memory",
        {"summary": "sentences"},
        {"action", "messages", "strategy", "max_turns"},
        {"messages_selector", "max_messages", "context_window", "keep_recent", "summary"},
    ),
    (
        "memory-retrieval",
        {"language": "en"},
        {"topic_selector", "scope", "top_k"},
        {"content_selector", "document_selector", "group_id_selector", "min_score", "language"},
    ),
]


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize(("kind", "setting", "shown", "folded"), FOLDED)
def test_what_few_change_is_folded_until_it_is_set(
    alice, kind: str, setting: dict[str, Any], shown: set[str], folded: set[str], is_open: bool
):
    data = setting if is_open else {}
    html = fragment(alice, make_workflow(alice, "Folded", document(kind, **data)))

    [group] = re.findall(r'<details[^>]*data-group="advanced"[^>]*>', html)
    before, after = html.split(group, 1)
    assert ("open" in group) is is_open
    assert shown <= {*re.findall(r'data-field="(\w+)"', before)}
    assert folded <= {*re.findall(r'data-field="(\w+)"', after)}


def test_groups_of_variables_are_switched_like_everything_that_shows_more(alice):
    html = fragment(alice, make_workflow(alice, "Groups", document("variable-aggregator")))

    [switch] = re.findall(r'<input[^>]*data-key="group_enabled"[^>]*>', html)
    assert 'role="switch"' in switch


class Plugged(NodeKind[Any, Any]):
    """What a plug-in might bring: nobody wrote a template for it."""

    name = "weather"
    title = "Weather"
    description = "Asks for the weather."
    fields = (
        Field("town", "Town", Widget.TEMPLATE, required=True, help="Where?"),
        Field("units", "Units", Widget.CHOICE, default="c", choices=(("c", "Celsius"),)),
        Field("days", "Days", Widget.NUMBER, low=1, high=7, shown_when=("units", ("c",))),
        Field("odd", "Odd", "a-widget-nobody-knows"),  # type: ignore[arg-type]  # as a newer plug-in may
    )

    def list_outputs(self, spec):
        return (Output("degrees", "number", "How warm it is"),)


@pytest.fixture
def plugged(monkeypatch):
    kinds = Kinds([*load_kinds().values(), Plugged()])
    monkeypatch.setattr(panel, "load_kinds", lambda: kinds)


def test_node_of_a_plugin_has_a_form_and_docs_without_work_here(alice, plugged):
    workflow = make_workflow(alice, "w", document("weather", town="{{#start.text#}}", odd={"a": 1}))

    html = fragment(alice, workflow)

    assert re.search(r'<textarea[^>]*data-key="town"', html)
    assert re.search(r'type="number"[^>]*data-key="days"[^>]*min="1"[^>]*max="7"', html)
    assert re.search(r'data-key="odd"[^>]*data-as="json"', html)
    assert "Asks for the weather." in html
    assert "How warm it is" in html


def test_node_held_lists_what_is_reachable_and_no_secret_value(alice):
    workflow = make_workflow(alice, "w", document("template-transform", template="{{ x }}"))

    html = fragment(alice, workflow)

    sources = {one["head"]: one for one in held(html)["sources"]}
    assert [v["at"] for v in sources["start"]["variables"]] == [
        ["start", "text"],
        ["start", "tags"],
    ]
    assert sources["start"]["variables"][1]["type"] == "array[string]"
    assert sources["env"]["variables"][0]["type"] == "secret"
    assert "s3cr3t" not in html


def test_node_problems_are_addressed_to_their_fields(alice):
    outputs = [{"variable": "x", "value_selector": ["ghost", "x"]}]
    workflow = make_workflow(alice, "w", document("end", outputs=outputs))

    problems = held(fragment(alice, workflow))["problems"]

    assert [(p["field"], p["severity"]) for p in problems] == [
        ("outputs.0.value_selector", "error")
    ]


def test_node_of_an_unknown_kind_is_shown_as_it_is(alice):
    workflow = make_workflow(alice, "w", document("teleport", to="Mars"))

    html = fragment(alice, workflow)

    assert "It is kept unchanged, and the rest of the workflow runs." in html
    assert "Mars" in html


def test_node_written_otherwise_than_its_form_expects_is_edited_as_json(alice):
    workflow = make_workflow(alice, "w", document("end", outputs="all of them"))

    html = fragment(alice, workflow)

    assert re.search(r'data-key="outputs"[^>]*data-as="json"', html)


def test_node_from_before_there_were_several_cases_shows_its_one_case(alice):
    conditions = [{"variable_selector": ["start", "text"], "comparison_operator": "empty"}]
    workflow = make_workflow(alice, "w", document("if-else", conditions=conditions))

    shown = held(fragment(alice, workflow))["shown"]

    assert shown["cases"][0]["case_id"] == "true"
    assert shown["cases"][0]["conditions"][0]["variable_selector"] == ["start", "text"]


def test_node_that_may_fail_offers_default_values_by_its_outputs(alice):
    data = {"template": "x", "error_strategy": {"type": "default-value"}}
    workflow = make_workflow(alice, "w", document("template-transform", **data))

    html = fragment(alice, workflow)

    assert re.search(r'data-field="default_value" [^>]*>', html)
    assert re.search(r'data-as="typed" data-type="string"', html)


def test_node_for_a_viewer_is_marked_read_only(cast):
    workflow = make_workflow(cast.alice, "w", document("answer", answer="x"))

    assert 'data-can-edit="no"' in fragment(cast.vic, workflow)
    assert 'data-can-edit="yes"' in fragment(cast.bob, workflow)


def test_node_without_memory_has_no_memory_section(alice, settings):
    workflow = make_workflow(alice, "w", document("llm", model={}))
    assert 'data-section="enhanced_memory"' in fragment(alice, workflow)

    settings.MEMORY_ENABLED = False

    assert 'data-section="enhanced_memory"' not in fragment(alice, workflow)
    url = reverse("workflows:recall_preview", args=[workflow.pk, "n1"])
    assert alice.client.get(url).status_code == 404


def test_node_that_is_not_there_is_not_found(alice):
    workflow = make_workflow(alice, "w", document("answer"))

    url = reverse("workflows:node", args=[workflow.pk, "nobody"])

    assert alice.client.get(url).status_code == 404


def test_overview_of_nothing_shows_variables_and_masks_secrets(alice):
    workflow = make_workflow(alice, "w", document("answer"))

    html = markup_of(alice.client.get(reverse("workflows:inspector", args=[workflow.pk])))

    assert 'data-variable="KEY"' in html
    assert 'data-variable="seen"' in html
    assert "s3cr3t" not in html


def test_overview_says_whether_runs_teach_and_where_that_is_switched(alice):
    workflow = make_workflow(alice)
    url = reverse("workflows:inspector", args=[workflow.pk])
    switch = f"{reverse('memory:curation_settings')}?app={workflow.pk}"

    off = markup_of(alice.client.get(url))
    set_learning_rule(at_door(alice), app_id=str(workflow.pk), learning=LearningRule(True))
    on = markup_of(alice.client.get(url))

    assert switch in off
    assert "Learn from runs" in off
    assert '<span class="pill">Off</span>' in off
    assert '<span class="pill pill-ok">On</span>' in on


def test_overview_of_several_names_them(alice):
    workflow = make_workflow(alice, "w", document("answer"))

    url = reverse("workflows:inspector", args=[workflow.pk])
    html = markup_of(alice.client.get(f"{url}?node=start&node=n1"))

    assert "2 nodes selected" in html
    assert 'data-go="start"' in html


def test_overview_of_an_edge_says_when_it_is_taken(alice):
    source = document("answer")
    case = {
        "case_id": "hot",
        "logical_operator": "and",
        "conditions": [
            {"variable_selector": ["start", "text"], "comparison_operator": "is", "value": "hot"}
        ],
    }
    source["nodes"].append({"id": "if", "data": {"type": "if-else", "cases": [case]}})
    source["edges"].append({"id": "e2", "source": "if", "sourceHandle": "hot", "target": "n1"})
    workflow = make_workflow(alice, "w", source)

    url = reverse("workflows:inspector", args=[workflow.pk])
    html = markup_of(alice.client.get(f"{url}?edge=e2"))

    assert "start.text is hot" in html
    assert "data-delete-edge" in html


def test_check_code_names_the_line(alice):
    workflow = make_workflow(alice, "w", document("code"))
    url = reverse("workflows:check_code", args=[workflow.pk])

    wrong = alice.client.post(
        url, {"source": "def main():\n  return {", "language": "python3"}, "application/json"
    )
    right = alice.client.post(url, {"source": "def main():\n  return {}"}, "application/json")

    assert [problem["line"] for problem in wrong.json()["problems"]] == [2]
    assert right.json()["problems"] == []


def test_rendered_text_holds_the_last_runs_values(alice):
    workflow = make_workflow(
        alice, "w", document("answer", answer="Dear {{#start.text#}}, {{#env.KEY#}}")
    )
    run = make_run(alice, workflow, inputs={"text": "Ana"})
    with within(alice):
        Step.objects.create(
            team_id=run.team_id,
            run=run,
            node_key="start",
            kind="start",
            status="succeeded",
            outputs={"text": "Ana"},
        )

    url = reverse("workflows:rendered", args=[workflow.pk, "n1"])
    html = markup_of(alice.client.get(f"{url}?path=answer"))

    assert "Dear Ana, " in html
    assert "s3cr3t" not in html


def test_rendered_text_takes_test_values(alice):
    workflow = make_workflow(alice, "w", document("answer", answer="Dear {{#start.text#}}!"))

    url = reverse("workflows:rendered", args=[workflow.pk, "n1"])
    html = markup_of(alice.client.get(url, {"path": "answer", "value.start.text": "Ben"}))

    assert "Dear Ben!" in html
    assert "Begin › text" in html
    assert ">Ben</textarea>" in html.replace("\n", "")


def test_rendered_jinja_uses_the_nodes_own_names(alice):
    variables = [{"variable": "x", "value_selector": ["conversation", "seen"]}]
    data = {"template": "{% if x %}{{ x|upper }}{% endif %}", "variables": variables}
    workflow = make_workflow(alice, "w", document("template-transform", **data))

    url = reverse("workflows:rendered", args=[workflow.pk, "n1"])

    assert "NO" in markup_of(alice.client.get(f"{url}?path=template"))
    assert alice.client.get(f"{url}?path=nothing.there").status_code == 404


def test_code_outputs_offer_the_types_there_are_and_those_written(alice):
    outputs = {"a": {"type": "string"}, "b": {"type": "odd"}}
    workflow = make_workflow(alice, "w", document("code", code="def main(): ...", outputs=outputs))

    html = fragment(alice, workflow)

    kinds = re.findall(r'<select[^>]*data-entry-key="type".*?</select>', html, re.S)
    offered = [re.findall(r'<option value="([^"]*)"( selected)?', one) for one in kinds]
    assert [[name for name, picked in row if picked] for row in offered] == [
        ["string"],
        ["odd"],
        ["string"],
    ]
    assert {name for row in offered for name, _picked in row} == {*map(str, OUTPUT_TYPES), "odd"}


def test_node_gives_what_follows_from_the_variables_it_reads(alice):
    data = {"iterator_selector": ["start", "text"], "output_selector": ["n1", "index"]}
    workflow = make_workflow(alice, "w", document("iteration", **data))

    html = fragment(alice, workflow)

    said = re.findall(r'<li><code>output</code><span class="insp-type">(.*?)</span>', html)
    assert set(said) == {"array[number]"}


@pytest.mark.parametrize("kind", ["tool", "sub-workflow"])
def test_picker_of_what_isnt_chosen_yet_says_so(alice, kind):
    html = fragment(alice, make_workflow(alice, "Unchosen", document(kind)))

    blank = re.findall(r'<option value=""[^>]*>\s*([^<]*?)\s*</option>', html)
    assert "Choose…" in blank
    assert "" not in blank


def test_help_of_an_argument_is_whole_sentences(alice):
    fields = load_kinds()["tool"].fields
    example = {field.name: field.example for field in fields if field.example is not None}

    html = fragment(alice, make_workflow(alice, "Tool", document("tool", **example)))

    assert "Where to begin in the text of a long page. Default: 0." in html
    assert "Starts with http:// or https://</" in html
