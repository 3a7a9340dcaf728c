"""The settings that every node may have besides its kind's fields: description, time limit, retries, error strategy."""

from collections.abc import Mapping

from workflows.engine.kind_examples import list_outputs
from workflows.engine.kinds import AnyKind, Execution, Field, Widget, gettext_noop
from workflows.engine.language.document import Json, NodeSpec
from workflows.engine.language.failure_policy import (
    RETRY_SAFETY,
    Backoff,
    Retry,
    RetrySafety,
    Strategy,
)
from workflows.views.editor.inspector.fields import (
    Control,
    WidgetStyle,
    build_control,
    get_canonical_type,
)


DESCRIPTION = Field("desc", gettext_noop("Description"), Widget.PARAGRAPH)

TIMEOUT = Field(
    "timeout_secs",
    gettext_noop("Timeout (seconds)"),
    Widget.NUMBER,
    low=0,
    help=gettext_noop("Leave empty for no timeout."),
)


def build_retry_field(defaults: Retry) -> Field:
    """Return the form's section on retries with the defaults of a kind."""
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

DEFAULT_VALUES = Field(
    "default_value",
    gettext_noop("Default values"),
    shown_when=("error_strategy", (Strategy.DEFAULT_VALUE.value,)),
)

SAFETY = Field(
    RETRY_SAFETY,
    gettext_noop("If the server is lost during the call"),
    Widget.CHOICE,
    default=RetrySafety.SAFE.value,
    choices=(
        (RetrySafety.SAFE.value, gettext_noop("Call again")),
        (RetrySafety.ASK.value, gettext_noop("Call again if it only reads, else ask")),
        (RetrySafety.NEVER.value, gettext_noop("Never call again: ask a person")),
    ),
    help=gettext_noop(
        "The call may have arrived or not. It is repeated under the same Idempotency-Key; choose to be asked if the "
        "service doesn't recognize the key, and a second call would do harm."
    ),
)

_RARELY_FAILING = frozenset({Execution.ROOT, Execution.RESPONSE, Execution.BRANCH})


def build_policy_controls(kind: AnyKind, spec: NodeSpec) -> tuple[Control, ...]:
    """Return the controls of the failure policy; none for kinds that rarely fail, unless a policy is configured."""
    data = spec.data
    is_configured = any(data.get(name) for name in (STRATEGY.name, TIMEOUT.name, "retry_config"))
    safety = (build_control(SAFETY, data),) if kind.calls_outside else ()
    if (kind.execution in _RARELY_FAILING or not kind.fields) and not is_configured:
        return safety
    has_retry = kind.retry or data.get("retry_config")
    fields = [build_retry_field(kind.retry or Retry())] if has_retry else []
    controls = [build_control(field, data) for field in (*fields, TIMEOUT, STRATEGY)]
    return (*controls, _build_default_outputs(kind, data), *safety)


def _build_default_outputs(kind: AnyKind, data: Mapping[str, Json]) -> Control:
    """Build the control of the default values, with a row for each output."""
    value = data.get("default_value")
    rows = value if isinstance(value, list) else []
    items_by_key = {str(row.get("key")): row for row in rows if isinstance(row, dict)}
    for output in list_outputs(kind, data):
        type_ = get_canonical_type(output.type)
        items_by_key.setdefault(output.name, {"key": output.name, "type": type_, "value": None})
    is_shown = data.get("error_strategy") == Strategy.DEFAULT_VALUE
    style = WidgetStyle("fields/_default_outputs", is_list=True)
    return Control(
        DEFAULT_VALUES, "default_value", [*items_by_key.values()], style, is_hidden=not is_shown
    )
