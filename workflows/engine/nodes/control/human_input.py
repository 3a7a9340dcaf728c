"""Human input: shows a person a form and waits for the answer. The chosen action selects the handle.

The run pauses without occupying a worker. When nobody answers in time, it continues at ``__timeout``.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator
from pydantic import Field as Bounded

from workflows.engine.answerers import MAX_ANSWERERS, Answerer, build_keys, find_incomplete_rows
from workflows.engine.appearance import Data, HandleLabel, iter_objects
from workflows.engine.configuration import ConfigPart, Field, NodeConfig, Widget
from workflows.engine.initial_values import Surroundings
from workflows.engine.kinds import Execution, NodeContext, NodeKind, NodeResult, Output
from workflows.engine.language.document import Json, NodeSpec, Selector
from workflows.engine.language.problems import Problem, build_warning
from workflows.engine.language.templating import Template, format_reference
from workflows.engine.language.variables import VariablePool
from workflows.engine.runtime.waits import BY_LINK, Answer, Wait, is_from_outside
from workflows.engine.text_rendering import as_markdown, as_text
from workflows.engine.texts import Phrase, Text, gettext_noop


TIMEOUT_HANDLE: Final = "__timeout"
# The handle of a form that has no actions.
_SENT_HANDLE: Final = "source"
# In the body of a mail, the place of the link to the form.
URL_PLACE: Final = "{{#url#}}"
MAX_ADDRESSES: Final = 20
MIN_NOTICE: Final = 60  # seconds from a question to its reminder
# The place of a field in the message.
FIELD_PLACE: Final = re.compile(r"\{\{#\$output\.([A-Za-z_][A-Za-z0-9_]{0,29})#\}\}")
_IDENTIFIER: Final = r"^[A-Za-z_][A-Za-z0-9_]*$"
_HOURS: Final = {"hour": 1, "day": 24}
_MAX_HOURS: Final = 24 * 366
_OUTPUT_TYPES: Final = {"number": "number", "checkbox": "boolean"}
# The names that Dify has used for the types of fields.
_TYPE_ALIASES: Final = {"text_input": "text-input", "text": "text-input", "boolean": "checkbox"}


def _normalize_type(value: Any) -> Any:  # Any: what a document holds
    if value in ("file", "file-list", "file_list"):
        raise ValueError("a form can't ask for files yet")
    return _TYPE_ALIASES.get(value, value) if isinstance(value, str) else value


FieldType = Annotated[
    Literal["text-input", "paragraph", "select", "number", "checkbox"],
    BeforeValidator(_normalize_type),
]


class ValueSource(ConfigPart):
    """A value of the author's, or of a variable at the time when the form is shown."""

    type: Literal["constant", "variable"] = "constant"
    value: Any = None
    selector: tuple[str, ...] = ()

    def read(self, pool: VariablePool) -> Json:
        return self.value if self.type == "constant" else pool.get_or_none(self.selector)


class FormInput(ConfigPart):
    type: FieldType = "paragraph"
    output_variable_name: str = Bounded(pattern=_IDENTIFIER, max_length=30)
    label: str = ""
    required: bool = False
    default: ValueSource | None = None
    option_source: ValueSource | None = None
    options: tuple[str, ...] = ()
    max_length: int | None = Bounded(default=None, ge=1)


class UserAction(ConfigPart):
    id: str = Bounded(pattern=_IDENTIFIER, max_length=20)
    title: str = Bounded(default="", max_length=100)
    button_style: str = "default"


class HumanInputConfig(NodeConfig):
    answerers: tuple[Answerer, ...] = Bounded(default=(), max_length=MAX_ANSWERERS)
    # Seconds after which nobody has answered; None for never.
    remind_after: float | None = Bounded(default=None, ge=MIN_NOTICE)
    escalate_after: float | None = Bounded(default=None, ge=MIN_NOTICE)
    escalate_to: tuple[Answerer, ...] = Bounded(default=(), max_length=MAX_ANSWERERS)
    delivery_methods: tuple[dict[str, Any], ...] = ()
    form_content: str = ""
    inputs: tuple[FormInput, ...] = ()
    user_actions: tuple[UserAction, ...] = (UserAction(id="submit", title="Submit"),)
    timeout: float = Bounded(default=36, gt=0)
    timeout_unit: Literal["hour", "day"] = "hour"

    @property
    def seconds(self) -> float:
        return min(self.timeout * _HOURS[self.timeout_unit], _MAX_HOURS) * 3600


