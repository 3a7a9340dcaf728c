"""A node's form, drawn from its kind's description: each field becomes a control, each widget has a template.

A control knows where in the node's data its value stands; the scripts read that path from the page and
send operations on it. A widget without a row here is edited as JSON, so that a plug-in's kind always
has a form.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from workflows.engine.kinds import Field, Widget
from workflows.engine.language.comparisons import OPERATORS, UNARY, operator_label
from workflows.engine.language.document import Json
from workflows.engine.language.values import FILE_ATTRIBUTES, ValueType, parse_type
from workflows.engine.nodes.data.assignment_operations import OPERATIONS
from workflows.views.phrases import translate_text


@dataclass(frozen=True, slots=True)
class Look:
    """How a widget is shown, and what a new row of its list holds."""

    template: str
    blank: Json = None
    is_list: bool = False


@dataclass(frozen=True, slots=True)
class Control:
    field: Field
    path: str  # dotted, inside the node's data
    value: Json
    look: Look
    parts: tuple["Control", ...] = ()
    is_hidden: bool = False
    choices: tuple[tuple[str, str], ...] = ()

    @property
    def template(self) -> str:
        return f"inspector/{'fields/_json' if self.is_unreadable else self.look.template}.html"

    @property
    def key(self) -> str:
        return self.field.name

    @property
    def is_group(self) -> bool:
        """Several controls, named together."""
        return not self.is_unreadable and (self.look.is_list or self.field.widget in _GROUPS)

    @property
    def is_unreadable(self) -> bool:
        """Somebody wrote something else here than the widget is for; it is shown as it is."""
        if self.value is None:
            return False
        if self.look in (PROMPT, LOOKS[Widget.NUMBER]):
            return False
        wanted = list if self.look.is_list else _SHAPES.get(self.field.widget)
        return wanted is not None and not isinstance(self.value, wanted)

    @property
    def rows(self) -> list[Json]:
        return list(self.value) if isinstance(self.value, list) else []

    @property
    def lines(self) -> list[tuple[str, str]]:
        """Lines of ``key:value``, taken apart."""
        written = self.value.splitlines() if isinstance(self.value, str) else []
        halves = [line.partition(":") for line in written if line.strip()]
        return [(name.strip(), value.strip()) for name, _colon, value in halves]

    @property
    def pairs(self) -> list[tuple[str, Json]]:
        return [*self.value.items()] if isinstance(self.value, dict) else []

    @property
    def blank(self) -> Json:
        return self.look.blank

    @property
    def accepted_types(self) -> str:
        return " ".join(self.field.accepted_types)

    @property
    def switch(self) -> "Control | None":
        """A section's first part turns it on, if it is a switch."""
        first = self.parts[0] if self.parts else None
        return first if first is not None and first.field.widget is Widget.SWITCH else None

    @property
    def is_used(self) -> bool:
        return isinstance(self.value, dict) and any(self.value.values())

    @property
    def others(self) -> tuple["Control", ...]:
        return self.parts[1:] if self.switch else self.parts

    @property
    def defaults(self) -> dict[str, Json]:
        """What is shown before anybody wrote it, and is written when the section is turned on."""
        fields = self.field.fields
        return {field.name: field.default for field in fields if field.default is not None}


def controls(
    fields: Iterable[Field], data: Mapping[str, Json], inside: str = ""
) -> tuple[Control, ...]:
    return tuple(control(field, data, inside) for field in fields)


def control(field: Field, data: Mapping[str, Json], inside: str = "") -> Control:
    """One field; what an older form of the document says elsewhere is shown where it goes today."""
    data = adopted(data) if not inside else data
    path = f"{inside}{field.name}"
    value = data.get(field.name, field.default)
    held = value if isinstance(value, Mapping) else {}
    return Control(
        field=field,
        path=path,
        value=value,
        look=_look(field, value),
        parts=()
        if value is not None and held is not value
        else controls(field.fields, held, f"{path}."),
        is_hidden=not _is_shown(field, data),
        choices=_choices(field, value),
    )


