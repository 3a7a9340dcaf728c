"""The settings of nodes: models of the data in documents, and the fields of the forms that edit them."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict

from workflows.engine.fallback_model import FallbackModel
from workflows.engine.language.document import Json


class ConfigPart(BaseModel):
    """A part of a node's settings. Unknown keys, which the author may need elsewhere, are kept."""

    model_config = ConfigDict(extra="allow", frozen=True)


class NodeConfig(ConfigPart):
    """The settings that every node may have."""

    title: str = ""


class NamedVariable(ConfigPart):
    """A variable, and the name under which a program or template reads it."""

    variable: str
    value_selector: tuple[str, ...] = ()


class FallbackChoice(ConfigPart):
    """The model that is asked if the node's own one fails. ``provider`` may be ``engine.fallback_model.NO_FALLBACK``."""

    provider: str = ""
    name: str = ""


class ModelReference(ConfigPart):
    """A model that a node names. Without a ``fallback``, the team's fallback model is asked if it fails."""

    provider: str = ""
    name: str = ""
    completion_params: dict[str, Any] | None = None
    fallback: FallbackChoice | None = None

    def get_fallback(self) -> FallbackModel | None:
        if self.fallback is None or not self.fallback.provider:
            return None
        return FallbackModel(self.fallback.provider, self.fallback.name)


class Widget(StrEnum):
    """The widget with which the editor shows a field."""

    TEXT = "text"
    PARAGRAPH = "paragraph"
    TEMPLATE = "template"  # text with {{#references#}}
    JINJA = "jinja"
    NUMBER = "number"
    SWITCH = "switch"
    CHOICE = "choice"
    SELECTOR = "selector"  # one variable
    SELECTORS = "selectors"
    SELECTOR_MAP = "selector_map"  # name → variable, as an object
    OBJECT = "object"  # JSON
    METADATA = "metadata"  # an object of plain values, in rows; others as JSON
    KNOWLEDGE_BASES = (
        "knowledge_bases"  # a list of knowledge bases of the team, by their namespaces
    )
    WEIGHTS = "weights"  # of words and meaning in a ranking
    RERANK_MODEL = "rerank_model"
    PAGE_CONDITIONS = (
        "page_conditions"  # conditions on the metadata of pages, and how they are joined
    )
    METADATA_FILTER = "metadata_filter"  # conditions on metadata, in rows; others as JSON
    DURATION = "duration"  # seconds, shown with a unit that fits
    SCHEMA = "schema"  # a JSON schema, next to its switch
    STRINGS = "strings"  # a list of strings
    TYPE = "type"  # the type of a value
    MODEL = "model"
    MESSAGES = "messages"
    CASES = "cases"
    CLASSES = "classes"  # the classes of a text: id and name
    PARAMETERS = "parameters"  # the values to extract: name, type, description, required, options
    EXPECTED_VALUES = "expected_values"  # of a request: name, type, required
    ASSIGNMENTS = "assignments"
    FORM_FIELDS = "form_fields"  # the inputs of a start node
    ANSWER_FIELDS = "answer_fields"  # the fields of a form for a person
    ACTIONS = "actions"  # the buttons of such a form
    ANSWERERS = "answerers"  # who may answer it
    DELIVERIES = "deliveries"  # how its link is sent
    OUTPUTS = "outputs"  # name and variable, in rows
    GROUPS = "groups"
    SECTION = "section"  # a nested object, ``fields`` are its parts
    CODE = "code"  # a program; ``code_language`` beside it names its language
    TYPED_OUTPUTS = "typed_outputs"  # name, type (of ``choices``) and, for objects, children
    KEY_VALUES = "key_values"  # lines of ``key:value``, both with references
    AUTHORIZATION = "authorization"  # type no-auth | api-key, and a config of type, key and header
    BODY = "body"  # a type of ``choices``, and data in rows or as text
    TIMEOUT = "timeout"  # seconds to connect, read and write
    LIST_FILTERS = "list_filters"  # conditions on each item
    CONDITIONS = "conditions"  # one list of conditions; joined by ``logical_operator`` beside it
    LOOP_VARIABLES = "loop_variables"
    TOOLS = "tools"  # a list of tools, each with its settings and whether a person has to allow its calls
    TOOL = "tool"  # one tool, whose provider is beside it
    TOOL_ARGUMENTS = "tool_arguments"  # the arguments of the tool beside it, as Dify writes them
    MEMORY_TOOLS = "memory_tools"  # the scopes of each tool of memory
    WORKFLOW = "workflow"  # a published workflow of the team, by its slug
    WORKFLOWS = "workflows"  # a list of published workflows of the team, by their slugs
    WORKFLOW_INPUTS = "workflow_inputs"  # a value for each input of the workflow beside it
    INNER_SELECTOR = "inner_selector"  # one variable of a node inside the container


@dataclass(frozen=True, slots=True)
class Field:
    """Describes one field of a node's form. ``name`` is its key in the node's data."""

    name: str
    label: str
    widget: Widget = Widget.TEXT
    required: bool = False
    default: Json = None
    choices: tuple[tuple[str, str], ...] = ()  # value, label
    help: str = ""
    # A sentence about each choice. The form shows that of the present one instead of ``help``, which the docs show.
    choice_hints: tuple[tuple[str, str], ...] = ()
    fields: tuple["Field", ...] = ()
    accepted_types: tuple[str, ...] = ()  # types of variables that fit; empty means all
    # A neighbour's name and values; with a slash before it, the name of a field of the whole node.
    shown_when: tuple[str, tuple[Json, ...]] | None = None
    is_unit: bool = False  # the unit of the number before it, beside which the form shows it
    low: float | None = None
    high: float | None = None
    example: Json = None  # for the documentation
    alternatives: tuple[str, ...] = ()  # other keys; with one of them the field is not missing
    initial: Json = None  # the value in new nodes, if it isn't the default
    presets_message: bool = False  # new nodes have the variable with the person's message here
    is_advanced: bool = False  # shown below the others, folded
    is_folded: bool = False  # a section whose details are folded while it is on
    empty_warning: str = ""  # the warning while it is empty, because the node has no use then
