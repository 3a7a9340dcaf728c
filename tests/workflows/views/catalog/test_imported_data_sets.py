"""Data sets of another installation: a knowledge base of the team is chosen for each, and remembered for the next document."""

import json
from typing import Any

import pytest
from django.core.management import call_command
from django.urls import reverse

from accounts.errors import NotFound
from memory import services as memory
from memory.public import MemoryCaller
from tests.factories.workflows import make_workflow
from tests.support.cast import Cast, Person
from tests.workflows.views.conftest import HTMX, text_of
from workflows.models import Workflow
from workflows.services.catalog.import_reports import report_workflow
from workflows.services.catalog.importing import replace_from_document
from workflows.services.catalog.knowledge_mappings import replace_data_set
from workflows.services.editing.undo import undo
from workflows.services.editor.drafts import list_problems, load_draft


pytestmark = pytest.mark.django_db

SALES, HR = "9f0c2d1e-sales", "77aa10bc-people"


def build_document(**data_sets: list[str]) -> dict[str, Any]:
    """Return Dify's document of a node for each list of data sets."""
    nodes = [{"id": "start", "data": {"type": "start", "title": "Start", "variables": []}}]
    nodes += [
        {"id": name, "data": {"type": "knowledge-retrieval", "title": name.title(),
                              "query_variable_selector": ["sys", "query"],
                              "retrieval_mode": "multiple", "dataset_ids": ids}}
        for name, ids in data_sets.items()
    ]  # fmt: skip
    edges = [{"id": f"e-{name}", "source": "start", "target": name} for name in data_sets]
    return {
        "version": "0.6.0",
        "kind": "app",
        "app": {"name": "Desk", "mode": "advanced-chat"},
        "workflow": {"graph": {"nodes": nodes, "edges": edges}},
    }


@pytest.fixture
def handbook(alice: Person) -> str:
    caller = MemoryCaller(alice.principal, alice.team.pk)
    return memory.create_knowledge_base(caller, name="Handbook").text


def read_chosen(workflow: Workflow) -> dict[str, Any]:
    return {
        node.id: node.data.get("knowledge_bases")
        for node in load_draft(workflow).nodes
        if node.kind == "knowledge-retrieval"
    }


def list_missing(person: Person, workflow: Workflow) -> list[str]:
    report = report_workflow(person.principal, workflow)
    return [finding.name for finding in report.findings if finding.need == "data_set"]


def choose(person: Person, workflow: Workflow, data_set: str, choice: str) -> Any:
    url = reverse("workflows:use_knowledge_base", args=[workflow.pk])
    return person.client.post(url, {"data_set": data_set, "choice": choice}, headers=HTMX)


def test_knowledge_base_is_chosen_for_all_nodes_as_one_edit(alice: Person, handbook: str) -> None:
    workflow = make_workflow(
        alice, source=build_document(one=[SALES, HR], two=[SALES], three=["other"])
    )
    before = load_draft(workflow)
    page = text_of(alice.client.get(reverse("workflows:import_report", args=[workflow.pk])))
    assert f"Knowledge base for {SALES}" in page
    assert "Handbook (0 pages)" in page
    assert reverse("memory:knowledge_base_new") in page

    answer = text_of(choose(alice, workflow, SALES, handbook))

    assert f"Search Handbook for the knowledge base {SALES}" in answer
    assert "→ Handbook" in answer
    assert read_chosen(workflow) == {"one": [handbook], "two": [handbook], "three": None}
    assert list_missing(alice, workflow) == [HR, "other"]
    kept = {node.id: node.data["dataset_ids"] for node in load_draft(workflow).nodes[1:]}
    assert kept == {"one": [SALES, HR], "two": [SALES], "three": ["other"]}
    undo(alice.principal, workflow=workflow, client="", idempotency_key=None)
    assert load_draft(workflow) == before


def test_second_data_set_of_a_node_joins_in_the_order_of_the_document(
    alice: Person, handbook: str
) -> None:
    workflow = make_workflow(alice, source=build_document(one=[SALES, HR, "x"]))

    choose(alice, workflow, HR, "global:default")
    choose(alice, workflow, SALES, handbook)
    choose(alice, workflow, "x", handbook)

    assert read_chosen(workflow) == {"one": [handbook, "global:default"]}
    assert list_missing(alice, workflow) == []


def test_next_document_that_names_the_data_set_has_the_knowledge_base_at_once(
    cast: Cast, handbook: str
) -> None:
    first = make_workflow(cast.alice, source=build_document(one=[SALES]))
    choose(cast.alice, first, SALES, handbook)

    second = make_workflow(cast.bob, source=build_document(one=[HR, SALES]))
    replaced = replace_from_document(
        cast.bob.principal, workflow=first, source=build_document(two=[SALES])
    ).workflow

    assert read_chosen(second) == {"one": [handbook]}
    assert list_missing(cast.bob, second) == [HR]
    assert read_chosen(replaced) == {"two": [handbook]}
    stranger = make_workflow(cast.carol, source=build_document(one=[SALES]))
    assert read_chosen(stranger) == {"one": None}


