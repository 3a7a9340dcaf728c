"""Which icon a kind has and which colour family its card belongs to."""

from typing import NamedTuple

from workflows.engine.kinds import AnyKind


class Look(NamedTuple):
    icon: str  # of static/icons.svg
    family: str  # of canvas-editor.css


LOOKS: dict[str, Look] = {
    "start": Look("start", "flow"),
    "end": Look("end", "flow"),
    "answer": Look("chat", "flow"),
    "llm": Look("model", "model"),
    "agent": Look("model", "model"),
    "question-classifier": Look("branch", "model"),
    "parameter-extractor": Look("template", "model"),
    "if-else": Look("branch", "logic"),
    "iteration": Look("iterate", "logic"),
    "iteration-start": Look("start", "logic"),
    "loop": Look("loop", "logic"),
    "loop-start": Look("start", "logic"),
    "loop-end": Look("end", "logic"),
    "human-input": Look("person", "logic"),
    "code": Look("code", "data"),
    "http-request": Look("http", "data"),
    "tool": Look("link", "data"),
    "template-transform": Look("template", "data"),
    "variable-aggregator": Look("merge", "data"),
    "list-operator": Look("list", "data"),
    "document-extractor": Look("template", "data"),
    "assigner": Look("assign", "data"),
    "knowledge-retrieval": Look("search", "memory"),
    "memory-recall": Look("recall", "memory"),
    "memory-store": Look("store", "memory"),
    "memory-retrieval": Look("clock", "memory"),
    "memory-delete": Look("forget", "memory"),
    "conversation-memory": Look("chat", "memory"),
    "knowledge-write": Look("edit", "memory"),
}
BY_GROUP: dict[str, Look] = {
    "memory": Look("memory", "memory"),
    "flow": Look("workflow", "flow"),
    "model": Look("model", "model"),
    "logic": Look("branch", "logic"),
}
PLAIN = Look("workflow", "data")
UNKNOWN = Look("warning", "unknown")

EVERY_LOOK = (*LOOKS.values(), *BY_GROUP.values(), PLAIN, UNKNOWN)


def look_of(name: str, kind: AnyKind | None) -> Look:
    if kind is None:
        return LOOKS.get(name, UNKNOWN)
    return LOOKS.get(kind.name) or BY_GROUP.get(kind.group, PLAIN)
