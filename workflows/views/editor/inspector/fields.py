"""A node's form, built from its kind's description: each field becomes a control, each widget has a template.

A control has the path of its value in the node's data; the scripts read that path from the page and send operations
on it. A widget without a row here is edited as JSON, so that a plug-in's kind always has a form.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from workflows.engine.initial_values import collect_initial_data
from workflows.engine.kinds import Field, Widget, gettext_noop
from workflows.engine.language.comparisons import OPERATORS, UNARY, get_operator_label
from workflows.engine.language.document import Json
from workflows.engine.language.values import FILE_ATTRIBUTES, ValueType, parse_type
from workflows.engine.nodes.data.assignment_operations import OPERATIONS
from workflows.views.editor.inspector.older_data import upgrade_data
from workflows.views.phrases import translate_text


@dataclass(frozen=True, slots=True)
class WidgetStyle:
    """The template of a widget and the content of a new row in its list."""

    template: str
    blank: Json = None
    is_list: bool = False


@dataclass(frozen=True, slots=True)
class Control:
    field: Field
    path: str  # dotted, inside the node's data
    value: Json
    style: WidgetStyle
    parts: tuple["Control", ...] = ()
    is_hidden: bool = False
    choices: tuple[tuple[str, str], ...] = ()
    unit_control: "Control | None" = None  # shown beside the number

    @property
    def template(self) -> str:
        return f"inspector/{'fields/_json' if self.is_unreadable else self.style.template}.html"

    @property
    def key(self) -> str:
        return self.field.name

    @property
    def is_group(self) -> bool:
        """Return whether it consists of several controls with a common name."""
        return not self.is_unreadable and (
            self.style.is_list or self.field.widget in _GROUP_WIDGETS
        )

    @property
    def is_unreadable(self) -> bool:
        """Return whether the value has a type that the widget can't show, so that it is shown as JSON."""
        if self.value is None:
            return False
        if self.style in (PROMPT_STYLE, WIDGET_STYLES[Widget.NUMBER]):
            return False
        expected_type = list if self.style.is_list else _VALUE_TYPES.get(self.field.widget)
        if expected_type is None:
            return False
        is_flag = isinstance(self.value, bool)  # which Python takes for a number
        return is_flag or not isinstance(self.value, expected_type) or self._has_odd_names

    @property
    def _has_odd_names(self) -> bool:
        """Return whether it is a model whose names aren't texts, so that no menu can show them."""
        if self.field.widget not in (Widget.MODEL, Widget.RERANK_MODEL):
            return False
        names = [self.value.get(key) for key in ("provider", "name", "model")]
        return not all(isinstance(name, str) for name in names if name is not None)

    @property
    def rows(self) -> list[Json]:
        return list(self.value) if isinstance(self.value, list) else []

    @property
    def lines(self) -> list[tuple[str, str]]:
        """Return the lines of ``key:value`` as pairs."""
        text_lines = self.value.splitlines() if isinstance(self.value, str) else []
        halves = [line.partition(":") for line in text_lines if line.strip()]
        return [(name.strip(), value.strip()) for name, _colon, value in halves]

    @property
    def pairs(self) -> list[tuple[str, Json]]:
        return [*self.value.items()] if isinstance(self.value, dict) else []

    @property
    def blank(self) -> Json:
        return self.style.blank

    @property
    def accepted_types(self) -> str:
        return " ".join(self.field.accepted_types)

    @property
    def switch(self) -> "Control | None":
        """Return the switch that turns a section on, if its first part is one."""
        first = self.parts[0] if self.parts else None
        return first if first is not None and first.field.widget is Widget.SWITCH else None

    @property
    def is_used(self) -> bool:
        return isinstance(self.value, dict) and any(self.value.values())

    @property
    def is_changed(self) -> bool:
        """Return whether the field has a value that is not its default."""
        return bool(self.value) and self.value != self.field.default

    @property
    def remaining_parts(self) -> tuple["Control", ...]:
        return self.parts[1:] if self.switch else self.parts

    @property
    def defaults(self) -> dict[str, Json]:
        """Return the values that are stored when the section is turned on."""
        fields = self.remaining_fields
        return collect_initial_data(fields)

    @property
    def remaining_fields(self) -> tuple[Field, ...]:
        return self.field.fields[1:] if self.switch else self.field.fields

    @property
    def amount(self) -> float | None:
        """Return a duration as the number of the unit that fits."""
        seconds = self.value if isinstance(self.value, int | float) else None
        return None if seconds is None else shorten_number(seconds / self.unit)

    @property
    def unit(self) -> int:
        """Return the seconds of the largest unit in which a duration is a whole number, by default a day."""
        if not isinstance(self.value, int | float) or not self.value:
            return DAY
        return next((unit for unit, _name in UNITS[::-1] if self.value % unit == 0), UNITS[0][0])

    @property
    def units(self) -> list[tuple[int, str]]:
        """Return the units to choose from; seconds are offered only if the duration needs them."""
        return [(unit, name) for unit, name in UNITS if unit > 1 or self.unit == 1]


