"""Knowledge retrieval: several knowledge bases, Dify's modes, reranking and conditions on metadata."""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from memory.core.records import Source
from memory.logic.knowledge.page_requests import write_drafts
from memory.providers.in_memory import InMemoryProvider
from tests.support.documents import document, end, node, start
from workflows.engine.errors import ModelFailed, RerankUnavailable
from workflows.engine.language.validation import validate
from workflows.engine.nodes import build_kinds
from workflows.engine.ports import (
    ModelChunk,
    ModelRequest,
    ModelSource,
    RerankRequest,
    RerankResult,
    Usage,
)
from workflows.engine.runtime.run_request import RunResult
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.llm.offline import OfflineModels


BASES: dict[str, list[dict[str, Any]]] = {
    "global:handbook": [
        {"title": "Refunds", "content": "A refund takes five days.", "tags": ["money"]},
        {"title": "Holidays", "content": "The office is closed on holidays."},
    ],
    "global:shop": [
        {"title": "Refunds", "content": "The shop refunds in cash, after five days."},
        {"title": "Opening hours", "content": "The shop opens at nine."},
    ],
    "global:secret": [{"title": "Refund fraud", "content": "Refund fraud is secret."}],
}
NAMED = ["global:handbook", "global:shop"]


@pytest.fixture
def memory() -> InMemoryProvider:
    provider = InMemoryProvider()
    for namespace, pages in BASES.items():
        write_drafts(pages, provider, namespace, source=Source("user:alice"))
    return provider


def retrieve(**data: Any) -> Any:
    return node("f", "knowledge-retrieval", query_variable_selector=["start", "q"], **data)


async def run(
    memory: Any, query: str = "refund days", models: Any = None, **data: Any
) -> RunResult:
    found = end(result=["f", "result"], notes=["f", "notes"], count=["f", "count"])
    nodes = (start("q", "other"), retrieve(**data), found)
    runner = WorkflowRunner(
        document(nodes, ["start -> f", "f -> end"]), memory=memory, models=models, checked=True
    )
    system = {"conversation_id": "c1", "user_id": "mia", "app_id": "shop-app"}
    return await runner.run(inputs={"q": query, "other": "{{secret}}"}, system=system)


def places(result: RunResult) -> list[tuple[str, str]]:
    assert result.error is None
    return [(page["metadata"]["dataset_id"], page["title"]) for page in result.outputs["result"]]


async def test_named_knowledge_bases_are_searched_and_ranked_together(memory: Any) -> None:
    result = await run(memory, knowledge_bases=NAMED)

    assert places(result) == [("global:handbook", "Refunds"), ("global:shop", "Refunds")]
    first, second = (page["metadata"] for page in result.outputs["result"])
    assert first["score"] >= second["score"] > 0
    assert first["document_id"] == second["document_id"] == "refunds"
    expected = {
        "dataset_name": "handbook", "retriever_from": "workflow", "segment_position": 1,
        "position": 1, "_source": "knowledge",
    }  # fmt: skip
    assert expected.items() <= first.items()
    assert result.outputs["notes"] == []


async def test_scores_do_not_depend_on_the_knowledge_bases_that_have_no_match(memory: Any) -> None:
    alone = await run(memory, "opening hours", knowledge_bases=["global:shop"])
    together = await run(memory, "opening hours", knowledge_bases=NAMED)

    assert places(alone) == places(together) == [("global:shop", "Opening hours")]


async def test_top_k_and_threshold_count_for_all_together(memory: Any) -> None:
    one = await run(memory, knowledge_bases=NAMED, multiple_retrieval_config={"top_k": 1})
    none = await run(memory, knowledge_bases=NAMED, multiple_retrieval_config={
        "score_threshold": 1, "score_threshold_enabled": True}, query="refund of tea")  # fmt: skip
    unused = await run(memory, knowledge_bases=NAMED, multiple_retrieval_config={
        "score_threshold": 1, "score_threshold_enabled": False}, query="refund of tea")  # fmt: skip

    assert len(places(one)) == 1
    assert places(none) == []
    assert len(places(unused)) == 2


@pytest.mark.parametrize("query", ["", "  "])
async def test_empty_query_finds_nothing_and_asks_nobody(memory: Any, query: str) -> None:
    result = await run(memory, query, retrieval_mode="single", knowledge_bases=NAMED)

    assert (result.error, result.outputs) == (None, {"result": [], "notes": [], "count": 0})


