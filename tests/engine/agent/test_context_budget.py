"""Long agents: older results are shortened first, people's messages stay, and a call keeps its result."""

from collections.abc import Sequence

from tests.engine.agent.scripted import ScriptedModel, Tools, build_runner, call, run_agent
from workflows.engine.errors import ModelFailed
from workflows.engine.nodes.agent.tool_use.context_budget import (
    estimate_tokens,
    fit_messages,
    get_budget,
)
from workflows.engine.ports import Message
from workflows.engine.runtime.step_records import RunStatus
from workflows.engine.tool_calls import ToolCall, ToolSpec


FIRST = [Message("system", "You work."), Message("user", "x" * 8000)]


def build_round(number: int, length: int) -> list[Message]:
    calls = (ToolCall(f"c{number}", "look"),)
    return [
        Message("assistant", "", tool_calls=calls),
        Message("tool", str(number) * length, tool_call_id=f"c{number}"),
    ]


def build_messages(rounds: int, length: int) -> list[Message]:
    return [*FIRST, *(each for number in range(rounds) for each in build_round(number, length))]


def count(messages: Sequence[Message]) -> int:
    return sum(map(estimate_tokens, messages))


def list_lengths(messages: Sequence[Message]) -> list[int]:
    return [len(message.text) for message in messages if message.role == "tool"]


def test_messages_within_the_budget_are_not_touched() -> None:
    messages = build_messages(3, 4000)

    assert fit_messages(messages, 2, 10_000) is messages


def test_older_results_are_shortened_before_newer_ones() -> None:
    fitted = fit_messages(build_messages(4, 8000), 2, 8_500)

    lengths = list_lengths(fitted)
    assert count(fitted) <= 8_500
    assert lengths[0] < 2100
    assert lengths[2:] == [8000, 8000]
    assert "shortened; 6,000 more characters" in fitted[3].text


def test_last_round_is_shortened_only_after_all_others() -> None:
    fitted = fit_messages(build_messages(3, 40_000), 2, 4_000)

    lengths = list_lengths(fitted)
    assert count(fitted) <= 4_000
    assert lengths[0] < lengths[2] < 2100


def test_results_are_shortened_to_their_length_before_a_round_is_left_out() -> None:
    fitted = fit_messages(build_messages(100, 9_000), 2, 8_500)

    assert count(fitted) <= 8_500
    assert [each.role for each in fitted] == [each.role for each in build_messages(100, 9_000)]
    assert fitted[3].text == "… (shortened; 9,000 more characters)"
    assert len(fitted[-1].text) > 2_000


def test_rounds_are_left_out_whole_and_messages_of_people_never() -> None:
    messages = [*build_messages(100, 300), Message("user", "Also this."), *build_round(1, 300)]

    fitted = fit_messages(messages, 2, 3_000)

    assert count(fitted) <= 3_000
    assert [*fitted[:2]] == FIRST
    assert Message("user", "Also this.") in fitted
    called = [each.id for message in fitted for each in message.tool_calls]
    assert called == [message.tool_call_id for message in fitted if message.role == "tool"]
    assert fitted[-1] == messages[-1]


def test_observations_of_react_are_results_and_a_persons_words_are_not() -> None:
    observed = [Message("assistant", "Action: look"), Message("user", f"Observation: {'y' * 9000}")]
    messages = [*FIRST, *observed, *build_round(1, 100)]

    fitted = fit_messages(messages, 2, 3_000)

    assert len(fitted[3].text) < 2100
    assert fitted[1] == FIRST[1]


def test_budget_leaves_room_for_the_answer_and_the_tools() -> None:
    tools = [ToolSpec("look", "d" * 400)]

    assert get_budget(10_000, [], 3_000) == 7_000
    assert get_budget(10_000, []) == 10_000 - 2_048
    assert 6_000 < get_budget(10_000, tools, 3_000) < 7_000
    assert get_budget(2_000, [], 50_000) == 1_000


async def test_long_agent_ends_and_a_retry_sends_what_the_first_attempt_sent() -> None:
    replies = [("", [call("look", f"c{number}")]) for number in range(9)]
    tools = Tools(look=lambda: "page " * 800)

    model = ScriptedModel(*replies, ModelFailed("busy", retryable=True), "Done")
    result = await run_agent(
        model, tools, context_window=4_000, max_rounds=20,
        retry_config={"retry_enabled": True, "max_retries": 1, "retry_interval": 1},
    )  # fmt: skip

    assert result.outputs["text"] == "Done "
    assert max(count(request.messages) for request in model.requests) < 4_000
    failed, repeated = model.requests[-2:]
    assert failed.messages == repeated.messages
    assert all("What is 2 + 2?" in str(request.messages) for request in model.requests)


async def test_window_that_is_left_empty_is_the_default() -> None:
    result = await build_runner(ScriptedModel("Done"), context_window="").run(inputs={"q": "?"})

    assert result.status is RunStatus.SUCCEEDED, result.error
