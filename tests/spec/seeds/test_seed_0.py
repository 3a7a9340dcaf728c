"""Document 0, memory of a workflow: the sections that no other test shows in the running product."""

from typing import Any

import pytest

from tests.spec.seeds.conftest import Product, make_end, make_node


QUERY = ["start", "text"]
MIA = {"namespace": "user:mia"}


def store(node_id: str = "store", /, **data: Any) -> Any:
    given = {"scope": "user", "key": "k", "value_selector": QUERY, **data}
    return make_node(node_id, "memory-store", **given)


def recall(node_id: str = "recall", /, **data: Any) -> Any:
    return make_node(node_id, "memory-recall", **{"scope": "user", **data})


def succeed(run: Any) -> Any:
    assert run["status"] == "succeeded", run["error"]
    return run["outputs"]


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        ({**MIA, "key": "missing", "value": 1, "expected_revision": 7}, 422, "InvalidRequest"),
        ({"namespace": "elsewhere:mia", "key": "k", "value": 1}, 422, "InvalidInput"),
        ({**MIA, "key": "k", "value": "x" * 2_000_000}, 413, "ValueTooLarge"),
    ],
    ids=["unknown field", "invalid input", "too large"],
)
def test_error_of_memory_reaches_the_caller_as_its_status_with_a_sentence(
    product: Product, body: Any, status: int, kind: str
) -> None:
    error = product.call("post", "/memory/entries", body, status=status)["error"]

    assert (error["type"], error["retryable"]) == (kind, False)
    assert error["message"].endswith(".")


def test_entry_comes_back_with_all_that_it_was_given(product: Product) -> None:
    value = {"name": "米亚", "years": [1, 2.5, None, True]}
    given = {**MIA, "key": "profile", "value": value, "metadata": {"tag": "vip"}}
    stored = product.call("post", "/memory/entries", given, status=201)

    (found,) = product.call("post", "/memory/recall", {**MIA, "key": "profile"})["items"]

    assert {name: found[name] for name in given} == given
    assert (found["id"], found["revision"]) == (stored["id"], 1)


def test_query_narrows_by_key_text_metadata_and_number(product: Product) -> None:
    for key, text, kind in (("a", "green tea", "drink"), ("b", "black tea", "drink"), ("c", "rye bread", "food")):  # fmt: skip
        body = {**MIA, "key": key, "value": text, "metadata": {"kind": kind}}
        product.call("post", "/memory/entries", body, status=201)

    def ask(**query: Any) -> set[str]:
        found = product.call("post", "/memory/recall", {**MIA, **query})["items"]
        return {one["key"] for one in found}

    assert ask(key="b") == {"b"}
    assert ask(filter={"kind": "food"}) == {"c"}
    assert ask(query_text="tea", filter={"kind": "drink"}) == {"a", "b"}
    assert ask(query_text="green tea", top_k=1) == {"a"}
    assert ask() == {"a", "b", "c"}


def test_store_overwrites_delete_takes_one_and_clear_takes_all(product: Product) -> None:
    for key, value in (("a", 1), ("a", 2), ("b", 3), ("c", 4)):
        product.call("post", "/memory/entries", {**MIA, "key": key, "value": value}, status=201)
    elsewhere = {"namespace": "user:ben", "key": "a", "value": "his"}
    product.call("post", "/memory/entries", elsewhere, status=201)

    def keep(namespace: str = MIA["namespace"]) -> dict[str, Any]:
        found = product.call("get", f"/memory/entries?namespace={namespace}")["items"]
        return {one["key"]: one["value"] for one in found}

    assert keep() == {"a": 2, "b": 3, "c": 4}
    product.call("post", "/memory/forget", {**MIA, "key": "b"})
    assert keep() == {"a": 2, "c": 4}
    product.call("post", "/memory/clear", MIA)
    assert (keep(), keep("user:ben")) == ({}, {"a": "his"})


