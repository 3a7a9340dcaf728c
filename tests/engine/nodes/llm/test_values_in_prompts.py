"""Lists and objects enter prompts as JSON, wherever they are inserted; Jinja2 elsewhere prints them as Python does."""

import asyncio
from typing import Any

import pytest

from memory.core.records import StoreParams
from memory.providers.in_memory import InMemoryProvider
from tests.engine.agent.scripted import ScriptedModel, Tools, call, run_agent
from tests.support.cases import for_each
from tests.support.documents import document, end, llm, node, start, template
from tests.support.engine import EchoModels, JinjaHere
from workflows.engine.language.document import NodeSpec
from workflows.engine.ports import ModelRequest
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.tool_calls import ToolResult
from workflows.sandbox.templates import TemplatePool


NESTED = {"name": "李雷", "ok": True, "tags": ["a", None], "size": {"w": 1.5}}
VALUES: list[tuple[Any, str]] = [
    (["a", "é"], '["a", "é"]'),
    (["it's", 'say "hi"'], '["it\'s", "say \\"hi\\""]'),
    ([1, 2.5, -3], "[1, 2.5, -3]"),
    ([True, False], "[true, false]"),
    ([None, "x"], '[null, "x"]'),
    ([{"a": "b"}, {"c": None}], '[{"a": "b"}, {"c": null}]'),
    ([1, "二", True, None, {"k": []}], '[1, "二", true, null, {"k": []}]'),
    ([["a"], [1, [2]]], '[["a"], [1, [2]]]'),
    ({"k": "é"}, '{"k": "é"}'),
    (
        NESTED,
        '{"name": "李雷", "ok": true, "tags": ["a", null], "size": {"w": 1.5}}',
    ),
]


def send(node_spec: NodeSpec, value: Any, **more: Any) -> ModelRequest:
    """Return the request that the node sends to the model for the value of ``sys.q``."""
    models = EchoModels()
    nodes = [start(), node_spec, end(text=[node_spec.id, "text"])]
    edges = [f"start -> {node_spec.id}", f"{node_spec.id} -> end"]
    runner = WorkflowRunner(document(nodes, edges), models=models, templates=JinjaHere(), **more)
    asyncio.run(runner.run(system={"user_id": "mia", "q": value}))
    return models.requests[0]


def jinja_message(text: str) -> dict[str, Any]:
    return {
        "prompt_template": [
            {"role": "user", "text": "", "edition_type": "jinja2", "jinja2_text": text}
        ],
        "prompt_config": {"jinja2_variables": [{"variable": "q", "value_selector": ["sys", "q"]}]},
    }


@for_each("value, text", VALUES)
def test_value_in_a_prompt_is_json(value: Any, text: str):
    request = send(llm("x", ("system", "<{{#sys.q#}}>"), ("user", "Q: {{#sys.q#}}")), value)

    assert [message.text for message in request.messages] == [f"<{text}>", f"Q: {text}"]


@for_each("value, text", VALUES)
@for_each("source", ["<{{ q }}>", "<{% if true %}{{ q }}{% endif %}>"])
def test_value_in_a_jinja_prompt_is_json(value: Any, text: str, source: str):
    request = send(llm("x", **jinja_message(source)), value)

    assert request.messages[-1].text == f"<{text}>"


@for_each("value, text", VALUES)
def test_value_of_a_classifier_and_an_extractor_is_json(value: Any, text: str):
    model = {"provider": "p", "name": "m", "mode": "chat"}
    classifier = node("x", "question-classifier", query_variable_selector=["sys", "q"], model=model,
                      classes=[{"id": "1", "name": "a"}], instruction="Of {{#sys.q#}}")  # fmt: skip
    extractor = node("x", "parameter-extractor", query=["sys", "q"], model=model,
                     parameters=[{"name": "n", "type": "string"}], instruction="Of {{#sys.q#}}")  # fmt: skip

    for spec in (classifier, extractor):
        prompt = "\n".join(message.text for message in send(spec, value).messages)
        assert f"Of {text}" in prompt
        assert repr(value) == text or f"Of {value!r}" not in prompt


@for_each("value, text", VALUES)
def test_value_in_a_context_and_in_a_window_of_messages_is_json(value: Any, text: str):
    context = {"enabled": True, "variable_selector": ["sys", "q"]}
    window = {"enabled": True, "variable_selector": ["sys", "q"]}

    with_context = send(llm("x", ("user", "{{#context#}}"), context=context), [value])
    with_window = send(llm("x", ("user", "Q"), memory=window), [{"role": "user", "content": value}])

    assert with_context.messages[0].text == text
    assert with_window.messages[0].text == text


@for_each("value, text", VALUES)
def test_recalled_value_is_json_in_the_memory_of_a_prompt(value: Any, text: str):
    memory = {"enabled": True, "scope": "user"}
    templated = {**memory, "format_template": "{{ entries[0].value }}|{{ entries | length }}"}
    provider = InMemoryProvider()
    provider.store(StoreParams("user:mia", "k", value=value))

    listed = send(llm("x", ("user", "hi"), enhanced_memory=memory), "", memory=provider)
    formatted = send(llm("x", ("user", "hi"), enhanced_memory=templated), "", memory=provider)

    assert listed.messages[0].text == f"[Memory Context]\n- k: {text}"
    assert formatted.messages[0].text == f"{text}|1"


@for_each("value, text", VALUES)
async def test_value_in_an_instruction_and_a_result_of_an_agent_is_json(value: Any, text: str):
    model = ScriptedModel(("", [call("get")]), "done")
    tools = Tools(get=lambda: ToolResult("", [value]))

    await run_agent(model, tools, instruction="Of {{#sys.q#}}", system={"q": value})

    assert model.requests[0].messages[0].text.startswith(f"Of {text}")
    assert model.requests[1].messages[-1].text == f"[{text}]"


@pytest.mark.parametrize(
    ("value", "text"), [(True, "True"), (None, ""), (3, "3"), (1.0, "1.0"), ("é", "é"), ([], "")]
)
def test_single_values_are_plain_text_and_nothing_is_empty(value: Any, text: str):
    request = send(llm("x", ("user", "<{{#sys.q.v#}}>")), {"v": value})

    assert request.messages[0].text == f"<{text}>"


def test_template_node_prints_lists_as_jinja_does_and_has_a_filter_for_json():
    nodes = [
        start(),
        template("plain", "{{ q }}", q=["sys", "q"]),
        template("json", "{{ q | tojson }}", q=["sys", "q"]),
        end(plain=["plain", "output"], json=["json", "output"]),
    ]
    made = document(nodes, ["start -> plain", "plain -> json", "json -> end"])
    runner = WorkflowRunner(made, templates=JinjaHere())

    result = asyncio.run(runner.run(system={"q": [{"a": True}]}))

    assert result.outputs == {"plain": "[{'a': True}]", "json": '[{"a": true}]'}


def test_runner_of_templates_prints_json_only_where_it_is_asked_to():
    templates = TemplatePool()
    source = "{% for item in items %}{{ item }};{% endfor %}{{ items[:1] }}{{ n }}"
    inputs = {"items": [{"a": "é"}, "x"], "n": None}
    try:
        as_json = asyncio.run(templates.render(source, inputs, prints_json=True))
        as_jinja = asyncio.run(templates.render(source, inputs))
    finally:
        templates.close()

    assert as_json == '{"a": "é"};x;[{"a": "é"}]None'
    assert as_jinja == "{'a': 'é'};x;[{'a': 'é'}]None"
