"""Checks the inputs of a run against the start form, before there is a run.

A table maps each field type to its check: Dify's form types, and the plain value types that xworkflow writes. Every
field is checked, so that all errors are reported at once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from workflows.engine.errors import InputRejected, ValueMismatch
from workflows.engine.files.rules import ANY_FILES, FileRules, read_field_rules
from workflows.engine.language.document import Document, Json, NodeSpec
from workflows.engine.language.json_schema import find_schema_error
from workflows.engine.language.problems import Problem
from workflows.engine.language.values import (
    ValueType,
    matches,
    parse_constant,
    parse_number,
    parse_type,
)
from workflows.engine.triggers.webhooks import get_output_name


# Field types that accept any text.
TEXT_FIELDS: Final = frozenset({"text-input", "paragraph", "string"})
# Field types whose value is a file, or a list of files.
FILE_FIELDS: Final = frozenset({"file", "file-list", "array[file]"})
# The kind whose expected values are the fields of a form.
WEBHOOK: Final = "trigger-webhook"
MAX_LABEL: Final = 80  # characters of a label in a message
# Field types for which "" is a default value; for the others it means that there is no default.
_FIELDS_WITH_EMPTY_TEXT: Final = TEXT_FIELDS | {"select"}
_BOOLEAN_TEXTS: Final[Mapping[str, bool]] = {
    **dict.fromkeys(("true", "1", "yes", "on"), True),
    **dict.fromkeys(("false", "0", "no", "off"), False),
}


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: str
    required: bool = False
    default: Json = None
    max_length: int | None = None
    options: tuple[str, ...] = ()
    json_schema: Json = None
    file_rules: FileRules = ANY_FILES
    label: str = ""

    @property
    def title(self) -> str:
        """Return what people call the field: its label, or its name without one."""
        return self.label or self.name


def find_start(document: Document, node_id: str | None = None) -> NodeSpec | None:
    """Return the node with this id if a run can start there, and by default the Start node or the first trigger."""
    roots = [node for node in document.nodes if node.parent is None and is_root_kind(node.kind)]
    if node_id is not None:
        return next((node for node in roots if node.id == node_id), None)
    return next((node for node in roots if node.kind == "start"), roots[0] if roots else None)


def is_root_kind(kind: str) -> bool:
    return kind == "start" or kind.startswith("trigger-")


def list_fields(start: NodeSpec) -> tuple[Field, ...]:
    """Return the fields that a start node or a webhook declares, without malformed ones."""
    if start.kind == WEBHOOK:
        return tuple(_iter_webhook_fields(start))
    return tuple(map(_read_field, _iter_named(start)))


def list_form_variables(document: Document) -> list[Mapping[str, Json]]:
    """Return the inputs of the node where runs start, as a start node writes them."""
    start = find_start(document)
    if start is None:
        return []
    if start.kind != WEBHOOK:
        return [*_iter_named(start)]
    return [
        {
            "variable": field.name,
            "type": field.type,
            "label": field.label,
            "required": field.required,
        }
        for field in list_fields(start)
    ]


def check_inputs(fields: Sequence[Field], inputs: Mapping[str, Json]) -> dict[str, Json]:
    """Return a value for every field, and drop undeclared inputs. Raises InputRejected with all problems."""
    values: dict[str, Json] = {}
    problems: list[Problem] = []
    for field in fields:
        try:
            values[field.name] = _read_value(field, inputs)
        except ValueMismatch as mismatch:
            problems.append(Problem("input.invalid", mismatch.message, field=field.name))
    if problems:
        raise InputRejected(problems)
    return values


def check_start_inputs(
    document: Document,
    inputs: Mapping[str, Json],
    node_id: str | None = None,
    *,
    refuse_unknown: bool = False,
) -> dict[str, Json]:
    """Return the values for the fields of the node where a run starts. Raises InputRejected with all problems.

    Inputs that no field takes are dropped or, with ``refuse_unknown``, refused by name.
    """
    start = find_start(document, node_id)
    fields = list_fields(start) if start is not None else ()
    unknown = list(_list_unknown(fields, inputs)) if refuse_unknown else []
    try:
        values = check_inputs(fields, inputs)
    except InputRejected as rejected:
        raise InputRejected([*unknown, *rejected.problems]) from None
    if unknown:
        raise InputRejected(unknown)
    return values


def remove_nul(value: Json) -> Json:
    """Return the value without NUL characters, which PostgreSQL cannot store."""
    if isinstance(value, str):
        return value.replace("\0", "")
    if isinstance(value, Mapping):
        return {remove_nul(key): remove_nul(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [remove_nul(item) for item in value]
    return value


def _list_unknown(fields: Sequence[Field], inputs: Mapping[str, Json]) -> Iterator[Problem]:
    names = [field.name for field in fields]
    takes = f"It takes: {', '.join(names)}." if names else "It takes no inputs."
    for name in sorted(inputs.keys() - set(names)):
        message = f"{name[:MAX_LABEL]} is not an input of this workflow. {takes}"
        yield Problem("input.unknown", message, field=name[:MAX_LABEL])


def _iter_webhook_fields(trigger: NodeSpec) -> Iterator[Field]:
    """Yield a field for each value that the webhook expects, so that people can start its workflow, too."""
    for source in ("headers", "params", "body"):
        for value in _iter_objects(trigger.data.get(source)):
            name = value.get("name")
            if isinstance(name, str) and name:
                yield Field(
                    name=get_output_name(source, name),
                    type=str(value.get("type") or "string"),
                    required=value.get("required") is True,
                    label=name,
                )


def _iter_named(start: NodeSpec) -> Iterator[Mapping[str, Json]]:
    """Yield the inputs of a start node that have a name. Nobody could fill in one without, nor read it."""
    for variable in _iter_objects(start.data.get("variables")):
        name = variable.get("variable")
        if isinstance(name, str) and name.strip():
            yield variable


def _iter_objects(value: Json) -> Iterator[Mapping[str, Json]]:
    items = value if isinstance(value, list | tuple) else ()
    return (item for item in items if isinstance(item, Mapping))


def _read_field(variable: Mapping[str, Json]) -> Field:
    length, options = variable.get("max_length"), variable.get("options")
    return Field(
        name=variable["variable"],
        type=str(variable.get("type") or "text-input").strip().lower(),
        required=variable.get("required") is True,
        default=variable.get("default"),
        max_length=length if isinstance(length, int) and length > 0 else None,
        options=tuple(map(str, options)) if isinstance(options, list | tuple) else (),
        json_schema=variable.get("json_schema"),
        file_rules=read_field_rules(variable),
        label=_read_label(variable.get("label")),
    )


def _read_label(label: Json) -> str:
    return label.strip()[:MAX_LABEL] if isinstance(label, str) else ""


def _read_value(field: Field, inputs: Mapping[str, Json]) -> Json:
    value = inputs.get(field.name)
    if value is None:
        if field.required:
            raise ValueMismatch(f"{field.title} is required in input form")
        value = field.default
        if value is None or (value == "" and field.type not in _FIELDS_WITH_EMPTY_TEXT):
            return None
    return remove_nul(_CHECKS.get(field.type, _check_value_type)(field, value))


def _check_text(field: Field, value: Json) -> Json:
    if not isinstance(value, str):
        raise ValueMismatch(f"(type '{field.type}') {field.title} in input form must be a string")
    if field.max_length is not None and len(value) > field.max_length:
        max_length = field.max_length
        raise ValueMismatch(
            f"{field.title} in input form must be less than {max_length} characters"
        )
    return value


def _check_string(field: Field, value: Json) -> Json:
    """Return any value of xworkflow's field for text, whose types are free."""
    return _check_text(field, value) if isinstance(value, str) else value


