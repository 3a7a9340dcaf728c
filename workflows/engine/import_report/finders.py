"""Finds what a document wants and an installation or team lacks: one function for each need."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from workflows.engine.foreign_kinds.placeholders import list_missing_kinds, list_origin
from workflows.engine.import_report.code_imports import list_missing_modules
from workflows.engine.import_report.data_sets import (
    DATA_SETS,
    has_knowledge_base_for,
    list_data_sets,
)
from workflows.engine.import_report.report import (
    Effect,
    Finding,
    Inventory,
    ModelAnswer,
    Need,
    Place,
    Unsupported,
)
from workflows.engine.import_report.rerankers import find_reranker, get_reranker_field
from workflows.engine.language.document import Document, Json, NodeSpec
from workflows.engine.nodes.agent.tool_node.tool_choice import get_named_tool, read_reference
from workflows.engine.nodes.agent.tool_use.tool_references import list_named_tools
from workflows.engine.nodes.data.code import LANGUAGES
from workflows.engine.nodes.memory.knowledge.config import list_retrieval_models


_NUMBERS: Final = re.compile(r"\.\d+(?=\.|$)")
_VISION: Final = "vision"
RERANKING: Final = "reranking_model"
# The kinds whose nodes ask a model each time they run.
ASKING_KINDS: Final = frozenset({"llm", "agent", "question-classifier", "parameter-extractor"})


def find_models(document: Document, inventory: Inventory) -> Iterator[Finding]:
    """Yield the named models with the one that answers, and the nodes that show images to one that can't see."""
    for node in document.nodes:
        reference = read_named_model(node, inventory)
        if reference is not None:
            answer = inventory.find_model(*reference)
            yield _build_model_finding(node, reference, answer)
            if _wants_images(node) and not answer.reads_images:
                yield _build_vision_finding(node, answer)
        for reference in list_retrieval_models(node):
            yield _build_model_finding(node, reference, inventory.find_model(*reference))


def find_rerankers(document: Document, inventory: Inventory) -> Iterator[Finding]:
    """Yield the reranking models that are not connected: the order by words and meaning is kept instead."""
    for node in document.nodes:
        reference = find_reranker(node)
        if reference is not None and not inventory.has_reranker(*reference):
            place = (node.id, get_reranker_field(node))
            detail = "/".join(filter(None, (shorten(reference[0]), reference[1])))
            yield Finding(
                Need.FEATURE, RERANKING, Effect.IGNORED, (node.id,), detail=detail, places=(place,)
            )


def _build_model_finding(
    node: NodeSpec, reference: tuple[str, str], answer: ModelAnswer
) -> Finding:
    effect = Effect.WORKS if answer.is_named else Effect.REPLACED
    provider, model = reference
    return Finding(
        Need.MODEL,
        model,
        effect,
        (node.id,),
        provider,
        detail=answer.name,
        is_demo=answer.is_demo,
    )


def _build_vision_finding(node: NodeSpec, answer: ModelAnswer) -> Finding:
    places = ((node.id, _VISION),)
    return Finding(
        Need.FEATURE, _VISION, Effect.IGNORED, (node.id,), detail=answer.name, places=places
    )


def read_named_model(node: NodeSpec, inventory: Inventory) -> tuple[str, str] | None:
    """Return the provider and the model that a node names, also in the parameters of another product's agent."""
    model = node.data.get("model")
    if not isinstance(model, Mapping):
        parameters = node.data.get("agent_parameters")
        parameter = parameters.get("model") if isinstance(parameters, Mapping) else None
        model = parameter.get("value") if isinstance(parameter, Mapping) else None
    if node.kind not in inventory.kinds or not isinstance(model, Mapping):
        return None
    provider, name = model.get("provider"), model.get("name") or model.get("model")
    return (str(provider), str(name or "")) if provider else None


def list_demo_nodes(document: Document, inventory: Inventory) -> Iterator[str]:
    """Yield the ids of the nodes whose model the offline demo model answers for, also where none is named."""
    for node in document.nodes:
        if node.kind in ASKING_KINDS and node.kind in inventory.kinds:
            reference = read_named_model(node, inventory) or ("", "")
            if inventory.find_model(*reference).is_demo:
                yield node.id


def _wants_images(node: NodeSpec) -> bool:
    vision = node.data.get(_VISION)
    return isinstance(vision, Mapping) and vision.get("enabled") is True


