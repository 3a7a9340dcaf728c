"""What every node may carry besides its kind's fields: its description, a time limit, retries, what an error does.

Described with the same fields as the kinds' own, so that the form knows one way of drawing.
"""

from collections.abc import Mapping

from workflows.engine.describing import outputs_declared
from workflows.engine.document import Json, NodeSpec
from workflows.engine.kinds import AnyKind, Execution, Field, Widget, gettext_noop
from workflows.engine.policy import Backoff, Strategy
from workflows.views.editor.inspector_fields import Control, Look, canonical_type, control


DESCRIPTION = Field("desc", gettext_noop("Description"), Widget.PARAGRAPH)

TIMEOUT = Field(
    "timeout_secs",
    gettext_noop("Give up after (seconds)"),
    Widget.NUMBER,
    low=0,
    help=gettext_noop("Empty: no limit of its own."),
)

_ON = ("retry_enabled", (True,))
RETRY = Field(
    "retry_config",
    gettext_noop("Try again"),
    Widget.SECTION,
    help=gettext_noop("Before an error counts, the node is run again."),
    fields=(
        Field("retry_enabled", gettext_noop("Use"), Widget.SWITCH),
        Field("max_retries", gettext_noop("Times"), Widget.NUMBER, default=3, low=0, high=10),
        Field("retry_interval", gettext_noop("Wait (milliseconds)"), Widget.NUMBER, default=1000,
              low=0),
        Field("backoff_strategy", gettext_noop("The next waits are"), Widget.CHOICE,
              default=Backoff.FIXED.value, choices=(
                  (Backoff.FIXED.value, gettext_noop("as long")),
                  (Backoff.EXPONENTIAL.value, gettext_noop("twice as long each")),
                  (Backoff.JITTER.value, gettext_noop("twice as long, spread at random")),
              )),
    ),
)  # fmt: skip

STRATEGY = Field(
    "error_strategy",
    gettext_noop("If it fails"),
    Widget.CHOICE,
    default=Strategy.ABORT.value,
    choices=(
        (Strategy.ABORT.value, gettext_noop("The run fails")),
        (Strategy.FAIL_BRANCH.value, gettext_noop("Go on along the error branch")),
        (Strategy.DEFAULT_VALUE.value, gettext_noop("Go on with these values")),
    ),
)

DEFAULTS = Field(
    "default_value",
    gettext_noop("Values instead"),
    shown_when=("error_strategy", (Strategy.DEFAULT_VALUE.value,)),
)

_SPARED = frozenset({Execution.ROOT, Execution.RESPONSE, Execution.BRANCH})


def policy_controls(kind: AnyKind, spec: NodeSpec) -> tuple[Control, ...]:
    """None for kinds that hardly can fail, unless somebody set something."""
    data = spec.data
    written = any(data.get(field.name) for field in (STRATEGY, TIMEOUT, RETRY))
    if (kind.execution in _SPARED or not kind.fields) and not written:
        return ()
    fields = [RETRY] if kind.retryable or data.get("retry_config") else []
    found = [control(field, data) for field in (*fields, TIMEOUT, STRATEGY)]
    return (*found, _defaults(kind, data))


def _defaults(kind: AnyKind, data: Mapping[str, Json]) -> Control:
    """A row an output, with the value written for it."""
    written = data.get("default_value")
    listed = written if isinstance(written, list) else []
    items = [item for item in listed if isinstance(item, dict)]
    given = {str(item.get("key")): item for item in items}
    for output in outputs_declared(kind, data):
        type_ = canonical_type(output.type)
        given.setdefault(output.name, {"key": output.name, "type": type_, "value": None})
    shown = data.get("error_strategy") == Strategy.DEFAULT_VALUE
    look = Look("_defaults", is_list=True)
    return Control(DEFAULTS, "default_value", [*given.values()], look, is_hidden=not shown)
