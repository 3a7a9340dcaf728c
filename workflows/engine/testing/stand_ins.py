"""Stand-ins for what a trial run of a document lacks: inputs for its start form, and outputs for nodes that can't run.

A trial run shows whether the rest of an imported document runs. Nothing outside is asked: the outputs of nodes whose type
or tool is missing, and of those that send requests, are pinned.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from workflows.engine.files.ports import MAX_FILE_BYTES, NewFile
from workflows.engine.files.rules import FileRules
from workflows.engine.kind_examples import build_example_outputs
from workflows.engine.kinds import AnyKind, Execution
from workflows.engine.language.document import Document, Json, Mode, NodeSpec
from workflows.engine.language.failure_policy import FAIL_HANDLE
from workflows.engine.language.start_form import Field, find_start, list_fields
from workflows.engine.testing.expected_answers import Shape, guess_shapes


QUESTION: Final = "What is in the text?"
_TEXT: Final = "An example text."
# The kinds whose nodes send requests, beside those of missing kinds.
_OUTSIDE: Final = frozenset({"tool", "http-request"})
# The kinds whose nodes read files, which are pinned if the form takes no files of text.
_READERS: Final = frozenset({"document-extractor"})
_TEXT_EXTENSIONS: Final = (".txt", ".md", ".markdown", ".csv", ".html", ".json", ".yaml", ".xml")
# Outputs that documents read from nodes of other installations.
_OUTPUTS: Final[Mapping[str, Json]] = {"text": _TEXT, "files": [], "json": [{}]}
SAMPLE_FILE: Final[Mapping[str, Json]] = {
    "dify_model_identity": "__dify__file__",
    "type": "document",
    "transfer_method": "remote_url",
    "url": "https://files.example/example.txt",
    "remote_url": "https://files.example/example.txt",
    "name": "example.txt",
    "filename": "example.txt",
    "extension": ".txt",
    "mime_type": "text/plain",
    "size": 17,
}


def _build_sample_file(rules: FileRules) -> dict[str, Json]:
    """Return a file that the rules accept."""
    kind = rules.types[0] if rules.types else SAMPLE_FILE["type"]
    method = rules.methods[0] if rules.methods else SAMPLE_FILE["transfer_method"]
    extensions = rules.extensions if kind == "custom" and rules.extensions else (".txt",)
    extension = next((each for each in extensions if each in _TEXT_EXTENSIONS), extensions[0])
    names = dict.fromkeys(("name", "filename"), f"example{extension}")
    return {**SAMPLE_FILE, **names, "type": kind, "transfer_method": method, "extension": extension}


class SampleFiles:
    """Implements ``engine.files.ports.FilePort``: every file of a trial run has the same text."""

    async def read(self, file: Mapping[str, Json], *, max_bytes: int = MAX_FILE_BYTES) -> bytes:
        return _TEXT.encode()

    async def store(self, new: NewFile) -> dict[str, Json]:
        return dict(SAMPLE_FILE)


def build_sample_inputs(document: Document) -> dict[str, Json]:
    """Return a value for each field of the start form that has no default."""
    start = find_start(document)
    fields = list_fields(start) if start is not None else ()
    values = {field.name: build_sample_value(field) for field in fields}
    return {name: value for name, value in values.items() if value is not None}


def build_sample_system(document: Document) -> dict[str, Json]:
    """Return the system variables of the trial run."""
    system: dict[str, Json] = {"user_id": "trial", "app_id": "trial", "workflow_id": "trial"}
    if document.mode is Mode.CHAT:
        system |= {"query": QUESTION, "conversation_id": "trial", "dialogue_count": 0}
    return system


def build_stand_ins(document: Document, kinds: Mapping[str, AnyKind]) -> dict[str, dict[str, Json]]:
    """Return the pins of a trial run by node: of missing kinds, and of the kinds that ask something outside."""
    guesses = _guess_outputs(document)
    outside = _OUTSIDE if _takes_text_only(document) else _OUTSIDE | _READERS
    return {
        node.id: _build_pin(node, document, kinds, guesses.get(node.id, {}))
        for node in document.nodes
        if node.kind not in kinds or node.kind in outside
    }


def _takes_text_only(document: Document) -> bool:
    """Return whether the sample files of the start form can be read as text."""
    values = build_sample_inputs(document).values()
    files = [file for value in values for file in (value if isinstance(value, list) else [value])]
    return all(
        file["extension"] in _TEXT_EXTENSIONS
        for file in files
        if isinstance(file, Mapping) and file
    )


def _build_pin(
    node: NodeSpec, document: Document, kinds: Mapping[str, AnyKind], guesses: Mapping[str, Shape]
) -> dict[str, Json]:
    kind = kinds.get(node.kind)
    examples = dict(_OUTPUTS)
    if kind is not None:
        examples |= build_example_outputs(kind, node.data)
    outputs = {
        **examples,
        **dict.fromkeys(_list_read_names(node, document) - examples.keys(), _TEXT),
    }
    for name, shape in guesses.items():
        outputs[name] = _build_guess(shape, outputs.get(name))
    pin: dict[str, Json] = {"outputs": outputs}
    if kind is None or kind.execution is Execution.BRANCH:
        handles = [edge.handle for edge in document.edges if edge.source == node.id]
        pin["handle"] = next((handle for handle in handles if handle != FAIL_HANDLE), None)
    return pin


def _build_guess(shape: Shape, example: Json) -> Json:
    """Return a value as a program expects it, of the type that the output has."""
    if isinstance(example, list | tuple):
        items = shape.items or (shape if shape.fields else None)
        return [items.build_value()] if items is not None else example
    if isinstance(example, str):
        return example if shape.parsed is None else json.dumps(shape.parsed.build_value())
    return shape.build_value() if shape.fields or shape.items else example


def _guess_outputs(document: Document) -> dict[str, dict[str, Shape]]:
    """Return what programs of code nodes read of the outputs of other nodes: node → output → shape."""
    guesses: dict[str, dict[str, Shape]] = {}
    for node in document.nodes:
        variables = node.data.get("variables")
        if node.kind != "code" or not isinstance(variables, list | tuple):
            continue
        selectors = {
            str(variable.get("variable")): variable["value_selector"]
            for variable in variables
            if isinstance(variable, Mapping) and _is_output(variable.get("value_selector"))
        }
        shapes = guess_shapes(str(node.data.get("code") or ""), selectors)
        for name, shape in shapes.items():
            if shape.fields or shape.items or shape.parsed:
                source, output = selectors[name]
                guesses.setdefault(str(source), {}).setdefault(str(output), shape)
    return guesses


def _is_output(selector: Json) -> bool:
    return isinstance(selector, list | tuple) and len(selector) == 2


def _list_read_names(node: NodeSpec, document: Document) -> set[str]:
    """Return the names of the node's outputs that the settings of other nodes read by selectors."""
    return {
        selector[1]
        for other in document.nodes
        for selector in _iter_selectors(dict(other.data))
        if selector[0] == node.id
    }


