"""``run_workflow`` and ``conformance`` in this process: what they print, and how they exit."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

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


def test_run_workflow_without_credentials_says_what_to_do(document: str) -> None:
    out = StringIO()

    with pytest.raises(SystemExit):
        call_command(
            "run_workflow", document, "--input", "query=hello", "--system", "conversation_id=c1",
            "--json", stdout=out,
        )  # fmt: skip

    assert "use --offline" in json.loads(out.getvalue())["error"]