def shorten_number(number: float) -> float:
    """Return a whole number as an int, so that it is shown without decimals."""
    return int(number) if float(number).is_integer() else number


def build_controls(
    fields: Iterable[Field],
    data: Mapping[str, Json],
    prefix: str = "",
    *,
    node_data: Mapping[str, Json] | None = None,
) -> tuple[Control, ...]:
    """Build the controls of fields; a unit is part of the control of its number."""
    controls: list[Control] = []
    for field in fields:
        control = build_control(field, data, prefix, node_data=node_data)
        if field.is_unit and controls:
            controls[-1] = replace(controls[-1], unit_control=control)
        else:
            controls.append(control)
    return tuple(controls)


def build_control(
    field: Field,
    data: Mapping[str, Json],
    prefix: str = "",
    *,
    node_data: Mapping[str, Json] | None = None,
) -> Control:
    """Build the control of a field; values from older forms of the document are converted.

    ``node_data`` is the data of the whole node, for a field inside another one.
    """
    data = upgrade_data(data) if not prefix else data
    node_data = data if node_data is None else node_data
    path = f"{prefix}{field.name}"
    value = data.get(field.name, field.default)
    nested_data = value if isinstance(value, Mapping) else {}
    return Control(
        field=field,
        path=path,
        value=value,
        style=_choose_style(field, value),
        parts=()
        if value is not None and nested_data is not value
        else build_controls(field.fields, nested_data, f"{path}.", node_data=node_data),
        is_hidden=not _is_shown(field, data, node_data),
        choices=_list_choices(field, value),
    )


def list_operators_by_type() -> dict[str, list[str]]:
    """Return the operators of each type for the conditions; the empty type stands for an unknown one."""
    return {
        "": list(OPERATORS),
        **{value_type.value: _list_operators(value_type) for value_type in ValueType},
    }


def list_assignments_by_type() -> dict[str, list[dict[str, Any]]]:  # Any: JSON
    """Return the operations on a variable of each type, and the possible sources of the operand."""
    return {
        value_type.value: [
            {"name": name, "sources": sorted(operation.sources), "operand": operation.has_operand}
            for name, operation in OPERATIONS.items()
            if value_type in operation.targets
        ]
        for value_type in ValueType
    }


def get_canonical_type(type_name: str) -> str:
    """Return the name of a type without its aliases; "any" for an unknown type."""
    value_type = parse_type(type_name)
    return value_type.value if value_type else "any"


def list_operator_choices() -> list[tuple[str, str]]:
    return [(name, translate_text(get_operator_label(name))) for name in OPERATORS]


def _choose_style(field: Field, value: Json) -> WidgetStyle:
    if field.widget is Widget.MESSAGES and isinstance(value, Mapping):
        return PROMPT_STYLE  # completion models take one text
    if field.widget is Widget.TIMEOUT and isinstance(value, int | float):
        return WIDGET_STYLES[Widget.NUMBER]  # one limit for all phases
    return WIDGET_STYLES.get(field.widget, JSON_STYLE)


def _list_choices(field: Field, value: Json) -> tuple[tuple[str, str], ...]:
    """Return the field's choices together with the stored value, so that it can always be selected."""
    choices = field.choices
    if value is None or not choices:
        return choices
    values = {str(choice) for choice, _words in choices}
    if field.widget in _TYPED_ROWS:
        current_values = _list_row_types(value)
    elif isinstance(value, Mapping):  # the choices are those of its type
        current_values = [value["type"]] if isinstance(value.get("type"), str) else []
    else:
        current_values = [value] if isinstance(value, str) else []
    return (
        *choices,
        *((text, text) for text in dict.fromkeys(current_values) if text not in values),
    )


