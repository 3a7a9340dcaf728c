"""Chats that search knowledge pages, and pages to be found."""

from itertools import pairwise
from typing import Any

from memory import services as memory
from memory.public import MemoryCaller
from tests.support.cast import Person


SEARCH = {"scope": "global", "query_variable_selector": ["sys", "query"], "min_score": 0.0}


def node(node_id: str, kind: str, /, **data: Any) -> dict[str, Any]:
    return {"id": node_id, "data": {"type": kind, "title": node_id.title(), **data}}


def search(**data: Any) -> dict[str, Any]:
    return node("search", "knowledge-retrieval", **{**SEARCH, **data})


def ask(*selector: str) -> dict[str, Any]:
    """An LLM that is given a variable as its context."""
    return node(
        "llm",
        "llm",
        model={"provider": "offline", "name": "", "mode": "chat"},
        prompt_template=[
            {"role": "system", "text": "{{#context#}}"},
            {"role": "user", "text": "{{#sys.query#}}"},
        ],
        context={"enabled": True, "variable_selector": list(selector)},
    )


def answer(text: str = "{{#llm.text#}}") -> dict[str, Any]:
    return node("answer", "answer", answer=text)


MODEL = [ask("search", "result"), answer()]
BREAD = {"Opening_hours": "The bakery opens at six.", "Bread": "The bakery sells rye bread."}


def chat_document(*nodes: dict[str, Any], is_on: bool = True, edges: Any = None) -> dict[str, Any]:
    chain = [node("start", "start", variables=[]), *nodes]
    return {
        "version": "0.6.0",
        "kind": "app",
        "app": {"name": "Desk", "mode": "advanced-chat"},
        "workflow": {
            "graph": {
                "nodes": chain,
                "edges": edges
                or [
                    {"id": str(number), "source": a["id"], "target": b["id"]}
                    for number, (a, b) in enumerate(pairwise(chain))
                ],
            },
            "features": {"retriever_resource": {"enabled": is_on}},
        },
    }


def write_pages(person: Person, namespace: str, **contents: str) -> list[str]:
    """Write pages with these titles and contents, and return the ids of their entries."""
    caller = MemoryCaller(person.principal, person.team.pk)
    pages = [
        {"title": title.replace("_", " "), "content": content}
        for title, content in contents.items()
    ]
    results = memory.write_pages(caller, namespace=namespace, pages=pages)
    return [result.entry.id for result in results]
