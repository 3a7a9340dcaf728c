"""The llm kind with vision: images of files join the user's last message."""

import base64
from typing import Any

import pytest

from tests.support.cases import for_each
from tests.support.documents import document, end, llm, node, start
from tests.support.engine import EchoModels
from tests.support.local_files import LocalFiles
from workflows.engine.nodes import build_kinds
from workflows.engine.ports import ImagePart, Message
from workflows.engine.runtime.run_request import RunResult
from workflows.engine.runtime.runner import WorkflowRunner


def build_file(url: str, kind: str = "image", **more: Any) -> dict[str, Any]:
    return {"type": kind, "transfer_method": "remote_url", "url": url, "name": "cat.png", **more}


CAT, DATA = build_file("https://x.test/cat.png"), build_file("data:image/png;base64," + "A" * 900)


async def ask(
    models: Any, files: Any, vision: Any, *messages: tuple[str, str], **data: Any
) -> RunResult:
    texts = messages or (("system", "S"), ("user", "Look"), ("assistant", "Ok"))
    nodes = [start("q"), llm("x", *texts, vision=vision, **data), end(text=["x", "text"])]
    runner = WorkflowRunner(document(nodes, ["start -> x", "x -> end"]), models=models)
    return await runner.run(inputs={"q": "Q"}, system={"files": files, "photo": CAT})


@pytest.mark.parametrize(
    ("configs", "detail"), [(None, "high"), ({}, "high"), ({"detail": "low"}, "low")]
)
async def test_images_of_the_message_join_the_last_words_of_the_user(
    configs: Any, detail: Any
) -> None:
    models = EchoModels()
    pdf = build_file("https://x.test/a.pdf", "document", mime_type="application/pdf")
    scan = build_file("https://x.test/scan", "custom", mime_type="image/webp")

    await ask(models, [CAT, pdf, "text", scan], {"enabled": True, "configs": configs})

    parts = (ImagePart(CAT["url"], detail), ImagePart(scan["url"], detail))
    assert models.requests[0].messages == (
        Message("system", "S"),
        Message("user", "Look", images=parts),
        Message("assistant", "Ok"),
    )


async def test_variable_with_one_file_is_read() -> None:
    models = EchoModels()
    vision = {"enabled": True, "configs": {"variable_selector": ["sys", "photo"], "detail": "auto"}}

    await ask(models, [], vision)

    assert models.requests[0].messages[1].images == (ImagePart(CAT["url"], "auto"),)


async def test_prompt_may_consist_of_images_alone() -> None:
    models = EchoModels()

    await ask(models, [CAT], {"enabled": True}, ("user", ""))

    assert models.requests[0].messages == (
        Message("user", "", images=(ImagePart(CAT["url"], "high"),)),
    )


@pytest.mark.parametrize(
    ("vision", "data"),
    [(None, {}), ({"enabled": False}, {}),
     ({"enabled": True}, {"model": {"provider": "p", "mode": "completion"}})],
)  # fmt: skip
async def test_without_vision_no_image_is_sent(vision: Any, data: dict[str, Any]) -> None:
    models = EchoModels()

    await ask(models, [CAT], vision, ("user", "Look"), **data)

    assert models.requests[0].messages == (Message("user", "Look"),)


async def test_record_of_the_step_shows_addresses_and_not_the_content() -> None:
    result = await ask(EchoModels(), [DATA], {"enabled": True})

    shown = result.steps[1].inputs["messages"][1]["images"]
    assert len(shown) == 1
    assert len(shown[0]) < 250


@pytest.mark.parametrize(
    ("files", "error"),
    [
        ([build_file("")], "The image cat.png has no URL that a model can read"),
        ([build_file("file:///etc/passwd")], "The image cat.png has no URL that a model can read"),
        ([CAT] * 21, "There are 21 images; at most 20 can be sent to the model"),
    ],
)
async def test_image_that_cannot_be_sent_is_named(files: Any, error: str) -> None:
    result = await ask(EchoModels(), files, {"enabled": True})

    assert (result.error_type, result.error) == ("ImageInvalid", error)


PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 30


async def ask_with_store(files: LocalFiles, value: Any) -> tuple[RunResult, EchoModels]:
    models = EchoModels()
    nodes = [
        start("q"),
        llm("x", ("user", "Look"), vision={"enabled": True}),
        end(text=["x", "text"]),
    ]
    runner = WorkflowRunner(document(nodes, ["start -> x", "x -> end"]), models=models, files=files)
    return await runner.run(inputs={"q": "Q"}, system={"files": value}), models


async def test_stored_image_is_sent_with_its_content_and_shown_by_its_name() -> None:
    files = LocalFiles()
    image = files.add(PNG, "cat.jpg", kind="image", mime_type="image/jpeg")

    result, models = await ask_with_store(files, [image])

    data = base64.b64encode(PNG).decode()
    part = ImagePart(f"data:image/png;base64,{data}", "high", "cat.jpg")  # what its content is
    assert models.requests[0].messages[0].images == (part,)
    assert result.steps[1].inputs["messages"][0]["images"] == ["cat.jpg"]


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"<svg/>", "cat.svg is not a PNG, JPEG, GIF or WebP image, which models read"),
        (PNG + b"\0" * 21 * 1024**2, "The file has more than 20 MB"),
    ],
)
async def test_stored_file_that_no_model_reads_is_named(content: bytes, error: str) -> None:
    files = LocalFiles()
    image = files.add(content, "cat.svg", kind="image")

    result, _models = await ask_with_store(files, [image])

    assert result.error == error


@for_each("model, is_warned",
    [
        ("deepseek-chat", True), ("gpt-3.5-turbo", True), ("openai/gpt-4", True), ("qwen-plus", True),
        ("llama3.1:8b", True), ("mixtral-8x7b", True), ("gpt-4o", False), ("gpt-5-mini", False),
        ("claude-sonnet-4", False), ("qwen-vl-plus", False), ("llama3.2-vision", False), ("default", False),
        ("gemini-2.5-flash", False), ("glm-4v", False), ("pixtral-12b", False), ("my-own-model", False),
    ],
)  # fmt: skip
def test_model_that_sees_no_images_is_warned_about(model: str, is_warned: bool) -> None:
    settings: dict[str, dict[str, Any]] = {
        "llm": {"prompt_template": [{"role": "user", "text": "Look"}]},
        "question-classifier": {
            "query_variable_selector": ["start", "q"],
            "classes": [{"id": "1", "name": "a"}],
        },
        "parameter-extractor": {
            "query": ["start", "q"],
            "parameters": [{"name": "a", "type": "string"}],
        },
    }
    for kind, data in settings.items():
        spec = node("x", kind, model={"provider": "p", "name": model, "mode": "chat"},
                    vision={"enabled": True}, **data)  # fmt: skip

        problems = [problem.code for problem in build_kinds()[kind].check(spec)]

        assert ("llm.vision" in problems) is is_warned, kind
