"""What a document wants and an installation lacks is found, named once with all its nodes, and nothing is silent."""

from dataclasses import replace

import pytest

from tests.engine.import_report.documents import FORECAST, build_inventory, code, llm, load
from tests.support.cases import for_each
from tests.support.processor_time import measure_cpu
from workflows.engine.import_report.building import build_report
from workflows.engine.import_report.data_sets import arrange_knowledge_bases
from workflows.engine.import_report.report import Effect, Need
from workflows.engine.language.dsl import load_document
from workflows.engine.testing.stand_ins import build_stand_ins


def report(*nodes, inventory=None, **options):
    return build_report(load(*nodes, **options), inventory or build_inventory())


def summarize(result):
    return [(each.need, each.provider, each.name, each.effect) for each in result.findings]


AGENT = {
    "type": "agent",
    "agent_strategy_name": "function_calling",
    "agent_parameters": {
        "model": {"value": {"provider": "acme", "model": "big"}},
        "tools": {
            "value": [
                {
                    "type": "builtin",
                    "tool_name": "paint",
                    "provider_name": "x/art/art",
                    "enabled": True,
                }
            ]
        },
        "servers_config": {"value": "{}"},
    },
}
RETRIEVAL = {
    "type": "knowledge-retrieval",
    "query_variable_selector": ["sys", "query"],
    "dataset_ids": ["a1", "b2"],
    "multiple_retrieval_config": {"top_k": 3, "reranking_enable": True},
}

# name, the nodes, what is found: need, provider, name, effect
FINDINGS = [
    ("nothing", [llm()], []),
    ("model", [llm(model={"provider": "acme", "name": "big"})],
     [(Need.MODEL, "acme", "big", Effect.REPLACED)]),
    ("images", [llm(model={"provider": "acme", "name": "big"}, vision={"enabled": True})],
     [(Need.MODEL, "acme", "big", Effect.REPLACED), (Need.FEATURE, "", "vision", Effect.IGNORED)]),
    ("images that a model reads", [llm(vision={"enabled": True})], []),
    ("parameter", [llm(model={"provider": "openai", "name": "g", "completion_params":
                              {"temperature": 1, "mirostat": 2}})],
     [(Need.FEATURE, "", "llm.model.completion_params.mirostat", Effect.IGNORED)]),
    ("tool", [FORECAST], [(Need.TOOL, "acme/weather/weather", "forecast", Effect.FAILS)]),
    ("agent", [AGENT], [
        (Need.MODEL, "acme", "big", Effect.REPLACED),
        (Need.TOOL, "x/art/art", "paint", Effect.REFUSED),
        (Need.FEATURE, "", "agent.agent_parameters.servers_config", Effect.IGNORED)]),
    ("data sets", [RETRIEVAL], [
        (Need.DATA_SET, "", "a1", Effect.REPLACED), (Need.DATA_SET, "", "b2", Effect.REPLACED),
        (Need.FEATURE, "", "reranking_model", Effect.IGNORED)]),
    ("node type", [{"type": "datasource", "provider_name": "acme/drive"}],
     [(Need.NODE_TYPE, "", "datasource", Effect.FAILS)]),
    ("modules", [code("import json, numpy.linalg\nfrom pandas import DataFrame\n")],
     [(Need.MODULE, "", "numpy", Effect.FAILS), (Need.MODULE, "", "pandas", Effect.FAILS)]),
    ("modules that are tried first", [code(
        "try:\n    import numpy\nexcept (ImportError, OSError):\n    import pandas\n"
        "try:\n    import scipy\nexcept ValueError:\n    pass\ntry:\n    import torch\nexcept:\n    pass\n")],
     [(Need.MODULE, "", "scipy", Effect.FAILS), (Need.MODULE, "", "pandas", Effect.FAILS)]),
    ("modules of code that can't be parsed", [code("import scipy\ndef main(:\n")],
     [(Need.MODULE, "", "scipy", Effect.FAILS)]),
    ("language", [code("main = 1", "javascript")],
     [(Need.LANGUAGE, "", "javascript", Effect.FAILS)]),
    ("unknown setting", [llm(reranker="cross")],
     [(Need.FEATURE, "", "llm.reranker", Effect.IGNORED)]),
    ("settings of forms", [llm(selected=True, desc="About", variables=[1], _connected=1)], []),
]  # fmt: skip