def test_recall_gives_results_and_count_and_store_gives_key_and_stored(product: Product) -> None:
    workflow = product.add_workflow(
        store(
            key="exchange_{{#sys.execution_id#}}",
            metadata={"type": "qa_exchange"},
            metadata_selectors={"said": QUERY},
        ),
        recall(query_selector=QUERY, filter={"type": "qa_exchange"}),
        make_end(stored="store.stored", key="store.key", results="recall.results", count="recall.count"),
    )  # fmt: skip

    run = product.run(workflow, "I like green tea")

    outputs = succeed(run)
    assert (outputs["stored"], outputs["key"]) == (True, f"exchange_{run['id']}")
    assert outputs["count"] == len(outputs["results"]) == 1
    assert outputs["results"][0]["value"] == "I like green tea"
    assert outputs["results"][0]["metadata"]["said"] == "I like green tea"


def test_recall_gives_five_entries_unless_it_is_told_how_many(product: Product) -> None:
    for number in range(7):
        body = {**MIA, "key": f"k{number}", "value": f"tea number {number}"}
        product.call("post", "/memory/entries", body, status=201)
    workflow = product.add_workflow(
        recall(query_selector=QUERY),
        recall("two", query_selector=QUERY, top_k=2),
        make_end(default="recall.count", two="two.count"),
    )

    assert succeed(product.run(workflow, "tea")) == {"default": 5, "two": 2}


def test_both_ways_to_recall_work_in_one_workflow_without_touching_each_other(
    product: Product,
) -> None:
    product.call("post", "/memory/entries", {**MIA, "key": "drink", "value": "green tea"}, status=201)  # fmt: skip
    model = {"provider": "offline", "name": "offline", "completion_params": {}}
    workflow = product.add_workflow(
        recall(query_selector=QUERY),
        make_node(
            "llm",
            "llm",
            model=model,
            prompt_template=[
                {"role": "system", "text": "Context: {{#recall.results#}}"},
                {"role": "user", "text": "{{#start.text#}}"},
            ],
            enhanced_memory={"enabled": True, "scope": "user", "query_selector": QUERY},
        ),
        make_end(answer="llm.text", count="recall.count"),
    )

    run = product.run(workflow, "Which tea?")

    assert "green tea" in succeed(run)["answer"]
    step = product.call("get", f"/runs/{run['id']}/steps/llm")
    messages = [one["text"] for one in step["inputs"]["messages"]]
    assert messages[0].startswith("Context: ")
    assert "green tea" in messages[0]
    assert messages[1].startswith("[Memory Context]")
    assert "- drink: green tea" in messages[1]
    assert messages[-1] == "Which tea?"


def test_run_without_what_its_scope_needs_fails_naming_it(product: Product) -> None:
    workflow = product.add_workflow(recall(scope="workflow"), make_end(count="recall.count"))

    run = product.run(workflow, "hello")

    assert (run["status"], run["error_node"]) == ("failed", "recall")
    assert "sys.group_id is not set" in run["error"]


def test_limits_of_the_team_hold_for_its_runs(product: Product) -> None:
    limits = {"allowed_prefixes": ["user:"], "max_entries": 1, "max_value_bytes": 12}
    product.owner.put("/api/v1/memory/policy", limits, content_type="application/json")
    fits, full = product.add_workflow(store(), make_end(key="store.key")), product.add_workflow(
        store(key="other"), make_end(key="store.key")
    )  # fmt: skip
    outside = product.add_workflow(store(scope="global"), make_end(key="store.key"))

    succeed(product.run(fits, "0123456789"))  # twelve bytes of JSON with its quotes
    large, many, elsewhere = (
        product.run(fits, "01234567890"),
        product.run(full, "short"),
        product.run(outside, "short"),
    )

    assert "12 are allowed" in large["error"]
    assert "entries" in many["error"]
    assert [one["status"] for one in (large, many, elsewhere)] == ["failed"] * 3
    kept = product.call("get", "/memory/entries?namespace=user:mia")["items"]
    assert [one["value"] for one in kept] == ["0123456789"]