def _check_select(field: Field, value: Json) -> Json:
    if value == "" and not field.required:
        return None  # a form without a selection sends this value
    # Only text of a person's own is held to a maximum length; forms keep the number of an earlier type of the field.
    if _check_text(replace(field, max_length=None), value) not in field.options:
        allowed = ", ".join(field.options)
        raise ValueMismatch(f"{field.title} in input form must be one of the following: {allowed}")
    return value


def _check_number(field: Field, value: Json) -> Json:
    if matches(value, ValueType.NUMBER):
        return value
    if isinstance(value, str):
        if not value.strip():
            return None
        try:
            return parse_number(value)
        except ValueMismatch:
            pass
    raise ValueMismatch(f"{field.title} in input form must be a valid number")


def _check_checkbox(field: Field, value: Json) -> Json:
    if isinstance(value, str):
        value = _BOOLEAN_TEXTS.get(value.strip().lower(), value)
    if value not in (0, 1):  # False and True among them
        raise ValueMismatch(f"{field.title} in input form must be a boolean value")
    return bool(value)


def _check_file(field: Field, value: Json) -> Json:
    if value == "" and not field.required:
        return None
    if not isinstance(value, Mapping):
        raise ValueMismatch(f"{field.title} in input form must be a file")
    if error := field.file_rules.find_error(value):
        raise ValueMismatch(f"{field.title} in input form: {error}")
    return value


def _check_file_list(field: Field, value: Json) -> Json:
    if value == "" and not field.required:
        return None
    if not isinstance(value, list | tuple) or not all(isinstance(item, Mapping) for item in value):
        raise ValueMismatch(f"{field.title} in input form must be a list of files")
    if field.max_length is not None and len(value) > field.max_length:
        raise ValueMismatch(f"{field.title} in input form must be at most {field.max_length} files")
    if error := field.file_rules.find_list_error(value):
        raise ValueMismatch(f"{field.title} in input form: {error}")
    return list(value)


def _check_object(field: Field, value: Json) -> Json:
    if isinstance(value, str) and value.strip():
        try:
            value = parse_constant(value, ValueType.OBJECT)
        except ValueMismatch:
            raise ValueMismatch(f"{field.title} in input form must be a JSON object") from None
    if not isinstance(value, Mapping):
        raise ValueMismatch(f"{field.title} in input form must be a dict")
    error = find_schema_error(value, field.json_schema)
    if error is not None:
        raise ValueMismatch(f"{field.title} in input form doesn't fit its schema: {error}")
    return value


def _check_value_type(field: Field, value: Json) -> Json:
    """Return the value in the type that an xworkflow document names, into which text is parsed."""
    value_type = parse_type(field.type)
    if value_type is None:
        return value
    try:
        return parse_constant(value, value_type)
    except ValueMismatch as mismatch:
        raise ValueMismatch(f"{field.title} in input form: {mismatch}") from None


_CHECKS: Final[Mapping[str, Callable[[Field, Json], Json]]] = {
    "text-input": _check_text,
    "paragraph": _check_text,
    "string": _check_string,
    "select": _check_select,
    "number": _check_number,
    "checkbox": _check_checkbox,
    "boolean": _check_checkbox,
    "file": _check_file,
    "file-list": _check_file_list,
    "json_object": _check_object,
    "object": _check_object,
    "external_data_tool": _check_text,
}
