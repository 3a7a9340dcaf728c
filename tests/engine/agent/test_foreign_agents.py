"""Agents of Dify and xworkflow: read into the same settings, run, and written back unchanged."""

from copy import deepcopy
from typing import Any

import pytest
import yaml

from tests.engine.agent.scripted import ScriptedModel, Tools, call
from workflows.engine.kinds import NodeKind
from workflows.engine.language.document import NodeSpec
from workflows.engine.language.dsl import load_document, write_dify, write_xworkflow
from workflows.engine.language.dsl.dify_agents import update_agent_parameters
from workflows.engine.nodes import KNOWN_KINDS
from workflows.engine.nodes.agent.agent_config import AgentConfig
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.tool_calls import ToolReference


DIFY: dict[str, Any] = {
    "type": "agent",
    "title": "Agent",
    "agent_strategy_provider_name": "langgenius/agent/agent",
    "agent_strategy_name": "function_calling",
    "agent_strategy_label": "FunctionCalling",
    "plugin_unique_identifier": "langgenius/agent:0.0.9@abc",
    "tool_node_version": "2",
    "output_schema": None,
    "agent_parameters": {
        "model": {
            "type": "constant",
            "value": {
                "provider": "langgenius/openai/openai",
                "model": "gpt-4o-mini",
                "model_type": "llm",
                "mode": "chat",
                "completion_params": {"temperature": 0},
                "type": "model-selector",
            },
        },
        "instruction": {"type": "constant", "value": "Call tools for {{#start.q#}}."},
        "query": {"type": "variable", "value": ["start", "q"]},
        "maximum_iterations": {"type": "constant", "value": 5},
        "tools": {
            "type": "constant",
            "value": [
                {
                    "enabled": True,
                    "type": "builtin",
                    "provider_name": "time",
                    "tool_name": "current_time",
                    "tool_label": "Current time",
                    "extra": {"description": "Tells the time"},
                    "parameters": {},
                    "settings": {"timezone": {"value": "UTC"}, "format": {"value": None}},
                    "schemas": [],
                },
                {
                    "enabled": False,
                    "type": "builtin",
                    "provider_name": "langgenius/openweather/openweather",
                    "tool_name": "weather",
                    "parameters": {"city": {"auto": 1, "value": None}},
                    "settings": {},
                },
                {
                    "enabled": True,
                    "type": "api",
                    "provider_name": "orders",
                    "tool_name": "find",
                    "parameters": {
                        "id": {"auto": 1, "value": None},
                        "region": {"auto": 0, "value": {"type": "mixed", "value": "eu"}},
                    },
                    "settings": {},
                },
            ],
        },
    },
    "memory": {"window": {"enabled": True, "size": 4}, "query_prompt_template": "{{#sys.query#}}"},
}
XWORKFLOW: dict[str, Any] = {
    "type": "agent",
    "model": {"provider": "openai", "name": "gpt-4o", "mode": "chat"},
    "system_prompt": "You help.",
    "query": "{{#start.q#}}",
    "tools": {"mcp_servers": [{"name": "files", "command": "x"}], "mcp_server_refs": ["search"]},
    "max_iterations": 7,
}


def configure(data: dict[str, Any]) -> AgentConfig:
    kind = KNOWN_KINDS["agent"]
    assert isinstance(kind, NodeKind)
    config = kind.configure(NodeSpec("a", "agent", data))
    assert isinstance(config, AgentConfig)
    return config


def test_settings_of_dify_are_read() -> None:
    config = configure(DIFY)

    assert (config.strategy, config.max_rounds, config.query) == (
        "function_calling",
        5,
        "{{#start.q#}}",
    )
    assert (config.model.provider, config.model.name) == ("langgenius/openai/openai", "gpt-4o-mini")
    assert config.model.completion_params == {"temperature": 0}
    assert config.instruction == "Call tools for {{#start.q#}}."
    assert config.memory is not None
    assert config.memory.window.size == 4
    assert [tool.reference for tool in config.tools] == [
        ToolReference("builtin", "current_time"),
        ToolReference("plugin", "weather", "langgenius/openweather/openweather"),
        ToolReference("openapi", "find", "orders"),
    ]
    assert [tool.enabled for tool in config.tools] == [True, False, True]
    assert config.tools[0].settings == {"timezone": "UTC"}
    assert config.tools[0].description == "Tells the time"
    assert config.tools[2].settings == {"region": {"type": "mixed", "value": "eu"}}


def test_strategies_of_dify_are_known_by_their_names() -> None:
    names = [
        "ReAct",
        "react",
        "function_calling",
        "FunctionCalling",
        "Function Calling",
        "mcp_agent",
    ]

    strategies = [configure({**DIFY, "agent_strategy_name": name}).strategy for name in names]

    assert strategies == ["react", "react", *["function_calling"] * 4]
    assert configure({**DIFY, "agent_strategy_name": "tree"}).strategy == "tree"


def test_server_of_dify_stands_for_all_its_tools() -> None:
    servers = {"mcp_server": {"type": "constant", "value": "https://mcp.example.com/sse"}}
    parameters = {**DIFY["agent_parameters"], **servers}

    config = configure({**DIFY, "agent_parameters": parameters})

    assert config.tools[-1].reference == ToolReference("mcp", "*", "https://mcp.example.com/sse")


