"""The document-extractor kind: files of variables become texts, through the ports that read them."""

from typing import Any

import pytest

from tests.support.documents import document, end, node, start
from tests.support.local_files import LocalFiles
from workflows.engine.errors import DocumentUnreadable
from workflows.engine.files.ports import DocumentRequest
from workflows.engine.runtime.run_request import RunResult
from workflows.engine.runtime.runner import WorkflowRunner


class UpperCase:
    """Reads every document as a text in capitals, except one that is named broken."""

    async def extract_text(self, request: DocumentRequest) -> str:
        if request.name == "broken.pdf":
            raise DocumentUnreadable("broken.pdf is damaged")
        return request.content.decode().upper()


async def extract(value: Any, files: LocalFiles | None, **data: Any) -> RunResult:
    extractor = node("x", "document-extractor", variable_selector=["sys", "files"], **data)
    nodes = [start("q"), extractor, end(text=["x", "text"])]
    runner = WorkflowRunner(
        document(nodes, ["start -> x", "x -> end"]), files=files, documents=UpperCase()
    )
    return await runner.run(inputs={}, system={"files": value})


async def test_file_becomes_a_text_and_a_list_becomes_texts() -> None:
    files = LocalFiles()
    one, two = files.add(b"one", "a.txt"), files.add(b"two", "b.txt")

    results = [
        await extract(one, files),
        await extract([one, two], files, is_array_file=True),
        await extract([], files, is_array_file=True),
    ]

    assert [result.outputs["text"] for result in results] == ["ONE", ["ONE", "TWO"], []]
    assert results[0].steps[1].inputs == {"variable_selector": one}


@pytest.mark.parametrize(
    ("value", "error_type", "message"),
    [
        ("text", "FileInvalid", "sys.files is neither a file nor a list of files"),
        (
            {"type": "document", "transfer_method": "local_file", "related_id": "gone"},
            "FileUnavailable",
            "The file is not there",
        ),
    ],
)
async def test_value_without_a_readable_file_fails_the_node(
    value: Any, error_type: str, message: str
) -> None:
    result = await extract(value, LocalFiles())

    assert (result.error_type, result.error) == (error_type, message)


async def test_failure_of_one_document_names_it() -> None:
    files = LocalFiles()
    value = [files.add(b"one", "a.txt"), files.add(b"two", "broken.pdf")]

    result = await extract(value, files)

    assert (result.error_type, result.error) == ("DocumentUnreadable", "broken.pdf is damaged")


async def test_runner_without_a_store_says_so() -> None:
    value = LocalFiles().add(b"one", "a.txt")

    result = await extract(value, None)

    assert result.error == "This runner has no files port"