def _list_row_types(value: Json) -> list[str]:
    """Return the type of each row: of typed outputs by name, or of parameters in a list."""
    rows = value.values() if isinstance(value, Mapping) else value
    types = (
        row.get("type") if isinstance(row, Mapping) else row
        for row in (rows if isinstance(rows, Iterable) else ())
    )
    return [type_name for type_name in types if isinstance(type_name, str)]


def _is_shown(field: Field, data: Mapping[str, Json], node_data: Mapping[str, Json]) -> bool:
    if field.name == JINJA_VARIABLES:
        return _uses_jinja(data)
    if field.shown_when is None:
        return True
    name, values = field.shown_when
    source = node_data if name.startswith("/") else data
    return source.get(name.removeprefix("/")) in values


def _uses_jinja(data: Mapping[str, Json]) -> bool:
    """Return whether a message of the prompt is a Jinja2 template, or variables for one are stored."""
    stored = data.get(JINJA_VARIABLES)
    messages = data.get("prompt_template")
    if isinstance(messages, Mapping):
        messages = [messages]
    return bool(isinstance(stored, Mapping) and stored.get("jinja2_variables")) or any(
        isinstance(message, Mapping) and message.get("edition_type") == "jinja2"
        for message in (messages if isinstance(messages, list | tuple) else ())
    )


def _list_operators(value_type: ValueType) -> list[str]:
    if value_type in _OPERATORS_BY_TYPE:
        return list(_OPERATORS_BY_TYPE[value_type])
    if value_type.is_number:
        return ["=", "≠", ">", "<", "≥", "≤", "empty", "not empty", "null", "not null"]
    if value_type.is_array:
        return ["contains", "not contains", "all of", "empty", "not empty"]
    return list(OPERATORS)


_TEXT_OPERATORS = (
    *("is", "is not", "contains", "not contains", "start with", "end with"),
    *("in", "not in", "empty", "not empty", "null", "not null"),
)
_OPERATORS_BY_TYPE: Final[Mapping[ValueType, tuple[str, ...]]] = {
    ValueType.STRING: _TEXT_OPERATORS,
    ValueType.SECRET: _TEXT_OPERATORS,
    ValueType.BOOLEAN: ("is", "is not", "null", "not null"),
    ValueType.OBJECT: ("empty", "not empty", "null", "not null"),
    ValueType.FILE: ("exists", "not exists"),
    ValueType.ARRAY_FILE: ("contains", "not contains", "all of", "empty", "not empty"),
}

JINJA_VARIABLES: Final = "prompt_config"  # the section of an LLM node for its Jinja2 messages
DAY: Final = 86_400
UNITS: Final = (
    (1, gettext_noop("seconds")),
    (60, gettext_noop("minutes")),
    (3_600, gettext_noop("hours")),
    (DAY, gettext_noop("days")),
)
METADATA_OPERATORS: Final = (
    ("is", gettext_noop("is")),
    ("$ne", gettext_noop("is not")),
    ("$in", gettext_noop("is one of")),
    ("$gt", ">"),
    ("$gte", "≥"),
    ("$lt", "<"),
    ("$lte", "≤"),
    ("exists", gettext_noop("exists")),
    ("missing", gettext_noop("doesn't exist")),
)

