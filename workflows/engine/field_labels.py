"""Names the parts of a node's data as its form does: ``items.0.variable_selector`` is "Assignment 1 › Variable"."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from workflows.engine.configuration import Field, Widget
from workflows.engine.texts import gettext_noop


SEPARATOR: Final = " › "
# The widget of a list → the name of one of its items.
_ITEMS_OF_WIDGETS: Final[Mapping[Widget, str]] = {
    Widget.ACTIONS: gettext_noop("Button"),
    Widget.ANSWER_FIELDS: gettext_noop("Field"),
    Widget.ANSWERERS: gettext_noop("Person"),
    Widget.ASSIGNMENTS: gettext_noop("Assignment"),
    Widget.CASES: gettext_noop("Case"),
    Widget.CLASSES: gettext_noop("Class"),
    Widget.CONDITIONS: gettext_noop("Condition"),
    Widget.DELIVERIES: gettext_noop("Delivery"),
    Widget.EXPECTED_VALUES: gettext_noop("Value"),
    Widget.FORM_FIELDS: gettext_noop("Input"),
    Widget.GROUPS: gettext_noop("Group"),
    Widget.KNOWLEDGE_BASES: gettext_noop("Knowledge base"),
    Widget.LIST_FILTERS: gettext_noop("Condition"),
    Widget.LOOP_VARIABLES: gettext_noop("Loop variable"),
    Widget.MESSAGES: gettext_noop("Message"),
    Widget.PARAMETERS: gettext_noop("Parameter"),
    Widget.SELECTORS: gettext_noop("Variable"),
    Widget.TOOLS: gettext_noop("Tool"),
    Widget.TYPED_OUTPUTS: gettext_noop("Output"),
    Widget.WORKFLOWS: gettext_noop("Workflow"),
}
_ITEMS_OF_KEYS: Final[Mapping[str, str]] = {
    "conditions": gettext_noop("Condition"),
    "data": gettext_noop("Row"),
    "groups": gettext_noop("Group"),
    "outputs": gettext_noop("Output"),
    "options": gettext_noop("Option"),
    "variables": gettext_noop("Variable"),
}
# The keys in these are chosen by authors, such as names of outputs.
_NAMED_WIDGETS: Final = frozenset(
    {
        *(Widget.TYPED_OUTPUTS, Widget.SELECTOR_MAP, Widget.METADATA, Widget.OBJECT),
        *(Widget.WORKFLOW_INPUTS, Widget.TOOL_ARGUMENTS, Widget.METADATA_FILTER),
    }
)
ITEM_NAMES: Final = frozenset({*_ITEMS_OF_WIDGETS.values(), *_ITEMS_OF_KEYS.values()})
_NAMED_KEYS: Final = frozenset({"children", "settings", "properties"})
# The parts of data for which no form has a field → their labels.
_LABELS_OF_KEYS: Final[Mapping[str, str]] = {
    "api_key": gettext_noop("API key"),
    "assigned_variable_selector": gettext_noop("Variable"),
    "case_id": gettext_noop("ID"),
    "comparison_operator": gettext_noop("Operator"),
    "completion_params": gettext_noop("Parameters"),
    "description": gettext_noop("Description"),
    "group_name": gettext_noop("Name"),
    "id": gettext_noop("ID"),
    "input_type": gettext_noop("Source of the value"),
    "input_variable_selector": gettext_noop("Value"),
    "jinja2_text": gettext_noop("Text"),
    "key": gettext_noop("Key"),
    "label": gettext_noop("Name"),
    "logical_operator": gettext_noop("And / or"),
    "mode": gettext_noop("Mode"),
    "name": gettext_noop("Name"),
    "operation": gettext_noop("Operation"),
    "output_type": gettext_noop("Type"),
    "output_variable_name": gettext_noop("Name"),
    "provider": gettext_noop("Provider"),
    "required": gettext_noop("Required"),
    "role": gettext_noop("Role"),
    "source": gettext_noop("Source"),
    "text": gettext_noop("Text"),
    "title": gettext_noop("Title"),
    "type": gettext_noop("Type"),
    "value": gettext_noop("Value"),
    "value_selector": gettext_noop("Variable"),
    "value_type": gettext_noop("Type"),
    "var_type": gettext_noop("Type"),
    "variable": gettext_noop("Name"),
    "variable_selector": gettext_noop("Variable"),
    "write_mode": gettext_noop("Operation"),
}
# A list and a key of its items → the label, where the form of this list has another one.
_LABELS_IN_LISTS: Final[Mapping[tuple[Widget | None, str], str]] = {
    (Widget.ACTIONS, "id"): gettext_noop("Name"),
    (Widget.CLASSES, "name"): gettext_noop("Description of the class"),
}
_SELECTOR_SUFFIX: Final = "selector"
# These say of an item only what its own name says.
_PLAIN_SELECTORS: Final = frozenset({"variable_selector", "value_selector"})
_WIDGETS_OF_VARIABLES: Final = frozenset({Widget.SELECTORS, Widget.SELECTOR_MAP})
_SELECTOR_WIDGETS: Final = frozenset({Widget.SELECTOR, Widget.INNER_SELECTOR})


@dataclass(frozen=True, slots=True)
class FieldPlace:
    """A place in a node's data: its path, its label, its field if the form has one, and whether it holds a variable."""

    path: tuple[int | str, ...]
    label: str
    field: Field | None = None
    is_variable: bool = False

    @property
    def is_list(self) -> bool:
        return self.field is not None and self.field.widget in _ITEMS_OF_WIDGETS


