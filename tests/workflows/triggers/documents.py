"""Small workflows with triggers, as Dify writes them."""

from typing import Any

from accounts.tenancy import tenant
from workflows.models import Trigger, Workflow
from workflows.services.triggers.activation import list_triggers


HOOK = {
    "type": "trigger-webhook",
    "title": "Order",
    "method": "post",
    "content_type": "application/json",
    "headers": [{"name": "X-Event", "type": "string", "required": False}],
    "params": [{"name": "page", "type": "number", "required": False}],
    "body": [{"name": "order", "type": "string", "required": True}],
    "status_code": 202,
    "response_body": '{"ok": true}',
}
CLOCK = {
    "type": "trigger-schedule",
    "title": "Every morning",
    "mode": "cron",
    "cron_expression": "0 9 * * *",
    "timezone": "Europe/Berlin",
}


def build_source(*triggers: dict[str, Any], name: str = "Orders") -> dict[str, Any]:
    """Return a document whose triggers all lead to an End node with the due time and the order, as far as there are any."""
    nodes: list[dict[str, Any]] = [
        {"id": f"t{number}", "type": "custom", "data": data}
        for number, data in enumerate(triggers, 1)
    ]
    outputs = [
        {"variable": variable, "value_selector": [node["id"], variable]}
        for node in nodes
        for variable in _list_outputs(node["data"])
    ]
    nodes.append(
        {"id": "end", "type": "custom", "data": {"type": "end", "title": "End", "outputs": outputs}}
    )
    edges = [
        {"id": f"e{node['id']}", "source": node["id"], "sourceHandle": "source", "target": "end"}
        for node in nodes[:-1]
    ]
    return {
        "version": "0.5.0",
        "kind": "app",
        "app": {"name": name, "mode": "workflow"},
        "workflow": {"graph": {"nodes": nodes, "edges": edges}},
    }


def load_triggers(person: Any, workflow: Workflow) -> dict[str, Trigger]:
    """Return the triggers of a workflow as they are stored now, by node id."""
    with tenant([workflow.team_id]):
        return {row.node_id: row for row in list_triggers(person.principal, workflow)}


def _list_outputs(data: dict[str, Any]) -> list[str]:
    if data["type"] == "trigger-schedule":
        return ["scheduled_at"]
    return [value["name"] for value in data.get("body", ())]