@for_each("nodes, expected", [case[1:] for case in FINDINGS],
                         ids=[case[0] for case in FINDINGS])  # fmt: skip
def test_report_finds_what_is_missing(nodes, expected):
    result = report(*[dict(node) for node in nodes])

    assert summarize(result) == expected
    assert result.silent == ()


def test_one_finding_names_every_node_that_wants_the_same():
    result = report(
        llm(model={"provider": "acme", "name": "big"}, id="a"),
        llm(model={"provider": "acme", "name": "big"}, id="b"),
        {"type": "datasource", "id": "c"},
    )

    assert [finding.nodes for finding in result.findings] == [("a", "b"), ("c",)]
    assert (result.node_count, result.working_count) == (4, 3)


def test_agent_goes_on_without_a_missing_tool_but_a_tool_node_does_not():
    paint = {"type": "tool", "id": "paint", "provider_type": "builtin", "provider_id": "x/art/art",
             "provider_name": "x/art/art", "tool_name": "paint"}  # fmt: skip

    alone = report({**AGENT, "id": "agent"})
    both = report({**AGENT, "id": "agent"}, paint)

    assert alone.failing_count == 0
    assert both.failing_count == 1
    assert [(each.effect, each.nodes) for each in both.list_findings(Need.TOOL)] == [
        (Effect.FAILS, ("agent", "paint"))
    ]


def retrieval(data_sets, knowledge_bases=None, **data):
    node = {"type": "knowledge-retrieval", "query_variable_selector": ["sys", "query"], **data}
    chosen = {} if knowledge_bases is None else {"knowledge_bases": knowledge_bases}
    return {**node, "dataset_ids": data_sets, **chosen}


KNOWN = {"a": "global:handbook", "c": "global:handbook", "global:team": "global:team"}

# name, the nodes, the data sets that are still missing
DATA_SETS = [
    ("nothing chosen", [retrieval(["a", "b"])], ["a", "b"]),
    ("an empty list", [retrieval(["a"], [])], ["a"]),
    ("the one that answers", [retrieval(["a"], ["global:handbook"])], []),
    ("one of two", [retrieval(["a", "b"], ["global:handbook"])], ["b"]),
    ("one for two", [retrieval(["a", "c"], ["global:handbook"])], []),
    ("others, by the author", [retrieval(["a", "b"], ["global:other"])], []),
    ("in one of two nodes", [retrieval(["b"], ["global:x"]), retrieval(["b"])], ["b"]),
    ("own name", [retrieval(["global:team"], ["global:team"])], []),
    ("no data sets", [retrieval([]), retrieval([], ["global:x"])], []),
    ("no list", [retrieval("a"), retrieval(["a"], "global:handbook")], ["a"]),
]


@for_each("nodes, missing", [case[1:] for case in DATA_SETS],
                         ids=[case[0] for case in DATA_SETS])  # fmt: skip
def test_data_set_is_there_if_every_node_has_a_knowledge_base_for_it(nodes, missing):
    inventory = replace(build_inventory(), find_knowledge_base=lambda name: KNOWN.get(name, ""))

    result = report(*[dict(node) for node in nodes], inventory=inventory)

    assert [finding.name for finding in result.list_findings(Need.DATA_SET)] == missing
    present = {finding.name for finding in result.present if finding.need is Need.DATA_SET}
    assert present.isdisjoint(missing)
    assert result.silent == ()


def test_data_set_that_a_knowledge_base_answers_for_is_no_setting_without_effect():
    inventory = replace(build_inventory(), find_knowledge_base=lambda _name: "global:handbook")

    result = report(retrieval(["a"], ["global:handbook"]), inventory=inventory)

    assert [finding.name for finding in result.present] == ["a"]
    assert (result.findings, result.silent) == ((), ())


def test_knowledge_bases_stand_in_the_order_of_the_data_sets_without_doubles():
    (node,) = [
        node
        for node in load(retrieval(["a", "b", "c"], ["global:x", "global:b"])).nodes
        if node.kind == "knowledge-retrieval"
    ]
    find = {**KNOWN, "b": "global:b"}.get

    arranged = arrange_knowledge_bases(node, ["global:handbook"], lambda name: find(name, ""))

    assert arranged == ["global:handbook", "global:b", "global:x"]