async def test_without_knowledge_bases_the_scope_decides(memory: Any) -> None:
    await_none = await run(memory, dataset_ids=["2f1b"], multiple_retrieval_config={"top_k": 0})

    assert places(await_none) == []  # the pages of the application, of which there are none


async def test_missing_knowledge_base_is_noted_and_the_others_are_searched(memory: Any) -> None:
    some = await run(memory, knowledge_bases=["global:gone", "global:shop"])
    none = await run(memory, knowledge_bases=["global:gone"])

    assert places(some) == [("global:shop", "Refunds")]
    assert places(none) == []
    note = "The knowledge base global:gone does not exist."
    assert some.outputs["notes"] == none.outputs["notes"] == [note]


@pytest.mark.parametrize(
    "name", ["user:mia", "conversation:c1", "handbook", "global:", "global:{{#start.other#}}", 7]
)
def test_only_literal_names_of_the_team_are_accepted(name: Any) -> None:
    nodes = (start("q", "other"), retrieve(knowledge_bases=[name]), end())
    problems = validate(document(nodes, ["start -> f", "f -> end"]), build_kinds())

    fields = {problem.field for problem in problems if problem.is_error and problem.node == "f"}
    assert any(str(field).startswith("knowledge_bases") for field in fields)


# -- weights -----------------------------------------------------------------------------------------


def weigh(vector: float, keyword: float) -> dict[str, Any]:
    return {"reranking_enable": True, "reranking_mode": "weighted_score", "weights": {
        "vector_setting": {"vector_weight": vector, "embedding_model_name": "bge-m3"},
        "keyword_setting": {"keyword_weight": keyword}}}  # fmt: skip


class Meaning:
    """A memory whose hits say how near their meaning is."""

    def __init__(self, memory: Any, nearness: Mapping[str, float]) -> None:
        self._port, self._nearness = memory.port(), nearness

    def __getattr__(self, name: str) -> Any:
        return getattr(self._port, name)

    async def find_pages(self, **arguments: Any) -> Any:
        hits = await self._port.find_pages(**arguments)
        return [Near(hit, self._nearness[hit.entry.namespace]) for hit in hits]


class Near:
    def __init__(self, hit: Any, nearness: float) -> None:
        self._hit = hit
        self.parts = {**hit.parts, "vector": nearness}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._hit, name)


async def test_weights_decide_between_words_and_meaning(memory: Any) -> None:
    near_shop = Meaning(memory, {"global:handbook": 0.2, "global:shop": 0.9})
    query = "takes five days"

    by_words = await run(
        near_shop, query, knowledge_bases=NAMED, multiple_retrieval_config=weigh(0, 1)
    )
    by_meaning = await run(near_shop, query, knowledge_bases=NAMED, multiple_retrieval_config={
        **weigh(1, 0), "top_k": 1})  # fmt: skip
    mixed = await run(
        near_shop, query, knowledge_bases=NAMED, multiple_retrieval_config=weigh(0.7, 0.3)
    )

    assert places(by_words)[0] == ("global:handbook", "Refunds")
    assert places(by_meaning)[0][0] == "global:shop"
    assert by_meaning.outputs["result"][0]["metadata"]["score"] == 0.9
    best = mixed.outputs["result"][0]["metadata"]
    assert best["score"] == pytest.approx(
        0.7 * best["parts"]["vector"] + 0.3 * best["parts"]["words"]
    )


async def test_without_a_search_by_meaning_words_alone_are_weighted_and_it_says_so(
    memory: Any,
) -> None:
    result = await run(memory, knowledge_bases=NAMED, multiple_retrieval_config=weigh(0.7, 0.3))

    assert len(places(result)) == 2
    (note,) = result.outputs["notes"]
    assert "no search by meaning" in note


# -- a model that ranks ------------------------------------------------------------------------------


@dataclass
class Models:
    """A model port that ranks documents by a function, and answers chats with a text."""

    score: Callable[[str], float] = len
    answer: str = ""
    failure: Exception | None = None
    ranked: list[RerankRequest] = field(default_factory=list)
    asked: list[ModelRequest] = field(default_factory=list)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        self.asked.append(request)
        yield ModelChunk(self.answer, finish_reason="stop", usage=Usage(3, 1))

    async def rerank(self, request: RerankRequest) -> RerankResult:
        self.ranked.append(request)
        if self.failure is not None:
            raise self.failure
        scores = [(index, self.score(text)) for index, text in enumerate(request.documents)]
        best = sorted(scores, key=lambda pair: -pair[1])[: request.top_n]
        return RerankResult(tuple(best), Usage(20))


