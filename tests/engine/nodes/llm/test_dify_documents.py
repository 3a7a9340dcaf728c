"""Classifiers and extractors as Dify writes them: read, valid, and written back unchanged."""

import yaml

from workflows.engine.language.document import Dialect
from workflows.engine.language.dsl import dump_document, load_document
from workflows.engine.language.validation import validate
from workflows.engine.nodes import build_kinds


MODEL = {"provider": "langgenius/openai/openai", "name": "m", "mode": "chat",
         "completion_params": {"temperature": 0.7}}  # fmt: skip
NODES = [
    {"type": "start", "title": "Start", "variables": []},
    {
        "type": "question-classifier", "title": "Sort", "model": MODEL, "selected": False,
        "query_variable_selector": ["n0", "sys.query"],
        "classes": [{"id": "1", "name": "games"}, {"id": "1746243604396", "name": "photos"}],
        "instructions": "", "topics": [],
        "vision": {"enabled": False, "configs": {"variable_selector": []}},
    },
    {
        "type": "parameter-extractor", "title": "Read", "model": MODEL, "query": ["sys", "query"],
        "parameters": [
            {"name": "ids", "type": "array[number]", "description": "item ids", "required": False},
            {"name": "kind", "type": "select", "description": "", "options": ["a"], "required": True},
        ],
        "instruction": "as in {{#n1.class_name#}}", "reasoning_mode": None, "variables": [],
        "memory": {"window": {"enabled": False, "size": 50}},
    },
    {"type": "answer", "title": "Answer", "answer": "{{#n2.ids#}} {{#n2.__reason#}}"},
]  # fmt: skip


def test_document_of_dify_is_valid_and_comes_back_unchanged() -> None:
    graph = {
        "nodes": [
            {"id": f"n{index}", "type": "custom", "position": {"x": 0, "y": 0}, "data": data}
            for index, data in enumerate(NODES)
        ],
        "edges": [
            {"id": "a", "source": "n0", "target": "n1", "sourceHandle": "source"},
            {"id": "b", "source": "n1", "target": "n2", "sourceHandle": "1746243604396"},
            {"id": "c", "source": "n2", "target": "n3", "sourceHandle": "source"},
        ],
    }
    app = {"name": "Sorted", "mode": "advanced-chat"}
    source = {"version": "0.6.0", "kind": "app", "app": app, "workflow": {"graph": graph}}

    document = load_document(source).document
    written = yaml.safe_load(dump_document(document, Dialect.DIFY))

    assert [problem.message for problem in validate(document, build_kinds())] == [
        "The branch games leads nowhere; a run that takes it ends there, without an output"
    ]
    assert [node["data"] for node in written["workflow"]["graph"]["nodes"]] == NODES