_BLANK_SELECTOR: list[str] = []
BLANK_CONDITION: dict[str, Json] = {
    "variable_selector": _BLANK_SELECTOR,
    "comparison_operator": "is",
    "value": "",
}
# widget without a list value → the type of its value
_VALUE_TYPES: Final[Mapping[Widget, type | tuple[type, ...]]] = {
    Widget.SELECTOR: (list, tuple),
    Widget.INNER_SELECTOR: (list, tuple),
    Widget.SELECTOR_MAP: dict,
    Widget.TOOL: str,
    Widget.TOOL_ARGUMENTS: dict,
    Widget.WORKFLOW: str,
    Widget.WORKFLOW_INPUTS: dict,
    Widget.TYPED_OUTPUTS: dict,
    Widget.CODE: str,
    Widget.KEY_VALUES: str,
    Widget.AUTHORIZATION: dict,
    Widget.BODY: dict,
    Widget.TIMEOUT: dict,
    Widget.SECTION: dict,
    Widget.GROUPS: dict,
    Widget.MODEL: dict,
    Widget.SCHEMA: dict,
    Widget.KNOWLEDGE_BASES: (list, tuple),
    Widget.WEIGHTS: dict,
    Widget.RERANK_MODEL: dict,
    Widget.PAGE_CONDITIONS: dict,
    Widget.MEMORY_TOOLS: dict,
    Widget.TEXT: (str, int, float),
    Widget.PARAGRAPH: str,
    Widget.TEMPLATE: str,
    Widget.JINJA: str,
    Widget.NUMBER: (int, float, str),
    Widget.DURATION: (int, float),
    Widget.CHOICE: str,
    Widget.TYPE: str,
}

_TYPED_ROWS: Final = frozenset({Widget.TYPED_OUTPUTS, Widget.PARAMETERS, Widget.EXPECTED_VALUES})
_GROUP_WIDGETS: Final = frozenset(
    {
        *(Widget.SELECTOR_MAP, Widget.SCHEMA, Widget.MODEL, Widget.MESSAGES, Widget.GROUPS),
        *(Widget.TYPED_OUTPUTS, Widget.KEY_VALUES, Widget.AUTHORIZATION, Widget.BODY),
        *(Widget.MEMORY_TOOLS, Widget.WORKFLOW_INPUTS, Widget.TOOL_ARGUMENTS),
        *(Widget.METADATA, Widget.METADATA_FILTER, Widget.KNOWLEDGE_BASES),
        *(Widget.WEIGHTS, Widget.RERANK_MODEL, Widget.PAGE_CONDITIONS),
    }
)