def adopted(data: Mapping[str, Json]) -> Mapping[str, Json]:
    """The one case, or the one assignment, that documents from before there were several have."""
    if "cases" not in data and data.get("type") == "if-else" and data.get("conditions"):
        logic = data.get("logical_operator") or "and"
        case = {"case_id": "true", "logical_operator": logic, "conditions": data["conditions"]}
        return {**data, "cases": [case]}
    if data.get("items") is None and data.get("assigned_variable_selector"):
        item = {
            "variable_selector": data["assigned_variable_selector"],
            "operation": data.get("write_mode") or "over-write",
            "input_type": "variable",
            "value": data.get("input_variable_selector"),
        }
        return {**data, "items": [item]}
    return data


def operators_by_type() -> dict[str, list[str]]:
    """What one can ask of a value, for the conditions' second box. The empty type: of one not known."""
    return {"": list(OPERATORS), **{kind.value: _operators(kind) for kind in ValueType}}


def assignments_by_type() -> dict[str, list[dict[str, Any]]]:  # Any: JSON
    """What can be done to a variable, and where the operand may come from."""
    return {
        kind.value: [
            {"name": name, "sources": sorted(one.sources), "operand": one.has_operand}
            for name, one in OPERATIONS.items()
            if kind in one.targets
        ]
        for kind in ValueType
    }


def _look(field: Field, value: Json) -> Look:
    if field.widget is Widget.MESSAGES and isinstance(value, Mapping):
        return PROMPT  # completion models take one text
    if field.widget is Widget.TIMEOUT and isinstance(value, int | float):
        return LOOKS[Widget.NUMBER]  # one limit for all of it
    return LOOKS.get(field.widget, JSON)


def _choices(field: Field, value: Json) -> tuple[tuple[str, str], ...]:
    """What is written stays choosable, whatever it is."""
    offered = field.choices
    if value is None or not offered:
        return offered
    known = {str(choice) for choice, _words in offered}
    written = _types_written(value) if field.widget is Widget.TYPED_OUTPUTS else [str(value)]
    return (*offered, *((one, one) for one in dict.fromkeys(written) if one not in known))


def _types_written(outputs: Json) -> list[str]:
    """Of outputs by name: here the choice is each one's type."""
    rows = outputs.values() if isinstance(outputs, Mapping) else ()
    found = (row.get("type") if isinstance(row, Mapping) else row for row in rows)
    return [written for written in found if isinstance(written, str)]


def _is_shown(field: Field, data: Mapping[str, Json]) -> bool:
    if field.shown_when is None:
        return True
    name, values = field.shown_when
    return data.get(name) in values


def _operators(kind: ValueType) -> list[str]:
    if kind in _BY_TYPE:
        return list(_BY_TYPE[kind])
    if kind.is_number:
        return ["=", "≠", ">", "<", "≥", "≤", "empty", "not empty", "null", "not null"]
    if kind.is_array:
        return ["contains", "not contains", "all of", "empty", "not empty"]
    return list(OPERATORS)


_TEXT_TESTS = (
    *("is", "is not", "contains", "not contains", "start with", "end with"),
    *("in", "not in", "empty", "not empty", "null", "not null"),
)
_BY_TYPE: Final[Mapping[ValueType, tuple[str, ...]]] = {
    ValueType.STRING: _TEXT_TESTS,
    ValueType.SECRET: _TEXT_TESTS,
    ValueType.BOOLEAN: ("is", "is not", "null", "not null"),
    ValueType.OBJECT: ("empty", "not empty", "null", "not null"),
    ValueType.FILE: ("exists", "not exists"),
    ValueType.ARRAY_FILE: ("contains", "not contains", "all of", "empty", "not empty"),
}

_SELECTOR: list[str] = []
CONDITION: dict[str, Json] = {
    "variable_selector": _SELECTOR,
    "comparison_operator": "is",
    "value": "",
}
# Widgets that are no list → what their value has to be.
_SHAPES: Final[Mapping[Widget, type | tuple[type, ...]]] = {
    Widget.SELECTOR: (list, tuple),
    Widget.INNER_SELECTOR: (list, tuple),
    Widget.SELECTOR_MAP: dict,
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
    Widget.TEXT: (str, int, float),
    Widget.PARAGRAPH: str,
    Widget.TEMPLATE: str,
    Widget.JINJA: str,
    Widget.NUMBER: (int, float, str),
}