BY_MODEL = {
    "reranking_enable": True,
    "reranking_mode": "reranking_model",
    "reranking_model": {"provider": "langgenius/jina/jina", "model": "jina-reranker"},
    "top_k": 2,
}


async def test_model_ranks_the_pages_again(memory: Any) -> None:
    models = Models(lambda text: 0.8 if "cash" in text else 0.3)

    result = await run(
        memory, models=models, knowledge_bases=NAMED, multiple_retrieval_config=BY_MODEL
    )

    assert places(result)[0] == ("global:shop", "Refunds")
    assert result.outputs["result"][0]["metadata"]["score"] == 0.8
    assert len(places(result)) == 2
    (request,) = models.ranked
    assert (request.provider, request.model) == ("langgenius/jina/jina", "jina-reranker")
    assert (request.query, request.top_n) == ("refund days", 2)
    assert len(request.documents) == 4  # also pages that no word of the query finds
    assert result.usage.prompt_tokens == 20


async def test_threshold_is_held_against_the_scores_of_the_model(memory: Any) -> None:
    models = Models(lambda text: 0.8 if "cash" in text else 0.3)
    settings = {**BY_MODEL, "score_threshold": 0.5, "score_threshold_enabled": True}

    result = await run(
        memory, models=models, knowledge_bases=NAMED, multiple_retrieval_config=settings
    )

    assert places(result) == [("global:shop", "Refunds")]


@pytest.mark.parametrize(
    ("models", "settings", "note"),
    [
        (Models(failure=RerankUnavailable("the model jina-reranker of jina is not connected")), {},
         "not reranked: the model jina-reranker of jina is not connected"),
        (OfflineModels(), {}, "not reranked: the model jina-reranker is not connected"),
        (None, {}, "not reranked: the model jina-reranker is not connected"),
        (Models(failure=RerankUnavailable("no reranking model is chosen")), {"reranking_model": None, "reranking_mode": None},
         "not reranked: no reranking model is chosen"),
        (OfflineModels(), {"reranking_model": {"provider": "", "model": ""}},
         "not reranked: no reranking model is chosen"),
    ],
)  # fmt: skip
async def test_without_the_model_the_order_is_kept_and_it_says_so(
    memory: Any, models: Any, settings: Any, note: str
) -> None:
    plain = await run(memory, knowledge_bases=NAMED)
    kept = await run(memory, models=models, knowledge_bases=NAMED,
                     multiple_retrieval_config={**BY_MODEL, **settings})  # fmt: skip

    assert places(kept) == places(plain)
    assert kept.outputs["notes"] == [note]


async def test_failing_model_keeps_the_order_and_the_step_says_so(memory: Any) -> None:
    failure = ModelFailed("jina took too long to respond.", retryable=True)
    failure.source = ModelSource("jina", "jina-reranker")
    plain = await run(memory, knowledge_bases=NAMED)

    result = await run(
        memory,
        models=Models(failure=failure),
        knowledge_bases=NAMED,
        multiple_retrieval_config=BY_MODEL,
    )

    assert result.error is None
    assert places(result) == places(plain)[:2]
    assert result.outputs["notes"] == ["not reranked: jina took too long to respond."]


async def test_reranking_that_is_off_asks_no_model(memory: Any) -> None:
    models = Models()
    off = {**BY_MODEL, "reranking_enable": False}

    await run(memory, models=models, knowledge_bases=NAMED, multiple_retrieval_config=off)

    assert not models.ranked


# -- one of several ----------------------------------------------------------------------------------


async def test_model_chooses_one_knowledge_base_by_name_and_titles(memory: Any) -> None:
    models = Models(answer='Well: {"knowledge_base": "global:shop"}')
    choice = {
        "model": {"provider": "openai", "name": "gpt-4", "completion_params": {"temperature": 0}}
    }

    result = await run(memory, models=models, knowledge_bases=NAMED, retrieval_mode="single",
                       single_retrieval_config=choice)  # fmt: skip

    assert places(result) == [("global:shop", "Refunds")]
    (request,) = models.asked
    assert (request.provider, request.model, request.params) == (
        "openai",
        "gpt-4",
        {"temperature": 0},
    )
    shown = json.loads(request.messages[-1].text)
    assert shown["knowledge_bases"][1] == {
        "namespace": "global:shop", "name": "shop", "description": "",
        "titles": ["Opening hours", "Refunds"],
    }  # fmt: skip
    assert result.usage.prompt_tokens == 3


