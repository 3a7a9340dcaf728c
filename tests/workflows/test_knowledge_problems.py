"""Problems of a draft whose knowledge base or reranking model the team lacks."""

from typing import Any

import pytest

from memory import services
from tests.factories.workflows import make_provider
from tests.memory.services.conftest import at_door
from tests.support.cast import Person
from tests.workflows.test_tool_problems import end, import_nodes, problems_of


pytestmark = pytest.mark.django_db


def retrieval(**data: Any) -> dict[str, Any]:
    return {"id": "find", "data": {
        "type": "knowledge-retrieval", "title": "Search",
        "query_variable_selector": ["sys", "query"], **data}}  # fmt: skip


RANKING = {
    "reranking_enable": True,
    "reranking_mode": "reranking_model",
    "reranking_model": {"provider": "langgenius/jina/jina", "model": "ranker"},
}


def test_missing_knowledge_base_is_named_with_node_and_field(alice: Person) -> None:
    services.create_knowledge_base(at_door(alice), name="Handbook")
    names = ["global:handbook", "global:gone", "global:default"]
    workflow = import_nodes(alice, retrieval(knowledge_bases=names), end("find", "result"))

    assert problems_of(workflow) == [
        ("find", "knowledge_bases",
         "The knowledge base global:gone does not exist; choose another one"),
    ]  # fmt: skip


def test_knowledge_base_of_another_team_is_missing_here(alice: Person, carol: Person) -> None:
    services.create_knowledge_base(at_door(carol), name="Handbook")
    workflow = import_nodes(
        alice, retrieval(knowledge_bases=["global:handbook"]), end("find", "result")
    )

    assert [field for _node, field, _message in problems_of(workflow)] == ["knowledge_bases"]


def test_recall_that_reranks_without_a_model_is_a_problem(alice: Person) -> None:
    data = {"type": "memory-recall", "title": "Recall", "scope": "global",
            "query_selector": ["sys", "query"], "reranking": {"enabled": True}}  # fmt: skip
    workflow = import_nodes(alice, {"id": "find", "data": data}, end("find", "text"))

    message = "No reranking model is chosen; the order by words and meaning is kept"
    assert problems_of(workflow) == [("find", "reranking.model", message)]


@pytest.mark.parametrize(
    ("ranking", "message"),
    [
        (RANKING, "The reranking model jina/ranker is not connected; "),
        ({"reranking_enable": True}, "No reranking model is chosen; "),
    ],
)
def test_missing_reranking_model_is_a_problem_until_its_provider_is_connected(
    alice: Person, ranking: Any, message: str
) -> None:
    node = retrieval(multiple_retrieval_config=ranking)
    workflow = import_nodes(alice, node, end("find", "result"))

    before = problems_of(workflow)
    make_provider(alice, "jina")
    after = problems_of(workflow)

    kept = f"{message}the order by words and meaning is kept"
    assert before == [("find", "multiple_retrieval_config.reranking_model", kept)]
    assert after == ([] if ranking is RANKING else before)