def test_setting_under_its_name_here_replaces_that_of_dify() -> None:
    config = configure({**DIFY, "instruction": "Mine", "max_rounds": 3})

    assert (config.instruction, config.max_rounds) == ("Mine", 3)


def test_settings_of_xworkflow_are_read() -> None:
    config = configure(XWORKFLOW)

    assert (config.instruction, config.query, config.max_rounds) == (
        "You help.",
        "{{#start.q#}}",
        7,
    )
    assert [tool.reference for tool in config.tools] == [
        ToolReference("mcp", "*", "search"),
        ToolReference("mcp", "*", "files"),
    ]


def dify_document() -> dict[str, Any]:
    nodes = [
        {"id": "start", "type": "custom", "data": {"type": "start", "title": "S", "variables": [
            {"variable": "q", "type": "paragraph", "label": "q", "required": False}]}},
        {"id": "agent", "type": "custom", "data": deepcopy(DIFY)},
        {"id": "end", "type": "custom", "data": {"type": "end", "title": "E", "outputs": [
            {"variable": "text", "value_selector": ["agent", "text"]}]}},
    ]  # fmt: skip
    edges = [
        {"id": f"{source}-{target}", "source": source, "target": target, "sourceHandle": "source"}
        for source, target in (("start", "agent"), ("agent", "end"))
    ]
    return {
        "kind": "app",
        "version": "0.6.0",
        "app": {"name": "A", "mode": "workflow"},
        "workflow": {"graph": {"nodes": nodes, "edges": edges}, "features": {}},
    }


def test_agent_of_dify_is_written_back_unchanged() -> None:
    document = load_document(yaml.safe_dump(dify_document())).document

    tree = write_dify(document, include_secrets=True)

    [data] = [each["data"] for each in tree["workflow"]["graph"]["nodes"] if each["id"] == "agent"]
    assert data == DIFY


def test_agent_of_xworkflow_is_written_back_unchanged() -> None:
    tree = {
        "version": "0.1.0",
        "nodes": [
            {"id": "start", "data": {"type": "start", "variables": []}},
            {"id": "agent", "data": {**XWORKFLOW, "title": "A"}},
        ],
        "edges": [{"source": "start", "target": "agent"}],
    }
    document = load_document(yaml.safe_dump(tree)).document

    written = write_xworkflow(document, include_secrets=True)

    [data] = [each["data"] for each in written["nodes"] if each["id"] == "agent"]
    assert data == {**XWORKFLOW, "title": "A"}


async def test_agent_of_dify_runs() -> None:
    tools = Tools(
        current_time=lambda timezone: f"noon in {timezone}",
        find=lambda **given: f"{given['id']} {given['region']}",
    )
    tools.schemas["find"] = {
        "type": "object",
        "properties": {"id": {"type": "string"}, "region": {"type": "string"}},
    }
    model = ScriptedModel(("", [call("current_time"), call("find", id="7")]), "Noon")
    runner = WorkflowRunner(yaml.safe_dump(dify_document()), models=model, tools=tools)

    result = await runner.run(inputs={"q": "the time"}, system={"query": "the time"})

    assert result.outputs["text"] == "Noon "
    assert model.requests[0].messages[0].text == "Call tools for the time."
    assert [text.text for text in model.requests[1].messages[-2:]] == ["noon in UTC", "7 eu"]


def test_edited_agent_of_dify_is_exported_with_the_edited_settings() -> None:
    source = dify_document()
    data = source["workflow"]["graph"]["nodes"][1]["data"]
    edited = configure(DIFY).tools
    data |= {
        "instruction": "Mine",
        "strategy": "react",
        "max_rounds": 3,
        "model": {"provider": "openai", "name": "gpt-5", "mode": "chat"},
        "tools": [
            {**edited[0].model_dump(), "settings": {"timezone": "Asia/Tokyo"}},
            {
                "source": "openapi",
                "provider": "orders",
                "name": "find",
                "settings": {"region": "us"},
            },
            {"source": "mcp", "provider": "docs", "name": "search"},
        ],
    }

    tree = write_dify(load_document(yaml.safe_dump(source)).document, include_secrets=True)

    written = tree["workflow"]["graph"]["nodes"][1]["data"]
    values = {name: each["value"] for name, each in written["agent_parameters"].items()}
    assert written["agent_strategy_name"] == "ReAct"
    assert (values["instruction"], values["maximum_iterations"]) == ("Mine", 3)
    assert (values["model"]["model"], values["model"]["provider"]) == ("gpt-5", "openai")
    assert [tool["tool_name"] for tool in values["tools"]] == ["current_time", "find", "search"]
    assert values["tools"][0]["settings"]["timezone"] == {"value": "Asia/Tokyo"}
    assert values["tools"][0]["tool_label"] == "Current time"
    assert values["tools"][1]["parameters"]["region"] == {"auto": 0, "value": "us"}
    assert (values["tools"][2]["type"], values["tools"][2]["provider_name"]) == ("mcp", "docs")


@pytest.mark.parametrize("value", [[], {}, 3, None])
def test_damaged_settings_are_written_as_they_are(value):
    damaged = {
        "strategy": value,
        "tools": [{"name": "clock"}],
        "agent_parameters": {"tools": {"value": value}},
    }

    written = update_agent_parameters(damaged)

    assert written["strategy"] == value
    assert "agent_strategy_name" not in written
    assert [tool["tool_name"] for tool in written["agent_parameters"]["tools"]["value"]] == [
        "clock"
    ]