def build_field_label(path: Iterable[int | str], fields: Iterable[Field]) -> str:
    """Return a path in words: the labels of fields, the names that authors chose, and the numbers of items from 1."""
    return find_place(path, fields).label


def find_place(path: Iterable[int | str], fields: Iterable[Field]) -> FieldPlace:
    """Return the place at a path. The parts of a variable's selector are one place, the variable."""
    candidates, field, is_variable = tuple(fields), None, False
    widget: Widget | None = None
    list_widget: Widget | None = None  # of the list in which the item is
    key, labels, walked = "", list[str](), list[int | str]()
    for step in path:
        walked.append(step)
        if isinstance(step, int) or widget in _NAMED_WIDGETS or key in _NAMED_KEYS:
            labels[-1:] = [_label_item(labels, widget, key, step)]
            is_variable = widget in _WIDGETS_OF_VARIABLES
            field, widget, list_widget, key = None, None, widget, ""
        else:
            field = next((each for each in candidates if each.name == step), None)
            is_variable = _holds_variable(field, step)
            if field is not None:
                labels.append(field.label)
            elif step not in _PLAIN_SELECTORS or len(walked) < 3:
                labels.append(_LABELS_IN_LISTS.get((list_widget, step)) or _label_key(step))
            candidates = field.fields if field else ()
            widget, key = (field.widget if field else None), step
        if is_variable:
            break
    return FieldPlace(tuple(walked), SEPARATOR.join(labels), field, is_variable)


def _holds_variable(field: Field | None, key: str) -> bool:
    if field is not None:
        return field.widget in _SELECTOR_WIDGETS
    return key.endswith(_SELECTOR_SUFFIX)


def _label_item(labels: list[str], widget: Widget | None, key: str, step: int | str) -> str:
    item = (widget and _ITEMS_OF_WIDGETS.get(widget)) or _ITEMS_OF_KEYS.get(key)
    name = str(step + 1) if isinstance(step, int) else step
    return " ".join(filter(None, (item or "".join(labels[-1:]), name)))


def _label_key(key: str) -> str:
    return _LABELS_OF_KEYS.get(key) or key.replace("_", " ").strip().capitalize() or key
