"""Generates a client from the description of the API, imports it, and plays a story with it. Prints what came back."""

import importlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4


def generate(schema: str, folder: Path) -> str:
    """Generate the client, and return what the generator said. A part that it can't generate is an error."""
    settings = folder / "settings.json"
    settings.write_text(json.dumps({"post_hooks": []}))
    command = ["openapi_python_client", "generate", "--path", schema, "--config", str(settings)]
    options = ["--output-path", str(folder / "mnemoflow"), "--meta", "none", "--fail-on-warning"]
    done = subprocess.run(
        [sys.executable, "-m", *command, *options], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(done.stdout + done.stderr)
    return done.stdout


def call(client: Any, group: str, operation: str, *ids: Any, **arguments: Any) -> Any:
    """Call an operation, and return the parsed answer. An answer that the description doesn't name raises an error."""
    module = importlib.import_module(f"mnemoflow.api.{group}.{operation}")
    return module.sync_detailed(*ids, client=client, **arguments)


def read_pages(client: Any, group: str, operation: str, **arguments: Any) -> list[Any]:
    items: list[Any] = []
    cursor: Any = ""
    while cursor is not None:
        page = call(client, group, operation, cursor=cursor, limit=1, **arguments).parsed
        items += page.items
        cursor = page.next_
    return items


def describe_error(response: Any) -> dict[str, Any]:
    error = response.parsed.error
    problems = [problem.field for problem in error.problems or ()]
    return {
        "status": response.status_code,
        "shape": type(response.parsed).__name__,
        "type": error.type_,
        "problems": problems,
    }


def play(url: str, key: str) -> dict[str, Any]:
    root: Any = importlib.import_module("mnemoflow")
    models: Any = importlib.import_module("mnemoflow.models")
    client = root.AuthenticatedClient(url, token=key, raise_on_unexpected_status=True)
    stranger = root.AuthenticatedClient(url, token="mf_wrong", raise_on_unexpected_status=True)
    workflows = read_pages(client, "workflows", "list_workflows")
    workflow = UUID(str(workflows[0].id))
    message = {"query": "I am allergic to peanuts.", "user": "mia", "response_mode": "blocking"}
    start = models.StartIn.from_dict(message)

    def run(body: Any) -> Any:
        return call(client, "runs", "start_run", workflow, body=body)

    first, second = run(start), run(start)
    unknown = models.StartIn.from_dict({"query": "Hello", "inputs": {"town": "Bern"}})
    return {
        "workflows": [each.name for each in workflows],
        "started": [type(each.parsed).__name__ for each in (first, second)],
        "status": first.parsed.status,
        "query": first.parsed.query,
        "runs": len(read_pages(client, "runs", "list_runs", workflow=workflow)),
        "kinds": len(call(client, "workflows", "list_node_kinds", limit=200).parsed.items),
        "errors": [
            describe_error(run(unknown)),
            describe_error(call(client, "runs", "read_run", uuid4())),
            describe_error(call(client, "audit", "read_trail")),
            describe_error(call(stranger, "workflows", "list_workflows")),
        ],
    }


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    with tempfile.TemporaryDirectory() as place:
        generate(given["schema"], Path(place))
        sys.path.insert(0, place)
        print(json.dumps(play(given["url"], given["key"])))
