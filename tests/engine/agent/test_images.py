"""Agents with vision: the model is shown the images in every round, whatever the strategy."""

from typing import Any

import pytest

from tests.engine.agent.scripted import ScriptedModel, Tools, agent_document, call, run_agent
from workflows.engine.language.validation import validate
from workflows.engine.nodes import build_kinds
from workflows.engine.ports import ImagePart


CAT = {
    "type": "image",
    "transfer_method": "remote_url",
    "url": "https://x.test/cat.png",
    "name": "cat.png",
}
VISION = {"enabled": True, "configs": {"detail": "low", "variable_selector": ["sys", "files"]}}
PART = ImagePart(CAT["url"], "low")


@pytest.mark.parametrize("strategy", ["function_calling", "react"])
@pytest.mark.parametrize("has_window", [False, True])
async def test_model_of_an_agent_is_shown_the_images(strategy: str, has_window: bool) -> None:
    first: Any = ("", [call("add", a=2, b=2)])
    if strategy == "react":
        first = 'Action: add\nAction Input: {"a": 2, "b": 2}'
    model = ScriptedModel(first, "Final Answer: four")
    more: dict[str, Any] = {"memory": {"enabled": True}} if has_window else {}

    result = await run_agent(
        model, Tools(add=lambda a, b: a + b), strategy=strategy, vision=VISION,
        system={"files": [CAT]}, **more,
    )  # fmt: skip

    assert result.error is None
    assert len(model.requests) == 2
    for request in model.requests:
        assert [message.images for message in request.messages if message.images] == [(PART,)]


async def test_agent_without_vision_sends_no_images() -> None:
    model = ScriptedModel("four")

    await run_agent(model, vision={"enabled": False}, system={"files": [CAT]})

    assert not any(message.images for message in model.requests[0].messages)


def test_images_for_a_model_that_reads_text_alone_are_warned_about() -> None:
    model = {"provider": "deepseek", "name": "deepseek-chat", "mode": "chat"}

    problems = validate(agent_document(vision=VISION, model=model), build_kinds())

    assert [(each.code, each.field) for each in problems] == [("llm.vision", "vision.enabled")]
