"""Explains why something is remembered, by the changes of the memory, each with its time, its author and its run."""

from collections.abc import Mapping, Sequence
from typing import Any

from mcp import types

from workflows import memory_app
from workflows.mcp_server.callers import Caller
from workflows.mcp_server.tools import Call, build_error, build_result


Json = Any  # JSON


async def explain_memory(call: Call) -> types.CallToolResult:
    """Return the changes of the memory with this key. What may enter no prompt, or is forgotten, isn't explained."""
    key = str(call.arguments["key"])
    changes = await call.caller.run(_list_changes, call.caller, key)
    if not changes:
        return build_error(f"key: nothing is remembered under {key}.")
    return build_result({"key": key, "text": changes[-1]["text"], "changes": changes})


def _list_changes(caller: Caller, key: str) -> Sequence[Mapping[str, Json]]:
    memory, namespace = caller.memory, caller.own_namespace
    if not memory_app.recall(memory, namespace=namespace, key=key, for_prompt=True):
        return ()
    values = memory_app.list_values(memory, namespace=namespace, key=key)
    provenance = memory_app.load_provenance(
        caller.principal,
        [value.source.actor for value in values],
        [value.source.run_id for value in values],
    )
    return [_describe(caller, value, provenance) for value in values]


def _describe(
    caller: Caller, value: "memory_app.MemoryEntry", provenance: "memory_app.Provenance"
) -> dict[str, Json]:
    """Return one value of the memory. Without a name its author is unknown, such as one who is no member any more."""
    at, run = value.updated_at, provenance.runs.get(value.source.run_id)
    return {
        "text": value.value,
        "at": at.isoformat() if at else None,
        "by": provenance.actors.get(value.source.actor) or None,
        **({"run": f"{caller.base_url}{run.url}", "workflow": run.workflow} if run else {}),
    }
