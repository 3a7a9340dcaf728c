"""Webhook: a run begins when another system calls the workflow's address. Its outputs are the values of the request."""

from collections.abc import Iterable, Iterator
from typing import Final

from workflows.engine.appearance import Data
from workflows.engine.configuration import Field, Widget
from workflows.engine.kinds import Execution, NodeContext, NodeKind, NodeResult, Output
from workflows.engine.language.document import Mode, NodeSpec
from workflows.engine.language.problems import Problem
from workflows.engine.language.values import parse_type
from workflows.engine.text_rendering import as_text
from workflows.engine.texts import Text, gettext_noop
from workflows.engine.triggers.calls import WEBHOOK_CALL
from workflows.engine.triggers.webhooks import (
    CONTENT_TYPES,
    DEFAULT_ANSWER,
    METHODS,
    PLAIN_TYPES,
    TYPES,
    Authentication,
    WebhookConfig,
    get_output_name,
)


# The name under which Dify's workflows read the whole request.
RAW: Final = "_webhook_raw"


class WebhookTrigger(NodeKind[WebhookConfig, WebhookConfig]):
    name = "trigger-webhook"
    title = gettext_noop("Webhook")
    description = gettext_noop("Starts the workflow when another system calls its address")
    group = "flow"
    mode = Mode.WORKFLOW
    palette_order = 14
    icon = "link"
    family = "flow"
    dialects = ("dify",)
    config_model = WebhookConfig
    execution = Execution.ROOT
    has_untrusted_outputs = True
    fields = (
        Field("method", gettext_noop("Method"), Widget.CHOICE, default="get", initial="post",
              choices=tuple((method, method.upper()) for method in METHODS), example="post"),
        Field("content_type", gettext_noop("Content type"), Widget.CHOICE,
              default="application/json", choices=tuple((name, name) for name in CONTENT_TYPES)),
        Field("authentication", gettext_noop("Authentication"), Widget.CHOICE, default="none",
              initial="secret", choices=(
                  ("none", gettext_noop("None: whoever knows the address")),
                  ("secret", gettext_noop("Secret in a header")),
                  ("hmac", gettext_noop("Signature (HMAC-SHA256)")),
              ),
              help=gettext_noop("You find the address and the secret under Triggers once the workflow is published."),
              example=Authentication.SIGNATURE.value),
        Field("headers", gettext_noop("Headers"), Widget.EXPECTED_VALUES, default=[],
              choices=tuple((name, name) for name in PLAIN_TYPES),
              help=gettext_noop("Each becomes an output; hyphens become underscores.")),
        Field("params", gettext_noop("Query parameters"), Widget.EXPECTED_VALUES, default=[],
              choices=tuple((name, name) for name in PLAIN_TYPES)),
        Field("body", gettext_noop("Body"), Widget.EXPECTED_VALUES, default=[],
              choices=tuple((name, name) for name in TYPES),
              help=gettext_noop("Values of a JSON body or a form. For text or a binary body, one value takes all of it."),
              example=[{"name": "order", "type": "string", "required": True}]),
        Field("status_code", gettext_noop("Status of the answer"), Widget.NUMBER, default=200,
              low=200, high=399, is_advanced=True),
        Field("response_body", gettext_noop("Body of the answer"), Widget.PARAGRAPH, default="",
              initial=DEFAULT_ANSWER, is_advanced=True,
              help=gettext_noop("Sent as soon as the run is queued. Empty: the ID of the run.")),
    )  # fmt: skip

    def summarize(self, data: Data) -> Iterable[Text]:
        return [as_text(data.get("method") or "get").upper()]

    def check(self, spec: NodeSpec) -> list[Problem]:
        return super().check(spec) or [*_find_problems(spec, self.configure(spec))]

    def list_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        outputs = (
            Output(get_output_name(source, value.name), value.type)
            for source, _index, value in self.configure(spec).iter_values()
        )
        return (*outputs, Output(RAW, "object", gettext_noop("The whole request")))

    def run(self, prepared: WebhookConfig, ctx: NodeContext) -> NodeResult:
        return NodeResult({**ctx.run_inputs, RAW: ctx.identity.get(WEBHOOK_CALL) or {}})


def _find_problems(spec: NodeSpec, config: WebhookConfig) -> Iterator[Problem]:
    names: set[str] = {RAW}
    for source, index, value in config.iter_values():
        name = get_output_name(source, value.name)
        if name in names:
            message = f"Several values have the name {name}"
            yield Problem("webhook.duplicate", message, spec.id, f"{source}.{index}.name")
        names.add(name)
        if parse_type(value.type) is None:
            message = f"There is no type {value.type}" if value.type else "Choose a type"
            yield Problem("webhook.type", message, spec.id, f"{source}.{index}.type")
    if config.body and not config.has_body:
        message = f"A {config.method.upper()} request has no body"
        yield Problem("webhook.body", message, spec.id, "body")
