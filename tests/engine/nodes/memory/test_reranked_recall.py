"""A model that puts what is recalled into a better order, and what happens without one."""

import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from memory.core.records import StoreParams
from memory.providers.in_memory import InMemoryProvider
from tests.engine.nodes.memory.test_knowledge_retrieval import Models
from tests.support.documents import document, end, node, start
from workflows.engine.errors import ModelFailed, RerankUnavailable
from workflows.engine.import_report.rerankers import find_reranker, get_reranker_field
from workflows.engine.ports import ModelSource
from workflows.engine.runtime.events import MemoryRecalled
from workflows.engine.runtime.run_request import RunResult
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.llm.offline import OfflineModels


ON = {"enabled": True}
TEAS = ("Mia drinks green tea", "Mia gave tea to Ben", "Mia's favourite tea comes from Assam")


@pytest.fixture
def memory() -> InMemoryProvider:
    made = InMemoryProvider()
    for number, value in enumerate(TEAS):
        made.store(StoreParams("user:mia", f"t{number}", value=value))
    return made


async def recall(memory: Any, models: Any, **data: Any) -> tuple[RunResult, MemoryRecalled]:
    nodes = [
        start("q"),
        node("find", "memory-recall", scope="user", **{"query_selector": ["start", "q"], **data}),
        end(o=["find", "results"]),
    ]
    edges = [f"{a.id} -> {b.id}" for a, b in itertools.pairwise(nodes)]
    runner = WorkflowRunner(document(nodes, edges), memory=memory, models=models)
    handle = runner.start(inputs={"q": "Which tea?"}, system={"user_id": "mia"})
    events = [event async for event in handle.events()]
    (event,) = (each for each in events if isinstance(each, MemoryRecalled))
    return await handle.result(), event


def list_values(result: RunResult) -> list[str]:
    return [entry["value"] for entry in result.outputs["o"]]


def find_step(result: RunResult) -> Any:
    return next(step for step in result.steps if step.key.node_id == "find")


async def test_model_chooses_the_best_of_more_candidates(memory: InMemoryProvider) -> None:
    models = Models(lambda text: float("Assam" in text))

    plain, _event = await recall(memory, models, top_k=1)
    ranked, event = await recall(memory, models, top_k=1, reranking=ON)

    assert list_values(plain) != [TEAS[2]]
    assert list_values(ranked) == [TEAS[2]]
    assert [entry["value"] for entry in event.entries] == [TEAS[2]]
    (request,) = models.ranked
    assert (request.query, sorted(request.documents), request.top_n) == (
        "Which tea?",
        sorted(TEAS),
        1,
    )
    step = find_step(ranked)
    assert step.prompt_tokens == 20
    assert "note" not in step.inputs


@pytest.mark.parametrize(
    ("models", "reason"),
    [
        (Models(failure=RerankUnavailable("no reranking model is chosen")),
         "not reranked: no reranking model is chosen"),
        (OfflineModels(), "not reranked: no reranking model is chosen"),
        (None, "not reranked: no reranking model is chosen"),
    ],
)  # fmt: skip
async def test_without_a_model_the_order_stays_and_the_step_notes_it(
    memory: InMemoryProvider, models: Any, reason: str
) -> None:
    plain, _event = await recall(memory, models, top_k=2)
    ranked, _event = await recall(memory, models, top_k=2, reranking=ON)

    assert list_values(ranked) == list_values(plain)
    assert find_step(ranked).inputs["note"] == reason


async def test_failing_model_is_recorded_as_a_call_and_the_order_stays(
    memory: InMemoryProvider,
) -> None:
    failure = ModelFailed("jina answered with status 500.")
    failure.source = ModelSource("jina", "r1")

    plain, _event = await recall(memory, None, top_k=2)
    ranked, _event = await recall(memory, Models(failure=failure), top_k=2, reranking=ON)

    assert list_values(ranked) == list_values(plain)
    inputs = find_step(ranked).inputs
    assert inputs["note"] == "not reranked: jina answered with status 500."
    assert inputs["reranking"]["error"] == "jina answered with status 500."


@pytest.mark.parametrize("data", [{"key": "t1"}, {"query_selector": None}, {"reranking": {}}])
async def test_only_what_a_query_finds_is_ranked(
    memory: InMemoryProvider, data: dict[str, Any]
) -> None:
    models = Models()

    result, _event = await recall(memory, models, **{"reranking": ON, **data})

    assert list_values(result)
    assert models.ranked == []


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (ON, ("", "")),
        ({**ON, "model": {"provider": "jina", "model": "r1"}}, ("jina", "r1")),
        ({"model": {"provider": "jina", "model": "r1"}}, None),
        ({"enabled": "perhaps"}, None),
        (None, None),
    ],
)
def test_model_of_a_recall_is_read_for_reports_and_problems(
    settings: Any, expected: Sequence[str] | None
) -> None:
    spec = node("find", "memory-recall", scope="user", reranking=settings)

    assert find_reranker(spec) == expected
    assert get_reranker_field(spec) == "reranking.model"
