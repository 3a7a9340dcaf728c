"""The pages that an answer rests on, in runs that a worker drives: what is cited, and what a reader is told of it later."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.principals import KeyPrincipal
from memory import services as memory
from memory.public import MemoryCaller, load_cited_pages
from tests.factories.workflows import make_version, make_workflow
from tests.support.cast import Cast, Person, make_key
from tests.workflows.citations.conftest import Desk
from tests.workflows.citations.documents import (
    BREAD,
    MODEL,
    answer,
    ask,
    chat_document,
    node,
    search,
    write_pages,
)
from workflows.models import Run
from workflows.services.runs.citations import Citation, load_citations, serialize_citations


pytestmark = pytest.mark.django_db(transaction=True)


def cite(person: Person, run: Run) -> tuple[Citation, ...]:
    return load_citations(person.principal, [run]).get(run.pk, ())


def titles(person: Person, run: Run) -> list[str]:
    return [citation.page.title if citation.page else "-" for citation in cite(person, run)]


def test_pages_that_reach_a_model_are_cited_with_their_knowledge_base_and_passage(
    cast: Cast, desk: Desk
) -> None:
    run = desk.ask_about({"Opening_hours": "The bakery opens at six."}, "When does it open?")

    (citation,) = cite(cast.alice, run)

    page = citation.page
    assert page is not None
    assert (citation.position, page.title, page.content) == (
        1,
        "Opening hours",
        "The bakery opens at six.",
    )
    assert (page.namespace, page.knowledge_base, page.can_open) == (
        f"global:{run.workflow_id}",
        "Desk",
        True,
    )
    assert citation.percent
    (resource,) = serialize_citations([citation])
    assert resource == {
        "position": 1,
        "is_available": True,
        "dataset_id": page.namespace,
        "dataset_name": "Desk",
        "document_id": "opening-hours",
        "document_name": "Opening hours",
        "segment_id": str(page.entry_id),
        "score": citation.score,
        "content": "The bakery opens at six.",
    }


CHAINS = {
    "to the model": (MODEL, 2),
    "to the answer": ([answer("{{#search.result#}}")], 2),
    "through a template": ([
        node("text", "template-transform", template="{{ pages }}",
             variables=[{"variable": "pages", "value_selector": ["search", "result"]}]),
        answer("{{#text.output#}}")], 2),
    "what a program kept": ([
        node("first", "code", code_language="python3",
             code="def main(pages):\n    return {'result': pages[:1]}",
             variables=[{"variable": "pages", "value_selector": ["search", "result"]}],
             outputs={"result": {"type": "array[object]", "children": None}}),
        ask("first", "result"), answer()], 1),
    "their number alone": ([answer("{{#search.count#}} pages")], 0),
    "to nobody": ([answer("Hello")], 0),
}  # fmt: skip


@pytest.mark.parametrize(("nodes", "count"), CHAINS.values(), ids=CHAINS.keys())
def test_only_what_reaches_a_model_or_the_answer_is_cited(
    cast: Cast, desk: Desk, nodes: Any, count: int
) -> None:
    assert len(cite(cast.alice, desk.ask_about(BREAD, "bakery", *nodes))) == count


def test_branch_that_did_not_run_cites_nothing(cast: Cast, desk: Desk) -> None:
    condition = {"id": "c", "variable_selector": ["sys", "query"], "comparison_operator": "contains",
                 "value": "rye"}  # fmt: skip
    nodes = [
        node("either", "if-else", cases=[{"case_id": "yes", "logical_operator": "and",
                                          "conditions": [condition]}]),
        *MODEL,
        node("no", "answer", answer="I can't help with that."),
    ]  # fmt: skip
    edges = [
        {"id": "a", "source": "start", "target": "search"},
        {"id": "b", "source": "search", "target": "either"},
        {"id": "c", "source": "either", "sourceHandle": "yes", "target": "llm"},
        {"id": "d", "source": "llm", "target": "answer"},
        {"id": "e", "source": "either", "sourceHandle": "false", "target": "no"},
    ]
    run = desk.ask_about(BREAD, "rye bread", *nodes, edges=edges)

    assert titles(cast.alice, run)
    assert titles(cast.alice, desk.say(run.workflow, "bakery")) == []


def test_chat_with_the_feature_off_cites_nothing(cast: Cast, desk: Desk) -> None:
    assert titles(cast.alice, desk.ask_about(BREAD, "bakery", is_on=False)) == []


def test_forgotten_page_leaves_its_position_only(cast: Cast, desk: Desk) -> None:
    run = desk.ask_about(BREAD, "bakery opens")
    first = cite(cast.alice, run)[0]
    assert first.page is not None

    caller = MemoryCaller(cast.alice.principal, cast.alice.team.pk)
    memory.delete_page(caller, entry_id=first.page.entry_id)

    citations = cite(cast.alice, run)
    assert [citation.position for citation in citations] == [1, 2]
    gone = serialize_citations(citations)[0]
    assert {name: value for name, value in gone.items() if value is not None} == {
        "position": 1,
        "is_available": False,
    }


def test_erased_words_of_a_person_are_quoted_no_more(cast: Cast, desk: Desk) -> None:
    caller = MemoryCaller(cast.alice.principal, cast.alice.team.pk)
    workflow = desk.open(*MODEL)
    memory.ingest_source(
        caller, namespace=f"global:{workflow.pk}",
        source={"text": "Ben opens the bakery at six.", "title": "Ben", "person": "ben"},
        pages=[{"title": "Bakery", "content": "Ben opens the bakery at six."}],
    )  # fmt: skip
    page = {"title": "Bakery", "content": "The bakery sells rye bread."}
    memory.write_pages(caller, namespace=f"global:{workflow.pk}", pages=[page])
    run = desk.say(workflow, "bakery")
    (before,) = cite(cast.alice, run)
    assert before.page is not None
    assert "Ben opens" in before.page.content

    memory.erase(caller, subject="ben")

    (after,) = cite(cast.alice, run)
    assert after.page is not None  # what others said about the bakery stays
    assert "Ben" not in f"{after.page.title}{after.page.content}{after.page.documents}"


def test_reader_without_access_to_memory_gets_title_and_passage_and_no_more(
    cast: Cast, desk: Desk
) -> None:
    workflow = desk.open(*MODEL)
    write_pages(cast.alice, f"global:{workflow.pk}", Opening_hours="The bakery opens at six.")
    key, _secret = make_key(cast, cast.alice, scopes={"workflows:read", "runs:read", "runs:write"})
    run = desk.say(workflow, "When does it open?", by=KeyPrincipal(key), subject="eva")

    (citation,) = load_citations(KeyPrincipal(key), [run])[run.pk]

    assert citation.page is not None
    assert (citation.page.title, citation.page.can_open) == ("Opening hours", False)


def test_private_page_is_told_to_its_person_alone(cast: Cast, desk: Desk) -> None:
    write_pages(cast.alice, f"user:{cast.alice.user.pk}", Diet="Alice is allergic to nuts.")
    document = chat_document(search(scope="user"), *MODEL)
    run = desk.say(make_workflow(cast.alice, "Desk", document), "allergic nuts")
    assert titles(cast.alice, run) == ["Diet"]

    page = cite(cast.alice, run)[0].page
    assert page is not None
    for person, is_told in ((cast.alice, True), (cast.bob, False)):
        reads = [(str(run.pk), page.entry_id)]
        caller = MemoryCaller(person.principal, cast.team_a.pk)
        assert bool(load_cited_pages(caller, reads)) is is_told


def test_pages_of_an_agents_search_are_cited(cast: Cast, desk: Desk) -> None:
    call = {"name": "search_pages", "arguments": {"query": "bakery"}}
    script = [{"tool_calls": [call]}, {"text": "At six."}]
    agent = node(
        "agent", "agent", model={"provider": "offline", "name": "", "mode": "chat",
                                 "completion_params": {"offline_script": script}},
        query="{{#sys.query#}}", instruction="Search first.",
        memory_tools={"search_pages": ["global"]},
    )  # fmt: skip

    run = desk.ask_about(BREAD, "nothing at all", agent, answer("{{#agent.text#}}"))

    assert sorted(titles(cast.alice, run)) == ["Bread", "Opening hours"]


def test_pages_that_a_sub_workflow_found_are_cited_if_they_reach_the_answer(
    cast: Cast, desk: Desk
) -> None:
    helper = make_workflow(
        cast.alice,
        "Finder",
        {
            "version": "0.1.0",
            "nodes": [
                node("start", "start", variables=[{"variable": "text", "type": "string"}]),
                search(query_variable_selector=["start", "text"]),
                node("end", "end", outputs=[
                    {"variable": "found", "value_selector": ["search", "result"]}
                ]),
            ],
            "edges": [
                {"id": "a", "source": "start", "target": "search"},
                {"id": "b", "source": "search", "target": "end"},
            ],
        },
    )  # fmt: skip
    write_pages(cast.alice, f"global:{helper.pk}", Opening_hours="The bakery opens at six.")
    make_version(cast.alice, helper)
    call = node("call", "sub-workflow", workflow=str(helper.pk),
                inputs={"text": "{{#sys.query#}}"}, outputs=[{"variable": "found"}])  # fmt: skip

    for text, expected in (("{{#call.found#}}", ["Opening hours"]), ("Hello", [])):
        document = chat_document(call, answer(text))
        run = desk.say(make_workflow(cast.alice, "Front", document), "When does it open?")
        assert titles(cast.alice, run) == expected


def test_number_of_queries_does_not_grow_with_the_turns(cast: Cast, desk: Desk) -> None:
    workflow = desk.ask_about(BREAD, "bakery").workflow
    runs = [desk.say(workflow, "bakery") for _turn in range(3)]

    def count(some: list[Run]) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert len(load_citations(cast.alice.principal, some)) == len(some)
        return len(queries)

    count(runs)  # which remembers that the chat shows them
    assert count(runs[:1]) == count(runs)