FEATURES = {
    "opening_statement": "Hello",
    "suggested_questions": ["Why?"],
    "speech_to_text": {"enabled": True},
    "text_to_speech": {"enabled": False, "voice": "anna"},
    "sensitive_word_avoidance": {"enabled": True, "type": "keywords"},
    "retriever_resource": {"enabled": True},
    "invented": {"level": 3},
}


@pytest.mark.parametrize(("nodes", "names"), [
    ([llm()], ["speech_to_text", "sensitive_word_avoidance", "invented"]),
    # Citations have a meaning where something is retrieved.
    ([{**RETRIEVAL, "dataset_ids": [], "multiple_retrieval_config": {}}],
     ["speech_to_text", "sensitive_word_avoidance", "retriever_resource", "invented"]),
])  # fmt: skip
def test_report_names_the_features_that_are_on(nodes, names):
    result = report(*nodes, mode="advanced-chat", features=FEATURES)

    assert [finding.name for finding in result.list_findings(Need.FEATURE)] == names
    offered = build_inventory(features=names)
    assert report(*nodes, features=FEATURES, inventory=offered).list_findings(Need.FEATURE) == []


PLUGINS = [
    {
        "type": "marketplace",
        "value": {"marketplace_plugin_unique_identifier": "acme/weather:1.2@f0"},
    },
    {"type": "package", "value": {"plugin_unique_identifier": "langgenius/openai:0.1@11"}},
    {"type": "github", "value": {"github_plugin_unique_identifier": "acme/unused:3@22"}},
    "broken",
]


def test_plugins_are_named_if_something_of_them_is_missing():
    result = report(llm(), dict(FORECAST), dependencies=PLUGINS)

    assert [(each.name, each.detail) for each in result.list_findings(Need.PLUGIN)] == [
        ("acme/weather", "1.2")
    ]


def test_invalid_settings_are_left_to_validation():
    result = report(llm(model="none of these"))

    assert [problem.node for problem in result.problems if problem.is_error] == ["n0"]


def test_sections_of_the_application_are_read_too():
    tree = {
        "version": "0.6.0",
        "app": {"name": "A", "mode": "workflow", "icon": "x", "quota": 3},
        "workflow": {
            "graph": {"nodes": [{"id": "start", "data": {"type": "start"}}], "edges": []},
            "rag_pipeline_variables": [{"variable": "depth"}],
            "environment_variables": [],
        },
    }

    result = build_report(load_document(tree).document, build_inventory())

    names = [finding.name for finding in result.list_findings(Need.FEATURE)]
    assert names == ["app.quota", "workflow.rag_pipeline_variables"]


def test_many_unknown_settings_take_time_that_grows_with_their_number():
    def measure(count):
        document = load(llm(**{f"s{number}": 1 for number in range(count)}))
        with measure_cpu() as taken:
            result = build_report(document, build_inventory(), ())
        return taken.seconds, len(result.findings)

    measure(100)
    few, many = measure(2_000), measure(20_000)

    assert many[1] == 20_000
    assert many[0] < 40 * few[0] + 0.5


MALFORMED = [
    {"dataset_ids": 3, "type": "knowledge-retrieval"},
    {"type": "agent", "agent_parameters": [1], "agent_strategy_name": {}},
    {"type": "agent", "agent_parameters": {"model": {"value": []}, "tools": {"value": {}}}},
    {"type": "tool", "tool_name": ["a"], "tool_parameters": "text", "provider_id": 7},
    {"type": "code", "code": 5, "code_language": ["x"]},
    {"type": "llm", "model": {"provider": [], "completion_params": "x"}, "vision": "on"},
    {"type": "start", "variables": 1},
    {"type": "no-such", "provider_name": {"a": 1}},
]


@for_each("data", MALFORMED)
def test_malformed_data_is_no_exception(data):
    document = load(dict(data), dependencies=[1, {"value": 2}, {"value": {"repo": []}}])

    build_report(document, build_inventory())
    build_stand_ins(document, build_inventory().kinds)


def test_node_with_an_error_is_not_counted_as_working():
    result = report({"type": "iteration", "id": "each", "iterator_selector": ["start", "q"]})

    assert [problem.node for problem in result.problems if problem.is_error] == ["each"]
    assert (result.node_count, result.working_count) == (2, 1)
