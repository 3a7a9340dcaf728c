"""ReAct: the text that models write, in two languages and several forms, and the loop around it."""

import json

import pytest

from tests.engine.agent.scripted import ScriptedModel, Tools, build_runner, collect, run_agent
from tests.support.cases import for_each
from workflows.engine.nodes.agent.react_text import ReactStep, parse_step
from workflows.engine.runtime.step_records import RunStatus
from workflows.engine.tool_calls import ToolCall


@for_each(
    "text",
    [
        'Thought: look\nAction:\n```json\n{"action": "search", "action_input": {"query": "Paris"}}\n```',
        'Thought: look\nAction: {"action": "search", "action_input": {"query": "Paris"}}',
        'Thought: look\nAction: search\nAction Input: {"query": "Paris"}',
        'Thought: look\nAction: `search`\nAction Input:\n```json\n{"query": "Paris"}\n```',
        '**Thought:** look\n**Action:** search\n**Action Input:** {"query": "Paris"}',
        '思考：look\n行动：search\n行动输入：{"query": "Paris"}',
        '想法: look\n动作: {"action": "search", "action_input": {"query": "Paris"}}',
        'Thought: look\nAction: search {"query": "Paris"}',
        'Thought: look\nAction: search\nAction Input: {"query": "Paris"}\nObservation: I made this up\nFinal Answer: no',
        '思考：look\n操作：search\n参数：{"query": "Paris"}\n观察：编造的',
        "thought: look\naction: {'tool': 'search', 'tool_input': 1, 'input': {'query': 'Paris'}}",
    ],
)
def test_action_is_read_in_every_form(text: str) -> None:
    step = parse_step(text)

    assert step.call is not None
    assert (step.thought, step.call.name) == ("look", "search")
    assert json.loads(step.call.arguments) == {"query": "Paris"}
    assert "made this up" not in step.text
    assert "编造" not in step.text


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Thought: I know\nFinal Answer: Paris", "Paris"),
        ("Thought: I know\n**Final Answer:** Paris\nis nice", "Paris\nis nice"),
        ("思考：我知道了\n最终答案：巴黎", "巴黎"),
        ('Action: {"action": "Final Answer", "action_input": "Paris"}', "Paris"),
        ("Paris", "Paris"),
        ("Thought: It is Paris", "It is Paris"),
    ],
)
def test_answer_is_read_in_every_form(text: str, answer: str) -> None:
    step = parse_step(text)

    assert (step.call, step.error, step.answer) == (None, "", answer)


@pytest.mark.parametrize("text", ["Action: {broken", "Action:\n", 'Action: {"action_input": 1}'])
def test_action_that_cannot_be_read_is_an_error(text: str) -> None:
    step = parse_step(text)

    assert step.call is None
    assert step.error


def test_text_of_the_step_is_kept_without_an_invented_observation() -> None:
    assert parse_step("Thought: a\nAction: b\nAction Input: {}\nObservation: c") == ReactStep(
        "Thought: a\nAction: b\nAction Input: {}", "a", ToolCall("react", "b", "{}")
    )


def search_tools() -> Tools:
    tools = Tools(search=lambda query: f"{query} is a city")
    tools.schemas["search"] = {
        "type": "object",
        "properties": {"query": {"type": "string"}},
        "required": ["query"],
    }
    return tools


async def test_loop_gives_the_observation_to_the_model_and_ends_with_its_answer() -> None:
    model = ScriptedModel(
        'Thought: look\nAction: {"action": "search", "action_input": {"query": "Paris"}}',
        "Thought: I know\nFinal Answer: A city",
    )
    tools = search_tools()

    result = await run_agent(model, tools, strategy="react", instruction="You know cities.")

    first, second = model.requests
    assert result.outputs["text"] == "A city"
    assert [each["thought"] for each in result.outputs["rounds"]] == ["look", "I know"]
    assert (first.tools, first.params["stop"][0]) == ((), "\nObservation:")
    assert first.messages[0].text.startswith(
        "You know cities.\n\nYou can use these tools:\n- search:"
    )
    assert second.messages[-1].text == "Observation: Paris is a city"
    assert len(tools.ledger) == 1


async def test_input_that_is_only_a_value_becomes_the_parameter_of_the_tool() -> None:
    model = ScriptedModel("Action: search\nAction Input: Paris", "Final Answer: A city")
    tools = search_tools()

    await run_agent(model, tools, strategy="react")

    assert tools.ledger[0][1] == {"query": "Paris"}


async def test_model_that_goes_on_after_the_observation_is_stopped() -> None:
    model = ScriptedModel(
        "Action: search\nAction Input: Paris\nObservation: I made this up \nFinal Answer: wrong",
        "Final Answer: A city",
    )

    result = await run_agent(model, search_tools(), strategy="react")

    assert result.outputs["text"] == "A city"
    assert "made this up" not in str(model.requests[1].messages)


async def test_malformed_action_is_told_to_the_model_and_three_of_them_end_the_agent() -> None:
    model = ScriptedModel("Action: {broken", "Final Answer: A city")
    hopeless = ScriptedModel("Action: {broken")

    result = await run_agent(model, search_tools(), strategy="react")
    given_up = await run_agent(hopeless, search_tools(), strategy="react")

    assert result.outputs["text"] == "A city"
    assert (
        model.requests[1].messages[-1].text == "Observation: Error: The action is not valid JSON."
    )
    assert given_up.outputs["finish_reason"] == "malformed_action"
    assert (given_up.status, len(hopeless.requests)) == (RunStatus.SUCCEEDED, 3)


async def test_rounds_are_limited() -> None:
    model = ScriptedModel(*["Action: search\nAction Input: Paris"] * 2, "I give up")

    result = await run_agent(model, search_tools(), strategy="react", max_rounds=2)

    assert (result.outputs["finish_reason"], result.outputs["text"]) == ("max_rounds", "I give up ")


async def test_agent_without_tools_answers_after_its_reasoning() -> None:
    model = ScriptedModel("Thought: easy\nFinal Answer: 4")

    result = await run_agent(model, strategy="react")

    assert result.outputs["text"] == "4"
    assert "You can use these tools" not in model.requests[0].messages[0].text


async def test_only_the_final_answer_is_streamed() -> None:
    model = ScriptedModel(
        "Action: search\nAction Input: Paris", "Thought: ok\nFinal Answer: A nice city"
    )
    runner = build_runner(model, search_tools(), strategy="react")

    handle = runner.start(inputs={"q": "?"})
    chunks = await collect(handle, "text_chunk")

    assert "".join(chunk.text for chunk in chunks).startswith("A nice city")