def find_tools(document: Document, inventory: Inventory) -> Iterator[Finding]:
    for node in document.nodes:
        if node.kind == "tool":
            reference = read_reference(node.data)
            name, provider = get_named_tool(node.data)
            fault = inventory.find_tool_fault(reference) if reference else ""
            if name:
                effect = Effect.FAILS if fault or not reference else Effect.WORKS
                yield Finding(Need.TOOL, name, effect, (node.id,), provider, detail=fault)
        elif node.kind == "agent":
            for named in list_named_tools(node):
                tool = named.reference
                fault = inventory.find_tool_fault(tool)
                effect = Effect.REFUSED if fault else Effect.WORKS
                yield Finding(Need.TOOL, tool.name, effect, (node.id,), tool.provider, detail=fault)


def find_data_sets(document: Document, inventory: Inventory) -> Iterator[Finding]:
    """Yield the data sets of another installation. A node without a knowledge base searches the pages of its scope."""
    nodes_by_data_set: dict[str, list[NodeSpec]] = {}
    for node in document.nodes:
        for data_set in list_data_sets(node):
            nodes_by_data_set.setdefault(data_set, []).append(node)
    for data_set, nodes in nodes_by_data_set.items():
        find = inventory.find_knowledge_base
        is_chosen = all(has_knowledge_base_for(node, data_set, find) for node in nodes)
        yield Finding(
            Need.DATA_SET,
            data_set,
            Effect.WORKS if is_chosen else Effect.REPLACED,
            tuple(node.id for node in nodes),
            detail=find(data_set) if is_chosen else "",
            places=tuple((node.id, DATA_SETS) for node in nodes),
        )


def find_node_types(document: Document, inventory: Inventory) -> Iterator[Finding]:
    origins = {node.kind: dict(list_origin(node)) for node in document.nodes}
    for kind, nodes in list_missing_kinds(document, inventory.kinds).items():
        origin = origins[kind]
        detail = ", ".join(filter(None, (origin.get("provider"), origin.get("tool"))))
        yield Finding(Need.NODE_TYPE, kind, Effect.FAILS, tuple(nodes), detail=detail)


def find_modules(document: Document, inventory: Inventory) -> Iterator[Finding]:
    for node in document.nodes:
        for module in list_missing_modules(node, inventory.modules):
            yield Finding(Need.MODULE, module, Effect.FAILS, (node.id,))


def find_languages(document: Document, inventory: Inventory) -> Iterator[Finding]:
    for node in document.nodes:
        name = str(node.data.get("code_language") or "python3")
        if node.kind == "code" and LANGUAGES.get(name) not in inventory.modules:
            yield Finding(Need.LANGUAGE, name, Effect.FAILS, (node.id,))


def find_features(unsupported: Iterable[Unsupported], reported: set[Place]) -> Iterator[Finding]:
    """Yield the features and settings that are not carried out and that no other finding reports."""
    for setting in unsupported:
        if setting.place in reported:
            continue
        nodes = (setting.node,) if setting.node else ()
        yield Finding(
            Need.FEATURE,
            name_setting(setting),
            Effect.IGNORED,
            nodes,
            detail=_shorten_value(setting.value),
            places=(setting.place,),
        )


def name_setting(setting: Unsupported) -> str:
    """Return one name for the same setting of many nodes: ``speech_to_text``, ``llm.model.completion_params.format``."""
    if not setting.node:
        return setting.path.removeprefix("features.")
    return f"{setting.kind}.{_NUMBERS.sub('', setting.path)}"


def merge(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings, with those about the same thing as one that names all nodes, in order of first appearance."""
    merged: dict[tuple[Need, str, str], Finding] = {}
    for finding in findings:
        key = (finding.need, finding.provider, finding.name)
        if (first := merged.get(key)) is not None:
            nodes = tuple(dict.fromkeys((*first.nodes, *finding.nodes)))
            effect = Effect.FAILS if finding.effect is Effect.FAILS else first.effect
            places = (*first.places, *finding.places)
            finding = replace(first, effect=effect, nodes=nodes, places=places)
        merged[key] = finding
    return list(merged.values())


Finder = Callable[[Document, Inventory], Iterator[Finding]]
FINDERS: Final[tuple[Finder, ...]] = (
    *(
        find_models,
        find_rerankers,
        find_tools,
        find_data_sets,
        find_node_types,
        find_modules,
        find_languages,
    ),
)


def shorten(provider: str) -> str:
    """Return the last part of a provider's path: ``tavily`` for ``langgenius/tavily/tavily``."""
    return provider.strip().rstrip("/").rpartition("/")[2].lower()


def _shorten_value(value: Json) -> str:
    """Return a value as text; of a switched feature, its switch says nothing more."""
    if isinstance(value, Mapping) and value.keys() <= {"enabled", "configs", "config"}:
        return ""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
