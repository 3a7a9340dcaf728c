"""Document 1, curation after a task: from the request to the memory it leaves, in the running product."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from memory.upkeep.curation import sweep_curations
from tests.spec.seeds.conftest import Product, make_end, make_node


LEARNT = "Quick sort in Rust needs a random pivot."


def learn_from_runs(product: Product) -> None:
    product.call("put", "/memory/curation/rules", {"auto_memory": True, "scope": "user"})


def curate_all() -> int:
    """Curate as the sweep of a worker does."""
    return sweep_curations(timezone.now() + timedelta(minutes=5))


def list_learnt(product: Product) -> dict[str, Any]:
    """What is kept of Mia, by the first word of its key."""
    kept = product.call("get", "/memory/entries?namespace=user:mia")["items"]
    return {one["key"].partition(":")[0]: one for one in kept}


def test_finished_run_leaves_an_execution_and_what_was_learnt_with_their_importance(
    product: Product,
) -> None:
    learn_from_runs(product)
    workflow = product.add_workflow(
        make_node("say", "template-transform", template=f"I learned this: {LEARNT}", variables=[]),
        make_end(text="say.output"),
    )

    run = product.run(workflow, "Implement quick sort")
    assert (run["status"], curate_all()) == ("succeeded", 1)

    (curation,) = product.call("get", "/memory/curations")["items"]
    assert (curation["status"], curation["run"]) == ("done", run["id"])
    learnt = list_learnt(product)
    assert learnt["task"]["category"] == "execution"
    assert "quick sort" in str(learnt["task"]["value"])
    for entry in learnt.values():
        assert 0 < entry["importance"] <= 1
        assert entry["source"]["run_id"] == run["id"]


def test_failed_run_leaves_its_error_and_says_so(product: Product) -> None:
    learn_from_runs(product)
    workflow = product.add_workflow(
        make_node("broken", "code", code_language="python3", variables=[],
                  code="def main():\n    raise ValueError('no space left on the disk')", outputs={}),
        make_end(),
    )  # fmt: skip

    assert product.run(workflow, "Copy the archive")["status"] == "failed"
    curate_all()

    error = list_learnt(product)["error"]
    assert error["category"] == "error"
    assert "no space left on the disk" in str(error["value"])


def test_full_text_search_finds_what_a_task_left(product: Product) -> None:
    learn_from_runs(product)
    workflow = product.add_workflow(
        make_node("say", "template-transform", template=LEARNT, variables=[]),
        make_end(text="say.output"),
    )
    product.run(workflow, "Implement quick sort")
    curate_all()

    found = product.call(
        "post", "/memory/recall", {"namespace": "user:mia", "query_text": "quick sorting"}
    )["items"]

    assert found
    assert "quick sort" in str(found[0]["value"]).casefold()


def test_task_that_the_model_could_not_do_teaches_nothing(product: Product) -> None:
    learn_from_runs(product)
    refusal = "I'm sorry, but I don't have access to your mail."
    workflow = product.add_workflow(
        make_node("say", "template-transform", template=refusal, variables=[]),
        make_end(text="say.output"),
    )

    product.run(workflow, "Read my mail and answer it")
    curate_all()

    (curation,) = product.call("get", "/memory/curations")["items"]
    assert (curation["status"], curation["counts"]) == ("done", {"not_done": 1, "proposed": 0})
    assert list_learnt(product) == {}


def test_small_talk_is_no_lesson(product: Product) -> None:
    learn_from_runs(product)
    workflow = product.add_workflow(
        make_node("say", "template-transform", template="ok", variables=[]),
        make_end(text="say.output"),
    )

    product.run(workflow, "ok")
    curate_all()

    (curation,) = product.call("get", "/memory/curations")["items"]
    assert curation["counts"] == {"small_talk": 1, "proposed": 0}
    assert list_learnt(product) == {}