_SUBMIT: Final = gettext_noop("Submit")
# The buttons of a node that has not been given any yet.
_NEW_ACTIONS: Final[list[dict[str, Json]]] = [
    {"id": "submit", "title": _SUBMIT, "button_style": "primary"}
]
# What a new node asks before anybody has written a message: it fits whatever text comes below it.
NEW_MESSAGE: Final = gettext_noop("Please check this.")


@dataclass(frozen=True, slots=True)
class Prepared:
    config: HumanInputConfig
    # The content: texts, and the names of the fields between them at odd places.
    texts: tuple[Template, ...]
    places: tuple[str, ...]


class HumanInput(NodeKind[HumanInputConfig, Prepared]):
    name = "human-input"
    title = gettext_noop("Human input")
    description = gettext_noop("Asks a person and waits for the answer")
    palette_order = 40
    icon = "person"
    family = "logic"
    dialects = ("dify",)
    config_model = HumanInputConfig
    execution = Execution.BRANCH
    waits_for_people = True
    fields = (
        Field("form_content", gettext_noop("Message"), Widget.TEMPLATE,
              help=gettext_noop("What the person reads. A field is shown below the text, or where the text has it: type / and choose the field."),
              example="Send this reply?\n\n{{#llm.text#}}\n\n{{#$output.comment#}}",
              empty_warning="The message is empty"),
        Field("inputs", gettext_noop("Fields"), Widget.ANSWER_FIELDS, default=[],
              help=gettext_noop("What the person fills in. Each field is an output of this node."),
              example=[{"type": "paragraph", "output_variable_name": "comment", "label": "Comment"}]),
        Field("user_actions", gettext_noop("Buttons"), Widget.ACTIONS,
              help=gettext_noop("The run continues at the branch of the button that the person presses."),
              default=_NEW_ACTIONS,
              example=[{"id": "send", "title": "Send", "button_style": "primary"},
                       {"id": "discard", "title": "Discard", "button_style": "default"}]),
        Field("answerers", gettext_noop("Who answers"), Widget.ANSWERERS, default=[],
              help=gettext_noop("The question is in the inbox of these people, and mailed to them. Without a row, whoever runs "
                                "the workflow answers, or anybody to whom they give the link."),
              example=[{"type": "role", "value": "admin"}]),
        Field("timeout", gettext_noop("Time to answer"), Widget.NUMBER, default=36, low=0,
              help=gettext_noop("After this time, the run continues at the Timeout branch.")),
        Field("timeout_unit", gettext_noop("Unit"), Widget.CHOICE, default="hour", is_unit=True,
              choices=(("hour", gettext_noop("Hours")), ("day", gettext_noop("Days")))),
        Field("delivery_methods", gettext_noop("Delivery"), Widget.DELIVERIES, default=[],
              help=gettext_noop("The form is on the page “Inbox”. With “Email”, its link is mailed, too."),
              example=[{"type": "email", "enabled": True, "config": {
                  "recipients": {"items": [{"type": "external", "email": "desk@example.com"}]},
                  "subject": "A decision is needed", "body": "{{#url#}}"}}]),
        Field("remind_after", gettext_noop("Remind after"), Widget.DURATION, low=MIN_NOTICE, is_advanced=True,
              help=gettext_noop("Mails the question once more if nobody has answered by then.")),
        Field("escalate_after", gettext_noop("Escalate after"), Widget.DURATION, low=MIN_NOTICE, is_advanced=True,
              help=gettext_noop("From then on, the people below may answer, too, and are told.")),
        Field("escalate_to", gettext_noop("Escalate to"), Widget.ANSWERERS, default=[], is_advanced=True),
    )  # fmt: skip

    def summarize(self, data: Data) -> Iterable[Text]:
        return [FIELD_PLACE.sub("", as_text(data.get("form_content"))).strip()]

    def label_handles(self, data: Data) -> Mapping[str, HandleLabel]:
        actions = {
            str(action.get("id")): HandleLabel(text=[as_text(action.get("title"))])
            for action in iter_objects(data.get("user_actions", _NEW_ACTIONS))
        }
        return {**actions, TIMEOUT_HANDLE: HandleLabel(Phrase(gettext_noop("Timeout")))}

    def build_surrounding_data(self, surroundings: Surroundings) -> Data:
        """Return a request to check the text before the node, and its button, in the language of who edits."""
        message = surroundings.translate(NEW_MESSAGE)
        text = surroundings.text or surroundings.message
        content = f"{message}\n\n{format_reference(text)}" if text else message
        button = {**_NEW_ACTIONS[0], "title": surroundings.translate(_SUBMIT)}
        return {"form_content": content, "user_actions": [button]}

    def prepare(self, spec: NodeSpec) -> Prepared:
        config = self.configure(spec)
        pieces = FIELD_PLACE.split(config.form_content)
        return Prepared(config, tuple(map(Template.of, pieces[::2])), tuple(pieces[1::2]))

    def check(self, spec: NodeSpec) -> list[Problem]:
        problems = super().check(spec)
        if problems:
            return problems
        config = self.configure(spec)
        names = [item.output_variable_name for item in config.inputs]
        ids = [action.id for action in config.user_actions]
        problems += _list_repeats(spec, "field", "inputs", "output_variable_name", names)
        problems += _list_repeats(spec, "button", "user_actions", "id", ids)
        problems += find_incomplete_rows(config.answerers, spec.id, "answerers")
        problems += find_incomplete_rows(config.escalate_to, spec.id, "escalate_to")
        problems += _find_late_notices(spec.id, config)
        problems += [
            build_warning(
                "form.no_field",
                f"The message has a place for {name}, but the form has no such field",
                spec.id,
                "form_content",
            )
            for name in dict.fromkeys(FIELD_PLACE.findall(config.form_content))
            if name not in names
        ]
        return problems

    def list_handles(self, spec: NodeSpec) -> tuple[str, ...]:
        actions = tuple(action.id for action in self.configure(spec).user_actions)
        return (*(actions or (_SENT_HANDLE,)), TIMEOUT_HANDLE)

    def list_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        return (
            *(
                Output(
                    item.output_variable_name, _OUTPUT_TYPES.get(item.type, "string"), item.label
                )
                for item in self.configure(spec).inputs
            ),
            Output("__action_id", "string", gettext_noop("The button that was pressed")),
            Output("__action_value", "string", gettext_noop("The title of that button")),
            Output("__rendered_content", "string", gettext_noop("The message with the answers")),
        )

    def list_reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        return tuple(
            source.selector
            for item in self.configure(spec).inputs
            for source in (item.default, item.option_source)
            if source is not None and source.type == "variable" and source.selector
        )

    async def run(self, prepared: Prepared, ctx: NodeContext) -> NodeResult:
        config, pool = prepared.config, ctx.pool
        texts = [_escape_places(text.render_markdown(pool)) for text in prepared.texts]
        marks = [f"{{{{#$output.{name}#}}}}" for name in prepared.places]
        form = {
            "type": "form",
            "content": "".join(_interleave(texts, marks)),
            "inputs": [_build_input(item, pool) for item in config.inputs],
            "actions": [
                {"id": item.id, "title": item.title or item.id, "style": item.button_style}
                for item in config.user_actions
            ],
            "deliveries": [
                _render_delivery(method, pool)
                for method in config.delivery_methods
                if method.get("enabled", True)
            ],
            **_build_notices(config),
        }
        ctx.record_inputs({"form_content": form["content"]})
        due_at = ctx.ports.clock.now().timestamp() + config.seconds
        answer = ctx.wait_for(Wait(form, due_at, is_duration=True))
        if is_from_outside(answer):
            ctx.record_untrusted_keys([BY_LINK])  # anybody may have written it
        return _build_result(prepared, form, texts, answer)

    async def preview_inputs(self, prepared: Prepared, ctx: NodeContext) -> Mapping[str, Json]:
        content = prepared.config.form_content
        return {"form_content": Template.of(content).render_markdown(ctx.pool)}


