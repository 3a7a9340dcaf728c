"""What every node may carry besides its kind's fields: its description, a time limit, retries, what an error does.

Described with the same fields as the kinds' own, so that the form knows one way of drawing.
"""

from collections.abc import Mapping

from workflows.engine.kind_examples import list_outputs
from workflows.engine.kinds import AnyKind, Execution, Field, Widget, gettext_noop
from workflows.engine.language.document import Json, NodeSpec
from workflows.engine.language.failure_policy import Backoff, Retry, Strategy
from workflows.views.editor.inspector.fields import Control, Look, canonical_type, control


DESCRIPTION = Field("desc", gettext_noop("Description"), Widget.PARAGRAPH)

TIMEOUT = Field(
    "timeout_secs",
    gettext_noop("Timeout (seconds)"),
    Widget.NUMBER,
    low=0,
    help=gettext_noop("Leave empty for no timeout."),
)


def retry_field(defaults: Retry) -> Field:
    """Return the form's part on retries, with the defaults of a kind."""
    return Field(
        "retry_config",
        gettext_noop("Try again"),
        Widget.SECTION,
        help=gettext_noop("Run the node again before it counts as failed."),
        fields=(
            Field("retry_enabled", gettext_noop("Enable"), Widget.SWITCH),
            Field("max_retries", gettext_noop("Max retries"), Widget.NUMBER,
                  default=defaults.max_retries, low=0, high=10),
            Field("retry_interval", gettext_noop("Retry interval (ms)"), Widget.NUMBER,
                  default=defaults.interval_ms, low=0),
            Field("backoff_strategy", gettext_noop("Backoff"), Widget.CHOICE,
                  default=defaults.backoff.value, choices=(
                      (Backoff.FIXED.value, gettext_noop("Fixed")),
                      (Backoff.EXPONENTIAL.value, gettext_noop("Exponential")),
                      (Backoff.JITTER.value, gettext_noop("Exponential with jitter")),
                  )),
        ),
    )  # fmt: skip


STRATEGY = Field(
    "error_strategy",
    gettext_noop("On failure"),
    Widget.CHOICE,
    default=Strategy.ABORT.value,
    choices=(
        (Strategy.ABORT.value, gettext_noop("Fail the run")),
        (Strategy.FAIL_BRANCH.value, gettext_noop("Fail branch")),
        (Strategy.DEFAULT_VALUE.value, gettext_noop("Default values")),
    ),
)

DEFAULTS = Field(
    "default_value",
    gettext_noop("Default values"),
    shown_when=("error_strategy", (Strategy.DEFAULT_VALUE.value,)),
)

_SPARED = frozenset({Execution.ROOT, Execution.RESPONSE, Execution.BRANCH})


def policy_controls(kind: AnyKind, spec: NodeSpec) -> tuple[Control, ...]:
    """None for kinds that hardly can fail, unless somebody set something."""
    data = spec.data
    written = any(data.get(name) for name in (STRATEGY.name, TIMEOUT.name, "retry_config"))
    if (kind.execution in _SPARED or not kind.fields) and not written:
        return ()
    has_retry = kind.retry or data.get("retry_config")
    fields = [retry_field(kind.retry or Retry())] if has_retry else []
    found = [control(field, data) for field in (*fields, TIMEOUT, STRATEGY)]
    return (*found, _defaults(kind, data))


def _defaults(kind: AnyKind, data: Mapping[str, Json]) -> Control:
    """A row an output, with the value written for it."""
    written = data.get("default_value")
    listed = written if isinstance(written, list) else []
    items = [item for item in listed if isinstance(item, dict)]
    given = {str(item.get("key")): item for item in items}
    for output in list_outputs(kind, data):
        type_ = canonical_type(output.type)
        given.setdefault(output.name, {"key": output.name, "type": type_, "value": None})
    shown = data.get("error_strategy") == Strategy.DEFAULT_VALUE
    look = Look("fields/_default_outputs", is_list=True)
    return Control(DEFAULTS, "default_value", [*given.values()], look, is_hidden=not shown)