def test_choice_in_the_document_itself_stays(alice: Person, handbook: str) -> None:
    choose(alice, make_workflow(alice, source=build_document(one=[SALES])), SALES, handbook)
    source = build_document(one=[SALES])
    source["workflow"]["graph"]["nodes"][1]["data"]["knowledge_bases"] = ["global:default"]

    assert read_chosen(make_workflow(alice, source=source)) == {"one": ["global:default"]}


def test_name_of_a_knowledge_base_of_the_team_is_recognised(alice: Person, handbook: str) -> None:
    workflow = make_workflow(alice, source=build_document(one=[handbook, "global:default"]))

    assert read_chosen(workflow) == {"one": [handbook, "global:default"]}
    assert list_missing(alice, workflow) == []


@pytest.mark.parametrize("choice", ["global:none", "user:somebody", "conversation:c", "x"])
def test_what_is_no_knowledge_base_of_the_team_is_refused(alice: Person, choice: str) -> None:
    workflow = make_workflow(alice, source=build_document(one=[SALES]))

    assert choose(alice, workflow, SALES, choice).status_code == 404
    with pytest.raises(NotFound):
        replace_data_set(alice.principal, workflow=workflow, data_set=SALES, knowledge_base=choice)
    assert read_chosen(workflow) == {"one": None}


def test_choice_can_be_changed_and_leaves_those_for_other_data_sets(
    alice: Person, handbook: str
) -> None:
    workflow = make_workflow(alice, source=build_document(one=[SALES, HR], two=[SALES]))
    choose(alice, workflow, SALES, handbook)
    choose(alice, workflow, HR, handbook)

    page = text_of(choose(alice, workflow, SALES, "global:default"))

    assert 'value="global:default" selected' in page
    assert read_chosen(workflow) == {"one": ["global:default", handbook], "two": ["global:default"]}
    assert list_missing(alice, workflow) == []


def test_each_data_set_without_a_knowledge_base_is_a_problem_of_its_node(
    alice: Person, handbook: str
) -> None:
    workflow = make_workflow(alice, source=build_document(one=[SALES, HR]))

    def list_unmapped() -> list[tuple[str | None, str | None, str]]:
        problems = list_problems(workflow, load_draft(workflow))
        return [
            (each.node, each.field, next(id_ for id_ in (SALES, HR) if id_ in each.message))
            for each in problems
            if each.code == "knowledge.data_set"
        ]

    assert list_unmapped() == [("one", "knowledge_bases", SALES), ("one", "knowledge_bases", HR)]
    choose(alice, workflow, SALES, handbook)
    assert list_unmapped() == [("one", "knowledge_bases", HR)]
    choose(alice, workflow, HR, handbook)
    assert list_unmapped() == []


def test_long_id_is_replaced_and_not_remembered(alice: Person, handbook: str) -> None:
    long = "x" * 300
    workflow = make_workflow(alice, source=build_document(one=[long]))

    choose(alice, workflow, long, handbook)

    assert list_missing(alice, workflow) == []
    assert list_missing(alice, make_workflow(alice, source=build_document(one=[long]))) == [long]


def test_app_without_a_graph_names_its_data_sets_too(alice: Person, handbook: str) -> None:
    source = {
        "version": "0.6.0",
        "kind": "app",
        "app": {"name": "Old", "mode": "chat"},
        "model_config": {
            "model": {"provider": "openai", "name": "gpt-4o"},
            "dataset_configs": {"datasets": {"datasets": [{"dataset": {"id": SALES, "enabled": True}}]}},
        },
    }  # fmt: skip
    workflow = make_workflow(alice, source=source)
    assert list_missing(alice, workflow) == [SALES]

    choose(alice, workflow, SALES, handbook)

    assert read_chosen(workflow) == {"knowledge": [handbook]}


def test_command_names_data_sets_and_what_answers(
    alice: Person, handbook: str, tmp_path: Any, capsys: Any
) -> None:
    choose(alice, make_workflow(alice, source=build_document(one=[SALES])), SALES, handbook)
    file = tmp_path / "desk.json"
    file.write_text(json.dumps(build_document(one=[SALES, HR])))

    call_command("import_workflow", str(file), "--as", alice.user.email)
    text = capsys.readouterr().out
    call_command("import_workflow", str(file), "--as", alice.user.email, "--json")
    tree = json.loads(capsys.readouterr().out)

    assert (
        f"  {HR}: no knowledge base is chosen; the pages of the workflow are searched [One]" in text
    )
    assert f"  {SALES}: {handbook} answers [One]" in text
    names = [each["name"] for each in tree["findings"] if each["need"] == "data_set"]
    present = [each for each in tree["present"] if each["need"] == "data_set"]
    assert names == [HR]
    assert [(each["name"], each["detail"]) for each in present] == [(SALES, handbook)]


def test_viewer_sees_the_data_sets_without_a_choice(cast: Cast, handbook: str) -> None:
    workflow = make_workflow(cast.alice, source=build_document(one=[SALES]))
    url = reverse("workflows:import_report", args=[workflow.pk])

    report = text_of(cast.vic.client.get(url)).split('id="import-report"')[1].split("</main>")[0]

    assert SALES in report
    assert "<select" not in report