JSON_STYLE = WidgetStyle("fields/_json")
PROMPT_STYLE = WidgetStyle("fields/_prompt")
WIDGET_STYLES: Final[Mapping[Widget, WidgetStyle]] = {
    Widget.TEXT: WidgetStyle("fields/_text"),
    Widget.PARAGRAPH: WidgetStyle("fields/_paragraph"),
    Widget.TEMPLATE: WidgetStyle("fields/_template"),
    Widget.JINJA: WidgetStyle("fields/_jinja"),
    Widget.NUMBER: WidgetStyle("fields/_number"),
    Widget.SWITCH: WidgetStyle("fields/_switch"),
    Widget.CHOICE: WidgetStyle("fields/_choice"),
    Widget.TYPE: WidgetStyle("fields/_type"),
    Widget.SELECTOR: WidgetStyle("fields/_selector"),
    Widget.INNER_SELECTOR: WidgetStyle("fields/_selector"),
    Widget.SELECTORS: WidgetStyle("lists/_selectors", _BLANK_SELECTOR, is_list=True),
    Widget.SELECTOR_MAP: WidgetStyle("lists/_selector_map", _BLANK_SELECTOR),
    Widget.STRINGS: WidgetStyle("lists/_strings", "", is_list=True),
    Widget.OBJECT: JSON_STYLE,
    Widget.METADATA: WidgetStyle("conditions/_metadata"),
    Widget.METADATA_FILTER: WidgetStyle("conditions/_metadata"),
    Widget.DURATION: WidgetStyle("fields/_duration"),
    Widget.TOOLS: WidgetStyle(
        "agents/_tools", {"source": "builtin", "provider": "", "name": ""}, is_list=True
    ),
    Widget.MEMORY_TOOLS: WidgetStyle("agents/_memory_tools"),
    Widget.WORKFLOWS: WidgetStyle("sub_workflow/_merged", "", is_list=True),
    Widget.SCHEMA: WidgetStyle("fields/_schema"),
    Widget.KNOWLEDGE_BASES: WidgetStyle("knowledge/_bases"),
    Widget.WEIGHTS: WidgetStyle("knowledge/_weights"),
    Widget.RERANK_MODEL: WidgetStyle("models/_rerank_model"),
    Widget.PAGE_CONDITIONS: WidgetStyle("knowledge/_conditions"),
    Widget.MODEL: WidgetStyle("models/_model"),
    Widget.TOOL: WidgetStyle("tool_node/_picker"),
    Widget.TOOL_ARGUMENTS: WidgetStyle("tool_node/_arguments"),
    Widget.WORKFLOW: WidgetStyle("sub_workflow/_picker"),
    Widget.WORKFLOW_INPUTS: WidgetStyle("sub_workflow/_inputs"),
    Widget.MESSAGES: WidgetStyle("lists/_messages", {"role": "user", "text": ""}, is_list=True),
    Widget.CASES: WidgetStyle(
        "conditions/_cases",
        {"case_id": "", "logical_operator": "and", "conditions": [BLANK_CONDITION]},
        is_list=True,
    ),
    Widget.CLASSES: WidgetStyle("conditions/_classes", {"id": "", "name": ""}, is_list=True),
    Widget.CONDITIONS: WidgetStyle("conditions/_conditions", BLANK_CONDITION, is_list=True),
    Widget.ASSIGNMENTS: WidgetStyle(
        "variables/_assignments",
        {
            "variable_selector": _BLANK_SELECTOR,
            "operation": "over-write",
            "input_type": "variable",
            "value": _BLANK_SELECTOR,
        },
        is_list=True,
    ),
    Widget.FORM_FIELDS: WidgetStyle(
        "variables/_form_fields",
        {"variable": "", "label": "", "type": "text-input", "required": True},
        is_list=True,
    ),
    Widget.ANSWER_FIELDS: WidgetStyle(
        "variables/_answer_fields",
        {"type": "paragraph", "output_variable_name": "", "label": ""},
        is_list=True,
    ),
    Widget.ACTIONS: WidgetStyle(
        "lists/_actions", {"id": "", "title": "", "button_style": "default"}, is_list=True
    ),
    Widget.ANSWERERS: WidgetStyle(
        "variables/_answerers", {"type": "member", "value": ""}, is_list=True
    ),
    Widget.DELIVERIES: WidgetStyle(
        "variables/_deliveries",
        {"type": "email", "enabled": True, "config": {"recipients": {"items": []}}},
        is_list=True,
    ),
    Widget.OUTPUTS: WidgetStyle(
        "variables/_outputs", {"variable": "", "value_selector": _BLANK_SELECTOR}, is_list=True
    ),
    Widget.GROUPS: WidgetStyle(
        "lists/_groups", {"group_name": "", "output_type": "any", "variables": []}
    ),
    Widget.LOOP_VARIABLES: WidgetStyle(
        "variables/_loop_variables",
        {"label": "", "var_type": "string", "value_type": "constant", "value": ""},
        is_list=True,
    ),
    Widget.PARAMETERS: WidgetStyle(
        "variables/_parameters",
        {"name": "", "type": "string", "description": "", "required": True},
        is_list=True,
    ),
    Widget.EXPECTED_VALUES: WidgetStyle(
        "variables/_expected_values",
        {"name": "", "type": "string", "required": True},
        is_list=True,
    ),
    Widget.SECTION: WidgetStyle("_section"),
    Widget.CODE: WidgetStyle("fields/_code"),
    Widget.KEY_VALUES: WidgetStyle("lists/_key_values"),
    Widget.AUTHORIZATION: WidgetStyle("fields/_authorization"),
    Widget.BODY: WidgetStyle("lists/_body", {"key": "", "type": "text", "value": ""}),
    Widget.TIMEOUT: WidgetStyle("_section"),
    Widget.TYPED_OUTPUTS: WidgetStyle(
        "variables/_typed_outputs", {"type": "string", "children": None}
    ),
}

FORM_TYPES: Final = (
    *("text-input", "paragraph", "number", "select", "checkbox"),
    *("json_object", "file", "file-list"),
)
ANSWER_TYPES: Final = ("text_input", "paragraph", "number", "select", "checkbox")
UNARY_OPERATORS: Final = sorted(UNARY)
FILE_KEYS: Final = tuple(FILE_ATTRIBUTES)
TYPES: Final = tuple(
    value_type.value
    for value_type in ValueType
    if value_type not in (ValueType.NONE, ValueType.SECRET)
)
