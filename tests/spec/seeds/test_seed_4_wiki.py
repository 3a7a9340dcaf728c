"""The appendix of document 4: an agent keeps a wiki — sources, links, log, lint, compiling anew — in the product."""

from dataclasses import replace
from typing import Any

import pytest

from tests.spec.seeds.conftest import Product, make_end, make_node
from tests.support.cast import Cast, KeyClient, make_key
from workflows.services.samples.samples import copy_sample


TEXT = "The printer is on floor two."
SOURCE = {"id": "walk", "title": "A walk", "text": TEXT}
PRINTER = {"title": "Printer", "content": TEXT}


def succeed(run: Any) -> Any:
    assert run["status"] == "succeeded", run["error"]
    return run["outputs"]


def ingest(product: Product, namespace: str, source: Any, *pages: Any) -> Any:
    body = {"namespace": namespace, "source": source, "pages": list(pages)}
    return product.call("post", "/knowledge/sources", body, status=201)


def read(product: Product, what: str, namespace: str) -> Any:
    return product.call("get", f"/knowledge/{what}?namespace={namespace}")


def list_pages(product: Product, namespace: str) -> dict[str, Any]:
    return {page["title"]: page for page in read(product, "pages", namespace)["items"]}


def build_keeper(*calls: tuple[str, dict[str, Any]], tools: list[str]) -> Any:
    """An agent that calls these tools one after the other, without a model."""
    script: list[Any] = [{"tool_calls": [{"name": n, "arguments": a}]} for n, a in calls]
    params = {"offline_script": [*script, {"text": "Done."}]}
    return make_node(
        "keeper",
        "agent",
        model={"provider": "offline", "name": "m", "completion_params": params},
        query="{{#start.text#}}",
        memory_tools={name: ["global"] for name in tools},
        max_rounds=20,
    )


def test_agent_records_a_source_writes_links_checks_and_reads_the_log(product: Product) -> None:
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("add_source", {"text": TEXT, "title": "A walk"}),
        ("write_page", {**PRINTER, "sources": ["f59b506e2b33"]}),
        ("write_page", {"title": "Office", "content": "It has two floors."}),
        ("link_pages", {"page": "Printer", "other": "Office"}),
        ("read_page", {"page": "printer"}),
        ("lint_pages", {}),
        ("wiki_log", {}),
    )
    keeper = build_keeper(*calls, tools=list(dict.fromkeys(name for name, _ in calls)))
    workflow = product.add_workflow(keeper, make_end(text="keeper.text", rounds="keeper.rounds"))

    rounds = succeed(product.run(workflow, "Keep the wiki."))["rounds"]

    results = [call["result"] for each in rounds for call in each["calls"]]
    namespace = f"global:{workflow}"
    pages = list_pages(product, namespace)
    assert pages["Printer"]["sources"] == [source_id(product, namespace)]
    assert read(product, "pages", namespace)["links"] == {
        "printer": ["office"],
        "office": ["printer"],
    }
    assert TEXT in results[4]
    assert '"no_sources"' in results[5]
    log = read(product, "log", namespace)["items"]
    assert [line["action"] for line in log] == ["linked"] * 2 + ["created"] * 2 + ["ingested"]
    assert len({line["run_id"] for line in log}) == 1


def test_changed_and_forgotten_sources_make_pages_stale_and_nodes_and_api_compile_them(
    product: Product,
) -> None:
    workflow = product.add_workflow(
        make_node("tidy", "knowledge-write", compile_stale=True), make_end(compiled="tidy.compiled")
    )
    namespace = f"global:{workflow}"
    ingest(product, namespace, SOURCE, PRINTER)
    ingest(product, namespace, {"id": "b", "text": "x"}, {"title": "Printer", "content": "Blue."})
    ingest(product, namespace, {**SOURCE, "text": "The printer is on floor three."})
    assert read(product, "sources", namespace)["stale"] == [
        {"page": "printer", "source": "walk", "why": "changed"}
    ]

    assert succeed(product.run(workflow))["compiled"] == 1

    page = list_pages(product, namespace)["Printer"]
    assert (page["content"], page["compiled_by"]) == (
        "Blue.\n\nThe printer is on floor three.",
        "rules",
    )
    product.call("post", "/memory/forget", {"namespace": namespace, "key": "source:b"})
    assert [f["kind"] for f in read(product, "lint", namespace)["findings"]] == ["stale"]
    (compiled,) = product.call("post", "/knowledge/compile", {"namespace": namespace})
    assert compiled["page"]["content"] == "The printer is on floor three."
    revisions = product.call("get", f"/knowledge/pages/{page['entry']}/revisions")["items"]
    assert [one["content"] for one in revisions][-1] == TEXT


def test_sample_is_fresh_and_works_by_rules_when_a_key_starts_it(
    product: Product, cast: Cast
) -> None:
    workflow = copy_sample(cast.alice.principal, team_id=cast.team_a.pk, slug="wiki")
    namespace = f"global:{workflow.pk}"
    fresh = read(product, "pages", namespace)
    assert (len(fresh["items"]), fresh["stale"]) == (3, [])
    assert {tuple(page["sources"]) for page in fresh["items"]} == {(source_id(product, namespace),)}

    talk = {"conversation_id": "c1"}
    for query in ("The blue printer is on the second floor.", "Make pages"):
        answer = str(succeed(product.run(str(workflow.pk), query=query, inputs={}, **talk)))

    assert "No model is connected" in answer
    assert "Pages: 1, merged: 1" in answer
    page = list_pages(product, namespace)["Blue printer"]
    assert "second floor" in page["content"]
    assert len(page["sources"]) == 2


@pytest.mark.parametrize("may_write", [True, False])
def test_run_of_a_key_writes_what_the_key_may_write_itself(
    product: Product, cast: Cast, may_write: bool
) -> None:
    scopes = {"runs:write", "runs:read", "workflows:read", "memory:read"}
    scopes |= {"memory:write"} if may_write else set()
    keyed = replace(product, client=KeyClient(*make_key(cast, cast.alice, scopes=scopes)))
    workflow = product.add_workflow(
        make_node("write", "knowledge-write", page_title="Printer", page_content=TEXT),
        make_end(count="write.count"),
    )

    run = keyed.run(workflow)

    assert run["status"] == ("succeeded" if may_write else "failed")
    assert bool(list_pages(product, f"global:{workflow}")) is may_write


def source_id(product: Product, namespace: str) -> str:
    (source,) = read(product, "sources", namespace)["items"]
    return str(source["id"])
