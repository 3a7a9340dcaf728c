"""``run_workflow`` and ``conformance`` in this process: what they print, and how they exit."""

import json
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command

from tests.engine.test_memory_nodes import SECTION_12


@pytest.fixture
def document(tmp_path: Path) -> str:
    path = tmp_path / "workflow.yml"
    path.write_text(SECTION_12)
    return str(path)


def test_run_workflow_json_has_the_promised_shape(document: str) -> None:
    out = StringIO()

    call_command(
        "run_workflow", document, "--input", "query=hello", "--system", "conversation_id=c1",
        "--offline", "--json", stdout=out,
    )  # fmt: skip

    report = json.loads(out.getvalue())
    assert report["status"] == "succeeded"
    assert {"status", "outputs", "error", "stream", "steps", "elapsed"} <= report.keys()
    assert [step["node"] for step in report["steps"]][-1] == "end"


def test_run_workflow_rejected_input_exits_with_one(document: str) -> None:
    out = StringIO()

    with pytest.raises(SystemExit) as exit_:
        call_command("run_workflow", document, "--offline", "--json", stdout=out)

    assert exit_.value.code == 1
    assert "query is required" in json.loads(out.getvalue())["error"]


def test_run_workflow_names_nodes_by_their_titles_and_uses_the_words_of_the_pages(
    tmp_path: Path,
) -> None:
    path = tmp_path / "read.json"
    start = {
        "type": "start",
        "title": "Begin",
        "variables": [{"variable": "q", "label": "Question"}],
    }
    read = {
        "type": "document-extractor",
        "title": "Read the slip",
        "variable_selector": ["start", "q"],
    }
    end = {
        "type": "end",
        "title": "Done",
        "outputs": [{"variable": "text", "value_selector": ["17301", "nothing"]}],
    }
    nodes = [("start", start), ("17301", read), ("end", end)]
    path.write_text(json.dumps({
        "version": "0.1.0", "nodes": [{"id": id_, "data": data} for id_, data in nodes],
        "edges": [{"id": "a", "source": "start", "target": "17301"}, {"id": "b", "source": "17301", "target": "end"}],
    }))  # fmt: skip
    out, errors = StringIO(), StringIO()

    with pytest.raises(SystemExit):
        call_command("run_workflow", str(path), "--input", "q=x", "--offline", stdout=out, stderr=errors)  # fmt: skip
    lines = errors.getvalue().splitlines()
    with pytest.raises(SystemExit):
        call_command("run_workflow", str(path), "--input", "q=x", "--offline", "--json", stdout=out, stderr=errors)  # fmt: skip

    assert lines[0].startswith("Warning: Done, ")
    assert "Read the slip" in lines[0]
    assert lines[-1].startswith("Failed: Read the slip: ")
    assert "17301" not in "\n".join(lines)
    report = json.loads(out.getvalue())
    assert (report["error_node"], report["error_node_title"]) == ("17301", "Read the slip")
    assert [step["title"] for step in report["steps"]][:2] == ["Begin", "Read the slip"]


def test_run_workflow_without_credentials_says_what_to_do(document: str) -> None:
    out = StringIO()

    with pytest.raises(SystemExit):
        call_command(
            "run_workflow", document, "--input", "query=hello", "--system", "conversation_id=c1",
            "--json", stdout=out,
        )  # fmt: skip

    assert "use --offline" in json.loads(out.getvalue())["error"]


def ask(document: str, query: str, *more: str) -> Any:
    out = StringIO()
    call_command(
        "run_workflow", document, "--input", f"query={query}", "--system", "conversation_id=c1",
        "--offline", "--json", *more, stdout=out,
    )  # fmt: skip
    return json.loads(out.getvalue())["outputs"]["answer"]


def test_run_workflow_forgets_with_the_command_unless_told_where_to_remember(
    document: str, valkey_url: str, tmp_path: Path
) -> None:
    address = tmp_path / "address"
    address.write_text(f"{valkey_url}\n")
    kept = ("--memory", "redis", "--memory-option", f"url=@{address}",
            "--memory-option", f"space={uuid4().hex}")  # fmt: skip
    for where in ((), kept):
        ask(document, "My cat is called Miso.", *where)

    assert "Miso" not in ask(document, "What is my cat called?")
    assert "Miso" in ask(document, "What is my cat called?", *kept)


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (["--memory", "nothing"], "Unknown memory provider 'nothing'"),
        (["--memory", "redis"], "url"),
        (["--memory", "in_memory", "--memory-option", "what=1"], "what"),
        (["--memory", "postgres"], "--durable"),
        (["--memory", "redis", "--durable"], "use the server's memory"),
        (["--memory", "http", "--memory-option", "url=@/nowhere/at/all"], "can't be read"),
        (["--memory-option", "url"], "takes name=value"),
    ],
)
def test_run_workflow_refuses_a_memory_that_cannot_be_had(
    document: str, asked: list[str], why: str
) -> None:
    with pytest.raises(CommandError, match=why):
        ask(document, "hello", *asked)


def test_run_workflow_where_memory_is_off_refuses_one(document: str, settings: Any) -> None:
    settings.MEMORY_ENABLED = False

    with pytest.raises(CommandError, match="MEMORY_ENABLED is off"):
        ask(document, "hello", "--memory", "redis")
