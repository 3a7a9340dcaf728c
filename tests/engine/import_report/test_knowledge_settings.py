"""What the import report says of the settings of knowledge retrieval: nothing is left out in silence."""

from dataclasses import replace

import pytest

from tests.engine.import_report.documents import build_inventory, load
from workflows.engine.import_report.building import build_report
from workflows.engine.import_report.report import Effect, Need
from workflows.engine.language.document import Dialect
from workflows.engine.language.dsl import dump_document, load_document


def retrieval(**data):
    return {
        "type": "knowledge-retrieval",
        "query_variable_selector": ["start", "sys.query"],
        "dataset_ids": ["2f1b"],
        **data,
    }


RANKING = {
    "top_k": 4,
    "score_threshold": 0.5,
    "score_threshold_enabled": True,
    "reranking_enable": True,
    "reranking_mode": "weighted_score",
    "reranking_model": {"provider": "", "model": ""},
    "weights": {
        "weight_type": "customized",
        "vector_setting": {
            "vector_weight": 0.7,
            "embedding_provider_name": "openai",
            "embedding_model_name": "text-embedding-3-small",
        },
        "keyword_setting": {"keyword_weight": 0.3},
    },
}
FILTER = {
    "logical_operator": "and",
    "conditions": [{"id": "1", "name": "tags", "comparison_operator": "contains", "value": "x"}],
}


def report_on(inventory=None, **data):
    return build_report(load(retrieval(**data)), inventory or build_inventory())


def list_features(report):
    return [(finding.name, finding.detail) for finding in report.list_findings(Need.FEATURE)]


def test_what_is_carried_out_is_no_news() -> None:
    report = report_on(
        retrieval_mode="multiple",
        multiple_retrieval_config=RANKING,
        metadata_filtering_mode="manual",
        metadata_filtering_conditions=FILTER,
    )

    prefix = "knowledge-retrieval.multiple_retrieval_config.weights.vector_setting"
    assert list_features(report) == [
        (f"{prefix}.embedding_provider_name", "openai"),
        (f"{prefix}.embedding_model_name", "text-embedding-3-small"),
    ]
    assert not report.silent
    assert not [problem for problem in report.problems if problem.is_error]


def test_models_before_the_search_are_named() -> None:
    model = {"provider": "acme", "name": "gpt-4", "mode": "chat", "completion_params": {}}
    report = report_on(
        retrieval_mode="single",
        single_retrieval_config={"model": model},
        metadata_filtering_mode="automatic",
        metadata_model_config={**model, "name": "gpt-5"},
    )

    found = [(finding.name, finding.effect) for finding in report.list_findings(Need.MODEL)]
    assert found == [("gpt-4", Effect.REPLACED), ("gpt-5", Effect.REPLACED)]
    assert not report.silent


@pytest.mark.parametrize("is_connected", [True, False])
def test_reranking_model_is_told_unless_it_is_connected(is_connected: bool) -> None:
    inventory = replace(build_inventory(), has_reranker=lambda *_: is_connected)
    ranking = {
        "reranking_enable": True,
        "reranking_mode": "reranking_model",
        "reranking_model": {"provider": "langgenius/jina/jina", "model": "jina-reranker"},
    }

    report = report_on(inventory, multiple_retrieval_config=ranking)

    expected = [] if is_connected else [("reranking_model", "jina/jina-reranker")]
    assert list_features(report) == expected


def test_other_settings_are_named() -> None:
    report = report_on(query_attachment_selector=["start", "files"], retrieval_model={"top_k": 3})

    assert list_features(report) == [
        ("knowledge-retrieval.query_attachment_selector", "['start', 'files']"),
        ("knowledge-retrieval.retrieval_model", "{'top_k': 3}"),
    ]


@pytest.mark.parametrize("dialect", list(Dialect))
def test_settings_are_written_as_they_were_read(dialect: Dialect) -> None:
    data = retrieval(
        retrieval_mode="multiple",
        multiple_retrieval_config=RANKING,
        metadata_filtering_mode="manual",
        metadata_filtering_conditions=FILTER,
        knowledge_bases=["global:handbook"],
    )

    text = dump_document(load(dict(data)), dialect)
    (node,) = [n for n in load_document(text).document.nodes if n.kind == "knowledge-retrieval"]

    assert {name: node.data[name] for name in data} == data
