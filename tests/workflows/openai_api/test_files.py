"""Images and files among the parts of a message become files of the run, checked as uploaded ones are."""

import base64
from typing import Any

import pytest

from tests.factories.workflows import document, make_version, make_workflow
from tests.support.cast import Cast
from tests.workflows.openai_api.conftest import Program, in_thread
from tests.workflows.openai_api.test_completions import rows
from workflows.models import Run, StoredFile, Workflow


pytestmark = pytest.mark.django_db(transaction=True)

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
IMAGE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{base64.b64encode(PNG).decode()}"}}  # fmt: skip
LINK = {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}}


def publish(cast: Cast, kind: str) -> Workflow:
    source = document("Files")
    source["nodes"][0]["data"]["variables"] += [
        {"variable": "files", "type": kind, "required": False}
    ]
    workflow = make_workflow(cast.alice, "Files", source)
    make_version(cast.alice, workflow)
    return workflow


async def test_parts_become_files_of_the_person(program: Program, cast: Cast):
    flow = await in_thread(publish, cast, "file-list")
    content = [{"type": "text", "text": "What is this?"}, IMAGE, LINK]

    answer = await program.complete(flow.slug, content, user="ana")

    assert answer.json()["choices"][0]["message"]["content"] == "What is this?"
    (run,) = await in_thread(rows, Run, cast.team_a)
    stored, linked = run.inputs["files"]
    (file,) = await in_thread(rows, StoredFile, cast.team_a)
    assert (file.subject, file.kind, file.size, file.run_ids) == (
        "ana",
        "image",
        len(PNG),
        [run.pk],
    )
    assert (stored["type"], linked["transfer_method"]) == ("image", "remote_url")
    assert str(linked["remote_url"]) == "https://example.org/a.png"


async def test_file_that_cannot_be_taken_is_refused_and_not_stored(
    program: Program, cast: Cast, settings: Any
):
    without = await in_thread(make_workflow, cast.alice)
    await in_thread(make_version, cast.alice, without)
    refused = await program.complete(without.slug, [IMAGE])
    settings.FILE_IMAGE_MB = 0
    flow = await in_thread(publish, cast, "file-list")
    large = await program.complete(flow.slug, [IMAGE])

    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "messages")
    assert (large.status_code, large.json()["error"]["param"]) == (413, "messages")
    assert await in_thread(rows, StoredFile, cast.team_a) == []
