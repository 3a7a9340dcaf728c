"""Runs the to-do loop with a real small model: a table over three to-dos, with notes, a question and a function call.

    python bench/real_todos.py [--json FILE] [--task TEXT]

The server and the model are those of ``bench/real_model.py``. A model of 135 million parameters is far below what the
loop is for; this prints what it managed and what it did not. The run must end, whatever the model writes.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any


ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.real_model import KEY, MODEL, install_server, run_model_server  # noqa: E402
from config.net import allow, clients  # noqa: E402
from memory.providers.in_memory import InMemoryProvider  # noqa: E402
from workflows.engine.ports import ModelChunk, ModelPort, ModelRequest  # noqa: E402
from workflows.engine.runtime.run_request import RunResult  # noqa: E402
from workflows.engine.runtime.runner import WorkflowRunner  # noqa: E402
from workflows.engine.runtime.step_records import RunStatus  # noqa: E402
from workflows.engine.runtime.waits import Answer  # noqa: E402
from workflows.engine.tool_calls import Tool, ToolReference, ToolResult, ToolSpec  # noqa: E402
from workflows.llm.config import ProviderConfig  # noqa: E402
from workflows.llm.registry import TeamModels  # noqa: E402


TASK = """\
Make a table of three people. Work in these three todos:
Todos:
1. Ask the person for the rows of the table
2. Create the file table.csv with the rows
3. Check the table"""
REPLY = "Ada 36 London; Bob 41 Paris; Eve 29 Rome"
FUNCTION = ToolSpec(
    "create_table",
    "Creates a file with a table",
    {
        "type": "object",
        "properties": {"filename": {"type": "string"}, "rows": {"type": "string"}},
        "required": ["filename", "rows"],
    },
)
MAX_QUESTIONS = 12  # answered in one run


class Functions:
    """The tool port: one function, which notes its calls."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []

    async def find(self, references: Sequence[ToolReference]) -> Sequence[Tool]:
        return [Tool(reference, FUNCTION, False, False) for reference in references]

    async def call(
        self, tool: Tool, arguments: Mapping[str, Any], *, idempotency_key: str
    ) -> ToolResult:
        self.calls.append(dict(arguments))
        return ToolResult(f"created {arguments.get('filename')}")


class PrintingModels:
    """The model port, which prints what is asked and answered."""

    def __init__(self, models: ModelPort, *, is_verbose: bool) -> None:
        self._models, self._is_verbose = models, is_verbose
        self.request_count = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        self.request_count += 1
        text = ""
        async for chunk in self._models.stream(request):
            text += chunk.text
            yield chunk
        if self._is_verbose:
            print(f"--- answer {self.request_count}\n{text}\n")


def build_document() -> dict[str, Any]:
    model = {
        "provider": "langgenius/openai/openai",
        "name": MODEL,
        "completion_params": {"temperature": 0, "max_tokens": 120},
    }
    return {
        "version": "0.1.0",
        "nodes": [
            {"id": "start", "data": {"type": "start", "title": "Start", "variables": [
                {"variable": "query", "type": "string", "required": True}]}},
            {"id": "agent", "data": {
                "type": "agent", "title": "Agent", "model": model, "strategy": "todo",
                "query": "{{#start.query#}}",
                "tools": [{"source": "builtin", "name": FUNCTION.name}],
                "enhanced_memory": {"enabled": True, "scope": "workflow",
                                    "query_selector": ["start", "query"]},
                }},
            {"id": "end", "data": {"type": "end", "title": "End", "outputs": [
                {"variable": name, "value_selector": ["agent", name]}
                for name in ("text", "todos", "notes", "rounds", "finish_reason")]}},
        ],
        "edges": [
            {"id": "e1", "source": "start", "target": "agent"},
            {"id": "e2", "source": "agent", "target": "end"},
        ],
    }  # fmt: skip


async def walk(port: int, task: str, *, is_verbose: bool) -> dict[str, Any]:
    """Run the agent to its end, answering its questions, and return what happened."""
    allowed = allow.parse_allowed((f"127.0.0.1:{port}",))
    clients._load_allow_list = lambda: allowed  # type: ignore[assignment]
    address = f"http://127.0.0.1:{port}/v1"
    config = ProviderConfig("openai", base_url=address, api_key=KEY, default_model=MODEL)
    models = PrintingModels(TeamModels([config], fallback="error"), is_verbose=is_verbose)
    functions = Functions()
    runner = WorkflowRunner(
        build_document(), models=models, tools=functions, memory=InMemoryProvider()
    )
    system = {"workflow_id": "chat", "group_id": "group", "user_id": "u"}
    handle = runner.start(inputs={"query": task}, system=system)
    result, questions = await handle.result(), 0
    while result.status is RunStatus.PAUSED and questions < MAX_QUESTIONS:
        questions += 1
        answers = {wait.key: Answer({"answer": REPLY}, "") for wait in result.open_waits}
        handle = runner.resume(handle, answers)
        result = await handle.result()
    return describe(result, models.request_count, questions, functions.calls)


def describe(
    result: RunResult, requests: int, questions: int, calls: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    outputs = result.outputs
    todos = outputs.get("todos") or []
    steps = [step for todo in todos for step in todo["steps"]]
    return {
        "run": str(result.status),
        "error": result.error,
        "finish_reason": outputs.get("finish_reason"),
        "requests": requests,
        "rounds": len(outputs.get("rounds") or ()),
        "todos": [f"{todo['content']}: {todo['status']}" for todo in todos],
        "steps": len(steps),
        "steps_with_a_completion": sum(step["completion"] is not None for step in steps),
        "steps_with_an_action": sum(bool(step["action"]) for step in steps),
        "failed_actions": sum(len(step["errors"]) for step in steps),
        "questions": questions,
        "function_calls": list(calls),
        "notes": len(outputs.get("notes") or ()),
        "text": outputs.get("text"),
    }


def list_shortcomings(results: Mapping[str, Any]) -> list[str]:
    """Return what the model did not manage of the walk."""
    missing = {
        "write a list of three to-dos": len(results["todos"]) >= 3,
        "report in the format in every step": results["steps_with_a_completion"]
        == results["steps"],
        "ask the person": results["questions"] > 0,
        "call the function": bool(results["function_calls"]),
        "write notes": results["notes"] > results["failed_actions"],
        "complete every to-do": bool(results["todos"])
        and all(todo.endswith(": completed") for todo in results["todos"]),
    }
    return [name for name, is_met in missing.items() if not is_met]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--json", type=Path, help="file for the results")
    parser.add_argument("--task", default=TASK, help="another task than the table")
    parser.add_argument("--verbose", action="store_true", help="print every answer of the model")
    options = parser.parse_args()
    with run_model_server(install_server()) as port:
        results = asyncio.run(walk(port, options.task, is_verbose=options.verbose))
    results["not_managed"] = list_shortcomings(results)
    for name, value in results.items():
        print(f"{name:24} {value}")
    if options.json:
        options.json.write_text(json.dumps(results, indent=2, default=str) + "\n")
    # Only the loop is judged here: it has to end, and to say how.
    return 0 if results["run"] == "succeeded" and results["finish_reason"] else 1


if __name__ == "__main__":
    sys.exit(main())