def _build_result(
    prepared: Prepared, form: Mapping[str, Any], texts: list[str], answer: Answer
) -> NodeResult:
    actions = {action.id: action for action in prepared.config.user_actions}
    if answer.is_timed_out:
        values = {item["name"]: item["default"] for item in form["inputs"]}
        handle, title = TIMEOUT_HANDLE, ""
    else:
        values = dict(answer.values)
        handle = answer.action or _SENT_HANDLE
        title = actions[handle].title if handle in actions else ""
    rendered_values = [as_markdown(values.get(name)) for name in prepared.places]
    outputs = {
        **values,
        "__action_id": TIMEOUT_HANDLE if answer.is_timed_out else answer.action,
        "__action_value": title,
        "__rendered_content": "".join(_interleave(texts, rendered_values)),
    }
    return NodeResult(outputs, handle=handle)


def _build_notices(config: HumanInputConfig) -> dict[str, Json]:
    """Return the parts of a form that say whom it is for, and what happens while nobody answers."""
    parts: dict[str, Json] = {
        "answerers": build_keys(config.answerers),
        "remind_after": config.remind_after,
    }
    if config.escalate_after is not None and (keys := build_keys(config.escalate_to)):
        parts |= {"escalate_after": config.escalate_after, "escalate_to": keys}
    return {name: value for name, value in parts.items() if value}


