"""A tool for the agents of real workers, which writes every call into a file: its own ledger.

The workers of a test use it with ``TEST_PLUGIN=tests.durability.ledger_tools``.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.waiting import until_async
from workflows.engine.tool_calls import Tool, ToolReference, ToolResult, ToolSpec


LEDGER = "AGENT_LEDGER"  # the variable with the path of the file
HELD = 100  # from this number on, a call waits until ``open_gate`` was called


class LedgerTools:
    """Implements ``engine.tool_calls.ToolPort`` with the one tool ``note``, which the provider "careful" asks a person about."""

    async def find(self, references: Sequence[ToolReference]) -> Sequence[Tool]:
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        spec = ToolSpec("note", "Notes a number", schema)
        return [
            Tool(
                reference, spec, needs_approval=reference.provider == "careful", is_untrusted=False
            )
            for reference in references
        ]

    async def call(
        self, tool: Tool, arguments: Mapping[str, Any], *, idempotency_key: str
    ) -> ToolResult:
        path = Path(os.environ[LEDGER])
        if arguments["n"] >= HELD:
            await until_async(_get_gate(path).exists)
        line = json.dumps({"n": arguments["n"], "key": idempotency_key})
        with path.open("a") as ledger:
            ledger.write(f"{line}\n")
        return ToolResult(f"noted {arguments['n']}")


def open_gate(ledger: Path) -> None:
    """Let the held calls end."""
    _get_gate(ledger).touch()


def _get_gate(ledger: Path) -> Path:
    return ledger.with_name(f"{ledger.name}-gate")


def install() -> None:
    """Give every run of this process the tool."""
    # Inline import: the apps have to be there first.
    from workflows.execution import driver

    driver.build_tools = lambda claim, services, workflows: LedgerTools()
