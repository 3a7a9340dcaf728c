"""Each plug-in that came with a document is missed, here in another form, or used by no node."""

import pytest

from tests.engine.import_report.documents import FORECAST, build_inventory, code, llm, load
from workflows.engine.import_report.building import build_report
from workflows.engine.import_report.report import Effect, Need


def depend_on(*names):
    return [{"type": "package", "value": {"plugin_unique_identifier": name}} for name in names]


PARAMETERS = {"model": {"value": {"provider": "openai", "model": "gpt"}}}
AGENT = {
    "type": "agent",
    "agent_strategy_name": "function_calling",
    "agent_strategy_provider_name": "langgenius/agent/agent",
    "agent_parameters": PARAMETERS,
}
# An agent with a tool that is built in here, and needs an account that nobody has entered.
SEARCHER = {
    **AGENT,
    "agent_parameters": {
        **PARAMETERS,
        "tools": {
            "value": [{"provider_name": "langgenius/tavily/tavily", "tool_name": "tavily_search"}]
        },
    },
}
ACME = {"provider": "langgenius/acme/acme", "name": "big"}

# name, the plug-in, the nodes, its effect
PLUGINS = [
    ("of a missing tool", "acme/weather:1.2@f0", [FORECAST], Effect.FAILS),
    ("of a model that another answers for", "langgenius/acme:1@f0", [llm(model=ACME)],
     Effect.REPLACED),
    ("of a model whose provider has another name", "langgenius/gemini:1@f0",
     [llm(model={"provider": "langgenius/gemini/google", "name": "flash"})], Effect.REPLACED),
    ("of a connected model", "langgenius/openai:1@f0", [llm()], Effect.WORKS),
    ("of an agent's strategy", "langgenius/agent:0.1@11", [AGENT], Effect.WORKS),
    ("of a tool of an agent that can't be used", "langgenius/tavily:0.0.5@c1", [SEARCHER],
     Effect.REFUSED),
    ("that no node uses", "acme/unused:3@22", [llm(), code("import json\n")], Effect.UNUSED),
    ("that a prompt only mentions", "acme/unused:3@22",
     [llm(prompt_template=[{"role": "user", "text": "acme/unused"}])], Effect.UNUSED),
]  # fmt: skip


@pytest.mark.parametrize(("plugin", "nodes", "effect"), [case[1:] for case in PLUGINS],
                         ids=[case[0] for case in PLUGINS])  # fmt: skip
def test_plugin_is_listed_with_what_becomes_of_it(plugin, nodes, effect):
    document = load(*[dict(node) for node in nodes], dependencies=depend_on(plugin))

    report = build_report(document, build_inventory())

    listed = [*report.findings, *report.present, *report.unused]
    plugins = [finding for finding in listed if finding.need is Need.PLUGIN]
    assert [finding.effect for finding in plugins] == [effect]
    # What nobody misses doesn't make a document incomplete.
    assert (plugins[0] in report.findings) == (
        effect in (Effect.FAILS, Effect.REFUSED, Effect.REPLACED)
    )
    assert report.silent == ()


def test_nodes_of_the_demo_model_are_told_from_those_that_run():
    failing = {**FORECAST, "id": "tool"}
    named, unnamed = llm(model=ACME, id="named"), llm(model={"name": "x"}, id="unnamed")
    report = build_report(load(llm(id="connected"), named, unnamed, failing), build_inventory(), ())

    assert report.demo_nodes == ("named", "unnamed")
    assert (report.ready_count, report.demo_count, report.failing_count) == (2, 2, 1)
