"""Small documents for the tests of import reports, and what an installation has."""

import itertools

from workflows.engine.import_report.report import Inventory, ModelAnswer
from workflows.engine.language.dsl import load_document
from workflows.engine.nodes import build_kinds


KINDS = build_kinds()


def load(*nodes, mode="workflow", features=None, dependencies=None):
    """Return a document of a start node and these nodes, one behind the other."""
    items = [{"id": "start", "data": {"type": "start", "variables": []}}]
    items += [{"id": data.pop("id", f"n{index}"), "data": data} for index, data in enumerate(nodes)]
    edges = [
        {"id": f"e{index}", "source": left["id"], "target": right["id"]}
        for index, (left, right) in enumerate(itertools.pairwise(items))
    ]
    tree = {
        "version": "0.6.0",
        "kind": "app",
        "app": {"name": "A", "mode": mode},
        "dependencies": dependencies or [],
        "workflow": {"graph": {"nodes": items, "edges": edges}, "features": features or {}},
    }
    return load_document(tree).document


def build_inventory(*, models=("openai",), tools=("time",), modules=("json",), features=()):
    return Inventory(
        kinds=KINDS,
        find_model=lambda provider, model: ModelAnswer(
            f"{provider}/{model}" if provider in models else "offline",
            is_named=provider in models,
            reads_images=provider in models,
            is_demo=provider not in models,
        ),
        find_tool_fault=lambda reference: "" if reference.name in tools else "missing",
        modules={"python3": frozenset(modules)},
        model_parameters=frozenset({"temperature"}),
        features=frozenset(features),
    )


def llm(**data):
    model = {"provider": "openai", "name": "gpt", "mode": "chat", "completion_params": {}}
    prompt = [{"role": "user", "text": "Hello"}]
    return {"type": "llm", "title": "Model", "model": model, "prompt_template": prompt, **data}


def code(source, language="python3"):
    return {
        "type": "code",
        "code": source,
        "code_language": language,
        "variables": [],
        "outputs": {"o": {"type": "string"}},
    }


FORECAST = {
    "type": "tool",
    "title": "Forecast",
    "provider_type": "builtin",
    "provider_id": "acme/weather/weather",
    "provider_name": "acme/weather/weather",
    "tool_name": "forecast",
    "tool_parameters": {
        "query": {"type": "mixed", "value": "x"},
        "units": {"type": "mixed", "value": "metric"},
    },
}