def _iter_selectors(value: Json) -> Iterator[tuple[str, ...]]:
    if isinstance(value, Mapping):
        for part in value.values():
            yield from _iter_selectors(part)
    elif isinstance(value, list | tuple):
        if len(value) > 1 and all(isinstance(item, str) for item in value):
            yield tuple(value)
        for part in value:
            yield from _iter_selectors(part)


def build_sample_value(field: Field) -> Json:
    """Return the field's default, or else a value that fits it."""
    if field.default not in (None, ""):
        return field.default
    build = _SAMPLES.get(field.type)
    return build(field) if build is not None else None


def _build_text(field: Field) -> str:
    return _TEXT[: field.max_length] if field.max_length else _TEXT


def _choose_option(field: Field) -> str | None:
    return field.options[0] if field.options else None


_SAMPLES: Final[Mapping[str, Callable[[Field], Json]]] = {
    **dict.fromkeys(("text-input", "paragraph", "string"), _build_text),
    "select": _choose_option,
    **dict.fromkeys(("number", "integer", "float"), lambda _field: 1),
    **dict.fromkeys(("checkbox", "boolean"), lambda _field: True),
    "file": lambda field: _build_sample_file(field.file_rules),
    "file-list": lambda field: [_build_sample_file(field.file_rules)],
    **dict.fromkeys(("json_object", "object"), lambda _field: {}),
}