def _find_late_notices(node_id: str, config: HumanInputConfig) -> Iterator[Problem]:
    """Yield a warning for what would happen after the time to answer only, and for an escalation to nobody."""
    for field in ("remind_after", "escalate_after"):
        after = getattr(config, field)
        if after is not None and after >= config.seconds:
            message = "This is after the time to answer, so it never happens"
            yield build_warning("form.too_late", message, node_id, field)
    if config.escalate_after is not None and not build_keys(config.escalate_to):
        message = "Nobody is chosen to whom the question is escalated"
        yield build_warning("form.escalates_to_nobody", message, node_id, "escalate_to")


def list_mail_addresses(deliveries: Iterable[Mapping[str, Json]]) -> tuple[str, ...]:
    """Return the addresses to which the form is mailed. Dify's members are ids of its own database, and are left out."""
    addresses: list[str] = []
    for method in deliveries:
        config = method.get("config")
        recipients = config.get("recipients") if isinstance(config, Mapping) else None
        items = recipients.get("items") if isinstance(recipients, Mapping) else recipients
        if method.get("type") != "email" or not isinstance(items, list | tuple):
            continue
        for item in items:
            address = item.get("email") if isinstance(item, Mapping) else item
            if isinstance(address, str) and address.strip():
                addresses.append(address.strip())
    return tuple(dict.fromkeys(addresses))[:MAX_ADDRESSES]


def _render_delivery(method: Mapping[str, Json], pool: VariablePool) -> dict[str, Json]:
    """Return a delivery with the variables of its subject and body filled in; ``{{#url#}}`` stays."""
    config = method.get("config")
    if method.get("type") != "email" or not isinstance(config, Mapping):
        return dict(method)
    texts = {
        name: URL_PLACE.join(
            Template.of(piece).render_text(pool) for piece in config[name].split(URL_PLACE)
        )
        for name in ("subject", "body")
        if isinstance(config.get(name), str)
    }
    return {**method, "config": {**config, **texts}}


def _build_input(item: FormInput, pool: VariablePool) -> dict[str, Json]:
    options = item.options
    if item.option_source is not None:
        value = item.option_source.read(pool)
        options = tuple(map(as_text, value)) if isinstance(value, list | tuple) else ()
    default = item.default.read(pool) if item.default is not None else None
    if default is not None and item.type in ("text-input", "paragraph", "select"):
        default = as_text(default)
    if item.type == "select" and default not in options:
        default = None
    if item.type == "number" and (
        isinstance(default, bool) or not isinstance(default, int | float)
    ):
        default = None
    if item.type == "checkbox" and not isinstance(default, bool):
        default = None
    return {
        "name": item.output_variable_name,
        "type": item.type,
        "label": item.label or item.output_variable_name,
        "required": item.required,
        "default": default,
        "options": list(options),
        "max_length": item.max_length,
    }


def _interleave(texts: Iterable[str], others: Iterable[str]) -> Iterator[str]:
    """Yield a text, another, a text and so on; there is one text more."""
    remaining = iter(others)
    for text in texts:
        yield text
        yield next(remaining, "")


def _escape_places(text: str) -> str:
    """Return the text of variables, in which nothing is the place of a field."""
    return text.replace("{{#$output.", "{{# $output.")


def _list_repeats(
    spec: NodeSpec, part: str, field: str, key: str, values: list[str]
) -> list[Problem]:
    return [
        Problem(
            "form.duplicate",
            f"Two {part}s have the name {value}; each needs a name of its own",
            spec.id,
            f"{field}.{index}.{key}",
        )
        for index, value in enumerate(values)
        if value in values[:index]
    ]
