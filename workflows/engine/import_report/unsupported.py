"""Finds the settings of a document that the engine doesn't carry out, by what the models of its kinds don't declare."""

import re
from collections.abc import Callable, Iterator, Mapping
from fnmatch import translate
from functools import cache
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from workflows.engine.import_report.known_settings import (
    BY_KIND,
    EVERYWHERE,
    MODEL_FORMS,
    SECTIONS,
)
from workflows.engine.import_report.report import Inventory, Unsupported
from workflows.engine.language.document import Document, Json, NodeSpec
from workflows.engine.nodes.agent.tool_node.tool_arguments import merge_arguments
from workflows.engine.nodes.agent.tool_node.tool_choice import read_reference
from workflows.engine.tools.dify import UNUSED_ARGUMENTS


# Features whose switch is on by default in every export; without a node that they are about they have no meaning.
_FEATURES_OF_KINDS: Final[Mapping[str, str]] = {"retriever_resource": "knowledge-retrieval"}
# Features that are only texts, or that have no meaning without others.
_PLAIN_FEATURES: Final = frozenset({"opening_statement", "suggested_questions"})
_MODEL_PARAMETERS: Final = "model.completion_params"


def find_unsupported(document: Document, inventory: Inventory) -> Iterator[Unsupported]:
    """Yield every setting with a value that the engine doesn't carry out, in the order of the document."""
    yield from _find_features(document, inventory)
    yield from _find_sections(document)
    for node in document.nodes:
        if node.kind in inventory.kinds:
            yield from _find_in_node(node, inventory)


def _find_features(document: Document, inventory: Inventory) -> Iterator[Unsupported]:
    kinds = {node.kind for node in document.nodes}
    for name, value in document.features.items():
        is_about = _FEATURES_OF_KINDS.get(name)
        if name in inventory.features or name in _PLAIN_FEATURES:
            continue
        if _is_on(value) and (is_about is None or is_about in kinds):
            yield Unsupported("", "", f"features.{name}", value)


def _find_sections(document: Document) -> Iterator[Unsupported]:
    """Yield what the document says of the application beside its graph, its features and its variables."""
    for section, supported in SECTIONS.items():
        values = document.extra.get(section)
        for name, value in values.items() if isinstance(values, Mapping) else ():
            if name not in supported and _is_set(value):
                yield Unsupported("", "", f"{section}.{name}", value)


def _find_in_node(node: NodeSpec, inventory: Inventory) -> Iterator[Unsupported]:
    kind = inventory.kinds[node.kind]
    try:
        config = kind.config_model.model_validate(dict(node.data))
    except ValidationError:
        return  # validation reports it
    is_known = _compile_known(kind.name).match
    for path, value in _iter_undeclared(config, ""):
        if _is_set(value) and not is_known(path):
            yield Unsupported(node.id, kind.name, path, value)
    yield from _find_parameters(node, kind.name, config, inventory)
    for path, value in _READ_BUT_UNUSED.get(kind.name, _find_nothing)(node.data):
        yield Unsupported(node.id, kind.name, path, value)


@cache
def _compile_known(kind: str) -> re.Pattern[str]:
    """Return the pattern of the paths in a node's data that are no news, as one, since a node may have many settings."""
    paths = (*EVERYWHERE, *MODEL_FORMS, *BY_KIND.get(kind, ()))
    return re.compile("|".join(map(translate, sorted(paths))))


def _iter_undeclared(model: BaseModel, prefix: str) -> Iterator[tuple[str, Any]]:
    """Yield the path and the value of each key that a model, or one inside it, doesn't declare."""
    for name, value in (model.model_extra or {}).items():
        yield f"{prefix}{name}", value
    for name in type(model).model_fields:
        yield from _iter_inner(getattr(model, name), f"{prefix}{name}")


def _iter_inner(value: object, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, BaseModel):
        yield from _iter_undeclared(value, f"{path}.")
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _iter_inner(item, f"{path}.{index}")
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _iter_inner(item, f"{path}.{name}")


def _find_parameters(
    node: NodeSpec, kind: str, config: BaseModel, inventory: Inventory
) -> Iterator[Unsupported]:
    """Yield the parameters of the node's model that are not sent."""
    params = getattr(getattr(config, "model", None), "completion_params", None) or {}
    for name, value in params.items():
        if name not in inventory.model_parameters and _is_set(value):
            yield Unsupported(node.id, kind, f"{_MODEL_PARAMETERS}.{name}", value)


def _is_set(value: object) -> bool:
    """Return whether a value differs from what a form stores for a setting that nobody touched."""
    if isinstance(value, Mapping):
        return value.get("enabled") is not False and any(map(_is_set, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_is_set, value))
    return value not in (None, "", False)


def _is_on(value: Json) -> bool:
    """Return whether a feature of the application is on."""
    if isinstance(value, Mapping) and "enabled" in value:
        return bool(value["enabled"])
    return _is_set(value)


# -- settings that models declare, although nothing uses them --------------------------------------


# What is read of the parameters of another product's strategy.
_AGENT_PARAMETERS: Final = frozenset(
    {"model", "tools", "instruction", "query", "maximum_iterations", "mcp_server"}
)
_Settings = Iterator[tuple[str, Json]]


def _find_nothing(_data: Mapping[str, Json]) -> _Settings:
    yield from ()


def _find_agent_parameters(data: Mapping[str, Json]) -> _Settings:
    parameters = data.get("agent_parameters")
    for name, parameter in parameters.items() if isinstance(parameters, Mapping) else ():
        value = parameter.get("value") if isinstance(parameter, Mapping) else parameter
        if name not in _AGENT_PARAMETERS and _is_set(value):
            yield f"agent_parameters.{name}", value


def _find_tool_settings(data: Mapping[str, Json]) -> _Settings:
    """Yield the arguments of a web tool that its implementation here does without."""
    reference = read_reference(data)
    if reference is None or reference.source != "builtin":
        return
    unused = UNUSED_ARGUMENTS.get(reference.name, {})
    for name, argument in merge_arguments(data).items():
        value = argument.get("value") if isinstance(argument, Mapping) else argument
        if name in unused and _is_set(value) and value not in unused[name]:
            yield f"arguments.{name}", value


_READ_BUT_UNUSED: Final[Mapping[str, Callable[[Mapping[str, Json]], _Settings]]] = {
    "agent": _find_agent_parameters,
    "tool": _find_tool_settings,
}
