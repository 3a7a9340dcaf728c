"""The workflows that the clients call."""

from itertools import pairwise
from typing import Any


def build_line(mode: str, *nodes: dict[str, Any]) -> dict[str, Any]:
    """Return a document whose nodes follow each other."""
    ids = [node["id"] for node in nodes]
    edges = [
        {"id": f"e{number}", "source": source, "target": target}
        for number, (source, target) in enumerate(pairwise(ids))
    ]
    return {"version": "0.1.0", "mode": mode, "nodes": [*nodes], "edges": edges}


GREETING = build_line(
    "workflow",
    {"id": "start", "data": {"type": "start", "title": "Start", "variables": [
        {"variable": "name", "type": "string", "required": True, "label": "Name"}]}},
    {"id": "greet", "data": {"type": "template-transform", "title": "Greet",
                             "template": "Good morning, {{ name }}!",
                             "variables": [{"variable": "name", "value_selector": ["start", "name"]}]}},
    {"id": "end", "data": {"type": "end", "title": "End", "outputs": [
        {"variable": "greeting", "value_selector": ["greet", "output"]}]}},
)  # fmt: skip

# Answers with what it recalled of the person, then remembers the message.
DIARY = build_line(
    "advanced-chat",
    {"id": "start", "data": {"type": "start", "title": "Start", "variables": []}},
    {"id": "recall", "data": {"type": "memory-recall", "title": "Recall", "scope": "user",
                              "query": "{{#sys.query#}}", "top_k": 5}},
    {"id": "answer", "data": {"type": "answer", "title": "Answer",
                              "answer": "Known: {{#recall.text#}}"}},
    {"id": "store", "data": {"type": "memory-store", "title": "Remember", "scope": "user",
                             "value_selector": ["sys", "query"]}},
)  # fmt: skip

# Asks the person in front of the client, and answers with what they said.
ASKING = build_line(
    "workflow",
    {"id": "start", "data": {"type": "start", "title": "Start", "variables": []}},
    {"id": "ask", "data": {"type": "human-input", "title": "Ask", "form_content": "Which size?",
                           "inputs": [{"type": "paragraph", "output_variable_name": "size", "label": "Size"}],
                           "user_actions": [{"id": "send", "title": "Send", "button_style": "primary"}],
                           "timeout": 36, "timeout_unit": "hour"}},
    {"id": "end", "data": {"type": "end", "title": "End", "outputs": [
        {"variable": "size", "value_selector": ["ask", "size"]}]}},
)  # fmt: skip
ASKING["edges"][1]["sourceHandle"] = "send"
