"""Converts the data of older documents and of other products, so that the forms of today show it."""

from collections.abc import Mapping

from workflows.engine.language.document import Json
from workflows.engine.nodes.agent.agent import Agent
from workflows.engine.nodes.agent.foreign_agents import read_agent_data
from workflows.engine.nodes.memory.knowledge.config import show_carried_out
from workflows.engine.nodes.memory.knowledge_retrieval import KnowledgeRetrieval


def upgrade_data(data: Mapping[str, Json]) -> Mapping[str, Json]:
    """Convert data from before several cases or assignments were possible."""
    if "cases" not in data and data.get("type") == "if-else" and data.get("conditions"):
        logic = data.get("logical_operator") or "and"
        case = {"case_id": "true", "logical_operator": logic, "conditions": data["conditions"]}
        return {**data, "cases": [case]}
    if data.get("type") == Agent.name:
        agent_data: Mapping[str, Json] = read_agent_data(data)  # agents of other products
        return agent_data
    if data.get("type") == KnowledgeRetrieval.name:
        return show_carried_out(data)
    if data.get("items") is None and data.get("assigned_variable_selector"):
        item = {
            "variable_selector": data["assigned_variable_selector"],
            "operation": data.get("write_mode") or "over-write",
            "input_type": "variable",
            "value": data.get("input_variable_selector"),
        }
        return {**data, "items": [item]}
    return data