@pytest.mark.parametrize("answer", ["", "the shop", '{"knowledge_base": "global:secret"}'])
async def test_answer_that_names_none_of_them_searches_all(memory: Any, answer: str) -> None:
    models = Models(answer=answer)

    result = await run(memory, models=models, knowledge_bases=NAMED, retrieval_mode="single")

    assert {place for place, _title in places(result)} == set(NAMED)
    assert "chose no knowledge base" in result.outputs["notes"][0]


async def test_one_knowledge_base_needs_no_model(memory: Any) -> None:
    models = Models()

    result = await run(memory, models=models, knowledge_bases=["global:shop", "global:gone"],
                       retrieval_mode="single")  # fmt: skip

    assert places(result) == [("global:shop", "Refunds")]
    assert not models.asked


@pytest.mark.parametrize("models", [OfflineModels(), None])
async def test_offline_the_knowledge_base_with_the_best_page_is_chosen(
    memory: Any, models: Any
) -> None:
    result = await run(memory, "opening hours of the shop", models=models, knowledge_bases=NAMED,
                       retrieval_mode="single", min_score=0.0)  # fmt: skip

    assert {place for place, _title in places(result)} == {"global:shop"}
    assert "most relevant page was chosen" in result.outputs["notes"][0]


# -- metadata ----------------------------------------------------------------------------------------


def conditions(*items: tuple[str, str, Any], logic: str = "and") -> dict[str, Any]:
    rows = [{"name": n, "comparison_operator": o, "value": v} for n, o, v in items]
    return {"metadata_filtering_mode": "manual",
            "metadata_filtering_conditions": {"logical_operator": logic, "conditions": rows}}  # fmt: skip


async def test_conditions_limit_the_pages_before_the_best_are_taken(memory: Any) -> None:
    result = await run(
        memory, knowledge_bases=NAMED, top_k=1, **conditions(("tags", "empty", None))
    )

    assert places(result) == [("global:shop", "Refunds")]
    step = next(step for step in result.steps if step.key.node_id == "f")
    assert step.inputs["metadata_filter"]["conditions"][0]["name"] == "tags"


async def test_values_of_conditions_come_from_the_run(memory: Any) -> None:
    by_variable = conditions(("title", "is", "{{#start.q#}}"))

    result = await run(memory, "Refunds", knowledge_bases=NAMED, **by_variable)
    other = await run(memory, "Refund", knowledge_bases=NAMED, **by_variable)

    assert len(places(result)) == 2
    assert places(other) == []


async def test_disabled_conditions_are_not_applied(memory: Any) -> None:
    off = {**conditions(("title", "is", "nothing")), "metadata_filtering_mode": "disabled"}

    assert len(places(await run(memory, knowledge_bases=NAMED, **off))) == 2


async def test_model_states_the_conditions(memory: Any) -> None:
    said = {"logical_operator": "and", "conditions": [
        {"name": "tags", "comparison_operator": "is", "value": "money"}]}  # fmt: skip
    models = Models(answer=json.dumps(said))

    result = await run(memory, models=models, knowledge_bases=NAMED,
                       metadata_filtering_mode="automatic",
                       metadata_model_config={"provider": "openai", "name": "gpt-4"})  # fmt: skip

    assert places(result) == [("global:handbook", "Refunds")]
    assert models.asked[0].model == "gpt-4"


async def test_offline_there_are_no_conditions_and_it_says_so(memory: Any) -> None:
    result = await run(memory, models=OfflineModels(), knowledge_bases=NAMED,
                       metadata_filtering_mode="automatic")  # fmt: skip

    assert len(places(result)) == 2
    assert result.outputs["notes"] == ["not filtered by metadata: this needs a language model"]


def test_unknown_operator_is_a_problem_that_names_node_and_field() -> None:
    nodes = (start("q"), retrieve(**conditions(("title", "sounds like", "x"))), end())
    problems = validate(document(nodes, ["start -> f", "f -> end"]), build_kinds())

    (problem,) = [problem for problem in problems if problem.code == "condition.invalid"]
    assert (problem.node, problem.field) == ("f", "metadata_filtering_conditions")