_GROUPS: Final = frozenset(
    {
        *(Widget.SELECTOR_MAP, Widget.SCHEMA, Widget.MODEL, Widget.MESSAGES, Widget.GROUPS),
        *(Widget.TYPED_OUTPUTS, Widget.KEY_VALUES, Widget.AUTHORIZATION, Widget.BODY),
    }
)

JSON = Look("fields/_json")
PROMPT = Look("fields/_prompt")
LOOKS: Final[Mapping[Widget, Look]] = {
    Widget.TEXT: Look("fields/_text"),
    Widget.PARAGRAPH: Look("fields/_paragraph"),
    Widget.TEMPLATE: Look("fields/_template"),
    Widget.JINJA: Look("fields/_jinja"),
    Widget.NUMBER: Look("fields/_number"),
    Widget.SWITCH: Look("fields/_switch"),
    Widget.CHOICE: Look("fields/_choice"),
    Widget.TYPE: Look("fields/_type"),
    Widget.SELECTOR: Look("fields/_selector"),
    Widget.INNER_SELECTOR: Look("fields/_selector"),
    Widget.SELECTORS: Look("lists/_selectors", _SELECTOR, is_list=True),
    Widget.SELECTOR_MAP: Look("lists/_selector_map", _SELECTOR),
    Widget.STRINGS: Look("lists/_strings", "", is_list=True),
    Widget.OBJECT: JSON,
    Widget.SCHEMA: Look("fields/_schema"),
    Widget.MODEL: Look("fields/_model"),
    Widget.MESSAGES: Look("lists/_messages", {"role": "user", "text": ""}, is_list=True),
    Widget.CASES: Look(
        "conditions/_cases",
        {"case_id": "", "logical_operator": "and", "conditions": [CONDITION]},
        is_list=True,
    ),
    Widget.CONDITIONS: Look("conditions/_conditions", CONDITION, is_list=True),
    Widget.ASSIGNMENTS: Look(
        "variables/_assignments",
        {
            "variable_selector": _SELECTOR,
            "operation": "over-write",
            "input_type": "variable",
            "value": _SELECTOR,
        },
        is_list=True,
    ),
    Widget.FORM_FIELDS: Look(
        "variables/_form_fields",
        {"variable": "", "label": "", "type": "text-input", "required": True},
        is_list=True,
    ),
    Widget.OUTPUTS: Look(
        "variables/_outputs", {"variable": "", "value_selector": _SELECTOR}, is_list=True
    ),
    Widget.GROUPS: Look("lists/_groups", {"group_name": "", "output_type": "any", "variables": []}),
    Widget.LOOP_VARIABLES: Look(
        "variables/_loop_variables",
        {"label": "", "var_type": "string", "value_type": "constant", "value": ""},
        is_list=True,
    ),
    Widget.SECTION: Look("_section"),
    Widget.CODE: Look("fields/_code"),
    Widget.KEY_VALUES: Look("lists/_key_values"),
    Widget.AUTHORIZATION: Look("fields/_authorization"),
    Widget.BODY: Look("lists/_body", {"key": "", "type": "text", "value": ""}),
    Widget.TIMEOUT: Look("_section"),
    Widget.TYPED_OUTPUTS: Look("variables/_typed_outputs", {"type": "string", "children": None}),
}

FORM_TYPES: Final = (
    *("text-input", "paragraph", "number", "select", "checkbox"),
    *("json_object", "file", "file-list"),
)
UNARY_OPERATORS: Final = sorted(UNARY)
FILE_KEYS: Final = tuple(FILE_ATTRIBUTES)
TYPES: Final = tuple(
    kind.value for kind in ValueType if kind not in (ValueType.NONE, ValueType.SECRET)
)


def canonical_type(written: str) -> str:
    kind = parse_type(written)
    return kind.value if kind else "any"


def operator_choices() -> list[tuple[str, str]]:
    return [(name, translate_text(operator_label(name))) for name in OPERATORS]
